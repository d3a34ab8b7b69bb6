"""Metrics, and tables of them as text: for the terminal, Markdown and LaTeX."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from bnplug.errors import did_you_mean, printable
from bnplug.experiments.statistics import average_ranks
from bnplug.html._kit import Cell, Safe, table

_LATEX = {character: f"\\{character}" for character in "&%$#_{}"} | {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "±": r"$\pm$",
    "–": "--",
    "×": r"$\times$",
}
# Underscores within a word are no emphasis.
_MARKDOWN = re.compile(r"[|<>&`*~\[\]\\]|(?<![^\W_])_|_(?![^\W_])")
_SPECIAL = re.compile("|".join(map(re.escape, _LATEX)))


@dataclass(frozen=True)
class Metric:
    """A metric; tables show its value times `scale`, with `digits` decimals."""

    name: str
    label: str
    higher_is_better: bool = False
    scale: float = 1.0
    digits: int = 4


_METRICS = (
    Metric("accuracy", "accuracy (%)", higher_is_better=True, scale=100.0, digits=2),
    Metric("zero_one_loss", "0-1 loss"),
    Metric("rmse", "RMSE"),
    Metric("auc", "AUC", higher_is_better=True),
    Metric("cll", "CLL per row", higher_is_better=True),
    Metric("fit_seconds", "fit (s)"),
    Metric("predict_seconds", "predict (s)"),
    Metric("n_parameters", "parameters", digits=1),
    Metric("markov_blanket", "Markov blanket", digits=1),
)

#: The metrics of a fold, by name.
FOLD_METRICS = {metric.name: metric for metric in _METRICS}

#: All metrics, by name; the last two belong to a data set, not to a fold.
METRICS = FOLD_METRICS | {name: Metric(name, name) for name in ("bias", "variance")}


def find_metric(name: str) -> Metric:
    """Return a metric by name; raise a ``ValueError`` that lists all if there is none."""
    if name not in METRICS:
        raise ValueError(f"there is no metric {name!r}.{did_you_mean(name, METRICS)} There are: {', '.join(METRICS)}")
    return METRICS[name]


@dataclass(frozen=True)
class TextTable:
    """Cells of text under column heads; the first column names the rows.

    ``best`` are the (row, column) positions to emphasize; the last ``n_summary`` rows summarize the others.
    """

    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    best: frozenset[tuple[int, int]] = frozenset()
    n_summary: int = 0

    def to_text(self) -> str:
        """Return aligned columns; a star marks the best cells."""
        lines = [[f"{_plain(head)} " for head in self.columns], *self._body(_plain, "{}*", "{} ")]
        widths = [max(len(line[j]) for line in lines) for j in range(len(self.columns))]
        printed = []
        for name, *values in lines:
            aligned = [value.rjust(width) for value, width in zip(values, widths[1:], strict=True)]
            printed.append(" ".join([name.ljust(widths[0]), *aligned]).rstrip())
        rule = "-" * max(map(len, printed))
        if self.n_summary:
            printed.insert(len(printed) - self.n_summary, rule)
        return "\n".join([printed[0], rule, *printed[1:]])

    def to_html(self) -> Safe:
        """Return an HTML table, the best cells emphasized."""
        rows = [
            [Cell(cell, "best" if (i, j) in self.best else "") for j, cell in enumerate(row)]
            for i, row in enumerate(self.rows)
        ]
        return table([map(Cell, self.columns)], rows, n_sums=self.n_summary)

    def to_markdown(self) -> str:
        """Return a Markdown table, the best cells bold."""
        rule = ["---", *["---:"] * (len(self.columns) - 1)]
        lines = [[to_markdown(head) for head in self.columns], rule, *self._body(to_markdown, "**{}**")]
        return "\n".join(f"| {' | '.join(line)} |" for line in lines)

    def to_latex(self) -> str:
        """Return a LaTeX tabular with the rules of the package booktabs, the best cells bold."""
        printed = [_latex_row(row) for row in self._body(_latex, r"\textbf{{{}}}")]
        if self.n_summary:
            printed.insert(len(printed) - self.n_summary, r"\midrule")
        head = _latex_row([_latex(head) for head in self.columns])
        columns = "l" + "r" * (len(self.columns) - 1)
        lines = [rf"\begin{{tabular}}{{{columns}}}", r"\toprule", head, r"\midrule", *printed, r"\bottomrule"]
        return "\n".join([*lines, r"\end{tabular}"])

    def _body(self, escape: Callable[[str], str], best: str, other: str = "{}") -> list[list[str]]:
        """Return all cells, escaped, in the format of the best cells or of the others."""
        return [
            [(best if (i, j) in self.best else other).format(escape(cell)) for j, cell in enumerate(row)]
            for i, row in enumerate(self.rows)
        ]


def metric_table(means: pd.DataFrame, spreads: pd.DataFrame, failed: pd.DataFrame, metric: Metric) -> TextTable:
    """Return a table of means ± standard deviations; the frames have a row per data set and a column per method."""
    shown = means * metric.scale
    rows, best = [], set()
    for i, name in enumerate(shown.index):
        values = shown.iloc[i]
        cells = [_number(value, metric.digits) for value in values]
        if len(values) > 1 and not values.isna().all():
            winner = values.argmax() if metric.higher_is_better else values.argmin()
            # Values with the same text are equally good.
            best |= {(i, j) for j, cell in enumerate(cells, start=1) if cell == cells[winner]}
        spread = ["" if np.isnan(v) else f" ± {v:.{metric.digits}f}" for v in spreads.iloc[i] * metric.scale]
        errors = [f"{count} failed" if count else "" for count in failed.iloc[i]]
        rows.append([str(name), *(e or c + s for c, s, e in zip(cells, spread, errors, strict=True))])
    summary = _summary(shown, metric)
    return TextTable([metric.label, *map(str, means.columns)], [*rows, *summary], frozenset(best), len(summary))


def frame_table(frame: pd.DataFrame, digits: int = 2) -> TextTable:
    """Return any frame as a table of text: its index first, numbers with `digits` decimals."""
    rows = [
        [str(name), *(_number(value, digits) if isinstance(value, float) else str(value) for value in row)]
        for name, row in zip(frame.index, frame.itertuples(index=False, name=None), strict=True)
    ]
    return TextTable([str(frame.index.name or ""), *map(str, frame.columns)], rows)


def _summary(shown: pd.DataFrame, metric: Metric) -> list[list[str]]:
    """Return rows of means and mean ranks over the data sets with a value for every method."""
    complete = complete_part(shown)
    if len(complete) < 2:
        return []
    of = "" if len(complete) == len(shown) else f" of {len(complete)}"
    rows = [(f"average{of}", complete.mean(), metric.digits)]
    if complete.shape[1] > 1:
        rows.append((f"average rank{of}", average_ranks(complete, metric.higher_is_better), 2))
    return [[name, *(_number(v, digits) for v in values.reindex(shown.columns))] for name, values, digits in rows]


def complete_part(means: pd.DataFrame) -> pd.DataFrame:
    """Return the methods with any value, and the data sets on which all of these have one."""
    measured = means.dropna(axis="columns", how="all")
    return measured.dropna() if measured.shape[1] else measured.iloc[:0]


def _number(value: float, digits: int) -> str:
    return "–" if np.isnan(value) else f"{value:.{digits}f}"


def to_markdown(text: str) -> str:
    """Escape text for one line of Markdown, also in a table."""
    return _MARKDOWN.sub(r"\\\g<0>", _plain(text))


def _plain(text: str) -> str:
    """Return text on one line, control characters as escapes."""
    return printable(" ".join(text.split()))


def _latex(text: str) -> str:
    return _SPECIAL.sub(lambda match: _LATEX[match.group()], _plain(text))


def _latex_row(cells: Sequence[str]) -> str:
    """Return a row; LaTeX would read a bracket or a star at its beginning as part of the row before."""
    return f"{'{}' if cells[0].startswith(('[', '*')) else ''}{' & '.join(cells)} \\\\"
