"""Our figures beside the published ones: which are off, and which other way of doing it brings each of these there.

A figure is off where it is more than a point below the published one or more than four above it. A reason counts only
if it was tested: with another way of doing one thing the figure is no longer off, or two draws of the folds differ as
much. Every other figure that is off is "not explained".
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from math import sqrt
from statistics import fmean
from typing import Any

import pandas as pd
from scipy import stats

BELOW, ABOVE = 1.0, 4.0
#: The signs of figures that are off, by what :func:`off` says.
MARKS = {"below": "▼", "above": "▲", "": ""}
#: What the marks mean, for the caption of a table.
MARKED = "▼ is more than a point below, ▲ more than four above the published figure."
#: The reason of a difference for which none was found.
NOT_EXPLAINED = "not explained"

#: The row of averages in a table.
AVERAGE = "Average"
# Two-sided, one in twenty.
_LEVEL, _QUANTILE = 0.05, 1.96
# Decimals to which two figures of the same folds are the same.
_SAME = 9


@dataclass(frozen=True, eq=False)
class Way:
    """One thing done in another way, to see whether it is the reason of a difference.

    Attributes
    ----------
    name : str
        What is done otherwise, to be read after "with": ``"ten bins of equal width"``.
    figures : frame
        What comes out: data sets by methods, in the unit of the published figures; NaN where it was not tried.
    base : frame, optional
        What comes out on the same folds without it, where these are fewer than those of our figures. What the way
        changes there is then added to our figures, so that the draw of the folds is not taken for the way.

    Examples
    --------
    >>> first = pd.DataFrame({"NBC": [79.0]}, index=["A"])
    >>> Way("smoothed parameters", first + 1.5, first).figure("A", "NBC", 80.0)
    81.5
    """

    name: str
    figures: pd.DataFrame
    base: pd.DataFrame | None = None

    def figure(self, dataset: str, method: str, ours: float) -> float | None:
        """Return what our figure is with this way; None where it was not tried."""
        value = _look_up(self.figures, dataset, method)
        if value is None or self.base is None:
            return value
        without = _look_up(self.base, dataset, method)
        return None if without is None else ours + round(value - without, _SAME)


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


def explain(
    cells: pd.DataFrame,
    ways: Iterable[Way],
    errors: pd.DataFrame | None = None,
    draws: pd.DataFrame | None = None,
) -> pd.DataFrame:
    """Return the cells that are off, each with a reason that was tested, or "not explained".

    Parameters
    ----------
    cells : frame
        From :func:`compare_cells`.
    ways : iterable of Way
        What was tried, the likeliest first. The first one with which a figure is no longer off is its reason. One that
        changes nothing is never a reason.
    errors : frame, optional
        The standard error of our mean by the draw of the folds, data sets by methods. Where the published mean has the
        same, and the difference is within what two such means differ by in nineteen of twenty cases, that is the
        reason.
    draws : frame, optional
        From how many draws each error is estimated; with it the quantile is Student's, else that of the normal
        distribution.

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
    reasons = [
        _by_draw(cell, errors, draws) or _by_way(cell, tried) or NOT_EXPLAINED for cell in found.to_dict("records")
    ]
    return found.assign(reason=pd.Series(reasons, dtype=object))


def _by_draw(cell: Mapping[Any, Any], errors: pd.DataFrame | None, draws: pd.DataFrame | None) -> str:
    """Say that two draws of the folds differ as much as a cell is off, or nothing."""
    error = None if errors is None else _look_up(errors, cell["dataset"], cell["method"])
    if error is None:
        return ""
    number = None if draws is None else _look_up(draws, cell["dataset"], cell["method"])
    quantile = _QUANTILE if number is None else float(stats.t.isf(_LEVEL / 2, number - 1))
    within = quantile * sqrt(2) * error
    return f"the draw of the folds: ± {within:.2f}" if abs(cell["difference"]) <= within else ""


def _by_way(cell: Mapping[Any, Any], ways: Iterable[Way]) -> str:
    """Name the first way with which a cell is no longer off, or nothing."""
    for way in ways:
        value = way.figure(cell["dataset"], cell["method"], cell["ours"])
        if value is not None and not off(value, cell["published"]):
            moved = "" if way.base is None else f" ({value - cell['ours']:+.2f})"
            return f"with {way.name}: {value:.2f}{moved}"
    return ""


def _look_up(figures: pd.DataFrame, dataset: str, method: str) -> float | None:
    if dataset not in figures.index or method not in figures.columns:
        return None
    value: Any = figures.loc[dataset, method]
    return None if value != value else float(value)


def with_averages(table: pd.DataFrame, other: pd.DataFrame, names: Collection[str] | None = None) -> pd.DataFrame:
    """Return a table with a row of averages over the data sets that another one has, too.

    Parameters
    ----------
    table, other : frame
        Data sets by methods.
    names : collection of str, optional
        The data sets that count; all where it is not given.

    Examples
    --------
    >>> table = pd.DataFrame({"NBC": [80.0, 90.0, 60.0, 10.0]}, index=["A", "B", "C", "D"])
    >>> with_averages(table, table.loc[["A", "B", "D"]], ["A", "B", "C"])["NBC"].tolist()
    [80.0, 90.0, 60.0, 10.0, 85.0]
    """
    known = table.where(other.reindex(index=table.index, columns=table.columns).notna())
    known = known if names is None else known[known.index.isin(list(names))]
    # Exactly rounded, as in the tables that show figures side by side.
    means = {name: fmean(own) if len(own := known[name].dropna()) else float("nan") for name in known}
    return pd.concat([table, pd.DataFrame(means, index=[AVERAGE])])


def averaged(way: Way, ours: pd.DataFrame, theirs: pd.DataFrame, names: Collection[str] | None = None) -> Way:
    """Return a way with what it changes in averages; data sets on which it was not tried are as they are.

    Where its figures of the data sets are no nearer to the published ones than ours, it has no average: a change that
    brings an average there by chance is no reason.

    Parameters
    ----------
    way : Way
    ours, theirs : frame
        Our figures and the published ones, without averages.
    names : collection of str, optional
        As for :func:`with_averages`.

    Examples
    --------
    >>> ours, theirs = (pd.DataFrame({"NBC": own}, index=["A", "B"]) for own in ([80.0, 90.0], [82.0, 90.0]))
    >>> averaged(Way("smoothed parameters", ours[:1] + 1), ours, theirs).figure("Average", "NBC", 85.0)
    85.5
    """
    base = ours if way.base is None else way.base
    change = (way.figures - base).reindex(index=ours.index, columns=way.figures.columns)
    tried = [name for name in change if name in ours and change[name].notna().any()]
    moved = ours[tried] + change[tried].fillna(0.0)
    counted = ours.index if names is None else ours.index[ours.index.isin(list(names))]
    gaps = [(table - theirs.reindex(columns=tried)).loc[counted].abs().mean() for table in (moved, ours[tried])]
    means, unmoved = (with_averages(table, theirs, names).loc[[AVERAGE]] for table in (moved, ours[tried]))
    return Way(way.name, pd.concat([way.figures, means.loc[:, gaps[0] < gaps[1]]]), pd.concat([base, unmoved]))


def telling(way: Way, cells: pd.DataFrame) -> dict[str, int]:
    """Return how many figures a way was tried for, how many it changes, and how many are off before and with it.

    Parameters
    ----------
    way : Way
    cells : frame
        From :func:`compare_cells`.

    Examples
    --------
    >>> ours, theirs = (pd.DataFrame({"NBC": own}, index=["A", "B"]) for own in ([80.0, 90.0], [82.0, 90.0]))
    >>> telling(Way("other cuts", ours + 1.5), compare_cells(ours, theirs))
    {'tried': 2, 'changed': 2, 'off before': 1, 'of these no longer': 1, 'newly off': 0}
    """
    tried = [(row, way.figure(row["dataset"], row["method"], row["ours"])) for row in cells.to_dict("records")]
    known = [(row, value) for row, value in tried if value is not None]
    pairs = [(row["off"] != "", off(value, row["published"]) != "") for row, value in known]
    return {
        "tried": len(known), "changed": sum(value != row["ours"] for row, value in known),
        "off before": sum(before for before, _ in pairs), "of these no longer": pairs.count((True, False)),
        "newly off": pairs.count((False, True)),
    }  # fmt: skip


def side_by_side(
    ours: pd.DataFrame, published: pd.DataFrame, digits: int = 2, marked: bool = True, mark_averages: bool = False
) -> pd.DataFrame:
    """Return a table of text, "ours (published)" for each data set and method, and the averages over what both have.

    Parameters
    ----------
    ours, published : frame
        Data sets by methods.
    digits : int
    marked : bool
        Whether figures that are off get a sign: ▼ more than a point below, ▲ more than four above.
    mark_averages : bool
        Whether averages get one, too.

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
    columns: dict[str, list[str]] = {"data set": [*names, AVERAGE]}
    for method in methods:
        pairs = [(float(ours.loc[name, method]), float(published.loc[name, method])) for name in names]
        both = [(a, b) for a, b in pairs if a == a and b == b]
        # Exactly rounded: what the built-in sum returns depends on the version of Python.
        means = list(map(fmean, zip(*both, strict=True))) if both else [float("nan")] * 2
        texts = [_cell(a, b, digits, marked) for a, b in pairs]
        columns[method] = [*texts, _cell(means[0], means[1], digits, mark_averages)]
    return pd.DataFrame(columns)


def _cell(own: float, theirs: float, digits: int, marked: bool) -> str:
    if own != own:
        return "–"
    beside = f" ({theirs:.{digits}f})" if theirs == theirs else ""
    mark = MARKS[off(own, theirs)] if marked and beside else ""
    return f"{own:.{digits}f}{beside}{f' {mark}' if mark else ''}"
