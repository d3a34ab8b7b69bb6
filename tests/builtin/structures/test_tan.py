"""TAN is a maximum spanning tree; ties, here and in KDB, go to the lowest feature."""

from __future__ import annotations

from itertools import combinations, product

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import tables

from bnplug import structure_learner
from bnplug.counts.information import class_information, pairwise_information
from bnplug.table.table import Table


def edges(table, dag):
    return {(p, v) for v, own in enumerate(dag.parents) for p in own}


@given(tables(max_features=6, min_features=2))
def test_tan_is_a_maximum_spanning_tree_directed_away_from_its_root(table):
    dag = structure_learner("tan", correction=None).learn(table)
    tree = {(p, v) for p, v in edges(table, dag) if p != table.target_index}
    weight = pairwise_information(table)
    graph = nx.Graph()
    graph.add_weighted_edges_from((a, b, weight[a, b]) for a, b in combinations(table.features, 2))
    best = nx.maximum_spanning_tree(graph).size(weight="weight")
    assert sum(weight[p, v] for p, v in tree) == pytest.approx(best, abs=1e-8)
    assert nx.is_arborescence(nx.DiGraph(sorted(tree)))
    root = next(v for v in table.features if v not in {child for _, child in tree})
    assert class_information(table)[root] >= class_information(table).max() - 1e-9
    assert all((table.target_index, v) in edges(table, dag) for v in table.features)


def test_tan_root_may_be_told():
    rng = np.random.default_rng(0)
    table = Table.from_frame(pd.DataFrame(rng.integers(0, 3, (50, 4)), columns=[*"abd", "c"]), "c")
    dag = structure_learner("tan", root="d").learn(table)
    assert dag.by_name["d"] == ("c",)
    with pytest.raises(ValueError, match="'c' is the target"):
        structure_learner("tan", root="c").learn(table)
    with pytest.raises(ValueError, match="no variable 'z'"):
        structure_learner("tan", root="z").learn(table)


def test_tan_of_one_feature():
    table = Table.from_frame(pd.DataFrame({"x": [0, 1], "c": [0, 1]}), "c")
    assert edges(table, structure_learner("tan").learn(table)) == {(1, 0)}


def test_ties_go_to_the_lowest_feature():
    # Three copies of one feature: every pair has the same information.
    x = [0, 0, 1, 1, 0, 1, 1, 0]
    table = Table.from_frame(pd.DataFrame({"x0": x, "x1": x, "x2": x, "c": [0, 0, 0, 0, 1, 1, 1, 1]}), "c")
    assert structure_learner("tan", correction=None).learn(table).parents[:3] == ((3,), (0, 3), (0, 3))
    assert structure_learner("kdb", k=1, correction=None).learn(table).parents[:3] == ((3,), (0, 3), (0, 3))


def trees(table):
    """Every tree over the features that leads away from a root, as edges."""
    for several in product(table.features, repeat=len(table.features)):
        tree = {(p, v) for p, v in zip(several, table.features, strict=True) if p != v}
        if len(tree) == len(table.features) - 1 and nx.is_arborescence(nx.DiGraph(sorted(tree))):
            yield tree


@settings(max_examples=30)
@given(tables(max_features=4, min_features=3), st.integers(0, 2**32 - 1))
def test_under_constraints_tan_is_the_heaviest_tree_that_keeps_to_them(table, seed):
    rng = np.random.default_rng(seed)
    pairs = [(p, v) for p in table.features for v in table.features if p != v]
    required, forbidden = ([pairs[i] for i in np.flatnonzero(rng.random(len(pairs)) < share)] for share in (0.1, 0.4))
    place = rng.integers(3, size=len(table.names))
    tiers = [[v for v in table.features if place[v] == number] for number in (0, 1)]
    named = {
        "required": [tuple(table.names[v] for v in edge) for edge in required],
        "forbidden": [tuple(table.names[v] for v in edge) for edge in forbidden],
        "tiers": [[table.names[v] for v in tier] for tier in tiers],
    }
    backwards = {(p, v) for p in tiers[1] for v in tiers[0]}
    weight, to_class = pairwise_information(table), class_information(table)
    possible = [t for t in trees(table) if set(required) <= t and not t & ({*forbidden} | backwards)]
    try:
        dag = structure_learner("tan", correction=None, **named).learn(table)
    except ValueError:
        assert not possible
        return
    found = {(p, v) for p, v in edges(table, dag) if p != table.target_index}
    assert found in possible
    total = {frozenset(t): sum(weight[p, v] for p, v in t) for t in possible}
    best = [t for t, value in total.items() if value >= max(total.values()) - 1e-8]
    assert frozenset(found) in best
    roots = [v for t in best for v in table.features if v not in {child for _, child in t}]
    root = next(v for v in table.features if v not in {child for _, child in found})
    assert to_class[root] >= max(to_class[v] for v in roots) - 1e-8


def test_a_tree_that_cannot_be_is_said():
    rng = np.random.default_rng(0)
    table = Table.from_frame(pd.DataFrame(rng.integers(0, 3, (50, 4)), columns=[*"abd", "c"]), "c")
    no_tree = "no tree over all features satisfies required, forbidden and tiers: "
    apart = [("a", "d"), ("b", "d"), ("d", "a"), ("d", "b")]
    with pytest.raises(ValueError, match=f"{no_tree}no allowed edges lead from 'a' to .'d'."):
        structure_learner("tan", forbidden=apart).learn(table)
    with pytest.raises(ValueError, match=f"{no_tree}'a' at its root must have the parent 'b'"):
        structure_learner("tan", root="a", required=[("b", "a")]).learn(table)
    with pytest.raises(ValueError, match=f"{no_tree}no allowed edges lead from 'b' to .'a'."):
        structure_learner("tan", root="b", tiers=[["a"], ["b", "d"]]).learn(table)
    tiers = {"tiers": [["d"], ["a"], ["b"]], "required": [("a", "b")]}
    dag = structure_learner("tan", correction=None, **tiers).learn(table)
    assert set(dag.edges) == {("c", "a"), ("c", "b"), ("c", "d"), ("d", "a"), ("a", "b")}


@given(tables(min_features=2, max_features=5), st.sampled_from(["expected", 0.95]))
def test_with_a_correction_tan_has_no_edge_that_chance_explains(table, correction):
    between = pairwise_information(table, correction=correction)
    learner = structure_learner("tan", correction=correction)
    parents = learner.learn(table).parents
    own = {v: [u for u in parents[v] if u != table.target_index] for v in table.features}
    assert all(between[v, u] > 0 for v in own for u in own[v])
    sizes = [int(np.prod(table.cards[[v, *parents[v]]])) for v in range(len(table.names))]
    assert learner.fewest_parameters(table) <= sum(sizes)


def test_a_column_of_many_codes_that_tell_nothing_stays_alone_in_tan():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 2000)
    a = np.where(rng.random(2000) < 0.9, y, rng.integers(0, 3, 2000))
    b = np.where(rng.random(2000) < 0.6, a, rng.integers(0, 3, 2000))
    table = Table.from_frame(pd.DataFrame({"a": a, "b": b, "code": rng.integers(0, 40, 2000), "y": y}), "y")
    plain = edges(table, structure_learner("tan", correction=None).learn(table))
    sure = edges(table, structure_learner("tan").learn(table))
    code, y = table.index("code"), table.index("y")
    assert any(code in edge and y not in edge for edge in plain)
    assert not any(code in edge and y not in edge for edge in sure)
    assert {0, 1} in map(set, sure)
    told = structure_learner("tan", required=[("a", "code")])
    assert (0, code) in edges(table, told.learn(table))
