"""How a notebook shows what a network answers: posteriors, what to ask next, contributions to log odds."""

from __future__ import annotations

import numpy as np
import pandas as pd

from bnplug.arrays import FloatArray
from bnplug.notebook import _pieces as html

# A notebook shows the beginning of what is longer.
_MOST_LINES, _MOST_CLASSES, _MOST_CASES = 15, 8, 3


def answers_display(answers: pd.DataFrame) -> str:
    """Return lines whose last column is a figure from 0 upwards, such as the joint states of a query, with bars."""
    return html.fragment(_lines(answers, len(answers)))


def rows_display(answers: pd.DataFrame) -> str:
    """Return the same for rows of data, one after the other, whose labels are in the first column: the first rows."""
    labels = answers.iloc[:, 0].tolist()
    begins = [i for i in range(len(labels)) if i == 0 or labels[i] != labels[i - 1]]
    end = [*begins, len(labels)][min(_MOST_CASES, len(begins))]
    return html.fragment(_lines(answers, end), _further(len(begins) - _MOST_CASES, "row"))


def _lines(answers: pd.DataFrame, n_lines: int) -> str:
    shown = answers.head(min(n_lines, _MOST_LINES))
    values = shown.iloc[:, -1].to_numpy(dtype=np.float64)
    told = values[np.isfinite(values)]
    largest = 1.0 if str(answers.columns[-1]).startswith("probability") else told.max(initial=0.0) or 1.0
    lines = [
        [*map(_words, own[:-1]), html.cell(html.bar(value / largest, html.number(value)))]
        for own, value in zip(shown.itertuples(index=False, name=None), values, strict=True)
    ]
    kinds = ["" if pd.api.types.is_float_dtype(kind) else "words" for kind in answers.dtypes]
    head = [html.heading(name, kind=kind) for name, kind in zip(answers.columns, kinds, strict=True)]
    return html.table([head], lines) + _further(n_lines - len(shown), "line")


def _words(value: object) -> str:
    return html.cell(html.number(value)) if isinstance(value, float) else html.cell(html.short(value), "words")


def _further(n: int, noun: str) -> str:
    return html.note(f"… and {n:,} more {noun}{'s' if n > 1 else ''}.") if n > 0 else ""


def explanation_display(explanation: pd.DataFrame) -> str:
    """Return contributions to log odds: a table for each of the first rows of data, the largest contributions first."""
    features, classes = explanation["feature"].tolist(), explanation["class"].tolist()
    # A row of data begins with the prior log odds of every class.
    n_classes = next((i for i, name in enumerate(features) if name != features[0]), len(features))
    cases = explanation["contribution"].to_numpy().reshape(features.count(features[0]) // n_classes, -1, n_classes)
    size = cases[0].size
    names, labels = features[:size:n_classes], explanation["row"].tolist()[::size]
    expected = [(name, label) for name in names for label in classes[:n_classes]] * len(cases)
    if explanation.shape[1] != 4 or list(zip(features, classes, strict=True)) != expected:
        raise ValueError("this is no explanation any more")
    shown = zip(labels[:_MOST_CASES], cases, strict=False)
    parts = [_contributions(label, names, classes[:n_classes], own) for label, own in shown]
    return html.fragment(*parts, _further(len(cases) - _MOST_CASES, "row"))


def _contributions(case: object, names: list[str], classes: list[object], values: FloatArray) -> str:
    """Return the contributions to each class in one row of data, with their sum, the posterior log odds."""
    most = np.abs(values).max(axis=1)
    told = [f for f in np.argsort(-most[1:], kind="stable") + 1 if most[f] > 0]
    rows = [
        [html.heading(names[f], "row"), *(_contribution(value, most.max()) for value in values[f, :_MOST_CLASSES])]
        for f in [0, *told[:_MOST_LINES]]
    ]
    total = [html.cell(html.signed_bar(0, f"{value:+.3f}")) for value in values.sum(axis=0)[:_MOST_CLASSES]]
    silent, less = len(names) - 1 - len(told), len(told) - _MOST_LINES
    said = [f"{silent:,} of {len(names) - 1:,} features add nothing."] if silent else []
    said += [f"{less:,} more add less than these."] if less > 0 else []
    return "\n".join([
        html.title(f"row {case}", "what each known feature adds to the log odds of each class"),
        html.table([list(map(html.heading, ["log odds of", *classes[:_MOST_CLASSES]]))],
                   [*rows, [html.heading("sum", "row"), *total]], n_sums=1),
        html.note(" ".join(said)) if said else "",
    ])  # fmt: skip


def _contribution(value: float, largest: float) -> str:
    return html.cell(html.signed_bar(value / (largest or 1.0), f"{value:+.3f}"))
