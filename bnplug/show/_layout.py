"""Where the nodes and edges of a picture stand: rows, places along the rows, and routes between the boxes.

Parents stand above children, and edges between features run in the gaps between the boxes. ``fast-sugiyama``
orders each row so that few edges cross; rows, places and routes are found here. Where the class has many
children, its edges share rails between the rows.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise

from fast_sugiyama import from_edges

Point = tuple[float, float]
Line = tuple[Point, Point]
Link = tuple[int, int]
# Lengths are CSS pixels, 96 to the inch.
FONT_SIZE = 13.0
BOX_HEIGHT, CORNER = 30.0, 6.0
_PADDING = 10.0
_LONGEST_LABEL = 190.0
_BOX_SPACE, _LANE_SPACE, _PORT_SPACE = 18.0, 11.0, 14.0
_SMALLEST_GAP, _LARGEST_GAP = 46.0, 110.0
_RAIL_HEIGHT = 20.0
_MARGIN = 16.0
_HEAD_LENGTH, _HEAD_WIDTH = 8.0, 6.4
# The run per fall at which an arrow head still stands clear of the box that it points at.
_FLATTEST = 1.6
_ROW_WIDTH, _ASPECT = 900.0, 1.7
# A class with more children than this would dominate the ordering of the rows, and is left out of it.
_MOST_CLASS_LANES = 8
# Ordering slows down with the lanes of long edges: past this many, the longest edges run straight.
_MOST_LANES = 1200
_SWEEPS = 30
# The pull of a vertex to the middle, and of edges with none, one and two ends in a lane.
_GRAVITY, _PULLS = 0.001, (1.0, 2.0, 32.0)
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass(frozen=True)
class Network:
    """A checked graph; nodes are positions in ``names``, and ``order`` has parents before children."""

    names: tuple[str, ...]
    edges: tuple[Link, ...]
    target: int
    marked: frozenset[int]
    order: tuple[int, ...]

    @cached_property
    def parents(self) -> list[list[int]]:
        parents: list[list[int]] = [[] for _ in self.names]
        for parent, child in self.edges:
            parents[child].append(parent)
        return parents

    @cached_property
    def children(self) -> list[list[int]]:
        children: list[list[int]] = [[] for _ in self.names]
        for parent, child in self.edges:
            children[parent].append(child)
        return children


def checked_network(
    names: Sequence[str], edges: Iterable[tuple[str, str]], target: str, marked: Collection[str] = ()
) -> Network:
    number = {name: node for node, name in enumerate(names)}
    if len(number) < len(names):
        twice = next(name for node, name in enumerate(names) if number[name] != node)
        raise ValueError(f"two nodes are named {twice!r}: rename one of them")
    edges = list(edges)
    for role, used in (("target", [target]), ("edges", [end for edge in edges for end in edge]), ("marked", marked)):
        for name in used:
            if name not in number:
                raise ValueError(f"{role}: {name!r} is not one of the nodes {list(names)}")
    links = tuple(sorted({(number[parent], number[child]) for parent, child in edges}))
    sorter = TopologicalSorter[int](dict.fromkeys(range(len(names)), ()))
    for parent, child in links:
        sorter.add(child, parent)
    try:
        order = tuple(sorter.static_order())
    except CycleError as error:
        cycle = " -> ".join(names[node] for node in error.args[1])
        raise ValueError(f"a Bayesian network has no cycle, but the edges have one: {cycle}") from None
    return Network(tuple(names), links, number[target], frozenset(number[name] for name in marked), order)


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
        return self.y + 0.35 * FONT_SIZE


@dataclass(frozen=True)
class Edge:
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


@dataclass(frozen=True)
class Picture:
    """Everything there is to draw, y downwards, the edges of the class before the others."""

    network: Network
    boxes: list[Box]
    edges: list[Edge]
    rails: list[Line]

    def frame(self) -> tuple[float, float, float, float]:
        """Left, top, width and height of the whole, margins included."""
        xs = [box.x + side * box.width / 2 for box in self.boxes for side in (-1, 1)]
        xs += [x for edge in self.edges for step in edge.steps for x, _ in step]
        xs += [x for rail in self.rails for x, _ in rail]
        ys = [box.y + side * BOX_HEIGHT / 2 for box in self.boxes for side in (-1, 1)]
        left, top = min(xs) - _MARGIN, min(ys) - _MARGIN
        return left, top, max(xs) + _MARGIN - left, max(ys) + _MARGIN - top


def picture_of(network: Network) -> Picture:
    labels = [_label(name) for name in network.names]
    widths = [max(_text_width(label), FONT_SIZE) + 2 * _PADDING for label in labels]
    sheet = _sheet(network, widths)
    boxes = [
        Box(node, label, sheet.x[node], sheet.top(node) + BOX_HEIGHT / 2, widths[node])
        for node, label in enumerate(labels)
    ]
    edges, rails = _routes(network, sheet)
    edges.sort(key=lambda edge: edge.parent != network.target)
    return Picture(network, boxes, edges, rails)


def _text_width(text: str) -> float:
    """About the width of `text` in bold DejaVu Sans, the widest face that a label may be set in."""
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


def printable(text: str) -> str:
    return _NOT_XML.sub("\ufffd", text)


def _label(name: str) -> str:
    label = printable(" ".join(name.split()))
    if _text_width(label) <= _LONGEST_LABEL:
        return label
    while _text_width(label + "…") > _LONGEST_LABEL:
        label = label[:-1]
    return label.rstrip() + "…"


@dataclass
class _Sheet:
    """Where everything stands. Vertices are nodes, then lanes: the places of rows that a long edge passes.

    A chain is an edge as the vertices that it visits, one in each row; without lanes it may skip rows.
    """

    widths: list[float]
    rank: dict[int, int]
    chains: list[list[int]]
    rows: list[list[int]]
    x: dict[int, float]
    tops: list[float]

    def top(self, vertex: int) -> float:
        return self.tops[self.rank[vertex]]

    def bottom(self, vertex: int) -> float:
        return self.top(vertex) + BOX_HEIGHT

    def left(self, vertex: int) -> float:
        return self.x[vertex] - self.widths[vertex] / 2

    def right(self, vertex: int) -> float:
        return self.x[vertex] + self.widths[vertex] / 2

    def links(self) -> list[Link]:
        return [link for chain in self.chains for link in pairwise(chain)]


def _sheet(network: Network, widths: list[float]) -> _Sheet:
    area = sum(width + _BOX_SPACE for width in widths) * (BOX_HEIGHT + _SMALLEST_GAP)
    limit = max(_ROW_WIDTH, math.sqrt(_ASPECT * area))
    target, class_children = network.target, network.children[network.target]
    shaping = [edge for edge in network.edges if edge[0] != target]
    if shaping and len(class_children) <= _MOST_CLASS_LANES:
        shaping = list(network.edges)
    layered = {target, *(end for edge in shaping for end in edge)}
    rank = _ranks(network, layered, widths, limit)
    chains = _chains(shaping, rank, len(widths))
    n_lanes = len(rank) - len(layered)
    sheet = _Sheet(widths + [0.0] * n_lanes, rank, chains, _ordered(rank, chains), {}, [])
    _place(sheet, len(widths))
    loose = [node for node in range(len(widths)) if node not in layered]
    _add_grid(sheet, [node for node in loose if node in class_children], limit)
    _add_grid(sheet, [node for node in loose if node not in class_children], limit)
    is_fan = all(rank[child] == rank[target] + 1 for child in class_children)
    _stack(sheet, sheet.links() + [(target, child) for child in class_children if is_fan])
    return sheet


def _ranks(network: Network, layered: set[int], widths: list[float], limit: float) -> dict[int, int]:
    """The row of each layered node: the first with room below its parents, for the tallest nodes first."""
    target, n_nodes = network.target, len(widths)
    above = [layered.intersection(parents) for parents in network.parents]
    below = [layered.intersection(children) for children in network.children]
    height = [0] * n_nodes
    for node in reversed(network.order):
        height[node] = 1 + max((height[child] for child in below[node]), default=0)
    if not above[target]:  # it stands on top, alone
        above = [parents or {target} - {node} for node, parents in enumerate(above)]
        height[target] = n_nodes + 1
    order = sorted(layered, key=lambda node: (-height[node], node))
    rank: dict[int, int] = {}
    used: dict[int, float] = defaultdict(float)
    for node in order:
        row = 1 + max((rank[parent] for parent in above[node]), default=-1)
        while used[row] and used[row] + widths[node] > limit:
            row += 1
        rank[node] = row
        used[row] += widths[node] + _BOX_SPACE
    for node in reversed(order):  # nearer to its children, if that shortens more edges than it lengthens
        row = min((rank[child] for child in below[node]), default=0) - 1
        if node != target and row > rank[node] and len(below[node]) > len(above[node]):
            rank[node] = row
    numbers = {row: number for number, row in enumerate(sorted(set(rank.values())))}
    return {node: numbers[row] for node, row in rank.items()}


def _chains(shaping: list[Link], rank: dict[int, int], n_nodes: int) -> list[list[int]]:
    """Give each edge a lane in every row that it passes, short edges first, and the lanes their rows."""
    chains = []
    lane = n_nodes
    for parent, child in sorted(shaping, key=lambda edge: (rank[edge[1]] - rank[edge[0]], edge)):
        lanes = range(lane, lane + rank[child] - rank[parent] - 1)
        if lanes.stop - n_nodes > _MOST_LANES:
            lanes = range(0)
        rank.update((vertex, rank[parent] + 1 + vertex - lane) for vertex in lanes)
        lane += len(lanes)
        chains.append([parent, *lanes, child])
    return chains


def _ordered(rank: dict[int, int], chains: list[list[int]]) -> list[list[int]]:
    """The rows, each in an order that lets few edges cross; unconnected parts stand side by side."""
    steps = [link for chain in _in_turn(rank, chains) for link in pairwise(chain)]
    steps = [(upper, lower) for upper, lower in steps if rank[lower] == rank[upper] + 1]
    parts = [dict(places) for places, *_ in from_edges(steps, ranking_type="minimize")]
    place = {
        vertex: (part, x) for part, places in enumerate(sorted(parts, key=min)) for vertex, (x, _) in places.items()
    }
    rows: list[list[int]] = [[] for _ in range(1 + max(rank.values()))]
    for vertex in sorted(rank, key=lambda vertex: (*place.get(vertex, (len(parts), 0.0)), vertex)):
        rows[rank[vertex]].append(vertex)
    return rows


def _in_turn(rank: dict[int, int], chains: list[list[int]]) -> list[list[int]]:
    """The chains as the ordering should see them, since it breaks ties by what it sees last.

    The children of a parent go in the order of the table, those of different rows in turn.
    """
    siblings: dict[Link, list[int]] = defaultdict(list)
    for parent, child in sorted((chain[0], chain[-1]) for chain in chains):
        siblings[parent, rank[child]].append(child)
    turn = {
        (parent, child): (parent, (place + 0.5) / len(children), row)
        for (parent, row), children in siblings.items()
        for place, child in enumerate(children)
    }
    return sorted(chains, key=lambda chain: turn[chain[0], chain[-1]], reverse=True)


def _place(sheet: _Sheet, n_nodes: int) -> None:
    """Give every vertex its x: rows move in turn to where their edges are straightest, down and up again."""
    pulls: dict[int, list[tuple[int, float]]] = defaultdict(list)
    for upper, lower in sheet.links():
        pull = _PULLS[(upper >= n_nodes) + (lower >= n_nodes)]
        pulls[upper].append((lower, pull))
        pulls[lower].append((upper, pull))
    weight = {vertex: _GRAVITY + sum(pull for _, pull in pulls[vertex]) for vertex in sheet.rank}
    packed = []
    for row in sheet.rows:
        places = _packed(row, sheet.widths, n_nodes)
        packed.append((row, places))
        sheet.x.update((vertex, place - places[-1] / 2) for vertex, place in zip(row, places, strict=True))
    for sweep in range(_SWEEPS):
        for row, places in packed[:: -1 if sweep % 2 else 1]:
            wishes = [
                sum(pull * sheet.x[other] for other, pull in pulls[vertex]) / weight[vertex] - place
                for vertex, place in zip(row, places, strict=True)
            ]
            shifts = _isotonic(wishes, [weight[vertex] for vertex in row])
            sheet.x.update((vertex, place + shift) for vertex, place, shift in zip(row, places, shifts, strict=True))
    middle = (min(map(sheet.left, sheet.x)) + max(map(sheet.right, sheet.x))) / 2
    sheet.x = {vertex: x - middle if pulls[vertex] else 0.0 for vertex, x in sheet.x.items()}


def _packed(row: list[int], widths: list[float], n_nodes: int) -> list[float]:
    """The centres of a row's vertices when they stand as close as they may, the first at 0."""
    places = [0.0]
    for left, right in pairwise(row):
        space = _BOX_SPACE if max(left, right) < n_nodes else _LANE_SPACE
        places.append(places[-1] + (widths[left] + widths[right]) / 2 + space)
    return places


def _isotonic(values: list[float], weights: list[float]) -> list[float]:
    """The non-decreasing sequence nearest to `values` in weighted squares, by pooling adjacent violators."""
    pools: list[tuple[float, float, int]] = []
    for value, weight in zip(values, weights, strict=True):
        size = 1
        while pools and pools[-1][0] >= value:
            mean, mass, length = pools.pop()
            value = (mean * mass + value * weight) / (mass + weight)
            weight, size = mass + weight, size + length
        pools.append((value, weight, size))
    return [value for value, _, size in pools for _ in range(size)]


def _add_grid(sheet: _Sheet, nodes: list[int], limit: float) -> None:
    """Add rows that hold `nodes` in aligned columns, as many columns as the width allows."""
    for n_rows in range(1, len(nodes) + 1):
        n_columns = math.ceil(len(nodes) / n_rows)
        widths = [max(sheet.widths[node] for node in nodes[i::n_columns]) for i in range(n_columns)]
        total = sum(widths) + _BOX_SPACE * (n_columns - 1)
        if total <= limit or n_columns == 1:
            break
    for start in range(0, len(nodes), n_columns if nodes else 1):
        row = nodes[start : start + n_columns]
        left = -total / 2
        for node, width in zip(row, widths, strict=False):
            sheet.x[node] = left + width / 2
            sheet.rank[node] = len(sheet.rows)
            left += width + _BOX_SPACE
        sheet.rows.append(row)


def _stack(sheet: _Sheet, links: list[Link]) -> None:
    """Set the rows' heights: further apart where an edge between neighbouring rows runs far sideways."""
    reach = [0.0] * len(sheet.rows)
    for upper, lower in links:
        row = sheet.rank[lower]
        if row == sheet.rank[upper] + 1:
            reach[row] = max(reach[row], abs(sheet.x[upper] - sheet.x[lower]))
    sheet.tops.append(0.0)
    for sideways in reach[1:]:
        gap = min(_LARGEST_GAP, max(_SMALLEST_GAP, 0.27 * sideways))
        sheet.tops.append(sheet.tops[-1] + BOX_HEIGHT + gap)


def _routes(network: Network, sheet: _Sheet) -> tuple[list[Edge], list[Line]]:
    """All edges, and the rails that those of the class share where straight ones would run through boxes."""
    target = network.target
    in_lanes = {chain[-1] for chain in sheet.chains if chain[0] == target}
    children = [child for child in network.children[target] if child not in in_lanes]
    if all(_is_clear(sheet, target, child) for child in children):
        return _routed(sheet, [*sheet.chains, *([target, child] for child in children)]), []
    drops, rails = _railed(network, sheet, children)
    return drops + _routed(sheet, sheet.chains), rails


def _is_clear(sheet: _Sheet, parent: int, child: int) -> bool:
    """Whether the straight line from parent to child meets nothing in the rows between."""
    (x0, y0), (x1, y1) = (sheet.x[parent], sheet.bottom(parent)), (sheet.x[child], sheet.top(child))
    if sheet.rank[child] > sheet.rank[parent] + 1 and abs(x1 - x0) > _FLATTEST * (y1 - y0):
        return False
    for row in range(sheet.rank[parent] + 1, sheet.rank[child]):
        at = [x0 + (x1 - x0) * (y - y0) / (y1 - y0) for y in (sheet.tops[row], sheet.tops[row] + BOX_HEIGHT)]
        nearest, furthest = min(at) - _LANE_SPACE, max(at) + _LANE_SPACE
        if any(sheet.left(other) < furthest and nearest < sheet.right(other) for other in sheet.rows[row]):
            return False
    return True


def _routed(sheet: _Sheet, chains: list[list[int]]) -> list[Edge]:
    """Edges that stay in the gaps between the rows and in their own lanes."""
    edges = []
    for chain, leave, arrive in zip(chains, _ports(sheet, chains, 0), _ports(sheet, chains, -1), strict=True):
        parent, *lanes, child = chain
        start = at = (leave, sheet.bottom(parent))
        tip = (arrive, sheet.top(child))
        steps: list[tuple[Point, ...]] = []
        for lane in lanes:
            steps.append(_bend(at, (sheet.x[lane], sheet.top(lane)), at == start, False))
            at = (sheet.x[lane], sheet.bottom(lane))
            steps.append((at,))
        skips_rows = not lanes and sheet.rank[child] > sheet.rank[parent] + 1
        steps.append((tip,) if skips_rows else _bend(at, tip, not lanes, True))
        edges.append(Edge(parent, child, start, steps))
    return edges


def _ports(sheet: _Sheet, chains: list[list[int]], end: int) -> list[float]:
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


def _railed(network: Network, sheet: _Sheet, children: list[int]) -> tuple[list[Edge], list[Line]]:
    """Drops from a rail above each row; a trunk on the left joins the rails, a stem leads to the class."""
    target, stem = network.target, sheet.x[network.target]
    trunk = min(map(sheet.left, sheet.x)) - _MARGIN
    first = sheet.rank[target] + 1
    drops = []
    reach: dict[int, list[float]] = defaultdict(list, {first: [stem, trunk]})
    for child in children:
        aside = 0.36 * sheet.widths[child] if len(network.parents[child]) > 1 else 0.0
        x, y = sheet.x[child] - aside, sheet.top(child)
        drops.append(Edge(target, child, (x, y - _RAIL_HEIGHT), [((x, y),)]))
        reach[sheet.rank[child]] += [x, trunk]
    heights = {row: sheet.tops[row] - _RAIL_HEIGHT for row in reach}
    rails = [((min(xs), heights[row]), (max(xs), heights[row])) for row, xs in reach.items()]
    rails.append(((stem, sheet.bottom(target)), (stem, heights[first])))
    return drops, [*rails, ((trunk, heights[first]), (trunk, max(heights.values())))]
