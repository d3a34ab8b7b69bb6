"""Results of tasks, part by part."""

from bnplug.experiments.paper import Results


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
