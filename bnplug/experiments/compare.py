"""Comparing methods over data sets: by cross-validation on the same folds, and with features hidden at random."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from itertools import combinations
from pickle import PicklingError
from typing import Any

import joblib
import numpy as np
import pandas as pd

import bnplug
from bnplug.experiments import statistics
from bnplug.experiments._inputs import SplitData, resolve_methods, split_data
from bnplug.experiments._runner import FoldProgress, Job, run_jobs, seed_of_fold
from bnplug.experiments._tables import FOLD_METRICS, TextTable, complete_part, find_metric, metric_table
from bnplug.experiments.storage import Record, ResultsFile
from bnplug.html import _kit as html
from bnplug.sources.spreadsheets import to_csv
from bnplug.table.frames import to_frame


class Comparison:
    """The result of :func:`bnplug.experiments.compare`.

    Parameters
    ----------
    results : frame
        A row for each data set, method and fold: the columns ``dataset``, ``method``, ``fold``, ``n_train``,
        ``n_test``, the metrics (``accuracy``, ``zero_one_loss``, ``rmse``, ``auc``, ``cll``, ``fit_seconds``,
        ``predict_seconds``, ``n_parameters``, ``markov_blanket``), and ``error`` and ``warnings``, empty if there
        were none.
    datasets, methods : list of str
        In the given order.
    decomposition : frame, optional
        ``bias`` and ``variance`` for each ``dataset`` and ``method``.
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
        from bnplug.experiments._report import WITHOUT_MESSAGES, describe_failures

        failures = describe_failures(self, with_messages=False)
        notes = [*failures, WITHOUT_MESSAGES] if failures else []
        return html.display(self.text_table().to_html(), *map(html.note, notes))

    @property
    def failures(self) -> pd.DataFrame:
        """The folds that failed: data set, method, fold and error."""
        failed = self.results[self.results["error"] != ""]
        return failed[["dataset", "method", "fold", "error"]].reset_index(drop=True)

    @property
    def failed_methods(self) -> pd.DataFrame:
        """A row per data set and method that failed on it: ``folds`` that failed ``of`` all, and the first ``error``.

        ``others`` is the number of other distinct errors.
        """
        pairs = ["dataset", "method"]
        errors = self.failures.groupby(pairs, sort=False)["error"]
        counted = errors.agg(folds="size", error="first", others=lambda texts: texts.nunique() - 1)
        counted.insert(1, "of", self.results.groupby(pairs).size().reindex(counted.index))
        return counted.reset_index()

    def table(self, metric: str = "accuracy") -> pd.DataFrame:
        """Return the mean over folds: a row for each data set, a column for each method.

        NaN if a fold failed, because means over fewer folds are not comparable, or if the method does not have the
        metric. Folds without a value (no AUC with a single class) are ignored.
        """
        if find_metric(metric).name in FOLD_METRICS:
            return self._aggregate(metric, "mean")
        if self.decomposition is None:
            raise ValueError("bias and variance were not asked for: compare(..., bias_variance=True)")
        return self._arrange(self.decomposition.set_index(["dataset", "method"])[metric])

    def spread(self, metric: str = "accuracy") -> pd.DataFrame:
        """Return the standard deviation over folds, arranged like :meth:`table`; NaN for a single fold."""
        is_of_folds = find_metric(metric).name in FOLD_METRICS
        return self._aggregate(metric, "std") if is_of_folds else self.table(metric) * np.nan

    def _aggregate(self, metric: str, function: str) -> pd.DataFrame:
        values = self.results.groupby(["dataset", "method"])[metric].agg(function)
        return self._arrange(values).mask(self.failed() > 0)

    def failed(self) -> pd.DataFrame:
        """Return the numbers of failed folds, arranged like :meth:`table`."""
        failed = self.results["error"] != ""
        return self._arrange(failed.groupby([self.results["dataset"], self.results["method"]]).sum())

    def fold_values(self, metric: str = "accuracy") -> pd.DataFrame:
        """Return the metric of every fold: a row for each data set and fold, a column for each method."""
        find_metric(metric)
        if metric not in FOLD_METRICS:
            raise ValueError(f"{metric} is a figure of a data set, not of a fold")
        wide = self.results.pivot(index=["dataset", "fold"], columns="method", values=metric)
        return wide.loc[self.datasets, self.methods].rename_axis(columns=None)

    def summary(self) -> pd.DataFrame:
        """Return a row for each data set and method: numbers of folds, means and standard deviations of all metrics."""
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
        """Return :meth:`table` without methods that lack the metric, and without data sets with a missing value."""
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
        """Compare every two methods over the data sets on which all methods have a value.

        A row has the names ``first`` and ``second``, the numbers of data sets ``win``, ``draw`` and ``loss`` of the
        first, and the two-sided p-values ``sign`` (sign test), ``wilcoxon`` and ``t_test`` (paired t-test).
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
        """Compare a control with the other methods within each data set by the corrected repeated k-fold t-test.

        The result has two-sided p-values, a row for each data set and a column for each method except the control;
        NaN if one of the two has failed folds or lacks the metric.
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
        if len(first) < 2 or first.isna().any() or second.isna().any():
            return float(np.nan)
        rows = self.results.loc[self.results["dataset"] == dataset, ["n_test", "n_train"]].sum()
        return statistics.corrected_t_test(first, second, float(rows["n_test"] / rows["n_train"])).p_value

    def text_table(self, metric: str = "accuracy") -> TextTable:
        """Return means ± standard deviations as text, with averages and average ranks over the data sets."""
        return metric_table(self.table(metric), self.spread(metric), self.failed(), find_metric(metric))

    def to_text(self, metric: str = "accuracy") -> str:
        """Return the table for a terminal; a star marks the best methods on a data set."""
        return self.text_table(metric).to_text()

    def to_markdown(self, metric: str = "accuracy") -> str:
        """Return the table as Markdown, the best methods on each data set bold."""
        return self.text_table(metric).to_markdown()

    def to_latex(self, metric: str = "accuracy") -> str:
        """Return the table as LaTeX (package booktabs), the best methods on each data set bold."""
        return self.text_table(metric).to_latex()

    def to_csv(self, formulas: bool = False) -> str:
        """Return :meth:`summary` as CSV, by :func:`bnplug.sources.spreadsheets.to_csv`."""
        return to_csv(self.summary(), formulas)

    def _arrange(self, values: pd.Series[Any]) -> pd.DataFrame:
        """Turn a value for each (data set, method) into rows of data sets and columns of methods."""
        return values.unstack("method").loc[self.datasets, self.methods].rename_axis(index=None, columns=None)


def compare(
    methods: Iterable[Any],
    datasets: Iterable[Any],
    cv: Any = "10x5",
    *,
    missing: str = "ignore",
    categorical_features: str = "auto",
    bias_variance: bool = False,
    n_jobs: int | None = None,
    random_state: int = 0,
    data_dir: str | os.PathLike[str] | None = None,
    output: str | os.PathLike[str] | None = None,
    verbose: int = 0,
) -> Comparison:
    """Compare methods over data sets by cross-validation, every method on the same folds.

    A method learns everything, including the cut points of numeric columns, on the training rows of a fold.

    Parameters
    ----------
    methods : iterable
        Names of recipes, plugins' classifiers, structure learners (with maximum-likelihood parameters) or
        `BASELINES`; expressions such as ``"tan+ccbn-w"`` or ``"hill-climb[cr]"``, as for
        :func:`bnplug.make_classifier`; names with parameters, ``("kdb", {"k": 1})``; estimators;
        ``(name, estimator)`` pairs. A ``Pipeline``, and any estimator that is or contains a
        `BayesianNetworkClassifier` or a plugin's classifier, gets the columns as they are. For any other estimator,
        discrete columns are one-hot encoded, numeric columns scaled, and missing cells imputed, all inside the fold.
    datasets : iterable
        Names, `Dataset` objects, or ``(X, y)`` pairs, which are named ``data1``, ``data2`` by position.
    cv : str, int, splitter, list of (train, test), or dict of these by data set
        ``"10x5"``: ten repetitions of shuffled, stratified 5-fold cross-validation; an int: one repetition;
        ``"split"``: the training and test rows of the data set itself; or rows as positions.
    missing : {"ignore", "em", "drop", "value"}
        ``"ignore"``: networks skip missing cells in counts and marginalize them; other estimators impute the mean or
        the most frequent value. ``"em"``: networks learn by expectation maximization, others as before. ``"drop"``:
        rows with a missing cell are dropped. ``"value"``: missing is a state of its own, or an indicator. It overrides
        the ``missing`` of classifiers.
    categorical_features : {"auto", "declared"}
        ``"auto"``: columns are discrete as in `BayesianNetworkClassifier` by default (for example whole numbers with
        few values), or if the data set declares them as categories. ``"declared"``: among columns of numbers, only
        those that the data set declares, as in the protocols of papers. The list of a classifier has precedence.
    bias_variance : bool
        Whether to decompose the 0-1 loss (Kohavi and Wolpert), too; `output` then contains the predictions.
    n_jobs : int, optional
        The number of folds in parallel; methods themselves run with ``n_jobs=1``. It does not change results.
    random_state : int
        The seed of the folds and, with the number of the fold, of every method without a seed.
    data_dir : path, optional
        A folder of data files, for data sets by name.
    output : path, optional
        A file to which each finished fold is appended. An interrupted run resumes from its file; the file of another
        experiment is an error.
    verbose : int
        1: progress and the remaining time, about every second; 2: a line per fold.

    Returns
    -------
    Comparison
        It contains failed folds with their errors.

    Examples
    --------
    >>> comparison = compare(["nb", "tan"], ["iris"], cv=3)
    >>> comparison.table("accuracy").round(2)
            nb   tan
    iris  0.95  0.96
    """
    choices = {"missing": ["ignore", "em", "drop", "value"], "categorical_features": ["auto", "declared"]}
    for (name, allowed), value in zip(choices.items(), (missing, categorical_features), strict=True):
        if value not in allowed:
            raise ValueError(f"{name}={value!r} is not one of {allowed}")
    if not isinstance(random_state, int) or random_state < 0:
        raise ValueError(f"random_state={random_state!r} is not a whole number from 0 on; folds are to be repeatable")
    estimators = resolve_methods(methods)
    data = split_data(datasets, cv, missing, random_state, data_dir, categorical_features)
    jobs = list(_jobs(estimators, data, missing, random_state, bias_variance))
    file = None
    if output is not None:
        file = ResultsFile(output, {
            "bnplug": bnplug.__version__,
            "methods": {name: _hash_estimator(name, estimator) for name, estimator in estimators.items()},
            "cv": {one.name: one.cv for one in data},
            "datasets": {one.name: one.digest() for one in data},
            "missing": missing,
            "random_state": random_state,
            "bias_variance": bias_variance,
        })  # fmt: skip
    records = _run(jobs, file, n_jobs, verbose)
    names = [one.name for one in data]
    decomposition = _decompose(records, data) if bias_variance else None
    return Comparison(_frame(records, names, list(estimators)), names, list(estimators), decomposition)


def hide_features(
    models: Mapping[str, Any], X: Any, y: Any, counts: Iterable[int], draws: int = 10, random_state: int = 0
) -> pd.DataFrame:
    """Measure accuracy with features missing at random, as in Pernkopf and Bilmes (2008), Figure 3.

    Parameters
    ----------
    models : mapping of str to fitted classifier
        Classifiers that accept missing cells; all get the same ones.
    X, y : frame and array-like
        Test rows and their classes.
    counts : iterable of int
        The numbers of features to hide, drawn anew for each row.
    draws : int
        How often the test rows are classified for each of `counts` except 0.
    random_state : int

    Returns
    -------
    frame
        ``method``, ``missing``, ``draw`` and ``accuracy``.
    """
    frame, truth = to_frame(X, "X"), np.asarray(y)
    rows = []
    for count in counts:
        if not 0 <= count <= frame.shape[1]:
            raise ValueError(f"{count} features cannot be missing: there are {frame.shape[1]}")
        for draw in range(draws if count else 1):
            rng = np.random.default_rng([random_state, count, draw])
            hidden = frame.mask(rng.random(frame.shape).argsort(axis=1) < count) if count else frame
            for name, model in models.items():
                accuracy = float(np.mean(np.asarray(model.predict(hidden)) == truth))
                rows.append((name, count, draw, accuracy))
    return pd.DataFrame(rows, columns=["method", "missing", "draw", "accuracy"])


def _run(jobs: Sequence[Job], file: ResultsFile | None, n_jobs: int | None, verbose: int) -> list[Record]:
    """Run the jobs that are not in the file yet; return the records of all."""
    records = {_key(record): record for record in (file.records if file else [])}
    left = [job for job in jobs if (*job.kind, job.fold) not in records]
    progress = FoldProgress([job.kind for job in left], len(jobs) - len(left), verbose)
    # Closing stops the workers if this loop is interrupted.
    with closing(run_jobs(left, n_jobs)) as running:
        for record in running:
            if file:
                file.append(record)
            records[_key(record)] = record
            progress.report(record)
    return [records[(*job.kind, job.fold)] for job in jobs]


def _jobs(
    estimators: Mapping[str, Any], data: Sequence[SplitData], missing: str, random_state: int, keep_predictions: bool
) -> Iterator[Job]:
    """Yield every fold of every method on every data set, the first folds of all before the second."""
    for fold in range(max(len(one.splits) for one in data)):
        seed = seed_of_fold(random_state, fold)
        for one in data:
            if fold < len(one.splits):
                for method, estimator in estimators.items():
                    yield Job(one.only(fold), method, estimator, fold, missing, seed, keep_predictions)


def _hash_estimator(name: str, estimator: Any) -> str:
    try:
        return str(joblib.hash(estimator))
    except (PicklingError, AttributeError, TypeError) as error:
        raise TypeError(
            f"method {name!r} cannot be told from others in a results file: {error}; "
            "define its functions in a module, or compare without output"
        ) from error


def _key(record: Record) -> tuple[str, str, int]:
    return record["dataset"], record["method"], record["fold"]


def _frame(records: list[Record], names: list[str], methods: list[str]) -> pd.DataFrame:
    """Return the records as a frame, ordered by data set, method and fold."""
    ordered = sorted(records, key=lambda r: (names.index(r["dataset"]), methods.index(r["method"]), r["fold"]))
    rows = [
        {
            **{key: record[key] for key in ("dataset", "method", "fold", "n_train", "n_test")},
            **{name: np.nan if value is None else value for name, value in record["values"].items()},
            "error": record["error"] or "",
            "warnings": "; ".join(record["warnings"]),
        }
        for record in ordered
    ]
    return pd.DataFrame(rows)


def _decompose(records: list[Record], data: Sequence[SplitData]) -> pd.DataFrame:
    """Return bias and variance for each data set and method; NaN if a fold failed."""
    rows = []
    for one in data:
        of_data = [record for record in records if record["dataset"] == one.name]
        for method in dict.fromkeys(record["method"] for record in of_data):
            folds = [record for record in of_data if record["method"] == method]
            result = statistics.BiasVariance(np.nan, np.nan)
            if all(record["error"] is None for record in folds):
                predictions = [(one.splits[record["fold"]][1], record["predicted"]) for record in folds]
                result = statistics.bias_variance(one.truth, predictions)
            rows.append({"dataset": one.name, "method": method, "bias": result.bias, "variance": result.variance})
    return pd.DataFrame(rows)
