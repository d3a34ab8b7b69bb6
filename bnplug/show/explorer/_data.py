"""The data of the page: names, tables, the clique tree, the picture, and rows of data on request."""

from __future__ import annotations

import base64
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from bnplug.arrays import FloatArray
from bnplug.data.frames import is_frame, to_frame
from bnplug.data.kinds import to_floats
from bnplug.model.log_tables import LogTables
from bnplug.notebook._text import xml_text
from bnplug.show._contents import check_rows, contents
from bnplug.show.explorer._part import numbered
from bnplug.show.explorer._picture import picture
from bnplug.show.explorer._tree import clique_tree
from bnplug.show.summary import cut_points

if TYPE_CHECKING:
    from bnplug.classifier import BayesianNetworkClassifier


def page_data(
    model: BayesianNetworkClassifier, tables: LogTables, X: Any = None, y: Any = None, rows: int = 0
) -> dict[str, Any]:
    """Return the data that the page's script reads; `tables` are the model's, or a part of them.

    They include the first `rows` rows of `X`, with their classes in `y`.
    """
    check_rows(rows, X)
    truths = None if y is None else _truths(y, len(to_frame(X, "X")))
    shown = _rows(model, tables, X, truths, rows) if rows else []
    cuts = {name: own for name, own in cut_points(model).items() if name in tables.states}
    parents, cards = numbered(tables)
    target = tables.names.index(model.target_)
    tree = clique_tree(parents, cards, target)
    labels = texts(tables.names)
    return {
        "target": target,
        "variables": [
            {
                "name": labels[v],
                "states": texts(tables.states[name]),
                "intervals": _intervals(cuts[name], tables.states[name]) if len(cuts.get(name, ())) else None,
                "parents": parents[v],
                "cuts": cuts[name].tolist() if name in cuts else None,
            }
            for v, name in enumerate(tables.names)
        ],
        "tables": _packed(np.concatenate([tables.tables[name].values.ravel() for name in tables.names])),
        "tree": {"cliques": tree.cliques, "above": tree.parents, "homes": tree.homes, "families": tree.families},
        "picture": picture(tables, model.target_, cuts),
        "rows": shown,
        "contents": contents(len(shown), truths is not None),
        "leftOut": len(model.tables_.names) - len(tables.names),
        "isNetwork": tables.normalized,
    }


def texts(labels: Iterable[object]) -> list[str]:
    """Return labels as distinct texts: 1 and "1" are two, and are told apart as Python writes them.

    Examples
    --------
    >>> texts(["a", 1, "1"])
    ['a', '1', "'1'"]
    """
    given = list(labels)
    shown = [xml_text(str(label)) for label in given]
    often = Counter(shown)
    shown = [
        xml_text(repr(label)) if often[text] > 1 and isinstance(label, str) else text
        for label, text in zip(given, shown, strict=True)
    ]
    taken: set[str] = set()
    for i, text in enumerate(shown):
        number = 2
        while shown[i] in taken:
            shown[i] = f"{text} ({number})"
            number += 1
        taken.add(shown[i])
    return shown


def _intervals(cuts: FloatArray, states: Sequence[object]) -> list[str]:
    """Short texts of a numeric feature's states, with as many digits as tell the cuts apart."""
    digits = next((d for d in range(3, 17) if len({f"{cut:.{d}g}" for cut in cuts}) == len(cuts)), 17)
    ends = [f"{cut:.{digits}g}" for cut in cuts]
    between = [f"{low} – {high}" for low, high in pairwise(ends)]
    # Behind the intervals, missing may have a state of its own.
    return [f"≤ {ends[0]}", *between, f"> {ends[-1]}", *(xml_text(str(state)) for state in states[len(cuts) + 1 :])]


def _packed(values: Any) -> str:
    return base64.b64encode(np.ascontiguousarray(values, dtype="<f8").tobytes()).decode()


def _rows(
    model: BayesianNetworkClassifier, tables: LogTables, X: Any, truths: list[str] | None, n_rows: int
) -> list[dict[str, Any]]:
    """Return the first rows: label, state of every variable (-1: missing), numbers, true class."""
    frame = to_frame(X, "X").iloc[:n_rows]
    codes = model.encode(frame if is_frame(X) else X[:n_rows]).astype(np.int64)
    codes[codes == model.schema_.missing] = -1
    codes[model.schema_.target_index] = -1
    if not is_frame(X):
        frame = frame.set_axis(list(model.intake_.columns), axis=1)
    frame = model.intake_.features(frame)
    states = codes[[model.schema_.index(name) for name in tables.names]].T.tolist()
    numbers = {v: to_floats(frame[name]) for v, name in enumerate(tables.names) if _is_numeric(model, frame, name)}
    return [
        {
            "name": xml_text(str(label)),
            "states": states[m],
            "numbers": {v: float(values[m]) for v, values in numbers.items() if np.isfinite(values[m])},
            **({} if truths is None else {"truth": truths[m]}),
        }
        for m, label in enumerate(frame.index)
    ]


def _truths(y: Any, n_rows: int) -> list[str]:
    labels = pd.Series(y)
    if len(labels) != n_rows:
        raise ValueError(f"y has {len(labels)} labels, X has {n_rows} rows: give one label for each row")
    return [xml_text(str(label)) for label in labels]


def _is_numeric(model: BayesianNetworkClassifier, frame: pd.DataFrame, name: str) -> bool:
    return name in model.intake_.numeric and name in frame.columns
