"""Names beside points: next to them where there is room, and not on each other."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.text import Text

from bnplug.experiments import pictures
from bnplug.show.drawing import new_axes

ROOM = np.array([0.0, 0.0, 300.0, 300.0])


def boxes(centres, sizes):
    return np.hstack([centres - sizes / 2, centres + sizes / 2])


def shared(first, second):
    low, high = np.maximum(first[:2], second[:2]), np.minimum(first[2:], second[2:])
    return float(np.clip(high - low, 0, None).prod())


def test_a_name_alone_stands_above_and_to_the_right():
    (centre,) = pictures._place_labels(np.array([[100.0, 100.0]]), np.array([[40.0, 10.0]]), ROOM, [])
    assert centre.tolist() == [124.0, 109.0]


def test_a_name_stays_inside_and_off_what_is_taken():
    point, size = np.array([[290.0, 100.0]]), np.array([[40.0, 10.0]])
    (inside,) = pictures._place_labels(point, size, ROOM, [])
    assert inside.tolist() == [266.0, 109.0]
    (beside,) = pictures._place_labels(point, size, ROOM, [np.array([200.0, 101.0, 300.0, 300.0])])
    assert beside.tolist() == [266.0, 91.0]


@given(st.lists(st.tuples(st.integers(2, 8), st.integers(2, 8)), min_size=2, max_size=12, unique=True))
def test_where_points_are_apart_names_hide_nothing(places):
    points, sizes = 30.0 * np.array(places), np.full((len(places), 2), 12.0)
    found = boxes(pictures._place_labels(points, sizes, ROOM, []), sizes)
    marks = boxes(points, np.full_like(points, 8.0))
    for i, one in enumerate(found):
        assert all(shared(one, other) == 0 for j, other in enumerate(found) if i != j)
        assert all(shared(one, mark) == 0 for mark in marks)


def drawn(names, points):
    ax = new_axes((4, 4))
    ax.set(xlim=(0, 1), ylim=(0, 1))
    pictures._label_points(ax, names, np.array(points, dtype=float).reshape(-1, 2))
    ax.get_figure().draw_without_rendering()
    return ax


def test_crowded_names_do_not_overlap_once_drawn():
    points = [(0.5 + 0.01 * i, 0.5 + 0.01 * (i % 2)) for i in range(6)]
    texts = drawn([f"data set {i}" for i in range(6)], points).texts
    # Without the lines: an annotation's own extent has them too.
    extents = [np.array(Text.get_window_extent(text).extents) for text in texts]
    assert len(extents) == 6
    assert not any(shared(a, b) for i, a in enumerate(extents) for b in extents[:i])
    assert any(text.arrow_patch is not None for text in texts)


def test_points_in_one_place_share_a_line():
    ax = drawn(["pima", "iris", "diabetes"], [(0.2, 0.2), (0.8, 0.8), (0.2, 0.2)])
    assert [text.get_text() for text in ax.texts] == ["pima, diabetes", "iris"]


def test_without_points_nothing_is_written():
    assert not drawn([], []).texts
