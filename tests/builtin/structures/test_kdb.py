"""KDB takes the features that its definition says."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import tables

from bnplug import structure_learner
from bnplug.counts.information import class_information, pairwise_information
from bnplug.search import Constraints
from bnplug.table.table import Table


def edges(table, dag):
    return {(p, v) for v, own in enumerate(dag.parents) for p in own}


@given(tables(max_features=5))
def test_kdb_takes_the_k_best_earlier_features(table):
    learner = structure_learner("kdb", k=2, correction=None)
    parents = learner.learn(table).parents
    order = [table.index(name) for name in learner.order_]
    to_class, between = class_information(table), pairwise_information(table)
    assert all(to_class[a] >= to_class[b] - 1e-9 for a, b in pairwise(order))
    for position, v in enumerate(order):
        chosen = set(parents[v]) - {table.target_index}
        assert table.target_index in parents[v]
        assert len(chosen) == min(position, 2)
        assert chosen <= set(order[:position])
        rest = set(order[:position]) - chosen
        if rest:
            assert min(between[v, p] for p in chosen) >= max(between[v, p] for p in rest) - 1e-9


def test_kdb_of_zero_is_naive_bayes_and_less_is_an_error():
    table = Table.from_frame(pd.DataFrame({"x": [0, 1, 1], "y": [0, 1, 0], "c": [0, 1, 0]}), "c")
    assert edges(table, structure_learner("kdb", k=0).learn(table)) == {(2, 0), (2, 1)}
    for k in (-1, 1.5, "two"):
        with pytest.raises(ValueError, match=f"k={k!r}: the number"):
            structure_learner("kdb", k=k).learn(table)


@settings(max_examples=30)
@given(tables(max_features=5, min_features=3), st.integers(0, 2**32 - 1))
def test_under_constraints_kdb_takes_the_best_of_the_allowed(table, seed):
    rng = np.random.default_rng(seed)
    first, second, *others = rng.permutation(table.features).tolist()
    known = {
        "required": [(table.names[second], table.names[first])],
        "forbidden": [(table.names[others[0]], table.names[first])],
        "tiers": [[table.names[second]], [table.names[v] for v in others[1:]]],
    }
    learner = structure_learner("kdb", k=2, correction=None, **known)
    parents = learner.learn(table).parents
    order = [table.index(name) for name in learner.order_]
    between, allowed = pairwise_information(table), Constraints(table, **known).allowed
    assert order.index(second) < min(order.index(v) for v in (first, *others[1:]))
    for position, v in enumerate(order):
        chosen = [p for p in parents[v] if p != table.target_index]
        free = [p for p in chosen if (p, v) != (second, first)]
        possible = [p for p in order[:position] if allowed[p, v] and (p, v) != (second, first)]
        assert (second in chosen) or v != first
        assert set(free) <= set(possible)
        assert len(free) == min(len(possible), 2 - (v == first))
        rest = [between[v, p] for p in possible if p not in free]
        if rest and free:
            assert min(between[v, p] for p in free) >= max(rest) - 1e-9


def test_what_kdb_has_at_least_holds_where_edges_are_forbidden():
    rng = np.random.default_rng(0)
    table = Table.from_frame(pd.DataFrame(rng.integers(0, 4, (90, 5)), columns=[*"abdec"]), "c")
    forbidden = [(p, v) for p in "abde" for v in "abde" if p != v]
    learner = structure_learner("kdb", k=2, forbidden=forbidden)
    dag = learner.learn(table)
    assert {p for p, _ in dag.edges} == {"c"}
    assert learner.fewest_parameters(table) <= 4 * 4 * 4


@given(tables(min_features=2, max_features=5), st.sampled_from(["expected", 0.95]))
def test_with_a_correction_kdb_has_no_edge_that_chance_explains(table, correction):
    between = pairwise_information(table, correction=correction)
    learner = structure_learner("kdb", correction=correction)
    parents = learner.learn(table).parents
    own = {v: [u for u in parents[v] if u != table.target_index] for v in table.features}
    assert all(between[v, u] > 0 for v in own for u in own[v])
    sizes = [int(np.prod(table.cards[[v, *parents[v]]])) for v in range(len(table.names))]
    assert learner.fewest_parameters(table) <= sum(sizes)


def test_a_column_of_many_codes_that_tell_nothing_stays_alone_in_kdb():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 2000)
    a = np.where(rng.random(2000) < 0.9, y, rng.integers(0, 3, 2000))
    b = np.where(rng.random(2000) < 0.6, a, rng.integers(0, 3, 2000))
    table = Table.from_frame(pd.DataFrame({"a": a, "b": b, "code": rng.integers(0, 40, 2000), "y": y}), "y")
    plain = edges(table, structure_learner("kdb", correction=None).learn(table))
    sure = edges(table, structure_learner("kdb").learn(table))
    code, y = table.index("code"), table.index("y")
    assert any(code in edge and y not in edge for edge in plain)
    assert not any(code in edge and y not in edge for edge in sure)
    assert {0, 1} in map(set, sure)
    told = structure_learner("kdb", required=[("a", "code")])
    assert (0, code) in edges(table, told.learn(table))
