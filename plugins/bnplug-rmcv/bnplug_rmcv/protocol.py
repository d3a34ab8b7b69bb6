"""The protocol of Kelner and Lerner (2012): its data sets, its classifiers by its names, and how they are compared."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

import bnplug
from bnplug import UniformDiscretizer, datasets
from bnplug.contracts import StructureLearner
from bnplug.data.table import Table
from bnplug.experiments import Comparison, compare
from bnplug.hooks.components import component
from bnplug.scoring import PredictiveEvaluator
from bnplug.search import Graph, GreedySearch, Neighbourhood, climb
from bnplug_rmcv.scores import CrossValidatedHitRate, RedrawnHoldOutHitRate

if TYPE_CHECKING:
    from bnplug.typing import DAG

NAME = "kelner2012"

#: The paper's data sets by its names, each with the name of our file.
DATASETS = {
    "Australian": "australian", "Breast": "breast-wisconsin", "Chess": "chess-kr-vs-kp", "Cleve": "cleve",
    "Corral": "corral", "Crx": "crx", "Diabetes": "diabetes", "Flare": "flare", "Glass": "glass", "Glass2": "glass2",
    "Hayes": "hayes-roth", "Heart": "heart-statlog", "Hepatitis": "hepatitis", "Iris": "iris", "Letter": "letter",
    "Lymphography": "lymphography", "Mofn": "mofn-3-7-10", "Pima": "pima", "Shuttle": "shuttle",
    "Tic-Tac-Toe": "tic-tac-toe", "Vehicle": "vehicle", "Voting": "vote",
}  # fmt: skip

#: What a run on data that ship uses instead.
QUICK = {"Corral": "corral", "Iris": "iris", "Mofn": "mofn-3-7-10", "Tic-Tac-Toe": "tic-tac-toe"}

#: Rows of shuttle: a stratified sample, as large as the paper's, of which only the size is known.
SHUTTLE_ROWS = 5800

#: Data sets that are not repeated ten times.
FEWER_REPETITIONS = {"Letter": 3, "Chess": 3}

_MANY_ROWS = 10_000

CONTROL = "RMCV (NBC)"

#: The paper's Bayesian networks by its names, each with our recipe or structure learner: those of the headline figures,
#: the other ones of Table 6, and the other ones of Table 2. Classifiers of one group are compared in one go.
HEADLINE = {"RMCV (NBC)": "RMCV", "RMCV (empty)": "RMCV-empty", "MDL (NBC)": "MDL", "TAN": "tan", "NBC": "nb"}
PLAIN = {"NBC": "nb", "TAN": "tan"}
RIVALS = {
    "MDL (empty)": "MDL-empty",
    "K2 (NBC)": "K2",
    "K2 (empty)": "K2-empty",
    "BNC-MDL": "BNC-MDL",
    "BNC-2P": "BNC-2P",
}
HOLD_OUT = {
    "RMHO (NBC)": "RMHO", "RMHO-f (NBC)": "RMHO-f", "RMHO-ar (NBC)": "RMHO-ar",
    "RMHO (empty)": "RMHO", "RMHO-f (empty)": "RMHO-f", "RMHO-ar (empty)": "RMHO-ar",
    "RMHO kept (NBC)": "kept", "RMHO kept (empty)": "kept",
}  # fmt: skip

#: Those of Table 6 that are no Bayesian networks, as scikit-learn has them.
OTHERS: dict[str, Any] = {
    "CT": DecisionTreeClassifier(ccp_alpha=1e-3),
    "NN": MLPClassifier(max_iter=500),
    "SVM (linear)": SVC(kernel="linear"),
    "SVM (polynomial)": SVC(kernel="poly"),
    "SVM (Gaussian)": SVC(),
}


def networks(group: Mapping[str, str]) -> list[tuple[str, Any]]:
    """Return classifiers by the paper's names, all with plain maximum-likelihood parameters.

    Examples
    --------
    >>> [(name, model.structure.start) for name, model in networks(HOLD_OUT)][2:4]
    [('RMHO-ar (NBC)', 'nb'), ('RMHO (empty)', 'empty')]
    """
    return [(name, _network(name, method)) for name, method in group.items()]


def _network(name: str, method: str) -> Any:
    start = "nb" if "(NBC)" in name else "empty"
    if method in ("nb", "tan", "kept"):
        score = KeptHoldOutHitRate(alpha=0.0)
        kept = bnplug.structure_learner("hill-climb", score=score, start=start, max_iter=100)
        structure = kept if method == "kept" else method
        parameters = bnplug.parameter_learner("ml", alpha=0.0)
        return bnplug.BayesianNetworkClassifier(structure, parameters, discretizer="mdl")
    return bnplug.recipe(method).set_params(structure__start=start)


class KeptHoldOutHitRate(RedrawnHoldOutHitRate):
    """As `rmho`, but the current graph keeps the score of the rows on which it was chosen.

    Neighbours are scored on other rows than the graph that they must surpass, whose score is the best of many and so
    too good: a search stops early. The paper does not say which way its RMHO goes.
    """

    def evaluator(self, table: Table, n_jobs: int | None = 1) -> PredictiveEvaluator:
        """Return an evaluator whose steps draw rows, and do not score the current graph on them."""
        return _KeptEvaluator(self, table, n_jobs)


class _KeptEvaluator(PredictiveEvaluator):
    def step(self) -> float:
        kept = self.value
        super().step()
        return kept


def find(data: Path | None, quick: bool) -> tuple[list[datasets.Dataset], list[str]]:
    """Return the paper's data sets that are there, by its names, and the names of those that are not.

    Examples
    --------
    >>> found, lacking = find(None, quick=True)
    >>> [dataset.name for dataset in found], lacking
    (['Corral', 'Iris', 'Mofn', 'Tic-Tac-Toe'], [])
    """
    wanted = QUICK if quick else DATASETS
    there = datasets.names(data)
    found = [_load(name, file, data) for name, file in wanted.items() if file in there]
    return found, [name for name, file in wanted.items() if file not in there]


def _load(name: str, file: str, data: Path | None) -> datasets.Dataset:
    dataset = replace(datasets.load(file, data), name=name)
    if file != "shuttle" or len(dataset.X) <= SHUTTLE_ROWS:
        return dataset
    rows = np.arange(len(dataset.X))
    sample = np.sort(train_test_split(rows, train_size=SHUTTLE_ROWS, stratify=dataset.y, random_state=0)[0])
    X, y = dataset.X.iloc[sample].reset_index(drop=True), dataset.y.iloc[sample].reset_index(drop=True)
    return replace(dataset, X=X, y=y)


def run_all(named: Sequence[datasets.Dataset], out: Path, quick: bool) -> Comparison:
    """Compare all classifiers by repeated 5-fold cross validation, rows with a missing cell left out.

    Each group of classifiers has a file of results in `out`, so that a run that was interrupted goes on. Other
    classifiers than networks, some of which take long, are run on the first repetition's folds, and not at all in a
    quick run.
    """
    groups: dict[str, tuple[list[tuple[str, Any]], int]] = {
        "headline": (networks(HEADLINE), 10),
        "rivals": (networks(RIVALS), 10),
        "hold-out": (networks(HOLD_OUT), 10),
        "others": (list(OTHERS.items()), 1),
    }
    if quick:
        groups = {f"{name}-quick": (methods, 1) for name, (methods, _) in groups.items() if name != "others"}
    parts = [
        run_folds(methods, named, repeats, out / f"{NAME}-{name}.jsonl") for name, (methods, repeats) in groups.items()
    ]
    return joined(parts)


def run_folds(
    methods: Sequence[tuple[str, Any]], named: Sequence[datasets.Dataset], repeats: int, output: Path | None
) -> Comparison:
    """Compare classifiers on the folds of so many repetitions, fewer on `FEWER_REPETITIONS`."""
    cv = {dataset.name: f"{min(repeats, FEWER_REPETITIONS.get(dataset.name, repeats))}x5" for dataset in named}
    return compare(methods, named, cv, missing="drop", categorical_features="declared", output=output, verbose=1)


def run_checks(named: Sequence[datasets.Dataset]) -> pd.DataFrame:
    """Return accuracies (%) of headline classifiers when one thing is done in another way, on one repetition's folds.

    NBC and TAN: cut points of all rows, test rows included; ten bins of equal width; smoothed parameters. MDL: a search
    that ends with its first climb. RMCV from the empty graph: the last of tied moves.
    """
    in_folds = run_folds(list(_checks()), named, 1, None)
    methods = [(f"{name}, cut beforehand", model) for name, model in networks(PLAIN)]
    beforehand = run_folds(methods, [_cut(dataset) for dataset in named], 1, None)
    return 100 * pd.concat([beforehand.table(), in_folds.table()], axis=1)


def _checks() -> Iterator[tuple[str, Any]]:
    smoothed, plain = (bnplug.parameter_learner("ml", alpha=alpha) for alpha in (1.0, 0.0))
    for name, structure in PLAIN.items():
        for way, cuts, parameters in (("10 equal bins", UniformDiscretizer(10), plain), ("alpha = 1", "mdl", smoothed)):
            yield f"{name}, {way}", bnplug.BayesianNetworkClassifier(structure, parameters, discretizer=cuts)
    one_climb = bnplug.structure_learner("hill-climb", score="mdl", shake=False)
    yield "MDL (NBC), one climb", bnplug.BayesianNetworkClassifier(one_climb, plain, discretizer="mdl")
    last = LastOfTies(CrossValidatedHitRate(alpha=0.0))
    yield "RMCV (empty), last of ties", bnplug.BayesianNetworkClassifier(last, plain, discretizer="mdl")


class LastOfTies(StructureLearner):
    """Hill climbing from the empty graph that makes the last of tied moves, where ``hill-climb`` makes the first.

    Parameters
    ----------
    score : str or ScoreFunction
    random_state : int or RandomState, optional
        Handed to a score that has none of its own.
    """

    def __init__(self, score: Any = "mdl", random_state: Any = None) -> None:
        self.score = score
        self.random_state = random_state

    def learn(self, table: Table) -> DAG:
        """Return the graph at which the climb ends."""
        graph = Graph([[] for _ in table.names])
        evaluator = component("score function", self.score, self).evaluator(table)
        search = GreedySearch(evaluator, graph.parents, "climb")
        search.last_of_ties = True
        with search.running():
            climb(search, Neighbourhood(graph), table.names)
        return table.dag(search.parents)


def _cut(dataset: datasets.Dataset) -> datasets.Dataset:
    """Return the complete rows with every numeric column cut by MDL."""
    complete = dataset.X.notna().all(axis=1)
    X, y = dataset.X[complete].reset_index(drop=True), dataset.y[complete].reset_index(drop=True)
    discrete = bnplug.code(X, y, discretizer="mdl", categorical_features=dataset.categorical_features)[1].apply(X)
    return replace(dataset, X=discrete, y=y, categorical_features=tuple(discrete.columns))


def joined(parts: Sequence[Comparison]) -> Comparison:
    """Return several comparisons on the same folds as one."""
    results = pd.concat([part.results for part in parts], ignore_index=True)
    return Comparison(results, parts[0].datasets, [method for part in parts for method in part.methods])


def coded(dataset: datasets.Dataset) -> Table:
    """Return all complete rows, numeric columns cut by MDL."""
    whole = _cut(dataset)
    return Table.from_frame(whole.X.assign(class_=whole.y.to_numpy()), "class_")


def training_times(named: Iterable[datasets.Dataset]) -> pd.DataFrame:
    """Measure one RMCV search on all rows of each data set, by one thread, after compilation.

    Returns
    -------
    frame
        ``dataset``, ``rows``, ``features``, ``classes``, ``moves``, ``evaluations`` and ``seconds``, those of the
        processor, the best of three searches (of one where there are more than 10,000 rows).

    Examples
    --------
    >>> times = training_times([datasets.load("corral")])
    >>> times[["dataset", "rows", "features", "classes"]]
      dataset  rows  features  classes
    0  corral   128         6        2
    """
    rows = []
    _timed_search(coded(datasets.load("iris")))
    for dataset in named:
        table = coded(dataset)
        found = [_timed_search(table) for _ in range(1 if table.n_rows > _MANY_ROWS else 3)]
        learner = found[0][1]
        size = (table.n_rows, len(table.features), int(table.cards[table.target_index]))
        seconds = min(seconds for seconds, _ in found)
        rows.append((dataset.name, *size, len(learner.moves_), learner.n_evaluations_, seconds))
    return pd.DataFrame(rows, columns=["dataset", "rows", "features", "classes", "moves", "evaluations", "seconds"])


def _timed_search(table: Table) -> tuple[float, Any]:
    learner = bnplug.structure_learner("rmcv", alpha=0.0, random_state=0, n_jobs=1)
    started = time.process_time()
    learner.learn(table)
    return time.process_time() - started, learner
