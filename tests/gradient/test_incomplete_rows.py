"""Rows with missing cells by their exact marginal log joint: values by enumeration, gradients by differences."""

from __future__ import annotations

import numpy as np
import pytest
from gradient_problems import large_table, naive_bayes
from hypothesis import example, given, settings
from hypothesis import strategies as st
from random_networks import CLASS_WITH_PARENTS, MISSING, TREE, TWO_TREE, enumerated, random_rows, random_tables
from scipy.special import logsumexp
from strategies import random_parents

from bnplug import Structure, gradient, parameter_learner
from bnplug.gradient import Objective, conditional_nll, with_values
from bnplug.inference.complete import terms
from bnplug.inference.marginals import Marginalizer
from bnplug.structure import is_c1
from bnplug.table.block_table import BlockTable
from bnplug.table.table import Table


def incomplete_problem(rng, parents, n_rows=12, missing=0.4, weights=None, zeros=0.0):
    """A network on a structure, rows with holes, and free numbers of the class and its children."""
    cards = rng.integers(2, 4, len(parents)).tolist()
    network = random_tables(rng, parents, cards, zeros=zeros)
    codes = random_rows(rng, network, n_rows, missing)
    codes[0] = rng.integers(0, cards[0], n_rows)
    table = Table(codes, network.names, network.states, network.target, weights)
    layout = terms(network, network.target)
    return network, table, layout, layout.values + rng.normal(size=layout.values.size)


def fitted(network, layout, values):
    """What a learner returns for free numbers: a network where there is one with their posterior."""
    made = with_values(network, network.target, layout, values)
    return made.normalize() if is_c1(network.parents, network.target) else made


def nll_of(joint, table):
    y = table.codes[table.target_index].astype(int)
    weights = np.ones(table.n_rows) if table.weights is None else table.weights
    return float(weights @ (logsumexp(joint, axis=1) - joint[np.arange(table.n_rows), y]))


def random_structure(rng):
    return random_parents(rng, int(rng.integers(2, 6)))


@settings(max_examples=60)
@given(st.integers(0, 2**32 - 1))
def test_the_value_is_that_of_all_completions_and_of_the_fitted_model(seed):
    rng = np.random.default_rng(seed)
    network, table, layout, values = incomplete_problem(rng, random_structure(rng))
    value, _ = Objective(layout, table, tables=network)(values, conditional_nll)
    model = fitted(network, layout, values)
    assert value == pytest.approx(nll_of(enumerated(model, table.codes), table), rel=1e-10)
    assert value == pytest.approx(nll_of(Marginalizer(model, network.target).log_joint(table.codes), table), rel=1e-9)


def central(function, point, step=1e-4):
    """Derivatives by differences of the fourth order, whose own error is below that of the test."""
    result = np.empty_like(point)
    for i in range(point.size):
        at = [function(point + k * step * np.eye(point.size)[i]) for k in (-2, -1, 1, 2)]
        result[i] = (at[0] - 8 * at[1] + 8 * at[2] - at[3]) / (12 * step)
    return result


@settings(max_examples=25)
@given(st.integers(0, 2**32 - 1))
@example(1)
def test_the_gradient_is_that_of_differences(seed):
    rng = np.random.default_rng(seed)
    network, table, layout, values = incomplete_problem(rng, random_structure(rng), n_rows=6)
    objective = Objective(layout, table, tables=network)
    _, exact = objective(values, conditional_nll)
    numeric = central(lambda point: objective(point, conditional_nll)[0], values)
    np.testing.assert_allclose(exact, numeric, rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("parents", [TREE, TWO_TREE, CLASS_WITH_PARENTS], ids=["tree", "two parents", "class parents"])
def test_known_structures_of_every_kind(parents):
    """A tree, a structure with two feature parents, and one in which the class has parents that may be missing."""
    rng = np.random.default_rng(5)
    network, table, layout, values = incomplete_problem(rng, parents, weights=rng.integers(1, 4, 12))
    objective = Objective(layout, table, tables=network)
    value, exact = objective(values, conditional_nll)
    assert value == pytest.approx(nll_of(enumerated(fitted(network, layout, values), table.codes), table), rel=1e-10)
    numeric = central(lambda point: objective(point, conditional_nll)[0], values)
    np.testing.assert_allclose(exact, numeric, rtol=1e-7, atol=1e-7)


def test_a_class_with_parents_on_a_c1_structure_is_what_the_network_says():
    """Normalised tables differ from the product of the raw ones where a parent of the class is missing."""
    rng = np.random.default_rng(0)
    parents = [[1], [], [0, 1], [0, 2]]
    network, table, layout, values = incomplete_problem(rng, parents, n_rows=40)
    assert is_c1(network.parents, "v0")
    raw = with_values(network, "v0", layout, values)
    value, _ = Objective(layout, table, tables=network)(values, conditional_nll)
    assert value == pytest.approx(nll_of(enumerated(raw.normalize(), table.codes), table), rel=1e-10)
    assert abs(value - nll_of(enumerated(raw, table.codes), table)) > 1e-3


def test_complete_rows_are_what_they_were_to_the_last_bit():
    table = large_table()
    network = parameter_learner("ml").fit(table, naive_bayes(table))
    layout = terms(network, "c")
    plain, exact = Objective(layout, table), Objective(layout, table, tables=network)
    for values in (layout.values, np.random.default_rng(0).normal(size=layout.values.size)):
        (value, derivative), (other, other_derivative) = plain(values, conditional_nll), exact(values, conditional_nll)
        assert value == other
        assert (derivative == other_derivative).all()
    # A variable that no term reads may be missing: the row goes the same way.
    assert plain.n_rows == exact.n_rows


def test_normalised_naive_bayes_skips_what_is_missing():
    """There the sum over a missing feature is one, and both ways are the same."""
    rng = np.random.default_rng(1)
    network, table, layout, _ = incomplete_problem(rng, [[], [0], [0], [0]], n_rows=30)
    skipped, gradient_of_skipped = Objective(layout, table)(layout.values, conditional_nll)
    exact, gradient_of_exact = Objective(layout, table, tables=network)(layout.values, conditional_nll)
    assert exact == pytest.approx(skipped, rel=1e-12)
    # A missing cell is counted in the shares that its states have, by columns of sum zero: no normalised step sees it.
    columns = gradient.Columns.of(layout, network, "v0")
    np.testing.assert_allclose(
        columns.chain(gradient_of_exact, layout.values), columns.chain(gradient_of_skipped, layout.values), atol=1e-12
    )


def test_impossible_completions_are_safe():
    """Log parameters of -inf, as counts without smoothing give them."""
    rng = np.random.default_rng(3)
    parents = [[], [0], [0, 1], [2]]
    network, table, layout, _ = incomplete_problem(rng, parents, n_rows=30, zeros=0.2)
    joint = enumerated(network, table.codes)
    kept = table.take(np.isfinite(joint[np.arange(30), table.codes[0]]))
    assert kept.n_rows > 5
    assert np.isneginf(layout.values).any()
    value, derivative = Objective(layout, kept, tables=network)(layout.values, conditional_nll)
    assert value == pytest.approx(nll_of(enumerated(network, kept.codes), kept), rel=1e-10)
    assert np.isfinite(derivative).all()


def holey_table(rows=4000):
    table = large_table(rows)
    codes = table.codes.copy()
    holes = np.random.default_rng(1).random(codes.shape) < 0.3
    holes[table.target_index] = False
    codes[holes] = table.missing
    return Table(codes, table.names, table.states, "c")


def chain_of(table):
    """A tree of features below the class."""
    c = table.target_index
    return Structure(table.names, [[] if v == c else [c] if v == 0 else [c, v - 1] for v in range(len(table.names))])


def test_threads_change_no_bit():
    table = holey_table()
    network = parameter_learner("ml").fit(table, chain_of(table))
    layout = terms(network, "c")
    value, derivative = Objective(layout, table, 1, network)(layout.values, conditional_nll)
    for n_jobs in (2, 3):
        other, other_derivative = Objective(layout, table, n_jobs, network)(layout.values, conditional_nll)
        assert other == value
        assert (other_derivative == derivative).all()


@pytest.mark.parametrize("gathered", [True, False])
def test_blocks_of_rows_add_up_to_the_same(monkeypatch, gathered):
    monkeypatch.setattr(gradient.objective, "_MOST_GATHERED", 1 << 18 if gathered else 0)
    table = holey_table(500)
    network = parameter_learner("ml").fit(table, chain_of(table))
    layout = terms(network, "c")
    value, derivative = Objective(layout, table, tables=network)(layout.values, conditional_nll)
    # The last block has complete rows alone.
    complete = np.flatnonzero((table.codes != table.missing).all(axis=0))
    order = np.concatenate([np.setdiff1d(np.arange(table.n_rows), complete), complete])
    blocks = BlockTable.cut(table.take(order), [200, 300 - len(complete), len(complete)])
    other, other_derivative = Objective(layout, blocks, tables=network)(layout.values, conditional_nll)
    assert other == pytest.approx(value, rel=1e-12)
    np.testing.assert_allclose(other_derivative, derivative, rtol=1e-10, atol=1e-10)


def marginal_nll(L, y, weights, params, dL):
    """-log P(what is known, class included where there is one)."""
    total = 0.0
    for m in range(len(L)):
        own = np.flatnonzero(y[m] == np.arange(L.shape[1])) if y[m] >= 0 else np.arange(L.shape[1])
        shares = np.exp(L[m, own] - logsumexp(L[m, own]))
        dL[m] = 0.0
        dL[m, own] = -weights[m] * shares
        total -= weights[m] * logsumexp(L[m, own])
    return total


def test_rows_without_a_class_are_given_as_minus_one():
    rng = np.random.default_rng(4)
    network, table, layout, _ = incomplete_problem(rng, TREE, n_rows=20)
    codes = table.codes.copy()
    codes[0, ::3] = MISSING
    codes[1:, :6] = 0
    unlabeled = Table(codes, table.names, table.states, table.target)
    with pytest.raises(ValueError, match="the class 'v0' is missing in 7 row"):
        Objective(layout, unlabeled, tables=network)
    objective = Objective(layout, unlabeled, tables=network, unlabeled=True)
    joint = enumerated(network, codes)
    own = [joint[m, codes[0, m]] if codes[0, m] != MISSING else logsumexp(joint[m]) for m in range(20)]
    value, exact = objective(layout.values, marginal_nll)
    assert value == pytest.approx(-sum(own), rel=1e-10)
    numeric = central(lambda point: objective(point, marginal_nll)[0], layout.values)
    np.testing.assert_allclose(exact, numeric, rtol=1e-7, atol=1e-7)


def test_other_values_for_the_own_class_need_complete_rows():
    network, table, layout, values = incomplete_problem(np.random.default_rng(0), TREE)
    with pytest.raises(ValueError, match="with_own"):
        Objective(layout, table, tables=network).with_own(values, values, conditional_nll)
