"""Compare our figures with the published ones: which deviate, and which variant of the protocol explains it.

A figure deviates if it is more than one point below the published figure or more than four above it. An explanation
counts only if it was tested: in a variant of the protocol the figure no longer deviates, or two draws of the folds
differ as much. Every other deviation is "not explained".
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
#: The marks of deviating figures, by the result of :func:`deviation`.
MARKS = {"below": "▼", "above": "▲", "": ""}
#: What the marks mean, for the caption of a table.
MARKED = "▼ is more than a point below, ▲ more than four above the published figure."
#: The reason given for a deviation that no tested variant explains.
NOT_EXPLAINED = "not explained"

#: The row of averages in a table.
AVERAGE = "Average"
# Two-sided, one in twenty.
_LEVEL, _QUANTILE = 0.05, 1.96
# Decimals to which two figures of the same folds are the same.
_SAME = 9


@dataclass(frozen=True, eq=False)
class Variant:
    """A variant of the protocol that differs in one respect, tested as the reason of a deviation.

    Attributes
    ----------
    name : str
        What differs, to be read after "with": ``"ten bins of equal width"``.
    figures : frame
        Its results, data sets by methods, in the unit of the published figures; NaN where it was not run.
    base : frame, optional
        The results on the same folds without the variant, if these are fewer than the folds of our figures. The
        change on these folds is then added to our figures, to separate the variant from the draw of the folds.

    Examples
    --------
    >>> first = pd.DataFrame({"NBC": [79.0]}, index=["A"])
    >>> Variant("smoothed parameters", first + 1.5, first).figure("A", "NBC", 80.0)
    81.5
    """

    name: str
    figures: pd.DataFrame
    base: pd.DataFrame | None = None

    def figure(self, dataset: str, method: str, ours: float) -> float | None:
        """Return our figure in this variant; None where the variant was not run."""
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
        ``dataset``, ``method``, ``ours``, ``published``, ``difference`` (ours minus published) and ``deviation``, as
        returned by :func:`deviation`.

    Examples
    --------
    >>> ours = pd.DataFrame({"NBC": [80.0, 90.0], "TAN": [85.0, float("nan")]}, index=["A", "B"])
    >>> published = pd.DataFrame({"NBC": [82.0, 90.5], "TAN": [80.0, 91.0]}, index=["A", "B"])
    >>> compare_cells(ours, published)
      dataset method  ours  published  difference deviation
    0       A    NBC  80.0       82.0        -2.0     below
    1       A    TAN  85.0       80.0         5.0     above
    2       B    NBC  90.0       90.5        -0.5
    """
    rows = []
    for dataset in (name for name in published.index if name in ours.index):
        for method in (name for name in published.columns if name in ours.columns):
            figure, theirs = float(ours.loc[dataset, method]), float(published.loc[dataset, method])
            if figure == figure and theirs == theirs:
                rows.append((dataset, method, figure, theirs, figure - theirs, deviation(figure, theirs)))
    return pd.DataFrame(rows, columns=["dataset", "method", "ours", "published", "difference", "deviation"])


def deviation(ours: float, theirs: float) -> str:
    """Return ``"below"`` if a figure is more than a point below the published one, ``"above"`` if more than four above.

    Otherwise, return an empty string.

    Examples
    --------
    >>> deviation(80.0, 82.0), deviation(86.0, 82.0), deviation(87.0, 82.0)
    ('below', '', 'above')
    """
    # Published figures have two decimals: a gap of exactly one point at that precision is not more than a point.
    gap = round(ours - theirs, 2)
    return "below" if gap < -BELOW else "above" if gap > ABOVE else ""


def explain(
    cells: pd.DataFrame,
    variants: Iterable[Variant],
    errors: pd.DataFrame | None = None,
    draws: pd.DataFrame | None = None,
) -> pd.DataFrame:
    """Return the deviating cells, each with a reason that was tested, or "not explained".

    Parameters
    ----------
    cells : frame
        From :func:`compare_cells`.
    variants : iterable of Variant
        The variants that were run, the likeliest first. The first one in which a figure no longer deviates is its
        reason. A variant that changes nothing is never a reason.
    errors : frame, optional
        The standard error of our mean over draws of the folds, data sets by methods. The draw of the folds is the
        reason of a difference within the 95% interval for two means that both have this error.
    draws : frame, optional
        The number of draws that each error is estimated from. The interval uses Student's t if it is given, and the
        normal distribution otherwise.

    Returns
    -------
    frame
        As `cells`, with ``reason``.

    Examples
    --------
    >>> ours = pd.DataFrame({"NBC": [80.0, 60.0]}, index=["A", "B"])
    >>> published = pd.DataFrame({"NBC": [82.0, 70.0]}, index=["A", "B"])
    >>> smoothed = Variant("smoothed parameters", pd.DataFrame({"NBC": [81.5, 65.0]}, index=["A", "B"]))
    >>> explain(compare_cells(ours, published), [smoothed])[["dataset", "reason"]]
      dataset                            reason
    0       A  with smoothed parameters: 81.50
    1       B                    not explained
    """
    deviating = cells[cells["deviation"] != ""].reset_index(drop=True)
    tried = list(variants)
    reasons = [
        _by_draw(cell, errors, draws) or _by_variant(cell, tried) or NOT_EXPLAINED
        for cell in deviating.to_dict("records")
    ]
    return deviating.assign(reason=pd.Series(reasons, dtype=object))


def _by_draw(cell: Mapping[Any, Any], errors: pd.DataFrame | None, draws: pd.DataFrame | None) -> str:
    """Return the draw of the folds as a reason if two draws may differ as much as a cell deviates, else nothing."""
    error = None if errors is None else _look_up(errors, cell["dataset"], cell["method"])
    if error is None:
        return ""
    number = None if draws is None else _look_up(draws, cell["dataset"], cell["method"])
    quantile = _QUANTILE if number is None else float(stats.t.isf(_LEVEL / 2, number - 1))
    within = quantile * sqrt(2) * error
    return f"the draw of the folds: ± {within:.2f}" if abs(cell["difference"]) <= within else ""


def _by_variant(cell: Mapping[Any, Any], variants: Iterable[Variant]) -> str:
    """Name the first variant in which a cell no longer deviates, else nothing."""
    for variant in variants:
        value = variant.figure(cell["dataset"], cell["method"], cell["ours"])
        if value is not None and not deviation(value, cell["published"]):
            moved = "" if variant.base is None else f" ({value - cell['ours']:+.2f})"
            return f"with {variant.name}: {value:.2f}{moved}"
    return ""


def _look_up(figures: pd.DataFrame, dataset: str, method: str) -> float | None:
    if dataset not in figures.index or method not in figures.columns:
        return None
    value: Any = figures.loc[dataset, method]
    return None if value != value else float(value)


def with_averages(table: pd.DataFrame, other: pd.DataFrame, names: Collection[str] | None = None) -> pd.DataFrame:
    """Append a row of averages over the data sets that another table has, too.

    Parameters
    ----------
    table, other : frame
        Data sets by methods.
    names : collection of str, optional
        The data sets to average over; all by default.

    Examples
    --------
    >>> table = pd.DataFrame({"NBC": [80.0, 90.0, 60.0, 10.0]}, index=["A", "B", "C", "D"])
    >>> with_averages(table, table.loc[["A", "B", "D"]], ["A", "B", "C"])["NBC"].tolist()
    [80.0, 90.0, 60.0, 10.0, 85.0]
    """
    known = table.where(other.reindex(index=table.index, columns=table.columns).notna())
    known = known if names is None else known[known.index.isin(list(names))]
    # Exactly rounded, as in the tables that show figures side by side.
    means = {name: fmean(column) if len(column := known[name].dropna()) else float("nan") for name in known}
    return pd.concat([table, pd.DataFrame(means, index=[AVERAGE])])


def averaged(
    variant: Variant, ours: pd.DataFrame, theirs: pd.DataFrame, names: Collection[str] | None = None
) -> Variant:
    """Return a variant with averages; data sets on which it was not run keep our figures.

    If its figures of the data sets are no nearer to the published ones than ours, it gets no average: a change that
    matches an average by chance is no reason.

    Parameters
    ----------
    variant : Variant
    ours, theirs : frame
        Our figures and the published ones, without averages.
    names : collection of str, optional
        As for :func:`with_averages`.

    Examples
    --------
    >>> ours, theirs = (pd.DataFrame({"NBC": column}, index=["A", "B"]) for column in ([80.0, 90.0], [82.0, 90.0]))
    >>> averaged(Variant("smoothed parameters", ours[:1] + 1), ours, theirs).figure("Average", "NBC", 85.0)
    85.5
    """
    base = ours if variant.base is None else variant.base
    change = (variant.figures - base).reindex(index=ours.index, columns=variant.figures.columns)
    tried = [name for name in change if name in ours and change[name].notna().any()]
    moved = ours[tried] + change[tried].fillna(0.0)
    counted = ours.index if names is None else ours.index[ours.index.isin(list(names))]
    gaps = [(table - theirs.reindex(columns=tried)).loc[counted].abs().mean() for table in (moved, ours[tried])]
    means, unmoved = (with_averages(table, theirs, names).loc[[AVERAGE]] for table in (moved, ours[tried]))
    figures = pd.concat([variant.figures, means.loc[:, gaps[0] < gaps[1]]])
    return Variant(variant.name, figures, pd.concat([base, unmoved]))


def variant_effect(variant: Variant, cells: pd.DataFrame) -> dict[str, int]:
    """Count the figures a variant was run for, those it changes, and those that deviate before and with it.

    Parameters
    ----------
    variant : Variant
    cells : frame
        From :func:`compare_cells`.

    Examples
    --------
    >>> ours, theirs = (pd.DataFrame({"NBC": column}, index=["A", "B"]) for column in ([80.0, 90.0], [82.0, 90.0]))
    >>> variant_effect(Variant("other cuts", ours + 1.5), compare_cells(ours, theirs))
    {'tried': 2, 'changed': 2, 'off before': 1, 'of these no longer': 1, 'newly off': 0}
    """
    tried = [(row, variant.figure(row["dataset"], row["method"], row["ours"])) for row in cells.to_dict("records")]
    known = [(row, value) for row, value in tried if value is not None]
    pairs = [(row["deviation"] != "", deviation(value, row["published"]) != "") for row, value in known]
    return {
        "tried": len(known), "changed": sum(value != row["ours"] for row, value in known),
        "off before": sum(before for before, _ in pairs), "of these no longer": pairs.count((True, False)),
        "newly off": pairs.count((False, True)),
    }  # fmt: skip


def side_by_side(
    ours: pd.DataFrame, published: pd.DataFrame, digits: int = 2, marked: bool = True, mark_averages: bool = False
) -> pd.DataFrame:
    """Return a table of text, "ours (published)" for each data set and method, with averages over what both have.

    Parameters
    ----------
    ours, published : frame
        Data sets by methods.
    digits : int
    marked : bool
        Whether to mark deviating figures: ▼ more than a point below, ▲ more than four above.
    mark_averages : bool
        Whether to mark averages, too.

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


def _cell(ours: float, theirs: float, digits: int, marked: bool) -> str:
    if ours != ours:
        return "–"
    beside = f" ({theirs:.{digits}f})" if theirs == theirs else ""
    mark = MARKS[deviation(ours, theirs)] if marked and beside else ""
    return f"{ours:.{digits}f}{beside}{f' {mark}' if mark else ''}"
