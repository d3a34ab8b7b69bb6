"""Our figures beside the published ones: Table 1 on UCI and MNIST, times, and draws."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import sqrt
from typing import Any

import pandas as pd
from scipy import stats

from bnplug.experiments.statistics import paired_t_test
from bnplug_papers.kit import Results, comparison, published, read_draws
from bnplug_papers.pernkopf2008.protocol import BY_RATE, TIMED

UCI, MNIST = "UCI-25 average", "MNIST"
# The paper's images have so many pixels.
_PIXELS = 14 * 14


def table_1(dataset: str) -> pd.DataFrame:
    """Return a column of the paper's Table 1: a row for its data set, a column for each method."""
    table = published("pernkopf2008-table1-accuracy")
    rows = table[table["dataset"] == dataset]
    return pd.DataFrame([rows["mean"].to_list()], index=[dataset], columns=rows["method"].to_list())


@dataclass(frozen=True, eq=False)
class Figures:
    """What the results say.

    Attributes
    ----------
    results : Results
    left_out : collection of str
        Data sets of UCI that do not count.
    """

    results: Results
    left_out: Collection[str] = ()

    def without(self, names: Collection[str]) -> Figures:
        """Return the figures without some data sets of UCI."""
        return replace(self, left_out=frozenset(names))

    @cached_property
    def uci(self) -> pd.DataFrame:
        """Accuracies on UCI sets in per cent, random orders included: data sets by classifiers."""
        compared = comparison(self.results, ["table 1"])
        table = 100 * compared.table()
        folds = compared.results.groupby("dataset")["fold"].nunique()
        orders = self.results.frame("random orders")
        if not orders.empty:
            groups = orders.groupby("dataset")
            # A mean over some of the folds would compare with nothing.
            whole = groups["fold"].nunique().eq(folds.reindex(list(groups.groups)))
            means = groups[["mean", "min", "max"]].mean()[whole]
            table = table.join(means.rename(columns=lambda kind: f"TAN-RO-CR-ML {kind}"))
        order = [*table_1(UCI).columns, BY_RATE]
        return table[[name for name in order if name in table]].drop(index=list(self.left_out), errors="ignore")

    def averages(self) -> pd.DataFrame:
        """Return the averages over data sets, of classifiers that all data sets have."""
        return self.uci.dropna(axis=1).mean().to_frame(UCI).T

    def redrawn(self) -> pd.DataFrame:
        """Return the averages of each draw of folds and rows, the first one included: draws by classifiers.

        Data sets whose rows are given count with the figures that they have.
        """
        rows: dict[int, dict[Any, float]] = {0: self.uci.mean().to_dict()}
        for record in self.results.records("drawn again"):
            method = record["key"]["method"]
            again = self.uci[method].copy()
            drawn = {name: value for name, value in record["value"].items() if name in again.index}
            again.update(pd.Series(drawn, dtype=float))
            rows.setdefault(record["key"]["draw"], {})[method] = float(again.mean())
        return pd.DataFrame.from_dict(rows, orient="index").sort_index()

    def twins(self) -> list[list[str]]:
        """Return data sets on whose folds all classifiers are right equally often, which have the same rows."""
        folds = comparison(self.results, ["table 1"]).results
        seen: dict[tuple[float, ...], list[str]] = {}
        for name, group in folds.groupby("dataset"):
            figures = group.sort_values(["method", "fold"])["accuracy"]
            if group["fold"].nunique() > 1:
                seen.setdefault(tuple(figures), []).append(str(name))
        return [names for names in seen.values() if len(names) > 1]

    @cached_property
    def digits(self) -> pd.DataFrame:
        """What was measured on MNIST: structures by parameters, seconds, candidates scored, and rows."""
        frame = self.results.frame("MNIST")
        return frame if frame.empty else frame.set_index("structure")

    def digit_accuracies(self) -> pd.DataFrame:
        """Return the accuracies on MNIST as a row, by the paper's names."""
        accuracies: dict[str, float] = {}
        for kind in ("ML", "CL"):
            known = self.digits[kind].dropna() if kind in self.digits else pd.Series(dtype=float)
            accuracies |= {f"{name}-{kind}": value for name, value in known.items()}
        if "2-tree-OMI-CR" in self.digits.index:
            accuracies["2-tree-OMI-CR-ML smoothed"] = self.digits["smoothed"]["2-tree-OMI-CR"]
        return pd.DataFrame([accuracies], index=[MNIST])

    def shares(self, pairs: Sequence[tuple[str, str]]) -> list[tuple[str, str, tuple[float, float]]]:
        """Return tests of pairs of methods on MNIST, of those that were run."""
        if self.digits.empty:
            return []
        accuracies: Any = self.digit_accuracies().loc[MNIST]
        rows = int(self.digits["n_test"].iloc[0])
        known = [pair for pair in pairs if set(pair) <= set(accuracies.index)]
        return [(first, second, share_test(accuracies[first], accuracies[second], rows)) for first, second in known]

    @cached_property
    def times(self) -> dict[str, pd.DataFrame]:
        """``structure``, ``seconds``, ``evaluations`` and ``features`` of each data set, by the row of Table 4."""
        values = [r["value"] for r in self.results.records("table 4") if r["key"]["dataset"] not in self.left_out]
        uci = [{"structure": name, "features": value["features"], **value[name]} for value in values for name in TIMED]
        digits = self.results.frame("MNIST").reindex(columns=["structure", "structure_seconds", "evaluations"])
        digits = digits[digits["structure"].isin(TIMED)].rename(columns={"structure_seconds": "seconds"})
        frames = {"UCI": pd.DataFrame(uci), MNIST: digits.assign(features=_PIXELS)}
        return {place: frame for place, frame in frames.items() if len(frame) and set(TIMED) <= set(frame["structure"])}

    @cached_property
    def evaluations(self) -> list[tuple[int, int]]:
        """How many features each data set has, and how many candidates a tree along the OMI order took."""
        values = [record["value"] for record in self.results.records("table 4")]
        counts = [(value["features"], value["TAN-OMI-CR"]["evaluations"]) for value in values]
        n = self.digits["evaluations"].get("TAN-OMI-CR") if len(self.digits) else None
        return counts if n is None else [*counts, (_PIXELS, int(n))]

    @property
    def second_order(self) -> tuple[int, int] | None:
        """The same of two parents on MNIST, if that was run."""
        n = self.digits["evaluations"].get("2-tree-OMI-CR") if len(self.digits) else None
        return None if n is None else (_PIXELS, int(n))

    @cached_property
    def hidden(self) -> dict[str, pd.DataFrame]:
        """The draws of missing features, by data set."""
        draws = self.results.frame("figure 3")
        return {str(name): group for name, group in read_draws(draws).groupby("dataset")} if len(draws) else {}

    @cached_property
    def synthetic_draws(self) -> pd.Series[float]:
        """Accuracies of the synthetic case, by method and number of rows."""
        frame = self.results.frame("figure 1")
        if frame.empty:
            return pd.Series(dtype=float, index=pd.MultiIndex.from_arrays([[], []], names=["method", "rows"]))
        draws = frame.drop(columns=["draws", "seconds"]).melt("rows", var_name="method", value_name="accuracy")
        draws = draws.explode("accuracy")
        return draws.astype({"accuracy": float}).set_index(["method", "rows"])["accuracy"]

    @cached_property
    def synthetic(self) -> pd.DataFrame:
        """The means of these, with columns such as "20 rows"."""
        means = self.synthetic_draws.groupby(level=[0, 1], sort=False).mean().unstack().sort_index(axis=1)
        return means.set_axis([f"{rows} rows" for rows in means.columns], axis=1)


def relative(times: pd.DataFrame, value: str) -> dict[str, float]:
    """Return each structure's total over data sets in per cent of the greedy search's.

    Examples
    --------
    >>> times = pd.DataFrame({"structure": ["TAN-CMI", "TAN-OMI-CR", "TAN-CR"], "seconds": [1.0, 2.0, 8.0]})
    >>> relative(times, "seconds")
    {'TAN-CMI': 12.5, 'TAN-OMI-CR': 25.0, 'TAN-CR': 100.0}
    """
    totals = times.groupby("structure")[value].sum()
    return {name: float(100 * totals[name] / totals["TAN-CR"]) for name in TIMED}


def one_sided(table: pd.DataFrame, first: str, second: str) -> tuple[float, float] | None:
    """Return by how much the second is above the first on average over data sets, and the one-sided p of that.

    By the paired t-test; None where fewer than two data sets have both.

    Examples
    --------
    >>> table = pd.DataFrame({"NB-ML": [80.0, 85.0, 90.0], "TAN-CR-ML": [82.0, 88.0, 91.0]})
    >>> gain, p = one_sided(table, "NB-ML", "TAN-CR-ML") or (0, 0)
    >>> gain, round(p, 3)
    (2.0, 0.037)
    """
    both = table.reindex(columns=[first, second]).dropna()
    if len(both) < 2:
        return None
    test = paired_t_test(both[second], both[first])
    return test.mean_difference, min(test.p_value, 1 - test.p_value)


def share_test(first: float, second: float, rows: int) -> tuple[float, float]:
    """Return by how many points a share (%) is above another of as many test rows, and the one-sided p of that.

    Examples
    --------
    >>> gain, p = share_test(92.10, 92.58, 10000)
    >>> round(gain, 2), round(p, 3)
    (0.48, 0.101)
    """
    deviation = sqrt(sum(share * (100 - share) / rows for share in (first, second)))
    gain = second - first
    return gain, float(stats.norm.sf(abs(gain) / deviation)) if deviation else 0.5
