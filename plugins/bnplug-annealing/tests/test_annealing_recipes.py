"""The paper's classifiers by name, its protocol, its pictures, and the page of its reproduction."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from bnplug_annealing.paper import PAPER, page, pictures, protocol
from sklearn.datasets import load_iris

import bnplug
from bnplug import datasets
from bnplug.experiments.paper import Results
from bnplug.hooks import registry

RECIPES = ["TAN-SA-CR-ML", "TAN-SA-MM-ML", "TAN-SA-CR-MM", "TAN-SA-MM-MM"]
NEEDS_MARGIN = pytest.mark.skipif(not protocol.available(["TAN-SA-MM"]), reason="needs bnplug-margin")


def test_the_plugin_brings_the_papers_names():
    plugin = next(info for info in bnplug.plugins() if info.name == "annealing")
    assert plugin.status == "ok"
    assert plugin.names == {
        "structure learner": ("sa",),
        "recipe": tuple(RECIPES),
        "reproduction": ("pernkopf2013",),
    }
    assert registry.reproduction("pernkopf2013").run is PAPER


@pytest.mark.parametrize("name", RECIPES)
def test_recipes_name_what_they_need(name):
    recipe = registry.find("recipe", name)
    assert ("bnplug-margin" in recipe.requires) == ("MM" in name)
    score, params = recipe.structure[1]["score"]
    assert (score, params["cv"], params["floor"]) == (name.split("-")[2].lower(), 5, 1e-5)


@pytest.mark.parametrize("name", ["TAN-SA-CR-ML", pytest.param("TAN-SA-MM-MM", marks=NEEDS_MARGIN)])
def test_a_recipe_fits(name):
    X, y = load_iris(return_X_y=True, as_frame=True)
    model = bnplug.recipe(name, random_state=0).set_params(structure__max_evaluations=100).fit(X, y)
    assert model.score(X, y) > 0.9
    assert model.structure_.r_ == {"CR": 1.0, "MM": 100.0}[name.split("-")[2]]
    assert max(model.dag_.in_degree(feature) for feature in X.columns) <= 2


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
    assert np.flatnonzero(~datasets.Dataset("usps-11000", X, y, "auto", "").copies()).tolist() == [0, 2, 3, 4]


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
    assert page.chosen(runs, "score").set_index("structure")["seed"].to_dict() == {"TAN-SA-MM": 1, "NB": 0}
    assert page.chosen(runs, "accuracy").set_index("structure")["seed"].to_dict() == {"TAN-SA-MM": 0, "NB": 0}


def test_searches_are_compared_on_the_same_rows():
    whole = [("TAN-SA-MM", 0, 0, 1.0, 95.0), ("TAN-HC-MM", 0, 0, 1.0, 94.0)]
    fewer = [("TAN-SA-MM", 0, 10_000, 1.0, 92.0), ("TAN-HC-MM", 0, 10_000, 1.0, 91.0)]
    assert page.compared(frame(*whole))["accuracy"].tolist() == [95.0, 94.0]
    assert page.compared(frame(*whole, *fewer))["accuracy"].tolist() == [95.0, 94.0]
    # Not every search has been through all rows yet.
    assert page.compared(frame(whole[0], *fewer))["accuracy"].tolist() == [92.0, 91.0]


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


def test_a_claim_that_holds_mostly():
    low, high = pd.Series({"a": 1.0, "b": 5.0, "c": 1.0}), pd.Series({"a": 2.0, "b": 3.0, "c": float("nan")})
    assert page._judge([(low, high)])[0] is False
    assert page._judge([(low, high)], mostly=True) == (False, "a 1.00, 2.00; b 5.00, 3.00")
    assert page._judge([(low, low)], mostly=True)[0] is True
    assert page._judge([]) == (None, "not run")


def test_a_run_writes_its_page_and_goes_on_from_its_file(tmp_path, monkeypatch):
    """The whole of it, on a small set."""
    text = PAPER(None, tmp_path, quick=True).read_text("utf-8")
    for heading in ("What was run", "Table 1", "Table 2", "All runs", "Table 3", "Figures 2 and 3", "Claims"):
        assert f"\n## {heading}" in text
    claims = text.partition("## Claims\n\n")[2].partition("\n\n")[0].splitlines()
    assert len(claims) == 7
    monkeypatch.setattr(protocol, "measure_structure", lambda *args: pytest.fail("measured again"))
    assert PAPER(None, tmp_path, quick=True).read_text("utf-8") == text
