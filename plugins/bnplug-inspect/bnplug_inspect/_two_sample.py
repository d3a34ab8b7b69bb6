"""Tests and effect sizes for two samples of counts, and the control of false discoveries over all tests of a report.

A reference sample is small, too: its counts are never taken for probabilities. States are pooled by the counts of both
samples together, which keeps a test valid for states that occur in one sample only.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.stats import chi2, false_discovery_control, fisher_exact, norm

from bnplug.typing import BoolArray, FloatArray

# P values between these limits are computed by drawing rows. The chi-squared distribution is good enough for others.
_CERTAIN, _DOUBTFUL = 1e-7, 0.1

# The most draws, cells in all draws, and cells at once; draws that reach a statistic are enough from this number on.
_MOST_DRAWS, _MOST_CELLS, _CHUNK, _ENOUGH = 200_000, 2e7, 2_000_000, 50

#: The factor of variances if predictions of a model are compared with those of the models of folds: these models differ
#: by chance, too.
MODEL_VARIANCE = 2.0

#: Cells with a smaller expected count in the smaller sample are pooled with the next smallest.
LEAST = 5.0


class TwoSample(NamedTuple):
    """The result of a test of homogeneity.

    Attributes
    ----------
    p_value : float
        1 if there are too few rows to compare.
    variation : float
        The total variation distance of the distributions given each configuration, weighted by the second sample.
    column : int
        The configuration with the largest part of the statistic.
    """

    p_value: float
    variation: float
    column: int


def compare_counts(first: npt.ArrayLike, second: npt.ArrayLike) -> TwoSample:
    """Compare counts of shape (states,) or (states, configurations) by Pearson's statistic, summed over configurations.

    Examples
    --------
    30 and 10 of 40 rows against 20 and 20: the statistic is 80 * (30 * 20 - 10 * 20)^2 / (40 * 40 * 50 * 30) = 5.33.

    The p value of the chi-squared distribution, 0.0209, is replaced by the conditional one.

    >>> result = compare_counts([30, 10], [20, 20])
    >>> round(result.p_value, 2), result.variation
    (0.04, 0.25)
    """
    before, after = (np.asarray(counts, dtype=np.float64) for counts in (first, second))
    before, after = before.reshape(len(before), -1), after.reshape(len(after), -1)
    before, after = _pooled(before, after)
    n, m, total = before.sum(axis=0), after.sum(axis=0), before + after
    used = (n > 0) & (m > 0)
    shares = _shares(before, n) - _shares(after, m)
    parts = np.where(used, _statistic(before, n, total), 0.0)
    df = np.where(used, np.maximum((total > 0).sum(axis=0) - 1, 0), 0).sum()
    p_value = float(chi2.sf(parts.sum(), df)) if df > 0 else 1.0
    if _CERTAIN < p_value < _DOUBTFUL:
        first_is_small = n[used].sum() <= m[used].sum()
        p_value = _drawn_p_value((n if first_is_small else m)[used], total[:, used], float(parts.sum()))
    variation = np.abs(shares).sum(axis=0) / 2
    rows = np.where(used, m, 0.0)
    mean = float(variation @ rows / rows.sum()) if rows.any() else 0.0
    return TwoSample(p_value, mean, int(parts.argmax()))


def _statistic(counts: FloatArray, n: FloatArray, total: FloatArray) -> FloatArray:
    """Return Pearson's statistic of each configuration: `counts`, of ``(..., states, configurations)``, of `n` rows."""
    both = total.sum(axis=0)
    scale = np.divide(both**2, n * (both - n), out=np.zeros_like(both), where=(n > 0) & (both > n))
    expected = total * np.divide(n, both, out=np.zeros_like(both), where=both > 0)
    squares = np.divide((counts - expected) ** 2, total, out=np.zeros_like(counts), where=total > 0)
    return np.asarray(scale * squares.sum(axis=-2))


def _drawn_p_value(n: FloatArray, total: FloatArray, statistic: float) -> float:
    """Return the conditional p value: rows are drawn for the first sample from both, in each configuration.

    The chi-squared distribution underestimates small p values if counts are small. Draws end when enough of them reach
    the statistic (Besag and Clifford 1991).
    """
    random = np.random.default_rng(0)
    limit = min(_MOST_DRAWS, int(_MOST_CELLS / total.size))
    reached = done = 0
    rows, colors = n.astype(np.int64), total.astype(np.int64)
    while done < limit and reached < _ENOUGH:
        size = min(max(done, 500), limit - done, max(1, _CHUNK // total.size))
        draws = [random.multivariate_hypergeometric(c, r, size) for c, r in zip(colors.T, rows, strict=True)]
        drawn = _statistic(np.stack(draws, axis=-1).astype(np.float64), n, total).sum(axis=-1)
        reached += int((drawn >= statistic * (1 - 1e-9)).sum())
        done += size
    return (reached + 1) / (done + 1)


def _shares(counts: FloatArray, totals: FloatArray) -> FloatArray:
    return np.divide(counts, totals, out=np.zeros_like(counts), where=totals > 0)


def _pooled(before: FloatArray, after: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the counts with the rare states of each configuration in one more state at the end."""
    n, m, total = before.sum(axis=0), after.sum(axis=0), before + after
    share = np.divide(np.minimum(n, m), n + m, out=np.zeros_like(n), where=n + m > 0)
    order = total.argsort(axis=0, kind="stable")
    columns = np.arange(total.shape[1])
    ascending = total[order, columns]
    # The rare states, and further ones until the pool is large enough.
    rare = (ascending * share < LEAST) & (ascending > 0)
    in_pool = np.cumsum(np.where(ascending > 0, ascending, 0.0), axis=0) - ascending
    small = rare | ((in_pool * share < LEAST) & (in_pool > 0))
    pool = np.zeros(total.shape, dtype=bool)
    pool[order, columns] = small
    return tuple(np.vstack([np.where(pool, 0.0, c), np.where(pool, c, 0.0).sum(axis=0)]) for c in (before, after))  # type: ignore[return-value]


def compare_shares(first: int, n_first: int, second: int, n_second: int, greater: bool = False) -> float:
    """Return the p value of Fisher's exact test for `first` of `n_first` rows against `second` of `n_second` rows.

    By default two-sided; with `greater`, for a larger share in the second sample.
    """
    table = np.array([[second, n_second - second], [first, n_first - first]])
    return float(fisher_exact(table, alternative="greater" if greater else "two-sided").pvalue)


def lower_than(quantiles: FloatArray, n: int, values: FloatArray) -> tuple[float, float]:
    """Test whether `values` are lower than `n` values with these quantiles, by rank sums.

    Returns the share of pairs in which they are lower, ties counted half, and the p value. The variance is
    :data:`MODEL_VARIANCE` times that of two samples.
    """
    if len(quantiles) == 0 or len(values) == 0:
        return 0.5, 1.0
    places = np.searchsorted(quantiles, values, "left") + np.searchsorted(quantiles, values, "right")
    position = places.mean() / (2 * len(quantiles))
    variance = MODEL_VARIANCE * (1 / n + 1 / len(values)) / 12
    return float(1 - position), float(norm.cdf((position - 0.5) / np.sqrt(variance)))


def in_lower_tail(quantiles: FloatArray, n: int, values: FloatArray, level: float = 0.05) -> tuple[float, float]:
    """Return the share of values below the quantile at about `level`, and the p value of Fisher's exact test."""
    if len(quantiles) == 0 or len(values) == 0:
        return 0.0, 1.0
    place = int(level * len(quantiles))
    below = int((values < quantiles[place]).sum())
    expected = int(np.ceil((place + 0.5) / len(quantiles) * n))
    return below / len(values), compare_shares(expected, n, below, len(values), greater=True)


def population_stability(first: FloatArray, second: FloatArray) -> float:
    """Return the population stability index: the sum of (q - p) log(q / p); half a row is added to each count.

    Examples
    --------
    >>> round(population_stability(np.array([50, 50]), np.array([80, 20])), 2)
    0.41
    """
    p, q = ((counts + 0.5) / (counts.sum() + 0.5 * len(counts)) for counts in (first, second))
    return float(((q - p) * np.log(q / p)).sum())


def jensen_shannon(first: FloatArray, second: FloatArray) -> float:
    """Return the Jensen-Shannon distance with logarithms to the base 2: 0 for equal shares, 1 for disjoint states.

    Examples
    --------
    >>> jensen_shannon(np.array([3, 0]), np.array([0, 5])), jensen_shannon(np.array([3, 3]), np.array([1, 1]))
    (1.0, 0.0)
    """
    if not first.sum() or not second.sum():
        return 0.0
    p, q = first / first.sum(), second / second.sum()
    mean = (p + q) / 2
    parts = [
        np.where(r > 0, r * np.log2(np.where(r > 0, r / np.where(mean > 0, mean, 1.0), 1.0)), 0.0).sum() for r in (p, q)
    ]
    return float(np.sqrt(max(sum(parts) / 2, 0.0)))


def adjusted(p_values: FloatArray) -> FloatArray:
    """Return p values adjusted for all tests of a report; NaN is not a test.

    The tests depend on each other, because columns and tables are counted on the same rows. The method holds for any
    dependence (Benjamini and Yekutieli 2001).
    """
    result = np.full(len(p_values), np.nan)
    tested: BoolArray = ~np.isnan(p_values)
    if tested.any():
        result[tested] = false_discovery_control(p_values[tested], method="by")
    return result
