"""Checks of rows: duplicates, contradictions, classes with few rows, and the order of rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd

from bnplug.typing import FloatArray
from bnplug_inspect._profile import Profile
from bnplug_inspect._relations import SampledColumn
from bnplug_inspect._text import rows_text, share_text
from bnplug_inspect.findings import Finding, Fix

# More equal rows than by chance: this many more, and at least this many.
_MORE_TWINS, _FEWEST_TWINS = 10, 3
# A class is small with fewer rows, or with less than this share of its part of the rows.
_FEWEST_OF_CLASS, _LEAST_PART = 10, 0.2
# Rows are sorted by class if it changes less often than by chance: by standard deviations, and as a share.
_FEWER_CHANGES, _SHARE_OF_CHANGES = 6.0, 0.5
_FEWEST_SORTED = 30
_MIX = np.uint64(0x9E3779B97F4A7C15)


def check_duplicates(profile: Profile, columns: Sequence[SampledColumn]) -> Iterator[Finding]:
    """Yield findings about equal rows that are too many for chance, and about their classes."""
    prints, classes = profile.prints, profile.print_classes
    if len(prints) < 2:
        return
    order = np.lexsort((classes, prints))
    prints, classes = prints[order], classes[order]
    same = prints[1:] == prints[:-1]
    equal = same & (classes[1:] == classes[:-1])
    # By chance, features alone would agree more often than rows with their classes.
    expected = _expected_twins(columns, profile.n_rows) * profile.print_share
    n_again, n_other = int(equal.sum()), int((same & ~equal).sum())
    by_chance = max(_FEWEST_TWINS, _MORE_TWINS * expected)
    about = "" if profile.print_share == 1 else "about "
    if n_again >= by_chance:
        n = int(n_again / profile.print_share)
        yield Finding(
            "duplicates",
            (),
            "medium" if n >= 0.01 * profile.n_rows else "low",
            f"{about}{rows_text(n)} ({share_text(n, profile.n_rows)}) repeat another row; by chance {expected:,.0f} "
            "would",
            "Remove repeated rows, or keep them together when splitting: copies in training and test rows make scores "
            "too optimistic.",
            Fix(lines=("data = data.drop_duplicates()",)),
        )
    if n_other >= by_chance and profile.target is not None:
        groups = np.cumsum(np.append(True, ~same))
        mixed = np.unique(groups[1:][same & ~equal])
        n = int(np.isin(groups, mixed).sum() / profile.print_share)
        yield Finding(
            "contradictions",
            (),
            "medium",
            f"{about}{rows_text(n)} have the same features as a row of another class",
            "Find out which class is right: no model can predict both.",
        )


def _expected_twins(columns: Sequence[SampledColumn], n_rows: int) -> float:
    """Return the number of pairs of equal rows that independent columns would have.

    The chance that two rows agree in a column is estimated from distinct rows, since repeated rows agree in each.
    """
    prints = np.zeros(len(columns[0].codes) if columns else 0, dtype=np.uint64)
    for column in columns:
        prints = (prints ^ column.codes.astype(np.uint64)) * _MIX
        prints ^= prints >> np.uint64(29)
    _, first = np.unique(prints, return_index=True)
    n, log_p = len(first), 0.0
    if n < 2:
        return float("inf")
    for column in columns:
        rows = np.bincount(column.codes[first]).astype(np.float64)
        log_p += np.log(max(float((rows * (rows - 1)).sum()), 1.0) / (n * (n - 1.0)))
    return float(n_rows * (n_rows - 1.0) / 2 * np.exp(log_p))


def check_classes(profile: Profile) -> Iterator[Finding]:
    """Yield findings about rows without a class, and about classes with few rows."""
    if profile.target is None:
        return
    n, rows = int(profile.class_rows.sum()), profile.class_rows
    if n < profile.n_rows:
        without = profile.n_rows - n
        yield Finding(
            "missing-class",
            (profile.target,),
            "medium",
            f"{rows_text(without)} ({share_text(without, profile.n_rows)}) have no class",
            'Remove them, or learn from them too with missing="em".',
            Fix(lines=(f"data = data.dropna(subset=[{profile.target!r}])",)),
        )
    few = [i for i in range(len(rows)) if rows[i] < max(_FEWEST_OF_CLASS, _LEAST_PART * n / len(rows))]
    if few and len(rows) > 1:
        labels = list(profile.labels)
        shown = ", ".join(f"{labels[i]!r} ({rows_text(rows[i])}, {rows[i] / n:.1%})" for i in few[:5])
        more = f" and {len(few) - 5} more" if len(few) > 5 else ""
        yield Finding(
            "imbalance",
            (profile.target,),
            "medium" if rows[few].min() < _FEWEST_OF_CLASS else "low",
            f"classes with few rows: {shown}{more}",
            "Judge models by balanced accuracy or log loss instead of accuracy, and collect more rows of these classes "
            "if you can.",
        )


def check_order(profile: Profile, skipped: set[str]) -> Iterator[Finding]:
    """Yield findings about rows in the order of the class or of a column that is not among the `skipped` ones."""
    classes = profile.sampled_classes()
    classes = classes[classes >= 0]
    if profile.target is not None and len(classes) >= _FEWEST_SORTED:
        shares = np.bincount(classes) / len(classes)
        chance = (1 - float((shares**2).sum())) * (len(classes) - 1)
        changes = int((classes[1:] != classes[:-1]).sum())
        deviation = np.sqrt(max(chance * float((shares**2).sum()), 1e-9))
        if changes < _SHARE_OF_CHANGES * chance and (chance - changes) / deviation > _FEWER_CHANGES:
            yield Finding(
                "sorted",
                (profile.target,),
                "medium",
                f"from row to row the class changes {changes:,} times; in random order it would {chance:,.0f} times",
                "Shuffle rows before splitting them: a test set from one end of the file has other classes.",
                Fix(lines=("data = data.sample(frac=1, random_state=0)",)),
            )
    for name in profile.features:
        column = profile.sample[name]
        counted = profile.columns[name]
        if name in skipped or len(column) < _FEWEST_SORTED:
            continue
        values = _numbers_or_times(column.dropna(), counted.n_texts > 0)
        steps = np.diff(values)
        if len(np.unique(values)) < 10 or ((steps < 0).any() and (steps > 0).any()):
            continue
        yield Finding(
            "sorted",
            (name,),
            "low",
            f"rows are in {'descending' if (steps < 0).any() else 'ascending'} order of this column",
            "If it is a time, test on later rows than you train on. Otherwise shuffle rows before splitting them.",
        )


def _numbers_or_times(column: pd.Series[Any], is_text: bool) -> FloatArray:
    """Return the numbers or points in time of a column; none if it is other text."""
    if not is_text:
        return np.asarray(pd.to_numeric(column, errors="coerce"), dtype=np.float64)
    if column.dtype.kind != "M":
        if not column.iloc[:5].astype(str).str.match("[0-9]{4}-[0-9]{2}-").all():
            return np.empty(0)
        column = pd.to_datetime(column, format="ISO8601", errors="coerce").dropna()
    return np.asarray(column.astype("int64"), dtype=np.float64)
