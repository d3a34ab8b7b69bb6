import re

import numpy as np
import pandas as pd
import pytest
from bnplug_papers.kit import Paper, Task
from commands import run

from bnplug import Reproduction
from bnplug.hooks import registry


@pytest.fixture
def protocol(monkeypatch):
    """Stand in for a plugin's reproduction; return what it is called with."""
    calls = []

    def reproduce(data, out, quick):
        import joblib

        calls.append((data, out, quick, joblib.effective_n_jobs(None)))
        (out / "me2026.md").write_text("page")

    described = Reproduction("me2026", reproduce, summary="Tables.", reference="Me (2026)")
    find = registry.find
    monkeypatch.setattr(registry, "find", lambda kind, name: described if name == "me2026" else find(kind, name))
    return calls


def test_compare_writes_tables_and_pictures_and_goes_on(tmp_path):
    out = tmp_path / "out"
    arguments = ["compare", "--methods", "nb, tan,decision-tree", "--datasets", "corral,iris", "--cv", "1x2", "-o", out]
    first = run(*arguments)
    assert "average rank" in first.stdout
    assert "12 of 12 folds" in first.stderr
    names = {
        "results.jsonl",
        "table.md",
        "table.csv",
        "table.tex",
        "time.png",
        "scatter.png",
        "critical-difference.png",
    }
    assert {path.name for path in out.iterdir()} == names
    assert all(str(out / name) in first.stdout for name in names)
    page = (out / "table.md").read_text(encoding="utf-8")
    assert "Friedman test over 2 data sets" in page
    assert "| nb | tan |" in page
    assert "## nb against the others, on each data set" in page
    assert len(pd.read_csv(out / "table.csv")) == 6
    (out / "table.md").unlink()
    second = run(*arguments)
    assert second.stdout == first.stdout
    assert second.stderr == ""
    assert (out / "table.md").read_text(encoding="utf-8") == page
    refused = run(*arguments, "--random-state", 1, code=1)
    assert "another experiment" in refused.stderr
    assert len(refused.stderr.splitlines()) == 1


def test_compare_on_files_with_another_metric(tmp_path):
    frame = pd.DataFrame(
        {"a": list("xyxyxyxy"), "b": [1.0, None, 3.0, 4.0, 1.0, 2.0, 3.0, 4.0], "class": list("pqpqpqqp")}
    )
    frame.to_csv(tmp_path / "mine.csv", index=False)
    result = run("compare", "--methods", "nb,svm", "--datasets", "mine", "--data-dir", tmp_path, "--cv", "2", "--quiet",
                 "--metric", "bias", "--missing", "drop", "-o", tmp_path / "out")  # fmt: skip
    assert result.stdout.startswith("bias ")
    assert result.stderr == ""


def test_a_failed_fold_is_told(tmp_path):
    pd.DataFrame({"a": [np.inf] * 6, "b": list("xyxyxy"), "class": list("ppqqpq")}).to_csv(
        tmp_path / "m.csv", index=False
    )
    result = run("compare", "--methods", "nb", "--datasets", "m", "--data-dir", tmp_path, "--cv", "2", "-q",
                 "-o", tmp_path / "out")  # fmt: skip
    lines = result.stderr.splitlines()
    assert len(lines) == 1
    assert lines[0].startswith("failed: m, nb, 2 of 2 folds: ValueError: infinite numbers in columns ['a']")
    page = (tmp_path / "out" / "table.md").read_text(encoding="utf-8")
    assert page.count("\n- m, nb, 2 of 2 folds: ") == page.count("## Folds that failed") == 1


ERRORS = {
    "method": (["--methods", "tann", "--datasets", "iris"], 1, "Did you mean 'tan'"),
    "dataset": (["--methods", "nb", "--datasets", "iriss"], 1, "Did you mean 'iris'"),
    "cv": (["--methods", "nb", "--datasets", "iris", "--cv", "ten"], 1, "cv='ten'"),
    "metric": (["--methods", "nb", "--datasets", "iris", "--metric", "f1"], 1, "there is no metric 'f1'"),
    "missing": (["--methods", "nb", "--datasets", "iris", "--missing", "mean"], 2, "--missing"),
    "nothing": (["--datasets", "iris"], 2, "--methods"),
}


@pytest.mark.parametrize("case", ERRORS)
def test_errors_are_one_line(case, tmp_path):
    arguments, code, message = ERRORS[case]
    result = run("compare", *arguments, "-o", tmp_path / "out", code=code)
    assert message in result.stderr
    assert "Traceback" not in result.output
    assert code == 2 or (result.stderr.startswith("bnplug: ") and len(result.stderr.splitlines()) == 1)


def test_reproduce_runs_the_protocol(tmp_path, protocol):
    run("reproduce", "me2026", "-o", tmp_path / "out")
    run("reproduce", "me2026", "--data-dir", tmp_path, "--quick", "--n-jobs", 2, "-o", tmp_path / "out")
    assert protocol == [(None, tmp_path / "out", False, 1), (tmp_path, tmp_path / "out", True, 2)]
    assert (tmp_path / "out" / "me2026.md").exists()


def test_reproduce_tells_what_is_wrong(tmp_path, protocol):
    unknown = run("reproduce", "me2027", "-o", tmp_path / "out", code=1).stderr
    assert unknown.startswith("bnplug: there is no reproduction 'me2027'.")
    assert len(unknown.splitlines()) == 1
    no_data = run("reproduce", "me2026", "--data-dir", tmp_path / "no", "-o", tmp_path / "out", code=1).stderr
    assert "there is no such folder" in no_data
    assert protocol == []


def test_reproduce_says_where_the_papers_are(tmp_path, monkeypatch):
    monkeypatch.setattr(registry, "plugins", list)
    for arguments in (["kelner2021"], ["--all"]):
        monkeypatch.setattr(registry, "methods", lambda _kind: [])
        said = run("reproduce", *arguments, "-o", tmp_path / "out", code=1).stderr
        assert said.endswith("pip install bnplug-papers\n")
        assert len(said.splitlines()) == 1


@pytest.mark.usefixtures("third")
def test_compositions_and_plugins_classifiers_are_compared_and_the_table_keeps_its_layout(tmp_path):
    found = run("compare", "--methods", "tan+backoff, hill-climb[cost],kdb(k=1, n_jobs=1)+ml,majority", "--datasets",
                "corral,iris", "--cv", "2", "-q", "-o", tmp_path / "out")  # fmt: skip
    lines = found.stdout.splitlines()
    names = r"tan\+backoff +hill-climb\[cost\] +kdb\(k=1, n_jobs=1\)\+ml +majority"
    assert re.fullmatch(rf"accuracy \(%\) +{names}", lines[0])
    assert re.fullmatch("-+", lines[1])
    cell = r" +\d+\.\d\d ± \d+\.\d\d\*?"
    assert [bool(re.fullmatch(rf"(corral|iris)({cell}){{4}}", line)) for line in lines[2:4]] == [True, True]
    assert re.fullmatch("-+", lines[4])
    assert re.fullmatch(r"average( +\d+\.\d\d){4}", lines[5])
    assert re.fullmatch(r"average rank( +\d\.\d\d){4}", lines[6])


def test_compare_reads_files_as_the_other_commands_do(tmp_path):
    age = [20, 61, 35, 72, 44, 58] * 8
    frame = pd.DataFrame({"id": range(48), "buys": [a > 50 for a in age], "age": age, "zip": ["01", "02"] * 24})
    frame.to_csv(tmp_path / "shop.csv", index=False, sep=";")
    given = ["--target", "buys", "--drop", "id", "--sep", ";", "--methods", "nb,svm", "--cv", "2", "-q"]
    by_file = run("compare", "--datasets", tmp_path / "shop.csv", *given, "-o", tmp_path / "a").stdout
    by_name = run("compare", "--datasets", "shop", "--data-dir", tmp_path, *given, "-o", tmp_path / "b").stdout
    content = (tmp_path / "shop.csv").read_bytes()
    piped = run("compare", "--datasets", "-", *given, "-o", tmp_path / "c", stdin=content).stdout
    rows = [text.splitlines()[2] for text in (by_file, by_name, piped)]
    assert re.fullmatch(r"shop( +100\.00 ± 0\.00\*){2}", rows[0])
    assert rows[1] == rows[0]
    assert rows[2].split()[1:] == rows[0].split()[1:]
    wrong = run("compare", "--datasets", tmp_path / "shop.csv", *given, "--target", "bys", "-o", tmp_path / "d", code=1)
    assert "target 'bys' is not a column" in wrong.stderr


def test_a_comparison_as_one_page(tmp_path):
    arguments = ["compare", "--methods", "nb", "--datasets", "corral", "--cv", "2", "-q", "-o", tmp_path / "out"]
    done = run(*arguments, "--html", tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert f"page.html: {len(page.encode()):,} bytes" in done.output
    assert page.startswith("<!DOCTYPE html>")
    alone = run(*arguments, "--html", "-")
    assert alone.stdout == page
    assert "written: " in alone.stderr


def test_a_plain_function_takes_no_wishes(tmp_path, protocol):
    said = run("reproduce", "me2026", "--page-only", "--resume", "-o", tmp_path / "out", code=1).stderr
    assert said == (
        "bnplug: the reproduction 'me2026' is a plain function, which does not take --page-only, --resume\n"
    )


def test_all_papers_are_run_and_each_page_is_made_once(tmp_path, monkeypatch):
    made = []

    def fill(page, results):
        made.append(page.name)
        page.claim("It works.", True, f"{results.coverage('all')[0]} of 1")

    def describe(name, task):
        paper = Paper(name, "A title", "A paper.", lambda *_: ([Task("all", {}, task)], []), fill, "bnplug")
        return Reproduction(name, paper, summary="Tables.", reference="Me (2026)")

    described = {name: describe(name, task) for name, task in (("me2026", dict), ("you2026", "no function"))}
    monkeypatch.setattr(registry, "methods", lambda _kind: list(described.values()))
    monkeypatch.setattr(registry, "find", lambda _kind, name: described[name])
    said = run("reproduce", "--all", "-o", tmp_path, code=1).stderr
    assert made == ["me2026", "you2026"]
    assert "you2026: 1 tasks failed" in said
    index = (tmp_path / "index.md").read_text("utf-8")
    for name, number in (("me2026", 1), ("you2026", 0)):
        assert f"| [{name}]({name}.md) | It works. | yes | {number} of 1 |" in index


def test_reproduce_wants_one_paper_or_all(tmp_path):
    assert "name a paper, or take --all" in run("reproduce", "-o", tmp_path, code=2).stderr
    assert "name a paper, or take --all" in run("reproduce", "x2026", "--all", "-o", tmp_path, code=2).stderr
