"""Tests of whether methods differ, and bias and variance.

Over many data sets (Demšar, 2006): `friedman` with `nemenyi` (all pairs) or `bonferroni_dunn` (against a
control) afterwards take a frame, data sets x methods; `wilcoxon`, `paired_t_test` and `win_draw_loss` take two of
its columns. Within one data set `corrected_t_test` takes the results of two methods on the same folds.
Values that agree to nine decimals are tied: sums in another order differ in their last bits.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy import stats

from bnplug.arrays import FloatArray

_Alternative = Literal["two-sided", "greater", "less"]
_Values = Sequence[float] | FloatArray | pd.Series

_DECIMALS = 9


@dataclass(frozen=True, eq=False)
class Friedman:
    """Whether the methods differ at all: ranks within data sets, averaged.

    Attributes
    ----------
    average_ranks : pandas.Series
        By method, best (lowest) first.
    n_datasets : int
    chi_square, p_value : float
        Friedman's statistic, corrected for ties, with ``degrees_of_freedom`` degrees of freedom.
    f_statistic, f_p_value : float
        Iman and Davenport's statistic, which is less conservative, with ``f_degrees_of_freedom``.
    degrees_of_freedom : int
    f_degrees_of_freedom : pair of int
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
    """Which methods differ from each other.

    Attributes
    ----------
    average_ranks : pandas.Series
        By method, best (lowest) first.
    critical_difference : float
        Two methods differ at level ``alpha`` where their average ranks are at least so far apart.
    alpha : float
    p_values : pandas.DataFrame
        Methods x methods, in the order of the ranks, adjusted for the number of pairs.
    """

    average_ranks: pd.Series[float]
    critical_difference: float
    alpha: float
    p_values: pd.DataFrame


@dataclass(frozen=True, eq=False)
class BonferroniDunn:
    """Which methods differ from a control.

    Attributes
    ----------
    control : str
    average_ranks : pandas.Series
        By method, best (lowest) first.
    critical_difference : float
        A method differs from the control at level ``alpha`` where their average ranks are so far apart.
    alpha : float
    p_values : pandas.Series
        By method, without the control, adjusted for the number of comparisons.
    """

    control: str
    average_ranks: pd.Series[float]
    critical_difference: float
    alpha: float
    p_values: pd.Series[float]


@dataclass(frozen=True)
class PairedTest:
    """A test of two methods: its statistic and p-value, and by how much the first is above the second."""

    statistic: float
    p_value: float
    mean_difference: float
    n: int


@dataclass(frozen=True)
class WinDrawLoss:
    """How often the first method is better than, as good as, and worse than the second; a sign test's p-value."""

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
    """Rank the methods within each data set, 1 for the best, ties sharing the mean; average over data sets.

    Parameters
    ----------
    table : pandas.DataFrame
        Data sets x methods.
    higher_is_better : bool
        True for accuracy, False for losses and times.

    Returns
    -------
    pandas.Series
        By method, best first.

    Examples
    --------
    >>> average_ranks(pd.DataFrame({"nb": [0.9, 0.7], "tan": [0.9, 0.8]})).to_dict()
    {'tan': 1.25, 'nb': 1.75}
    """
    return _ranks(table, higher_is_better).mean().sort_values(kind="stable")


def friedman(table: pd.DataFrame, higher_is_better: bool = True) -> Friedman:
    """Test whether at least three methods perform alike over data sets (Friedman; Iman and Davenport).

    Parameters
    ----------
    table : pandas.DataFrame
        Data sets x methods.
    higher_is_better : bool
        True for accuracy, False for losses and times.

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
    return Friedman(
        average_ranks=ranks.mean().sort_values(kind="stable"),
        n_datasets=n,
        chi_square=chi_square,
        degrees_of_freedom=k - 1,
        p_value=float(stats.chi2.sf(chi_square, k - 1)),
        f_statistic=f_statistic,
        f_degrees_of_freedom=(k - 1, (k - 1) * (n - 1)),
        f_p_value=float(stats.f.sf(f_statistic, k - 1, (k - 1) * (n - 1))),
    )


def nemenyi(table: pd.DataFrame, alpha: float = 0.05, higher_is_better: bool = True) -> Nemenyi:
    """Compare all methods with each other after a Friedman test.

    Parameters
    ----------
    table : pandas.DataFrame
        Data sets x methods.
    alpha : float
        The level of the critical difference.
    higher_is_better : bool
        True for accuracy, False for losses and times.

    Examples
    --------
    >>> table = pd.DataFrame({"nb": [0.7, 0.6, 0.8], "tan": [0.8, 0.7, 0.9], "kdb": [0.9, 0.8, 0.7]})
    >>> round(nemenyi(table).critical_difference, 3)
    1.914
    """
    ranks, error = _ranks_and_error(table, alpha, higher_is_better)
    k = len(ranks)
    # The studentized range is that of means; a difference of two has twice their variance.
    scale = np.sqrt(2) / error
    apart = np.abs(np.subtract.outer(ranks.to_numpy(), ranks.to_numpy()))
    p_values = np.clip(stats.studentized_range.sf(apart * scale, k, np.inf), 0.0, 1.0)
    return Nemenyi(
        average_ranks=ranks,
        critical_difference=float(stats.studentized_range.ppf(1 - alpha, k, np.inf) / scale),
        alpha=alpha,
        p_values=pd.DataFrame(p_values, index=ranks.index, columns=ranks.index),
    )


def bonferroni_dunn(
    table: pd.DataFrame, control: str, alpha: float = 0.05, higher_is_better: bool = True
) -> BonferroniDunn:
    """Compare every method with one, the control, after a Friedman test.

    Parameters
    ----------
    table : pandas.DataFrame
        Data sets x methods.
    control : str
        The column that the others are compared with.
    alpha : float
        The level of the critical difference.
    higher_is_better : bool
        True for accuracy, False for losses and times.

    Examples
    --------
    >>> table = pd.DataFrame({"nb": [0.7, 0.6, 0.8], "tan": [0.8, 0.7, 0.9], "kdb": [0.9, 0.8, 0.7]})
    >>> result = bonferroni_dunn(table, "nb")
    >>> round(result.critical_difference, 3), result.p_values.round(3).to_dict()
    (1.83, {'tan': 0.441, 'kdb': 0.441})
    """
    ranks, error = _ranks_and_error(table, alpha, higher_is_better)
    if control not in ranks.index:
        raise ValueError(f"the control {control!r} is none of the methods {list(table.columns)}")
    others = ranks.drop(control)
    z = np.abs(others.to_numpy() - ranks[control]) / error
    p_values = np.minimum(1.0, 2 * stats.norm.sf(z) * len(others))
    return BonferroniDunn(
        control=control,
        average_ranks=ranks,
        critical_difference=float(stats.norm.isf(alpha / (2 * len(others))) * error),
        alpha=alpha,
        p_values=pd.Series(p_values, index=others.index),
    )


def wilcoxon(first: _Values, second: _Values, alternative: _Alternative = "two-sided") -> PairedTest:
    """Wilcoxon's signed rank test of two methods over data sets; data sets without a difference are dropped.

    The p-value is scipy's: exact where that is feasible, for up to 50 data sets without ties, or else
    from the normal approximation.

    Parameters
    ----------
    first, second : pandas.Series or sequence of float
        One value for each data set; series are matched by their index.
    alternative : {"two-sided", "greater", "less"}
        Whether the first is asked to be different from, above or below the second.

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
    """Student's paired t-test of two methods over data sets, one-sided unless told.

    Parameters
    ----------
    first, second : pandas.Series or sequence of float
        One value for each data set; series are matched by their index.
    alternative : {"greater", "less", "two-sided"}
        Whether the first is asked to be above, below or different from the second.

    Examples
    --------
    >>> result = paired_t_test([0.9, 0.8, 0.7], [0.8, 0.6, 0.6])
    >>> round(result.statistic, 3), round(result.p_value, 4)
    (4.0, 0.0286)
    """
    return _t_test(_differences(first, second), 0.0, alternative)


def corrected_t_test(
    first: _Values, second: _Values, test_train_ratio: float, alternative: _Alternative = "two-sided"
) -> PairedTest:
    """Nadeau and Bengio's corrected t-test of two methods on the same folds of one data set.

    Training parts overlap, so the folds' results vary less than those of independent samples would; the
    variance is taken ``1 / n + test_train_ratio`` times instead of ``1 / n`` times. For repeated k-fold
    cross-validation this is the corrected repeated k-fold test of Bouckaert and Frank.

    Parameters
    ----------
    first, second : pandas.Series or sequence of float
        One value for each fold of each repetition; series are matched by their index.
    test_train_ratio : float
        Rows tested for each row trained on: ``1 / (k - 1)`` with k folds.
    alternative : {"two-sided", "greater", "less"}
        Whether the first is asked to be different from, above or below the second.

    References
    ----------
    Nadeau, Bengio: Inference for the generalization error (2003).
    Bouckaert, Frank: Evaluating the replicability of significance tests for comparing learning algorithms (2004).

    Examples
    --------
    >>> folds = [0.9, 0.8, 0.7, 0.8], [0.8, 0.6, 0.6, 0.6]
    >>> round(corrected_t_test(*folds, test_train_ratio=1 / 3).statistic, 3)
    3.402
    """
    if not 0 < test_train_ratio < np.inf:
        raise ValueError(f"test_train_ratio={test_train_ratio!r}: expected a positive number, 1 / (k - 1) for k folds")
    return _t_test(_differences(first, second), test_train_ratio, alternative)


def win_draw_loss(first: _Values, second: _Values, higher_is_better: bool = True) -> WinDrawLoss:
    """Count data sets won, drawn and lost, with a two-tailed binomial sign test that leaves draws out.

    Parameters
    ----------
    first, second : pandas.Series or sequence of float
        One value for each data set; series are matched by their index.
    higher_is_better : bool
        True for accuracy, False for losses and times.

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
    """Split the 0-1 loss into bias and variance (Kohavi and Wolpert), from repeated predictions of the same rows.

    With p the share of a row's predictions that go to each class and t the indicator of its true class, its
    squared bias is ``sum((t - p)^2) / 2`` and its variance ``(1 - sum(p^2)) / 2``; both are averaged over rows.
    The noise is taken to be zero, as it is wherever a row's class is known only once.

    Parameters
    ----------
    y : array of shape (rows,)
        The true class of every row.
    predictions : iterable of (rows, predicted classes)
        One pair for each fold of each repetition: positions in `y`, and the class predicted for each of them
        by a model trained on other rows. Rows that no fold tests are left out.

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
    """Return the ranks within each data set, 1 for the best."""
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
