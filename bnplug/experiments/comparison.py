"""The result of a comparison: its figures as frames, and as tables to print."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from bnplug.exchange.spreadsheets import to_csv
from bnplug.experiments import statistics
from bnplug.experiments._metrics import FOLD_METRICS, find_metric
from bnplug.experiments._tables import TextTable, complete_part, metric_table
from bnplug.notebook import _pieces as html


class Comparison:
    """What :func:`bnplug.experiments.compare` found.

    Parameters
    ----------
    results : frame
        One row for each data set, method and fold: the columns ``dataset``, ``method``, ``fold``, ``n_train``,
        ``n_test``, the figures (``accuracy``, ``zero_one_loss``, ``rmse``, ``auc``, ``cll``, ``fit_seconds``,
        ``predict_seconds``, ``n_parameters``, ``markov_blanket``), and ``error`` and ``warnings``, empty
        where there were none.
    datasets, methods : list of str
        In the order in which they were given.
    decomposition : frame, optional
        ``bias`` and ``variance`` for each ``dataset`` and ``method``.

    Examples
    --------
    >>> from bnplug.experiments import compare
    >>> found = compare(["nb", "tan"], ["iris"], cv=3)
    >>> print(found.to_markdown())
    | accuracy (%) | nb | tan |
    | --- | ---: | ---: |
    | iris | 94.67 ± 3.06 | **96.00 ± 2.00** |
    """

    def __init__(
        self,
        results: pd.DataFrame,
        datasets: Sequence[str],
        methods: Sequence[str],
        decomposition: pd.DataFrame | None = None,
    ) -> None:
        self.results = results
        self.datasets = list(datasets)
        self.methods = list(methods)
        self.decomposition = decomposition

    def __repr__(self) -> str:
        return self.to_text()

    def _repr_html_(self) -> str:
        from bnplug.experiments._report import WITHOUT_MESSAGES, failure_types

        failures = failure_types(self)
        notes = [*failures, WITHOUT_MESSAGES] if failures else []
        return html.fragment(self.text_table().to_display(), *map(html.note, notes))

    @property
    def failures(self) -> pd.DataFrame:
        """The folds that failed: data set, method, fold and error."""
        failed = self.results[self.results["error"] != ""]
        return failed[["dataset", "method", "fold", "error"]].reset_index(drop=True)

    @property
    def failed_methods(self) -> pd.DataFrame:
        """A row for each data set and method that failed on it: in how many ``folds`` ``of`` how many, the first error.

        ``others`` is the number of further errors that are not the same.
        """
        pairs = ["dataset", "method"]
        errors = self.failures.groupby(pairs, sort=False)["error"]
        counted = errors.agg(folds="size", error="first", others=lambda own: own.nunique() - 1)
        counted.insert(1, "of", self.results.groupby(pairs).size().reindex(counted.index))
        return counted.reset_index()

    def table(self, metric: str = "accuracy") -> pd.DataFrame:
        """Return the mean over folds: a row for each data set, a column for each method.

        NaN where a fold failed, since a mean over fewer folds compares with no other, and where the method has no
        such figure. A fold without the figure (no AUC in a fold of one class) is left out.
        """
        find_metric(metric)
        if metric not in FOLD_METRICS:
            return self._arrange(self._decomposed().set_index(["dataset", "method"])[metric])
        return self._arrange(self._folds(metric).mean()).mask(self.failed() > 0)

    def spread(self, metric: str = "accuracy") -> pd.DataFrame:
        """Return the standard deviation over folds, arranged like :meth:`table`; NaN for a single fold."""
        find_metric(metric)
        if metric not in FOLD_METRICS:
            return self.table(metric) * float("nan")
        return self._arrange(self._folds(metric).std()).mask(self.failed() > 0)

    def failed(self) -> pd.DataFrame:
        """Return how many folds failed, arranged like :meth:`table`."""
        errors = (self.results["error"] != "").groupby([self.results["dataset"], self.results["method"]]).sum()
        return self._arrange(errors)

    def fold_values(self, metric: str = "accuracy") -> pd.DataFrame:
        """Return the figure of every fold: a row for each data set and fold, a column for each method."""
        find_metric(metric)
        if metric not in FOLD_METRICS:
            raise ValueError(f"{metric} is a figure of a data set, not of a fold")
        wide = self.results.pivot(index=["dataset", "fold"], columns="method", values=metric)
        return wide.loc[self.datasets, self.methods].rename_axis(columns=None)

    def summary(self) -> pd.DataFrame:
        """Return a row for each data set and method: numbers of folds, means and standard deviations of all figures."""
        groups = self.results.groupby(["dataset", "method"], sort=False)
        counts = pd.DataFrame({"folds": groups.size(), "failed": groups["error"].agg(lambda e: int((e != "").sum()))})
        columns = {}
        for name in FOLD_METRICS:
            columns[f"{name}_mean"] = self.table(name).stack(future_stack=True)
            columns[f"{name}_std"] = self.spread(name).stack(future_stack=True)
        if self.decomposition is not None:
            columns |= {name: self.table(name).stack(future_stack=True) for name in ("bias", "variance")}
        figures = pd.DataFrame(columns).rename_axis(["dataset", "method"])
        return counts.join(figures).reset_index()

    def complete(self, metric: str = "accuracy") -> pd.DataFrame:
        """Return :meth:`table` without methods that have no such figure and data sets that lack one."""
        return complete_part(self.table(metric))

    def friedman(self, metric: str = "accuracy") -> statistics.Friedman:
        """Test whether all methods perform alike: :func:`~bnplug.experiments.statistics.friedman`."""
        return statistics.friedman(self.complete(metric), find_metric(metric).higher_is_better)

    def nemenyi(self, metric: str = "accuracy", alpha: float = 0.05) -> statistics.Nemenyi:
        """Compare all methods with each other: :func:`~bnplug.experiments.statistics.nemenyi`."""
        return statistics.nemenyi(self.complete(metric), alpha, find_metric(metric).higher_is_better)

    def bonferroni_dunn(self, control: str, metric: str = "accuracy", alpha: float = 0.05) -> statistics.BonferroniDunn:
        """Compare all methods with one: :func:`~bnplug.experiments.statistics.bonferroni_dunn`."""
        return statistics.bonferroni_dunn(self.complete(metric), control, alpha, find_metric(metric).higher_is_better)

    def pairs(self, metric: str = "accuracy") -> pd.DataFrame:
        """Compare every two methods over the data sets that all have.

        Returns
        -------
        frame
            A row for each pair: ``first``, ``second``, the data sets that the first ``win``s, ``draw``s and
            ``loss``es, and the two-sided p-values ``sign`` of the sign test, ``wilcoxon`` of the signed rank
            test and ``t_test`` of the paired t-test.
        """
        table = self.complete(metric)
        rows = []
        for first, second in combinations(table.columns, 2):
            a, b = table[first], table[second]
            counts = statistics.win_draw_loss(a, b, find_metric(metric).higher_is_better)
            rows.append({
                "first": first, "second": second, "win": counts.win, "draw": counts.draw, "loss": counts.loss,
                "sign": counts.p_value,
                "wilcoxon": statistics.wilcoxon(a, b).p_value,
                "t_test": statistics.paired_t_test(a, b, "two-sided").p_value,
            })  # fmt: skip
        return pd.DataFrame(rows)

    def corrected_t_tests(self, control: str, metric: str = "accuracy") -> pd.DataFrame:
        """Compare one method with the others within each data set, by the corrected repeated k-fold t-test.

        Returns
        -------
        frame
            Two-sided p-values: a row for each data set, a column for each method but the control; NaN where one
            of the two has failed folds or no such figure.
        """
        if control not in self.methods:
            raise ValueError(f"the control {control!r} is none of the methods {self.methods}")
        values = self.fold_values(metric)
        others = [method for method in self.methods if method != control]
        p_values = {
            name: [self._corrected(name, folds[control], folds[other]) for other in others]
            for name, folds in values.groupby(level="dataset", sort=False)
        }
        return pd.DataFrame.from_dict(p_values, orient="index", columns=others)

    def _corrected(self, dataset: Any, first: pd.Series[float], second: pd.Series[float]) -> float:
        rows = self.results[self.results["dataset"] == dataset]
        if len(first) < 2 or first.isna().any() or second.isna().any():
            return float(np.nan)
        ratio = float(rows["n_test"].sum() / rows["n_train"].sum())
        return statistics.corrected_t_test(first, second, ratio).p_value

    def text_table(self, metric: str = "accuracy") -> TextTable:
        """Return means ± standard deviations as text, with averages and average ranks over the data sets."""
        return metric_table(self.table(metric), self.spread(metric), self.failed(), find_metric(metric))

    def to_text(self, metric: str = "accuracy") -> str:
        """Return the table for a terminal; a star marks the best of a data set."""
        return self.text_table(metric).to_text()

    def to_markdown(self, metric: str = "accuracy") -> str:
        """Return the table as Markdown, the best of each data set bold."""
        return self.text_table(metric).to_markdown()

    def to_latex(self, metric: str = "accuracy") -> str:
        """Return the table as LaTeX (package booktabs), the best of each data set bold."""
        return self.text_table(metric).to_latex()

    def to_csv(self, formulas: bool = False) -> str:
        """Return :meth:`summary` as CSV, by :func:`bnplug.exchange.spreadsheets.to_csv`."""
        return to_csv(self.summary(), formulas)

    def _decomposed(self) -> pd.DataFrame:
        if self.decomposition is None:
            raise ValueError("bias and variance were not asked for: compare(..., bias_variance=True)")
        return self.decomposition

    def _folds(self, metric: str) -> Any:
        return self.results.groupby(["dataset", "method"])[metric]

    def _arrange(self, values: pd.Series[Any]) -> pd.DataFrame:
        """Turn a value for each (data set, method) into rows of data sets and columns of methods."""
        wide = values.unstack("method").loc[self.datasets, self.methods]
        return wide.rename_axis(index=None, columns=None)
