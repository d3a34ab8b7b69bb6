"""What is measured of Pernkopf and Wohlmayr (2013): their data and splits, their structures, one task each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.impute import SimpleImputer
from sklearn.model_selection import GridSearchCV, StratifiedKFold, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import bnplug
from bnplug import Structure, datasets
from bnplug.experiments.storage import Record
from bnplug.hooks import recipes
from bnplug.typing import IntArray
from bnplug_papers.kit import CodedSplit, Results, Task, code_split, find_data, hide_draws, is_copy, load_data, timed

#: The data sets by the names of their files, with what the paper calls them and the share of rows that trains.
USPS, TEN_DIGITS, MNIST, SATELLITE = "usps-11000", "usps-hastie-9298", "mnist14", "satellite"
SETS = {
    "spambase": ("Spambase", 2301 / 4601), USPS: ("USPS", 8000 / 11000),
    TEN_DIGITS: ("USPS, ten digits", 7291 / 9298), MNIST: ("MNIST", 0.0),
}  # fmt: skip
QUICK = "iris"
#: Of Figure 5.
SATELLITES_FEATURES = 36
#: Sets whose files hold the training rows first, with how many these are.
FIRST_ROWS = {TEN_DIGITS: 7291, SATELLITE: 4435}

GENERATIVE, CLIMBED = ("NB", "TAN-ST-CMI"), ("TAN-HC-CR", "TAN-HC-MM")
ANNEALED = ("TAN-SA-CR", "TAN-SA-MM")
SCHEDULES, PAPERS_SCHEDULE = (0.5, 0.6, 0.7, 0.8, 0.9), 0.8
RUNS, DRAWS, BATCH = 10, 100, 10

#: Where hill climbing on MNIST is compared with annealing, both learn from so many rows; lam is chosen on as many.
FEWER_ROWS = 10_000
#: Training rows of Spambase in the curves, and how often they are drawn.
SIZES, SIZE_DRAWS = (150, 300, 600, 1200, 2301), 10
SIZED = ("NB", "TAN-ST-CMI", "TAN-HC-CR", "TAN-HC-MM", "TAN-SA-MM")

#: Ways to learn maximum-margin parameters: the recipes', without early stopping, and by conjugate gradients.
WAYS: dict[str, dict[str, Any]] = {
    "L-BFGS, stopped early": {},
    "L-BFGS, to the end": {"early_stopping": False},
    "CG, stopped early": {"optimizer": "cg"},
}
#: The widths (gamma) that an SVM's is chosen from; its penalty is the paper's.
WIDTHS, PENALTY = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05), 1.0
#: What is measured of the ten digits on the rows that they come with and on drawn ones, to see what that changes.
SVM, GIVEN, DRAWN = "SVM", "given", "drawn"
# How many points of a trace are kept.
_POINTS = 40


def tasks(data: Path | None, quick: bool) -> tuple[list[Task], list[str]]:
    """Return the structures to learn: all data sets' first runs first, hill climbing on all rows of MNIST last."""
    there, lacking = ([QUICK], []) if quick else find_data(SETS, data)
    small, digits = [name for name in there if name != MNIST], [name for name in there if name == MNIST]
    usps = [name for name in there if name == USPS]
    planned = _structures(small, GENERATIVE, data) + _structures(small[:1], CLIMBED, data)
    planned += _structures(small, ANNEALED, data, range(2 if quick else 3)) + _machines(small, data)
    if quick:
        return planned, ["DCMall"]
    planned += _structures(small, ANNEALED, data, range(3, RUNS)) + _structures(digits, GENERATIVE, data)
    planned += _structures(digits, (*CLIMBED, *ANNEALED), data, rows=FEWER_ROWS) + _structures(digits, ANNEALED, data)
    planned += _structures(small[1:], CLIMBED, data) + _hidden(find_data([SATELLITE], data)[0], data)
    planned += _resplit([name for name in there if name == TEN_DIGITS], data)
    planned += _sizes(data) if "spambase" in there else []
    planned += _sweep(usps, range(3), data) + _machines(digits, data)
    planned += _structures(digits, ANNEALED, data, range(1, RUNS))
    planned += _structures(digits, ANNEALED, data, range(1, RUNS), rows=FEWER_ROWS)
    planned += _sweep(usps, range(3, RUNS), data) + _structures(digits, CLIMBED, data)
    return planned, [*(SETS[name][0] for name in lacking), "DCMall"]


def further(results: Results, data: Path | None, quick: bool) -> Iterator[Task]:
    """Yield maximum-margin parameters for each structure, of several runs for the best in training and in testing."""
    if available(["TAN-SA-MM"]):
        for key, tree in wanted_parameters(results):
            yield Task("parameters", key, measure_parameters, (key["dataset"], tree, key["way"], data))


def wanted_parameters(results: Results) -> Iterator[tuple[dict[str, Any], list[int]]]:
    """Yield the keys of the parameters that the structures of all rows so far call for, each with its tree."""
    frame = results.frame("structures")
    if frame.empty:
        return
    for (name, structure), group in frame[frame["rows"] == 0].groupby(["dataset", "structure"], sort=False):
        places = {int(group["score"].fillna(0).to_numpy().argmax()), int(group["accuracy"].to_numpy().argmax())}
        for row in group.iloc[sorted(places)].to_dict("records"):
            kept = {str(part): row[part] for part in ("dataset", "structure", "seed", "rows")}
            ways = WAYS if name != MNIST and structure in GENERATIVE else list(WAYS)[:1]
            for way in ways:
                yield {**kept, "way": way}, row["tree"]


def _structures(
    names: Iterable[str], structures: Iterable[str], data: Path | None, seeds: Iterable[int] = (0,), rows: int = 0
) -> list[Task]:
    return [
        Task("structures", _key(name, s, seed, rows), measure_structure, (name, s, seed, rows, PAPERS_SCHEDULE, data))
        for seed, name, s in product(seeds, names, available(structures))
    ]


def _key(name: str, structure: str, seed: int, rows: int) -> dict[str, Any]:
    return {"dataset": name, "structure": structure, "seed": seed, "rows": rows}


def _sweep(names: Iterable[str], seeds: Iterable[int], data: Path | None) -> list[Task]:
    return [
        Task("schedules", {**_key(name, s, seed, 0), "D": D}, measure_structure, (name, s, seed, 0, D, data))
        for name, seed, D, s in product(names, seeds, SCHEDULES, available(ANNEALED))
        if D != PAPERS_SCHEDULE
    ]


def _machines(names: Iterable[str], data: Path | None) -> list[Task]:
    return [Task("SVM", {"dataset": name}, measure_svm, (name, data)) for name in names]


def _resplit(names: Iterable[str], data: Path | None) -> list[Task]:
    # Of searches that chance decides, the same run on the given rows; the others are the same there each time.
    annealed, climbed = available(ANNEALED), available(CLIMBED)
    pairs = [(s, DRAWN) for s in [*available(GENERATIVE), SVM, *annealed]] + [(s, GIVEN) for s in annealed]
    return [
        Task("split", {"dataset": name, "structure": s, "split": which}, measure_split, (name, s, which, data))
        for name, (s, which) in product(names, [*pairs, *((s, DRAWN) for s in climbed)])
    ]


def _sizes(data: Path | None) -> list[Task]:
    return [
        Task("sample sizes", {"rows": rows, "structure": s, "draw": draw}, measure_size, (s, rows, draw, data))
        for draw, rows, s in product(range(SIZE_DRAWS), SIZES, available(SIZED))
    ]


def _hidden(names: Sequence[str], data: Path | None) -> list[Task]:
    batches = range(DRAWS // BATCH if "NB-MM" in recipes.ready() else 0)
    return [
        Task("figure 5", {"dataset": name, "draws": batch}, hide, (name, data, batch))
        for batch, name in product(batches, names)
    ]


def available(structures: Iterable[str]) -> list[str]:
    """Return those of the structures for whose recipes everything is installed.

    Examples
    --------
    >>> available(["NB", "TAN-SA-CR", "TAN-of-tomorrow"])
    ['NB', 'TAN-SA-CR']
    """
    ready = recipes.ready()
    return [name for name in structures if f"{name}-ML" in ready]


def split(dataset: datasets.Dataset, seed: int = 0, drawn: bool = False) -> tuple[IntArray, IntArray]:
    """Return training and test rows: those that the set comes with, or as many as the paper's, drawn by class.

    In one file of USPS the images of three digits are the same; they are kept as the first of them alone. The other
    file has the training rows first, as satellite has; with `drawn` as many are drawn instead.
    """
    if dataset.split is not None:
        return dataset.split
    if dataset.name in FIRST_ROWS and not drawn:
        rows, first = np.arange(len(dataset.X)), FIRST_ROWS[dataset.name]
        return rows[:first], rows[first:]
    share = SETS.get(dataset.name, ("", 2 / 3))[1]
    rows = np.flatnonzero(~is_copy(dataset)) if dataset.name == USPS else np.arange(len(dataset.X))
    labels = dataset.y.to_numpy()[rows]
    train, test = train_test_split(rows, train_size=round(share * len(rows)), stratify=labels, random_state=seed)
    return train, test


@lru_cache(maxsize=2)
def prepared(name: str, data: Path | None, drawn: bool = False) -> CodedSplit:
    """Return a data set split and cut by MDL."""
    dataset = load_data(name, data)
    return code_split(dataset, *split(dataset, drawn=drawn))


@lru_cache
def chosen_lam(name: str, data: Path | None) -> float:
    """Return the lam that the margin score chooses by cross-validation on the training rows, at most `FEWER_ROWS`."""
    return _lam(_first_rows(prepared(name, data), FEWER_ROWS))


def _lam(rows: bnplug.Table) -> float:
    score = bnplug.recipe("TAN-SA-MM-ML").structure.score
    return float(score.set_params(random_state=0).choose_parameters(rows).lam)


def _first_rows(coded: CodedSplit, rows: int) -> bnplug.Table:
    return coded.train if not rows else coded.train.take(np.arange(min(rows, coded.train.n_rows)))


def measure_structure(name: str, structure: str, seed: int, rows: int, D: float, data: Path | None) -> Record:
    """Learn a structure, by its recipe, from so many rows (0: all), and measure it with ML parameters of all rows."""
    coded = prepared(name, data)
    lam = chosen_lam(name, data) if structure.endswith("-MM") else None
    graph, record = _learn(structure, _first_rows(coded, rows), seed, lam, D)
    tables = bnplug.recipe(f"{structure}-ML").parameters.fit(coded.train, graph)
    shape = {"n_train": coded.train.n_rows, "n_test": len(coded.labels), "features": len(coded.train.features)}
    target = coded.train.target_index
    tree = [next((int(p) for p in parents if p != target), -1) for parents in graph.parents]
    return record | shape | {"accuracy": coded.accuracy(tables), "size": tables.n_parameters, "lam": lam, "tree": tree}


def _learn(
    structure: str, rows: bnplug.Table, seed: int, lam: float | None, D: float = PAPERS_SCHEDULE
) -> tuple[Any, Record]:
    """Return a structure, and what it took: evaluations, seconds, the score and how it rose."""
    learner = bnplug.recipe(f"{structure}-ML").structure
    if not hasattr(learner, "score"):
        graph, seconds = timed(learner.learn, rows)
        return graph, {"evaluations": 0, "learning": seconds, "score": None, "trace": []}
    # The same folds for all, so that scores of different searches and runs compare.
    learner.score.set_params(random_state=0, **({} if lam is None else {"lam": lam}))
    learner.set_params(random_state=seed, n_jobs=1, **({"D": D} if "-SA-" in structure else {}))
    graph, seconds = timed(learner.learn, rows)
    log = list(zip(learner.evaluations_, learner.trace_, strict=True))
    used = {"evaluations": learner.n_evaluations_, "learning": seconds}
    return graph, {**used, "score": max(value for _, value in log), "trace": thin(log)}


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


def measure_parameters(name: str, tree: Sequence[int], way: str, data: Path | None) -> Record:
    """Measure a tree with maximum-margin parameters, learned in one of several ways."""
    coded = prepared(name, data)
    target = coded.train.target_index
    parents = [[] if v == target else sorted({target, *([p] if p >= 0 else [])}) for v, p in enumerate(tree)]
    learner = bnplug.recipe("NB-MM").parameters.set_params(random_state=0, n_jobs=1, **WAYS[way])
    tables, seconds = timed(learner.fit, coded.train, Structure(coded.train.names, parents))
    record = {"accuracy": coded.accuracy(tables), "size": tables.n_parameters, "learning": seconds}
    return record | {"lam": learner.lam_, "steps": learner.n_iter_, "objective": learner.objective_path_[-1]}


def measure_svm(name: str, data: Path | None) -> Record:
    """Measure a support vector machine as the paper's: RBF kernel, C = 1, its width by 5-fold cross-validation.

    It gets the numbers of the bins: on Spambase this, and not the features as they were, gives as many support vectors
    as the paper reports.
    """
    return _svm(prepared(name, data))


def _svm(coded: CodedSplit) -> Record:
    features, labels = coded.train.features, coded.train.codes[coded.train.target_index]
    X, X_test = coded.train.codes[features].T, coded.test[features].T
    some = np.random.default_rng(0).permutation(len(X))[:FEWER_ROWS]
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    machine = make_pipeline(StandardScaler(), SVC(C=PENALTY))
    search = GridSearchCV(machine, {"svc__gamma": list(WIDTHS)}, cv=folds, refit=False)
    search.fit(X[some], labels[some])
    model = machine.set_params(**search.best_params_).fit(X, labels)
    size = int(model[-1].n_support_.sum()) * X.shape[1]
    return {"accuracy": 100 * float(model.score(X_test, coded.labels)), "size": size}


def measure_split(name: str, structure: str, which: str, data: Path | None) -> Record:
    """Measure one run of a structure with both kinds of parameters, or an SVM, on given rows or on drawn ones."""
    coded = prepared(name, data, which == DRAWN)
    if structure == SVM:
        return {SVM: _svm(coded)["accuracy"]}
    lam = _lam(_first_rows(coded, FEWER_ROWS)) if structure.endswith("-MM") else None
    graph, _ = _learn(structure, coded.train, 0, lam)
    margin = bnplug.recipe("NB-MM").parameters.set_params(random_state=0, n_jobs=1)
    learners = {"ML": bnplug.recipe(f"{structure}-ML").parameters, "MM": margin}
    return {
        f"{structure}-{kind}": coded.accuracy(learner.fit(coded.train, graph)) for kind, learner in learners.items()
    }


def measure_size(structure: str, rows: int, draw: int, data: Path | None) -> Record:
    """Measure a structure that was learned, cuts and parameters included, from part of Spambase's training rows."""
    dataset = load_data("spambase", data)
    train, test = split(dataset)
    labels = dataset.y.to_numpy()[train]
    if rows < len(train):
        train, _ = train_test_split(train, train_size=rows, stratify=labels, random_state=draw)
    coded = code_split(dataset, train, test)
    lam = _lam(coded.train) if structure.endswith("-MM") else None
    graph, _ = _learn(structure, coded.train, draw, lam)
    return {"accuracy": coded.accuracy(bnplug.recipe(f"{structure}-ML").parameters.fit(coded.train, graph))}


def hide(name: str, data: Path | None, batch: int) -> list[Record]:
    """Measure naive Bayes with both parameters, and an SVM that gets means, with features missing in ten draws."""
    dataset = load_data(name, data)
    kinds: dict[str, Any] = {"categorical_features": dataset.categorical_features, "n_jobs": 1, "random_state": 0}
    models = {recipe: bnplug.recipe(recipe, **kinds) for recipe in ("NB-ML", "NB-MM")}
    models["SVM, means"] = make_pipeline(SimpleImputer(), StandardScaler(), SVC(C=PENALTY))
    return hide_draws(models, dataset, *split(dataset), BATCH, batch)
