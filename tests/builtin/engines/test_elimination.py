"""The engine of the core, by name, as an instance, and in a classifier."""

import numpy as np
import pandas as pd
import pytest
from random_networks import TWO_TREE, random_rows, random_tables
from sklearn.base import clone

import bnplug
from bnplug import BayesianNetworkClassifier, CompiledNetwork, ContractError, Engine
from bnplug.builtin.engines.elimination import EliminationEngine
from bnplug.inference.marginals import MAX_CLIQUE_SIZE, Marginalizer
from bnplug.testing import data


class Wrong(Engine):
    def compile(self, tables, target):
        return "no marginals"


class Uniform(CompiledNetwork):
    """Knows nothing: every class is as probable as any other."""

    def __init__(self, n_classes):
        self.n_classes = n_classes

    def log_joint(self, codes, shares=None, complete=False, *, n_jobs=None):
        return np.zeros((codes.shape[1], self.n_classes))

    def query(self, variables, evidence):
        return np.array([0.25, 0.75])

    def expected_counts(self, codes, weights):
        raise NotImplementedError


class KnowsNothing(Engine):
    def compile(self, tables, target):
        return Uniform(len(tables.states[target]))


@pytest.fixture
def rows():
    table = data.standard()
    frame = pd.DataFrame({name: table.codes[table.index(name)].astype(str) for name in table.names})
    return frame.drop(columns=table.target), frame[table.target]


def test_the_engine_is_registered_and_compiles_marginals():
    rng = np.random.default_rng(0)
    tables = random_tables(rng, TWO_TREE, [2] * len(TWO_TREE))
    codes = random_rows(rng, tables, 20, 0.4)
    compiled = bnplug.engine("elimination").compile(tables, "v0")
    np.testing.assert_array_equal(compiled.log_joint(codes), Marginalizer(tables, "v0").log_joint(codes))
    assert compiled.max_clique_size == MAX_CLIQUE_SIZE
    assert EliminationEngine(max_clique_size=7).compile(tables, "v0").max_clique_size == 7


@pytest.mark.parametrize(
    "engine", ["elimination", "bnplug:elimination", ("elimination", {"max_clique_size": 500}), EliminationEngine()]
)
def test_a_classifier_takes_it_by_name_pair_or_instance(rows, engine):
    X, y = rows
    expected = BayesianNetworkClassifier().fit(X, y)
    model = clone(BayesianNetworkClassifier(engine=engine)).fit(X, y)
    X = X.mask(np.random.default_rng(0).random(X.shape) < 0.3)
    np.testing.assert_array_equal(model.predict_proba(X), expected.predict_proba(X))
    pd.testing.assert_frame_equal(model.explain(X[:3]), expected.explain(X[:3]))


def test_the_classifiers_largest_clique_is_the_engines_unless_it_has_its_own(rows):
    model = BayesianNetworkClassifier(max_clique_size=1).fit(*rows)
    assert model.engine_.max_clique_size == 1
    with pytest.raises(ValueError, match="more than max_clique_size=1"):
        model.query(list(rows[0].columns[:2]))
    model.set_params(engine__max_clique_size=100).fit(*rows)
    assert model.engine_.max_clique_size == 100


def test_another_engine_answers_in_its_place(rows):
    X, y = rows
    model = BayesianNetworkClassifier(engine=KnowsNothing(), calibrate=None).fit(X, y)
    np.testing.assert_array_equal(model.predict_proba(X[:5]), 1 / len(model.classes_))
    assert model.query(X.columns[0])["probability"].tolist() == [0.25, 0.75]
    explained = model.explain(X[:2]).query("feature != '(prior)'")
    assert (explained["contribution"] == 0).all()


def test_what_is_no_marginals_is_refused_by_name(rows):
    with pytest.raises(ContractError, match=r"Wrong: compile must return bnplug\.CompiledNetwork, not 'no marginals'"):
        BayesianNetworkClassifier(engine=Wrong()).fit(*rows)
