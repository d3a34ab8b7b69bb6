"""Rows of boxes: parents above children, nobody on top of anybody, edges as straight as they can be."""

from itertools import pairwise

import pytest
from hypothesis import given
from pictured_networks import kdb, naive_bayes, networks, tan

from bnplug.show._sheet import _MOST_LANES, BOX_HEIGHT, LANE_SPACE, checked_graph, sheet_of


def sheet(names, edges, target, width=60.0):
    graph = checked_graph(names, edges, target)
    return graph, sheet_of(graph, [width] * len(names))


@given(networks())
def test_every_node_is_in_one_row_below_its_parents(network):
    graph, found = sheet(*network)
    placed = [vertex for row in found.rows for vertex in row]
    assert len(placed) == len(set(placed))
    assert {vertex for vertex in placed if vertex < len(graph.names)} == set(range(len(graph.names)))
    assert all(found.rank[parent] < found.rank[child] for parent, child in graph.edges)
    assert all(found.rank[vertex] == row for row, vertices in enumerate(found.rows) for vertex in vertices)


@given(networks())
def test_neighbours_in_a_row_keep_their_distance(network):
    _, found = sheet(*network)
    for row in found.rows:
        for left, right in pairwise(row):
            assert found.right(left) + LANE_SPACE <= found.left(right) + 1e-6
    assert all(above + BOX_HEIGHT < below for above, below in pairwise(found.tops))


@given(networks())
def test_a_chain_visits_every_row_between_its_ends(network):
    graph, found = sheet(*network)
    for chain in found.chains:
        assert (chain[0], chain[-1]) in graph.edges
        ranks = [found.rank[vertex] for vertex in chain]
        assert ranks == list(range(ranks[0], ranks[-1] + 1))


def test_a_path_is_straight():
    names = list("yabcd")
    _, found = sheet(names, list(pairwise(names)), "y")
    assert [found.x[node] for node in range(5)] == pytest.approx([0.0] * 5, abs=1e-6)


def test_a_parent_stands_over_the_middle_of_its_children():
    _, found = sheet(["y", "a", "b", "c"], [("y", "a"), ("a", "b"), ("a", "c")], "y")
    assert found.x[1] == pytest.approx((found.x[2] + found.x[3]) / 2, abs=1e-6)


@pytest.mark.parametrize("network", [naive_bayes(250), tan(250), kdb(250, 2), kdb(250, 3)])
def test_the_work_is_bounded_by_the_number_of_lanes(network):
    _, found = sheet(*network)
    assert len(found.rank) <= 251 + _MOST_LANES
