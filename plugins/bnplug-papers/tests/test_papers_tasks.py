"""Tasks, the estimate of the remaining time, and results part by part."""

import pytest
from bnplug_papers.kit import Results, Task
from bnplug_papers.kit.tasks import TaskProgress, run_tasks


def task(dataset, seed):
    return Task("a", {"dataset": dataset, "seed": seed}, divmod, (seed, 2))


def test_results_come_with_their_tasks_whatever_the_number_of_processes():
    tasks = [task("iris", seed) for seed in range(5)]
    for n_jobs in (1, 2):
        found = {one.key["seed"]: result for one, result, _ in run_tasks(tasks, n_jobs)}
        assert found == {seed: divmod(seed, 2) for seed in range(5)}


def test_the_time_left_is_that_of_tasks_of_the_same_group():
    left = [task("long", 1), task("long", 2), task("short", 1)]
    progress = TaskProgress("me2026", left, [(task("long", 0).group, 10.0), (task("short", 0).group, 1.0)])
    progress.worked = 4.0
    assert progress.seconds_left(elapsed=2.0) == pytest.approx((2 * 10.0 + 1.0) / 2)


def test_a_line_tells_what_was_done(capsys):
    progress = TaskProgress("me2026", [task("iris", 1)], [])
    progress.tell(task("iris", 1), 0.5, None)
    assert capsys.readouterr().err == "me2026: 1 of 1 tasks, 0:00 so far, about 0:00 left (a, iris, 1)\n"


def test_what_was_run():
    lines = [{"part": "run", "key": {}, "version": "1", "wanted": {"a": 4}, "lacking": []}]
    lines += [
        {"part": "a", "key": {"dataset": name, "seed": 0}, "seconds": 30.0, "value": [{"x": 1}, {"x": 2}]}
        for name in "pq"
    ]
    results = Results(lines)
    assert results.what_was_run().to_dict("list") == {
        "part": ["a"], "tasks": ["2 of 4"], "data sets": ["2"], "minutes": [1.0]
    }  # fmt: skip
    assert results.frame("a")["x"].tolist() == [1, 2, 1, 2]
    assert results.versions == ["1"]
    assert results.frame("nothing").empty


def test_the_order_of_lines_changes_nothing():
    lines = [{"part": "a", "key": {"seed": seed}, "seconds": 1.0, "value": {"x": seed}} for seed in (2, 0, 1)]
    assert Results(lines).frame("a")["x"].tolist() == [0, 1, 2]


def test_the_last_of_two_results_of_one_task_counts():
    lines = [{"part": "a", "key": {"seed": 0}, "seconds": 1.0, "value": {"x": x}} for x in (1, 2)]
    assert Results(lines).frame("a")["x"].tolist() == [2]
