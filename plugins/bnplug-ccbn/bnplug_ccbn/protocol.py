"""The protocol of Zaidi et al. (2017): its data sets, folds and classifiers, and what is measured of each.

On every fold the numeric features are cut by MDL, and each structure is learned once; the parameter learners then work
on the same table.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Generator, Iterable, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pandas as pd
from sklearn.model_selection import RepeatedStratifiedKFold

import bnplug
from bnplug import datasets
from bnplug.data.intake import Intake
from bnplug.data.kinds import discrete_columns
from bnplug.data.table import Table
from bnplug.errors import BnplugWarning
from bnplug.experiments.statistics import WinDrawLoss, win_draw_loss
from bnplug.experiments.storage import Record, ResultsFile
from bnplug.inference.complete import posterior
from bnplug.inference.marginals import Marginalizer
from bnplug.typing import FloatArray, IntArray

#: Those of the paper's 72 data sets that a folder may hold; of poker-hand, UCI's training rows.
SETS = (
    "abalone", "adult", "autos", "balance-scale", "breast-wisconsin", "car", "chess-kr-vs-kp", "contact-lenses", "crx",
    "cylinder-bands", "echocardiogram", "german", "glass", "haberman", "heart-cleveland", "heart-hungarian",
    "hepatitis", "horse-colic", "hypothyroid", "ionosphere", "iris", "labor", "led", "letter", "liver-disorders",
    "lung-cancer", "lymphography", "magic", "musk2", "nettalk-phoneme", "new-thyroid", "optdigits", "page-blocks",
    "pendigits", "pima", "poker-hand-train", "postoperative", "promoters", "satellite", "segment", "shuttle",
    "sick-euthyroid", "spambase", "teaching-assistant", "thyroid0387", "tic-tac-toe", "vehicle", "vote", "vowel",
    "waveform-5000", "wine", "yeast",
)  # fmt: skip

#: The others, by the paper's names.
NEVER_THERE = (
    "Annealing", "Audiology", "Census-Income (KDD)", "Chess", "Connect-4 Opening", "Contraceptive Method Choice",
    "Covertype", "Dermatology", "Localization", "Mushrooms", "Musk1", "Nursery", "Pioneer", "Primary Tumor", "Sign",
    "Sonar Classification", "Splice-junction Gene Sequences", "Syncon", "Volcanoes", "Wall-following", "Zoo",
)  # fmt: skip

#: What a run on data that ship or are generated uses instead.
QUICK = ("balance-scale", "breast-cancer", "iris", "led", "tic-tac-toe", "wine")

#: A data set with more rows is "Big".
BIG = 10_000

STRUCTURES: dict[str, tuple[str, dict[str, Any]]] = {"NB": ("nb", {}), "TAN": ("tan", {}), "KDB-1": ("kdb", {"k": 1})}
LETTERS = ("w", "d", "e")
STARTS = {"": "zeros", "(I)": "generative"}

#: Where L-BFGS stops in the paper (section 7); and after how many iterations on data sets with more rows than that.
TOL, MAX_ITER = 1e-32, 10_000
MANY_ROWS, MAX_ITER_OF_MANY = 2_000, 500

#: Rounds of 2-fold cross-validation: the paper's, and those of data sets with many rows.
ROUNDS, ROUNDS_OF_MANY = 5, 1

# From zeros, only w goes to its end, for Table 4. Of d and e the first iterations are compared.
_MAX_ITER_OF_RIVALS = 100

#: The iterations after which the NLL is kept: the first hundred, then ever fewer.
KEPT = np.unique(np.concatenate([np.arange(101), np.geomspace(100, MAX_ITER, 41).astype(int)]))

_TARGET = "(class)"
_DECIMALS = 6
_FEW_STATES = 10

# The types of codes that everything was run on before in this process.
_warmed: set[Any] = set()


def find_sets(data: Path | None, quick: bool) -> tuple[list[datasets.Dataset], list[str]]:
    """Return the paper's data sets that are there, or the `QUICK` ones, and the names of those that are not."""
    if quick:
        return [datasets.load(name) for name in QUICK], []
    there = datasets.names(data)
    found = [with_usable_features(datasets.load(name, data)) for name in SETS if name in there]
    return found, [name for name in SETS if name not in there]


def with_usable_features(dataset: datasets.Dataset) -> datasets.Dataset:
    """Return a data set without features that have no value at all, or a state for every other training row.

    Examples
    --------
    >>> with_usable_features(datasets.load("iris")).X.shape
    (150, 4)
    """
    discrete = discrete_columns(dataset.X, dataset.categorical_features)
    limit = max(_FEW_STATES, len(dataset.X) / 4)
    odd = [name for name in dataset.X.columns[discrete] if dataset.X[name].nunique() > limit]
    odd += [name for name in dataset.X.columns if dataset.X[name].isna().all()]
    if not odd:
        return dataset
    categorical = dataset.categorical_features
    kept = categorical if isinstance(categorical, str) else tuple(name for name in categorical if name not in odd)
    return replace(dataset, X=dataset.X.drop(columns=odd), categorical_features=kept)


def rounds(dataset: datasets.Dataset, quick: bool) -> int:
    """Return how many rounds of 2-fold cross-validation a data set gets.

    Examples
    --------
    >>> rounds(datasets.load("iris"), quick=False), rounds(datasets.load("iris"), quick=True)
    (5, 1)
    """
    return 1 if quick else ROUNDS if len(dataset.X) <= MANY_ROWS else ROUNDS_OF_MANY


def classifiers(structure: str, max_iter: int = MAX_ITER) -> dict[str, Any]:
    """Return the paper's classifiers on a structure by name: parameter learners, ready to be fitted.

    Examples
    --------
    >>> list(classifiers("TAN"))
    ['TAN', 'TANw', 'TANd', 'TANe', 'TANw(I)', 'TANd(I)', 'TANe(I)']
    """
    found: dict[str, Any] = {structure: bnplug.parameter_learner("ml")}
    for (suffix, init), letter in product(STARTS.items(), LETTERS):
        most = min(max_iter, _MAX_ITER_OF_RIVALS) if init == "zeros" and letter != "w" else max_iter
        learner = bnplug.parameter_learner(f"ccbn-{letter}", init=init, l2=0.0, tol=TOL, max_iter=most, n_jobs=1)
        found[f"{structure}{letter}{suffix}"] = learner
    return found


def run_folds(
    named: Sequence[datasets.Dataset], rounds: dict[str, int], output: Path, structures: Iterable[str] = STRUCTURES
) -> pd.DataFrame:
    """Measure every classifier on every fold of repeated 2-fold cross-validation.

    Parameters
    ----------
    named : sequence of Dataset
    rounds : dict of str to int
        How many rounds each data set gets.
    output : path
        A file that each fold is appended to as it is done; a run that finds its own file goes on where that ended.
    structures : iterable of str
        From `STRUCTURES`.

    Returns
    -------
    frame
        A row for each ``dataset``, ``fold`` and ``method``; see :func:`measure_fold`.
    """
    settings = {"bnplug": bnplug.__version__, "tol": TOL, "max_iter": [MAX_ITER, MANY_ROWS, MAX_ITER_OF_MANY]}
    file = ResultsFile(output, settings)
    records = {_key(record): record for record in file.records}
    jobs = [
        (dataset, fold, structure, rows)
        for dataset in named
        for fold, rows in enumerate(split(dataset, rounds[dataset.name]))
        for structure in structures
    ]
    # First rounds first, so that all data sets get a say early.
    jobs.sort(key=lambda job: (job[1] // 2, len(job[0].X)))
    left = [job for job in jobs if (job[0].name, job[1], job[2]) not in records]
    run = joblib.Parallel(return_as="generator_unordered")
    for record in run(joblib.delayed(_run_fold)(*job) for job in left):
        file.append(record)
        records[_key(record)] = record
    chosen = {(dataset.name, fold, structure): dataset for dataset, fold, structure, _ in jobs}
    return pd.DataFrame([
        {"dataset": key[0], "rows": len(dataset.X), "fold": key[1], "structure": key[2], **one}
        for key, dataset in chosen.items()
        for one in records[key]["methods"]
    ])  # fmt: skip


def _key(record: Record) -> tuple[str, int, str]:
    return record["dataset"], record["fold"], record["structure"]


def _run_fold(dataset: datasets.Dataset, fold: int, structure: str, rows: tuple[IntArray, IntArray]) -> Record:
    measured = list(measure_fold(dataset, *rows, structure))
    return {"dataset": dataset.name, "fold": fold, "structure": structure, "methods": measured}


def split(dataset: datasets.Dataset, rounds: int) -> list[tuple[IntArray, IntArray]]:
    """Return the training and test rows of each fold; the first folds of more rounds are those of fewer.

    Examples
    --------
    >>> [len(test) for train, test in split(datasets.load("iris"), 2)]
    [75, 75, 75, 75]
    """
    folds = RepeatedStratifiedKFold(n_splits=2, n_repeats=rounds, random_state=0)
    with warnings.catch_warnings():
        # A class of one row is in one of the two folds only.
        warnings.simplefilter("ignore", UserWarning)
        return list(folds.split(dataset.X, dataset.y))


def measure_fold(dataset: datasets.Dataset, train: IntArray, test: IntArray, structure: str) -> Generator[Record]:
    """Yield what is measured of each classifier on one fold.

    Yields
    ------
    dict
        ``method``; ``seconds`` of processor time to learn structure and parameters from discrete rows; ``zero_one``
        and ``rmse`` (the root of the mean of (1 - P(true class))^2) on the test rows; of the generative classifier
        and w from zeros ``predicted``, the numbers of the classes that the test rows were given; of discriminative ones
        ``n_iter``, the number of iterations, and ``nll``, the NLL a row after the iterations in `KEPT`, as far as it
        went, and after the last.
    """
    table, intake = discrete_table(dataset, train)
    _warm(table)
    truth, classes = (_numbers(dataset, dataset.y.iloc[rows]) for rows in (test, train))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", BnplugWarning)
        codes = table.encode(intake.apply(dataset.X.iloc[test]))
    name, params = STRUCTURES[structure]
    max_iter = MAX_ITER if len(dataset.X) <= MANY_ROWS else MAX_ITER_OF_MANY
    learned, dag = _timed(bnplug.structure_learner(name, **params).learn, table)
    for method, learner in classifiers(structure, max_iter).items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", BnplugWarning)
            seconds, tables = _timed(learner.fit, table, dag)
        probabilities = posterior(Marginalizer(tables, _TARGET).log_joint(codes, n_jobs=1))
        zero_one, rmse, predicted = judge(probabilities, np.unique(classes), truth)
        record = {"method": method, "seconds": learned + seconds, "zero_one": zero_one, "rmse": rmse}
        if method in (structure, f"{structure}w"):
            record["predicted"] = predicted.tolist()
        if method != structure:
            record |= _path(learner, table.n_rows)
        yield record


def discrete_table(dataset: datasets.Dataset, rows: IntArray) -> tuple[Table, Intake]:
    """Return rows of a data set as a table, cut by MDL, missing as a value; and how other rows become like them."""
    X, y = dataset.X.iloc[rows], dataset.y.iloc[rows].to_numpy()
    kinds = dataset.categorical_features
    return bnplug.code(X, y, discretizer="mdl", categorical_features=kinds, missing="value", target=_TARGET)


def judge(probabilities: FloatArray, classes: IntArray, truth: IntArray) -> tuple[float, float, IntArray]:
    """Return the 0-1 loss, the RMSE, and the classes that are most probable.

    Parameters
    ----------
    probabilities : float array of shape (rows, classes of the model)
    classes : int array
        The number of each class of the model.
    truth : int array of shape (rows,)
        The number of the true class; one that the model does not know has probability 0.

    Examples
    --------
    >>> judge(np.array([[0.8, 0.2], [0.4, 0.6]]), np.array([0, 2]), np.array([0, 1]))
    (0.5, 0.7211..., array([0, 2]))
    """
    predicted = classes[probabilities.argmax(axis=1)]
    of_truth = np.where(classes == truth[:, None], probabilities, 0.0).sum(axis=1)
    return float((predicted != truth).mean()), float(np.sqrt(((1.0 - of_truth) ** 2).mean())), predicted


def _numbers(dataset: datasets.Dataset, labels: Any) -> IntArray:
    """Return the place of each label among all classes of the data set."""
    return np.searchsorted(np.unique(dataset.y.to_numpy()), np.asarray(labels))


def _warm(table: Table) -> None:
    """Fit everything to a few rows once in each process, so that compilation is in no measured time."""
    if table.codes.dtype in _warmed:
        return
    _warmed.add(table.codes.dtype)
    few = table.take(np.arange(min(50, table.n_rows)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", BnplugWarning)
        for name, params in STRUCTURES.values():
            dag = bnplug.structure_learner(name, **params).learn(few)
            for learner in classifiers("", max_iter=1).values():
                learner.fit(few, dag)


def _timed(call: Any, *arguments: Any) -> tuple[float, Any]:
    started = time.process_time()
    result = call(*arguments)
    return time.process_time() - started, result


def _path(learner: Any, n_rows: int) -> Record:
    path = np.array(learner.nll_path_) / n_rows
    kept = [float(value) for value in path[KEPT[len(path) > KEPT]]]
    return {"n_iter": learner.n_iter_, "nll": [*kept, float(path[-1])]}


def nll_after(path: Any, iterations: int) -> float:
    """Return the NLL after so many iterations, or after the last; NaN where there is no path.

    Examples
    --------
    >>> nll_after([0.7, 0.6, 0.5, 0.5], 1), nll_after([0.7, 0.6, 0.5, 0.5], 50), nll_after(None, 5)
    (0.6, 0.5, nan)
    """
    if not isinstance(path, Sequence):
        return float("nan")
    kept = path[:-1]
    place = int(np.searchsorted(KEPT, iterations))
    return float(kept[place] if place < len(kept) else path[-1])


def means(found: pd.DataFrame, figure: str) -> pd.DataFrame:
    """Return the mean of a figure over folds: a row for each data set, a column for each method."""
    wide = found.pivot_table(figure, "dataset", "method", sort=False)
    return wide.rename_axis(index=None, columns=None)


def count_wins(found: pd.DataFrame, figure: str, first: str, second: str) -> WinDrawLoss:
    """Count the data sets where the first has the smaller mean; figures that agree to six decimals are draws.

    Examples
    --------
    >>> found = pd.DataFrame({"dataset": ["a", "a", "b", "b"], "method": ["NBw", "NBd"] * 2, "nll": [1, 2, 3, 3]})
    >>> count_wins(found, "nll", "NBw", "NBd")
    WinDrawLoss(win=1, draw=1, loss=0, p_value=1.0)
    """
    table = means(found, figure)[[first, second]].dropna().round(_DECIMALS)
    return win_draw_loss(table[first], table[second], higher_is_better=False)
