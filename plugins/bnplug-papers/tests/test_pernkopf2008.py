"""The paper's protocol, and the page of its reproduction."""

from __future__ import annotations

import json
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from bnplug_papers.kit import Results, code_split, load_data, published
from bnplug_papers.pernkopf2008 import PAPER, claims, figures, page, protocol, steps

import bnplug
from bnplug import Structure, datasets
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
    again = [task.key for task in tasks if task.part == "drawn again"]
    assert {key["draw"] for key in again} == set(range(1, protocol.REDRAWS + 1))


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
    from bnplug.experiments import split_data

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
    dag = Structure(split.train.names, split.train.naive_bayes())
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


def test_published_figures_of_mnist_have_both_parameters():
    theirs = figures.table_1(figures.MNIST)
    names = [f"{name}-{kind}" for name in protocol.STRUCTURES for kind in ("ML", "CL")]
    assert sorted(theirs.columns) == sorted([*names, "2-tree-OMI-CR-ML smoothed"])
    assert theirs.loc[figures.MNIST, "TAN-CMI-CL"] == 91.28


def test_a_figure_that_is_off_has_a_mark_and_a_reason():
    ours, theirs = (
        pd.DataFrame({"NB-ML": [a], "NB-CL": [b]}, index=["MNIST"]) for a, b in ((80.0, 90.0), (82.0, 84.0))
    )
    way = page.Variant("short steps", pd.DataFrame({"NB-CL": [86.0]}, index=["MNIST"]))
    rows = page.with_reasons(ours, theirs, [way]).set_index("method")
    assert rows["off"].to_dict() == {"NB-ML": "▼", "NB-CL": "▲"}
    assert rows["reason"].to_dict() == {"NB-ML": "not explained", "NB-CL": "with short steps: 86.00"}
    errors, draws = (ours * 0 + value for value in (0.8, 5))
    rows = page.with_reasons(ours, theirs, [], errors, draws).set_index("method")
    assert rows.loc["NB-ML", "reason"] == "the draw of the folds: ± 3.14"
    assert rows.loc["NB-CL", "reason"] == "not explained"


def record(part, key, value):
    return {"part": part, "key": key, "seconds": 1.0, "value": value}


def table_1_records(rates):
    """Return records of Table 1, given a list of accuracies on folds for each data set, the same for all methods."""
    return [
        record(
            "table 1",
            {"dataset": name, "method": method, "repetition": 0},
            {"n_train": 8, "n_test": 2, "accuracy": own, "rmse": own, "fit_seconds": own},
        )
        for name, own in rates.items()
        for method in protocol._classifiers()
    ]


def test_draws_of_the_folds_are_averaged_with_what_is_given():
    again = [record("drawn again", {"method": "NB-ML", "draw": 1}, {"iris": 90.0})]
    found = figures.Figures(Results([*table_1_records({"iris": [0.7, 0.9], "letter": [0.6]}), *again])).redrawn()
    assert found["NB-ML"].to_dict() == pytest.approx({0: 70.0, 1: 75.0})
    assert found[GREEDY].count() == 1


def test_folds_drawn_again_are_others_and_the_first_draw_is_that_of_table_1():
    dataset = load_data("iris", None)
    first, second = protocol.splits(dataset), protocol.splits(dataset, 1)
    assert (protocol.splits(dataset, 0)[0][1] == first[0][1]).all()
    assert not (first[0][1] == second[0][1]).all()
    rows = np.arange(150)
    assert sorted(np.concatenate([test for _, test in second])) == rows.tolist()
    found = protocol.measure_again("NB-ML", ["iris"], None, 1)
    assert 85 < found["iris"] < 100


def test_data_sets_with_the_same_rows_are_found():
    found = figures.Figures(Results(table_1_records({"diabetes": [0.7, 0.8], "iris": [0.9, 1.0], "pima": [0.7, 0.8]})))
    assert found.twins() == [["diabetes", "pima"]]
    assert found.without(["pima"]).uci.index.tolist() == ["diabetes", "iris"]


def test_orders_count_where_all_folds_have_them():
    orders = [
        record("random orders", {"dataset": name, "orders": 5, "fold": fold}, {"mean": 80.0, "min": 70.0, "max": 90.0})
        for name, fold in (("iris", 0), ("iris", 1), ("glass", 0))
    ]
    table = figures.Figures(Results([*table_1_records({"iris": [0.7, 0.9], "glass": [0.6, 0.7]}), *orders])).uci
    assert table["TAN-RO-CR-ML max"].dropna().to_dict() == {"iris": 90.0}


def test_the_page_shows_mnist_as_far_as_it_was_run():
    """The greedy search on it takes hours."""
    value = {"structure_seconds": 1.0, "evaluations": 19110, "n_train": 60000, "n_test": 10000, "smoothed": 90.0}
    found = [
        record("MNIST", {"dataset": "mnist14", "structure": name}, {**value, "ML": 92.0 + number, "CL": 93.0})
        for number, name in enumerate(("NB", "TAN-CMI", ORDERED[:-3], "TAN-OMISP-CR"))
    ]
    own = figures.Figures(Results(found))
    assert own.times == {}
    assert own.shares([("NB-ML", GREEDY)]) == []
    [(_, _, (gain, p))] = own.shares([("NB-ML", ORDERED)])
    assert (gain, p < 0.001) == (2.0, True)
    greedy = record(
        "MNIST",
        {"dataset": "mnist14", "structure": "TAN-CR"},
        {**value, "structure_seconds": 20.0, "ML": 94.0, "CL": 94.0},
    )
    whole = figures.Figures(Results([*found, greedy]))
    assert figures.relative(whole.times["MNIST"], "seconds") == {"TAN-CMI": 5.0, "TAN-OMI-CR": 5.0, "TAN-CR": 100.0}
    assert len(whole.shares([(ORDERED, GREEDY)])) == 1


def hidden(generative, discriminative):
    rows = [
        (name, missing, 0, value)
        for name, values in ((GENERATIVE, generative), (ORDERED, discriminative), (GREEDY, discriminative))
        for missing, value in enumerate(values)
    ]
    return {"a": pd.DataFrame(rows, columns=["method", "missing", "draw", "accuracy"])}


def test_missing_features_are_judged_where_some_are_missing():
    above, evidence = claims.judge_hidden(hidden([0.9, 0.7, 0.6], [0.8, 0.8, 0.59]))
    assert above is True
    assert "TAN-OMI-CR-ML on a +4.50" in evidence
    assert "above in 2 of 4 cases" in evidence
    assert claims.judge_hidden(hidden([0.8, 0.7, 0.6], [0.9, 0.6, 0.6]))[0] is False
    assert claims.judge_hidden({})[0] is None


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
    assert len(text.partition("## Claims\n\n")[2].partition("\n\n")[0].splitlines()) == 12
    assert "**not testable here**: The same on phonetic classification" in text
    lines = (tmp_path / "pernkopf2008-quick.jsonl").read_text().splitlines()
    assert all(json.loads(line) for line in lines)
