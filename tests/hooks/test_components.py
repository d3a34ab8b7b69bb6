"""Components: made from names, cloned, and given what their owner has."""

from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.base import clone

import bnplug
from bnplug import Structure
from bnplug.hooks.components import check_numbers, component


class Edges(bnplug.ScoreFunction):
    """Counts edges, times a factor."""

    def __init__(self, factor=1.0, random_state=None, n_jobs=None):
        self.factor = factor
        self.random_state = random_state
        self.n_jobs = n_jobs

    def score(self, table, dag):
        return self.factor * len(dag.edges)


class Seeker(bnplug.StructureLearner):
    def __init__(self, score="no such score", random_state=None, n_jobs=None, verbose=None):
        self.score = score
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def learn(self, table):
        self.score_ = component("score function", self.score, self)
        return Structure(table.names, [[] for _ in table.names])


@pytest.fixture
def table():
    import pandas as pd

    return bnplug.Table.from_frame(pd.DataFrame({"a": [0, 1], "b": [1, 0], "c": [0, 1]}), "c")


def test_a_component_takes_from_its_owner_what_it_lacks(table):
    score = Edges(random_state=7)
    seeker = Seeker(score, random_state=1, n_jobs=3)
    seeker.learn(table)
    assert seeker.score_ is not score
    assert (seeker.score_.random_state, seeker.score_.n_jobs) == (7, 3)
    assert score.n_jobs is None


def test_a_generator_gives_each_component_a_seed(table):
    seeker = Seeker(Edges(), random_state=np.random.RandomState(0))
    seeker.learn(table)
    assert isinstance(seeker.score_.random_state, int)


def test_a_name_is_resolved_when_the_learner_runs(table):
    seeker = clone(Seeker())
    with pytest.raises(bnplug.UnknownMethodError, match="no such score"):
        seeker.learn(table)


def test_a_wrong_component_is_named(table):
    with pytest.raises(TypeError, match="score function: expected a name"):
        Seeker(42).learn(table)


def test_a_name_with_parameters_inside_becomes_an_instance_with_them():
    seeker = Seeker(score="cr")
    seeker.set_params(score__alpha=2.0)
    assert (type(seeker.score).__name__, seeker.score.alpha) == (type(bnplug.score_function("cr")).__name__, 2.0)


@pytest.mark.parametrize("value", [-1, "1", None, np.inf, np.nan])
def test_numbers_are_checked_by_name(value):
    with pytest.raises(ValueError, match=r"tol=.* must be a finite number that is not negative"):
        check_numbers(SimpleNamespace(tol=value), "tol")


def test_numbers_that_must_be_positive():
    check_numbers(SimpleNamespace(a=0, b=np.float32(0.5)), "a", "b")
    with pytest.raises(ValueError, match="a=0 must be a finite positive number"):
        check_numbers(SimpleNamespace(a=0, b=0.5), "b", "a", positive=True)
