"""The paper's classifiers by name."""

from __future__ import annotations

import pytest
from sklearn.datasets import load_iris

import bnplug

RECIPES = {f"{s}-{p}" for s in ("NB", "TAN-ST-CMI", "TAN-HC-CR", "TAN-HC-MM") for p in ("ML", "MM")} - {"NB-ML"}


def test_the_plugin_brings_the_papers_names():
    plugin = next(info for info in bnplug.plugins() if info.name == "margin")
    assert plugin.status == "ok"
    assert plugin.names["score function"] == ("mm",)
    assert plugin.names["parameter learner"] == ("mm",)
    assert set(plugin.names["recipe"]) == RECIPES


@pytest.mark.parametrize("name", sorted(RECIPES))
def test_recipes_fit(name):
    X, y = load_iris(return_X_y=True, as_frame=True)
    model = bnplug.recipe(name, random_state=0).fit(X, y)
    assert model.score(X, y) > 0.93
    assert model.tables_.normalized
    assert (model.parameters_.alpha, model.parameters_.floor) == (0.0, 1e-5)
    between_features = [edge for edge in model.dag_.edges if model.tables_.target not in edge]
    assert len(between_features) == (0 if name.startswith("NB") else X.shape[1] - 1)


def test_maximum_margin_recipes_choose_lam_and_when_to_stop():
    X, y = load_iris(return_X_y=True, as_frame=True)
    model = bnplug.recipe("NB-MM").fit(X, y)
    assert model.parameters_.cv_rates_.shape == (10, 1)
    assert model.parameters_.kappa_ == 0.5
    assert model.parameters_.n_iter_ < model.parameters_.max_iter
