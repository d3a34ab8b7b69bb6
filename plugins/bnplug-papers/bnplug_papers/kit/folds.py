"""Repeated cross-validation as tasks: each fits one method on the folds of one repetition of one data set."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import pandas as pd

from bnplug import datasets
from bnplug.experiments import Comparison, SplitData, run_fold, split_data
from bnplug.experiments.storage import Record
from bnplug_papers.kit.data import load_data
from bnplug_papers.kit.results import Results
from bnplug_papers.kit.tasks import Task

_FIGURES = ("accuracy", "rmse", "auc", "cll", "fit_seconds")


@dataclass(frozen=True)
class Folds:
    """How a paper splits its data.

    Attributes
    ----------
    folds : int
        Folds of one repetition, shuffled and stratified.
    repetitions : int
    missing : {"ignore", "drop", "value"}
        As for :func:`bnplug.experiments.compare`.
    rows : callable, optional
        A function of a module that returns the data set to split, given the one that was read: a sample of its rows,
        for instance. The same rows each time.
    splits : callable, optional
        A function of a module that returns the (train, test) rows of a data set, instead of `folds`; there is one
        repetition then.
    figures : tuple of str
        The measures to keep of each fold.
    """

    folds: int = 5
    repetitions: int = 10
    missing: str = "ignore"
    rows: Callable[[datasets.Dataset], datasets.Dataset] | None = None
    splits: Callable[[datasets.Dataset], Any] | None = None
    figures: tuple[str, ...] = _FIGURES


def fold_tasks(
    part: str,
    methods: Mapping[str, Any],
    names: Mapping[str, str] | Iterable[str],
    folder: str | os.PathLike[str] | None,
    folds: Folds | None = None,
    repetitions: Mapping[str, int] | None = None,
) -> Iterator[Task]:
    """Yield a task for each data set, method and repetition, all first repetitions before any second one.

    Parameters
    ----------
    part : str
        The part that they belong to.
    methods : dict of str to estimator
        By the paper's names.
    names : dict of str to str, or iterable of str
        The data sets: the paper's name of each with that of its file, or names that are both.
    folder : path, optional
        The folder of data files.
    folds : Folds, optional
        By default ten repetitions of five folds.
    repetitions : dict of str to int, optional
        For data sets with another number of repetitions, by the paper's names.

    Examples
    --------
    >>> import bnplug
    >>> tasks = list(fold_tasks("table 1", {"TAN": bnplug.recipe("TAN")}, {"Iris": "iris"}, None, Folds(5, 2)))
    >>> [task.key for task in tasks]
    [{'dataset': 'Iris', 'method': 'TAN', 'repetition': 0}, {'dataset': 'Iris', 'method': 'TAN', 'repetition': 1}]
    """
    folds = folds or Folds()
    files = names if isinstance(names, Mapping) else {name: name for name in names}
    numbers = {name: (repetitions or {}).get(name, folds.repetitions) for name in files}
    for repetition in range(max(numbers.values(), default=0)):
        for name, file in files.items():
            if repetition < numbers[name]:
                for method, estimator in methods.items():
                    key = {"dataset": name, "method": method, "repetition": repetition}
                    yield Task(part, key, _repeat, (estimator, file, folder, folds, repetition))


def _repeat(estimator: Any, file: str, folder: Any, folds: Folds, repetition: int) -> Record:
    """Fit and measure on each fold of a repetition; return lists of figures over the folds.

    Raises
    ------
    RuntimeError
        If a fold failed: a mean over the others would compare with nothing.
    """
    data = _split(file, folder, folds, repetition + 1)
    per_repetition = len(data.splits) // (repetition + 1)
    first = repetition * per_repetition
    records = [run_fold(data, estimator, first + number, folds.missing) for number in range(per_repetition)]
    errors = [record["error"] for record in records if record["error"] is not None]
    if errors:
        raise RuntimeError(f"{len(errors)} of {len(records)} folds failed, the first with {errors[0]}")
    sizes: Record = {"n_train": records[0]["n_train"], "n_test": records[0]["n_test"]}
    figures = {name: [record["values"][name] for record in records] for name in folds.figures}
    return sizes | {name: values for name, values in figures.items() if any(value is not None for value in values)}


@lru_cache(maxsize=4)
def _split(file: str, folder: Any, folds: Folds, repetitions: int) -> SplitData:
    dataset = load_data(file, folder)
    dataset = dataset if folds.rows is None else folds.rows(dataset)
    cv = f"{repetitions}x{folds.folds}" if folds.splits is None else folds.splits(dataset)
    return split_data([dataset], cv, folds.missing, 0, None, "declared")[0]


def comparison(results: Results, parts: Sequence[str]) -> Comparison:
    """Return the results of :func:`fold_tasks` as a comparison, for its tables, pictures and tests.

    Parameters
    ----------
    results : Results
    parts : sequence of str
        Parts on the same folds.

    Returns
    -------
    Comparison
        With a row for each fold; the order of data sets and methods is that of their first appearance in the parts,
        sorted, so give tables the order of the paper.
    """
    rows = []
    for part in parts:
        for record in results.records(part):
            value, key = record["value"], record["key"]
            n_folds = len(value["accuracy"])
            for number in range(n_folds):
                figures = {name: value[name][number] for name in _FIGURES if name in value}
                fold = key["repetition"] * n_folds + number
                rows.append({
                    "dataset": key["dataset"], "method": key["method"], "fold": fold,
                    "n_train": value["n_train"], "n_test": value["n_test"], **figures, "error": "", "warnings": "",
                })  # fmt: skip
    frame = pd.DataFrame(
        rows, columns=["dataset", "method", "fold", "n_train", "n_test", *_FIGURES, "error", "warnings"]
    )
    frame = frame.astype(dict.fromkeys(_FIGURES, float))
    return Comparison(frame, list(frame["dataset"].unique()), list(frame["method"].unique()))
