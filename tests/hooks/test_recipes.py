"""Recipes: the classifier that one makes, and what one lacks that cannot be made."""

import pytest

import bnplug
from bnplug import ParameterLearner, UnknownMethodError
from bnplug.hooks import recipes, registry

pytestmark = pytest.mark.usefixtures("shop")


def test_a_recipe_makes_a_classifier():
    made = bnplug.recipe("TREE", random_state=3)
    assert isinstance(made, bnplug.BayesianNetworkClassifier)
    assert (made.structure.depth, made.structure.score.cv, made.random_state) == (3, 7, 3)
    assert isinstance(made.parameters, ParameterLearner)
    assert bnplug.recipe("TREE", discretizer="uniform").discretizer == "uniform"


def test_a_recipe_with_a_wrong_parameter():
    with pytest.raises(TypeError, match=r"recipe 'TREE' has no parameter 'random_stat'\. Did you mean 'random_state'"):
        bnplug.recipe("TREE", random_stat=3)


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("FAR", "no working plugin brings structure learner 'far'; pip install bnplug-far"),
        ("OLD", "no working plugin brings score function 'far-score'; pip install --upgrade bnplug_shop"),
        (
            "BROKEN",
            "no working plugin brings parameter learner 'lost'; bnplug-broken 0.3 (broken) is left out: "
            "it implements no hook; mark its functions with @bnplug.hookimpl",
        ),
        ("NOWHERE", "no working plugin brings structure learner 'far'"),
    ],
)
def test_a_recipe_that_lacks_a_component(name, reason):
    (found,) = [found for found in recipes.availabilities() if found.recipe.name == name]
    assert (found.available, found.reason) == (False, reason)
    with pytest.raises(UnknownMethodError) as caught:
        bnplug.recipe(name)
    assert str(caught.value) == f"recipe {name!r} is not available: {reason}"


def test_available_recipes():
    assert [found.recipe.name for found in recipes.availabilities() if found.available] == [
        "NB",
        "TAN",
        "KDB-2",
        "TREE",
    ]


def test_parts_are_instances_that_fit_the_constructor_of_a_classifier(shop):
    parts = recipes.parts("TREE")
    assert set(parts) == {"structure", "parameters", "discretizer"}
    assert isinstance(parts["structure"], shop.Tree)
    assert parts["discretizer"] == "mdl"
    assert recipes.parts("TREE")["structure"] is not parts["structure"]


def test_components_are_named_with_those_inside_others():
    found = registry.find("recipe", "OLD")
    assert recipes.components(found) == [
        ("structure learner", "tree"), ("score function", "far-score"), ("parameter learner", "ml"),
        ("discretizer", "mdl"),
    ]  # fmt: skip
