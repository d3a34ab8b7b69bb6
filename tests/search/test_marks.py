"""Legal moves in compiled code are those of a Neighbourhood, which tests hold against trying all."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from bnplug.search._marks import MovingGraph
from bnplug.search.moves import KINDS, Graph, Move, Neighbourhood


def listed(moving):
    """All legal moves, as kernels find them."""
    return [Move(KINDS[kind], int(u), int(v)) for kind, u, v in np.argwhere(moving.legal())]


@settings(max_examples=30, deadline=None)
@given(st.integers(2, 6), st.integers(0, 10**6))
def test_a_moving_graph_has_the_moves_of_a_neighbourhood_on_the_whole_way(size, seed):
    rng = np.random.default_rng(seed)
    allowed, fixed = rng.random((size, size)) < 0.8, rng.random((size, size)) < 0.2
    capacity = rng.integers(0, size + 1, size)
    neighbourhood = Neighbourhood(Graph([[] for _ in range(size)]), KINDS, allowed, fixed, capacity)
    graph, moving = neighbourhood.graph, MovingGraph.of(neighbourhood)
    for _ in range(12):
        moves = neighbourhood.moves()
        assert listed(moving) == moves
        if not moves:
            break
        move = moves[rng.integers(len(moves))]
        graph.apply(graph.changes(move))
        moving.make(*move)
        assert (moving.edges == graph.edges).all()
        assert (moving.ancestors == graph.reaches.T).all()


def test_edges_not_known_yet_are_those_that_legal_moves_toggle():
    moving = MovingGraph.of(Neighbourhood(Graph([[], [0], [0, 1]]), ("delete", "reverse"), capacity=np.full(3, 2)))
    known = np.zeros((3, 3), dtype=bool)
    known[0, 2] = True
    # Of the triangle 0 -> 1 -> 2 and 0 -> 2 the last alone cannot be reversed.
    children, parents = moving.lacking(known)
    assert list(zip(children.tolist(), parents.tolist(), strict=True)) == [(0, 1), (1, 0), (1, 2), (2, 1)]
    places, rises = moving.list_moves(np.arange(9.0).reshape(3, 3))
    assert places.tolist() == [1, 2, 5, 9 + 1, 9 + 5]
    assert rises.tolist() == [1.0, 2.0, 5.0, 1.0 + 3.0, 5.0 + 7.0]


def test_a_copy_of_a_moving_graph_moves_alone():
    moving = MovingGraph.of(Neighbourhood(Graph([[], [0], []])))
    before = listed(moving)
    other = moving.copy()
    other.make("reverse", 0, 1)
    assert other.edges.tolist() != moving.edges.tolist()
    assert listed(moving) == before
