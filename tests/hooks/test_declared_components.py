"""Components that a class declares: nested parameters, pairs, recipes, grid searches and saved models."""

import json
from types import SimpleNamespace
from typing import ClassVar

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.model_selection import GridSearchCV

import bnplug
from bnplug import BayesianNetworkClassifier, ParameterLearner, StructureLearner
from bnplug.hooks import discovery, recipes, registry
from bnplug.hooks.components import component
from bnplug.hooks.discovery import FoundPlugin

WORDS = {"summary": "It does.", "reference": "Me (2026)"}


class TwoStage(StructureLearner):
    """Climbs by one score, and goes on by another."""

    components: ClassVar = {"first": "score"}

    def __init__(self, first="mdl", score="cr", random_state=None):
        self.first = first
        self.score = score
        self.random_state = random_state

    def learn(self, table):
        self.first_ = component("score", self.first, self)
        dag = bnplug.structure_learner("hill-climb", score=self.first_, max_iter=2).learn(table)
        return bnplug.structure_learner("hill-climb", score=self.score, max_iter=2, start=dag).learn(table)


class Start(ParameterLearner):
    """Learns what other parameters are."""

    components: ClassVar = {"initial": "parameter learner", "bins": "discretizer", "answers": "engine"}

    def __init__(self, initial="ml", bins=None, answers=None):
        self.initial = initial
        self.bins = bins
        self.answers = answers

    def fit(self, table, dag):
        return component("parameters", self.initial, self).fit(table, dag)


class Pair(ClassifierMixin, BaseEstimator):
    """Two classifiers, of which the first answers."""

    components: ClassVar = {"one": "classifier", "other": "structure"}

    def __init__(self, one=None, other="nb"):
        self.one = one
        self.other = other

    def fit(self, X, y):
        self.model_ = BayesianNetworkClassifier(self.other).fit(X, y)
        self.classes_ = self.model_.classes_
        return self

    def predict_proba(self, X):
        return self.model_.predict_proba(X)

    def predict(self, X):
        return self.model_.predict(X)

    def saved_state(self):
        return self.model_.saved_state()

    def restore_state(self, state, arrays):
        self.model_ = BayesianNetworkClassifier(self.other).restore_state(state, arrays)
        self.classes_ = self.model_.classes_
        return self


RECIPE = bnplug.Recipe(
    "TWO", ("two-stage", {"first": ("cr", {"cv": 5}), "score": "k2"}), ("start", {"initial": ("ml", {"alpha": 3.0})}),
    "none", **WORDS,
)  # fmt: skip


@pytest.fixture(autouse=True)
def plugin(monkeypatch):
    hooks = {
        "bnplug_structure_learners": [bnplug.StructureLearnerMethod("two-stage", TwoStage, needs_score=True, **WORDS)],
        "bnplug_parameter_learners": [bnplug.ParameterLearnerMethod("start", Start, **WORDS)],
        "bnplug_classifiers": [bnplug.ClassifierMethod("pair", Pair, **WORDS)],
        "bnplug_recipes": [
            RECIPE,
            bnplug.Recipe("LACKS", ("two-stage", {"first": ("lost", {}), "score": "k2"}), **WORDS),
        ],
    }
    brought = SimpleNamespace(**{hook: bnplug.hookimpl(lambda found=found: found) for hook, found in hooks.items()})
    found = [discovery.find_plugins()[0], FoundPlugin("two", "bnplug-two", "1.0", lambda: brought)]
    monkeypatch.setattr(discovery, "find_plugins", lambda: found)
    discovery.refresh()
    yield
    monkeypatch.undo()
    discovery.refresh()


@pytest.fixture
def data():
    random = np.random.RandomState(0)
    X = pd.DataFrame(random.choice(["a", "b", "c"], (60, 3)), columns=["x", "y", "z"])
    return X, np.where((X["x"] == "a") ^ (random.random_sample(60) < 0.2), "yes", "no")


def test_a_nested_parameter_reaches_into_a_declared_component():
    learner = TwoStage("cr").set_params(first__cv=5, score__cv=3)
    assert (learner.first.cv, learner.score.cv) == (5, 3)
    assert learner.get_params(deep=True)["first__cv"] == 5
    assert clone(learner).get_params(deep=True)["first__alpha"] == learner.first.alpha
    learner = Start(("ml", {"alpha": 3.0}), "mdl", "sampling").set_params(initial__floor=0.1, answers__n_samples=7)
    assert (learner.initial.alpha, learner.initial.floor, learner.answers.n_samples) == (3.0, 0.1, 7)


def test_a_nested_parameter_reaches_through_a_classifier(data):
    model = BayesianNetworkClassifier("two-stage", "start")
    model.set_params(structure__first="bdeu", structure__score="k2", parameters__initial__alpha=2.0)
    model.set_params(structure__first__equivalent_sample_size=2.0).fit(*data)
    assert model.structure_.first_.equivalent_sample_size == 2.0
    assert model.get_params()["parameters__initial__alpha"] == 2.0


def test_a_grid_search_varies_a_declared_component(data):
    grid = {
        "structure__first": ["mdl", ("bdeu", {"equivalent_sample_size": 4.0})],
        "parameters__initial__alpha": [1, 9],
    }
    search = GridSearchCV(BayesianNetworkClassifier("two-stage", "start"), grid, cv=2, error_score="raise").fit(*data)
    assert len(search.cv_results_["params"]) == 4
    first = {"structure": ["two-stage"], "structure__first__alpha": [1.0, 2.0], "structure__first__cv": [3]}
    model = BayesianNetworkClassifier(TwoStage("cr", "k2"), "ml")
    search = GridSearchCV(model, {key: first[key] for key in list(first)[1:]}, cv=2, error_score="raise").fit(*data)
    assert search.best_estimator_.structure.first.cv == 3


def test_pairs_in_pairs_become_instances():
    built = registry.build("structure", ("two-stage", {"first": ("cr", {"cv": 5}), "score": "k2"}))
    assert (built.first.cv, built.score) == (5, "k2")
    assert registry.build("parameters", ("start", {"answers": ("sampling", {"n_samples": 7})})).answers.n_samples == 7


def test_a_recipe_names_declared_components(data):
    model = bnplug.recipe("TWO", random_state=0)
    assert (model.structure.first.cv, model.parameters.initial.alpha) == (5, 3.0)
    assert ("score function", "cr") in recipes.components(RECIPE)
    assert recipes.components(RECIPE)[-1] == ("parameter learner", "ml")
    (lacks,) = [found for found in recipes.availabilities() if found.recipe.name == "LACKS"]
    assert lacks.reason == "no working plugin brings score function 'lost'"
    model.fit(*data)
    assert [(each["kind"], each["name"]) for each in model.components_ if each["name"] in ("cr", "ml")] == [
        ("score function", "cr"), ("parameter learner", "ml"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    "model",
    [
        BayesianNetworkClassifier(("two-stage", {"first": ("cr", {"cv": 5})}), ("start", {"initial": "backoff"})),
        BayesianNetworkClassifier(TwoStage(("cr", {"cv": 5}), "k2"), Start(bnplug.parameter_learner("ml", alpha=2.0))),
        BayesianNetworkClassifier("two-stage", "start", random_state=1),
        Pair("pair", ("kdb", {"k": 1})),
    ],
)
def test_a_model_with_declared_components_is_saved_and_loaded(model, data, tmp_path):
    X, y = data
    model = clone(model).fit(X, y)
    bnplug.save(model, tmp_path / "model")
    loaded = bnplug.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
    assert repr(loaded) == repr(model)
    np.testing.assert_array_equal(loaded.fit(X, y).predict_proba(X), model.predict_proba(X))


def test_a_declared_component_is_saved_with_its_origin(data, tmp_path):
    model = BayesianNetworkClassifier(("two-stage", {"first": "mdl"}), "ml").fit(*data)
    bnplug.save(model, tmp_path / "model")
    (saved,) = [json.loads(path.read_text()) for path in (tmp_path / "model").glob("model.json")]
    assert '"name": "mdl", "distribution": "bnplug"' in json.dumps(saved)
    loaded = bnplug.load(tmp_path / "model").set_params(structure__first="cr", structure__first__cv=3)
    assert loaded.structure.first.cv == 3


def test_a_parameter_that_is_no_component_is_named():
    with pytest.raises(
        ValueError, match=r"'random_state' of TwoStage has no nested parameters.* components = {\"random_state"
    ):
        TwoStage(random_state="mdl").set_params(random_state__cv=3)
