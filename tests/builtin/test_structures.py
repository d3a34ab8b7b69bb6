from itertools import combinations, pairwise

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from strategies import tables

from bnplug import structure_learner
from bnplug.counts.information import class_information, pairwise_information
from bnplug.data.table import Table


def edges(table, dag):
    return {(p, v) for v, own in enumerate(table.parents(dag)) for p in own}


@given(tables())
def test_naive_bayes_has_only_class_edges(table):
    dag = structure_learner("nb").learn(table)
    assert edges(table, dag) == {(table.target_index, v) for v in table.features}


@given(tables(max_features=6, min_features=2))
def test_tan_is_a_maximum_spanning_tree_directed_away_from_its_root(table):
    dag = structure_learner("tan").learn(table)
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
    assert list(dag.predecessors("d")) == ["c"]
    with pytest.raises(ValueError, match="'c' is the target"):
        structure_learner("tan", root="c").learn(table)
    with pytest.raises(ValueError, match="no variable 'z'"):
        structure_learner("tan", root="z").learn(table)


def test_tan_of_one_feature():
    table = Table.from_frame(pd.DataFrame({"x": [0, 1], "c": [0, 1]}), "c")
    assert edges(table, structure_learner("tan").learn(table)) == {(1, 0)}


@given(tables(max_features=5))
def test_kdb_takes_the_k_best_earlier_features(table):
    learner = structure_learner("kdb", k=2)
    parents = table.parents(learner.learn(table))
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


def test_ties_go_to_the_lowest_feature():
    # Three copies of one feature: every pair has the same information.
    x = [0, 0, 1, 1, 0, 1, 1, 0]
    table = Table.from_frame(pd.DataFrame({"x0": x, "x1": x, "x2": x, "c": [0, 0, 0, 0, 1, 1, 1, 1]}), "c")
    assert table.parents(structure_learner("tan").learn(table))[:3] == [[3], [0, 3], [0, 3]]
    assert table.parents(structure_learner("kdb", k=1).learn(table))[:3] == [[3], [0, 3], [0, 3]]
