"""Arrows: from the lower border of a box to the upper border of another, in the gaps between."""

import math

import pytest
from pictured_networks import IRIS_TAN, kdb, naive_bayes

from bnplug.show._routes import Arrow, routes_of
from bnplug.show._sheet import checked_graph, sheet_of


def routes(names, edges, target):
    graph = checked_graph(names, edges, target)
    sheet = sheet_of(graph, [60.0] * len(names))
    return graph, sheet, *routes_of(graph, sheet)


@pytest.mark.parametrize("network", [IRIS_TAN, kdb(16, 2), naive_bayes(60)], ids=["tan", "kdb", "nb"])
def test_every_edge_has_one_arrow_that_ends_on_its_child(network):
    graph, sheet, arrows, _ = routes(*network)
    assert sorted((arrow.parent, arrow.child) for arrow in arrows) == sorted(graph.edges)
    for arrow in arrows:
        x, y = arrow.steps[-1][-1]
        assert y == sheet.top(arrow.child)
        assert sheet.left(arrow.child) < x < sheet.right(arrow.child)


def test_a_class_whose_edges_are_clear_needs_no_rails_and_one_of_many_rows_does():
    assert routes(*naive_bayes(5))[3] == []
    _, sheet, arrows, rails = routes(*naive_bayes(60))
    assert len(rails) > 2
    assert all(x0 == x1 or y0 == y1 for (x0, y0), (x1, y1) in rails)
    heights = {y for rail in rails for _, y in rail}
    assert all(arrow.start[1] in heights for arrow in arrows)
    assert all(not top < height < top + 30.0 for height in heights for top in sheet.tops)


def test_a_head_points_along_the_last_step():
    arrow = Arrow(0, 1, (0.0, 0.0), [((0.0, 20.0),)])
    tip, left, base, right = arrow.head()
    assert tip == (0.0, 20.0)
    assert base == pytest.approx((0.0, 12.0))
    assert math.dist(left, right) == pytest.approx(6.4)
    assert arrow.shaft() == [(pytest.approx((0.0, 12.0)),)]
