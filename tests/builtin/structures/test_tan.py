"""TAN is a maximum spanning tree; ties, here and in KDB, go to the lowest feature."""

from __future__ import annotations

from itertools import combinations

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


def test_ties_go_to_the_lowest_feature():
    # Three copies of one feature: every pair has the same information.
    x = [0, 0, 1, 1, 0, 1, 1, 0]
    table = Table.from_frame(pd.DataFrame({"x0": x, "x1": x, "x2": x, "c": [0, 0, 0, 0, 1, 1, 1, 1]}), "c")
    assert table.parents(structure_learner("tan").learn(table))[:3] == [[3], [0, 3], [0, 3]]
    assert table.parents(structure_learner("kdb", k=1).learn(table))[:3] == [[3], [0, 3], [0, 3]]
