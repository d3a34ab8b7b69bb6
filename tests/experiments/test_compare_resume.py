"""A run that was killed goes on, and ends where an unbroken run ends."""

import json
import signal
import subprocess
import sys
import time

import pytest
from pandas.testing import assert_frame_equal

from bnplug.experiments import compare
from bnplug.experiments.storage import ResultsFile

TIMES = ["fit_seconds", "predict_seconds"]
METHODS = ["nb", ("kdb", {"k": 1})]


def run(file, methods=METHODS, **options):
    return compare(methods, ["corral"], cv="4x5", bias_variance=True, output=file, **options)


def same(found, expected):
    assert_frame_equal(found.results.drop(columns=TIMES), expected.results.drop(columns=TIMES), check_exact=True)
    assert_frame_equal(found.decomposition, expected.decomposition, check_exact=True)
    for metric in ("accuracy", "cll", "bias"):
        assert found.to_markdown(metric) == expected.to_markdown(metric)


@pytest.fixture(scope="module")
def unbroken(tmp_path_factory):
    file = tmp_path_factory.mktemp("whole") / "results.jsonl"
    return run(file), file


CHILD = """
import sys
from bnplug.experiments import compare
compare(["nb", ("kdb", {"k": 1})], ["corral"], cv="4x5", bias_variance=True, output=sys.argv[1])
"""


def test_a_killed_run_goes_on_and_ends_in_the_same_table(tmp_path, unbroken):
    file = tmp_path / "results.jsonl"
    child = subprocess.Popen([sys.executable, "-c", CHILD, str(file)])
    while child.poll() is None and (not file.exists() or file.read_bytes().count(b"\n") < 10):
        time.sleep(0.005)
    child.send_signal(signal.SIGKILL)
    assert child.wait() == -signal.SIGKILL
    lines = file.read_bytes().count(b"\n")
    assert 10 <= lines < 41
    same(run(file), unbroken[0])
    assert file.read_bytes().count(b"\n") == 41


@pytest.mark.parametrize("share", [0.001, 0.4, 0.631, 0.95, 1.0])
def test_a_run_cut_off_anywhere_goes_on(tmp_path, unbroken, share):
    expected, whole = unbroken
    content = whole.read_bytes()
    file = tmp_path / "results.jsonl"
    file.write_bytes(content[: round(share * len(content))])
    same(run(file), expected)
    records = [json.loads(line) for line in file.read_text().splitlines()[1:]]
    assert len({(r["dataset"], r["method"], r["fold"]) for r in records}) == len(records) == 40


def test_a_finished_run_runs_nothing(unbroken, capfd):
    expected, file = unbroken
    before = file.read_bytes()
    assert_frame_equal(run(file, verbose=2).results, expected.results, check_exact=True)
    assert file.read_bytes() == before
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"random_state": 1}, "datasets: corral not the same; random_state: there 0, here 1"),
        ({"missing": "drop"}, "missing: there 'ignore', here 'drop'"),
        (
            {"methods": [("kdb(k=1)", "kdb"), "svm"]},
            "nb only there, svm only here, kdb(k=1) not the same",
        ),
    ],
)
def test_another_experiments_file_is_refused_and_stays(unbroken, change, message):
    file = unbroken[1]
    before = file.read_bytes()
    with pytest.raises(ValueError, match="holds the results of another experiment") as raised:
        run(file, **change)
    assert message in str(raised.value)
    assert file.read_bytes() == before


@pytest.mark.parametrize("content", ["a,b\n1,2\n", "important note", '{"other": 1}\n', "[]\n"])
def test_any_other_file_is_refused_and_stays(tmp_path, content):
    file = tmp_path / "results.jsonl"
    file.write_text(content)
    with pytest.raises(ValueError, match="is not a results file"):
        run(file)
    assert file.read_text() == content


def test_a_file_of_a_later_version_is_refused(tmp_path):
    file = tmp_path / "results.jsonl"
    file.write_text('{"bnplug_comparison": 2, "settings": {}}\n')
    with pytest.raises(ValueError, match="version 2"):
        run(file)


def test_a_damaged_line_is_named(tmp_path, unbroken):
    lines = unbroken[1].read_text().splitlines()
    lines[4] = lines[4][:20]
    file = tmp_path / "results.jsonl"
    file.write_text("\n".join(lines) + "\n")
    with pytest.raises(ValueError, match="line 5 is damaged"):
        run(file)


def test_an_empty_file_is_begun(tmp_path):
    file = tmp_path / "r.jsonl"
    file.touch()
    ResultsFile(file, {"cv": "5"}).append({"fold": 0})
    assert ResultsFile(file, {"cv": "5"}).records == [{"fold": 0}]


def test_no_folder(tmp_path):
    with pytest.raises(FileNotFoundError, match="there is no folder"):
        ResultsFile(tmp_path / "nowhere" / "r.jsonl", {})


def test_what_cannot_be_told_apart_is_refused_only_with_a_file(tmp_path):
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import FunctionTransformer
    from sklearn.tree import DecisionTreeClassifier

    model = make_pipeline(FunctionTransformer(lambda X: X), DecisionTreeClassifier())
    with pytest.raises(TypeError, match="method 'mine' cannot be told from others"):
        compare([("mine", model)], ["corral"], cv=2, output=tmp_path / "r.jsonl")
    assert len(compare([("mine", model)], ["corral"], cv=2).failures) == 0


INTERRUPTED = """
import os, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
from bnplug.experiments import compare
from bnplug.search.greedy import GreedySearch

begin, steps = GreedySearch.begin, []

def interrupted(search):
    steps.append(search)
    if len(steps) == int(sys.argv[2]):
        os.kill(os.getpid(), signal.SIGINT)
    return begin(search)

GreedySearch.begin = interrupted
compare([("hill-climb", {"score": "cr"})], ["corral"], cv=3, output=sys.argv[1])
"""


@pytest.mark.parametrize("step", [2, 9])
def test_an_interrupt_ends_the_run_and_leaves_no_unfinished_search_among_the_results(tmp_path, step):
    file = tmp_path / "results.jsonl"
    command = [sys.executable, "-c", INTERRUPTED, str(file), str(step)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert "KeyboardInterrupt" in done.stderr
    kept = [json.loads(line) for line in file.read_text().splitlines()[1:]] if file.exists() else []
    assert len(kept) < 3
    assert not any(record["warnings"] for record in kept)
