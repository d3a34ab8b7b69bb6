"""A fitted classifier as one HTML file that answers queries click by click, without a network connection."""

from __future__ import annotations

import base64
import json
import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from importlib.resources import files
from itertools import chain, count, pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from sklearn.utils.validation import check_is_fitted

from bnplug.html._kit import Safe, check_rows, contents, macro, render, xml_text
from bnplug.model.log_tables import LogTables
from bnplug.model.wettig import blanket_of
from bnplug.show._routes import Arrow, frame_of, routes_of, svg_path
from bnplug.show._sheet import checked_graph, sheet_of
from bnplug.show.explorer._part import clique_tree, numbered
from bnplug.show.explorer._part import shown_tables as shown_tables
from bnplug.table.frames import is_frame, to_frame
from bnplug.table.kinds import to_floats
from bnplug.typing import FloatArray

if TYPE_CHECKING:
    from bnplug.classifier import BayesianNetworkClassifier

# Each after the modules that it imports.
_MODULES = ("inference", "questions", "average", "evidence", "dom", "card", "picture", "panels", "tables", "main")
_IMPORT = re.compile(r"^import .*;\n", re.MULTILINE)
_EXPORT = re.compile(r"^export ", re.MULTILINE)

#: Sizes in a card, which match the style sheet: width, name, state, input for a number, bottom.
_CARD_WIDTH, _HEAD, _STATE, _FIELD, _FOOT = 240.0, 34.0, 24.0, 32.0, 8.0
#: The states that a card shows at once; it scrolls to the others.
_MOST_STATES = 8


class ExplorerPage:
    """The explorer of a model, as a notebook shows it; ``html`` is the page."""

    def __init__(self, html: str) -> None:
        self.html = html

    def _repr_html_(self) -> str:
        """Return the page in an inline frame, isolated from the notebook's styles and scripts."""
        return macro("frame", self.html)


def to_html(
    model: BayesianNetworkClassifier,
    X: Any = None,
    y: Any = None,
    features: int | Sequence[str] | None = None,
    rows: int = 0,
) -> str:
    """Return the explorer of a fitted classifier: one HTML page that answers queries without a network connection.

    The parameters are those of :meth:`bnplug.BayesianNetworkClassifier.explore`; a frame has the columns of training.
    """
    check_is_fitted(model)
    data = page_data(model, shown_tables(model, features), X, y, rows)
    return page_of(data, f"{model.target_}: explorer", data["contents"])


def page_of(data: Mapping[str, Any], title: str, contents: str) -> str:
    """Return the page with the given data: those of :func:`page_data`, or several views.

    Several views are ``{"views": [{"label": ..., "data": ...}, ...]}``. A view may be an average of networks: its data
    have ``networks``, as described in ``average.mjs``, instead of ``tables`` and ``tree``. `contents` is a text
    about what the page contains.
    """
    # Inside a script element, only "<" could end it.
    text = json.dumps(data, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")
    return render(
        "explorer.html",
        title=title,
        style=Safe(_read("style.css")),
        contents=contents,
        data=Safe(text),
        script=Safe(_script()),
    )


def _read(file: str) -> str:
    return files("bnplug.show.explorer").joinpath(file).read_text("utf-8")


def _script() -> str:
    """Return the modules joined into one script: the page cannot import files."""
    return "\n".join(_EXPORT.sub("", _IMPORT.sub("", _read(f"{name}.mjs"))) for name in _MODULES)


def page_data(
    model: BayesianNetworkClassifier, tables: LogTables, X: Any = None, y: Any = None, rows: int = 0
) -> dict[str, Any]:
    """Return the data for the page's script: the model's `tables` or a part of them, and the first rows of `X`, `y`."""
    check_rows(rows, X, y)
    truths = None if y is None else [xml_text(str(label)) for label in pd.Series(y)]
    if truths is not None and len(truths) != len(to_frame(X, "X")):
        raise ValueError(f"y has {len(truths)} labels, X has {len(to_frame(X, 'X'))} rows: give one label for each row")
    shown = _rows(model, tables, X, truths, rows) if rows else []
    cuts = {name: values for name, values in model.encoder_.cut_points.items() if name in tables.states}
    parents, cards = numbered(tables)
    target = tables.names.index(model.target_)
    labels = _texts(tables.names)
    blanket = blanket_of(model.tables_)
    numbers = np.concatenate([tables.tables[name].values.ravel() for name in tables.names])
    return {
        "target": target,
        "variables": [
            {
                "name": labels[v],
                "states": _texts(tables.states[name]),
                "intervals": _intervals(cuts[name], tables.states[name]) if len(cuts.get(name, ())) else None,
                "parents": parents[v],
                "cuts": cuts[name].tolist() if name in cuts else None,
            }
            for v, name in enumerate(tables.names)
        ],
        "tables": base64.b64encode(numbers.astype("<f8").tobytes()).decode(),
        "tree": clique_tree(parents, cards, target)._asdict(),
        "picture": picture(tables.names, tables.edges, model.target_, cards, cuts),
        "rows": shown,
        "contents": contents(n_rows=len(shown), has_truth=truths is not None),
        "leftOut": len(model.tables_.names) - len(tables.names),
        "isNetwork": tables.normalized,
        "calibration": {
            **model.tables_.calibration._asdict(),
            "blanket": [tables.names.index(name) for name in blanket if name in tables.names],
            "size": len(blanket),
        },
    }


def _texts(labels: Iterable[object]) -> list[str]:
    """Return labels as distinct texts: 1 and "1" are written as in Python."""
    given = [(label, xml_text(str(label))) for label in labels]
    often = Counter(text for _, text in given)
    taken: dict[str, None] = {}
    for label, text in given:
        shown = xml_text(repr(label)) if often[text] > 1 and isinstance(label, str) else text
        numbered = chain([shown], (f"{shown} ({number})" for number in count(2)))
        taken[next(name for name in numbered if name not in taken)] = None
    return list(taken)


def _intervals(cuts: FloatArray, states: Sequence[object]) -> list[str]:
    """Return short texts for the states of a numeric feature, with enough digits to distinguish the cuts."""
    digits = next((d for d in range(3, 17) if len({f"{cut:.{d}g}" for cut in cuts}) == len(cuts)), 17)
    ends = [f"{cut:.{digits}g}" for cut in cuts]
    between = [f"{low} – {high}" for low, high in pairwise(ends)]
    # After the intervals, missing cells may have a state.
    return [f"≤ {ends[0]}", *between, f"> {ends[-1]}", *(xml_text(str(state)) for state in states[len(cuts) + 1 :])]


def _rows(
    model: BayesianNetworkClassifier, tables: LogTables, X: Any, truths: list[str] | None, n_rows: int
) -> list[dict[str, Any]]:
    """Return the first rows: label, state of every variable (-1: missing), numbers, true class."""
    frame = to_frame(X, "X").iloc[:n_rows]
    codes = model.encode(frame if is_frame(X) else X[:n_rows]).astype(np.int64)
    codes[codes == model.schema_.missing] = -1
    codes[model.schema_.target_index] = -1
    frame = model.encoder_.features(frame if is_frame(X) else frame.set_axis(list(model.encoder_.columns), axis=1))
    states = codes[[model.schema_.index(name) for name in tables.names]].T.tolist()
    numeric = set(model.encoder_.numeric).intersection(frame.columns)
    numbers = {v: to_floats(frame[name]) for v, name in enumerate(tables.names) if name in numeric}
    return [
        {
            "name": xml_text(str(label)),
            "states": states[m],
            "numbers": {v: float(values[m]) for v, values in numbers.items() if np.isfinite(values[m])},
            **({} if truths is None else {"truth": truths[m]}),
        }
        for m, label in enumerate(frame.index)
    ]


def _card_height(n_states: int, numeric: bool) -> float:
    """Return the height of a card in pixels."""
    return _HEAD + _STATE * min(n_states, _MOST_STATES) + (_FIELD if numeric else 0.0) + _FOOT


def picture(
    names: Sequence[str],
    edges: Iterable[tuple[str, str]],
    target: str,
    n_states: Sequence[int],
    numeric: Collection[str] = (),
) -> dict[str, Any]:
    """Return the size of the picture, the corner and height of every card, and the lines as SVG paths."""
    graph = checked_graph(names, edges, target)
    heights = [_card_height(n, name in numeric) for name, n in zip(names, n_states, strict=True)]
    sheet = sheet_of(graph, [_CARD_WIDTH] * len(heights), heights)
    arrows, rails = routes_of(graph, sheet)
    cards = range(len(heights))
    left, top, width, height = frame_of(sheet, arrows, rails)

    def edge(arrow: Arrow) -> dict[str, Any]:
        tip, *base = arrow.head()
        head = svg_path(tip, [[point] for point in base], left, top) + "Z"
        path = svg_path(arrow.start, arrow.shaft(), left, top)
        return {"parent": arrow.parent, "child": arrow.child, "path": path, "head": head}

    return {
        "width": round(width),
        "height": round(height),
        "cardWidth": _CARD_WIDTH,
        "cards": [[round(sheet.left(v) - left), round(sheet.top(v) - top), heights[v]] for v in cards],
        "rails": [svg_path(start, [[end]], left, top) for start, end in rails],
        "edges": list(map(edge, arrows)),
    }
