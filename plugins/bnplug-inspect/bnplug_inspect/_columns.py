"""Checks of single columns: identifiers, constants, sentinels, rare states, missing cells that depend on the class."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from bnplug.typing import FloatArray
from bnplug_inspect._profile import ColumnProfile, Profile
from bnplug_inspect._text import rows_text, share_text
from bnplug_inspect.findings import Finding, Fix

# An identifier has this share of distinct values, and at least this many.
_NEARLY_ALL, _FEWEST_DISTINCT, _HALF = 0.95, 20, 0.5
# Numbers identify rows if at least this many pairs of equal values would be expected by chance.
_EXPECTED_TWINS = 10.0
# Numbers with the same number of digits, at least this many, are codes rather than measurements.
_CODE_DIGITS = 6

# A sentinel is in at least this many rows, beside at least two other numbers. Beside fewer than _MANY_OTHERS, a
# positive sentinel is at least _FAR times as far from the others as they are from each other.
_FEWEST_SENTINELS, _FEWEST_OTHERS, _MANY_OTHERS, _FAR = 3, 2, 10, 10
_NEGATIVE = {-1.0, -9.0, -99.0, -999.0, -9999.0, -99999.0}
_REPEATED = {float(digit * n) for digit in "89" for n in range(2, 8)} | {float(f"-{'8' * n}") for n in range(2, 6)}

_FEWEST_ROWS_OF_STATE, _FEWEST_ROWS, _MOST_STATES = 5, 100, 1000
# The level of tests, divided by their number, and the least difference of rates that matters.
_LEVEL, _LEAST_DIFFERENCE = 0.001, 0.05


def check_distinct(profile: ColumnProfile, sample: pd.Series[Any], is_disguised: bool) -> Finding | None:
    """Return the finding about a column that has one value, identifies rows, or differs in nearly every row."""
    name, present = profile.name, sample.dropna()
    if not profile.n_present:
        return Finding("constant", (name,), "low", "no value at all", "Leave it out.", Fix(drop=(name,)))
    if len(profile.numbers) + len(profile.texts) == 1:
        value = [*profile.texts.index, *profile.numbers.index][0]
        holes = f", or missing in {rows_text(profile.n_missing)}" if profile.n_missing else ""
        return Finding("constant", (name,), "low", f"always {value!r}{holes}", "Leave it out.", Fix(drop=(name,)))
    n, distinct = len(present), int(present.nunique())
    if is_disguised or distinct < max(_FEWEST_DISTINCT, _HALF * n):
        return None
    share = f"{share_text(distinct, n)} of the values are distinct"
    if profile.n_texts > profile.n_numbers:
        blanks = present.astype(str).str.strip().str.contains(" ", regex=False).mean()
        if distinct >= _NEARLY_ALL * n and blanks < _HALF:
            return Finding("identifier", (name,), "medium", share, "Leave it out.", Fix(drop=(name,)))
        advice = "Leave it out, or extract what matters into columns with few values."
        return Finding("free-text", (name,), "medium", f"{share}, and they are text", advice, Fix(drop=(name,)))
    if distinct < _NEARLY_ALL * n or profile.times:
        return None
    reason = _identifies(pd.to_numeric(present, errors="coerce").to_numpy(np.float64), distinct)
    if reason is None:
        return None
    return Finding("identifier", (name,), "medium", f"{share}, {reason}", "Leave it out.", Fix(drop=(name,)))


def _identifies(values: FloatArray, distinct: int) -> str | None:
    """Return why whole numbers that are nearly all distinct identify rows, or None.

    n random numbers from a range of R have about n² / 2R pairs of equal numbers.
    """
    if (values != np.rint(values)).any():
        return None
    span = values.max() - values.min() + 1
    twins, expected = len(values) - distinct, len(values) ** 2 / (2 * span)
    if expected >= _EXPECTED_TWINS and twins <= expected / 4:
        return f"and random whole numbers of their range would repeat {expected:,.0f} times"
    lengths = np.floor(np.log10(np.maximum(np.abs(values), 1))) + 1
    if lengths.min() == lengths.max() >= _CODE_DIGITS and not twins:
        return f"and all are whole numbers of {int(lengths[0])} digits"
    return None


def check_sentinels(profile: ColumnProfile) -> Iterator[Finding]:
    """Yield a finding about numbers that stand for a missing or impossible value."""
    numbers = profile.numbers.sort_index()
    values, rows = numbers.index.to_numpy(np.float64), numbers.to_numpy(np.int64)
    marked: dict[float, int] = {}
    low, high = 0, len(values)
    while high - low > _FEWEST_OTHERS:
        if _is_sentinel(values[low:high], rows[low:high], 0):
            marked[values[low]] = int(rows[low])
            low += 1
        elif _is_sentinel(values[low:high], rows[low:high], -1):
            marked[values[high - 1]] = int(rows[high - 1])
            high -= 1
        else:
            break
    if marked:
        listed = ", ".join(f"{value:g} ({rows_text(n)})" for value, n in marked.items())
        rest = f"all other numbers are between {values[low]:g} and {values[high - 1]:g}"
        texts = [f"{value:g}" for value in marked]
        line = (
            f"data[{profile.name!r}] = data[{profile.name!r}].mask(data[{profile.name!r}].isin([{', '.join(texts)}]))"
        )
        yield Finding(
            "sentinel",
            (profile.name,),
            "medium",
            f"{listed}; {rest}",
            "If it means that the value is missing or impossible, make it missing.",
            Fix(lines=(line,)),
        )


def _is_sentinel(values: FloatArray, rows: Any, at: int) -> bool:
    """Return whether the first or last of sorted numbers is a sentinel: a usual one, or 0, far from all others."""
    value, others, counts = values[at], np.delete(values, at), np.delete(rows, at)
    if rows[at] < _FEWEST_SENTINELS:
        return False
    gap, span = abs(value - (others[0] if at == 0 else others[-1])), others[-1] - others[0]
    if len(others) < _MANY_OTHERS:
        # -1 can be a code, as in -1, 0, 1.
        is_negative = value in _NEGATIVE and value < -1 and others[0] >= 0
        return bool(gap > span) if is_negative else bool(value in _REPEATED and gap >= _FAR * span)
    if value in _NEGATIVE and others[0] >= 0:
        return True
    if value in _NEGATIVE or value in _REPEATED:
        near = slice(0, 5) if at == 0 else slice(-5, None)
        is_spike = rows[at] >= 3 * counts[near].max() or gap >= 10 * np.diff(others[near]).max()
        return bool(gap >= span / 2 or (gap >= span / 10 and is_spike))
    quarter, three = others[np.searchsorted(np.cumsum(counts) / counts.sum(), [0.25, 0.75])]
    return bool(value == 0 and others[0] > 0 and gap >= max(three - quarter, 2))


def check_rare_states(profile: ColumnProfile, n_rows: int) -> Finding | None:
    """Return the finding about states of text with few rows."""
    n_states = len(profile.texts)
    if n_rows < _FEWEST_ROWS or profile.n_numbers or not 1 < n_states <= _MOST_STATES:
        return None
    rare = profile.texts[profile.texts < _FEWEST_ROWS_OF_STATE]
    if not len(rare):
        return None
    shown = ", ".join(f"{str(state)[:40]!r} ({rows_text(n)})" for state, n in rare.sort_index().items())
    shown = shown if len(rare) <= 5 else f"{len(rare):,} of {n_states:,} states, {rows_text(rare.sum())} together"
    advice = "Their probabilities will come from smoothing. Join them, or pass min_frequency to pool them."
    rules = {"min_frequency": _FEWEST_ROWS_OF_STATE}
    return Finding("rare-states", (profile.name,), "low", f"states with few rows: {shown}", advice, Fix(rules=rules))


def check_missing(profile: Profile) -> Iterator[Finding]:
    """Yield findings about columns whose missing cells depend on the class, by Pearson's test."""
    from scipy.special import chdtrc

    big = np.flatnonzero(profile.class_rows >= _FEWEST_DISTINCT)
    tested = [profile.columns[name] for name in profile.features if profile.columns[name].n_missing]
    if len(big) < 2 or not tested:
        return
    names = list(profile.labels)
    for column in tested:
        holes = np.array([column.missing.get(int(c), 0) for c in big], dtype=np.float64)
        rows = profile.class_rows[big].astype(np.float64)
        rate = holes.sum() / rows.sum()
        if not 0 < rate < 1:
            continue
        statistic = ((holes - rate * rows) ** 2 / (rate * rows)).sum() / (1 - rate)
        rates = holes / rows
        # The approximation needs expected counts of five or so.
        if min(rate, 1 - rate) * rows.min() < 1 or chdtrc(len(big) - 1, statistic) > _LEVEL / len(tested):
            continue
        if np.ptp(rates) < _LEAST_DIFFERENCE:
            continue
        most, least = int(np.argmax(rates)), int(np.argmin(rates))
        evidence = (
            f"missing in {rates[most]:.0%} of class {names[big[most]]!r}, {rates[least]:.0%} of {names[big[least]]!r}"
        )
        if rates[most] == 1 and np.delete(holes, most).sum() == 0:
            advice = "Find out whether the value was recorded after the class was known; if so, leave it out."
            yield Finding("leak", (column.name,), "medium", f"{evidence}: it identifies the class", advice)
            continue
        advice = 'Find out why. If the same will hold for new rows, make missing a state: missing="value".'
        fix = Fix(rules={"missing": {column.name: "value"}})
        yield Finding("missing-by-class", (column.name,), "medium", evidence, advice, fix)
