"""A fitted classifier as one self-contained HTML page, readable without its script; the same input, the same page."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from itertools import product
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from sklearn.utils.validation import check_is_fitted

import bnplug
from bnplug.errors import BnplugWarning, NotRepresentableError
from bnplug.html import Cell, contents, number, render
from bnplug.html import _kit as html
from bnplug.inference.sample import sample
from bnplug.show.drawing import to_svg
from bnplug.show.evaluation import Evaluation, evaluate_probabilities
from bnplug.show.summary import blanket_to_mark, calibration_note, class_joints, learned_lines, mutual_information
from bnplug.table.frames import is_frame, to_frame
from bnplug.typing import FloatArray

if TYPE_CHECKING:
    from bnplug.classifier import BayesianNetworkClassifier

_ROWS_DRAWN, _SEED, _MOST_COLUMNS = 8, 3, 60
# Limits on the size of the page, for browsers to open it at once.
_MOST_CELLS, _MOST_CELLS_EACH = 100_000, 1200
_MOST_STATES = 40
_CONTRIBUTIONS = 10
# With more classes than the first number, the confusion matrix has narrow columns; with more than the second, the
# smaller classes share a row and a column.
_WIDE_CLASSES, _MOST_CLASSES = 8, 50


def to_html(model: BayesianNetworkClassifier, X: Any = None, y: Any = None, rows: int = 0) -> str:
    """Return a report on a fitted classifier: one self-contained HTML page.

    The parameters are those of :meth:`bnplug.BayesianNetworkClassifier.report`; a frame has the columns of training.
    """
    check_is_fitted(model)
    html.check_rows(rows, X, y)
    probabilities = model.predict_proba(X) if rows or y is not None else np.empty(0)
    evaluation = None if y is None else evaluate_probabilities(model, probabilities, y)
    examples = explained_rows(model, X, y, probabilities, rows) if rows else {}
    try:
        joints, error = class_joints(model), ""
    except ValueError as reason:
        joints, error = {}, str(reason)
    names, blanket, marked = model.tables_.names, model.markov_blanket(), blanket_to_mark(model)
    sizes = len(model.encoder_.names), len(model.classes_), len(model.tables_.edges), model.tables_.n_parameters
    tiles = [(label, f"{n:,}") for label, n in zip(("features", "classes", "edges", "parameters"), sizes, strict=True)]
    return render(
        "report.html",
        title=f"{model.target_}: Bayesian-network classifier",
        script=html.source("report.js"),
        numbers={name: position for position, name in enumerate(names)},
        target=model.target_,
        classes=model.classes_.tolist(),
        tiles=tiles if evaluation is None else [*tiles, ("accuracy", f"{evaluation.accuracy:.3f}")],
        graph=html.Safe(to_svg(names, model.tables_.edges, model.target_, marked, clickable=True)),
        blanket=blanket,
        marked=marked,
        evaluation=evaluation and performance(evaluation),
        prior=_prior(model, joints) if joints else None,
        features={**_features(model, joints), "error": error},
        examples=examples,
        drawn=_drawn(model),
        nodes=_nodes(model, joints),
        contents=contents(
            n_rows=len(examples.get("cards", ())),
            has_truth=y is not None,
            n_evaluated=None if evaluation is None else evaluation.n_rows,
        ),
        **_making(model),
    )


def _prior(model: BayesianNetworkClassifier, joints: Mapping[str, FloatArray]) -> dict[str, Any]:
    """Return P(class) without evidence."""
    prior = next(iter(joints.values())).sum(axis=1)
    rows = [
        [label, Cell(number(share, 3), bar=share / prior.max())]
        for label, share in zip(model.classes_, prior, strict=True)
    ]
    return {"title": "Class prior", "rows": rows, "note": calibration_note(model)}


def _features(model: BayesianNetworkClassifier, joints: Mapping[str, FloatArray]) -> dict[str, Any]:
    """Return the features by their information about the class, or in their own order if it is not known."""
    information = {name: mutual_information(joint) for name, joint in joints.items()}
    largest = max(information.values(), default=0.0) or 1.0
    # Rounded: rounding errors must not order equal values.
    names = sorted(model.encoder_.names, key=lambda name: -round(information.get(name, 0.0), 9))
    blanket, cuts = set(model.markov_blanket()), model.encoder_.cut_points
    numbers = {name: position for position, name in enumerate(model.tables_.names)}
    rows = []
    for name in names:
        states = model.tables_.states[name]
        values = [f"{cut:.6g}" for cut in cuts[name]] if name in cuts else list(states)
        row: list[object] = [
            html.macro("link", numbers[name], name),
            "yes" if name in blanket else "no",
            len(states),
            Cell(html.listing(values, separator=" · ") if values else "no cut"),
        ]
        if information:
            row.insert(1, Cell(number(information[name], 3), bar=information[name] / largest))
        rows.append(row)
    head = ["feature", "Markov blanket", "states", "cut points or states"]
    head[1:1] = ["information on the class, in nats"] if information else []
    return {"head": head, "rows": rows}


def _making(model: BayesianNetworkClassifier) -> dict[str, Any]:
    """Return how the model was made, and its size."""
    sizes = {name: node.values.size for name, node in model.tables_.tables.items()}
    largest = max(sizes, key=sizes.__getitem__)
    n_numeric = len(model.encoder_.numeric)
    made = {part: html.without_folders(expression) for part, expression in model.made_.items()}
    fitted = model.encoder_.discretizer
    params = {} if fitted is None else fitted.get_params(deep=False)
    settings = ", ".join(f"{name}={value!r}" for name, value in params.items() if name != "categorical_features")
    rules = {"missing cells in training": model.missing, "values unseen in training": model.unseen}
    discretizer = {"discretizer settings": html.without_folders(settings)} if settings else {}
    return {
        "structure": made["structure"],
        "parameters": made["parameters"],
        "made": {**made, **discretizer, **rules},
        "facts": [
            ("features", f"{n_numeric} numeric, {len(model.encoder_.names) - n_numeric} discrete"),
            ("free parameters", f"{model.tables_.n_parameters:,}"),
            ("columns sum to one", "yes" if model.tables_.normalized else "no: the parameters are discriminative"),
            *learned_lines(model),
            ("bnplug", bnplug.__version__),
        ],
        "largest": {"name": largest, "cells": f"{sizes[largest]:,}"},
    }


def _drawn(model: BayesianNetworkClassifier) -> dict[str, Any] | None:
    """Return a few rows drawn from the network, as examples of its distribution."""
    try:
        frame = sample(model.tables_, _ROWS_DRAWN, random_state=_SEED)
    except NotRepresentableError:
        return None
    names = [model.target_, *model.encoder_.names][:_MOST_COLUMNS]
    rows = list(frame[names].itertuples(index=False))
    return {"names": names, "rows": rows, "left_out": len(frame.columns) - len(names), "of": "network"}


def _nodes(model: BayesianNetworkClassifier, joints: Mapping[str, FloatArray]) -> Iterator[dict[str, Any]]:
    """Yield every node with its size, relations and tables."""
    names, children = model.tables_.names, model.tables_.structure.children
    most_cells = min(_MOST_CELLS_EACH, _MOST_CELLS // len(names))
    for v, name in enumerate(names):
        states, *configurations = model.tables_.tables[name].values.shape
        given = f" x {html.counted(prod(configurations), 'configuration')}" if configurations else ""
        yield {
            "name": name,
            "size": f"{'class, ' if name == model.target_ else ''}{html.counted(states, 'state')}{given}",
            "parents": model.tables_.parents[name],
            "children": [names[child] for child in children[v]],
            "tables": _node_tables(model, name, joints.get(name), most_cells),
        }


def _node_tables(
    model: BayesianNetworkClassifier, name: str, joint: FloatArray | None, most_cells: int
) -> Iterator[dict[str, Any]]:
    """Yield the table of a node and P(node | class), which is small even if the table is large."""
    parents, logs = model.tables_.tables[name]
    values, normalized = logs.reshape(len(logs), -1).T, model.tables_.normalized
    given = {parent: model.tables_.states[parent] for parent in parents}
    shown = _states_table(model, name, given, np.exp(values) if normalized else values, most_cells, not normalized)
    yield {"before": "" if normalized else "Log parameters of ", "after": "", **shown}
    if joint is not None and parents != (model.target_,):
        totals = joint.sum(axis=1, keepdims=True)
        values = np.divide(joint, totals, out=np.zeros_like(joint), where=totals > 0)
        shown = _states_table(model, name, {model.target_: model.classes_}, values, most_cells)
        yield {"before": "", "after": ", all else summed out", **shown}


def _states_table(
    model: BayesianNetworkClassifier, name: str, given: Mapping[str, Any], values: FloatArray, most_cells: int,
    logarithms: bool = False,
) -> dict[str, Any]:  # fmt: skip
    """Return a table with a row per configuration and a column per state, as far as they fit, and what is left out."""
    states = model.tables_.states[name]
    shown = states[:_MOST_STATES]
    n_rows = min(len(values), max(1, most_cells // len(shown)))
    rows = [
        [*labels, *(Cell(f"{v:.4g}") if logarithms else Cell(number(v, 3), shade=v) for v in row.tolist())]
        for labels, row in zip(product(*given.values()), values[:n_rows, :_MOST_STATES], strict=False)
    ]
    left_out = [f"the first {n_rows:,} of {len(values):,} configurations"] if n_rows < len(values) else []
    left_out += [f"the first {len(shown)} of {len(states):,} states"] if len(shown) < len(states) else []
    head = [[*(Cell(parent, "given") for parent in given), *shown]]
    return {"given": list(given), "html": html.table(head, rows, "states", "Table", len(given)), "left_out": left_out}


def performance(evaluation: Evaluation) -> dict[str, Any]:
    """Return the figures and the confusion matrix, for the template of the report."""
    confusion = _folded(evaluation.confusion)
    # Among folded classes, a row predicted as another class of the fold is on the diagonal too.
    n_single = len(confusion) if len(confusion) == len(evaluation.confusion) else len(confusion) - 1
    labels, counts = confusion.index.tolist(), confusion.to_numpy(dtype=np.float64)
    totals = counts.sum(axis=1)
    rows = []
    for i, label in enumerate(labels):
        row: list[object] = [label]
        for j, other in enumerate(labels):
            share = counts[i, j] / totals[i] if totals[i] else 0.0
            kind = "right" if i == j < n_single else "wrong" if share else "none"
            count = f"{counts[i, j]:.6g}" if counts[i, j] < 1e6 else f"{counts[i, j]:,.0f}"
            tooltip = f"true {label}, predicted {other}: {count}, {share:.1%} of the class"
            row.append(Cell(count, kind, tooltip, shade=share))
        row.append(f"{counts[i, i] / totals[i]:.3f}" if totals[i] and i < n_single else "-")
        rows.append(row)
    figures = [(label, "-" if value is None else f"{value:.3f}") for label, value in evaluation.figures.items()]
    return {
        "tiles": [("rows", f"{evaluation.n_rows:,}"), *figures],
        "head": [[Cell("true, down; predicted, across", "given"), *labels, "recall"]],
        "rows": rows,
        "kind": "confusion dense" if len(labels) > _WIDE_CLASSES else "confusion",
    }


def _folded(confusion: pd.DataFrame) -> pd.DataFrame:
    """Return a confusion matrix in which the smaller of many classes share the last row and column."""
    if len(confusion) <= _MOST_CLASSES:
        return confusion
    counts = confusion.to_numpy(dtype=np.float64)
    size = counts.sum(axis=0) + counts.sum(axis=1)
    large = np.sort(np.argsort(-size, kind="stable")[: _MOST_CLASSES - 1])
    place = np.full(len(counts), len(large))
    place[large] = np.arange(len(large))
    groups = np.eye(len(large) + 1)[place]
    folded = groups.T @ counts @ groups
    labels = pd.Index([*confusion.index[large], f"{len(counts) - len(large):,} other classes"], dtype=object)
    return pd.DataFrame(folded, index=labels, columns=labels)


def explained_rows(model: Any, X: Any, y: Any, probabilities: FloatArray, n_rows: int) -> Any:
    """Return the explanations of the `n_rows` rows with the least probable best class, for the template of the report.

    The model has the methods of a classifier of this package: `encoder_`, `classes_`, `decide`, `explain`.
    """
    chosen = _uncertain(probabilities, n_rows)
    frame = to_frame(X, "X")
    rows = (frame if is_frame(X) else frame.set_axis(list(model.encoder_.columns), axis=1)).iloc[chosen]
    try:
        with warnings.catch_warnings():
            # Predicting all rows has given the same warnings.
            warnings.simplefilter("ignore", BnplugWarning)
            explained = model.explain(rows.reset_index(drop=True))
    except ValueError as error:
        # A network that predicts complete rows may be too dense to marginalize features.
        return {"error": str(error)}
    shown = model.encoder_.features(rows)
    decided = model.decide(probabilities[chosen])
    cards = []
    for i, (row, best) in enumerate(zip(chosen, decided, strict=True)):
        label = model.classes_[best]
        one = explained[(explained["row"] == i) & (explained["class"] == label)]
        cards.append({
            "row": shown.index[i],
            "predicted": label,
            "probability": probabilities[row, best],
            "has_truth": y is not None,
            "truth": None if y is None else np.asarray(y)[row],
            "rows": _contributions(one["feature"].tolist(), one["contribution"].to_numpy(), shown.iloc[i]),
        })  # fmt: skip
    return {"error": "", "cards": cards}


def _uncertain(probabilities: FloatArray, n_rows: int) -> list[int]:
    """Return the rows with the least probable best class; among rows with equal probabilities, the first."""
    first: dict[tuple[float, ...], int] = {}
    for row in np.argsort(probabilities.max(axis=1), kind="stable").tolist():
        first.setdefault(tuple(probabilities[row].round(9)), row)
        if len(first) == n_rows:
            break
    return list(first.values())


def _contributions(names: list[str], contributions: FloatArray, row: pd.Series[Any]) -> list[Any]:
    """Return the prior, the largest contributions, the sum of the others, and the sum of all."""
    prior, (_, *names), features = contributions[0], names, contributions[1:]
    order = np.argsort(-np.abs(features), kind="stable")
    shown, others = order[:_CONTRIBUTIONS], order[_CONTRIBUTIONS:]
    lines = [("prior", prior)]
    texts = [f"{name} = {_value(row[name])}" if name in row else name for name in names]
    lines += [(texts[i], features[i]) for i in shown if features[i] != 0]
    if len(others):
        lines.append((f"{len(others)} other features", features[others].sum()))
    largest = max(abs(value) for _, value in lines) or 1.0
    rows = [[label, Cell(f"{value:+.2f}", bar=value / largest, signed=True)] for label, value in lines]
    return [*rows, ["posterior log odds", Cell(f"{contributions.sum():+.2f}")]]


def _value(value: Any) -> str:
    """Format a cell of the data."""
    if pd.isna(value):
        return "missing"
    return f"{value:.6g}" if isinstance(value, float | np.floating) else str(value)
