"""How commands read data: an identifier beside the features, columns that look like what they are not, pipes."""

import io

import numpy as np
import pandas as pd
import pytest
from commands import run

import bnplug
from bnplug.cli._reading import Reading, kinds_of, listed


@pytest.fixture(scope="module")
def people(tmp_path_factory):
    """A file with keys, postcodes that begin with a zero, and a feature that decides."""
    folder, rng = tmp_path_factory.mktemp("people"), np.random.default_rng(0)
    age = rng.integers(18, 90, 200)
    frame = pd.DataFrame({
        "id": [f"{i:05d}" for i in range(200)], "name": [f"=n{i}" for i in range(200)],
        "zip": [f"{z:05d}" for z in rng.choice([123, 4567, 80331], 200)], "age": age,
        "buys": np.where(age > 50, "yes", "no"),
    })  # fmt: skip
    frame.to_csv(folder / "people.csv", index=False)
    frame.to_csv(folder / "people.tsv", index=False, sep="\t", encoding="utf-16")
    return folder


@pytest.fixture(scope="module")
def model(people):
    run("fit", people / "people.csv", "--target", "buys", "--drop", "id,name", "-o", people / "model")
    return people / "model"


def test_an_identifier_is_dropped_and_others_can_be_chosen(people, model, tmp_path):
    assert sorted(bnplug.load(model).encoder_.names) == ["age", "zip"]
    run("fit", people / "people.csv", "--target", "buys", "--keep", "age", "--keep", "zip, id", "--drop", "id",
        "-o", tmp_path / "m")  # fmt: skip
    assert sorted(bnplug.load(tmp_path / "m").encoder_.names) == ["age", "zip"]


def test_predict_ignores_other_columns_and_repeats_keys_as_they_are_written(people, model):
    told = run("predict", model, people / "people.csv", "--id", "id")
    assert told.stderr == "bnplug: warning: columns ['name'] were not in the training data; they are ignored\n"
    lines = told.stdout.splitlines()
    assert lines[0] == "id,buys,P(no),P(yes)"
    assert lines[8].startswith("00007,")
    two = run("predict", model, people / "people.csv", "--id", "zip,name", "--id", "id").stdout.splitlines()
    assert two[0] == "zip,name,id,buys,P(no),P(yes)"
    # A key that a spreadsheet would run is no formula.
    assert ",'=n7,00007," in two[8]
    assert "not in the training data" not in run("predict", model, people / "people.csv", "--id", "id,name").stderr


def test_zeros_that_begin_a_number_are_kept(people, model):
    assert bnplug.load(model).tables_.states["zip"] == ("00123", "04567", "80331")
    assert "not seen" not in run("predict", model, people / "people.csv", "--id", "id,name").stderr


def test_a_column_is_what_the_user_says(people, tmp_path):
    frame = pd.DataFrame({"code": [1, 2, 3, 40] * 30, "size": ["01", "02", "15"] * 40, "class": ["p", "q"] * 60})
    frame["when"] = "2026-01-0" + frame["code"].clip(upper=9).astype(str)
    frame.to_csv(tmp_path / "d.csv", index=False)
    read = Reading(kinds={"code": "text", "size": "number", "when": "date"}).frame(tmp_path / "d.csv")
    assert read["code"].iloc[:4].tolist() == ["1", "2", "3", "40"]
    assert (read["size"].dtype.kind, read["when"].dtype.kind) == ("i", "M")
    assert kinds_of(read) == {"code": "text", "size": "number", "class": "text", "when": "date"}
    run("fit", tmp_path / "d.csv", "--target", "class", "--dtype", "code=text", "--drop", "when", "-o", tmp_path / "m")
    assert bnplug.load(tmp_path / "m").tables_.states["code"] == ("1", "2", "3", "40")
    rows = run("predict", tmp_path / "m", tmp_path / "d.csv", "--id", "when")
    assert "not seen" not in rows.stderr


def test_separators_and_encodings(people, model):
    given = ["--sep", "tab", "--encoding", "utf-16"]
    same = run("predict", model, people / "people.csv", "--id", "id,name").stdout
    assert run("predict", model, people / "people.tsv", "--id", "id,name", *given).stdout == same
    report = run("evaluate", model, people / "people.tsv", *given).stdout
    assert report == run("evaluate", model, people / "people.csv").stdout
    assert "--sep" in run("fit", people / "people.tsv", "--encoding", "utf-16", "--target", "buys", "-o", people / "n",
                          code=1).stderr  # fmt: skip


def test_standard_input_and_output(people, tmp_path):
    content = (people / "people.csv").read_bytes()
    run("fit", "-", "--target", "buys", "--drop", "id,name", "-o", tmp_path / "m", stdin=content)
    written = run("predict", tmp_path / "m", people / "people.csv", "--id", "id,name").stdout
    piped = run("predict", tmp_path / "m", "-", "--id", "id,name", "-o", "-", stdin=content)
    assert piped.stdout == written
    assert (run("evaluate", tmp_path / "m", "-", stdin=content).stdout
            == run("evaluate", tmp_path / "m", people / "people.csv").stdout)  # fmt: skip
    for command in ("report", "explore"):
        page = run(command, tmp_path / "m", "-", "-o", "-", stdin=content).stdout
        assert page.startswith("<!DOCTYPE html>")
        assert page.rstrip().endswith("</html>")
    assert "a model is a folder" in run("fit", "-", "--target", "buys", "-o", "-", stdin=content, code=1).stderr


@pytest.mark.usefixtures("third")
def test_a_plugins_classifier_gets_text_of_digits_as_text_and_no_other_columns(people, tmp_path):
    pd.DataFrame({"code": ["1.50", "2", "x"] * 10, "n": range(30), "class": ["p", "q", "p"] * 10}).to_csv(
        tmp_path / "train.csv", index=False
    )
    (tmp_path / "rows.csv").write_text("key,code\n01,1.50\n02,2\n")
    run("fit", tmp_path / "train.csv", "--target", "class", "--method", "majority", "-o", tmp_path / "m")
    told = run("predict", tmp_path / "m", tmp_path / "rows.csv", "--id", "key")
    out = pd.read_csv(io.StringIO(told.stdout), dtype=str)
    assert out[["key", "class"]].to_numpy().tolist() == [["01", "p"], ["02", "q"]]
    assert bnplug.load(tmp_path / "m").column_kinds_ == {"code": "text", "n": "number"}


def test_names_in_one_option():
    assert listed(["id,name", '"a,b"', " c , "]) == ["id", "name", "a,b", "c"]


ERRORS = {
    "drop": (["fit", "{data}", "--target", "buys", "--drop", "idd", "-o", "m"], 1, "--drop names 'idd'"),
    "keep": (["fit", "{data}", "--target", "buys", "--keep", "aeg", "-o", "m"], 1, "Did you mean 'age'?"),
    "nothing left": (["fit", "{data}", "--target", "buys", "--keep", "id", "--drop", "id", "-o", "m"], 1, "no feature"),
    "id": (["predict", "{model}", "{data}", "--id", "key"], 1, "--id names 'key', which is not a column"),
    "dtype": (["fit", "{data}", "--target", "buys", "--dtype", "zip", "-o", "m"], 2, "'zip' is not NAME=KIND"),
    "dtype column": (["fit", "{data}", "--target", "buys", "--dtype", "a=text", "-o", "m"], 1, "--dtype names 'a'"),
    "no number": (["fit", "{data}", "--target", "buys", "--dtype", "name=number", "-o", "m"], 1, "--dtype name=number"),
    "encoding": (["evaluate", "{model}", "{data}", "--encoding", "utf-99"], 1, "unknown encoding: utf-99"),
}


@pytest.mark.parametrize("case", ERRORS)
def test_errors_are_one_line(case, people, model, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    args, code, message = ERRORS[case]
    result = run(*[arg.format(data=people / "people.csv", model=model) for arg in args], code=code)
    assert message in result.stderr
    assert code == 2 or len(result.stderr.splitlines()) == 1
    assert not (tmp_path / "m").exists()


def test_dates_in_a_file_are_dates_unless_the_user_says_text(tmp_path):
    days = pd.Timestamp("2026-01-01") + pd.to_timedelta(np.arange(200) * 3, unit="D")
    frame = pd.DataFrame({"seen": days.strftime("%Y-%m-%d"), "code": ["2026-01-01", "x"] * 100})
    frame["state"] = np.where(days.month <= 6, "early", "late")
    frame.loc[3, "seen"] = None
    frame.to_csv(tmp_path / "d.csv", index=False)
    run("fit", tmp_path / "d.csv", "--target", "state", "--method", "nb", "-o", tmp_path / "m")
    model = bnplug.load(tmp_path / "m")
    assert "seen.month" in model.encoder_.names
    assert "code" in model.encoder_.names
    answers = pd.read_csv(io.StringIO(run("predict", tmp_path / "m", tmp_path / "d.csv").stdout))
    assert (answers["state"] == frame["state"]).mean() > 0.99
    told = run("fit", tmp_path / "d.csv", "--target", "state", "--dtype", "seen=text", "-o", tmp_path / "t")
    assert "like an identifier" in told.stderr


@pytest.mark.parametrize("text", ["age;buys\n1;yes\n", "age;buys\n1,5;yes\n"])
def test_another_separator_is_suggested(people, model, tmp_path, text):
    (tmp_path / "d.csv").write_text(text)
    for args in (
        ("fit", tmp_path / "d.csv", "--target", "buys", "-o", tmp_path / "m"),
        ("predict", model, tmp_path / "d.csv"),
    ):
        told = run(*args, code=1).stderr
        assert "Fields seem to be separated by ';': --sep \";\"" in told


def test_messages_name_options_of_the_command_line(tmp_path):
    (tmp_path / "d.csv").write_text("a,y\n1,p\n2,\n3,q\n")
    told = run("fit", tmp_path / "d.csv", "--target", "y", "-o", tmp_path / "m", code=1).stderr
    assert "the class is missing in some rows" in told
    assert told.endswith("drop these rows with --drop-unlabeled, or learn from them, with --missing em\n")
    run("fit", tmp_path / "d.csv", "--target", "y", "--drop-unlabeled", "-o", tmp_path / "m")
    run("fit", tmp_path / "d.csv", tmp_path / "d.csv", "--target", "y", "--drop-unlabeled", "-o", tmp_path / "n")
    told = run("evaluate", tmp_path / "m", tmp_path / "d.csv", code=1).stderr
    assert told.endswith("drop these rows with --drop-unlabeled\n")
    told = run("evaluate", tmp_path / "m", tmp_path / "d.csv", "--drop-unlabeled").stdout
    assert told.splitlines()[0].split() == ["rows", "2"]


@pytest.mark.parametrize("known", [{"when": "date"}, {}])
def test_dates_that_are_not_in_iso_8601_are_refused_not_guessed(tmp_path, known):
    path = tmp_path / "d.csv"
    path.write_text("when,n\n01.02.2026,1\n")
    reading = Reading(kinds={} if known else {"when": "date"})
    with pytest.raises(ValueError, match=r"d\.csv: column 'when'.*'01\.02\.2026' is not a date in ISO 8601"):
        reading.frame(path, known)


def test_what_only_looks_like_a_date_is_text(tmp_path):
    path = tmp_path / "d.csv"
    pd.DataFrame({"a": ["2026-13-45", "2026-01-01"], "b": ["2026-01-01", "2026-01-02T10:30"]}).to_csv(path, index=False)
    kinds = kinds_of(Reading().frame(path))
    assert kinds == {"a": "text", "b": "date"}


@pytest.mark.parametrize("options", [[], ["--dtype", "key=number"]])
def test_large_numbers_beside_empty_fields_stay_distinct(tmp_path, options):
    first = 2**63
    cells = [first, first + 1, "", -5] * 30
    labels = ["a", "b", "a", "b"] * 29 + ["b", "a", "b", "a"]
    lines = [f"{cell},{label}" for cell, label in zip(cells, labels, strict=True)]
    (tmp_path / "rows.csv").write_text("\n".join(["key,y", *lines]) + "\n")
    run("fit", tmp_path / "rows.csv", "--target", "y", "-o", tmp_path / "model", *options)
    assert bnplug.load(tmp_path / "model").schema_.states["key"] == (-5, first, first + 1)
    told = pd.read_csv(io.StringIO(run("predict", tmp_path / "model", tmp_path / "rows.csv", *options).stdout))
    assert told["y"][:4].tolist() == ["a", "b", "a", "b"]


def test_decimal_commas_are_read_by_an_option(tmp_path):
    rows = pd.DataFrame({"x": [f"{i},5" for i in range(40)], "n": [1, 2] * 20, "y": [*"pq"] * 20})
    rows.to_csv(tmp_path / "rows.csv", index=False, sep=";")
    options = ["--sep", ";", "--decimal", ","]
    assert run("fit", tmp_path / "rows.csv", "--target", "y", *options, "-o", tmp_path / "m").exit_code == 0
    assert bnplug.load(tmp_path / "m").encoder_.numeric == ("x",)
    assert run("evaluate", tmp_path / "m", tmp_path / "rows.csv", *options).exit_code == 0
