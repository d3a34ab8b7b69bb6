"""A comparison as an HTML page, a Markdown page, and a folder of tables and pictures."""

from __future__ import annotations

import base64
import io
import re
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from bnplug.experiments import pictures
from bnplug.experiments._tables import FOLD_METRICS, TextTable, find_metric, frame_table, to_markdown
from bnplug.experiments.compare import Comparison
from bnplug.files import write_atomically
from bnplug.html import contents, render

if TYPE_CHECKING:
    from matplotlib.axes import Axes


# The type of an error, at the beginning of its text.
_TYPE = re.compile(r"\A[A-Za-z_][A-Za-z0-9_]*(?=:|$)")
_TITLES = {
    "time": "Accuracy against the time of learning",
    "scatter": "The first two methods",
    "critical-difference": "Average ranks, and the difference that is needed",
}

#: Note on the error messages, which pages and displays omit.
WITHOUT_MESSAGES = "The error messages may quote values of the data, so they are only in Comparison.failed_methods."

#: The contents of a page on a comparison.
CONTENTS = contents("the names of data sets and methods, and results computed on the folds")


class Part(NamedTuple):
    """A part of a page on a comparison: a title, text, a table, and list items; empty fields are omitted."""

    title: str = ""
    text: str = ""
    table: TextTable | None = None
    lines: Sequence[str] = ()


def to_html(comparison: Comparison, metric: str = "accuracy") -> str:
    """Return a comparison as one self-contained HTML page: the table, the tests that it allows, and pictures.

    The page loads nothing and runs no script. It has pictures if matplotlib is installed.
    """
    first, *others = parts_of(comparison, metric)
    drawn = [(_TITLES[name], _svg(ax)) for name, ax in pictures_of(comparison, metric).items()]
    parts = [first._replace(title=""), *others]
    return render("comparison.html", title=first.title, parts=parts, pictures=drawn, images=True, contents=CONTENTS)


def _svg(ax: Axes) -> str:
    """Return a picture in base64, with the same bytes for the same picture."""
    from matplotlib import rc_context

    drawn = io.BytesIO()
    with rc_context({"svg.hashsalt": "bnplug"}):
        ax.figure.canvas.print_figure(drawn, format="svg", metadata={"Date": None})
    return base64.b64encode(drawn.getvalue()).decode()


def to_page(comparison: Comparison, metric: str = "accuracy") -> str:
    """Return the table with its statistics and failures as a Markdown page."""
    written = []
    for number, part in enumerate(parts_of(comparison, metric)):
        if part.title:
            written.append(f"{'##' if number else '#'} {to_markdown(part.title) if number else part.title}")
        if part.text:
            written.append(part.text)
        if part.table is not None:
            written.append(part.table.to_markdown())
        if part.lines:
            written.append("\n".join(f"- {to_markdown(line)}" for line in part.lines))
    return "\n\n".join([*written, CONTENTS]) + "\n"


def write_report(comparison: Comparison, folder: Path, metric: str = "accuracy") -> list[Path]:
    """Write the results of a comparison to an existing folder; return the files.

    The files are ``table.md`` (with the tests that the comparison allows), ``table.csv`` (all results), ``table.tex``
    and, if matplotlib is installed, ``time.png``, ``scatter.png`` for the first two methods and
    ``critical-difference.png``.
    """
    texts = {
        folder / "table.md": to_page(comparison, metric),
        folder / "table.csv": comparison.to_csv(),
        folder / "table.tex": comparison.to_latex(metric) + "\n",
    }
    for path, text in texts.items():
        write_atomically(path, text)
    drawn = {folder / f"{name}.png": ax for name, ax in pictures_of(comparison, metric).items()}
    for path, ax in drawn.items():
        pictures.save_figure(ax, path)
    return [*texts, *drawn]


def parts_of(comparison: Comparison, metric: str = "accuracy") -> list[Part]:
    """Return the table of a comparison, the tests that it allows, and the folds that failed."""
    parts = [Part(f"Comparison: {find_metric(metric).label}", table=comparison.text_table(metric))]
    n_datasets, n_methods = comparison.complete(metric).shape
    if n_datasets >= 2 and n_methods >= 3:
        test, post_hoc = comparison.friedman(metric), comparison.nemenyi(metric)
        text = (
            f"Friedman test over {test.n_datasets} data sets: chi-square {test.chi_square:.3f} with "
            f"{test.degrees_of_freedom} degrees of freedom, p = {test.p_value:.3g} (Iman and Davenport: "
            f"F = {test.f_statistic:.3f}, p = {test.f_p_value:.3g}). Nemenyi's critical difference of average ranks "
            f"at {post_hoc.alpha}: {post_hoc.critical_difference:.3f}."
        )
        parts.append(Part(text=text))
    if n_datasets >= 2 and n_methods >= 2:
        pairs = comparison.pairs(metric).rename(columns={"sign": "sign test", "t_test": "paired t-test"})
        text = "Data sets that the first wins, draws and loses; two-sided p-values."
        parts.append(Part("Every two methods", text, frame_table(pairs.set_index("first"), digits=4)))
    if metric in FOLD_METRICS and len(comparison.methods) > 1:
        first = comparison.methods[0]
        p_values = comparison.corrected_t_tests(first, metric).dropna(how="all").rename_axis("data set")
        text = "Two-sided p-values of the corrected repeated k-fold t-test."
        if len(p_values):
            title = f"{first} against the others, on each data set"
            parts.append(Part(title, text, frame_table(p_values, digits=4)))
    failures = describe_failures(comparison, with_messages=False)
    if failures:
        parts.append(Part("Folds that failed", WITHOUT_MESSAGES, lines=failures))
    return parts


def describe_failures(comparison: Comparison, with_messages: bool = True) -> list[str]:
    """Return a line per data set and method that failed on it; error messages may quote values of the data."""
    lines = []
    for row in comparison.failed_methods.to_dict("records"):
        others = f" (and {row['others']} other errors)" if row["others"] else ""
        error = row["error"] + others if with_messages else next(iter(_TYPE.findall(row["error"])), "an error")
        lines.append(f"{row['dataset']}, {row['method']}, {row['folds']} of {row['of']} folds: {error}")
    return lines


def pictures_of(comparison: Comparison, metric: str) -> dict[str, Axes]:
    """Return the pictures of a comparison by name; none if matplotlib is not installed."""
    if find_spec("matplotlib") is None:
        return {}
    n_datasets, n_methods = comparison.complete(metric).shape
    drawn = {}
    if n_datasets:
        drawn["time"] = pictures.time_accuracy(comparison, metric)
    if n_datasets and n_methods >= 2:
        first, second = comparison.complete(metric).columns[:2]
        drawn["scatter"] = pictures.scatter(comparison, first, second, metric)
    if n_datasets >= 2 and n_methods >= 3:
        drawn["critical-difference"] = pictures.critical_difference(comparison.nemenyi(metric))
    return drawn
