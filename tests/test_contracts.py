"""The base classes that plugins implement: components inside components, and the evaluator of any score."""

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

import bnplug
from bnplug.contracts import ScoringEvaluator


class Edges(bnplug.ScoreFunction):
    """Counts edges, times a factor."""

    def __init__(self, factor=1.0):
        self.factor = factor

    def score(self, table, dag):
        return self.factor * len(dag.edges)


class Seeker(bnplug.StructureLearner):
    def __init__(self, score="cr", verbose=None):
        self.score = score
        self.verbose = verbose

    def learn(self, table):
        raise NotImplementedError


@pytest.fixture
def table():
    return bnplug.Table.from_frame(pd.DataFrame({"a": [0, 1], "b": [1, 0], "c": [0, 1]}), "c")


def printed_by(code):
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_the_base_classes_do_not_load_the_plugin_system():
    probe = "import sys, bnplug.contracts; print([name for name in sys.modules if name.startswith('bnplug.hooks')])"
    assert printed_by(probe) == "[]"


def test_the_plugin_system_is_found_when_a_name_must_become_an_instance():
    probe = (
        "from bnplug.contracts import StructureLearner\n"
        "class Seeker(StructureLearner):\n"
        "    def __init__(self, score='cr'): self.score = score\n"
        "    def learn(self, table): pass\n"
        "print(Seeker().set_params(score__alpha=3.0).score.alpha)"
    )
    assert printed_by(probe) == "3.0"


def test_parameters_of_a_nested_instance_are_reached():
    model = bnplug.BayesianNetworkClassifier(Seeker(Edges()))
    model.set_params(structure__score__factor=2.5)
    assert model.structure.score.factor == 2.5


def test_a_component_and_its_parameters_are_set_together():
    seeker = Seeker().set_params(score=Edges(), score__factor=4.0)
    assert seeker.score.factor == 4.0


def test_what_is_no_component_has_no_parameters_of_its_own():
    with pytest.raises(ValueError, match="'verbose' of Seeker has no nested parameters"):
        Seeker().set_params(verbose__x=1)


def test_any_score_has_an_evaluator(table):
    evaluator = Edges(factor=2.0).evaluator(table)
    assert isinstance(evaluator, ScoringEvaluator)
    assert evaluator.start([[2], [2], []]) == 4.0
    assert evaluator.step() == evaluator.value == 4.0
    assert evaluator.propose_many([{0: [1, 2]}])[0] == 6.0
    assert evaluator.value == 4.0
    assert evaluator.propose_many([{0: []}, {1: [0, 2]}], at_least=5.0).tolist() == [2.0, 6.0]
    in_turn = evaluator.propose_in_turn([{0: []}, {1: [0, 2]}, {0: [1, 2]}], np.array([5.0, 6.0, 0.0]))
    assert in_turn.tolist() == [2.0, 6.0]
    assert evaluator.propose_in_turn([{0: []}], np.array([5.0])).tolist() == [2.0]
    assert evaluator.commit({0: [1, 2]}) == evaluator.value == 6.0
    assert evaluator.n_evaluations == 8


def test_a_score_with_nothing_to_choose_settles_as_itself(table):
    score = Edges()
    assert score.choose_parameters(table) is score


def test_a_score_resamples_only_where_it_says_so_and_its_evaluator_says_the_same(table):
    class Redrawn(Edges):
        resamples = True

    assert (Edges.resamples, Edges().evaluator(table).resamples) == (False, False)
    assert Redrawn().evaluator(table).resamples
