"""The paper's classifiers by name, its rivals included."""

from __future__ import annotations

import pytest
from sklearn.datasets import load_iris

import bnplug
from bnplug.hooks import registry

SEARCHES = {"RMCV": "nb", "RMCV-empty": "empty", "RMHO": "nb", "RMHO-f": "nb", "RMHO-ar": "nb"}
RIVALS = {
    "MDL": ("mdl", "nb"),
    "MDL-empty": ("mdl", "empty"),
    "K2": ("k2", "nb"),
    "K2-empty": ("k2", "empty"),
    "BNC-MDL": ("cmdl", "empty"),
    "BNC-2P": ("cll", "empty"),
}


def test_the_plugin_brings_the_papers_names():
    plugin = next(info for info in bnplug.plugins() if info.name == "rmcv")
    assert plugin.status == "ok"
    assert plugin.names == {
        "structure learner": ("rmcv", "rmho", "rmho-f", "rmho-ar"),
        "score function": ("rmcv", "rmho", "rmho-f"),
        "recipe": (*SEARCHES, *RIVALS),
    }


@pytest.mark.parametrize("name", [*SEARCHES, *RIVALS])
def test_every_recipe_fits_with_plain_maximum_likelihood(name):
    X, y = load_iris(return_X_y=True, as_frame=True)
    model = bnplug.recipe(name, random_state=0).fit(X, y)
    assert model.score(X, y) > 0.9
    assert (model.parameters_.alpha, model.parameters_.floor) == (0.0, 0.0)
    assert len(model.structure_.trace_) == len(model.structure_.moves_) + 1


@pytest.mark.parametrize(("name", "start"), SEARCHES.items())
def test_the_risks_are_estimated_as_in_the_paper(name, start):
    learner = registry.build("structure learner", registry.find("recipe", name).structure)
    assert (learner.start, learner.cv, learner.alpha, learner.floor) == (start, 4, 0.0, 0.0)


@pytest.mark.parametrize(("name", "score_and_start"), RIVALS.items())
def test_the_rivals_climb_by_their_scores(name, score_and_start):
    learner, parameters = registry.find("recipe", name).structure
    score = parameters["score"]
    assert learner == "hill-climb"
    assert (score if isinstance(score, str) else score[0], parameters["start"]) == score_and_start
    assert parameters.get("max_parents") == (2 if name == "BNC-2P" else None)
