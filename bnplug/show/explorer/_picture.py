"""Where the cards of the page stand, and the lines between them: the layout of our drawings, with larger boxes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from bnplug.model.log_tables import LogTables
from bnplug.show._graph import checked_graph
from bnplug.show._routes import MARGIN, Arrow, Point, routes_of
from bnplug.show._rows import sheet_of

#: The measures of a card, which the style sheet keeps to: width, its name, a state, a field for a number.
CARD_WIDTH, _HEAD, _STATE, _FIELD, _FOOT = 240.0, 34.0, 24.0, 32.0, 8.0
#: The states of a card that are seen at once; it scrolls to the others.
_MOST_STATES = 8


def card_height(n_states: int, numeric: bool) -> float:
    """Return the height of a card in pixels."""
    return _HEAD + _STATE * min(n_states, _MOST_STATES) + (_FIELD if numeric else 0.0) + _FOOT


def picture(tables: LogTables, target: str, numeric: Iterable[str]) -> dict[str, Any]:
    """Return the size of the picture, the corner and height of every card, and the lines as SVG paths."""
    fields = set(numeric)
    graph = checked_graph(tables.names, tables.edges, target)
    heights = [card_height(len(tables.states[name]), name in fields) for name in tables.names]
    sheet = sheet_of(graph, [CARD_WIDTH] * len(heights), heights)
    arrows, rails = routes_of(graph, sheet)
    xs = [sheet.left(v) for v in range(len(heights))] + [sheet.right(v) for v in range(len(heights))]
    xs += [x for arrow in arrows for step in arrow.steps for x, _ in step] + [x for rail in rails for x, _ in rail]
    left, top = min(xs) - MARGIN, -MARGIN
    bottom = max(sheet.bottom(v) for v in range(len(heights)))
    return {
        "width": round(max(xs) + MARGIN - left),
        "height": round(bottom + MARGIN - top),
        "cardWidth": CARD_WIDTH,
        "cards": [[round(sheet.left(v) - left), round(sheet.top(v) - top), h] for v, h in enumerate(heights)],
        "rails": [_path(rail[0], [(rail[1],)], left, top) for rail in rails],
        "edges": [_edge(arrow, left, top) for arrow in arrows],
    }


def _edge(arrow: Arrow, left: float, top: float) -> dict[str, Any]:
    tip, *base = arrow.head()
    return {
        "parent": arrow.parent,
        "child": arrow.child,
        "path": _path(arrow.start, arrow.shaft(), left, top),
        "head": _path(tip, [(point,) for point in base], left, top) + "Z",
    }


def _path(start: Point, steps: Sequence[tuple[Point, ...]], left: float, top: float) -> str:
    def shown(points: Iterable[Point]) -> str:
        return " ".join(f"{x - left:.1f},{y - top:.1f}" for x, y in points)

    return f"M{shown([start])}" + "".join(("L" if len(step) == 1 else "C") + shown(step) for step in steps)
