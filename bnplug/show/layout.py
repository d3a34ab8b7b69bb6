"""Where the nodes and edges of a picture stand: boxes in rows, parents above children, arrows in the gaps between."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from bnplug.show._graph import CheckedGraph, checked_graph
from bnplug.show._labels import FONT_SIZE, label_of, text_width
from bnplug.show._routes import MARGIN, Arrow, Line, Point, routes_of
from bnplug.show._rows import BOX_HEIGHT, sheet_of

__all__ = ["Arrow", "Box", "Picture", "Point", "layout", "picture_of"]

_PADDING = 10.0


def layout(names: Sequence[str], edges: Iterable[tuple[str, str]], target: str) -> dict[str, Point]:
    """Place the nodes of a classifier's graph in rows, parents above children.

    Parameters
    ----------
    names : sequence of str
        The nodes, in the order of the table.
    edges : iterable of (parent, child)
        The edges, as pairs of names.
    target : str
        The name of the class.

    Returns
    -------
    dict of str to (x, y)
        The centre of each node's box in pixels, y downwards, in the order of `names`. The same graph
        is always laid out in the same way.

    Examples
    --------
    >>> places = layout(["a", "b", "y"], [("y", "a"), ("y", "b"), ("a", "b")], "y")
    >>> places["y"][1] < places["a"][1] < places["b"][1]
    True
    """
    return {names[box.node]: (box.x, box.y) for box in picture_of(names, edges, target).boxes}


@dataclass(frozen=True)
class Box:
    """A node's place: the centre of its box, and the label that fits into it."""

    node: int
    label: str
    x: float
    y: float
    width: float

    @property
    def baseline(self) -> float:
        """Where the letters of the label stand."""
        return self.y + 0.35 * FONT_SIZE


@dataclass(frozen=True)
class Picture:
    """Everything there is to draw, y downwards, the edges of the class before the others."""

    graph: CheckedGraph
    boxes: list[Box]
    edges: list[Arrow]
    rails: list[Line]

    def frame(self) -> tuple[float, float, float, float]:
        """Left, top, width and height of the whole, margins included."""
        xs = [box.x + side * box.width / 2 for box in self.boxes for side in (-1, 1)]
        xs += [x for edge in self.edges for step in edge.steps for x, _ in step]
        xs += [x for rail in self.rails for x, _ in rail]
        ys = [box.y + side * BOX_HEIGHT / 2 for box in self.boxes for side in (-1, 1)]
        left, top = min(xs) - MARGIN, min(ys) - MARGIN
        return left, top, max(xs) + MARGIN - left, max(ys) + MARGIN - top


def picture_of(
    names: Sequence[str], edges: Iterable[tuple[str, str]], target: str, marked: Collection[str] = ()
) -> Picture:
    """Return where everything stands in the picture of a classifier's graph; arguments as for :func:`layout`.

    Parameters
    ----------
    names, edges, target
        As for :func:`layout`.
    marked : collection of str
        Nodes to highlight.
    """
    graph = checked_graph(names, edges, target, marked)
    labels = [label_of(name) for name in graph.names]
    widths = [max(text_width(label), FONT_SIZE) + 2 * _PADDING for label in labels]
    sheet = sheet_of(graph, widths)
    boxes = [
        Box(node, label, sheet.x[node], sheet.top(node) + BOX_HEIGHT / 2, widths[node])
        for node, label in enumerate(labels)
    ]
    arrows, rails = routes_of(graph, sheet)
    arrows.sort(key=lambda arrow: arrow.parent != graph.target)
    return Picture(graph, boxes, arrows, rails)
