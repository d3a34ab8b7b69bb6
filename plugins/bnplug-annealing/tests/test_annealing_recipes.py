"""The paper's classifiers by name, its protocol, its pictures, and the page of its reproduction."""

from __future__ import annotations

import dataclasses

import numpy as np
import pandas as pd
import pytest
from bnplug_annealing import pictures, protocol, reproduction
from sklearn.datasets import load_iris

import bnplug
from bnplug import datasets
from bnplug.experiments import Page
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
    assert registry.reproduction("pernkopf2013").run is reproduction.run


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
    data = protocol.prepare(datasets.load("iris"))
    climbed = protocol.measure_structure(data, "NB")
    assert (climbed["evaluations"], climbed["trace"], climbed["score"]) == (0, [], None)
    annealed = protocol.measure_structure(data, "TAN-SA-CR", seed=1, D=0.5)
    assert annealed["evaluations"] >= annealed["trace"][-1][0]
    assert annealed["trace"][-1][1] == annealed["score"]
    assert annealed["accuracy"] > 90
    # (states - 1) x parent configurations, over all variables.
    states = data.train.cards
    c = data.train.target_index
    sizes = [(states[v] - 1) * np.prod(states[own]) for v, own in enumerate(annealed["parents"])]
    assert annealed["size"] == sum(sizes)
    assert annealed["parents"][c] == []


@NEEDS_MARGIN
def test_hill_climbing_is_logged_move_by_move():
    data = protocol.prepare(datasets.load("iris"))
    climbed = protocol.measure_structure(data, "TAN-HC-CR")
    assert climbed["trace"][0][0] == 0
    assert climbed["trace"][-1][0] <= climbed["evaluations"]
    assert len([own for own in climbed["parents"] if len(own) == 2]) == 3


def test_jobs_are_what_is_not_there_yet():
    have = [{"dataset": "a", "structure": "TAN-SA-CR", "seed": 0, "D": None}]
    left = list(protocol.jobs(["a"], have, {"a": 2}, "a", 1))
    assert ("a", "TAN-SA-CR", 1, None) in left
    assert ("a", "TAN-SA-CR", 0, None) not in left
    assert {D for _, structure, _, D in left if structure == "TAN-SA-CR"} == {None, 0.5, 0.6, 0.7, 0.9}


def record(structure, seed, score, accuracy, parameters="ML", D=None):
    return {
        "dataset": "spambase", "structure": structure, "seed": seed, "D": D, "parameters": parameters, "score": score,
        "accuracy": accuracy,
    }  # fmt: skip


def test_the_most_accurate_run_is_shown_with_both_parameters():
    records = [
        record("TAN-SA-MM", 0, 10.0, 95.0),
        record("TAN-SA-MM", 1, 11.0, 93.0),
        record("TAN-SA-MM", 2, 99.0, 92.0, D=0.5),
        record("TAN-SA-MM", 1, None, 94.0, "MM"),
        record("TAN-SA-MM", 0, None, 96.0, "MM"),
    ]
    best = reproduction.chosen(records)
    assert [r["seed"] for r in best] == [0]
    found = reproduction.accuracies(best, records).set_index("method")["mean"]
    assert found.to_dict() == {"TAN-SA-MM-ML": 95.0, "TAN-SA-MM-MM": 96.0}


def test_sizes_are_those_of_the_runs_that_are_shown(tmp_path):
    records = [
        {**record("TAN-SA-MM", 0, 10.0, 93.0), "size": 111},
        {**record("TAN-SA-MM", 1, 11.0, 95.0), "size": 222},
        {**record("TAN-SA-MM", 2, 99.0, 97.0, D=0.5), "size": 333},
    ]
    page, best = Page("sizes", "Sizes", ""), reproduction.chosen(records)
    found = pd.DataFrame(records).assign(dataset="Spambase")
    reproduction.add_sizes(page, best, found, reproduction.accuracies(best, records))
    page.write(tmp_path)
    assert "| Spambase | TAN-SA-MM-ML | 222 |" in (tmp_path / "sizes.md").read_text(encoding="utf-8")


def test_without_data_it_says_what_it_looks_for(tmp_path):
    with pytest.raises(FileNotFoundError, match="spambase, usps-11000, mnist14; --quick needs none"):
        reproduction.run(tmp_path, tmp_path, quick=False)


@pytest.mark.parametrize("structures", [("NB", "TAN-SA-CR"), ("TAN-ST-CMI", "TAN-SA-CR"), ("TAN-SA-CR",)])
def test_a_page_without_the_recipes_of_other_plugins(structures, tmp_path):
    records = [{**record(s, 0, 1.0, 90.0), "size": 9, "evaluations": 5, "trace": [(0, 1.0)]} for s in structures]
    data = dataclasses.replace(protocol.prepare(datasets.load("iris")), name="spambase")
    reproduction.write_page({"spambase": data}, records, [], False, tmp_path)
    assert "not testable here" in (tmp_path / "pernkopf2013.md").read_text(encoding="utf-8")


def test_a_run_writes_its_page_and_goes_on_from_its_file(tmp_path, monkeypatch):
    """The whole of it, on a small set, with what takes long cut short."""
    monkeypatch.setattr(protocol, "QUICK_SET", "iris")
    monkeypatch.setattr(protocol, "SCHEDULES", (0.5, 0.8))
    monkeypatch.setattr(protocol, "_WIDTHS", [0.1])
    monkeypatch.setattr(protocol, "choose_lam", lambda data: 0.1)
    monkeypatch.setattr(protocol, "measure_parameters", lambda data, r: {**r, "parameters": "MM", "trace": []})
    monkeypatch.setattr(reproduction, "_QUICK_RUNS", 2)
    reproduction.run(None, tmp_path, quick=True)
    text = (tmp_path / "pernkopf2013.md").read_text(encoding="utf-8")
    for heading in ("Table 1", "Table 2", "All runs", "Table 3", "Figures 2 to 4", "Claims", "Data that were missing"):
        assert f"\n## {heading}" in text
    claims = text.partition("## Claims\n\n")[2].partition("\n\n")[0].splitlines()
    assert len(claims) == 7
    assert all(claim.startswith(("- **yes**: ", "- **no**: ", "- **not testable here**: ")) for claim in claims)
    assert str(tmp_path) not in text
    drawn = sorted(path.name for path in tmp_path.glob("*.png"))
    assert [name for name in drawn if f"({name})" not in text] == []
    assert {"pernkopf2013-accuracy-iris.png", "pernkopf2013-evaluations-iris.png"} <= set(drawn)

    def never(*args):
        raise AssertionError("measured again")

    monkeypatch.setattr(protocol, "measure_structure", never)
    reproduction.run(None, tmp_path, quick=True)
    assert (tmp_path / "pernkopf2013.md").read_text(encoding="utf-8") == text
