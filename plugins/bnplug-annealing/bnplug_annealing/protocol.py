"""The protocol of Pernkopf and Wohlmayr (2013): its data and splits, its structures, and what is measured of each."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.model_selection import GridSearchCV, StratifiedKFold, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from bnplug import code, datasets
from bnplug.contracts import Changes, Evaluator, ScoreFunction
from bnplug.data.table import Table
from bnplug.experiments.storage import Record
from bnplug.hooks import recipes, registry
from bnplug.hooks.components import component
from bnplug.inference.complete import log_joint, posterior, terms
from bnplug.model.log_tables import LogTables
from bnplug.typing import FloatArray, IntArray

#: The paper's data sets that are available, by the names of their files, with the share of rows that trains.
USPS = "usps-11000"
PAPER_SETS = {"spambase": ("Spambase", 2301 / 4601), USPS: ("USPS", 8000 / 11000), "mnist14": ("MNIST", 0.0)}

#: What a quick run uses instead.
QUICK_SET = "digits"

DETERMINISTIC = ("NB", "TAN-ST-CMI", "TAN-HC-CR", "TAN-HC-MM")
ANNEALED = ("TAN-SA-CR", "TAN-SA-MM")
SCHEDULES = (0.5, 0.6, 0.7, 0.8, 0.9)

#: The most rows that hill climbing on MNIST learns its structure from, and that lam and the SVM's width are chosen on.
FEWER_ROWS = 10_000

_TARGET = "the class"
_WIDTHS = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05]

# How many points of a trace are kept.
_POINTS = 200

#: A structure to learn: data set, structure, seed, and the cooling factor where it is not the paper's.
Job = tuple[str, str, int, float | None]


@dataclass(frozen=True)
class Prepared:
    """A data set made discrete.

    Attributes
    ----------
    name : str
    train : Table
    test : array of codes
    labels : int64 array
        The classes of the test rows.
    copies : int
        How many rows were left out because an earlier row of another class has the same features.
    """

    name: str
    train: Table
    test: npt.NDArray[Any]
    labels: IntArray
    copies: int


def find_sets(data: Path | None, quick: bool) -> tuple[list[datasets.Dataset], list[str]]:
    """Return the paper's data sets that are there, or the quick one, and the names of those that are not."""
    if quick:
        return [datasets.load(QUICK_SET)], []
    there = datasets.names(data)
    found = [datasets.load(name, data) for name in PAPER_SETS if name in there]
    return found, [title for name, (title, _) in PAPER_SETS.items() if name not in there]


def title(name: str) -> str:
    """Return what the paper calls a data set.

    Examples
    --------
    >>> title("usps-11000"), title("digits")
    ('USPS', 'digits')
    """
    return PAPER_SETS.get(name, (name, 0.0))[0]


def split(dataset: datasets.Dataset, seed: int = 0) -> tuple[IntArray, IntArray]:
    """Return training and test rows: those that the set comes with, or as many as the paper's, drawn by class."""
    if dataset.split is not None:
        return dataset.split
    share = PAPER_SETS.get(dataset.name, ("", 2 / 3))[1]
    rows = np.flatnonzero(~dataset.copies()) if dataset.name == USPS else np.arange(len(dataset.X))
    size = round(share * len(rows))
    train, test = train_test_split(rows, train_size=size, stratify=dataset.y.to_numpy()[rows], random_state=seed)
    return train, test


def prepare(dataset: datasets.Dataset, seed: int = 0) -> Prepared:
    """Split a data set and cut its numeric columns by MDL, on the training rows."""
    train, test = split(dataset, seed)
    X, y = dataset.X.iloc[train], dataset.y.iloc[train].astype(str).to_numpy()
    y_test = dataset.y.iloc[test].astype(str).to_numpy()
    kinds = dataset.categorical_features
    table, intake = code(X, y, discretizer="mdl", categorical_features=kinds, target=_TARGET)
    labels = np.searchsorted(np.array(table.states[_TARGET]), y_test)
    copies = 0 if dataset.split is not None else len(dataset.X) - len(train) - len(test)
    return Prepared(dataset.name, table, intake.encode(dataset.X.iloc[test], table), labels, copies)


def available(structures: Iterable[str]) -> list[str]:
    """Return those of the structures for whose recipes everything is installed.

    Examples
    --------
    >>> available(["NB", "TAN-SA-CR", "TAN-of-tomorrow"])
    ['NB', 'TAN-SA-CR']
    """
    ready = {found.recipe.name for found in recipes.availabilities() if found.available}
    return [name for name in structures if f"{name}-ML" in ready]


def measure_structure(
    data: Prepared, structure: str, seed: int = 0, lam: float | None = None, D: float | None = None
) -> Record:
    """Learn a structure, by its recipe, and measure it with maximum-likelihood parameters.

    Parameters
    ----------
    data : Prepared
    structure : str
        A recipe without its parameters, such as ``"TAN-SA-MM"``.
    seed : int
    lam : float, optional
        What the recipe's score would choose by cross-validation.
    D : float, optional
        The cooling factor.
    """
    rows = data.train
    if "-HC-" in structure and data.name == "mnist14":
        rows = rows.take(np.arange(min(FEWER_ROWS, rows.n_rows)))
    learner = component("structure learner", _recipe(f"{structure}-ML").structure, _Owner(seed))
    if hasattr(learner, "score"):
        # The same folds for all, so that scores of different searches and runs compare.
        learner.set_params(score__random_state=0, **({} if lam is None else {"score__lam": lam}))
    learner.set_params(**({} if D is None else {"D": D}))
    log: list[tuple[int, float]] = []
    if "-HC-" in structure:
        learner.set_params(score=Logged(component("score function", learner.score, learner), log))
    started, used = time.perf_counter(), time.process_time()
    dag = learner.learn(rows)
    seconds, used = time.perf_counter() - started, time.process_time() - used
    if "-SA-" in structure:
        log = list(zip(learner.evaluations_, learner.trace_, strict=True))
    return {
        "dataset": data.name, "structure": structure, "seed": seed, "D": D, "parameters": "ML",
        "evaluations": getattr(learner, "n_evaluations_", 0), "seconds": seconds, "processor": used,
        "score": max((value for _, value in log), default=None), "trace": thin(log),
        "parents": data.train.parents(dag), **_evaluate(data, f"{structure}-ML", dag, seed),
    }  # fmt: skip


def measure_parameters(data: Prepared, learned: Record) -> Record:
    """Measure a structure that was learned with maximum-margin parameters."""
    dag = data.train.dag(learned["parents"])
    started = time.perf_counter()
    found = _evaluate(data, f"{learned['structure']}-MM", dag, learned["seed"])
    kept = {name: learned[name] for name in ("dataset", "structure", "seed", "D")}
    return {**kept, "parameters": "MM", "seconds": time.perf_counter() - started, **found}


def measure_svm(data: Prepared) -> Record:
    """Measure a support vector machine as the paper's: RBF kernel, C = 1, its width by 5-fold cross-validation.

    It gets the numbers of the bins: on Spambase this, and not the features as they were, gives as many support vectors
    as the paper reports.
    """
    features = data.train.features
    X, y, X_test = data.train.codes[features].T, data.train.codes[data.train.target_index], data.test[features].T
    some = np.random.default_rng(0).permutation(len(X))[:FEWER_ROWS]
    started = time.perf_counter()
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    search = GridSearchCV(make_pipeline(StandardScaler(), SVC(C=1.0)), {"svc__gamma": _WIDTHS}, cv=folds, refit=False)
    search.fit(X[some], y[some])
    model = make_pipeline(StandardScaler(), SVC(C=1.0, gamma=search.best_params_["svc__gamma"])).fit(X, y)
    return {
        "dataset": data.name, "structure": "SVM", "seed": 0, "D": None, "parameters": "",
        "accuracy": 100 * float(model.score(X_test, data.labels)), "seconds": time.perf_counter() - started,
        "size": int(model[-1].n_support_.sum()) * X.shape[1],
    }  # fmt: skip


def choose_lam(data: Prepared) -> float:
    """Return the lam that the margin score chooses by cross-validation on the training rows, at most `FEWER_ROWS`."""
    learner = component("structure learner", _recipe("TAN-SA-MM-ML").structure, _Owner(0))
    score = component("score function", learner.score, _Owner(0))
    score.evaluator(data.train.take(np.arange(min(FEWER_ROWS, data.train.n_rows))))
    return float(score.lam_)


def thin(log: Sequence[tuple[int, float]]) -> list[tuple[int, float]]:
    """Return about as many points of a trace as a picture shows: those at which a best score was reached, and the last.

    Examples
    --------
    >>> thin([(0, 0.5), (1, 0.4), (2, 0.6), (3, 0.5)])
    [(0, 0.5), (2, 0.6), (3, 0.6)]
    """
    if not log:
        return []
    best = np.maximum.accumulate([value for _, value in log])
    rises = [0, *(np.flatnonzero(np.diff(best) > 0) + 1).tolist()]
    kept = rises[:: max(1, len(rises) // _POINTS)]
    return [(int(log[i][0]), float(best[i])) for i in dict.fromkeys([*kept, rises[-1], len(log) - 1])]


class Logged(ScoreFunction):
    """A score whose evaluators write to a list what the score is after each move, and after how many evaluations."""

    def __init__(self, function: ScoreFunction, log: list[tuple[int, float]]) -> None:
        self.function = function
        self.log = log

    def __sklearn_clone__(self) -> Logged:
        # A copy would write to a list of its own.
        return self

    def score(self, table: Table, dag: Any) -> float:
        """Return the score of `dag`."""
        return self.function.score(table, dag)

    def evaluator(self, table: Table, n_jobs: int | None = 1) -> Evaluator:
        """Return an evaluator that writes to the list."""
        return _LoggedEvaluator(self.function.evaluator(table, n_jobs), self.log)


class _LoggedEvaluator(Evaluator):
    def __init__(self, evaluator: Evaluator, log: list[tuple[int, float]]) -> None:
        self.evaluator = evaluator
        self.log = log

    def start(self, parents: Sequence[Iterable[int]]) -> float:
        return self._note(self.evaluator.start(parents))

    def propose(self, changes: Changes) -> float:
        return float(self.propose_many([changes])[0])

    def propose_many(self, candidates: Sequence[Changes], at_least: float | None = None) -> FloatArray:
        scores = self.evaluator.propose_many(candidates, at_least)
        self.n_evaluations = self.evaluator.n_evaluations
        return scores

    def commit(self, changes: Changes) -> float:
        return self._note(self.evaluator.commit(changes))

    def _note(self, value: float) -> float:
        self.value = value
        self.log.append((self.n_evaluations, value))
        return value


@dataclass
class _Owner:
    """What components take their seed from."""

    random_state: int


def _recipe(name: str) -> Any:
    return registry.find("recipe", name)


def _evaluate(data: Prepared, recipe: str, dag: Any, seed: int) -> Mapping[str, float]:
    """Return accuracy in per cent and the number of free parameters."""
    learner = component("parameter learner", _recipe(recipe).parameters, _Owner(seed))
    tables: LogTables = learner.fit(data.train, dag)
    chosen = posterior(log_joint(terms(tables, _TARGET), data.test)).argmax(axis=1)
    return {"accuracy": 100 * float((chosen == data.labels).mean()), "size": tables.n_parameters}


def jobs(
    sets: Sequence[str], done: Sequence[Record], runs: Mapping[str, int], sweep: str | None, sweep_runs: int
) -> Iterator[Job]:
    """Yield what is left to learn: (data set, structure, seed, D), D only where it is not the paper's."""
    have = {(r["dataset"], r["structure"], r["seed"], r["D"]) for r in done}
    wanted: list[Job] = [(name, structure, 0, None) for name in sets for structure in available(DETERMINISTIC)]
    annealed = available(ANNEALED)
    for seed in range(max(runs.values(), default=0)):
        wanted += [(name, structure, seed, None) for name in sets for structure in annealed if seed < runs[name]]
    for seed in range(sweep_runs if sweep is not None else 0):
        wanted += [(str(sweep), s, seed, D) for s in annealed for D in SCHEDULES if D != 0.8]
    yield from (job for job in wanted if job not in have)
