"""The protocol of Kelner and Lerner (2012): its data sets, its classifiers by its names, and what is measured."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from pandas.api.types import is_numeric_dtype
from sklearn.base import clone
from sklearn.model_selection import train_test_split

import bnplug
from bnplug import BayesianNetworkClassifier, Structure, UniformDiscretizer, datasets
from bnplug.contracts import StructureLearner
from bnplug.hooks.components import component
from bnplug.search import Graph, GreedySearch, Neighbourhood, climb
from bnplug.show.summary import counted
from bnplug_papers.kelner2012 import graphs
from bnplug_papers.kelner2012.rivals import on_numbers, rivals
from bnplug_papers.kit import Folds, Task, find_data, fold_tasks, load_data, timed

if TYPE_CHECKING:
    from bnplug.table.table import Table

#: The paper's data sets by its names, each with the name of our file.
DATASETS = {
    "Australian": "australian", "Breast": "breast-wisconsin", "Chess": "chess-kr-vs-kp", "Cleve": "cleve",
    "Corral": "corral", "Crx": "crx", "Diabetes": "diabetes", "Flare": "flare", "Glass": "glass", "Glass2": "glass2",
    "Hayes": "hayes-roth", "Heart": "heart-statlog", "Hepatitis": "hepatitis", "Iris": "iris", "Letter": "letter",
    "Lymphography": "lymphography", "Mofn": "mofn-3-7-10", "Pima": "pima", "Shuttle": "shuttle",
    "Tic-Tac-Toe": "tic-tac-toe", "Vehicle": "vehicle", "Voting": "vote",
}  # fmt: skip

#: What a run on data that ship uses instead.
QUICK = {"Corral": "corral", "Iris": "iris"}

#: Rows of shuttle: a stratified sample, as large as the paper's, of which only the size is known.
SHUTTLE_ROWS = 5800

#: The data set that takes longest, and comes last.
LAST = "Letter"

#: The data set whose search is shown, which ships.
SHOWN = ("Tic-Tac-Toe", "tic-tac-toe")

CONTROL = "RMCV (NBC)"
STARTS = {"NBC": "nb", "empty": "empty"}

#: The networks of Table 6, and what its formula for K2 is shown beside; the networks of Table 2 that Table 6 lacks.
TABLE_6 = (
    CONTROL, "MDL (NBC)", "MDL (empty)", "K2 (NBC)", "K2 (empty)", "BNC-MDL", "BNC-2P", "TAN", "NBC",
    "BDeu(1) (NBC)", "BDeu(1) (empty)",
)  # fmt: skip
TABLE_2 = (
    "RMHO (NBC)", "RMHO-f (NBC)", "RMHO-ar (NBC)", "RMCV (empty)", "RMHO (empty)", "RMHO-f (empty)", "RMHO-ar (empty)",
)  # fmt: skip

_RISKS = ("RMCV", "RMHO", "RMHO-f", "RMHO-ar")
_SCORES = {"MDL": "mdl", "K2": "k2", "BDeu(1)": "bdeu", "BNC-MDL": "cmdl", "BNC-2P": "cll"}

#: Parts of the results: tables, and what is done in another way, the likeliest first. Those of other cuts need a column
#: of numbers. The paper does not give the degree of its polynomial kernel; 3 is the default of LIBSVM.
NETWORKS, HOLD_OUT, RIVALS, GRAPHS, TIMES, SEARCH = "table 6", "table 2", "rivals", "section 5.2", "times", "search"
WAYS = {
    "a polynomial of degree 2": "degree 2",
    "cut points learned beforehand on all rows": "cut beforehand",
    "ten bins of equal width": "ten equal bins",
    "smoothed parameters (alpha = 1)": "smoothed",
    "the last of tied moves": "last of ties",
    "several climbs": "several climbs",
    "the current graph scored anew on each draw": "scored anew",
    "bin numbers that are not scaled": "unscaled",
    "columns as they are, discrete ones one-hot": "raw columns",
}
_OF_CUTS = ("cut beforehand", "ten equal bins")

_FOLDS = Folds(folds=5, missing="drop")


def network(name: str, alpha: float = 0.0, **options: Any) -> Any:
    """Return a network of the paper by its name, its parameters smoothed by `alpha` in scores as in the end.

    Options are of its structure learner.

    Examples
    --------
    >>> network("RMHO-ar (empty)").structure
    AdditiveHoldOutRiskMinimization(alpha=0.0, start='empty')
    """
    method, start = method_and_start(name)
    learned: Any = {"NBC": "nb", "TAN": ("tan", {"correction": None})}.get(method)
    if method in _RISKS:
        learned = bnplug.structure_learner(method.lower(), alpha=alpha, start=start, **options)
    elif learned is None:
        limits = {"max_parents": 2} if method == "BNC-2P" else {}
        settings = {"shake": False, **limits, **options}
        learned = bnplug.structure_learner("hill-climb", score=score_of(name, alpha), start=start, **settings)
    learner = bnplug.parameter_learner("ml", alpha=alpha)
    return BayesianNetworkClassifier(learned, learner, discretizer="mdl", calibrate=None)


def method_and_start(name: str) -> tuple[str, str]:
    """Return the paper's method and where its search begins.

    Examples
    --------
    >>> method_and_start("BDeu(1) (NBC)"), method_and_start("BNC-2P")
    (('BDeu(1)', 'nb'), ('BNC-2P', 'empty'))
    """
    method, _, start = name.partition(" (")
    return method, STARTS[start.rstrip(")") or "empty"]


def score_of(name: str, alpha: float) -> Any:
    """Return the score that a network's search climbs by."""
    method, _ = method_and_start(name)
    if method in _RISKS:
        kind = {"RMHO-ar": "rmho-f"}.get(method, method.lower())
        return bnplug.score_function(kind, alpha=alpha)
    if method == "BDeu(1)":
        return bnplug.score_function("bdeu", equivalent_sample_size=1.0)
    # A conditional likelihood needs probabilities above zero while it is searched for.
    lifted = {"alpha": alpha, "floor": 1e-5} if _SCORES[method] in ("cmdl", "cll") else {}
    return bnplug.score_function(_SCORES[method], **lifted)


@dataclass(eq=False, repr=False)
class LastOfTies(StructureLearner):
    """Hill climbing that makes the last of tied moves, where ``hill-climb`` makes the first; parameters are its own."""

    score: Any = "mdl"
    start: str = "empty"
    reversals: bool = True
    max_parents: int | None = None
    max_iter: int | None = None
    random_state: Any = None

    def learn(self, table: Table) -> Structure:
        """Return the graph at which the climb ends."""
        target, n = table.target_index, len(table.names)
        graph = Graph([[target] if self.start == "nb" and v != target else [] for v in range(n)])
        kinds = ("delete", "reverse", "add") if self.reversals else ("delete", "add")
        capacity = None if self.max_parents is None else np.full(n, self.max_parents)
        search = GreedySearch(component("score function", self.score, self).evaluator(table), graph.parents, "climb")
        search.last_of_ties = True
        with search.running():
            climb(search, Neighbourhood(graph, kinds, capacity=capacity), table.names, self.max_iter)
        return Structure(table.names, search.parents)


def last_of_ties(name: str) -> Any:
    """Return a network whose search makes the last of tied moves."""
    method, start = method_and_start(name)
    limits: dict[str, dict[str, Any]] = {
        "BNC-2P": {"max_parents": 2},
        "RMHO": {"max_iter": 100},
        "RMHO-ar": {"reversals": False},
    }
    return network("NBC").set_params(structure=LastOfTies(score_of(name, 0.0), start, **limits.get(method, {})))


def as_published(dataset: datasets.Dataset) -> datasets.Dataset:
    """Return a data set as the paper has it: of shuttle a sample of rows, and text that is numbers (crx) as numbers."""
    X, y = dataset.X, dataset.y
    discrete = () if isinstance(dataset.categorical_features, str) else dataset.categorical_features
    text = [name for name in X.columns if name not in discrete and not is_numeric_dtype(X[name])]
    if text:
        X = X.assign(**{name: pd.to_numeric(X[name]) for name in text})
    if dataset.name == "shuttle" and len(X) > SHUTTLE_ROWS:
        kept = train_test_split(np.arange(len(X)), train_size=SHUTTLE_ROWS, stratify=y, random_state=0)[0]
        kept = np.sort(kept)
        X, y = X.iloc[kept].reset_index(drop=True), y.iloc[kept].reset_index(drop=True)
    return replace(dataset, X=X, y=y)


def cut_beforehand(dataset: datasets.Dataset) -> datasets.Dataset:
    """Return the complete rows with every column of numbers cut by MDL, by cut points of all of them."""
    dataset = as_published(dataset)
    complete = dataset.X.notna().all(axis=1)
    X, y = dataset.X[complete].reset_index(drop=True), dataset.y[complete].reset_index(drop=True)
    features = dataset.categorical_features
    table, encoder = bnplug.encode_training(X, y, discretizer="mdl", categorical_features=features)
    states = encoder.to_states(encoder.encode(X, table), table)
    discrete = pd.DataFrame({name: states[name] for name in encoder.names})
    return replace(dataset, X=discrete, y=y, categorical_features=tuple(discrete.columns))


def has_numbers(file: str, data: Path | None) -> bool:
    """Say whether a data set has a column that is cut."""
    dataset = as_published(load_data(file, data))
    features = dataset.categorical_features
    return bool(
        bnplug.encode_training(dataset.X, dataset.y, discretizer="uniform", categorical_features=features)[1].numeric
    )


def other_ways() -> dict[str, dict[str, Any]]:
    """Return for each part of `WAYS` the classifiers in which one thing is done in another way."""
    every = [name for name in (*TABLE_6, *TABLE_2) if not name.startswith("BDeu")]
    climbs = [name for name in every if name not in ("NBC", "TAN")]
    decomposable = [name for name in climbs if name.startswith(("MDL", "K2"))]
    redrawn = [name for name in climbs if name.startswith("RMHO (")]
    bins = UniformDiscretizer(10)
    on_bins = {name: model.set_params(network__discretizer=bins) for name, model in rivals().items()}
    polynomial = "SVM (polynomial)"
    return {
        "degree 2": {polynomial: rivals(degree=2)[polynomial]},
        "cut beforehand": {name: network(name) for name in every} | rivals(),
        "ten equal bins": {name: network(name).set_params(discretizer=bins) for name in every} | on_bins,
        "smoothed": {name: network(name, alpha=1.0) for name in every},
        "last of ties": {name: last_of_ties(name) for name in climbs},
        "several climbs": {name: network(name, shake=True) for name in decomposable},
        "scored anew": {name: network(name, keep=False) for name in redrawn},
        "unscaled": rivals(scaled=False),
        "raw columns": on_numbers(),
    }


def tasks(data: Path | None, quick: bool) -> tuple[list[Task], list[str]]:
    """Return what is measured: first repetitions of everything, then the others, Letter last."""
    wanted = QUICK if quick else DATASETS
    there, _ = find_data(wanted.values(), data)
    files = {name: file for name, file in wanted.items() if file in there}
    planned = [
        *_table_tasks(files, data, 1 if quick else 10),
        Task(SEARCH, {"dataset": SHOWN[0]}, shown_search, (SHOWN[1], data)),
        *_graph_tasks(data, quick),
        *(() if quick else _way_tasks(files, data)),
        *_time_tasks(dict(list(files.items())[:1]) if quick else files, data),
    ]
    return sorted(planned, key=_when), [name for name in wanted if name not in files]


def _when(task: Task) -> tuple[bool, int, int]:
    """Say when a task comes: Letter's repetitions and other ways last; in each repetition what takes long."""
    repetition, last = task.key.get("repetition", 0), task.key.get("dataset") == LAST
    another_way = task.part in WAYS.values()
    another_draw = task.part == GRAPHS and (task.key["draw"] > 0 or task.key["dataset"].endswith(graphs.TEN_BINS))
    long = task.key.get("method") == "NN" or task.part == TIMES or another_draw
    step = 3 if long else 2 if another_way else int(task.part == GRAPHS)
    return last and (repetition > 0 or another_way), repetition, step + 4 * last


def _table_tasks(names: Mapping[str, str], data: Path | None, repetitions: int) -> Iterator[Task]:
    groups: dict[str, tuple[dict[str, Any], tuple[str, ...]]] = {
        NETWORKS: ({name: network(name) for name in TABLE_6}, ("accuracy", "auc")),
        HOLD_OUT: ({name: network(name) for name in TABLE_2}, ("accuracy",)),
        RIVALS: (rivals(), ("accuracy",)),
    }
    for part, (methods, figures) in groups.items():
        folds = replace(_FOLDS, repetitions=repetitions, rows=as_published, figures=figures)
        yield from fold_tasks(part, methods, names, data, folds)


def _way_tasks(names: Mapping[str, str], data: Path | None) -> Iterator[Task]:
    numeric = {name: file for name, file in names.items() if has_numbers(file, data)}
    for part, methods in other_ways().items():
        rows = cut_beforehand if part == "cut beforehand" else as_published
        folds = replace(_FOLDS, repetitions=1, rows=rows, figures=("accuracy",))
        yield from fold_tasks(part, methods, numeric if part in _OF_CUTS else names, data, folds)


def _graph_tasks(data: Path | None, quick: bool) -> Iterator[Task]:
    names = ("synthetic",) if quick else ("iris", "balance-scale", "synthetic", "iris" + graphs.TEN_BINS)
    # Graphs of four variables show that everything runs.
    n_features = 3 if quick else None
    for draw in range(1 if quick else 3):
        for name in names:
            yield Task(GRAPHS, {"dataset": name, "draw": draw}, graphs.study, (name, data, draw, n_features))


def _time_tasks(names: Mapping[str, str], data: Path | None) -> Iterator[Task]:
    every = {name: network(name) for name in (*TABLE_6, *TABLE_2)} | rivals()
    for name, file in names.items():
        for method, model in every.items():
            yield Task(TIMES, {"dataset": name, "method": method}, measure_time, (model, file, data))


def measure_time(model: Any, file: str, data: Path | None) -> dict[str, Any]:
    """Fit on four fifths of the rows, after a fit that compiles; return processor seconds, the least of up to three."""
    dataset = as_published(load_data(file, data))
    complete = dataset.X.notna().all(axis=1)
    X, y = dataset.X[complete], dataset.y[complete]
    made = clone(model)
    prefix = "" if isinstance(made, BayesianNetworkClassifier) else "network__"
    made.set_params(**{f"{prefix}categorical_features": dataset.categorical_features})
    unseeded = [name for name in made.get_params() if name.rpartition("__")[2] == "random_state"]
    made.set_params(**dict.fromkeys(unseeded, 0))
    # A class of one row cannot be on both sides.
    by_class = y if y.value_counts().min() > 1 else None
    rows, _ = train_test_split(np.arange(len(X)), train_size=0.8, stratify=by_class, random_state=0)
    few = rows[: min(len(rows), 300)]
    clone(made).fit(X.iloc[few], y.iloc[few])
    seconds: list[float] = []
    while len(seconds) < 3 and sum(seconds) < 5:
        fitted, taken = timed(clone(made).fit, X.iloc[rows], y.iloc[rows])
        seconds.append(taken)
    value = {"fit_seconds": min(seconds), "rows": len(rows), "features": X.shape[1], "classes": y.nunique()}
    learner: Any = getattr(fitted, "structure_", None)
    if hasattr(learner, "moves_"):
        value |= {"moves": len(learner.moves_), "evaluations": learner.n_evaluations_}
    return value


def shown_search(file: str, data: Path | None) -> dict[str, Any]:
    """Return what the search on all rows of a data set did, in words, with its scores and edges."""
    dataset = load_data(file, data)
    model = bnplug.recipe("RMCV", categorical_features=dataset.categorical_features, random_state=0)
    model.fit(dataset.X, dataset.y)
    return {
        "text": _described(model), "trace": model.structure_.trace_, "names": list(model.tables_.names),
        "edges": [list(edge) for edge in model.tables_.edges], "target": model.target_,
        "blanket": model.markov_blanket(),
    }  # fmt: skip


def _described(model: Any) -> str:
    """Return the moves of a search with their scores, and the Markov blanket of the class."""
    learner, blanket = model.structure_, model.markov_blanket()
    trace, moves = learner.trace_, learner.moves_
    width = max(map(len, moves), default=0)
    scored = counted(learner.n_evaluations_, "candidate")
    lines = [f"{counted(len(moves), 'move')} from score {trace[0]:.4f} to {trace[-1]:.4f}; {scored} scored."]
    for number, (move, value) in enumerate(zip(moves, trace[1:], strict=True), start=1):
        lines.append(f"{number:4}. {move:<{width}}  {value:.4f}")
    remarks = [
        f"The class {model.target_!r} depends on {len(blanket)} of {model.n_features_in_} features, its Markov "
        f"blanket: {', '.join(blanket) or 'none'}."
    ]
    others = [name for name in model.tables_.names if name not in (*blanket, model.target_)]
    if others:
        remarks.append(f"Where these are known, the others change nothing: {', '.join(others)}.")
    return "\n".join(
        [*lines, *(fill(remark, 100, break_on_hyphens=False, break_long_words=False) for remark in remarks)]
    )
