"""The protocol of Pernkopf and Bilmes (2008): its data sets and splits, its classifiers, and what is measured."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Self

import joblib
import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.svm import SVC
from sklearn.utils import check_random_state

import bnplug
from bnplug import datasets
from bnplug.data.table import Table
from bnplug.hooks import recipes, registry
from bnplug.typing import FloatArray, IntArray

#: Of the paper's 25 UCI sets, those with 5-fold cross-validation, and those with rows for training and for testing.
CROSS_VALIDATED = (
    "australian", "breast-wisconsin", "cleve", "corral", "crx", "diabetes", "flare-1066", "german", "glass", "glass2",
    "heart-statlog", "hepatitis", "iris", "lymphography", "pima", "soybean-large", "vehicle", "vote",
)  # fmt: skip
HELD_OUT = {
    "chess-kr-vs-kp": (2130, 1066), "letter": (15000, 5000), "mofn-3-7-10": (300, 1024), "satellite": (4435, 2000),
    "segment": (1540, 770), "shuttle": (3866, 1934), "waveform-21": (300, 4700),
}  # fmt: skip

#: Sets whose files hold the training rows first; those of the others are drawn.
_TRAINING_ROWS_FIRST = ("letter", "mofn-3-7-10", "satellite")

#: What a run on data that ship uses instead, all cross-validated.
QUICK = ("breast-cancer", "corral", "iris", "mofn-3-7-10")

MNIST = "mnist14"
SYNTHETIC_SIZES = (20, 50, 100, 200, 500, 1000)
GREEDY, ORDERED, GENERATIVE = "TAN-CR-ML", "TAN-OMI-CR-ML", "TAN-CMI-ML"

_CONDITIONAL = ("NB-CL", "TAN-CMI-CL", "TAN-OMI-CR-CL", "TAN-OMISP-CR-CL", "TAN-CR-CL", "2-tree-OMI-CR-CL")
Split = tuple[IntArray, IntArray]


class RandomOrders(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Fits a classifier along several random orders; keeps the best, or worst, on the training rows (Table 1).

    Parameters
    ----------
    network : BayesianNetworkClassifier
        A classifier whose structure learner is ``ro``.
    n_orders : int
        How many orders are drawn.
    worst : bool
        Keep the structure with the lowest classification rate.
    random_state : int or RandomState, optional
        Draws the orders.

    Examples
    --------
    >>> X, y = datasets.p08_synthetic()
    >>> RandomOrders(bnplug.recipe("TAN-RO-CR-ML"), n_orders=4, random_state=1).fit(X, y).rates_
    [0.639, 0.639, 0.667, 0.667]
    """

    def __init__(self, network: Any, n_orders: int = 5, worst: bool = False, random_state: Any = None) -> None:
        self.network = network
        self.n_orders = n_orders
        self.worst = worst
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> Self:
        """Fit along every order, and keep one."""
        draws = check_random_state(self.random_state).randint(2**31, size=self.n_orders)
        # Its learner's own seed, where one was set, would win over the classifier's, and be the same each time.
        seeds = [name for name in self.network.get_params() if name.rpartition("__")[2] == "random_state"]
        models = [clone(self.network).set_params(**dict.fromkeys(seeds, int(draw))).fit(X, y) for draw in draws]
        self.rates_ = [model.structure_.trace_[-1] for model in models]
        kept = int(np.argmin(self.rates_) if self.worst else np.argmax(self.rates_))
        self.best_estimator_ = models[kept]
        self.classes_ = self.best_estimator_.classes_
        return self

    def predict(self, X: Any) -> Any:
        """Return the most probable class of every row."""
        return self.best_estimator_.predict(X)

    def predict_proba(self, X: Any) -> FloatArray:
        """Return the probability of every class."""
        return np.asarray(self.best_estimator_.predict_proba(X))


def available(names: Iterable[str]) -> list[str]:
    """Return those of the recipes that can be made here.

    Examples
    --------
    >>> available(["NB-ML", "NB-of-tomorrow"])
    ['NB-ML']
    """
    ready = {found.recipe.name for found in recipes.availabilities() if found.available}
    return [name for name in names if name in ready]


def classifiers(n_orders: int) -> list[tuple[str, Any]]:
    """Return the classifiers of the paper's Table 1 by its names; those with CL parameters where a plugin has them.

    Examples
    --------
    >>> [name for name, _ in classifiers(5)][:3]
    ['NB-ML', 'TAN-CMI-ML', 'TAN-RO-CR-ML mean']
    """
    random = bnplug.recipe("TAN-RO-CR-ML")
    named: list[tuple[str, Any]] = [(name, bnplug.recipe(name)) for name in ("NB-ML", GENERATIVE)]
    named += [
        ("TAN-RO-CR-ML mean", random),
        ("TAN-RO-CR-ML min", RandomOrders(random, n_orders, worst=True)),
        ("TAN-RO-CR-ML max", RandomOrders(random, n_orders)),
    ]
    others = (ORDERED, "TAN-OMISP-CR-ML", GREEDY, "2-tree-OMI-CR-ML", *available(_CONDITIONAL))
    return named + [(name, bnplug.recipe(name)) for name in others]


def find_uci(data: Path | None, quick: bool) -> tuple[list[datasets.Dataset], list[str]]:
    """Return the paper's UCI sets that are there, or the `QUICK` ones, and the names of those that are not."""
    if quick:
        return [datasets.load(name) for name in QUICK], []
    there = datasets.names(data)
    wanted = sorted([*CROSS_VALIDATED, *HELD_OUT])
    return [datasets.load(name, data) for name in wanted if name in there], [n for n in wanted if n not in there]


def paper_cv(dataset: datasets.Dataset) -> Any:
    """Return the paper's way to split a data set: training and test rows, or 5 folds.

    Examples
    --------
    >>> paper_cv(datasets.load("corral"))
    5
    """
    train, test = HELD_OUT.get(dataset.name, (0, 0))
    if not train or len(dataset.X) < train + test:
        return 5
    rows = np.arange(len(dataset.X))
    if dataset.name not in _TRAINING_ROWS_FIRST:
        rows = np.random.default_rng(0).permutation(rows)
    return [(rows[:train], rows[train : train + test])]


def one_split(dataset: datasets.Dataset) -> Split:
    """Return the paper's training and test rows, or two thirds and a third, drawn; none with a missing cell."""
    cv = paper_cv(dataset)
    rows = np.random.default_rng(0).permutation(len(dataset.X))
    third = len(rows) // 3
    train, test = cv[0] if isinstance(cv, list) else (rows[third:], rows[:third])
    complete = dataset.X.notna().all(axis=1).to_numpy()
    return train[complete[train]], test[complete[test]]


def structure_times(
    named: Sequence[datasets.Dataset], rows: Sequence[IntArray], repeats: int, methods: Sequence[str]
) -> pd.DataFrame:
    """Measure learning the structure alone, on discretised rows: processor seconds of one thread, and candidates.

    Parameters
    ----------
    named : sequence of Dataset
    rows : sequence of int arrays
        The rows of each data set to learn from.
    repeats : int
        How often each is run; the shortest time counts.
    methods : sequence of str
        Recipes.

    Returns
    -------
    frame
        ``dataset``, ``features``, ``method``, ``seconds`` and ``evaluations``, 0 where no candidate is scored.
    """
    found = []
    for dataset, own in zip(named, rows, strict=True):
        table = _coded(dataset, own)
        for method in methods:
            with joblib.parallel_config(n_jobs=1):
                seconds, evaluations = _time(method, table, repeats)
            found.append((dataset.name, len(table.features), method, seconds, evaluations))
    return pd.DataFrame(found, columns=["dataset", "features", "method", "seconds", "evaluations"])


def _coded(dataset: datasets.Dataset, rows: IntArray) -> Table:
    X, y = dataset.X.iloc[rows], dataset.y.iloc[rows].to_numpy()
    return bnplug.code(X, y, discretizer="mdl", categorical_features=dataset.categorical_features, target="class_")[0]


def _time(method: str, table: Table, repeats: int) -> tuple[float, int]:
    structure = registry.find("recipe", method).structure  # type: ignore[union-attr]
    seconds = []
    for _ in range(repeats):
        learner = registry.build("structure learner", structure)
        started = time.process_time()
        learner.learn(table)
        seconds.append(time.process_time() - started)
    return min(seconds), getattr(learner, "n_evaluations_", 0)


def synthetic_case(sizes: Sequence[int], draws: int) -> pd.DataFrame:
    """Return the accuracies of the paper's Figure 1: ``method``, ``rows``, ``draw`` and ``accuracy`` in per cent."""
    names = ["NB-ML", GENERATIVE, ORDERED, *available(("NB-CL", "TAN-CMI-CL", "TAN-OMI-CR-CL"))]
    models = {name: bnplug.recipe(name) for name in names}
    # The paper's penalty 3 and width 1 of the radial basis functions.
    models["SVM"] = SVC(C=3.0, gamma=0.5)
    pairs = [(size, draw) for size in sizes for draw in range(draws)]
    found = joblib.Parallel()(joblib.delayed(_synthetic_draw)(models, *pair) for pair in pairs)
    rows = [row for part in found for row in part]
    return pd.DataFrame(rows, columns=["method", "rows", "draw", "accuracy"])


def _synthetic_draw(models: dict[str, Any], size: int, draw: int) -> list[tuple[str, int, int, float]]:
    seeds = np.random.SeedSequence([size, draw]).generate_state(2)
    X, y = datasets.p08_synthetic(size, random_state=int(seeds[0]))
    X_test, y_test = datasets.p08_synthetic(1000, random_state=int(seeds[1]))
    return [
        (name, size, draw, 100 * float(np.mean(clone(model).fit(X, y).predict(X_test) == y_test.to_numpy())))
        for name, model in models.items()
    ]
