"""The protocol of Peharz et al. (2013): its data sets and splits, its classifiers, and what is measured on a fold."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.impute import KNNImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, StratifiedKFold, StratifiedShuffleSplit
from sklearn.pipeline import Pipeline
from sklearn.svm import SVC, LinearSVC
from threadpoolctl import threadpool_limits

import bnplug
from bnplug import datasets
from bnplug.data.table import Table
from bnplug.errors import BnplugWarning
from bnplug.experiments import hide_features
from bnplug.experiments.storage import ResultsFile
from bnplug.hooks import registry
from bnplug.typing import FloatArray, IntArray
from bnplug_mlbnsvm.grid import GAMMAS, LAMS

#: Of the paper's data sets, those that are compared here.
SETS = (
    "australian", "car", "chess-kr-vs-kp", "german", "letter", "satellite", "spambase", "usps-11000", "vehicle",
)  # fmt: skip
#: Data that ship, for a quick run.
QUICK = ("breast-cancer", "corral", "iris")
#: Not of the UCI repository, and so not in the curves of missing features.
NOT_UCI = ("usps-11000",)

#: Data sets of more rows are split once, and their settings are chosen on one hold-out from these coarser grids.
LARGE = 5000
COARSE_LAMS, COARSE_GAMMAS = (0.0, 1.0, 8.0, 64.0), (1.0, 10.0)
COARSE_PENALTIES, COARSE_WIDTHS = (1.0, 16.0, 256.0), (2.0, 8.0, 32.0)
#: On data sets of more rows than this, support vector machines choose their settings on one hold-out.
MANY = 1500
#: The paper's grids for support vector machines: the penalty, and the width of the Gaussian kernel.
PENALTIES = tuple(2.0**exponent for exponent in range(-2, 11))
WIDTHS = tuple(2.0**exponent for exponent in range(-5, 6))

#: Per cent of the features that are missing in test rows.
PERCENTAGES = tuple(range(0, 100, 10))
_HIDDEN_ROWS = 500

_TRAINING_ROWS = {"letter": 15000, "satellite": 4435}
_NETWORKS = {"NB": "nb", "TAN": "tan"}
_CLASS = "(class)"
Split = tuple[IntArray, IntArray]


def find(data: Path | None, quick: bool) -> tuple[list[datasets.Dataset], list[str]]:
    """Return the data sets that are there, the smallest first, and the names of those that are not."""
    if quick:
        return [datasets.load(name) for name in QUICK], []
    there = datasets.names(data)
    found = [datasets.load(name, data) for name in SETS if name in there]
    return sorted(found, key=lambda one: one.X.size), [name for name in SETS if name not in there]


def splits(dataset: datasets.Dataset) -> list[Split]:
    """Return training and test rows: five folds, or for large data one split, the usual one where there is one.

    Examples
    --------
    >>> [(len(train), len(test)) for train, test in splits(datasets.load("iris"))][:2]
    [(120, 30), (120, 30)]
    """
    rows, y = np.arange(len(dataset.X)), dataset.y.to_numpy()
    if len(rows) <= LARGE:
        return list(StratifiedKFold(5, shuffle=True, random_state=0).split(rows, y))
    if dataset.name in _TRAINING_ROWS:
        return [(rows[: _TRAINING_ROWS[dataset.name]], rows[_TRAINING_ROWS[dataset.name] :])]
    # The first eight of every eleven rows of a class: 800 and 300 of each digit of USPS.
    rows = rows[~dataset.copies()]
    labels = pd.Series(y[rows])
    place = labels.groupby(y[rows]).cumcount() / labels.groupby(y[rows]).transform("size")
    first = (place < 8 / 11).to_numpy()
    return [(rows[first], rows[~first])]


class Bins(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """The columns that networks see, one-hot: numeric ones cut by MDL. A missing cell is NaN in all of its columns.

    Parameters
    ----------
    categorical_features
        As for `BayesianNetworkClassifier`.

    Examples
    --------
    >>> X, y = datasets.iris()
    >>> Bins().fit_transform(X, y).shape
    (150, 12)
    """

    def __init__(self, categorical_features: Any = "auto") -> None:
        self.categorical_features = categorical_features

    def fit(self, X: pd.DataFrame, y: Any) -> Self:
        """Learn the cuts and the states."""
        kinds = self.categorical_features
        table, self.intake_ = bnplug.code(X, y, discretizer="mdl", categorical_features=kinds, target=_CLASS)
        self.schema_ = table.take([])
        return self

    def transform(self, X: pd.DataFrame) -> FloatArray:
        """Return a column of zeros and ones for each state."""
        codes = self.intake_.encode(X, self.schema_)
        blocks = []
        for v in self.schema_.features:
            block = np.eye(int(self.schema_.cards[v]) + 1)[np.minimum(codes[v], self.schema_.cards[v])][:, :-1]
            block[codes[v] == self.schema_.missing] = np.nan
            blocks.append(block)
        return np.concatenate(blocks, axis=1)


def inner_folds(one: bool) -> Any:
    """Return the splitter on which settings are chosen, five folds or `one` hold-out.

    Shuffled, for the rows of some files come in an order.
    """
    if one:
        return StratifiedShuffleSplit(1, test_size=0.2, random_state=0)
    return StratifiedKFold(5, shuffle=True, random_state=0)


def networks(structure: str, coarse: bool) -> dict[str, Any]:
    """Return the paper's network classifiers: those that installed plugins can make.

    Parameters
    ----------
    structure : {"NB", "TAN"}
    coarse : bool
        Whether to choose settings on one hold-out, and from the coarser grids.
    """
    cv = inner_folds(coarse)
    lams, gammas = (COARSE_LAMS, COARSE_GAMMAS) if coarse else (LAMS, GAMMAS)
    learners: dict[str, tuple[str, dict[str, Any]]] = {
        "ML": ("ml", {}),
        "MCL": ("ccbn-e", {"l2": 0.0}),
        "MM": ("mm", {"lam": "cv", "cv": cv}),
        "ML-BN-SVM": ("ml-bn-svm", {"lam": lams, "gamma": gammas, "cv": cv}),
    }
    there = {method.name for method in registry.methods("parameter learner")}
    return {
        name: bnplug.BayesianNetworkClassifier(_NETWORKS[structure], bnplug.parameter_learner(method, **params), "mdl")
        for name, (method, params) in learners.items()
        if method in there
    }


def rivals(coarse: bool, one: bool) -> dict[str, Any]:
    """Return the support vector machines and logistic regression, on the same bins, missing ones imputed by 5-NN.

    Parameters
    ----------
    coarse : bool
        Whether to take the coarser grids.
    one : bool
        Whether to choose settings on one hold-out.
    """
    cv = inner_folds(one)
    penalties, widths = (COARSE_PENALTIES, COARSE_WIDTHS) if coarse else (PENALTIES, WIDTHS)
    kernel_widths = [1.0 / (2.0 * width**2) for width in widths]
    searched = {
        "linear SVM": GridSearchCV(LinearSVC(random_state=0), {"C": penalties}, cv=cv),
        "SVM": GridSearchCV(SVC(cache_size=500), {"C": penalties, "gamma": kernel_widths}, cv=cv),
        "LR": LogisticRegression(max_iter=500),
    }
    return {
        name: Pipeline([("bins", Bins()), ("neighbours", KNNImputer(n_neighbors=5)), ("classifier", model)])
        for name, model in searched.items()
    }


@dataclass(frozen=True)
class Job:
    """One classifier on one fold of a data set."""

    dataset: datasets.Dataset
    fold: int
    structure: str
    method: str
    estimator: Any

    @property
    def key(self) -> tuple[str, int, str, str, str]:
        """What tells it from others in a file of results: with its settings, whose change makes it another."""
        return self.dataset.name, self.fold, self.structure, self.method, " ".join(repr(self.estimator).split())


def jobs(
    named: Iterable[datasets.Dataset],
    structures: Sequence[str],
    methods: Sequence[str] | None = None,
    quick: bool = False,
) -> list[Job]:
    """Return all jobs, by data set, method and fold.

    Parameters
    ----------
    named : iterable of Dataset
    structures : sequence of {"NB", "TAN"}
    methods : sequence of str, optional
        Only these.
    quick : bool
        Whether to take the coarser grids everywhere, and the first fold only.
    """
    found = []
    for dataset in named:
        coarse, folds = quick or len(dataset.X) > LARGE, 1 if quick else len(splits(dataset))
        kinds = [(structure, networks(structure, coarse)) for structure in structures]
        for structure, estimators in [*kinds, ("", rivals(coarse, one=coarse or len(dataset.X) > MANY))]:
            for method, estimator in estimators.items():
                if methods is None or method in methods:
                    found += [Job(dataset, fold, structure, method, estimator) for fold in range(folds)]
    return found


def run(todo: Sequence[Job], file: Path, n_jobs: int | None = None) -> Iterator[dict[str, Any]]:
    """Yield the record of every job, from the file where it has one; others are run and appended to it."""
    file.parent.mkdir(parents=True, exist_ok=True)
    stored = ResultsFile(file, {"large": LARGE, "training rows": _TRAINING_ROWS, "rows with holes": _HIDDEN_ROWS})
    done = {tuple(record["key"]): record for record in stored.records}
    for job in todo:
        if job.key not in done:
            done[job.key] = {"key": job.key, **run_job(job, n_jobs)}
            stored.append(done[job.key])
        yield done[job.key]


def run_job(job: Job, n_jobs: int | None = None) -> dict[str, Any]:
    """Fit a classifier on the training rows of a fold, and measure it on the test rows.

    Returns
    -------
    dict
        ``dataset``, ``fold``, ``structure``, ``method``, ``accuracy``, ``seconds`` to fit, for networks the
        log-likelihood of a training and of a test row (``train_ll``, ``test_ll``), for an SVM on part of the rows
        ``accuracy_of_all``, with its settings and all rows, for data of the UCI
        repository ``hidden``: the accuracy for each percentage of missing features.
    """
    train, test = splits(job.dataset)[job.fold]
    is_network = isinstance(job.estimator, bnplug.BayesianNetworkClassifier)
    whole = train
    if not is_network and len(train) > LARGE:
        train = np.sort(np.random.default_rng(0).permutation(train)[:LARGE])
    X, y = job.dataset.X, job.dataset.y.astype(str)
    model = clone(job.estimator)
    kinds = "categorical_features" if is_network else "bins__categorical_features"
    model.set_params(**{kinds: job.dataset.categorical_features})
    model.set_params(**{"n_jobs" if is_network else "classifier__n_jobs": n_jobs} if job.method != "LR" else {})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", BnplugWarning)
        warnings.simplefilter("ignore", ConvergenceWarning)
        with threadpool_limits(1):
            started = time.perf_counter()
            model.fit(X.iloc[train], y.iloc[train])
            seconds = time.perf_counter() - started
            record = {"dataset": job.dataset.name, "fold": job.fold, "structure": job.structure, "method": job.method}
            record |= {"seconds": seconds, "accuracy": float(np.mean(model.predict(X.iloc[test]) == y.iloc[test]))}
            if is_network:
                record |= _likelihoods(model, X, y, train, test)
            elif job.method == "SVM" and len(whole) > len(train):
                model_of_all = clone(model).set_params(classifier=clone(model["classifier"].best_estimator_))
                model_of_all.fit(X.iloc[whole], y.iloc[whole])
                record["accuracy_of_all"] = float(np.mean(model_of_all.predict(X.iloc[test]) == y.iloc[test]))
            if job.dataset.name not in NOT_UCI and job.structure != "NB" and job.method != "linear SVM":
                record["hidden"] = _hidden(model, X.iloc[test], y.iloc[test], job.fold)
    return record


def _likelihoods(model: Any, X: pd.DataFrame, y: pd.Series[Any], train: IntArray, test: IntArray) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, rows in (("train_ll", train), ("test_ll", test)):
        frame = model.intake_.apply(X.iloc[rows]).assign(**{model.target_: y.iloc[rows].to_numpy()})
        schema = model.schema_
        table = Table(schema.encode(frame), schema.names, schema.states, schema.target)
        found[name] = model.tables_.log_likelihood(table, incomplete=True) / len(rows)
    chosen = model.parameters_
    return found | {name: float(getattr(chosen, name)) for name in ("lam_", "gamma_") if hasattr(chosen, name)}


def _hidden(model: Any, X: pd.DataFrame, y: pd.Series[Any], seed: int) -> dict[str, float]:
    """Return the accuracy for each percentage of missing features, on at most some hundreds of rows."""
    kept = np.sort(np.random.default_rng(seed).permutation(len(X))[:_HIDDEN_ROWS])
    counts = [round(percent / 100 * X.shape[1]) for percent in PERCENTAGES]
    found = hide_features({"": model}, X.iloc[kept], y.iloc[kept], sorted(set(counts)), draws=1, random_state=seed)
    accuracy = found.set_index("missing")["accuracy"]
    return {str(percent): float(accuracy[n]) for percent, n in zip(PERCENTAGES, counts, strict=True)}
