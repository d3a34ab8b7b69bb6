"""The positions of boxes in a picture: parents above children, in rows that ``fast-sugiyama`` orders."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from fast_sugiyama import from_edges
from scipy.optimize import isotonic_regression

from bnplug.structure import Structure

#: An edge, as (parent, child).
Link = tuple[int, int]

BOX_HEIGHT = 30.0
#: The space between neighbors in a row: two boxes, and a lane with any other.
BOX_SPACE, LANE_SPACE = 18.0, 11.0
_SMALLEST_GAP, _LARGEST_GAP = 46.0, 110.0
_ROW_WIDTH, _ASPECT = 900.0, 1.7
# A class with more children than this would dominate the ordering of the rows, and is left out of it.
_MOST_CLASS_LANES = 8
# Ordering slows down with the lanes of long edges: past this many, the longest edges run straight.
_MOST_LANES = 1200
_SWEEPS = 30
# The pull of a vertex to the middle, and of edges with none, one and two ends in a lane.
_GRAVITY, _PULLS = 0.001, (1.0, 2.0, 32.0)


class CheckedGraph(NamedTuple):
    """A structure to draw; nodes are positions in ``names``, and ``order`` has parents before children."""

    names: tuple[str, ...]
    edges: tuple[Link, ...]
    parents: tuple[tuple[int, ...], ...]
    children: tuple[tuple[int, ...], ...]
    order: tuple[int, ...]
    target: int
    marked: frozenset[int]


def checked_graph(
    names: Sequence[str], edges: Iterable[tuple[str, str]], target: str, marked: Collection[str] = ()
) -> CheckedGraph:
    """Return the graph of these names and edges, or raise a ``ValueError`` that names the problem."""
    number = {name: node for node, name in enumerate(names)}
    if len(number) < len(names):
        twice = next(name for node, name in enumerate(names) if number[name] != node)
        raise ValueError(f"two nodes are named {twice!r}: rename one of them")
    edges = list(edges)
    for role, used in (("target", [target]), ("edges", [end for edge in edges for end in edge]), ("marked", marked)):
        for name in used:
            if name not in number:
                raise ValueError(f"{role}: {name!r} is not one of the nodes {list(names)}")
    links = sorted({(number[parent], number[child]) for parent, child in edges})
    parents: list[list[int]] = [[] for _ in names]
    for parent, child in links:
        parents[child].append(parent)
    graph = Structure(names, parents)
    places = number[target], frozenset(number[name] for name in marked)
    return CheckedGraph(graph.names, tuple(links), graph.parents, graph.children, graph.order, *places)


@dataclass
class Sheet:
    """The positions of all vertices: nodes, then lanes, the places of rows that a long edge passes.

    A chain is an edge as the vertices that it visits, one in each row; a chain without lanes may skip rows.
    """

    widths: list[float]
    heights: list[float]
    rank: dict[int, int]
    chains: list[list[int]]
    rows: list[list[int]]
    x: dict[int, float]
    tops: list[float]

    def top(self, vertex: int) -> float:
        return self.tops[self.rank[vertex]]

    def bottom(self, vertex: int) -> float:
        is_box = vertex < len(self.heights)
        return self.top(vertex) + self.heights[vertex] if is_box else self.row_bottom(self.rank[vertex])

    def row_bottom(self, row: int) -> float:
        heights = (self.heights[v] for v in self.rows[row] if v < len(self.heights))
        return self.tops[row] + max(heights, default=BOX_HEIGHT)

    def left(self, vertex: int) -> float:
        return self.x[vertex] - self.widths[vertex] / 2

    def right(self, vertex: int) -> float:
        return self.x[vertex] + self.widths[vertex] / 2

    def links(self) -> list[Link]:
        """Return the steps of all chains."""
        return [link for chain in self.chains for link in pairwise(chain)]


def sheet_of(graph: CheckedGraph, widths: list[float], heights: list[float] | None = None) -> Sheet:
    """Place boxes of these sizes: layers of nodes with edges between features, then grids of the other nodes."""
    heights = [BOX_HEIGHT] * len(widths) if heights is None else heights
    area = sum((w + BOX_SPACE) * (h + _SMALLEST_GAP) for w, h in zip(widths, heights, strict=True))
    limit = max(_ROW_WIDTH, math.sqrt(_ASPECT * area))
    target, class_children = graph.target, graph.children[graph.target]
    shaping = [edge for edge in graph.edges if edge[0] != target]
    if shaping and len(class_children) <= _MOST_CLASS_LANES:
        shaping = list(graph.edges)
    layered = {target, *(end for edge in shaping for end in edge)}
    rank = _ranks(graph, layered, widths, limit)
    chains = _chains(shaping, rank, len(widths))
    n_lanes = len(rank) - len(layered)
    sheet = Sheet(widths + [0.0] * n_lanes, heights, rank, chains, _ordered(rank, chains), {}, [])
    _place(sheet, len(widths))
    loose = [node for node in range(len(widths)) if node not in layered]
    _add_grid(sheet, [node for node in loose if node in class_children], limit)
    _add_grid(sheet, [node for node in loose if node not in class_children], limit)
    is_fan = all(rank[child] == rank[target] + 1 for child in class_children)
    _stack(sheet, sheet.links() + [(target, child) for child in class_children if is_fan])
    return sheet


def _ranks(graph: CheckedGraph, layered: set[int], widths: list[float], limit: float) -> dict[int, int]:
    """Return the row of each layered node: the first row with space below its parents, for the tallest nodes first."""
    target, n_nodes = graph.target, len(widths)
    above = [layered.intersection(parents) for parents in graph.parents]
    below = [layered.intersection(children) for children in graph.children]
    height = [0] * n_nodes
    for node in reversed(graph.order):
        height[node] = 1 + max((height[child] for child in below[node]), default=0)
    if not above[target]:  # it is alone in the top row
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
        used[row] += widths[node] + BOX_SPACE
    for node in reversed(order):  # nearer to its children, if that shortens more edges than it lengthens
        row = min((rank[child] for child in below[node]), default=0) - 1
        if node != target and row > rank[node] and len(below[node]) > len(above[node]):
            rank[node] = row
    numbers = {row: number for number, row in enumerate(sorted(set(rank.values())))}
    return {node: numbers[row] for node, row in rank.items()}


def _chains(shaping: list[Link], rank: dict[int, int], n_nodes: int) -> list[list[int]]:
    """Add a lane to every row that an edge passes, short edges first; return the chains."""
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
    """Return the rows, ordered for few edge crossings; unconnected parts are side by side."""
    # The ordering breaks ties by the last edge: siblings come in table order, and rows interleaved.
    siblings: dict[Link, list[int]] = defaultdict(list)
    for parent, child in sorted((chain[0], chain[-1]) for chain in chains):
        siblings[parent, rank[child]].append(child)
    turn = {
        (parent, child): (parent, (place + 0.5) / len(children), row)
        for (parent, row), children in siblings.items()
        for place, child in enumerate(children)
    }
    in_turn = sorted(chains, key=lambda chain: turn[chain[0], chain[-1]], reverse=True)
    steps = [link for chain in in_turn for link in pairwise(chain)]
    steps = [(upper, lower) for upper, lower in steps if rank[lower] == rank[upper] + 1]
    parts = [dict(places) for places, *_ in from_edges(steps, ranking_type="minimize")]
    place = {
        vertex: (part, x) for part, places in enumerate(sorted(parts, key=min)) for vertex, (x, _) in places.items()
    }
    rows: list[list[int]] = [[] for _ in range(1 + max(rank.values()))]
    for vertex in sorted(rank, key=lambda vertex: (*place.get(vertex, (len(parts), 0.0)), vertex)):
        rows[rank[vertex]].append(vertex)
    return rows


def _place(sheet: Sheet, n_nodes: int) -> None:
    """Assign x coordinates: sweep over the rows, down and up, and move each to where its edges are straightest."""
    pulls: dict[int, list[tuple[int, float]]] = defaultdict(list)
    for upper, lower in sheet.links():
        pull = _PULLS[(upper >= n_nodes) + (lower >= n_nodes)]
        pulls[upper].append((lower, pull))
        pulls[lower].append((upper, pull))
    weight = {vertex: _GRAVITY + sum(pull for _, pull in pulls[vertex]) for vertex in sheet.rank}
    packed = []  # each row, and its vertices as close to each other as allowed, the first at 0
    for row in sheet.rows:
        places = [0.0]
        for left, right in pairwise(row):
            space = BOX_SPACE if max(left, right) < n_nodes else LANE_SPACE
            places.append(places[-1] + (sheet.widths[left] + sheet.widths[right]) / 2 + space)
        packed.append((row, places))
        sheet.x.update((vertex, place - places[-1] / 2) for vertex, place in zip(row, places, strict=True))
    for sweep in range(_SWEEPS):
        for row, places in packed[:: -1 if sweep % 2 else 1]:
            wishes = [
                sum(pull * sheet.x[other] for other, pull in pulls[vertex]) / weight[vertex] - place
                for vertex, place in zip(row, places, strict=True)
            ]
            shifts = isotonic_regression(wishes, weights=[weight[vertex] for vertex in row]).x.tolist()
            sheet.x.update((vertex, place + shift) for vertex, place, shift in zip(row, places, shifts, strict=True))
    middle = (min(map(sheet.left, sheet.x)) + max(map(sheet.right, sheet.x))) / 2
    sheet.x = {vertex: x - middle if pulls[vertex] else 0.0 for vertex, x in sheet.x.items()}


def _add_grid(sheet: Sheet, nodes: list[int], limit: float) -> None:
    """Add rows that hold `nodes` in aligned columns, as many columns as the width allows."""
    for n_rows in range(1, len(nodes) + 1):
        n_columns = math.ceil(len(nodes) / n_rows)
        widths = [max(sheet.widths[node] for node in nodes[i::n_columns]) for i in range(n_columns)]
        total = sum(widths) + BOX_SPACE * (n_columns - 1)
        if total <= limit or n_columns == 1:
            break
    for start in range(0, len(nodes), n_columns if nodes else 1):
        row = nodes[start : start + n_columns]
        left = -total / 2
        for node, width in zip(row, widths, strict=False):
            sheet.x[node] = left + width / 2
            sheet.rank[node] = len(sheet.rows)
            left += width + BOX_SPACE
        sheet.rows.append(row)


def _stack(sheet: Sheet, links: list[Link]) -> None:
    """Set the vertical positions of the rows: further apart if an edge between neighboring rows runs far sideways."""
    reach = [0.0] * len(sheet.rows)
    for upper, lower in links:
        row = sheet.rank[lower]
        if row == sheet.rank[upper] + 1:
            reach[row] = max(reach[row], abs(sheet.x[upper] - sheet.x[lower]))
    sheet.tops.append(0.0)
    for row, sideways in enumerate(reach[1:]):
        gap = min(_LARGEST_GAP, max(_SMALLEST_GAP, 0.27 * sideways))
        sheet.tops.append(sheet.row_bottom(row) + gap)
