"""Models of commands: a folder, or a network in a file of another program's."""

import pytest
from commands import run

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
    assert "ends in one of .bif" in run("show", network / "model.txt", code=1).stderr
