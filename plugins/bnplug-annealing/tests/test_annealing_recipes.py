"""The paper's classifiers by name."""

from __future__ import annotations

import importlib.util

import pytest
from sklearn.datasets import load_iris

import bnplug
from bnplug.hooks import registry

RECIPES = ["TAN-SA-CR-ML", "TAN-SA-MM-ML", "TAN-SA-CR-MM", "TAN-SA-MM-MM"]
NEEDS_MARGIN = pytest.mark.skipif(importlib.util.find_spec("bnplug_margin") is None, reason="needs bnplug-margin")


def test_the_plugin_brings_the_papers_names():
    plugin = next(info for info in bnplug.plugins() if info.name == "annealing")
    assert plugin.status == "ok"
    assert plugin.names == {
        "structure learner": ("sa",),
        "recipe": tuple(RECIPES),
    }


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
