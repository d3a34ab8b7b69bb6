"""Bins that go with the parameters: what the learner wants unless one is named, and what tells of it."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

import bnplug
from bnplug import BayesianNetworkClassifier, ContractError, Recipe, load
from bnplug.builtin.parameters.ml import MaximumLikelihood
from bnplug.classifier._components import wanted_discretizer
from bnplug.hooks import recipes
from bnplug.show.summary import to_text
from bnplug.table.discretizer import unfitted

RNG = np.random.default_rng(0)
X = pd.DataFrame({"a": RNG.normal(size=200), "b": RNG.normal(size=200)})
Y = np.where(X["a"] + RNG.normal(size=200) > 0, "yes", "no")


class Fine(MaximumLikelihood):
    discretizer = ("quantile", {"n_bins": 7})


class Rubbish(MaximumLikelihood):
    discretizer = "no-such-bins"


@pytest.mark.parametrize(
    ("parameters", "wanted"),
    [("backoff", "log2-quantile"), ("ml", "mdl"), (("ml", {"alpha": 2.0}), "mdl"), (Fine(), Fine.discretizer)],
)
def test_the_parameters_say_which_bins_they_want(parameters, wanted):
    assert wanted_discretizer(BayesianNetworkClassifier(parameters=parameters)) == wanted
    assert wanted_discretizer(BayesianNetworkClassifier(parameters=parameters, discretizer="uniform")) == "uniform"
    asked = BayesianNetworkClassifier("nb", parameters).fit(X, Y)
    named = BayesianNetworkClassifier("nb", parameters, wanted).fit(X, Y)
    assert repr(asked.discretizer_) == repr(named.discretizer_)
    assert asked.made_ == named.made_
    assert (asked.predict_proba(X) == named.predict_proba(X)).all()


def test_the_default_is_back_off_over_the_bins_it_wants():
    model = BayesianNetworkClassifier().fit(X, Y)
    assert model.made_ == {"structure": "tan", "parameters": "backoff", "discretizer": "log2-quantile"}
    assert "discretizer log2-quantile" in to_text(model)


def test_a_learner_that_does_not_say_gets_few_bins():
    class Elsewhere:
        def fit(self, table, dag): ...

    bnplug.ParameterLearner.register(Elsewhere)
    assert wanted_discretizer(BayesianNetworkClassifier(parameters=Elsewhere())) == "mdl"


def test_what_is_no_discretizer_is_told_with_the_learner():
    with pytest.raises(ContractError, match=r"Rubbish: the discretizer that it wants is none, 'no-such-bins'"):
        BayesianNetworkClassifier("nb", Rubbish()).fit(X, Y)
    assert BayesianNetworkClassifier("nb", Rubbish(), "mdl").fit(X, Y).score(X, Y) > 0.5


def test_a_saved_model_tells_and_learns_the_same_again(tmp_path):
    model = BayesianNetworkClassifier("nb").fit(X, Y)
    model.save(tmp_path / "model")
    found = load(tmp_path / "model")
    assert (found.discretizer, found.made_) == ("auto", model.made_)
    assert (clone(found).fit(X, Y).predict_proba(X) == model.predict_proba(X)).all()


def test_parameters_of_the_bins_are_those_of_what_is_wanted():
    model = BayesianNetworkClassifier("nb", Fine()).set_params(discretizer__n_bins=3).fit(X, Y)
    assert [len(cuts) for cuts in model.discretizer_.cut_points_] == [2, 2]


def test_code_cuts_as_the_default_classifier():
    model = BayesianNetworkClassifier().fit(X, Y)
    table, _ = bnplug.encode_training(X, Y)
    assert table.states == model.schema_.states
    assert repr(unfitted("auto")) == repr(unfitted(wanted_discretizer(BayesianNetworkClassifier())))


def test_a_recipe_may_leave_it_to_its_parameters():
    recipe = Recipe("TREE", "tan", "backoff", "auto", summary="A tree.", reference="Me (2026)")
    assert ("discretizer", "auto") not in recipes.components(recipe)
    assert recipes.availability(recipe).available
