"""The recipes: there, or named with what they need; and what they make is a network."""

import pytest

import bnplug
from bnplug import datasets
from bnplug.hooks import recipes

OURS = [found for found in recipes.availabilities() if found.recipe.name.endswith("-ML-BN-SVM")]


def test_the_papers_and_discriminative_structures():
    names = {found.recipe.name for found in OURS}
    assert {"NB-ML-BN-SVM", "TAN-ML-BN-SVM", "TAN-CR-ML-BN-SVM", "TAN-OMI-CR-ML-BN-SVM", "TAN-SA-MM-ML-BN-SVM"} <= names


@pytest.mark.parametrize("found", OURS, ids=lambda found: found.recipe.name)
def test_each_makes_a_classifier(found):
    if not found.available:
        pytest.skip(f"needs {', '.join(found.recipe.requires)}")
    model = bnplug.recipe(found.recipe.name)
    assert (model.parameters.lam, model.parameters.gamma) == ("cv", "cv")


@pytest.mark.parametrize("name", ["NB-ML-BN-SVM", "TAN-ML-BN-SVM", "TAN-CR-ML-BN-SVM"])
def test_it_learns_a_network(name):
    X, y = datasets.iris()
    model = bnplug.recipe(name).set_params(parameters__cv=2).fit(X.iloc[::2], y.iloc[::2])
    assert model.tables_.normalized
    assert model.score(X, y) > 0.9
    assert 0.0 < model.parameters_.likelihood_ratio_ <= 1.0 + 1e-9
