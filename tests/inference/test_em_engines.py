"""EM uses the classifier's engine if that offers expected counts, and elimination otherwise."""

import numpy as np
import pandas as pd
import pytest

import bnplug
from bnplug import BayesianNetworkClassifier, CompiledNetwork, CountingNetwork, Engine, Structure
from bnplug.inference.em import expectation_maximization
from bnplug.testing import data


class Asked(CompiledNetwork):
    """The answers of elimination, with a note of each question."""

    def __init__(self, compiled, notes):
        self.compiled, self.notes = compiled, notes

    def log_joint(self, codes, shares=None, complete=False, *, n_jobs=None):
        self.notes.append(("log_joint", complete))
        return self.compiled.log_joint(codes, shares, complete, n_jobs=n_jobs)

    def query(self, variables, evidence):
        return self.compiled.query(variables, evidence)


class Counting(Asked):
    def expected_counts(self, codes, weights):
        self.notes.append(("expected_counts", True))
        return self.compiled.expected_counts(codes, weights)


class Noting(Engine):
    compiled, notes = Counting, []

    def compile(self, tables, target=None):
        return self.compiled(bnplug.engine("elimination").compile(tables, target), self.notes)


class NotingWithoutCounts(Noting):
    compiled = Asked


@pytest.fixture
def rows():
    table = data.to_be_learned_by_em(unlabeled=True)
    cells = np.where(table.codes == table.missing, None, table.codes.astype(object))
    frame = pd.DataFrame(dict(zip(table.names, cells, strict=True)))
    return frame.drop(columns=table.target), frame[table.target]


def fitted(engine, rows, structure="nb", parameters="ml"):
    Noting.notes.clear()
    return BayesianNetworkClassifier(structure, parameters, missing="em", engine=engine, calibrate=None).fit(*rows)


def assert_same(one, other, rtol):
    for name in one.tables_.names:
        np.testing.assert_allclose(one.tables_[name].values, other.tables_[name].values, rtol=rtol)


@pytest.mark.parametrize("parameters", ["ml", "backoff"])
def test_an_engine_with_expected_counts_is_used(rows, parameters):
    model, expected = (fitted(engine, rows, parameters=parameters) for engine in (Noting(), "elimination"))
    assert_same(model, expected, 1e-9)
    fitted(Noting(), rows, parameters=parameters)
    assert Noting.notes.count(("log_joint", True)) == Noting.notes.count(("expected_counts", True))
    # Once at the start, and once for each step.
    assert Noting.notes.count(("expected_counts", True)) >= model.n_iter_ + 1


def test_structural_em_uses_it_between_two_structures(rows):
    alone = fitted(Noting(), rows, "nb")
    n_alone = len(Noting.notes)
    model = fitted(Noting(), rows, "skdb")
    assert alone.n_iter_ > 0
    assert len(Noting.notes) > n_alone + model.n_iter_
    assert_same(model, fitted("elimination", rows, "skdb"), 1e-9)


def test_an_engine_without_expected_counts_is_not(rows):
    model = fitted(NotingWithoutCounts(), rows, "tan")
    assert Noting.notes == []
    assert_same(model, fitted("elimination", rows, "tan"), 0)
    compiled = model.engine_.compile(model.tables_, model.target_)
    assert not isinstance(compiled, CountingNetwork)
    with pytest.raises(NotImplementedError, match="Asked has no expected_counts; use engine='elimination'"):
        compiled.expectation(model.schema_.codes, lambda joint, rows: joint)


def test_the_junction_tree_gives_the_same_parameters(rows):
    assert_same(fitted("junction-tree", rows), fitted("elimination", rows), 1e-7)


def test_sampling_comes_near(rows):
    model, exact = (fitted(engine, rows) for engine in (("sampling", {"random_state": 0}), "elimination"))
    for name in exact.tables_.names:
        np.testing.assert_allclose(np.exp(model.tables_[name].values), np.exp(exact.tables_[name].values), atol=0.05)


def test_a_learner_alone_uses_elimination():
    table = data.to_be_learned_by_em(unlabeled=True)
    dag = Structure(table.names, data.tree(table))
    learner = bnplug.parameter_learner("ml")
    assert learner.engine_ is None
    alone, given = (
        expectation_maximization(learner, table, dag, **options)
        for options in ({}, {"engine": bnplug.engine("elimination")})
    )
    assert alone.path == given.path
    for name in table.names:
        np.testing.assert_array_equal(alone.tables[name].values, given.tables[name].values)
