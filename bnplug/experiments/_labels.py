"""Names beside the points of a picture, put where they hide neither each other nor a point."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from bnplug.show.palette import INK, PALE
from bnplug.typing import FloatArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Where a name may stand, best first: a step to the right and up, and how many points of type it is away.
_SIDES = ((1, 1), (-1, 1), (1, -1), (-1, -1), (1, 0), (-1, 0), (0, 1), (0, -1))
_AWAY = (4.0, 12.0, 24.0, 40.0)
# Half of the width of a point.
_MARK = 4.0
_FONT = 8
_LINE = {"arrowstyle": "-", "color": PALE, "linewidth": 0.8, "shrinkA": 0, "shrinkB": 2}


def label_points(ax: Axes, names: Sequence[str], points: FloatArray) -> None:
    """Write a name beside each point, with a line to it where the name is not next to it.

    Limits, scales and other texts of the axes must be there before: they decide where there is room.

    Parameters
    ----------
    ax : Axes
    names : sequence of str
    points : array [names, 2]
        In the units of the axes.
    """
    from matplotlib.figure import Figure

    figure = ax.get_figure()
    assert isinstance(figure, Figure)
    # The axes have no place on the figure before.
    figure.draw_without_rendering()
    dots = 72 / figure.dpi
    places = dots * ax.transData.transform(points)
    room, *taken = (dots * np.array(part.get_window_extent().extents) for part in (ax, *ax.texts))
    texts = _join(names, places)
    sizes = dots * np.array([_size(ax, text) for text in texts.values()]).reshape(-1, 2)
    centres = place_labels(places[list(texts)], sizes, room, taken)
    for (number, text), centre, size in zip(texts.items(), centres, sizes, strict=True):
        offset = centre - places[number]
        near = np.all(np.abs(offset) < size / 2 + (_AWAY[0] + _AWAY[1]) / 2)
        ax.annotate(
            text, tuple(points[number]), tuple(offset), textcoords="offset points", ha="center", va="center",
            fontsize=_FONT, color=INK, parse_math=False, in_layout=False, arrowprops=None if near else _LINE,
        )  # fmt: skip


def place_labels(points: FloatArray, sizes: FloatArray, room: FloatArray, taken: Sequence[FloatArray]) -> FloatArray:
    """Return the centres of boxes beside points, chosen one by one, the most crowded points first.

    Parameters
    ----------
    points : array [n, 2]
        In points of type, as everything else here.
    sizes : array [n, 2]
        Widths and heights of the boxes.
    room : array [4]
        Left, bottom, right and top of the box that they are to stay in.
    taken : sequence of arrays [4]
        Boxes that they are to keep clear of.

    Returns
    -------
    array [n, 2]

    Examples
    --------
    >>> points, sizes = np.array([[50.0, 50.0], [55.0, 50.0]]), np.full((2, 2), 10.0)
    >>> place_labels(points, sizes, np.array([0.0, 0.0, 100.0, 100.0]), []).tolist()
    [[59.0, 59.0], [46.0, 59.0]]
    """
    marks = np.hstack([points - _MARK, points + _MARK])
    boxes, centres = list(taken), np.empty_like(points)
    distances = np.abs(points[:, None] - points[None]).max(axis=2)
    for i in np.argsort(-(distances < 2 * sizes.max(initial=0.0)).sum(axis=1), kind="stable"):
        found = points[i] + np.array([np.multiply(side, sizes[i] / 2 + away) for away in _AWAY for side in _SIDES])
        options = np.hstack([found - sizes[i] / 2, found + sizes[i] / 2])
        hidden = _overlap(options, marks) + (_overlap(options, np.array(boxes)) if boxes else 0.0)
        outside = sizes[i].prod() - _overlap(options, room[None])
        best = int(np.argmin(np.round(hidden + outside, 6)))
        centres[i] = found[best]
        boxes.append(options[best])
    return centres


def _overlap(options: FloatArray, boxes: FloatArray) -> FloatArray:
    """Return the area that each of some boxes shares with others, added up."""
    low = np.maximum(options[:, None, :2], boxes[None, :, :2])
    high = np.minimum(options[:, None, 2:], boxes[None, :, 2:])
    area: FloatArray = np.clip(high - low, 0.0, None).prod(axis=2).sum(axis=1)
    return area


def _join(names: Sequence[str], places: FloatArray) -> dict[int, str]:
    """Return the texts to write by the number of their point: names of points in one place are joined."""
    found: dict[int, list[str]] = {}
    for number, name in enumerate(names):
        same = (first for first in found if np.abs(places[first] - places[number]).max() < 1.0)
        found.setdefault(next(same, number), []).append(name)
    return {number: ", ".join(own) for number, own in found.items()}


def _size(ax: Axes, text: str) -> FloatArray:
    drawn = ax.text(0, 0, text, fontsize=_FONT, parse_math=False)
    size = np.array(drawn.get_window_extent().size)
    drawn.remove()
    return size
