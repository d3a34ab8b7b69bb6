"""The papers' classifiers by name."""

from __future__ import annotations

from itertools import product

import pytest
from sklearn.datasets import load_iris

import bnplug
from bnplug.hooks import registry

OWN = [f"{s}{p}{i}" for s, p, i in product(("NB", "TAN", "KDB-1"), "dew", ("", "(I)"))]
CORE = ["NB-CL", "TAN-CMI-CL"]
BY_SCORE = ["TAN-OMI-CR-CL", "TAN-OMISP-CR-CL", "TAN-RO-CR-CL", "TAN-CR-CL", "2-tree-OMI-CR-CL"]


def test_the_plugin_brings_the_papers_names():
    plugin = next(info for info in bnplug.plugins() if info.name == "ccbn")
    assert plugin.status == "ok"
    assert plugin.names["parameter learner"] == ("ccbn-d", "ccbn-e", "ccbn-w")
    assert set(plugin.names["recipe"]) == {*OWN, *CORE, *BY_SCORE}


@pytest.mark.parametrize("name", OWN)
def test_recipes_of_the_paper_fit(name):
    X, y = load_iris(return_X_y=True, as_frame=True)
    model = bnplug.recipe(name).fit(X, y)
    assert model.score(X, y) > 0.94
    assert model.parameters_.init == ("generative" if name.endswith("(I)") else "zeros")
    assert model.tables_.normalized


@pytest.mark.parametrize("name", [*CORE, *BY_SCORE])
def test_recipes_of_conditional_likelihood_fit(name):
    X, y = load_iris(return_X_y=True, as_frame=True)
    model = bnplug.recipe(name, random_state=0).fit(X, y)
    assert model.score(X, y) > 0.94
    assert model.parameters_.n_iter_ <= 20
    assert (model.parameters_.alpha, model.parameters_.floor) == (0.0, 1e-5)


def test_scores_in_recipes_smooth_as_their_parameters_do():
    for name in BY_SCORE:
        _, parameters = registry.find("recipe", name).structure
        score, smoothing = parameters["score"]
        assert (score, smoothing["alpha"], smoothing["floor"]) == ("cr", 0.0, 1e-5)
