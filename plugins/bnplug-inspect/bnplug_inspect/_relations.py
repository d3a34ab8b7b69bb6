"""Checks of columns against the class and against each other, on the sampled rows: leaks and copies."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, islice
from typing import Any

import numpy as np
import pandas as pd
from sklearn.tree import DecisionTreeClassifier
from threadpoolctl import threadpool_limits

from bnplug.table.inspection import determines_class
from bnplug.typing import FloatArray, IntArray
from bnplug_inspect._profile import Profile
from bnplug_inspect._text import rows_text
from bnplug_inspect.findings import Finding, Fix

# A relation is reported if its probability by chance is at most this, divided by the number of relations.
_LOG_CHANCE = math.log(1e-6)
# A column nearly determines the class with this share of the errors of the prior, and this share of rows right.
_NEARLY, _NEARLY_RIGHT, _FEWEST_NEARLY = 0.1, 0.97, 100
# Numbers are cut by a tree: the most leaves per class, the fewest rows of a leaf, and the rows that are tried first.
_LEAVES_PER_CLASS, _LEAST_LEAF, _FIRST_ROWS = 4, 5, 4000
# Pairs are searched among columns with few states; numbers have this many bins.
_MOST_STATES_OF_PAIR, _BINS, _MOST_PAIRS, _SCREENED = 12, 8, 100_000, 500
_PAIR_RIGHT, _BETTER_THAN_ONE = 0.98, 5.0
# Near copies: numbers with this correlation, and states of which at most this share of rows disagree.
_CORRELATED, _DISAGREE, _FEWEST_COPIED, _MOST_STATES_OF_COPY, _CORRELATED_ROWS = 0.999, 0.05, 20, 50, 2000


@dataclass
class SampledColumn:
    """A column of the sample: its values as numbers or None, the number of the state of each row, and of states."""

    name: str
    numbers: FloatArray | None
    codes: IntArray
    n_states: int


def sampled_columns(profile: Profile) -> list[SampledColumn]:
    """Return the features of the sample; a missing cell is a state."""
    columns = []
    for name in profile.features:
        raw = profile.sample[name]
        codes, values = pd.factorize(raw if raw.dtype.kind in "mM" else raw.array)
        codes = codes.astype(np.int64)
        n_states = len(values)
        if (codes < 0).any():
            codes, n_states = np.where(codes < 0, n_states, codes), n_states + 1
        counted = profile.columns[name]
        numbers = None
        if counted.n_numbers and not counted.n_texts:
            numbers = pd.to_numeric(raw, errors="coerce").to_numpy(np.float64, na_value=np.nan)
        columns.append(SampledColumn(name, numbers, codes, n_states))
    return columns


# Leaks.


def check_leaks(profile: Profile, columns: Sequence[SampledColumn], skipped: set[str]) -> Iterator[Finding]:
    """Yield findings about columns that determine the class, and pairs of other columns that do."""
    classes = profile.sampled_classes()
    known = classes >= 0
    classes, n_classes = classes[known], len(profile.labels)
    if n_classes < 2 or len(classes) < 2:
        return
    shares = np.bincount(classes, minlength=n_classes) / len(classes)
    errors, leaks = {}, set()
    for column in columns:
        if column.name in skipped or column.n_states < 2:
            continue
        counts = _by_class(column, classes, known, n_classes)
        errors[column.name] = 1 - _right(counts) / len(classes)
        finding = _leak(column.name, counts, shares, errors[column.name], len(columns))
        if finding is not None:
            leaks.add(column.name)
            yield finding
    others = [column for column in columns if column.name in errors and column.name not in leaks]
    yield from _leaking_pairs(others, classes, known, shares, errors)


def _by_class(column: SampledColumn, classes: IntArray, known: Any, n_classes: int) -> FloatArray:
    """Return the number of rows of each state, or of each interval of numbers, and class."""
    codes, n_states = column.codes[known], column.n_states
    if column.numbers is None or n_states <= _MOST_STATES_OF_PAIR:
        return _table(codes, n_states, classes, n_classes)
    values = column.numbers[known]
    present = ~np.isnan(values)
    if not present.any():
        return _table(np.zeros(len(values), dtype=np.int64), 1, classes, n_classes)
    inputs, labels = values[present, None], classes[present]
    for step in (max(len(labels) // _FIRST_ROWS, 1), 1):
        tree = _tree(inputs[::step], labels[::step], n_classes)
        codes, n_states = np.zeros(len(values), dtype=np.int64), 2 + tree.tree_.node_count
        codes[present] = 1 + tree.apply(inputs)
        counts = _table(codes, n_states, classes, n_classes)
        # Only a tree that is nearly right is worth growing from all rows.
        if step == 1 or _right(counts) < _NEARLY_RIGHT * len(classes) - _LEAST_LEAF * n_states:
            break
    return counts


def _tree(inputs: FloatArray, labels: IntArray, n_classes: int) -> DecisionTreeClassifier:
    leaves = max(min(_LEAVES_PER_CLASS * n_classes, 64), 2)
    tree = DecisionTreeClassifier(max_leaf_nodes=leaves, min_samples_leaf=_LEAST_LEAF, random_state=0)
    return tree.fit(inputs, labels)


def _table(codes: IntArray, n_states: int, classes: IntArray, n_classes: int) -> FloatArray:
    counts = np.bincount(codes * n_classes + classes, minlength=n_states * n_classes).reshape(n_states, n_classes)
    return counts[counts.any(axis=1)].astype(np.float64)


def _right(counts: FloatArray) -> float:
    """Return the number of rows whose class is the most frequent one among the other rows of their state."""
    top = np.sort(counts, axis=1)[:, ::-1]
    return float(top[top[:, 0] - 1 > top[:, 1], 0].sum())


def _log_chance(counts: FloatArray, shares: FloatArray) -> float:
    """Return the logarithm of the probability that each state has one class, if rows had classes at random."""
    with np.errstate(divide="ignore"):
        logs = counts.sum(axis=1, keepdims=True) * np.log(shares)
    return float(np.minimum(np.logaddexp.reduce(logs, axis=1), 0).sum())


def _leak(name: str, counts: FloatArray, shares: FloatArray, error: float, n_tests: int) -> Finding | None:
    pure = np.count_nonzero(counts) == len(counts)
    base, n = 1 - shares.max(), counts.sum()
    if pure and (determines_class(counts) or _right(counts) >= _PAIR_RIGHT * n):
        if _log_chance(counts, shares) > _LOG_CHANCE - math.log(n_tests):
            return None
        evidence = (
            f"it determines the class: in {rows_text(n)}, each of {len(counts)} states or intervals has one class"
        )
        severity = "high"
    elif n >= _FEWEST_NEARLY and error <= min(_NEARLY * base, 1 - _NEARLY_RIGHT):
        evidence = (
            f"it nearly determines the class: on its own, it classifies {1 - error:.1%} of {rows_text(n)} correctly"
        )
        severity = "medium"
    else:
        return None
    advice = (
        "If it was derived from the class, or recorded after the class was known, leave it out: otherwise scores are "
        "too optimistic."
    )
    return Finding("leak", (name,), severity, evidence, advice, Fix(drop=(name,)) if severity == "high" else Fix())


def _leaking_pairs(
    columns: Sequence[SampledColumn], classes: IntArray, known: Any, shares: FloatArray, errors: Mapping[str, float]
) -> Iterator[Finding]:
    """Yield findings about pairs of columns that determine the class together, and neither alone."""
    coarse = [(column.name, *_coarse(column)) for column in columns]
    coarse = [(name, codes[known], n) for name, codes, n in coarse if 1 < n <= _MOST_STATES_OF_PAIR + 1]
    n_pairs, n_classes = len(coarse) * (len(coarse) - 1) // 2, len(shares)
    if n_pairs > _MOST_PAIRS:
        # The columns with the fewest states are the likeliest keys.
        coarse = sorted(coarse, key=lambda column: column[2])[: int(math.sqrt(2 * _MOST_PAIRS))]
    first = slice(0, _SCREENED)
    for (left, a, n_a), (right, b, n_b) in combinations(coarse, 2):
        if not _is_pure(a[first] * n_b + b[first], n_a * n_b, classes[first], n_classes):
            continue
        counts = _table(a * n_b + b, n_a * n_b, classes, n_classes)
        n, n_right = len(classes), _right(counts)
        if np.count_nonzero(counts) > len(counts) or n_right < _PAIR_RIGHT * n:
            continue
        alone = min(errors[left], errors[right])
        if alone < _BETTER_THAN_ONE * (1 - n_right / n) or alone == 0:
            continue
        if _log_chance(counts, shares) <= _LOG_CHANCE - math.log(n_pairs):
            yield Finding(
                "leak",
                (left, right),
                "high",
                f"together they determine the class: in {rows_text(n)}, each of {len(counts)} pairs of states has one "
                "class",
                "If both are derived from the class, or recorded after the class was known, leave one of them out.",
            )


def _is_pure(codes: IntArray, n_states: int, classes: IntArray, n_classes: int) -> bool:
    cells = np.bincount(codes * n_classes + classes, minlength=n_states * n_classes).reshape(n_states, n_classes)
    return bool(((cells > 0).sum(axis=1) <= 1).all())


def _coarse(column: SampledColumn) -> tuple[IntArray, int]:
    """Return the states of a column, or bins of its numbers with about the same number of rows each."""
    if column.numbers is None or column.n_states <= _MOST_STATES_OF_PAIR:
        return column.codes, column.n_states
    cuts = np.unique(np.nanquantile(column.numbers, np.arange(1, _BINS) / _BINS))
    codes = np.searchsorted(cuts, column.numbers, side="left").astype(np.int64)
    return np.where(np.isnan(column.numbers), len(cuts) + 1, codes), len(cuts) + 2


# Copies.


def check_copies(columns: Sequence[SampledColumn], skipped: set[str]) -> Iterator[Finding]:
    """Yield findings about copies and near-copies of columns, also in other codes or units."""
    columns = [column for column in columns if column.n_states > 1 and column.name not in skipped]
    n_pairs = max(len(columns) * (len(columns) - 1) // 2, 1)
    limit = _LOG_CHANCE - math.log(n_pairs)
    # Codes are numbered in order of appearance, so that copies have equal codes; missing cells are the last state.
    first: dict[bytes, str] = {}
    copied: set[str] = set()
    remaining = []
    for column in columns:
        key = pd.factorize(column.codes)[0].tobytes()
        if key in first and _log_permutation(column.codes) <= limit:
            copied.add(column.name)
            yield _copy((first[key], column.name), "the values of one are those of the other, or codes of them")
        else:
            first.setdefault(key, column.name)
            remaining.append(column)
    yield from _near_copies(remaining)


def _log_permutation(codes: IntArray) -> float:
    """Return the logarithm of the probability that a random permutation of a column gives codes of the same column.

    States with equal numbers of rows can be exchanged: of a column without equal values, each permutation is a code.
    """
    from scipy.special import gammaln

    rows = np.bincount(codes)
    exchanges = gammaln(np.unique(rows, return_counts=True)[1] + 1.0).sum()
    return float(gammaln(rows + 1.0).sum() + exchanges - gammaln(len(codes) + 1.0))


def _near_copies(columns: Sequence[SampledColumn]) -> Iterator[Finding]:
    numeric = [column for column in columns if column.numbers is not None and column.n_states > _MOST_STATES_OF_PAIR]
    for left, right, r in _correlated(numeric):
        yield _copy((left, right), f"their correlation is {r:.5f}")
    names = {column.name for column in numeric}
    discrete = [c for c in columns if c.name not in names and c.n_states <= _MOST_STATES_OF_COPY]
    for a, b in islice(combinations(sorted(discrete, key=lambda column: column.n_states), 2), _MOST_PAIRS):
        if min(a.n_states, b.n_states) * 2 < max(a.n_states, b.n_states):
            continue
        if _disagreements(a, b, slice(0, _SCREENED))[0] > 3 * _DISAGREE * _SCREENED:
            continue
        wrong, by_prior = _disagreements(a, b, slice(None))
        if by_prior >= _FEWEST_COPIED and wrong <= min(_DISAGREE * len(a.codes), by_prior / 10):
            yield _copy((a.name, b.name), f"one can be computed from the other except in {rows_text(wrong)}")


def _disagreements(a: SampledColumn, b: SampledColumn, rows: slice) -> tuple[float, float]:
    """Return the rows in which one column is not the most frequent state given the other, and that by chance."""
    cells = a.codes[rows] * b.n_states + b.codes[rows]
    table = np.bincount(cells, minlength=a.n_states * b.n_states).reshape(a.n_states, b.n_states)
    n = table.sum()
    wrong = n - min(table.max(axis=0).sum(), table.max(axis=1).sum())
    return float(wrong), float(n - max(table.sum(axis=0).max(), table.sum(axis=1).max()))


def _correlated(columns: Sequence[SampledColumn]) -> Iterator[tuple[str, str, float]]:
    """Yield pairs of columns of numbers with a correlation, of values or of ranks, close to 1 or -1."""
    if len(columns) < 2:
        return
    values = pd.DataFrame({i: column.numbers[:_CORRELATED_ROWS] for i, column in enumerate(columns)})  # type: ignore[index]
    if len(values) < _FEWEST_COPIED:
        return
    best = np.zeros((len(columns), len(columns)))
    holes = values.isna()
    for table in (values, values.rank()):
        if holes.to_numpy().any():
            # Missing cells of one column are filled in by its mean; columns with other gaps are hardly copies.
            table = table.fillna(table.mean())
        # Threads would cost more than they save.
        with np.errstate(invalid="ignore", divide="ignore"), threadpool_limits(1):
            best = np.fmax(best, np.abs(np.nan_to_num(np.corrcoef(table.to_numpy(), rowvar=False))))
    for i, j in combinations(range(len(columns)), 2):
        if best[i, j] >= _CORRELATED:
            yield columns[i].name, columns[j].name, min(float(best[i, j]), 1.0)


def _copy(names: tuple[str, str], evidence: str) -> Finding:
    advice = "Leave one of them out: it adds nothing, and methods that assume independence count it twice."
    return Finding("copy", names, "medium", evidence, advice, Fix(drop=(names[1],)))
