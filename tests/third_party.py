"""A plugin of somebody else's: a classifier that is no network, a score and a parameter learner in no recipe."""

from collections import Counter
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin

import bnplug
from bnplug import ParameterLearner
from bnplug.builtin.parameters.ml import MaximumLikelihood
from bnplug.builtin.scores.mdl import MDL
from bnplug.compiling import kernel
from bnplug.gradient import Problem, minimize
from bnplug.hooks import discovery
from bnplug.hooks.discovery import FoundPlugin
from bnplug.scoring import DecomposableScore, PredictiveScore


class Majority(ClassifierMixin, BaseEstimator):
    """The class that is most frequent where the first column has the row's value, `alpha` added to each count."""

    def __init__(self, alpha=1.0, random_state=None):
        self.alpha = alpha
        self.random_state = random_state

    def fit(self, X, y):
        self.columns_, self.kinds_ = list(X.columns), [str(kind) for kind in X.dtypes]
        self.classes_ = np.unique(y)
        self.counts_ = Counter(zip(X.iloc[:, 0].astype(str), map(str, y), strict=True))
        return self

    def predict_proba(self, X):
        own = [[self.counts_[value, str(label)] for label in self.classes_] for value in X.iloc[:, 0].astype(str)]
        own = np.array(own) + self.alpha
        return own / own.sum(axis=1, keepdims=True)

    def predict(self, X):
        return self.classes_[self.predict_proba(X).argmax(axis=1)]

    def saved_state(self):
        return {"counts": [[*key, n] for key, n in self.counts_.items()]}, {"classes": self.classes_}

    def restore_state(self, state, arrays):
        self.counts_ = Counter({(value, label): n for value, label, n in state["counts"]})
        self.classes_ = arrays["classes"]
        return self


class Cost(MDL):
    """A score of a third party's."""


class Steep(MaximumLikelihood):
    """A parameter learner of a third party's."""


class Reader(DecomposableScore):
    """A score that looks at all rows at once, and so cannot do with rows in many blocks."""

    def local(self, table, child, parents, counts):
        return -float((table.codes[child] == table.missing).sum())


class Holes(DecomposableScore):
    """The same score, by sums over blocks."""

    def local(self, table, child, parents, counts):
        return -float(sum(table.map(holes, child)))


def holes(block, v):
    """Return how many rows of a block lack a variable."""
    return int((block.codes[v] == block.missing).sum())


def rank(L, y, params, out):
    """A gain: minus the number of classes before the right one."""
    for m in range(L.shape[0]):
        out[m] = 0.0
        for c in range(L.shape[1]):
            if L[m, c] > L[m, y[m]] + params[0]:
                out[m] -= 1.0


class Rank(PredictiveScore):
    """A predictive score with a gain of its own."""

    gain = rank

    def gain_params(self, table):
        return [1e-9]


@kernel
def exponential(L, y, weights, params, dL):
    """A loss: the sum of exp(L of a class - L of the right one) over the others, as boosting has it."""
    total = 0.0
    for m in range(L.shape[0]):
        dL[m, y[m]] = 0.0
        for c in range(L.shape[1]):
            if c != y[m]:
                own = weights[m] * np.exp(params[0] * (L[m, c] - L[m, y[m]]))
                total += own
                dL[m, c] = params[0] * own
                dL[m, y[m]] -= params[0] * own
    return total


class Boosted(ParameterLearner):
    """A parameter learner with a loss of its own."""

    def fit(self, table, dag):
        problem = Problem(table, dag)
        start = problem.terms.values

        def penalized(values):
            loss, gradient = problem.objective(values, exponential, np.array([0.5]))
            return loss + 0.5 * float((values - start) @ (values - start)), gradient + values - start

        return problem.tables(minimize(penalized, start, 1e-10, 200)[0])


def _described(descriptor, name, factory, **fields):
    return descriptor(name=name, factory=factory, summary=f"{name} it is.", reference="Me (2026)", **fields)


def plugin():
    """Return what the entry point of the plugin names."""
    hooks = {
        "bnplug_classifiers": [_described(bnplug.ClassifierMethod, "majority", Majority, featured=True)],
        "bnplug_score_functions": [_described(bnplug.ScoreFunctionMethod, "cost", Cost, decomposable=True)],
        "bnplug_parameter_learners": [_described(bnplug.ParameterLearnerMethod, "steep", Steep)],
        "bnplug_recipes": [
            bnplug.Recipe(name, "nb", summary="Odd names.", reference="Me (2026)") for name in ("A+B (I)", "A")
        ],
    }
    return SimpleNamespace(**{hook: bnplug.hookimpl(lambda found=found: found) for hook, found in hooks.items()})


class RivalMajority(Majority):
    """A classifier of somebody else's again."""


class RivalCost(Cost):
    """A score of somebody else's again."""


def rival():
    """Return a plugin that claims names of the other one."""
    hooks = {
        "bnplug_classifiers": [_described(bnplug.ClassifierMethod, "majority", RivalMajority)],
        "bnplug_score_functions": [_described(bnplug.ScoreFunctionMethod, "cost", RivalCost)],
        "bnplug_recipes": [
            bnplug.Recipe("CLIMB", ("hill-climb", {"score": "cost"}), summary="A climb.", reference="Me (2026)"),
            bnplug.Recipe("B (I)", "tan", summary="A tree.", reference="Me (2026)", aliases=("B (II)",)),
        ],
    }
    return SimpleNamespace(**{hook: bnplug.hookimpl(lambda found=found: found) for hook, found in hooks.items()})


def install(monkeypatch, *others):
    """Let the plugin be found besides the installed ones, and others."""
    found = [*discovery.find_plugins(), FoundPlugin("third", "bnplug-third", "1.0", plugin), *others]
    monkeypatch.setattr(discovery, "find_plugins", lambda: found)
    discovery.refresh()


@pytest.fixture
def rivals(monkeypatch):
    """Plugins of two others, which claim the same names."""
    install(monkeypatch, FoundPlugin("rival", "rival", "1.0", rival))
    yield
    monkeypatch.undo()
    discovery.refresh()


@pytest.fixture
def third(monkeypatch):
    """A plugin of somebody else's, besides those that are installed."""
    install(monkeypatch)
    yield
    monkeypatch.undo()
    discovery.refresh()
