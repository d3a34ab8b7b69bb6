import json
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from commands import run

import bnplug
from bnplug import BayesianNetworkClassifier, LogTables
from bnplug.datasets import iris, tic_tac_toe


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A data file and a model folder for two data sets, one numeric and one discrete."""
    folder = tmp_path_factory.mktemp("models")
    for load, structure in ((iris, ("tan", {"correction": None})), (tic_tac_toe, "kdb")):
        X, y = load()
        name = load.__name__
        X.assign(**{y.name: y}).to_csv(folder / f"{name}.csv", index=False)
        BayesianNetworkClassifier(structure, "ml").fit(X, y).save(folder / name)
    return folder


def test_show_tells_graph_blanket_and_tables(files):
    lines = run("show", files / "iris").output.splitlines()
    assert lines[0] == "'species': 4 features, 3 classes, 7 edges, 62 parameters"
    assert "petal length (cm) <- petal width (cm), species" in lines
    assert "species" in lines
    assert any(line.startswith("Markov blanket of 'species': sepal length (cm), ") for line in lines)
    assert "P(petal width (cm) | species)" in lines
    only = run("show", files / "iris", "--node", "species").output
    assert "P(species)" in only
    assert "P(petal width (cm) | species)" not in only


def test_show_tells_how_the_model_was_made(files):
    assert "structure kdb, parameters ml, discretizer mdl" in run("show", files / "tic_tac_toe").output


@pytest.mark.parametrize(("name", "start"), [("g.svg", b"<svg"), ("g.png", b"\x89PNG")])
def test_show_draws(files, tmp_path, name, start):
    text = run("show", files / "iris", "--plot", tmp_path / name).output
    assert f"drawn in {tmp_path / name}" in text
    assert (tmp_path / name).read_bytes().startswith(start)


def test_evaluate(files):
    lines = run("evaluate", files / "iris", files / "iris.csv").output.splitlines()
    X, y = iris()
    accuracy = bnplug.load(files / "iris").score(X, y)
    assert lines[0].split() == ["rows", "150"]
    assert lines[1].split() == ["accuracy", f"{accuracy:.4f}"]
    assert [line.rsplit(maxsplit=1)[0] for line in lines[1:6]] == [
        "accuracy", "balanced accuracy", "AUC", "log loss", "Brier score"
    ]  # fmt: skip
    assert lines[-3].split() == ["setosa", "50", "0", "0"]
    found = json.loads(run("evaluate", files / "iris", files / "iris.csv", "--json").output)
    assert found["accuracy"] == accuracy
    assert found["classes"] == ["setosa", "versicolor", "virginica"]
    assert np.sum(found["confusion"]) == 150


def test_evaluate_where_a_figure_is_undefined(files, tmp_path):
    pd.read_csv(files / "iris.csv").head(5).to_csv(tmp_path / "five.csv", index=False)
    assert "AUC                undefined" in run("evaluate", files / "iris", tmp_path / "five.csv").output
    assert json.loads(run("evaluate", files / "iris", tmp_path / "five.csv", "--json").output)["auc"] is None


def test_labels_that_look_like_numbers_are_the_text_that_the_model_knows(tmp_path):
    frame = pd.DataFrame({"x": list("ababab"), "c": list("121212")})
    frame.to_csv(tmp_path / "d.csv", index=False)
    BayesianNetworkClassifier("nb").fit(frame[["x"]], frame["c"]).save(tmp_path / "m")
    assert "1.0000" in run("evaluate", tmp_path / "m", tmp_path / "d.csv").output


@pytest.mark.parametrize("suffix", ["bif", "xml", "xmlbif", "bifxml", "xdsl", "net", "BIF"])
def test_a_network_leaves_and_comes_back(files, tmp_path, suffix):
    file = tmp_path / f"net.{suffix}"
    assert "10 nodes, 21 edges, 197 parameters" in run("export", files / "tic_tac_toe", file).output
    text = run("import", file, "--target", "class", "-o", tmp_path / "back").output
    assert text == f"{tmp_path / 'back'}: 'class', 9 features, 2 classes, 21 edges, 197 parameters\n"
    X, _ = tic_tac_toe()
    there, back = bnplug.load(files / "tic_tac_toe"), bnplug.load(tmp_path / "back")
    assert (there.predict_proba(X) == back.predict_proba(X)).all()


@pytest.mark.parametrize(("option", "ending"), [("--dot", "dot"), ("--mermaid", "mmd")])
def test_a_graph_is_printed_alone_or_written_to_a_file(files, tmp_path, option, ending):
    model = bnplug.load(files / "iris")
    text = model.to_dot() if ending == "dot" else model.to_mermaid()
    assert run("show", files / "iris", option).output == f"{text}\n"
    said = run("export", files / "iris", tmp_path / f"g.{ending}").output
    assert said == f"{tmp_path / f'g.{ending}'}: 5 nodes, {len(model.tables_.edges)} edges\n"
    written = (tmp_path / f"g.{ending}").read_text(encoding="utf-8")
    assert "petal width (cm)" in written
    assert run("export", files / "iris", "-", "--format", option.strip("-")).output == written


@pytest.mark.parametrize("kind", ["bif", "xmlbif", "xdsl", "net"])
def test_a_network_goes_through_a_pipe(files, tmp_path, kind):
    text = run("export", files / "iris", "-", "--format", kind).output
    run("import", "-", "-o", tmp_path / "back", stdin=text)
    X, _ = iris()
    there, back = bnplug.load(files / "iris"), bnplug.load(tmp_path / "back")
    assert (there.predict_proba(X) == back.predict_proba(X)).all()
    # Where a model is asked for, what the text begins with says what it is.
    (tmp_path / "rows.csv").write_text(X.head(3).to_csv(index=False))
    piped = run("predict", "-", tmp_path / "rows.csv", "--target", "species", stdin=text).stdout
    assert piped == run("predict", tmp_path / "back", tmp_path / "rows.csv").stdout
    # The ending does not count where the format is asked for.
    run("export", files / "iris", tmp_path / "net.txt", "--format", kind)
    assert (tmp_path / "net.txt").read_text(encoding="utf-8") == text


def test_standard_output_has_no_ending(files):
    said = run("export", files / "iris", "-", code=1).stderr
    assert "add --format, one of bif, xmlbif, dot, mermaid, xdsl, net" in said


def test_a_network_from_standard_input_that_is_none_is_named(tmp_path):
    said = run("import", "-", "--format", "net", "-o", tmp_path / "m", code=1, stdin="nothing").stderr
    assert "standard input: line 1: expected 'net'" in said
    said = run("import", "-", "-o", tmp_path / "m", code=1, stdin="nothing").stderr
    assert "standard input is not a network file in any known format (bif, xmlbif, xdsl, net)" in said


def test_a_file_of_ours_says_which_variable_is_the_class(files, tmp_path):
    run("export", files / "iris", tmp_path / "net.bif")
    run("import", tmp_path / "net.bif", "-o", tmp_path / "m")
    assert bnplug.load(tmp_path / "m").target_ == "species"
    assert "structure given, parameters given, discretizer none" in run("show", tmp_path / "m").output
    run("import", tmp_path / "net.bif", "--target", "petal width (cm)", "-o", tmp_path / "other")
    assert bnplug.load(tmp_path / "other").target_ == "petal width (cm)"


def discriminative(edges, folder):
    """A model whose tables do not sum to one."""
    rng = np.random.default_rng(0)
    parents = {name: [a for a, b in edges if b == name] for name in "cxyz"}
    tables = {name: (own, rng.normal(size=(2,) * (1 + len(own)))) for name, own in parents.items()}
    states = {name: [0, 1] for name in "cxyz"}
    BayesianNetworkClassifier.from_tables(LogTables("cxyz", states, tables, target="c")).save(folder)


def test_discriminative_parameters_are_normalised_where_a_network_has_the_same_posterior(tmp_path):
    discriminative(["cx", "cy", "cz", "xy"], tmp_path / "m")
    assert "normalized to a network with the same posterior" in run("export", tmp_path / "m", tmp_path / "n.bif").output
    run("import", tmp_path / "n.bif", "-o", tmp_path / "back")
    rows = pd.DataFrame(np.indices((2, 2, 2)).reshape(3, -1).T, columns=list("xyz"))
    expected = bnplug.load(tmp_path / "m").predict_proba(rows)
    assert bnplug.load(tmp_path / "back").predict_proba(rows) == pytest.approx(expected, abs=1e-12)


def test_a_model_that_no_network_represents_says_why(tmp_path):
    discriminative(["cx", "cy", "cz", "xz", "yz"], tmp_path / "m")
    stderr = run("export", tmp_path / "m", tmp_path / "n.bif", code=1).stderr
    assert "'z'" in stderr
    assert len(stderr.splitlines()) == 1
    assert not (tmp_path / "n.bif").exists()


def test_report(files, tmp_path):
    text = run("report", files / "iris", "-o", tmp_path / "r.html").output
    assert text.startswith(f"{tmp_path / 'r.html'}: ")
    assert "Confusion matrix" not in (tmp_path / "r.html").read_text(encoding="utf-8")
    run("report", files / "iris", files / "iris.csv", "-o", tmp_path / "r.html")
    assert "Confusion matrix" in (tmp_path / "r.html").read_text(encoding="utf-8")


ERRORS = {
    "no model to show": (["show", "nowhere"], "it has no model.json"),
    "unknown node": (["show", "{iris}", "--node", "petal widht (cm)"], "Did you mean 'petal width (cm)'"),
    "unknown picture": (
        ["show", "{iris}", "--plot", "g.bmp"],
        "a picture is saved as .svg, .dot, .gv, .mmd, .png",
    ),
    "no class in the data": (["evaluate", "{iris}", "bare.csv"], "bare.csv: there is no column 'species'"),
    "no class to report on": (["report", "{iris}", "bare.csv", "-o", "r.html"], "there is no column 'species'"),
    "unknown labels": (["evaluate", "{iris}", "rose.csv"], "labels ['rose'] are not among the classes"),
    "no data": (["evaluate", "{iris}", "nowhere.csv"], "nowhere.csv: there is no such file"),
    "unknown format": (
        ["export", "{iris}", "net.json"],
        "net.json: no installed format can write files with the ending '.json'",
    ),
    "unknown format in": (["import", "net.json", "--target", "c", "-o", "m"], "Installed: bif (.bif), "),
    "no such format": (["export", "{iris}", "net.bif", "--format", "bfi"], "no format 'bfi'. Did you mean 'bif'"),
    "no folder": (["export", "{iris}", "nowhere/net.bif"], "nowhere"),
    "no file": (["import", "net.bif", "--target", "c", "-o", "m"], "net.bif: there is no such file"),
    "not a network": (["import", "bad.bif", "--target", "c", "-o", "m"], "bad.bif"),
    "not XML": (["import", "bad.xml", "--target", "c", "-o", "m"], "bad.xml"),
    "unknown target": (["import", "good.bif", "--target", "specie", "-o", "m"], "Did you mean 'species'"),
    "no target": (["import", "other.bif", "-o", "m"], "does not say which variable is the class; name the target"),
}


@pytest.mark.parametrize("case", ERRORS)
def test_errors_are_one_line(case, files, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    X, _ = iris()
    X.head(3).to_csv("bare.csv", index=False)
    X.head(3).assign(species="rose").to_csv("rose.csv", index=False)
    (tmp_path / "bad.bif").write_text("variable x {")
    (tmp_path / "bad.xml").write_text("<BIF><NETWORK>")
    (tmp_path / "other.bif").write_text(
        "network n {\n}\nvariable x {\n  type discrete [ 2 ] { a, b };\n}\nprobability ( x ) {\n  table 0.5, 0.5;\n}\n"
    )
    run("export", files / "iris", "good.bif")
    args, message = ERRORS[case]
    result = run(*[arg.format(iris=files / "iris") for arg in args], code=1)
    assert message in result.stderr
    assert result.stderr.startswith("bnplug: ")
    assert len(result.stderr.splitlines()) == 1
    assert not (tmp_path / "m").exists()
    assert not (tmp_path / "r.html").exists()


@pytest.mark.filterwarnings("ignore::bnplug.TargetLeakageWarning")  # a few rows whose features determine the class
def test_one_text_among_numbers_leaves_the_other_rows_as_they_were(tmp_path):
    X = pd.DataFrame({"x": [0, 1, 2] * 20, "flag": [True, False] * 30})
    y = pd.Series(["n", "y", "y"] * 20, name="class")
    model = BayesianNetworkClassifier("nb").fit(X, y)
    model.save(tmp_path / "model")
    rows = pd.DataFrame({"x": ["0", "1.0", "2", "?"], "flag": ["True", "False", "?", "True"]})
    rows.to_csv(tmp_path / "rows.csv", index=False)
    told = run("predict", tmp_path / "model", tmp_path / "rows.csv", "-o", tmp_path / "out.csv").stderr
    assert told.count(": '?' not seen in training") == 2
    known = pd.DataFrame({"x": [0.0, 1.0, 2.0, None], "flag": [True, False, None, True]})
    predicted = pd.read_csv(tmp_path / "out.csv")[["P(n)", "P(y)"]].to_numpy()
    np.testing.assert_allclose(predicted, model.predict_proba(known))


def test_a_folder_that_is_somebody_elses_is_refused_before_learning(files, tmp_path, monkeypatch):
    (tmp_path / "letters.txt").write_text("mine")
    monkeypatch.setattr(BayesianNetworkClassifier, "fit", None)
    told = run("fit", files / "iris.csv", "--target", "species", "-o", tmp_path, code=1).output
    assert "a folder with other files in it, such as 'letters.txt'" in told


@pytest.mark.parametrize("redirect", ["> {page}", "| cat > {page}"])
def test_a_report_on_standard_output_is_the_page_alone(files, tmp_path, redirect):
    command = f"{sys.executable} -m bnplug report {files / 'iris'} -o /dev/stdout "
    subprocess.run(command + redirect.format(page=tmp_path / "p"), shell=True, check=True)
    assert (tmp_path / "p").read_text().rstrip().endswith("</html>")
