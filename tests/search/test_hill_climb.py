"""Climbing: to the best neighbour until there is none."""

from __future__ import annotations

from search.toys import Edges, FewerEdges, make_table

from bnplug.search import Graph, GreedySearch, Neighbourhood, climb


def test_a_climb_ends_after_so_many_moves_or_where_no_move_is_legal():
    table = make_table()
    for max_iter, n_moves in ((2, 2), (None, 6)):
        search = GreedySearch(Edges().evaluator(table), [[], [], [], []], "test")
        climb(search, Neighbourhood(Graph(search.parents)), table.names, max_iter)
        assert len(search.moves) == n_moves
    search = GreedySearch(FewerEdges().evaluator(table), [[], [], [], []], "test")
    neighbourhood = Neighbourhood(Graph(search.parents), kinds={"add"})
    climb(search, neighbourhood, table.names, improve=False)
    assert search.trace == [0.0, -1.0, -2.0, -3.0, -4.0, -5.0, -6.0]
    assert neighbourhood.graph.parents == search.parents
