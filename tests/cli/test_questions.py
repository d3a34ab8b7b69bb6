"""The commands query and next."""

import pandas as pd
import pytest
from commands import run

from bnplug import BayesianNetworkClassifier, load


def read(path):
    return pd.read_csv(path)


def test_the_class_given_what_is_known(model, tmp_path):
    shown = run("query", model, "--given", "petal length (cm)=4.8").output
    assert shown.split()[:2] == ["species", "probability"]
    run("query", model, "--given", "petal length (cm)=4.8", "-o", tmp_path / "a.csv")
    wanted = load(model).query("species", {"petal length (cm)": 4.8})
    pd.testing.assert_frame_equal(read(tmp_path / "a.csv"), wanted, check_dtype=False)


def test_several_variables_and_soft_evidence(model, tmp_path):
    soft = "species=setosa:.2,versicolor:.8,virginica:0"
    run("query", model, "petal width (cm)", "species", "--soft", soft, "-o", tmp_path / "a.csv")
    wanted = load(model).query(
        ["petal width (cm)", "species"], {"species": {"setosa": 0.2, "versicolor": 0.8, "virginica": 0}}
    )
    pd.testing.assert_frame_equal(read(tmp_path / "a.csv"), wanted, check_dtype=False)


def test_the_other_questions(model, tmp_path):
    python = load(model)
    best = run("query", model, "--most-probable", "--given", "species=setosa").output
    assert all(str(label) in best for label in python.most_probable({"species": "setosa"}).values())
    given = ["--given", "species=setosa", "--given", "petal length (cm)=4.8"]
    shown = run("query", model, "--conflict", *given).output
    assert float(shown.split()[1]) == pytest.approx(
        python.conflict({"species": "setosa", "petal length (cm)": 4.8}), abs=1e-5
    )
    assert "more; -o FILE writes all of them" in run("query", model, "--sensitivity").output
    run("query", model, "petal width (cm)", "--sensitivity", *given[:2], "-o", tmp_path / "s.csv")
    wanted = python.sensitivity({"species": "setosa"}, "petal width (cm)")
    written = read(tmp_path / "s.csv")
    assert written["derivative"].to_numpy() == pytest.approx(wanted["derivative"].to_numpy())
    assert written["given"].iloc[0].count("=") >= 1


def test_where_all_is_known_there_is_nothing_to_ask(files, model):
    assert run("next", model, files / "iris.csv").output == "nothing to ask: every row has all features\n"


def test_what_to_ask_next(files, model, tmp_path):
    (tmp_path / "rows.csv").write_text("key,petal length (cm),petal width (cm)\n007,4.8,\n008,,1.0\n")
    shown = run("next", model, tmp_path / "rows.csv", "--id", "key", "-o", tmp_path / "n.csv")
    assert "are absent; they are marginalized" in shown.stderr
    written = pd.read_csv(tmp_path / "n.csv", dtype={"key": str})
    assert written["key"].tolist() == ["007"] * 3 + ["008"] * 3
    assert written["row"].tolist() == [0] * 3 + [1] * 3
    assert written["feature"].iloc[0] == "petal width (cm)"
    costs = [f"{name}={cost}" for name, cost in zip(load(model).feature_names_in_, (1, 1, 1, 50), strict=True)]
    run("next", model, tmp_path / "rows.csv", "--id", "key", *(f"--cost={text}" for text in costs), "--top", 1,
        "-o", tmp_path / "n.csv")  # fmt: skip
    written = pd.read_csv(tmp_path / "n.csv")
    assert written["row"].tolist() == [0, 1]
    assert written["feature"].iloc[0] != "petal width (cm)"


@pytest.mark.filterwarnings("ignore::bnplug.TargetLeakageWarning")  # a few rows whose features determine the class
def test_values_are_what_the_model_knows_them_as(tmp_path):
    X = pd.DataFrame(
        {
            "a=b": ["x", "y"] * 20,
            "n": [1, 1, 2, 3] * 10,
            "flag": [True, False] * 20,
            "when": pd.date_range("2024-01-01", periods=40, freq="D"),
            "hole": ["u", None] * 20,
        }
    )
    fitted = BayesianNetworkClassifier("nb", missing="value").fit(X, ["no", "yes"] * 20)
    fitted.save(tmp_path / "m")
    given = ["a=b=x", "n=2", "flag=True", "when=2024-01-05", "hole="]
    run("query", tmp_path / "m", *(f"--given={text}" for text in given), "-o", tmp_path / "a.csv")
    known = {"a=b": "x", "n": 2, "flag": True, "when": pd.Timestamp("2024-01-05"), "hole": None}
    assert read(tmp_path / "a.csv")["probability"].to_numpy() == pytest.approx(
        fitted.query("class", known)["probability"].to_numpy()
    )


@pytest.mark.parametrize(
    ("given", "said", "code"),
    [
        (["--given", "sky"], "'sky' is not NAME=VALUE", 2),
        (["--given", "sky=blue"], "no variable 'sky'", 1),
        (["--given", "species=rose"], "rose", 1),
        (["--soft", "species=setosa"], "is not NAME=STATE:LIKELIHOOD", 2),
        (["--soft", "species=setosa:much"], "is not NAME=STATE:LIKELIHOOD", 2),
        (["--soft", "species=setosa:1"], "no likelihood of", 1),
        (["--given", "species=setosa", "--soft", "species=setosa:1"], "'species' is given twice", 2),
        (["species", "--conflict"], "--conflict is not about species", 2),
        (["species", "x", "--sensitivity"], "about one variable", 2),
    ],
)
def test_errors_are_one_line(model, given, said, code):
    error = run("query", model, *given, code=code).stderr
    assert said in error


@pytest.mark.parametrize(("cost", "said", "code"), [("x", "is not NAME=VALUE", 2), ("species=a", "NAME=COST", 2)])
def test_costs_that_are_none(files, model, cost, said, code):
    assert said in run("next", model, files / "iris.csv", "--cost", cost, code=code).stderr
