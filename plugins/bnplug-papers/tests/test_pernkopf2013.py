"""Pernkopf and Wohlmayr (2013): the protocol, its pictures, and the page of the reproduction."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from bnplug_papers.kit import Page, Results, is_copy, published_table
from bnplug_papers.pernkopf2013 import PAPER, claims, differences, figures, page, pictures, protocol

import bnplug
from bnplug import datasets
from bnplug.hooks import registry

NEEDS_MARGIN = pytest.mark.skipif(not protocol.available(["TAN-SA-MM"]), reason="needs bnplug-margin")


def test_the_plugin_brings_all_reproductions():
    plugin = next(info for info in bnplug.plugins() if info.name == "papers")
    assert plugin.status == "ok"
    assert plugin.names == {"reproduction": ("kelner2012", "peharz2013", "pernkopf2008", "pernkopf2013", "zaidi2017")}
    assert registry.reproduction("pernkopf2013").run is PAPER


def test_the_best_score_so_far_is_drawn_against_evaluations():
    ax = pictures.score_against_evaluations({"HC": ([0, 5], [1.0, 2.0]), "SA": ([0, 1, 2], [1.0, 0.5, 3.0])}, "CR")
    assert ax.get_xscale() == "log"
    assert [line.get_label() for line in ax.lines] == ["HC", "SA"]
    assert ax.lines[1].get_ydata().tolist() == [1.0, 1.0, 3.0]
    assert ax.lines[1].get_xdata().tolist() == [1, 1, 2]


def test_boxes_show_median_and_range():
    ax = pictures.box_plots({"a": [1.0, 2.0, 3.0, 4.0, 10.0], "b": [5.0]}, "accuracy (%)")
    lines = [line.get_ydata().tolist() for line in ax.lines]
    assert [3.0, 3.0] in lines
    assert [10.0, 10.0] in lines
    assert [1.0, 1.0] in lines
    assert pictures.box_plots({"a": [10, 1000]}, "evaluations", logarithmic=True).get_yscale() == "log"


def test_schedules_have_a_mark_each():
    runs = pd.DataFrame({"D": [0.8, 0.5, 0.8], "evaluations": [5, 2, 6], "accuracy": [90.0, 89.0, 91.0]})
    ax = pictures.schedules(runs)
    assert [len(marks.get_offsets()) for marks in ax.collections] == [1, 2]


def test_rows_under_two_classes_count_once():
    X = pd.DataFrame({"p": [1, 1, 2, 3, 3, 3], "q": [0, 0, 0, 1, 1, 1]})
    y = pd.Series(["5", "6", "1", "7", "7", "5"])
    assert np.flatnonzero(~is_copy(datasets.Dataset("usps-11000", X, y, "auto", ""))).tolist() == [0, 2, 3, 4]


def test_splits_have_the_papers_shares():
    X, y = pd.DataFrame({"x": np.arange(1100)}), pd.Series(np.arange(1100) % 10)
    train, test = protocol.split(datasets.Dataset("usps-11000", X, y, "auto", ""))
    assert (len(train), len(test), len({*train, *test})) == (800, 300, 1100)
    whole = pd.DataFrame({"x": np.arange(4601) // 2})
    train, test = protocol.split(datasets.Dataset("spambase", whole, pd.Series(np.arange(4601) % 2), "auto", ""))
    assert (len(train), len(test)) == (2301, 2300)
    given = (np.arange(5), np.arange(5, 9))
    assert protocol.split(datasets.Dataset("mnist14", X, y, "auto", "", given)) is given


def test_a_structure_is_measured_with_its_trace():
    naive = protocol.measure_structure("iris", "NB", 0, 0, 0.8, None)
    assert (naive["evaluations"], naive["trace"], naive["score"], naive["tree"]) == (0, [], None, [-1] * 5)
    annealed = protocol.measure_structure("iris", "TAN-SA-CR", 1, 0, 0.5, None)
    assert annealed["evaluations"] >= annealed["trace"][-1][0]
    assert annealed["trace"][-1][1] == annealed["score"]
    assert annealed["accuracy"] > 90
    # (states - 1) x parent configurations, over all variables.
    table = protocol.prepared("iris", None).train
    states, c = table.cards, table.target_index
    sizes = [
        (states[v] - 1) * (1 if v == c else states[c] * (states[p] if p >= 0 else 1))
        for v, p in enumerate(annealed["tree"])
    ]
    assert annealed["size"] == sum(sizes)


@NEEDS_MARGIN
def test_hill_climbing_keeps_its_evaluations():
    climbed = protocol.measure_structure("iris", "TAN-HC-CR", 0, 0, 0.8, None)
    assert climbed["trace"][0][0] == 0
    assert climbed["trace"][-1][0] <= climbed["evaluations"]
    assert sum(parent >= 0 for parent in climbed["tree"]) == 3
    learned = protocol.measure_parameters("iris", climbed["tree"], "L-BFGS, stopped early", None)
    assert learned["accuracy"] > 90
    assert learned["size"] == climbed["size"]


def test_tasks_are_the_papers():
    tasks, lacking = protocol.tasks(None, quick=False)
    assert (tasks, lacking) == ([], ["Spambase", "USPS", "USPS, ten digits", "MNIST", "DCMall"])
    swept = protocol._sweep([protocol.USPS], range(10), None)
    assert {task.key["D"] for task in swept} == {0.5, 0.6, 0.7, 0.9}
    assert {task.part for task in swept} == {"schedules"}


def frame(*rows):
    columns = ["dataset", "structure", "seed", "rows", "score", "accuracy", "evaluations", "features"]
    return pd.DataFrame([("Spambase", *row, 5, 57) for row in rows], columns=columns)


def test_the_run_of_the_best_score_in_training_counts():
    runs = frame(("TAN-SA-MM", 0, 0, 10.0, 95.0), ("TAN-SA-MM", 1, 0, 11.0, 93.0), ("NB", 0, 0, None, 90.0))
    assert figures.chosen(runs, "score").set_index("structure")["seed"].to_dict() == {"TAN-SA-MM": 1, "NB": 0}
    assert figures.chosen(runs, "accuracy").set_index("structure")["seed"].to_dict() == {"TAN-SA-MM": 0, "NB": 0}


def test_searches_are_compared_on_the_same_rows():
    whole = [("TAN-SA-MM", 0, 0, 1.0, 95.0), ("TAN-HC-MM", 0, 0, 1.0, 94.0)]
    fewer = [("TAN-SA-MM", 0, 10_000, 1.0, 92.0), ("TAN-HC-MM", 0, 10_000, 1.0, 91.0)]
    assert figures.compared(frame(*whole))["accuracy"].tolist() == [95.0, 94.0]
    assert figures.compared(frame(*whole, *fewer))["accuracy"].tolist() == [95.0, 94.0]
    # Not every search has been through all rows yet.
    assert figures.compared(frame(whole[0], *fewer))["accuracy"].tolist() == [92.0, 91.0]


@NEEDS_MARGIN
def test_margins_are_learned_for_the_best_in_training_and_in_testing():
    key = {"dataset": "iris", "structure": "TAN-SA-CR", "rows": 0}
    figures = [(10.0, 95.0), (11.0, 93.0), (9.0, 90.0)]
    lines = [
        {"part": "structures", "key": {**key, "seed": seed}, "seconds": 1.0,
         "value": {"score": score, "accuracy": accuracy, "tree": [-1]}}
        for seed, (score, accuracy) in enumerate(figures)
    ]  # fmt: skip
    assert [task.key["seed"] for task in protocol.further(Results(lines), None, False)] == [0, 1]


def test_two_searches_are_compared_where_both_have_most_rows():
    whole = [("TAN-SA-MM", 0, 0, 1.0, 95.0), ("TAN-HC-MM", 0, 0, 1.0, 94.0)]
    fewer = [("TAN-SA-MM", 0, 10_000, 1.0, 92.0), ("TAN-HC-MM", 0, 10_000, 1.0, 91.0)]
    names = "TAN-HC-MM", "TAN-SA-MM"
    both = figures.on_same_rows(frame(*whole, *fewer), *names).loc["Spambase"]
    assert both.to_dict() == {"rows": 0, "low": 94.0, "high": 95.0}
    both = figures.on_same_rows(frame(whole[0], *fewer), *names).loc["Spambase"]
    assert both.to_dict() == {"rows": 10_000, "low": 91.0, "high": 92.0}
    assert figures.on_same_rows(frame(whole[0]), *names).empty


def test_the_papers_own_tables_meet_its_claims():
    for text, judge, wanted in claims.CLAIMS:
        holds, _, n = judge(claims.published())
        assert (holds, n) == (True, wanted), text


def test_a_claim_is_judged_on_the_papers_data_sets_and_others_stand_beside():
    rows = [("MNIST", 1.0, 2.0), ("USPS", 5.0, 3.0), ("USPS, ten digits", 2.0, 1.0)]
    pairs = pd.DataFrame(rows, columns=["dataset", "low", "high"])
    told = (
        "not so in 1 of 2: USPS 5.00, 3.00; so in 1 of 2: MNIST 1.00, 2.00; beside it, "
        "not so in 1 of 1: USPS, ten digits 2.00, 1.00"
    )
    assert claims._mostly(pairs) == (False, told, 2)
    assert claims._mostly(pairs.iloc[[0, 2]])[0] is True
    # What is the same is not better.
    assert claims._mostly(pairs.assign(high=pairs["low"]))[0] is False
    assert claims._mostly(pairs.iloc[2:])[::2] == (None, 0)


def test_published_sizes_are_those_of_the_papers_data_sets():
    assert published_table("pernkopf2013-table3-sizes", "size").columns.tolist() == ["NB", "tree", "SVM"]


def record(part, key, value):
    return {"part": part, "key": key, "seconds": 1.0, "value": value}


def made_up():
    """Return a few records of every part, those that take hours included."""
    found = []
    fixed = {"learning": 1.0, "features": 57, "n_train": 2301, "n_test": 2300, "size": 100, "tree": [-1]}
    for name, rows in (
        ("spambase", 0),
        ("usps-11000", 0),
        ("usps-hastie-9298", 0),
        ("mnist14", 0),
        ("mnist14", 10_000),
    ):
        for number, structure in enumerate((*protocol.GENERATIVE, *protocol.CLIMBED, *protocol.ANNEALED)):
            if name == "mnist14" and not rows and "-HC-" in structure:
                continue
            key = {"dataset": name, "structure": structure, "seed": 0, "rows": rows}
            lam, used = 0.1 if structure.endswith("MM") else None, 1000 if "-HC-" in structure else 100
            value = {"score": 1.0, "evaluations": used, "trace": [[0, 0.5], [9, 1.0]], "lam": lam, **fixed}
            found.append(record("structures", key, {**value, "accuracy": 85.0 + number}))
            if "-SA-" in structure and name == "usps-11000":
                for D in (0.5, 0.9):
                    found.append(record("schedules", {**key, "D": D}, {**value, "evaluations": 50, "accuracy": 90.0}))
        found.append(record("SVM", {"dataset": name}, {"accuracy": 95.0, "size": 5000}))
    key = {"dataset": "usps-hastie-9298", "structure": "NB", "split": "drawn"}
    found.append(record("split", key, {"NB-ML": 87.0, "NB-MM": 94.0}))
    for rows in (150, 2301):
        for structure in protocol.SIZED:
            found.append(record("sample sizes", {"rows": rows, "structure": structure, "draw": 0}, {"accuracy": 90.0}))
    hidden = [
        {"method": method, "missing": n, "accuracy": [start - n * fall]}
        for method, start, fall in (("NB-ML", 0.8, 0.01), ("NB-MM", 0.85, 0.011), ("SVM, means", 0.9, 0.02))
        for n in (0, 5, 10, 16, 21, 26, 32)
    ]
    found.append(record("figure 5", {"dataset": "satellite", "draws": 0}, hidden))
    return found


def filled(records):
    own = Page("pernkopf2013", "Annealing", "A paper")
    page.fill(own, Results(records))
    return own, own.to_markdown()


def test_the_page_shows_parts_that_take_hours_as_far_as_they_were_run():
    own, text = filled(made_up())
    for heading in ("Figure 4", "Sample sizes", "Figure 5", "Where we part"):
        assert f"\n## {heading}" in text
    assert "| MNIST | 85.00 (83.73) |" in text
    assert "1 of 10" in text
    assert "| 150 | 90.00 |" in text
    verdicts = {claim.split(" (")[0]: verdict for claim, verdict, _ in own.claims}
    assert (
        verdicts["Annealing takes fewer evaluations of the score than hill climbing."] == "yes, on 6 of 8 comparisons"
    )
    assert verdicts["NB-MM is above NB-ML with features missing, up to 150 of 191"] == "yes, on 10 of 100 draws"
    assert verdicts["An SVM with means for missing features degrades heavily"] == "yes, on 10 of 100 draws"
    assert verdicts["MM parameters are better than ML ones on the same structure."].startswith("not testable")
    assert verdicts["On USPS a faster schedule than D = 0.8 may take fewer evaluations at a similar accuracy"].endswith(
        "on 4 of 80 runs"
    )
    assert any("MNIST from 10000 rows, CR: 1000 and 100, 10.0 times" in evidence for _, _, evidence in own.claims)


def test_parameters_that_the_searches_call_for_are_counted_as_wanted():
    _, text = filled(made_up())
    assert "| parameters | 0 of " in text


def test_the_ten_digits_in_the_place_of_usps():
    """All claims but one rest on figures that are alike; of that one the digits decide."""
    results = Results(made_up())
    runs = figures.read_runs(results)
    accuracy = figures.accuracies(results, runs, "score")
    told = claims._with_ten_digits(accuracy, runs, claims.ours(accuracy, runs))
    assert "no verdict on Tables 1 and 2 would change. More than a point below" in told
    poor = runs["accuracy"].mask((runs["dataset"] == "USPS, ten digits") & (runs["structure"] == "TAN-SA-MM"), 1.0)
    runs = runs.assign(accuracy=poor)
    accuracy = figures.accuracies(results, runs, "score")
    told = claims._with_ten_digits(accuracy, runs, claims.ours(accuracy, runs))
    assert "these verdicts would change: On every data set the MM score leads" in told


def test_rows_that_are_drawn_are_a_reason_where_they_bring_a_figure_there():
    results = Results(made_up())
    runs = figures.read_runs(results)
    ours = figures.accuracies(results, runs, "score")
    drawn = differences.find_ways(results, runs, ours)[0]
    assert drawn.figure("USPS, ten digits", "NB-ML", 85.0) == 87.0
    assert drawn.figure("USPS", "NB-ML", 85.0) is None
    _, text = filled(made_up())
    assert "| USPS, ten digits | NB-ML | 85.00 | 87.10 | -2.10 | with rows drawn by class: 87.00 (+2.00) |" in text
    assert "| USPS, ten digits | TAN-ST-CMI-ML | 86.00 | 91.90 | -5.90 | not explained |" in text


def test_a_run_writes_its_page_and_goes_on_from_its_file(tmp_path, monkeypatch):
    """The whole of it, on a small set."""
    text = PAPER(None, tmp_path, quick=True).read_text("utf-8")
    for heading in ("What was run", "Table 1", "Table 2", "All runs", "Table 3", "Figures 2 and 3", "Claims"):
        assert f"\n## {heading}" in text
    assert len(text.partition("## Claims\n\n")[2].partition("\n\n")[0].splitlines()) == 14
    monkeypatch.setattr(protocol, "measure_structure", lambda *args: pytest.fail("measured again"))
    assert PAPER(None, tmp_path, quick=True).read_text("utf-8") == text
