"""Our figures beside the published ones: which are off, and which other way of doing it brings each of these there.

A figure is off where it is more than a point below the published one or more than four above it. A reason counts only
if it was tested: with another way of doing one thing the figure is no longer off, or two draws of the folds differ as
much. Every other figure that is off is "not explained".
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import sqrt
from statistics import fmean
from typing import Any

import pandas as pd

BELOW, ABOVE = 1.0, 4.0
MARKS = {"below": "▼", "above": "▲", "": ""}
#: The reason of a difference for which none was found.
NOT_EXPLAINED = "not explained"

_AVERAGE = "Average"
# Two-sided, one in twenty.
_QUANTILE = 1.96


@dataclass(frozen=True, eq=False)
class Way:
    """One thing done in another way, to see whether it is the reason of a difference.

    Attributes
    ----------
    name : str
        What is done otherwise, to be read after "with": ``"ten bins of equal width"``.
    figures : frame
        What comes out: data sets by methods, in the unit of the published figures; NaN where it was not tried.
    """

    name: str
    figures: pd.DataFrame


def compare_cells(ours: pd.DataFrame, published: pd.DataFrame) -> pd.DataFrame:
    """Return a row for each data set and method that both tables have.

    Parameters
    ----------
    ours, published : frame
        Data sets by methods, in per cent.

    Returns
    -------
    frame
        ``dataset``, ``method``, ``ours``, ``published``, ``difference`` (ours minus published) and ``off``: ``"below"``
        where ours is more than a point below, ``"above"`` where it is more than four above, else empty.

    Examples
    --------
    >>> ours = pd.DataFrame({"NBC": [80.0, 90.0], "TAN": [85.0, float("nan")]}, index=["A", "B"])
    >>> published = pd.DataFrame({"NBC": [82.0, 90.5], "TAN": [80.0, 91.0]}, index=["A", "B"])
    >>> compare_cells(ours, published)
      dataset method  ours  published  difference    off
    0       A    NBC  80.0       82.0        -2.0  below
    1       A    TAN  85.0       80.0         5.0  above
    2       B    NBC  90.0       90.5        -0.5
    """
    rows = []
    for dataset in (name for name in published.index if name in ours.index):
        for method in (name for name in published.columns if name in ours.columns):
            own, theirs = float(ours.loc[dataset, method]), float(published.loc[dataset, method])
            if own == own and theirs == theirs:
                rows.append((dataset, method, own, theirs, own - theirs, off(own, theirs)))
    return pd.DataFrame(rows, columns=["dataset", "method", "ours", "published", "difference", "off"])


def off(own: float, theirs: float) -> str:
    """Say whether a figure is ``"below"`` the published one by more than a point, or ``"above"`` by more than four.

    Examples
    --------
    >>> off(80.0, 82.0), off(86.0, 82.0), off(87.0, 82.0)
    ('below', '', 'above')
    """
    # Published figures have two decimals: what is a point below to that is not more than a point.
    gap = round(own - theirs, 2)
    return "below" if gap < -BELOW else "above" if gap > ABOVE else ""


def explain(cells: pd.DataFrame, ways: Iterable[Way], errors: pd.DataFrame | None = None) -> pd.DataFrame:
    """Return the cells that are off, each with a reason that was tested, or "not explained".

    Parameters
    ----------
    cells : frame
        From :func:`compare_cells`.
    ways : iterable of Way
        What was tried, the likeliest first. The first one with which a figure is no longer off is its reason.
    errors : frame, optional
        The standard error of our mean by the draw of the folds, data sets by methods. Where the published mean has the
        same, and the difference is within what two such means differ by in nineteen of twenty cases, that is the
        reason.

    Returns
    -------
    frame
        As `cells`, with ``reason``.

    Examples
    --------
    >>> ours = pd.DataFrame({"NBC": [80.0, 60.0]}, index=["A", "B"])
    >>> published = pd.DataFrame({"NBC": [82.0, 70.0]}, index=["A", "B"])
    >>> smoothed = Way("smoothed parameters", pd.DataFrame({"NBC": [81.5, 65.0]}, index=["A", "B"]))
    >>> explain(compare_cells(ours, published), [smoothed])[["dataset", "reason"]]
      dataset                            reason
    0       A  with smoothed parameters: 81.50
    1       B                    not explained
    """
    found = cells[cells["off"] != ""].reset_index(drop=True)
    tried = list(ways)
    columns = zip(found["dataset"], found["method"], found["published"], found["difference"], strict=True)
    reasons = [_reason(*cell, tried, errors) for cell in columns]
    return found.assign(reason=pd.Series(reasons, dtype=object))


def _reason(
    dataset: str, method: str, theirs: float, difference: float, ways: list[Way], errors: pd.DataFrame | None
) -> str:
    error = None if errors is None else _look_up(errors, dataset, method)
    if error is not None and abs(difference) <= _QUANTILE * sqrt(2) * error:
        return f"the draw of the folds: ± {_QUANTILE * sqrt(2) * error:.2f}"
    for way in ways:
        value = _look_up(way.figures, dataset, method)
        if value is not None and not off(value, theirs):
            return f"with {way.name}: {value:.2f}"
    return NOT_EXPLAINED


def _look_up(figures: pd.DataFrame, dataset: str, method: str) -> float | None:
    if dataset not in figures.index or method not in figures.columns:
        return None
    value: Any = figures.loc[dataset, method]
    return None if value != value else float(value)


def side_by_side(ours: pd.DataFrame, published: pd.DataFrame, digits: int = 2, marked: bool = True) -> pd.DataFrame:
    """Return a table of text, "ours (published)" for each data set and method, and the averages over what both have.

    Parameters
    ----------
    ours, published : frame
        Data sets by methods.
    digits : int
    marked : bool
        Whether figures that are off get a sign: ▼ more than a point below, ▲ more than four above.

    Examples
    --------
    >>> ours = pd.DataFrame({"NBC": [80.0, 90.0]}, index=["A", "B"])
    >>> theirs = pd.DataFrame({"NBC": [81.5, 90.5, 70.0]}, index=["A", "B", "C"])
    >>> side_by_side(ours, theirs, 1)
      data set            NBC
    0        A  80.0 (81.5) ▼
    1        B    90.0 (90.5)
    2  Average  85.0 (86.0)
    """
    methods = [name for name in published.columns if name in ours.columns]
    names = [name for name in published.index if name in ours.index and ours.loc[name, methods].notna().any()]
    columns: dict[str, list[str]] = {"data set": [*names, _AVERAGE]}
    for method in methods:
        pairs = [(float(ours.loc[name, method]), float(published.loc[name, method])) for name in names]
        both = [(a, b) for a, b in pairs if a == a and b == b]
        # Exactly rounded: what the built-in sum returns depends on the version of Python.
        means = list(map(fmean, zip(*both, strict=True))) if both else [float("nan")] * 2
        texts = [_cell(a, b, digits, marked) for a, b in pairs]
        columns[method] = [*texts, _cell(means[0], means[1], digits, False)]
    return pd.DataFrame(columns)


def _cell(own: float, theirs: float, digits: int, marked: bool) -> str:
    if own != own:
        return "–"
    beside = f" ({theirs:.{digits}f})" if theirs == theirs else ""
    mark = MARKS[off(own, theirs)] if marked and beside else ""
    return f"{own:.{digits}f}{beside}{f' {mark}' if mark else ''}"
