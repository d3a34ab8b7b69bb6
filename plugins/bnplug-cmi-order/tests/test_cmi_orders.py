"""The orders equal those of a slow, independent implementation of the paper's equations."""

from __future__ import annotations

from collections import Counter
from itertools import product
from math import log

import numpy as np
import pandas as pd
import pytest
from bnplug_cmi_order.expected_patterns import ExpectedPatterns
from bnplug_cmi_order.orders import order_by_all, order_by_single
from bnplug_cmi_order.patterns import Patterns
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chi2

from bnplug import LogTables
from bnplug.counts.information import class_information, pairwise_information
from bnplug.inference.expected_table import ExpectedTable
from bnplug.table.block_table import BlockTable
from bnplug.table.table import Table


def entropy(rows, weights):
    counts = Counter()
    for row, weight in zip(rows, weights, strict=True):
        counts[tuple(row)] += weight
    total = sum(counts.values())
    return -sum(n / total * log(n / total) for n in counts.values() if n > 0)


def information(table, x, given):
    """I(C; X | given) = H(C,B) - H(B) - H(C,X,B) + H(X,B) over the rows in which X is known, per row of the table.

    Missing is a state of the variables in B. The 0.999 quantile of chance is subtracted in proportion to the rows that
    do not know X.
    """
    c, weights = table.target_index, np.ones(table.n_rows) if table.weights is None else table.weights
    known = table.codes[x] != table.missing
    codes, of_rows = table.codes[:, known].T.tolist(), weights[known].tolist()
    if not codes:
        return 0.0

    def joint(*variables):
        return entropy([[row[v] for v in variables] for row in codes], of_rows)

    total = sum(of_rows) * (joint(c, *given) - joint(*given) - joint(c, x, *given) + joint(x, *given))
    patterns = {}
    for row in codes:
        states, classes = patterns.setdefault(tuple(row[v] for v in given), (set(), set()))
        states.add(row[x])
        classes.add(row[c])
    degrees = sum((len(states) - 1) * (len(classes) - 1) for states, classes in patterns.values())
    chance = chi2.ppf(0.999, degrees) / 2 if degrees else 0.0
    return max(total - (1 - sum(of_rows) / weights.sum()) * chance, 0.0) / weights.sum()


def argmax(values):
    largest = max(values.values())
    return min(v for v, value in values.items() if value >= largest - 1e-9)


def slow_order_by_all(table, max_condition=None):
    order = []
    while len(order) < len(table.features):
        kept = len(order) if max_condition is None else min(max_condition, len(order))
        given = order[len(order) - kept :]
        left = [v for v in table.features if v not in order]
        order.append(argmax({v: information(table, v, given) for v in left}))
    return order


def slow_order_by_single(table):
    order = [argmax({v: information(table, v, []) for v in table.features})]
    while len(order) < len(table.features):
        left = [v for v in table.features if v not in order]
        order.append(argmax({v: max(information(table, v, [u]) for u in order) for v in left}))
    return order


@st.composite
def tables(draw):
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    features, rows, states = draw(st.integers(1, 6)), draw(st.integers(2, 50)), draw(st.integers(1, 4))
    cells = rng.integers(0, states, (rows, features)).astype(float)
    if features > 2 and draw(st.booleans()):
        cells[:, 2] = cells[:, 0]  # a copy ties with its original
    if draw(st.booleans()):
        cells[1:][rng.random((rows - 1, features)) < 0.15] = np.nan
    frame = pd.DataFrame(cells, columns=[f"x{i}" for i in range(features)])
    frame.insert(int(rng.integers(features + 1)), "class", rng.integers(0, draw(st.integers(1, 3)), rows))
    weights = rng.integers(1, 4, rows) * 0.5 if draw(st.booleans()) else None
    return Table.from_frame(frame, "class", weights)


@settings(max_examples=40, deadline=None)
@given(tables(), st.sampled_from([None, 0, 1, 2]))
def test_order_by_all_is_the_brute_force_order(table, max_condition):
    assert order_by_all(table, max_condition) == slow_order_by_all(table, max_condition)


@settings(max_examples=40, deadline=None)
@given(tables())
def test_order_by_single_is_the_brute_force_order(table):
    assert order_by_single(table) == slow_order_by_single(table)


@settings(max_examples=40, deadline=None)
@given(tables(), st.integers(0, 3), st.integers(1, 3))
def test_information_is_that_of_joint_entropies(table, conditions, n_jobs):
    given = table.features[:conditions]
    expected = [information(table, v, given) for v in table.features]
    found = Patterns(table, given).information(table.features, n_jobs)
    np.testing.assert_allclose(found, expected, atol=1e-10)


def test_information_agrees_with_the_core():
    rng = np.random.default_rng(3)
    frame = pd.DataFrame(rng.integers(0, 4, (300, 5)), columns=list("abcde"))
    table = Table.from_frame(frame, "e")
    unconditional = Patterns(table).information(table.features)
    np.testing.assert_allclose(unconditional, class_information(table)[table.features], atol=1e-12)
    # I(C; X | X') is what the core computes of (C, X) where X' is the class.
    other = Table.from_frame(frame, "a")
    np.testing.assert_allclose(
        Patterns(table, [0]).information([1, 2, 3]), pairwise_information(other)[4, 1:4], atol=1e-12
    )


def test_a_feature_that_half_of_the_rows_know_counts_half_by_hand():
    frame = pd.DataFrame({"x": [0.0, 1.0] * 100 + [np.nan] * 200, "c": [0, 1] * 200})
    (found,) = Patterns(Table.from_frame(frame, "c")).information([0])
    # x determines the class in 200 of 400 rows; chance has one degree of freedom.
    assert found == pytest.approx((200 * log(2) - 0.5 * chi2.ppf(0.999, 1) / 2) / 400)


def test_conditioning_on_a_feature_loses_no_rows():
    rng = np.random.default_rng(4)
    y = rng.integers(0, 2, 400)
    x = np.where(rng.random(400) < 0.8, y, 1 - y)
    sparse = pd.Series(rng.integers(0, 2, 400)).mask(rng.random(400) < 0.95)
    table = Table.from_frame(pd.DataFrame({"sparse": sparse, "x": x, "y": y}), "y")
    alone, given = Patterns(table).information([1]), Patterns(table, [0]).information([1])
    assert given[0] == pytest.approx(alone[0], rel=0.1)


def test_once_the_patterns_determine_the_class_the_rest_follows_by_index():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.integers(0, 2, (40, 6)), columns=list("abcdef"))
    frame["id"] = range(40)
    frame["class"] = rng.integers(0, 2, 40)
    table = Table.from_frame(frame, "class")
    assert order_by_all(table) == [6, 0, 1, 2, 3, 4, 5]
    assert Patterns(table, [6]).determine_class


def test_two_noisy_halves_of_an_exclusive_or():
    """The pair that tells the class together comes before a feature that tells less than they do."""
    rng = np.random.default_rng(1)
    a, b = rng.integers(0, 2, (2, 2000))
    y = a ^ b
    weak = np.where(rng.random(2000) < 0.1, y, rng.integers(0, 2, 2000))
    frame = pd.DataFrame({"weak": weak, "a": a, "b": b, "class": np.where(rng.random(2000) < 0.9, y, a)})
    order = order_by_all(Table.from_frame(frame, "class"))
    assert order[0] == 1
    assert order[1] == 2


@pytest.mark.parametrize("order", [order_by_all, order_by_single])
def test_threads_do_not_matter(order):
    rng = np.random.default_rng(2)
    frame = pd.DataFrame(rng.integers(0, 3, (200, 9)), columns=list("abcdefghi"))
    table = Table.from_frame(frame, "i")
    assert order(table, n_jobs=1) == order(table, n_jobs=3)


def expected_rows(seed, unlabeled):
    """A table that expects, and the completions of all its rows, each as heavy as it is probable."""
    rng = np.random.default_rng(seed)
    names, cards = [*"abcd", "y"], [2, 3, 2, 2, 2]
    states = {name: range(card) for name, card in zip(names, cards, strict=True)}
    parents = {"a": ["y"], "b": ["a", "y"], "c": ["b", "y"], "d": ["a", "c"], "y": []}
    shapes = {name: [cards[names.index(u)] for u in (name, *own)] for name, own in parents.items()}
    values = {name: np.log(rng.dirichlet(np.full(shape[0], 0.7), shape[1:])) for name, shape in shapes.items()}
    tables = LogTables(names, states, {u: (own, np.moveaxis(values[u], -1, 0)) for u, own in parents.items()}, "y")
    codes = np.stack([rng.integers(0, card, 30, dtype=np.uint8) for card in cards])
    codes[:4][rng.random((4, 30)) < 0.3] = 255
    codes[4][rng.random(30) < unlabeled] = 255
    rows = Table(codes, names, states, "y", missing_policy="em")
    full, weights = [], []
    for row in codes.T:
        of_row = list(product(*([int(s)] if s != 255 else range(card) for s, card in zip(row, cards, strict=True))))
        logs = [
            sum(t.values[tuple(own[names.index(u)] for u in (name, *t.parents))] for name, t in tables.tables.items())
            for own in of_row
        ]
        full += of_row
        weights += (np.exp(logs) / np.exp(logs).sum()).tolist()
    completed = Table(np.array(full, dtype=np.uint8).T, names, states, "y", weights)
    return ExpectedTable(rows, lambda: tables), completed


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("unlabeled", [0.0, 0.4])
def test_orders_of_incomplete_rows_are_by_expected_information(seed, unlabeled):
    expected, completed = expected_rows(seed, unlabeled)
    patterns = ExpectedPatterns(expected)
    for v in range(3):
        left = list(range(v, 4))
        wanted = [information(completed, x, list(range(v))) for x in left]
        np.testing.assert_allclose(patterns.information(left), wanted, atol=1e-9)
        patterns.split(v)
    assert order_by_all(expected) == slow_order_by_all(completed)
    assert order_by_all(expected, 1) == slow_order_by_all(completed, 1)
    assert order_by_single(expected) == slow_order_by_single(completed)


def test_blocks_of_incomplete_rows_have_the_same_order():
    expected, completed = expected_rows(1, 0.2)
    blocks = ExpectedTable(BlockTable.cut(expected._all, [12, 18]), lambda: expected.tables)
    assert order_by_all(blocks) == slow_order_by_all(completed)
    assert order_by_single(blocks) == slow_order_by_single(completed)
