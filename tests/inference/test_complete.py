import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import softmax
from strategies import random_parents, tables

from bnplug import Structure, parameter_learner
from bnplug.inference.complete import log_joint, log_posterior, posterior, terms


def slow_log_joint(fitted, table, target):
    """The sum of every node's log parameter, for each class put in the row."""
    c = table.target_index
    joint = np.zeros((table.n_rows, len(table.states[target])))
    for m in range(table.n_rows):
        for k in range(joint.shape[1]):
            row = table.codes[:, m].copy()
            row[c] = k
            for v, name in enumerate(table.names):
                parents, values = fitted.tables[name]
                joint[m, k] += values[tuple(row[[v, *map(table.index, parents)]])]
    return joint


@given(tables(), st.integers(0, 1000))
def test_posterior_equals_the_joint_over_all_nodes(table, seed):
    dag = Structure(table.names, random_parents(np.random.default_rng(seed), len(table.names)))
    fitted = parameter_learner("ml").fit(table, dag)
    joint = log_joint(terms(fitted, "c"), table.codes)
    expected = softmax(slow_log_joint(fitted, table, "c"), axis=1)
    assert posterior(joint) == pytest.approx(expected, abs=1e-12)
    assert np.exp(log_posterior(joint)) == pytest.approx(expected, abs=1e-12)


@given(tables(missing=True), st.integers(0, 2**32 - 1))
def test_cells_are_where_each_row_finds_its_log_parameters(table, seed):
    parents = random_parents(np.random.default_rng(seed), len(table.names))
    fitted = parameter_learner("ml").fit(table, Structure(table.names, parents))
    own = terms(fitted, table.target)
    cells = own.cells(table.codes)
    c = table.target_index
    for node, found in zip(own.nodes, cells, strict=True):
        name = table.names[node]
        family = [node, *(table.index(parent) for parent in fitted.tables[name].parents)]
        for m in range(table.n_rows):
            states = table.codes[family, m].tolist()
            if table.missing in [state for v, state in zip(family, states, strict=True) if v != c]:
                assert found[m] == -1
                continue
            index = tuple(slice(None) if v == c else state for v, state in zip(family, states, strict=True))
            assert (own.values[found[m] :][: own.n_classes] == fitted.tables[name].values[index]).all()
    some = [len(own.nodes) - 1, 0]
    assert (own.cells(table.codes, some) == cells[some]).all()


def test_a_missing_feature_of_naive_bayes_is_skipped():
    import pandas as pd

    from bnplug.table.table import Table

    table = Table.from_frame(pd.DataFrame({"a": [0, 1, 1], "b": [0, 0, 1], "c": [0, 1, 1]}), "c")
    fitted = parameter_learner("ml").fit(table, Structure(table.names, [[2], [2], []]))
    codes = table.codes.copy()
    codes[0, 0] = codes[:2, 1] = table.missing
    joint = log_joint(terms(fitted, "c"), codes)
    prior, b = fitted.tables["c"].values, fitted.tables["b"].values
    assert joint[0] == pytest.approx(prior + b[0])
    assert joint[1] == pytest.approx(prior)


def test_tied_classes_get_equal_probabilities_and_the_first_wins():
    joint = np.array([[-3.0, -1.0, -1.0 + 5e-10], [0.0, -1.0, -2.0]])
    probabilities = posterior(joint)
    assert probabilities[0, 1] == probabilities[0, 2]
    assert probabilities.argmax(axis=1).tolist() == [1, 0]
    logs = log_posterior(joint)
    assert logs[0, 1] == logs[0, 2]


def test_an_impossible_row_is_undecided_and_a_possible_one_is_not():
    joint = np.array([[-np.inf, -np.inf], [-np.inf, -5.0]])
    assert posterior(joint).tolist() == [[0.5, 0.5], [0.0, 1.0]]
    assert log_posterior(joint)[1].tolist() == [-np.inf, 0.0]


def test_logs_survive_where_probabilities_underflow():
    joint = np.array([[0.0, -2000.0]])
    assert posterior(joint)[0, 1] == 0.0
    assert log_posterior(joint)[0, 1] == -2000.0
