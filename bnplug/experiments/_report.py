"""Writing a comparison to a folder: tables, statistics and pictures."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from bnplug.exchange.files import write_atomically
from bnplug.experiments import pictures
from bnplug.experiments._metrics import FOLD_METRICS, find_metric
from bnplug.experiments._tables import TextTable, frame_table, to_markdown
from bnplug.experiments.comparison import Comparison

if TYPE_CHECKING:
    from matplotlib.axes import Axes


# The type of an error, with which its text begins.
_TYPE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(?=:|$)")

#: Note on the error messages, which pages and displays omit.
WITHOUT_MESSAGES = "The error messages may quote values of the data, so they are only in Comparison.failed_methods."

#: What the page of a comparison contains.
CONTENTS = (
    "This page contains the names of data sets and methods, and results computed on the folds. It contains no rows "
    "of data."
)


def write_report(comparison: Comparison, folder: Path, metric: str = "accuracy") -> list[Path]:
    """Write what a comparison found to a folder that exists.

    ``table.md`` (with the tests that the comparison allows), ``table.csv`` (all figures), ``table.tex``,
    and where matplotlib is installed ``time.png``, ``scatter.png`` of the first two methods and
    ``critical-difference.png``.

    Returns
    -------
    list of path
        The files.
    """
    texts = {
        "table.md": to_page(comparison, metric),
        "table.csv": comparison.to_csv(),
        "table.tex": comparison.to_latex(metric) + "\n",
    }
    for name, text in texts.items():
        write_atomically(folder / name, text)
    return [folder / name for name in texts] + _write_pictures(comparison, folder, metric)


class Part(NamedTuple):
    """A part of the page on a comparison: a title, words, a table, and lines of a list; what is empty is left out."""

    title: str = ""
    text: str = ""
    table: TextTable | None = None
    lines: Sequence[str] = ()


def parts_of(comparison: Comparison, metric: str = "accuracy") -> list[Part]:
    """Return the table of a comparison, the tests that it allows, and the folds that failed."""
    parts = [Part(f"Comparison: {find_metric(metric).label}", table=comparison.text_table(metric))]
    parts += [*_tests(comparison, metric), *_tests_within(comparison, metric)]
    failures = failure_types(comparison)
    if failures:
        parts.append(Part("Folds that failed", WITHOUT_MESSAGES, lines=failures))
    return parts


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


def told_failures(comparison: Comparison) -> list[str]:
    """Return a line for each data set and method that failed on it, with the number of folds and the first error."""
    return [
        f"{row['dataset']}, {row['method']}, {row['folds']} of {row['of']} folds: {row['error']}"
        + (f" (and {row['others']} other errors)" if row["others"] else "")
        for row in comparison.failed_methods.to_dict("records")
    ]


def failure_types(comparison: Comparison) -> list[str]:
    """Return the lines of :func:`told_failures` without error messages, which may quote values of the data."""
    return [
        f"{row['dataset']}, {row['method']}, {row['folds']} of {row['of']} folds: {_type_of(row['error'])}"
        for row in comparison.failed_methods.to_dict("records")
    ]


def _type_of(error: str) -> str:
    """Return the type of an error, with which its text begins."""
    match = _TYPE.match(error)
    return match[0] if match else "an error"


def _tests(comparison: Comparison, metric: str) -> list[Part]:
    """Return what the tests over data sets say, those that there are enough data sets and methods for."""
    n_datasets, n_methods = comparison.complete(metric).shape
    parts: list[Part] = []
    if n_datasets >= 2 and n_methods >= 3:
        test, post_hoc = comparison.friedman(metric), comparison.nemenyi(metric)
        said = (
            f"Friedman test over {test.n_datasets} data sets: chi-square {test.chi_square:.3f} with "
            f"{test.degrees_of_freedom} degrees of freedom, p = {test.p_value:.3g} (Iman and Davenport: "
            f"F = {test.f_statistic:.3f}, p = {test.f_p_value:.3g}). Nemenyi's critical difference of average ranks "
            f"at {post_hoc.alpha}: {post_hoc.critical_difference:.3f}."
        )
        parts.append(Part(text=said))
    if n_datasets >= 2 and n_methods >= 2:
        pairs = comparison.pairs(metric).rename(columns={"sign": "sign test", "t_test": "paired t-test"})
        said = "Data sets that the first wins, draws and loses; two-sided p-values."
        parts.append(Part("Every two methods", said, frame_table(pairs.set_index("first"), digits=4)))
    return parts


def _tests_within(comparison: Comparison, metric: str) -> list[Part]:
    """Return how the first method differs from the others on each data set, where there are folds to tell."""
    if metric not in FOLD_METRICS or len(comparison.methods) < 2:
        return []
    first = comparison.methods[0]
    p_values = comparison.corrected_t_tests(first, metric).dropna(how="all")
    if not len(p_values):
        return []
    said = "Two-sided p-values of the corrected repeated k-fold t-test."
    table = frame_table(p_values.rename_axis("data set"), digits=4)
    return [Part(f"{first} against the others, on each data set", said, table)]


def pictures_of(comparison: Comparison, metric: str) -> dict[str, Axes]:
    """Return what there is to draw, by name; nothing where matplotlib is not installed."""
    try:
        import matplotlib  # noqa: F401
    except ImportError:
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


def _write_pictures(comparison: Comparison, folder: Path, metric: str) -> list[Path]:
    drawn = {folder / f"{name}.png": ax for name, ax in pictures_of(comparison, metric).items()}
    for path, ax in drawn.items():
        pictures.save_figure(ax, path)
    return list(drawn)
