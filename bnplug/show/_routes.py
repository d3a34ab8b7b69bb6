"""The arrows of a picture: they run in the gaps between the boxes.

Where the class has many children, its edges share rails between the rows.
"""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass

from bnplug.show._graph import CheckedGraph
from bnplug.show._rows import LANE_SPACE, Sheet

Point = tuple[float, float]
Line = tuple[Point, Point]
#: The space around the whole.
MARGIN = 16.0
_PORT_SPACE = 14.0
_RAIL_HEIGHT = 20.0
_HEAD_LENGTH, _HEAD_WIDTH = 8.0, 6.4
# The run per fall at which an arrow head still stands clear of the box that it points at.
_FLATTEST = 1.6


@dataclass(frozen=True)
class Arrow:
    """A line from parent to child: a start, then steps of one point (straight) or three (a cubic curve)."""

    parent: int
    child: int
    start: Point
    steps: list[tuple[Point, ...]]

    def head(self) -> list[Point]:
        """The arrow head: its tip, then its base from left to right, the middle included."""
        *_, before, (x, y) = (self.start, *(point for step in self.steps for point in step))
        length = math.dist(before, (x, y))
        dx, dy = (x - before[0]) / length, (y - before[1]) / length
        base = (x - _HEAD_LENGTH * dx, y - _HEAD_LENGTH * dy)
        return [
            (x, y),
            *((base[0] + side * dy, base[1] - side * dx) for side in (-_HEAD_WIDTH / 2, 0.0, _HEAD_WIDTH / 2)),
        ]

    def shaft(self) -> list[tuple[Point, ...]]:
        """The steps as far as the base of the head."""
        return [*self.steps[:-1], (*self.steps[-1][:-1], self.head()[2])]


def routes_of(graph: CheckedGraph, sheet: Sheet) -> tuple[list[Arrow], list[Line]]:
    """All edges, and the rails that those of the class share where straight ones would run through boxes."""
    target = graph.target
    in_lanes = {chain[-1] for chain in sheet.chains if chain[0] == target}
    children = [child for child in graph.children[target] if child not in in_lanes]
    if all(_is_clear(sheet, target, child) for child in children):
        return _routed(sheet, [*sheet.chains, *([target, child] for child in children)]), []
    drops, rails = _railed(graph, sheet, children)
    return drops + _routed(sheet, sheet.chains), rails


def _is_clear(sheet: Sheet, parent: int, child: int) -> bool:
    """Whether the straight line from parent to child meets nothing in the rows between."""
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
    """Arrows that stay in the gaps between the rows and in their own lanes."""
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
    """Where each chain meets its first (0) or last (-1) box: spread along the border, so that none merge."""
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
    """The step from one row to the next: upright where it meets a lane, and steep where its head meets a box."""
    (x0, y0), (x1, y1) = start, end
    dx, dy = 0.35 * (x1 - x0), 0.35 * (y1 - y0)
    arrival = max(-_FLATTEST * dy, min(_FLATTEST * dy, dx)) if to_box else 0.0
    if from_box and arrival == dx:
        return (end,)
    return (x0 + from_box * dx, y0 + dy), (x1 - arrival, y1 - dy), end


def _railed(graph: CheckedGraph, sheet: Sheet, children: list[int]) -> tuple[list[Arrow], list[Line]]:
    """Drops from a rail above each row; a trunk on the left joins the rails, a stem leads to the class."""
    target, stem = graph.target, sheet.x[graph.target]
    trunk = min(map(sheet.left, sheet.x)) - MARGIN
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
