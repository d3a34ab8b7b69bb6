"""Where the boxes of a picture stand."""

import pytest
from pictured_networks import CLASS_WITH_PARENTS, IRIS_TAN, kdb, layout, naive_bayes, tan

from bnplug.show._routes import picture_of
from bnplug.show._sheet import BOX_HEIGHT


def test_a_class_without_parents_stands_alone_on_top():
    for network in (naive_bayes(7), tan(16), kdb(16, 2)):
        heights = {name: y for name, (_, y) in layout(*network).items()}
        assert all(heights["class"] < y for name, y in heights.items() if name != "class")


def test_many_features_wrap_into_a_grid_that_reads_in_table_order():
    names, edges, target = naive_bayes(196)
    places = layout(names, edges, target)
    del places[target]
    assert sorted(places, key=lambda name: places[name][::-1]) == names[:-1]
    columns = {x for x, _ in places.values()}
    rows = {y for _, y in places.values()}
    assert len(rows) * len(columns) < 196 + len(columns)
    assert max(columns) - min(columns) < 2.5 * (max(rows) - min(rows))


def test_nodes_without_edges_stand_below_the_others():
    places = layout(*CLASS_WITH_PARENTS)
    assert all(y < places["lone"][1] for name, (_, y) in places.items() if name != "lone")


def test_the_star_of_a_hub_is_no_single_row():
    names, edges, target = naive_bayes(60)
    places = layout(names, edges + [(names[0], name) for name in names[1:-1]], target)
    xs = [x for x, _ in places.values()]
    assert max(xs) - min(xs) < 2000


def test_a_picture_has_a_box_for_each_node_and_an_arrow_for_each_edge():
    names, edges, target = IRIS_TAN
    picture = picture_of(names, edges, target, marked=names[:1])
    assert [picture.graph.names[box.node] for box in picture.boxes] == names
    assert sorted((names[arrow.parent], names[arrow.child]) for arrow in picture.edges) == sorted(edges)
    of_class = [names[arrow.parent] == target for arrow in picture.edges]
    assert of_class == sorted(of_class, reverse=True)
    assert picture.graph.marked == {0}


def test_the_frame_holds_everything():
    picture = picture_of(*kdb(16, 2))
    left, top, width, height = picture.frame
    for box in picture.boxes:
        assert left < box.x - box.width / 2 < box.x + box.width / 2 < left + width
        assert top < box.y - BOX_HEIGHT / 2 < box.baseline < box.y + BOX_HEIGHT / 2 < top + height
    points = [point for arrow in picture.edges for step in arrow.steps for point in step]
    assert all(left < x < left + width and top < y < top + height for x, y in points)


@pytest.mark.parametrize("network", [naive_bayes(250), tan(250), kdb(250, 2), kdb(250, 3)])
def test_250_features_are_laid_out(network):
    assert len(set(layout(*network).values())) == 251
