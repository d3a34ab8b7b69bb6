"""Models of commands: a folder, or a network in a file of another program's."""

import numpy as np
import pandas as pd
import pytest
from commands import run

import bnplug
from bnplug.datasets import iris

ASIA = """network sky {
}
variable rain { type discrete [ 2 ] { yes, no }; }
variable grass { type discrete [ 2 ] { wet, dry }; }
probability ( rain ) { table 0.25, 0.75; }
probability ( grass | rain ) { (yes) 0.9, 0.1; (no) 0.2, 0.8; }
"""


@pytest.fixture
def network(tmp_path):
    (tmp_path / "sky.bif").write_text(ASIA)
    (tmp_path / "rows.csv").write_text("rain,grass\nyes,wet\nno,dry\n")
    return tmp_path


@pytest.mark.parametrize("command", ["explore", "report"])
def test_a_page_on_a_network_of_a_file(network, command):
    for data in ([], [network / "rows.csv"]):
        made = run(command, network / "sky.bif", *data, "--target", "rain", "-o", network / "page.html").output
        assert made.startswith(f"{network / 'page.html'}: ")


def test_a_network_of_a_file_is_shown_predicts_and_is_evaluated(network):
    assert "'rain': 1 feature" in run("show", network / "sky.bif", "--target", "rain").output
    rows = run("predict", network / "sky.bif", network / "rows.csv", "--target", "rain").stdout.splitlines()
    # 0.25 x 0.9 against 0.75 x 0.2.
    assert rows[1].startswith("yes,0.6")
    assert (
        "accuracy           1.0000"
        in run("evaluate", network / "sky.bif", network / "rows.csv", "--target", "rain").output
    )
    run("export", network / "sky.bif", network / "sky.xml", "--target", "rain")
    assert "'rain': 1 feature" in run("show", network / "sky.xml").output


def test_a_file_that_does_not_say_its_class_asks_for_it(network):
    error = run("explore", network / "sky.bif", "-o", network / "page.html", code=1).stderr
    assert "name the target, one of ['rain', 'grass']" in error
    (network / "model.txt").write_text("")
    assert "Installed: bif (.bif), " in run("show", network / "model.txt", code=1).stderr


@pytest.fixture(scope="module")
def mixture(tmp_path_factory):
    pytest.importorskip("bnplug_mixture")
    folder, (X, y) = tmp_path_factory.mktemp("mixture"), iris()
    X = X.assign(size=np.where(X.iloc[:, 0] > 5.8, "large", "small"))
    X.assign(species=y).to_csv(folder / "rows.csv", index=False)
    params = {"member__parameters": "ml", "generative": "ml", "n_members": 1, "random_state": 0}
    bnplug.make_classifier("mixture", **params).fit(X, y).save(folder / "model")
    return folder


def test_the_report_of_a_mixture_is_the_page_that_it_writes(mixture, tmp_path):
    model = bnplug.load(mixture / "model")
    model.report(tmp_path / "expected.html")
    expected = (tmp_path / "expected.html").read_text(encoding="utf-8")
    assert run("report", mixture / "model", "-o", "-").output == expected
    run("report", mixture / "model", mixture / "rows.csv", "-o", tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "a mixture of 2 networks" in page
    assert "On the given data" in page


def test_a_mixture_is_asked_as_a_network_is(mixture, tmp_path):
    known = {"petal length (cm)": 4.8, "size": "large"}
    given = [f"--given={name}={value}" for name, value in known.items()]
    run("query", mixture / "model", *given, "-o", tmp_path / "a.csv")
    expected = bnplug.load(mixture / "model").query("species", known)
    assert pd.read_csv(tmp_path / "a.csv")["probability"].to_numpy() == pytest.approx(expected["probability"])
    assert "'huge' not seen in training" in run("query", mixture / "model", "--given=size=huge", code=1).stderr
    assert "each member has its own tables" in run("query", mixture / "model", "--sensitivity", code=1).stderr
    assert "members_[i].most_probable" in run("query", mixture / "model", "--most-probable", code=1).stderr
    assert float(run("query", mixture / "model", "--conflict", *given).stdout.split()[-1]) < 0


def test_commands_explore_a_mixture_and_ask_what_is_next(mixture, tmp_path):
    run("explore", mixture / "model", mixture / "rows.csv", "--rows=2", "-o", tmp_path / "page.html")
    assert "average of 2 networks" in (tmp_path / "page.html").read_text(encoding="utf-8")
    pd.DataFrame({"size": ["large"]}).to_csv(tmp_path / "row.csv", index=False)
    answer = run("next", mixture / "model", tmp_path / "row.csv", "--top=1").stdout
    assert answer.split()[-2] == "(cm)"
    run("show", mixture / "model", "--plot", tmp_path / "edges.svg")
    assert (tmp_path / "edges.svg").exists()


def test_options_of_fit_apply_to_the_members_of_a_mixture(mixture, tmp_path):
    options = ["--method=mixture", "--parameters=ml", "--missing=value", "--set=n_members=1", "--set=generative=None"]
    run("fit", mixture / "rows.csv", "--target=species", *options, "--random-state=0", "-o", tmp_path / "model")
    member = bnplug.load(tmp_path / "model").member
    assert (member.parameters, member.missing, member.discretizer) == ("ml", "value", "jittered-quantile")


def test_a_network_comes_through_standard_input(network):
    shown = run("show", network / "sky.bif", "--target", "rain").stdout
    assert run("show", "-", "--target", "rain", stdin="// made by hand\n" + ASIA).stdout == shown
    mermaid = run("show", network / "sky.bif", "--target", "rain", "--mermaid").stdout
    assert run("show", "-", "--target", "rain", "--mermaid", stdin=ASIA).stdout == mermaid


@pytest.mark.parametrize("text", ["", "rain,grass\nyes,wet\n"])
def test_what_is_no_network_is_refused_by_its_beginning(network, text):
    said = run("show", "-", stdin=text, code=1).stderr
    assert "standard input is not a network file in any known format (bif, xmlbif, xdsl, net)" in said
