"""The kit of a reproduction: tasks, results that are gone on from, and a page made of them alone."""

import pytest
from bnplug_papers.kit import Paper, Task

CALLS = []


def measure(number):
    CALLS.append(number)
    if number == 13:
        raise ValueError("thirteen")
    return {"square": number * number / 3}


def tasks(numbers):
    return [Task("squares", {"dataset": "all", "draw": number}, measure, (number,)) for number in numbers]


def fill(page, results):
    page.section("Squares")
    if not results.frame("squares").empty:
        page.table(results.frame("squares").drop(columns="seconds"))
    page.claim("Squares are positive.", True, "seen", results.coverage("squares"))
    page.missing_data(results.lacking)


def paper(numbers, package="bnplug_papers.kit", **settings):
    return Paper(
        "me2026", "Squares", "Me (2026).", lambda data, quick: (tasks(numbers), ["timit"]), fill, package, **settings
    )


@pytest.fixture(autouse=True)
def no_calls():
    CALLS.clear()


def test_a_paper_runs_what_is_left_and_writes_the_same_page_from_its_results(tmp_path):
    whole = paper([1, 2, 3])(None, tmp_path / "whole").read_text()
    paper([1, 2])(None, tmp_path / "parts")
    page = paper([3, 2, 1])(None, tmp_path / "parts").read_text()
    assert CALLS == [1, 2, 3, 1, 2, 3]
    assert page == whole
    assert "| all | 1 | 0.33 |" in page
    assert "- **yes**: Squares are positive. (seen)" in page
    assert page.endswith("## Data that were missing\n\ntimit\n")
    again = paper([])(None, tmp_path / "parts", page_only=True).read_text()
    assert again == page


def test_a_verdict_says_on_how_many_it_rests(tmp_path):
    page = paper([1, 2, 3])(None, tmp_path, minutes=0).read_text()
    assert CALLS == []
    assert "- **yes, on 0 of 3 tasks**: Squares" in page
    assert "| all" not in page


def test_a_task_that_fails_stops_nothing_and_is_told(tmp_path, capsys):
    with pytest.raises(RuntimeError, match=r"me2026: 1 tasks failed.*squares, all, 13: ValueError: thirteen"):
        paper([1, 13, 2])(None, tmp_path)
    assert "| all | 2 | 1.33 |" in (tmp_path / "me2026.md").read_text()
    assert "failed: ValueError: thirteen" in capsys.readouterr().err
    with pytest.raises(RuntimeError, match="1 tasks failed"):
        paper([1, 13, 2])(None, tmp_path)
    assert CALLS == [1, 13, 2, 13]


def test_results_that_ship_are_gone_on_from(tmp_path, monkeypatch):
    (tmp_path / "shipping_paper").mkdir()
    (tmp_path / "shipping_paper" / "__init__.py").touch()
    monkeypatch.syspath_prepend(tmp_path)
    own = paper([1, 2], "shipping_paper")
    assert own.shipped() is None
    with pytest.raises(ValueError, match="there are no results of me2026 yet"):
        own(None, tmp_path / "out", page_only=True)
    own(None, tmp_path / "out")
    (tmp_path / "out" / "me2026.jsonl").rename(tmp_path / "shipping_paper" / "results.jsonl")
    written = own(None, tmp_path / "page", page_only=True)
    assert written.read_text() == (tmp_path / "out" / "me2026.md").read_text()
    paper([1, 2, 3], "shipping_paper")(None, tmp_path / "more", resume=True)
    assert CALLS == [1, 2, 3]


def test_results_of_another_protocol_are_refused(tmp_path):
    paper([1])(None, tmp_path)
    with pytest.raises(ValueError, match="another experiment"):
        paper([1], protocol=2)(None, tmp_path)


def test_two_tasks_of_one_key_are_an_error(tmp_path):
    with pytest.raises(ValueError, match="two tasks of part 'squares' have the key"):
        paper([1, 1])(None, tmp_path)


def test_the_page_of_a_quick_run_says_so(tmp_path):
    path = paper([1])(None, tmp_path, quick=True)
    assert "This was a quick run" in path.read_text()
    assert (tmp_path / "me2026-quick.jsonl").exists()


def test_tasks_that_depend_on_results_come_when_these_are_there(tmp_path):
    def further(results, data, quick):
        largest = int(results.frame("squares")["draw"].max())
        return [Task("further", {"of": largest}, measure, (10 * largest,))]

    seen = {}

    def look(page, results):
        seen.update({part: results.coverage(part) for part in results.parts})

    own = Paper("me2026", "", "Me.", lambda data, quick: (tasks([1, 2]), []), look, "bnplug", further=further)
    own(None, tmp_path)
    assert CALLS == [1, 2, 20]
    assert seen == {"squares": (2, 2), "further": (1, 1)}
    own(None, tmp_path)
    assert CALLS == [1, 2, 20]


def test_a_task_that_failed_is_not_tried_again_for_the_sake_of_those_that_depend_on_others(tmp_path):
    own = paper([13, 2], further=lambda results, data, quick: [Task("further", {}, measure, (4,))])
    _, failure = own.run(None, tmp_path)
    assert CALLS == [13, 2, 4]
    assert failure.startswith("me2026: 1 tasks failed")
