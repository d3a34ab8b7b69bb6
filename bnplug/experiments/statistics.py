"""Tests of whether methods differ, and bias and variance.

Over many data sets (Demšar, 2006), `friedman`, followed by `nemenyi` (all pairs) or `bonferroni_dunn` (against a
control), takes a frame with a row per data set and a column per method; `wilcoxon`, `paired_t_test` and
`win_draw_loss` take two of its columns. Within one data set, `corrected_t_test` takes the results of two methods on
the same folds. Values that agree to nine decimals are ties, because rounding errors depend on the order of sums.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy import stats

from bnplug.typing import FloatArray

_Alternative = Literal["two-sided", "greater", "less"]
_Values = Sequence[float] | FloatArray | pd.Series

_DECIMALS = 9


@dataclass(frozen=True, eq=False)
class Friedman:
    """Friedman's statistic, corrected for ties, and the less conservative F of Iman and Davenport.

    ``average_ranks`` has the best (lowest) rank first.
    """

    average_ranks: pd.Series[float]
    n_datasets: int
    chi_square: float
    degrees_of_freedom: int
    p_value: float
    f_statistic: float
    f_degrees_of_freedom: tuple[int, int]
    f_p_value: float


@dataclass(frozen=True, eq=False)
class Nemenyi:
    """Average ranks, best first, and the difference from which on two methods differ at level ``alpha``.

    ``p_values`` has methods as rows and columns, in the order of the ranks, adjusted for the number of pairs.
    """

    average_ranks: pd.Series[float]
    critical_difference: float
    alpha: float
    p_values: pd.DataFrame


@dataclass(frozen=True, eq=False)
class BonferroniDunn:
    """Average ranks, best first, and the difference from which on a method differs from ``control`` at ``alpha``.

    ``p_values``, by method without the control, are adjusted for the number of comparisons.
    """

    control: str
    average_ranks: pd.Series[float]
    critical_difference: float
    alpha: float
    p_values: pd.Series[float]


@dataclass(frozen=True)
class PairedTest:
    """A test of two methods; ``mean_difference`` is positive if the first has larger values."""

    statistic: float
    p_value: float
    mean_difference: float
    n: int


@dataclass(frozen=True)
class WinDrawLoss:
    """Numbers of data sets that the first method wins, draws and loses, and the p-value of a sign test."""

    win: int
    draw: int
    loss: int
    p_value: float


@dataclass(frozen=True)
class BiasVariance:
    """Squared bias and variance, which add up to the mean 0-1 loss."""

    bias: float
    variance: float


def average_ranks(table: pd.DataFrame, higher_is_better: bool = True) -> pd.Series[float]:
    """Return the mean rank of each method over data sets, best first; 1 is the best, and ties share the mean.

    Parameters
    ----------
    table : pandas.DataFrame
        A row per data set, a column per method.
    higher_is_better : bool
        True for accuracy, False for losses and times.
    """
    return _ranks(table, higher_is_better).mean().sort_values(kind="stable")


def friedman(table: pd.DataFrame, higher_is_better: bool = True) -> Friedman:
    """Test whether at least three methods perform alike over data sets (Friedman; Iman and Davenport).

    `table` and `higher_is_better` are as for :func:`average_ranks`.

    References
    ----------
    Demšar: Statistical comparisons of classifiers over multiple data sets (2006).

    Examples
    --------
    >>> table = pd.DataFrame({"nb": [0.7, 0.6, 0.8], "tan": [0.8, 0.7, 0.9], "kdb": [0.9, 0.8, 0.7]})
    >>> result = friedman(table)
    >>> result.average_ranks.round(2).to_dict(), round(result.chi_square, 3), round(result.f_statistic, 3)
    ({'tan': 1.67, 'kdb': 1.67, 'nb': 2.67}, 2.0, 1.0)
    """
    ranks = _ranks(table, higher_is_better)
    n, k = ranks.shape
    if k < 3:
        raise ValueError(f"Friedman's test needs at least three methods, got {k}; compare two with wilcoxon")
    all_tied = bool((ranks.nunique(axis=1) == 1).all())
    chi_square = 0.0 if all_tied else float(stats.friedmanchisquare(*ranks.to_numpy().T).statistic)
    room = n * (k - 1) - chi_square
    f_statistic = (n - 1) * chi_square / room if room > 1e-9 else np.inf
    freedom = (k - 1, (k - 1) * (n - 1))
    p_value, f_p_value = float(stats.chi2.sf(chi_square, k - 1)), float(stats.f.sf(f_statistic, *freedom))
    means = ranks.mean().sort_values(kind="stable")
    return Friedman(means, n, chi_square, k - 1, p_value, f_statistic, freedom, f_p_value)


def nemenyi(table: pd.DataFrame, alpha: float = 0.05, higher_is_better: bool = True) -> Nemenyi:
    """Compare all methods with each other after a Friedman test, with a critical difference at level `alpha`.

    `table` and `higher_is_better` are as for :func:`average_ranks`.
    """
    ranks, error = _ranks_and_error(table, alpha, higher_is_better)
    k = len(ranks)
    # The studentized range is that of means; a difference of two has twice their variance.
    scale = np.sqrt(2) / error
    apart = np.abs(np.subtract.outer(ranks.to_numpy(), ranks.to_numpy()))
    p_values = np.clip(stats.studentized_range.sf(apart * scale, k, np.inf), 0.0, 1.0)
    difference = float(stats.studentized_range.ppf(1 - alpha, k, np.inf) / scale)
    return Nemenyi(ranks, difference, alpha, pd.DataFrame(p_values, ranks.index, ranks.index))


def bonferroni_dunn(
    table: pd.DataFrame, control: str, alpha: float = 0.05, higher_is_better: bool = True
) -> BonferroniDunn:
    """Compare all methods with the column `control` after a Friedman test, with a critical difference at `alpha`.

    `table` and `higher_is_better` are as for :func:`average_ranks`.
    """
    ranks, error = _ranks_and_error(table, alpha, higher_is_better)
    if control not in ranks.index:
        raise ValueError(f"the control {control!r} is none of the methods {list(table.columns)}")
    others = ranks.drop(control)
    z = np.abs(others.to_numpy() - ranks[control]) / error
    p_values = np.minimum(1.0, 2 * stats.norm.sf(z) * len(others))
    difference = float(stats.norm.isf(alpha / (2 * len(others))) * error)
    return BonferroniDunn(control, ranks, difference, alpha, pd.Series(p_values, others.index))


def wilcoxon(first: _Values, second: _Values, alternative: _Alternative = "two-sided") -> PairedTest:
    """Compare two methods over data sets by Wilcoxon's signed-rank test, without the data sets on which they tie.

    The p-value is exact for up to 50 data sets without ties, and otherwise from the normal approximation.

    Parameters
    ----------
    first, second : pandas.Series or sequence of float
        A value per data set; series are matched by their index.
    alternative : {"two-sided", "greater", "less"}
        Whether the values of the first differ from, exceed or are below those of the second.

    Examples
    --------
    >>> round(wilcoxon([0.9, 0.8, 0.7, 0.9, 0.6], [0.8, 0.6, 0.4, 0.5, 0.1]).p_value, 4)
    0.0625
    """
    differences = _differences(first, second)
    mean = float(differences.mean())
    if not differences.any():
        return PairedTest(0.0, 1.0, mean, len(differences))
    result = stats.wilcoxon(differences, alternative=alternative)
    return PairedTest(float(result.statistic), float(result.pvalue), mean, len(differences))


def paired_t_test(first: _Values, second: _Values, alternative: _Alternative = "greater") -> PairedTest:
    """Compare two methods over data sets by Student's paired t-test, by default one-sided.

    The parameters are as for :func:`wilcoxon`.
    """
    return _t_test(_differences(first, second), 0.0, alternative)


def corrected_t_test(
    first: _Values, second: _Values, test_train_ratio: float, alternative: _Alternative = "two-sided"
) -> PairedTest:
    """Compare two methods on the same folds of one data set by the corrected t-test of Nadeau and Bengio.

    Training sets overlap, so results vary less between folds than between independent samples. The variance is
    therefore multiplied by ``1 / n + test_train_ratio`` instead of ``1 / n``. For repeated k-fold cross-validation,
    this is the corrected test of Bouckaert and Frank.

    Parameters
    ----------
    first, second, alternative
        As for :func:`wilcoxon`, with a value per fold of each repetition.
    test_train_ratio : float
        The number of test rows per training row: ``1 / (k - 1)`` with k folds.

    References
    ----------
    Nadeau, Bengio: Inference for the generalization error (2003).
    Bouckaert, Frank: Evaluating the replicability of significance tests for comparing learning algorithms (2004).
    """
    if not 0 < test_train_ratio < np.inf:
        raise ValueError(f"test_train_ratio={test_train_ratio!r}: expected a positive number, 1 / (k - 1) for k folds")
    return _t_test(_differences(first, second), test_train_ratio, alternative)


def win_draw_loss(first: _Values, second: _Values, higher_is_better: bool = True) -> WinDrawLoss:
    """Count data sets won, drawn and lost, with a two-sided binomial sign test that ignores draws.

    `first` and `second` are as for :func:`wilcoxon`, `higher_is_better` as for :func:`average_ranks`.

    Examples
    --------
    >>> win_draw_loss([0.1, 0.2, 0.3, 0.4], [0.2, 0.2, 0.4, 0.5], higher_is_better=False)
    WinDrawLoss(win=3, draw=1, loss=0, p_value=0.25)
    """
    differences = _differences(first, second) * (1 if higher_is_better else -1)
    win, loss = int((differences > 0).sum()), int((differences < 0).sum())
    p_value = float(stats.binomtest(win, win + loss).pvalue) if win + loss else 1.0
    return WinDrawLoss(win, len(differences) - win - loss, loss, p_value)


def bias_variance(y: npt.ArrayLike, predictions: Iterable[tuple[npt.ArrayLike, npt.ArrayLike]]) -> BiasVariance:
    """Decompose the 0-1 loss into bias and variance (Kohavi and Wolpert), from repeated predictions of the same rows.

    If p is the distribution of a row's predicted classes and t the indicator of its true class, its squared bias is
    ``sum((t - p)^2) / 2`` and its variance ``(1 - sum(p^2)) / 2``; both are averaged over rows. Noise is assumed zero.

    Parameters
    ----------
    y : array of shape (rows,)
        The true class of every row.
    predictions : iterable of (rows, predicted classes)
        A pair per fold of each repetition: positions in `y`, and the class that a model trained on other rows
        predicts for each. Rows that are in no test set are ignored.

    References
    ----------
    Kohavi, Wolpert: Bias plus variance decomposition for zero-one loss functions (1996).

    Examples
    --------
    >>> bias_variance(["a", "b"], [([0, 1], ["a", "b"]), ([0], ["a"]), ([1], ["a"])])
    BiasVariance(bias=0.125, variance=0.125)
    """
    truth = np.asarray(y)
    folds = [(np.asarray(rows), np.asarray(labels)) for rows, labels in predictions]
    if not folds or any(rows.shape != labels.shape for rows, labels in folds):
        raise ValueError("expected at least one fold, each with as many predicted classes as rows")
    labels = np.concatenate([truth, *(labels for _, labels in folds)])
    if pd.isna(labels).any():
        raise ValueError("there are missing classes among the true or the predicted ones")
    classes, codes = np.unique(labels, return_inverse=True)
    counts = np.zeros((len(truth), len(classes)))
    np.add.at(counts, (np.concatenate([rows for rows, _ in folds]), codes[len(truth) :]), 1.0)
    tested = counts.any(axis=1)
    shares = counts[tested] / counts[tested].sum(axis=1, keepdims=True)
    indicators = np.eye(len(classes))[codes[: len(truth)][tested]]
    return BiasVariance(
        bias=float(((indicators - shares) ** 2).sum(axis=1).mean() / 2),
        variance=float((1 - (shares**2).sum(axis=1)).mean() / 2),
    )


def _ranks(table: pd.DataFrame, higher_is_better: bool) -> pd.DataFrame:
    missing = np.argwhere(table.isna().to_numpy())
    if len(missing):
        dataset, method = table.index[missing[0, 0]], table.columns[missing[0, 1]]
        raise ValueError(
            f"there is no value for method {method!r} on data set {dataset!r}; leave one of them out of the table"
        )
    if min(table.shape) < 2:
        raise ValueError(f"expected at least two data sets and two methods, got a table of shape {table.shape}")
    return table.round(_DECIMALS).rank(axis=1, ascending=not higher_is_better)


def _ranks_and_error(table: pd.DataFrame, alpha: float, higher_is_better: bool) -> tuple[pd.Series[float], float]:
    """Return the average ranks, and the standard error of a difference between two of them."""
    if not 0 < alpha < 1:
        raise ValueError(f"alpha={alpha!r}: expected a level between 0 and 1")
    n, k = table.shape
    return average_ranks(table, higher_is_better), float(np.sqrt(k * (k + 1) / (6 * n)))


def _differences(first: _Values, second: _Values) -> FloatArray:
    if isinstance(first, pd.Series) and isinstance(second, pd.Series):
        if not first.index.is_unique or set(first.index) != set(second.index):
            raise ValueError("the two methods have results on different data sets; keep those that both have")
        second = second.loc[first.index]
    a, b = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    if a.ndim != 1 or a.shape != b.shape or len(a) < 2:
        raise ValueError(
            f"expected two equally long columns of at least two values, got shapes {a.shape} and {b.shape}"
        )
    if np.isnan(a).any() or np.isnan(b).any():
        raise ValueError("missing results; leave out the data sets, or folds, where one of the two methods has none")
    return np.asarray(np.round(a - b, _DECIMALS), dtype=np.float64)


def _t_test(differences: FloatArray, extra: float, alternative: _Alternative) -> PairedTest:
    """Test the mean difference with a variance of (1 / n + extra) times that of the differences."""
    n, mean = len(differences), float(differences.mean())
    error = float(np.sqrt(differences.var(ddof=1) * (1 / n + extra)))
    if (differences == differences[0]).all():
        error = 0.0
    t = mean / error if error else np.sign(mean) * np.inf if mean else 0.0
    tail = {"greater": stats.t.sf(t, n - 1), "less": stats.t.cdf(t, n - 1), "two-sided": 2 * stats.t.sf(abs(t), n - 1)}
    if alternative not in tail:
        raise ValueError(f"alternative={alternative!r}: expected one of {', '.join(map(repr, tail))}")
    return PairedTest(float(t), float(tail[alternative]), mean, n)
