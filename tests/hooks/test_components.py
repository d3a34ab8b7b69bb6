import numpy as np
import pytest
from sklearn.base import clone

import bnplug
from bnplug.contracts import ScoringEvaluator
from bnplug.hooks.components import component


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
        return table.dag([[] for _ in table.names])


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


def test_parameters_of_a_nested_instance_are_reached(table):
    model = bnplug.BayesianNetworkClassifier(Seeker(Edges()))
    model.set_params(structure__score__factor=2.5)
    assert model.structure.score.factor == 2.5
    with pytest.raises(ValueError, match="'verbose' of Seeker has no parameters"):
        Seeker().set_params(verbose__x=1)


def test_a_wrong_component_is_named(table):
    with pytest.raises(TypeError, match="a score function is a name"):
        Seeker(42).learn(table)


def test_any_score_has_an_evaluator(table):
    evaluator = Edges(factor=2.0).evaluator(table)
    assert isinstance(evaluator, ScoringEvaluator)
    assert evaluator.start([[2], [2], []]) == 4.0
    assert evaluator.step() == evaluator.value == 4.0
    assert evaluator.propose({0: [1, 2]}) == 6.0
    assert evaluator.value == 4.0
    assert evaluator.propose_many([{0: []}, {1: [0, 2]}], at_least=5.0).tolist() == [2.0, 6.0]
    in_turn = evaluator.propose_in_turn([{0: []}, {1: [0, 2]}, {0: [1, 2]}], np.array([5.0, 6.0, 0.0]))
    assert in_turn.tolist() == [2.0, 6.0]
    assert evaluator.propose_in_turn([{0: []}], np.array([5.0])).tolist() == [2.0]
    assert evaluator.commit({0: [1, 2]}) == evaluator.value == 6.0
    assert evaluator.n_evaluations == 8
