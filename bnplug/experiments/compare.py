"""Comparing methods over data sets: the same folds for all, results kept as they come."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from pickle import PicklingError
from typing import Any

import joblib
import numpy as np
import pandas as pd

import bnplug
from bnplug.experiments import statistics
from bnplug.experiments._data import SplitData, split_data
from bnplug.experiments._estimators import resolve_methods
from bnplug.experiments._runner import FoldProgress, Job, run_jobs, seed_of_fold
from bnplug.experiments.comparison import Comparison
from bnplug.experiments.storage import Record, ResultsFile

_MISSING = ("ignore", "em", "drop", "value")
_KINDS = ("auto", "declared")


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
    """Compare methods over data sets by cross validation, every method on the same folds.

    Whatever a method learns, cut points of numeric columns included, it learns on the training rows of a fold.

    Parameters
    ----------
    methods : iterable
        Names of recipes, plugins' classifiers, structure learners (with maximum-likelihood parameters) or
        `BASELINES`; expressions, ``"tan+ccbn-w"`` or ``"hill-climb[cr]"``, as :func:`bnplug.make_classifier` takes
        them; names with parameters, ``("kdb", {"k": 1})``; estimators; ``(name, estimator)`` pairs. A ``Pipeline``,
        and what is or holds a `BayesianNetworkClassifier` or a plugin's classifier, gets the columns as they are. Any
        other estimator gets discrete ones one-hot and numeric ones scaled, missing cells imputed, all learned in the
        fold.
    datasets : iterable
        Names, `Dataset` objects, or ``(X, y)`` pairs, which are named ``data1``, ``data2`` after their place.
    cv : str, int, splitter, list of (train, test), or dict of these by data set
        ``"10x5"``: ten repetitions of shuffled, stratified 5-fold cross validation; an int: one repetition;
        ``"split"``: the training and test rows that a data set comes with; or rows as positions.
    missing : {"ignore", "em", "drop", "value"}
        ``"ignore"``: networks count what is there and marginalise; other estimators get the mean, or the most
        frequent value. ``"em"``: networks learn from all that is known of every row, others as before. ``"drop"``: rows
        with a missing cell are left out. ``"value"``: missing is a state of its own, or an indicator. It wins over the
        classifiers' own ``missing``.
    categorical_features : {"auto", "declared"}
        ``"auto"``: columns are taken as `BayesianNetworkClassifier` takes them by default, whole numbers of few values
        as states; what a data set lists as categories is that too. ``"declared"``: of columns of numbers only those
        are categories that the data set lists, as the protocols of papers have it. A classifier's own list wins.
    bias_variance : bool
        Also split the 0-1 loss by Kohavi and Wolpert; the predictions are then kept in `output`.
    n_jobs : int, optional
        Folds in parallel, and the methods themselves with ``n_jobs=1``; the results do not depend on it.
    random_state : int
        The seed of the folds and, with the number of the fold, of every method that has none.
    data_dir : path, optional
        A folder of data files, for data sets by name.
    output : path, optional
        A file that each fold is appended to as it is done. A run that finds its own file goes on where that
        ended; another experiment's file is an error.
    verbose : int
        1: progress and the time left, about every second; 2: a line for every fold.

    Returns
    -------
    Comparison
        A fold that failed is in it with its error.

    Examples
    --------
    >>> found = compare(["nb", "tan"], ["iris"], cv=3)
    >>> found.table("accuracy").round(2)
            nb   tan
    iris  0.95  0.96
    """
    _check(missing, categorical_features, random_state)
    estimators = resolve_methods(methods)
    data = split_data(datasets, cv, missing, random_state, data_dir, categorical_features)
    jobs = list(_jobs(estimators, data, missing, random_state, bias_variance))
    file = None
    if output is not None:
        file = ResultsFile(output, _settings(estimators, data, missing, random_state, bias_variance))
    records = _run(jobs, file, n_jobs, verbose)
    names, decomposition = [one.name for one in data], _decompose(records, data) if bias_variance else None
    return Comparison(_frame(records, names, list(estimators)), names, list(estimators), decomposition)


def _check(missing: str, categorical_features: str, random_state: int) -> None:
    if missing not in _MISSING:
        raise ValueError(f"missing={missing!r} is not one of {list(_MISSING)}")
    if categorical_features not in _KINDS:
        raise ValueError(f"categorical_features={categorical_features!r} is not one of {list(_KINDS)}")
    if not isinstance(random_state, int) or random_state < 0:
        raise ValueError(f"random_state={random_state!r} is not a whole number from 0 on; folds are to be repeatable")


def _run(jobs: Sequence[Job], file: ResultsFile | None, n_jobs: int | None, verbose: int) -> list[Record]:
    """Run the jobs that the file does not have yet; return the records of all."""
    records = {_key(record): record for record in (file.records if file else [])}
    left = [job for job in jobs if (job.dataset, job.method, job.fold) not in records]
    progress = FoldProgress([(job.dataset, job.method) for job in left], len(jobs) - len(left), verbose)
    # Closing stops the workers where this loop is interrupted.
    with closing(run_jobs(left, n_jobs)) as running:
        for record in running:
            if file:
                file.append(record)
            records[_key(record)] = record
            progress.tell(record)
    return [records[job.dataset, job.method, job.fold] for job in jobs]


def _jobs(
    estimators: Mapping[str, Any], data: Sequence[SplitData], missing: str, random_state: int, keep_predictions: bool
) -> Iterator[Job]:
    """Yield every fold of every method on every data set: first folds first, so that all get a say early."""
    for fold in range(max(len(one.splits) for one in data)):
        seed = seed_of_fold(random_state, fold)
        for one in data:
            if fold < len(one.splits):
                for method, estimator in estimators.items():
                    yield Job(one.only(fold), method, estimator, fold, missing, seed, keep_predictions)


def _settings(
    estimators: Mapping[str, Any], data: Sequence[SplitData], missing: str, random_state: int, bias_variance: bool
) -> dict[str, Any]:
    """Return what decides the results, as the results file keeps it."""
    return {
        "bnplug": bnplug.__version__,
        "methods": {name: _hash_estimator(name, estimator) for name, estimator in estimators.items()},
        "cv": {one.name: one.cv for one in data},
        "datasets": {one.name: one.digest() for one in data},
        "missing": missing,
        "random_state": random_state,
        "bias_variance": bias_variance,
    }


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
    """Return the records as a frame, by data set, method and fold, each as it was given."""
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
    """Return bias and variance for each data set and method; NaN where a fold failed."""
    of = {one.name: one for one in data}
    groups: dict[tuple[str, str], list[Record]] = {}
    for record in records:
        groups.setdefault((record["dataset"], record["method"]), []).append(record)
    rows = []
    for (name, method), own in groups.items():
        bias = variance = np.nan
        if all(record["error"] is None for record in own):
            predictions = [(of[name].splits[record["fold"]][1], record["predicted"]) for record in own]
            found = statistics.bias_variance(of[name].truth, predictions)
            bias, variance = found.bias, found.variance
        rows.append({"dataset": name, "method": method, "bias": bias, "variance": variance})
    return pd.DataFrame(rows)
