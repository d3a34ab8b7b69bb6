import re

import pytest
import third_party
from sklearn.base import clone

import bnplug
from bnplug.datasets import tic_tac_toe
from bnplug.hooks import recipes


def test_a_recipe_is_its_parts_and_further_parameters_win():
    model = bnplug.recipe("NB-ML")
    for name, part in recipes.parts("NB-ML").items():
        assert repr(getattr(model, name)) == repr(part)
    assert bnplug.recipe("NB-ML", structure="tan").structure == "tan"


def test_a_parameter_that_there_is_not_is_named():
    with pytest.raises(TypeError, match="structur"):
        bnplug.recipe("NB-ML", structur="tan")


@pytest.mark.usefixtures("third")
def test_a_classifier_by_whatever_names_one():
    assert repr(bnplug.make_classifier("NB-ML")) == repr(bnplug.recipe("NB-ML"))
    assert bnplug.make_classifier("kdb").structure == "kdb"
    made = bnplug.make_classifier("majority", alpha=2.0)
    assert (type(made), made.alpha) == (third_party.Majority, 2.0)
    assert bnplug.make_classifier("majority(alpha=3)").alpha == 3
    assert bnplug.make_classifier("tan+backoff").get_params(deep=False)["parameters"] == "backoff"
    assert bnplug.make_classifier("[cost]").structure == ("hill-climb", {"score": "cost"})
    assert bnplug.make_classifier("+backoff").structure == bnplug.BayesianNetworkClassifier().structure
    assert bnplug.make_classifier("RMCV(missing='drop')").missing == "drop"
    assert bnplug.make_classifier("RMCV(missing='drop')", missing="value").missing == "value"


def test_a_composition_is_what_its_parts_are():
    X, y = tic_tac_toe()
    made = bnplug.make_classifier("kdb(k=1)+ml(alpha=0.5)", random_state=0).fit(X, y)
    parts = (bnplug.structure_learner("kdb", k=1), bnplug.parameter_learner("ml", alpha=0.5))
    assert (made.predict_proba(X) == bnplug.BayesianNetworkClassifier(*parts).fit(X, y).predict_proba(X)).all()
    assert clone(made).get_params(deep=False) == made.get_params(deep=False)
    assert made.set_params(structure__k=0).structure.k == 0


def test_what_made_a_composition_is_an_expression_of_it():
    X, y = tic_tac_toe()
    text = "hill-climb(max_iter=1)[cr(cv=2)]+ml(alpha=0.5)"
    made = bnplug.make_classifier(text, random_state=0).fit(X, y).made_
    again = bnplug.make_classifier(f"{made['structure']}+{made['parameters']}")
    assert again.get_params(deep=False) == bnplug.make_classifier(text).get_params(deep=False)


@pytest.mark.usefixtures("third")
@pytest.mark.parametrize(
    ("name", "what"),
    [("kdb+ml", "the classifier 'kdb+ml'"), ("RMCV", "recipe 'RMCV'"), ("majority", "classifier 'majority'")],
)
def test_a_parameter_that_a_made_classifier_has_not_is_named(name, what):
    with pytest.raises(TypeError, match=f"^{re.escape(what)} has no parameter 'structur'"):
        bnplug.make_classifier(name, structur="tan")
