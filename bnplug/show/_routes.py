"""The picture of a graph: labels of boxes, and arrows or shared rails that run in the gaps between the rows."""

from __future__ import annotations

import math
import unicodedata
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from bnplug.html._kit import xml_text
from bnplug.show._sheet import BOX_HEIGHT, LANE_SPACE, CheckedGraph, Sheet, checked_graph, sheet_of

Point = tuple[float, float]
Line = tuple[Point, Point]
#: Lengths are CSS pixels, 96 to the inch.
FONT_SIZE = 13.0
# The space around the picture.
_MARGIN = 16.0
_LONGEST_LABEL, _PADDING = 190.0, 10.0
_PORT_SPACE = 14.0
_RAIL_HEIGHT = 20.0
_HEAD_LENGTH, _HEAD_WIDTH = 8.0, 6.4
# The horizontal run per vertical drop at which an arrow head still clears the box that it points at.
_FLATTEST = 1.6


def text_width(text: str) -> float:
    """Estimate the width of a text in bold DejaVu Sans, the widest font that a label may have."""
    ems = 0.0
    for letter in text:
        if unicodedata.east_asian_width(letter) in "WF":
            ems += 1.0
        elif letter in "ijlftrI .,:;'|!()[]{}/\\-":
            ems += 0.43
        elif letter in "mwMW@%":
            ems += 1.03
        elif not unicodedata.combining(letter):
            ems += 0.8 if letter.isupper() else 0.67
    return ems * FONT_SIZE


def label_of(name: str) -> str:
    """Return a name on one line, cut if it is too long for a box."""
    label = xml_text(" ".join(name.split()))
    if text_width(label) <= _LONGEST_LABEL:
        return label
    while text_width(label + "…") > _LONGEST_LABEL:
        label = label[:-1]
    return label.rstrip() + "…"


@dataclass(frozen=True)
class Arrow:
    """A line from parent to child: a start, then steps of one point (straight) or three (a cubic curve)."""

    parent: int
    child: int
    start: Point
    steps: list[tuple[Point, ...]]

    def head(self) -> list[Point]:
        """Return the arrow head: its tip, then its base from left to right, including the middle."""
        *_, before, (x, y) = (self.start, *(point for step in self.steps for point in step))
        length = math.dist(before, (x, y))
        dx, dy = (x - before[0]) / length, (y - before[1]) / length
        base = (x - _HEAD_LENGTH * dx, y - _HEAD_LENGTH * dy)
        return [
            (x, y),
            *((base[0] + side * dy, base[1] - side * dx) for side in (-_HEAD_WIDTH / 2, 0.0, _HEAD_WIDTH / 2)),
        ]

    def shaft(self) -> list[tuple[Point, ...]]:
        """Return the steps up to the base of the head."""
        return [*self.steps[:-1], (*self.steps[-1][:-1], self.head()[2])]


def routes_of(graph: CheckedGraph, sheet: Sheet) -> tuple[list[Arrow], list[Line]]:
    """Return all edges, and the rails that edges of the class share if straight lines would run through boxes."""
    target = graph.target
    in_lanes = {chain[-1] for chain in sheet.chains if chain[0] == target}
    children = [child for child in graph.children[target] if child not in in_lanes]
    if all(_is_clear(sheet, target, child) for child in children):
        return _routed(sheet, [*sheet.chains, *([target, child] for child in children)]), []
    drops, rails = _railed(graph, sheet, children)
    return drops + _routed(sheet, sheet.chains), rails


def _is_clear(sheet: Sheet, parent: int, child: int) -> bool:
    """Return whether the straight line from parent to child crosses no box or lane in between."""
    (x0, y0), (x1, y1) = (sheet.x[parent], sheet.bottom(parent)), (sheet.x[child], sheet.top(child))
    if sheet.rank[child] > sheet.rank[parent] + 1 and abs(x1 - x0) > _FLATTEST * (y1 - y0):
        return False
    for row in range(sheet.rank[parent] + 1, sheet.rank[child]):
        at = [x0 + (x1 - x0) * (y - y0) / (y1 - y0) for y in (sheet.tops[row], sheet.row_bottom(row))]
        nearest, furthest = min(at) - LANE_SPACE, max(at) + LANE_SPACE
        if any(sheet.left(other) < furthest and nearest < sheet.right(other) for other in sheet.rows[row]):
            return False
    return True


def _routed(sheet: Sheet, chains: list[list[int]]) -> list[Arrow]:
    """Return arrows that stay in the gaps between the rows and in their lanes."""
    edges = []
    for chain, leave, arrive in zip(chains, _ports(sheet, chains, 0), _ports(sheet, chains, -1), strict=True):
        parent, *lanes, child = chain
        start = at = (leave, sheet.bottom(parent))
        tip = (arrive, sheet.top(child))
        steps: list[tuple[Point, ...]] = []
        if at[1] < sheet.row_bottom(sheet.rank[parent]):  # past the higher boxes beside it
            at = (leave, sheet.row_bottom(sheet.rank[parent]))
            steps.append((at,))
        for number, lane in enumerate(lanes):
            steps.append(_bend(at, (sheet.x[lane], sheet.top(lane)), number == 0, False))
            at = (sheet.x[lane], sheet.bottom(lane))
            steps.append((at,))
        skips_rows = not lanes and sheet.rank[child] > sheet.rank[parent] + 1
        steps.append((tip,) if skips_rows else _bend(at, tip, not lanes, True))
        edges.append(Arrow(parent, child, start, steps))
    return edges


def _ports(sheet: Sheet, chains: list[list[int]], end: int) -> list[float]:
    """Return where each chain meets its first (0) or last (-1) box, spread along the border."""
    fans = defaultdict(list)
    for number, chain in enumerate(chains):
        fans[chain[end]].append((sheet.x[chain[-2 if end else 1]], number))
    ports = [0.0] * len(chains)
    for node, fan in fans.items():
        step = min(_PORT_SPACE, 0.5 * sheet.widths[node] / len(fan))
        for place, (_, number) in enumerate(sorted(fan)):
            ports[number] = sheet.x[node] + (place - (len(fan) - 1) / 2) * step
    return ports


def _bend(start: Point, end: Point, from_box: bool, to_box: bool) -> tuple[Point, ...]:
    """Return the step from one row to the next: vertical at a lane, and steep at the box that its head meets."""
    (x0, y0), (x1, y1) = start, end
    dx, dy = 0.35 * (x1 - x0), 0.35 * (y1 - y0)
    arrival = max(-_FLATTEST * dy, min(_FLATTEST * dy, dx)) if to_box else 0.0
    if from_box and arrival == dx:
        return (end,)
    return (x0 + from_box * dx, y0 + dy), (x1 - arrival, y1 - dy), end


def _railed(graph: CheckedGraph, sheet: Sheet, children: list[int]) -> tuple[list[Arrow], list[Line]]:
    """Return drops from a rail above each row; a trunk on the left joins the rails, a stem leads to the class."""
    target, stem = graph.target, sheet.x[graph.target]
    trunk = min(map(sheet.left, sheet.x)) - _MARGIN
    first = sheet.rank[target] + 1
    drops = []
    reach: dict[int, list[float]] = defaultdict(list, {first: [stem, trunk]})
    for child in children:
        aside = 0.36 * sheet.widths[child] if len(graph.parents[child]) > 1 else 0.0
        x, y = sheet.x[child] - aside, sheet.top(child)
        drops.append(Arrow(target, child, (x, y - _RAIL_HEIGHT), [((x, y),)]))
        reach[sheet.rank[child]] += [x, trunk]
    heights = {row: sheet.tops[row] - _RAIL_HEIGHT for row in reach}
    rails = [((min(xs), heights[row]), (max(xs), heights[row])) for row, xs in reach.items()]
    rails.append(((stem, sheet.bottom(target)), (stem, heights[first])))
    return drops, [*rails, ((trunk, heights[first]), (trunk, max(heights.values())))]


@dataclass(frozen=True)
class Box:
    """The box of a node: its center, and the label that fits into it."""

    node: int
    label: str
    x: float
    y: float
    width: float

    @property
    def baseline(self) -> float:
        """The baseline of the label."""
        return self.y + 0.35 * FONT_SIZE


@dataclass(frozen=True)
class Picture:
    """All elements to draw, with y pointing down; edges of the class come first."""

    graph: CheckedGraph
    boxes: list[Box]
    edges: list[Arrow]
    rails: list[Line]
    frame: tuple[float, float, float, float]


def frame_of(sheet: Sheet, arrows: list[Arrow], rails: list[Line]) -> tuple[float, float, float, float]:
    """Return the left, top, width and height of a picture, including margins."""
    boxes = range(len(sheet.heights))
    xs = [x for box in boxes for x in (sheet.left(box), sheet.right(box))]
    xs += [x for arrow in arrows for step in arrow.steps for x, _ in step] + [x for rail in rails for x, _ in rail]
    left, top = min(xs) - _MARGIN, -_MARGIN
    return left, top, max(xs) + _MARGIN - left, max(map(sheet.bottom, boxes)) + _MARGIN - top


def picture_of(
    names: Sequence[str], edges: Iterable[tuple[str, str]], target: str, marked: Collection[str] = ()
) -> Picture:
    """Return the picture of a classifier's graph; the same graph always has the same picture."""
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
    return Picture(graph, boxes, arrows, rails, frame_of(sheet, arrows, rails))


def svg_number(length: float) -> str:
    return f"{length:.1f}".removesuffix(".0")


def svg_path(start: Point, steps: Iterable[Sequence[Point]], left: float = 0.0, top: float = 0.0) -> str:
    """Return a line as an SVG path, moved to the left and up."""

    def points(step: Sequence[Point]) -> str:
        return " ".join(f"{svg_number(x - left)},{svg_number(y - top)}" for x, y in step)

    return f"M{points([start])}" + "".join(("L" if len(step) == 1 else "C") + points(step) for step in steps)
