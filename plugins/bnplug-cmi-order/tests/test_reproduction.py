"""The paper's protocol, and the page of its reproduction."""

from __future__ import annotations

import json
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from bnplug_cmi_order.paper import PAPER, page, protocol, steps

import bnplug
from bnplug import datasets
from bnplug.experiments import published
from bnplug.experiments.paper import code_split, load_data
from bnplug.hooks import registry

GENERATIVE, ORDERED, GREEDY = protocol.GENERATIVE, protocol.ORDERED, protocol.GREEDY


def test_the_reproduction_is_registered():
    assert registry.reproduction("pernkopf2008").run is PAPER


def test_the_data_sets_are_the_papers():
    assert len({*protocol.CROSS_VALIDATED, *protocol.HELD_OUT}) == 25
    tasks, lacking = protocol.tasks(None, quick=False)
    assert {task.key["dataset"] for task in tasks if task.part == "table 1"} == {
        "corral", "iris", "mofn-3-7-10", "waveform-21"
    }  # fmt: skip
    assert len(lacking) == 21 + 3
    assert {task.key["orders"] for task in tasks if task.part == "random orders"} == {1000}
    draws = [task for task in tasks if task.part == "figure 1" and task.key["rows"] == 20]
    assert len(draws) * protocol.BATCH == 100


def test_splits_have_the_papers_sizes_and_no_row_twice():
    X, y = pd.DataFrame({"x": np.arange(5000)}), pd.Series(np.arange(5000) % 2)
    drawn, other = (datasets.Dataset(name, X, y, "auto", "") for name in ("waveform-21", "unknown"))
    [(train, test)] = protocol.cv(drawn)
    assert (len(train), len(test), len({*train, *test})) == (300, 4700, 5000)
    [(train, test)] = protocol.cv(datasets.Dataset("mofn-3-7-10", X, y, "auto", ""))
    assert (train == np.arange(300)).all()
    assert (test == np.arange(300, 1324)).all()
    assert protocol.cv(other) == 5
    # Generated, this set has fewer rows than the paper's training and test rows together.
    assert protocol.cv(datasets.load("mofn-3-7-10")) == 5
    incomplete = datasets.Dataset("unknown", X.where(X["x"] % 2 == 0), y, "auto", "")
    for train, test in protocol.splits(incomplete):
        assert len({*train, *test}) == 2500


def test_folds_of_random_orders_are_those_of_table_1():
    """The same rows, so that their accuracies compare."""
    from bnplug.experiments._data import split_data

    usual = split_data([load_data("iris", None)], "1x5", "drop", 0, None, "declared")[0].splits
    for (train, test), (own_train, own_test) in zip(
        usual.values(), protocol.splits(load_data("iris", None)), strict=True
    ):
        assert (train == own_train).all()
        assert (test == own_test).all()


def test_the_best_and_the_worst_random_order():
    found = protocol.walk_orders("corral", None, 0, 6)
    assert found["min"] <= 100
    assert found["mean"] <= 100
    split = protocol._coded("corral", None, 0)
    rates, accuracies = [], []
    for seed in range(6):
        learner = bnplug.structure_learner("ro", score=("cr", {"alpha": 0.0, "floor": 1e-5}), random_state=seed)
        dag = learner.learn(split.train)
        rates.append(learner.trace_[-1])
        accuracies.append(split.accuracy(bnplug.parameter_learner("ml", alpha=0.0, floor=1e-5).fit(split.train, dag)))
    assert min(rates) < max(rates)
    assert found["max"] == accuracies[int(np.argmax(rates))]
    assert found["min"] == accuracies[int(np.argmin(rates))]
    assert found["mean"] == pytest.approx(np.mean(accuracies))


def test_the_synthetic_case_needs_a_discriminative_structure():
    means = {name: np.mean(values) for name, values in protocol.draw(1000, 0).items()}
    assert means["NB-ML"] == pytest.approx(50, abs=4)
    assert means[GENERATIVE] == pytest.approx(57.5, abs=4)
    assert means[ORDERED] == pytest.approx(65, abs=4)
    assert means["SVM"] == pytest.approx(65, abs=4)


def test_times_and_counts_of_candidates():
    found = protocol.measure_times("corral", None)
    assert found["features"] == 6
    assert found["TAN-CMI"]["evaluations"] == 0
    assert found["TAN-OMI-CR"]["evaluations"] == 15
    assert found["TAN-CR"]["evaluations"] >= 30


def test_steps_of_each_way_go_down_and_fixed_ones_least():
    rows = np.arange(150)
    split = code_split(datasets.load("iris"), rows[rows % 2 == 0], rows[rows % 2 == 1])
    dag = split.train.dag(split.train.naive_bayes())
    start = bnplug.parameter_learner("ml").fit(split.train, dag)
    ends = {}
    for way in protocol.WAYS:
        path, tables = steps.descend(split.train, dag, start, way, 8)
        assert all(later < before for before, later in pairwise(path))
        ends[way] = path[-1]
        for table in tables.tables.values():
            np.testing.assert_allclose(np.exp(table.values).sum(axis=0), 1.0)
    assert max(ends, key=ends.get) == "fixed steps 1/M"


def test_our_t_tests_beside_the_published():
    theirs = published("pernkopf2008-table2-p-values")
    names = sorted({*theirs["first"], *theirs["second"]})
    table = pd.DataFrame({name: [0.5, 0.6, 0.8] for name in names}).assign(**{ORDERED: [0.6, 0.8, 0.9]})
    tests = page.t_tests(table).set_index(["first", "second"])
    # Differences 0.1, 0.2, 0.1: t = 4 with two degrees of freedom.
    assert tests.loc[(GENERATIVE, ORDERED), "p"] == pytest.approx(0.0286, abs=1e-4)
    assert tests.loc[(GENERATIVE, ORDERED), "better"] == ORDERED
    assert tests.loc[(ORDERED, GREEDY), "better"] == ORDERED
    assert tests.loc[("NB-ML", GREEDY), "better"] == "neither"
    assert tests.loc[(ORDERED, "TAN-OMISP-CR-ML"), "published better"] == ORDERED
    assert len(tests) == 21


def test_published_names_are_ours():
    """Every classifier of Table 1 that is averaged over UCI sets has a row of ours, where its plugin is there."""
    theirs = published("pernkopf2008-table1-accuracy").query("dataset == 'UCI-25 average'")["method"]
    ours = {*protocol._classifiers(), *(f"TAN-RO-CR-ML {kind}" for kind in ("mean", "min", "max"))}
    assert {name for name in theirs if "CL" not in name} <= ours
    assert ours - {protocol.BY_RATE} <= set(theirs)


def test_the_set_that_is_missing_is_a_reason_where_it_can_be():
    # 24 sets average 82.8, all 25 were published at 83.9: a point less needs 85.3 on the one that is missing.
    assert page._reason(82.8, 83.9, 24) == "the set that is missing: not off if it gives 85.3% or more"
    assert page._reason(80.0, 85.0, 24) == "not explained"
    assert page._reason(80.0, 75.0, 24) == "not explained"
    assert page._reason(80.0, 80.9, 24) == ""


def hidden(generative, discriminative):
    rows = [
        (name, missing, 0, value)
        for name, values in ((GENERATIVE, generative), (ORDERED, discriminative), (GREEDY, discriminative))
        for missing, value in enumerate(values)
    ]
    return {"a": pd.DataFrame(rows, columns=["method", "missing", "draw", "accuracy"])}


def test_missing_features_are_judged_where_some_are_missing():
    above, evidence = page._judge_hidden(hidden([0.9, 0.7, 0.6], [0.8, 0.8, 0.59]))
    assert above is True
    assert "TAN-OMI-CR-ML on a +4.50" in evidence
    assert "above in 2 of 4 cases" in evidence
    assert page._judge_hidden(hidden([0.8, 0.7, 0.6], [0.9, 0.6, 0.6]))[0] is False
    assert page._judge_hidden({})[0] is None


def test_a_run_writes_its_page(tmp_path, monkeypatch):
    """The whole of it, on one small set, with what takes long cut short."""
    monkeypatch.setattr(protocol, "QUICK", ("iris", "corral"))
    monkeypatch.setattr(protocol, "BATCH", 2)
    kept = ("NB-ML", GENERATIVE, ORDERED, "TAN-OMISP-CR-ML", GREEDY, "2-tree-OMI-CR-ML", "NB-CL")
    usual = protocol._classifiers
    monkeypatch.setattr(protocol, "_classifiers", lambda: {name: own for name, own in usual().items() if name in kept})
    text = PAPER(None, tmp_path, quick=True).read_text("utf-8")
    assert text == PAPER(None, tmp_path, quick=True, page_only=True).read_text("utf-8")
    for heading in (
        "What was run",
        "Figure 1",
        "Table 1: UCI",
        "Table 2",
        "Table 4",
        "Figure 3",
        "Claims",
        "Data that",
    ):
        assert f"\n## {heading}" in text
    claims = text.partition("## Claims\n\n")[2].partition("\n\n")[0].splitlines()
    assert len(claims) == 8
    assert "**not testable here**: The same on phonetic classification" in text
    lines = (tmp_path / "pernkopf2008-quick.jsonl").read_text().splitlines()
    assert all(json.loads(line) for line in lines)
