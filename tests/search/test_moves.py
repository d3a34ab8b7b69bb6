"""Moves are legal: no cycle, no edge too many, nothing that is forbidden."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bnplug.search.moves import KINDS, Graph, Move, Neighbourhood


def as_networkx(parents):
    graph = nx.DiGraph()
    graph.add_nodes_from(range(len(parents)))
    graph.add_edges_from((p, v) for v, own in enumerate(parents) for p in own)
    return graph


def brute_force(parents, allowed, fixed, capacity):
    """All legal moves, by trying each."""
    size = len(parents)
    legal = set()
    for kind in KINDS:
        for u in range(size):
            for v in range(size):
                new = [set(own) for own in parents]
                if kind == "add":
                    if u == v or u in new[v] or not allowed[u, v]:
                        continue
                    new[v].add(u)
                else:
                    if u not in new[v] or fixed[u, v]:
                        continue
                    new[v].remove(u)
                    if kind == "reverse":
                        if not allowed[v, u]:
                            continue
                        new[u].add(v)
                grown = [w for w in range(size) if len(new[w]) > len(parents[w])]
                if any(len(new[w]) > capacity[w] for w in grown):
                    continue
                if nx.is_directed_acyclic_graph(as_networkx(new)):
                    legal.add(Move(kind, u, v))
    return legal


@settings(max_examples=30, deadline=None)
@given(st.data())
def test_legal_moves_are_those_found_by_trying_all(data):
    size = data.draw(st.integers(2, 6))
    rng = np.random.default_rng(data.draw(st.integers(0, 10**6)))
    allowed = rng.random((size, size)) < 0.8
    fixed = rng.random((size, size)) < 0.2
    capacity = rng.integers(0, size + 1, size)
    neighbourhood = Neighbourhood(Graph([[] for _ in range(size)]), KINDS, allowed, fixed, capacity)
    graph = neighbourhood.graph
    for _ in range(12):
        moves = neighbourhood.moves()
        assert len(moves) == len(set(moves))
        assert set(moves) == brute_force(graph.parents, allowed, fixed, capacity)
        if not moves:
            break
        move = moves[rng.integers(len(moves))]
        graph.apply(graph.changes(move))


@settings(max_examples=30, deadline=None)
@given(st.integers(2, 9), st.integers(0, 10**6))
def test_a_random_walk_stays_acyclic_and_knows_who_reaches_whom(size, seed):
    rng = np.random.default_rng(seed)
    neighbourhood = Neighbourhood(Graph([[] for _ in range(size)]), capacity=np.full(size, 3))
    graph = neighbourhood.graph
    for _ in range(25):
        moves = neighbourhood.moves()
        graph.apply(graph.changes(moves[rng.integers(len(moves))]))
        reference = as_networkx(graph.parents)
        assert nx.is_directed_acyclic_graph(reference)
        assert max(map(len, graph.parents)) <= 3
        closure = nx.to_numpy_array(nx.transitive_closure(reference, reflexive=True), nodelist=range(size))
        assert (graph.reaches == closure.astype(bool)).all()
        assert (graph.edges == nx.to_numpy_array(reference, nodelist=range(size)).astype(bool)).all()


def test_the_order_of_moves_is_by_kind_then_parent_then_child():
    moves = Neighbourhood(Graph([[], [0], [], [1]])).moves()
    order = [(KINDS.index(move.kind), move.parent, move.child) for move in moves]
    assert order == sorted(order)
    assert moves[:2] == [Move("delete", 0, 1), Move("delete", 1, 3)]


def test_only_the_kinds_asked_for():
    graph = Graph([[], [0], []])
    assert {move.kind for move in Neighbourhood(graph).moves()} == set(KINDS)
    assert {move.kind for move in Neighbourhood(graph, {"add"}).moves()} == {"add"}


def test_a_second_path_forbids_the_reversal():
    graph = Graph([[], [0], [0, 1]])
    assert Move("reverse", 0, 2) not in Neighbourhood(graph).moves()
    assert Move("reverse", 0, 1) in Neighbourhood(graph).moves()


def test_changes_of_each_kind():
    graph = Graph([[], [0], [0]])
    assert graph.changes(Move("add", 1, 2)) == {2: [0, 1]}
    assert graph.changes(Move("delete", 0, 2)) == {2: []}
    assert graph.changes(Move("reverse", 0, 2)) == {2: [], 0: [2]}


@pytest.mark.parametrize("parents", [[[0]], [[1], [0]], [[2], [0], [1]]])
def test_a_graph_with_a_cycle_is_refused(parents):
    with pytest.raises(ValueError, match="cycle"):
        Graph(parents)


@pytest.mark.parametrize("seed", range(5))
def test_arrays_of_candidates_are_what_the_moves_change(seed):
    rng = np.random.default_rng(seed)
    graph = Graph([[u for u in range(v) if rng.random() < 0.4] for v in range(6)])
    neighbourhood = Neighbourhood(graph)
    candidates, moves = neighbourhood.candidates(), neighbourhood.moves()
    assert len(candidates) == len(moves)
    assert [candidates.move(i) for i in range(len(moves))] == moves
    assert list(candidates) == [graph.changes(move) for move in moves]
    assert list(candidates[3:9]) == [graph.changes(move) for move in moves[3:9]]
    graph.set_parents(5, [])
    assert list(candidates[-2:]) == list(candidates)[-2:]


def test_a_copy_of_a_graph_changes_separately():
    graph = Graph([[], [0], []])
    moves = Neighbourhood(graph).moves()
    other = graph.copy()
    other.apply(other.changes(Move("reverse", 0, 1)))
    assert (other.parents, graph.parents) == ([[1], [], []], [[], [0], []])
    assert (other.reaches != graph.reaches).any()
    assert Neighbourhood(graph).moves() == moves
