"""Our figures and the published ones as tables of data sets by classifiers."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import pandas as pd

from bnplug.experiments import Comparison, published_table, statistics
from bnplug.experiments.paper import Results, Way, comparison
from bnplug_rmcv.paper import protocol
from bnplug_rmcv.paper.protocol import CONTROL, DATASETS

_OPTIMIZED = "RMCV (NBC) optimized"
#: Rows tested for each row trained on, in five folds.
_RATIO = 1 / 4


def table_of(name: str, value: str = "mean") -> pd.DataFrame:
    """Return a table of the paper, data sets by classifiers, without its averages."""
    return published_table(f"kelner2012-{name}", value).drop(index=["Average", "Excluding Letter"], errors="ignore")


def published_accuracy() -> pd.DataFrame:
    """Return tables 6 and 2 as one; what both have is the same.

    Examples
    --------
    >>> published_accuracy().shape, float(published_accuracy().loc["Chess", "TAN"])
    ((22, 21), 92.55)
    """
    first, second = table_of("table6-accuracy"), table_of("table2-accuracy")
    return pd.concat([first, second.drop(columns=CONTROL)], axis=1)


def published_seconds() -> pd.DataFrame:
    """Return tables 11 to 13 as one; RMCV (NBC) is the optimised code, as the paper's claims are about that."""
    first, second = table_of("table12-13-seconds"), table_of("table11-seconds")
    first = first.drop(columns=CONTROL).rename(columns={_OPTIMIZED: CONTROL})
    return pd.concat([first, second.drop(columns=CONTROL)], axis=1)


class Figures:
    """What was found, as tables.

    Attributes
    ----------
    found : Comparison
        Of the paper's classifiers on the same folds.
    accuracy, spread : frame
        Mean and standard deviation over folds, in per cent.
    areas : frame
        Mean areas under the curve.
    seconds : frame
        Of a fit.
    """

    def __init__(self, results: Results) -> None:
        self.found = comparison(results, [protocol.NETWORKS, protocol.HOLD_OUT, protocol.RIVALS])
        self.accuracy = _ordered(100 * _means(self.found))
        self.spread = _ordered(100 * self.found.spread()) if len(self.found.results) else self.accuracy
        self.areas = _ordered(_means(self.found, "auc"))
        times = results.frame(protocol.TIMES)
        wide = times.pivot(index="dataset", columns="method", values="fit_seconds") if len(times) else pd.DataFrame()
        self.seconds = _ordered(wide)
        self.results = results

    def repetitions(self) -> pd.Series[int]:
        """Return how many repetitions all classifiers of a data set have, of ten."""
        counts = self.found.results.groupby(["dataset", "method"]).size().unstack() // 5
        return _ordered(counts.fillna(0)).min(axis=1).astype(int)

    def errors(self) -> pd.DataFrame:
        """Return the standard error of each mean accuracy by the draw of the folds, from two repetitions on."""
        frame = self.found.results.assign(repetition=self.found.results["fold"] // 5)
        each = 100 * frame.groupby(["dataset", "method", "repetition"])["accuracy"].mean()
        groups = each.groupby(["dataset", "method"])
        return (groups.std() / groups.size() ** 0.5).unstack()

    @cached_property
    def ways(self) -> list[Way]:
        """Return what was done in another way, as far as it was; BDeu(1) stands for K2."""
        made = [
            Way(name, 100 * _means(comparison(self.results, [part])))
            for name, part in protocol.WAYS.items()
            if self.results.records(part)
        ]
        named = {f"BDeu(1) ({start})": f"K2 ({start})" for start in protocol.STARTS}
        there = [name for name in named if name in self.accuracy]
        return [Way("BDeu, equivalent sample size 1", self.accuracy[there].rename(columns=named)), *made]

    def signed_p(self, metric: str, others: Sequence[str]) -> pd.DataFrame:
        """Return p-values of the corrected t-test of RMCV (NBC) with others, negative where it is not above."""
        values = self.found.fold_values(metric)
        there, rows = [other for other in others if other in values], {}
        for name, folds in values.groupby(level="dataset"):
            pairs = {other: folds[[CONTROL, other]].dropna() for other in there}
            rows[name] = {other: _signed(pair, other) for other, pair in pairs.items()}
        return _ordered(pd.DataFrame.from_dict(rows, orient="index"))


def _signed(pair: pd.DataFrame, other: str) -> float:
    if len(pair) < 2:
        return float("nan")
    test = statistics.corrected_t_test(pair[CONTROL].tolist(), pair[other].tolist(), _RATIO)
    return test.p_value if test.mean_difference >= 0 else -test.p_value


def _means(found: Comparison, metric: str = "accuracy") -> pd.DataFrame:
    return found.table(metric) if len(found.results) else pd.DataFrame()


def _ordered(table: pd.DataFrame) -> pd.DataFrame:
    """Return the rows in the order of the paper."""
    return table.loc[[name for name in DATASETS if name in table.index]]
