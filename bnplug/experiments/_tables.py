"""Tables as text: for the terminal, Markdown and LaTeX."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from bnplug.errors import printable
from bnplug.experiments._metrics import Metric
from bnplug.experiments.statistics import average_ranks
from bnplug.notebook import _pieces as html

_LATEX = {character: f"\\{character}" for character in "&%$#_{}"} | {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "±": r"$\pm$",
    "–": "--",
    "×": r"$\times$",
}
# Of underscores, those within a word are no emphasis.
_MARKDOWN = re.compile(r"[|<>&`*~\[\]\\]|(?<![^\W_])_|_(?![^\W_])")
_SPECIAL = re.compile("|".join(map(re.escape, _LATEX)))


@dataclass(frozen=True)
class TextTable:
    """Cells of text under column heads; the first column names the rows.

    Parameters
    ----------
    columns : sequence of str
        The heads.
    rows : sequence of sequences of str
    best : set of (row, column)
        Cells to emphasise.
    n_summary : int
        How many of the last rows sum up the others.

    Examples
    --------
    >>> table = TextTable(["data", "nb", "tan"], [["iris", "93.1", "94.0"]], frozenset({(0, 2)}))
    >>> print(table.to_markdown())
    | data | nb | tan |
    | --- | ---: | ---: |
    | iris | 93.1 | **94.0** |
    """

    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    best: frozenset[tuple[int, int]] = frozenset()
    n_summary: int = 0

    def to_text(self) -> str:
        """Return aligned columns; a star marks the best cells."""
        body = [[f"{_plain(cell)}{'*' if at in self.best else ' '}" for at, cell in row] for row in self._cells()]
        lines = [[f"{_plain(head)} " for head in self.columns], *body]
        widths = [max(len(line[j]) for line in lines) for j in range(len(self.columns))]
        printed = [
            " ".join(
                [line[0].ljust(widths[0]), *(c.rjust(w) for c, w in zip(line[1:], widths[1:], strict=True))]
            ).rstrip()
            for line in lines
        ]
        rule = "-" * max(map(len, printed))
        if self.n_summary:
            printed.insert(len(printed) - self.n_summary, rule)
        return "\n".join([printed[0], rule, *printed[1:]])

    def to_display(self) -> str:
        """Return the table as a notebook shows it, the best cells shaded and bold."""
        rows = [
            [html.heading(name, "row"), *(self._shown(i, j, cell) for j, cell in enumerate(cells, start=1))]
            for i, (name, *cells) in enumerate(self.rows)
        ]
        return html.table([list(map(html.heading, self.columns))], rows, self.n_summary)

    def _shown(self, row: int, column: int, content: str) -> str:
        safe = html.short(content)
        return html.shaded(0.5, f"<b>{safe}</b>") if (row, column) in self.best else html.cell(safe)

    def to_markdown(self) -> str:
        """Return a Markdown table, the best cells bold."""
        cells = [[(at, to_markdown(cell)) for at, cell in row] for row in self._cells()]
        body = [[f"**{cell}**" if at in self.best else cell for at, cell in row] for row in cells]
        rule = ["---", *["---:"] * (len(self.columns) - 1)]
        lines = [[to_markdown(head) for head in self.columns], rule, *body]
        return "\n".join(f"| {' | '.join(line)} |" for line in lines)

    def to_latex(self) -> str:
        """Return a LaTeX tabular with the rules of the package booktabs, the best cells bold."""
        body = [
            [rf"\textbf{{{_latex(cell)}}}" if at in self.best else _latex(cell) for at, cell in row]
            for row in self._cells()
        ]
        printed = [_latex_row(row) for row in body]
        if self.n_summary:
            printed.insert(len(printed) - self.n_summary, r"\midrule")
        head = _latex_row([_latex(head) for head in self.columns])
        columns = "l" + "r" * (len(self.columns) - 1)
        lines = [rf"\begin{{tabular}}{{{columns}}}", r"\toprule", head, r"\midrule", *printed, r"\bottomrule"]
        return "\n".join([*lines, r"\end{tabular}"])

    def _cells(self) -> list[list[tuple[tuple[int, int], str]]]:
        """Return every cell with its place."""
        return [[((i, j), cell) for j, cell in enumerate(row)] for i, row in enumerate(self.rows)]


def metric_table(means: pd.DataFrame, spreads: pd.DataFrame, failed: pd.DataFrame, metric: Metric) -> TextTable:
    """Return a table of means ± standard deviations, the best of each row marked.

    Parameters
    ----------
    means, spreads : frame
        A row for each data set, a column for each method; NaN where there is nothing.
    failed : frame
        How many folds failed.
    metric : Metric
        Its direction decides what is best.
    """
    shown = means * metric.scale
    rows = []
    best = set()
    for i, name in enumerate(shown.index):
        values = shown.iloc[i]
        cells = [_number(value, metric.digits) for value in values]
        best |= {(i, j + 1) for j in _best(values, cells, metric)}
        spread = [_spread(value * metric.scale, metric.digits) for value in spreads.iloc[i]]
        errors = [f"{count} failed" if count else "" for count in failed.iloc[i]]
        rows.append([str(name), *(e or c + s for c, s, e in zip(cells, spread, errors, strict=True))])
    summary = _summary(shown, metric)
    return TextTable([metric.label, *map(str, means.columns)], [*rows, *summary], frozenset(best), len(summary))


def frame_table(frame: pd.DataFrame, digits: int = 2) -> TextTable:
    """Return any frame as a table of text: its index first, numbers with `digits` decimals.

    Examples
    --------
    >>> print(frame_table(pd.DataFrame({"ours": [83.817]}, index=pd.Index(["nb"], name="method"))).to_text())
    method   ours
    -------------
    nb      83.82
    """
    rows = [
        [str(name), *(_number(value, digits) if isinstance(value, float) else str(value) for value in row)]
        for name, row in zip(frame.index, frame.itertuples(index=False, name=None), strict=True)
    ]
    return TextTable([str(frame.index.name or ""), *map(str, frame.columns)], rows)


def _summary(shown: pd.DataFrame, metric: Metric) -> list[list[str]]:
    """Return rows of means and mean ranks over the data sets that every method has a value for."""
    complete = complete_part(shown)
    if len(complete) < 2:
        return []
    of = "" if len(complete) == len(shown) else f" of {len(complete)}"
    summary = [[f"average{of}", *_numbers(complete.mean(), shown, metric.digits)]]
    if complete.shape[1] > 1:
        ranks = average_ranks(complete, metric.higher_is_better)
        summary.append([f"average rank{of}", *_numbers(ranks, shown, 2)])
    return summary


def complete_part(means: pd.DataFrame) -> pd.DataFrame:
    """Return the methods that have a value at all, and the data sets for which all of these have one.

    Examples
    --------
    >>> complete_part(pd.DataFrame({"nb": [20.0, 30.0], "tan": [np.nan, 60.0], "svm": [np.nan, np.nan]}))
         nb   tan
    1  30.0  60.0
    """
    measured = means.dropna(axis="columns", how="all")
    return measured.dropna() if measured.shape[1] else measured.iloc[:0]


def _numbers(values: pd.Series[float], shown: pd.DataFrame, digits: int) -> list[str]:
    """Return a value for each method, as text."""
    return [_number(value, digits) for value in values.reindex(shown.columns)]


def _best(values: pd.Series[float], cells: Sequence[str], metric: Metric) -> list[int]:
    """Return the places of the best values; what is shown alike is equally good."""
    if len(values) < 2 or values.isna().all():
        return []
    winner = int(values.argmax() if metric.higher_is_better else values.argmin())
    return [j for j, cell in enumerate(cells) if cell == cells[winner]]


def _number(value: float, digits: int) -> str:
    return "–" if np.isnan(value) else f"{value:.{digits}f}"


def _spread(value: float, digits: int) -> str:
    return "" if np.isnan(value) else f" ± {value:.{digits}f}"


def to_markdown(text: str) -> str:
    r"""Return text on one line of Markdown, also in a table: no column, tag, link or emphasis of its own.

    Examples
    --------
    >>> print(to_markdown("<b>x_1</b> | _y_"))
    \<b\>x_1\</b\> \| \_y\_
    """
    return _MARKDOWN.sub(r"\\\g<0>", _plain(text))


def _plain(text: str) -> str:
    """Return text on one line, control characters as escapes."""
    return printable(" ".join(text.split()))


def _latex(text: str) -> str:
    return _SPECIAL.sub(lambda match: _LATEX[match.group()], _plain(text))


def _latex_row(cells: Sequence[str]) -> str:
    """Return a row; at its beginning, LaTeX would take a bracket or a star for a part of the row before it."""
    return f"{'{}' if cells[0].startswith(('[', '*')) else ''}{' & '.join(cells)} \\\\"
