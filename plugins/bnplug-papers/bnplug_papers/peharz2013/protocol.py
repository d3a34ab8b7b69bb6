"""What is measured of Peharz et al. (2013): their data sets and splits, their classifiers, one task for each fold."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.model_selection import GridSearchCV, StratifiedKFold, StratifiedShuffleSplit

import bnplug
from bnplug import datasets
from bnplug.experiments import hide_features
from bnplug.experiments.storage import Record
from bnplug.hooks import registry
from bnplug.table.table import Table
from bnplug.typing import IntArray
from bnplug_papers.kit import Task, find_data, is_copy, load_data
from bnplug_papers.peharz2013.paths import GAMMAS, LAMS, missing_path, path
from bnplug_papers.peharz2013.rivals import RIVALS, rival

#: The rows of Table 1, by the names that they are taken to have, with the file of each and its rows.
SETS = {
    "abalone": ("abalone", 4177), "adult": ("adult", 48842), "australian": ("australian", 690),
    "breast": ("breast-wisconsin", 699), "car": ("car", 1728), "chess": ("chess-kr-vs-kp", 3196),
    "cleve": ("cleve", 303), "crx": ("crx", 690), "diabetes": ("diabetes", 768), "flare": ("flare-1066", 1066),
    "german": ("german", 1000), "glass": ("glass", 214), "heart": ("heart-statlog", 270),
    "hepatitis": ("hepatitis", 155), "letter": ("letter", 20000), "lymphography": ("lymphography", 148),
    "nursery": ("nursery", 12960), "satellite": ("satellite", 6435), "segment": ("segment", 2310),
    "shuttle": ("shuttle", 58000), "soybean-large": ("soybean-large", 683), "spambase": ("spambase", 4601),
    "TIMIT": ("timit", 10**6), "usps": ("usps-hastie-9298", 9298), "vehicle": ("vehicle", 846), "vote": ("vote", 435),
    "waveform": ("waveform-21", 5000), "usps-11000": ("usps-11000", 11000),
}  # fmt: skip
#: Data that ship or are generated, for a quick run.
QUICK = {"corral": ("corral", 128), "iris": ("iris", 150)}
#: Beside the paper's 27 sets; and those that are not of the UCI repository, and so not in Figure 4.
FURTHER, NOT_UCI = ("usps-11000",), ("usps", "usps-11000")

#: Data sets of more rows have one split; where more rows train, settings come from coarser grids.
LARGE = 5000
#: Sets of so many rows are measured before the others.
SMALL = 1100
COARSE_LAMS, COARSE_GAMMAS = (0.0, 1.0, 8.0, 64.0), (1.0, 10.0)
#: The paper's grids of MM, on small and large data, and its most steps.
MM_LAMS, MM_KAPPAS = (tuple(np.linspace(0.01, most, 10).round(3).tolist()) for most in (1.0, 0.5))
MM_STEPS = 200
FOLDS, COARSE_FOLDS = 5, 3
STEPS = (5, 10, 20, 50, 100, 200, 500)

#: Per cent of the features that are missing in test rows.
PERCENTAGES = tuple(range(0, 100, 10))
#: Figures 1 and 2.
TRADE_OFF, HIDDEN = "car", "vehicle"
LAMS_OF_FIGURE_2, DRAWS = (0.0, 1.0, 16.0, 256.0), 100
#: The folds of trees with published figures are drawn so many times more.
REDRAWS = 5
#: Whether there is one optimum: the setting, and from how many random parameters the descent begins beside ML's.
LAM_OF_OPTIMUM, GAMMA_OF_OPTIMUM, STARTS = 1.0, 5.0, 3

MCL, MCL_END, OURS = "MCL", "MCL to the end", "ML-BN-SVM"
_STRUCTURES: dict[str, tuple[str, dict[str, Any]]] = {"NB": ("nb", {}), "TAN": ("tan", {"correction": None})}
_LEARNERS = {"ML": "ml", MCL: "ccbn-e", MCL_END: "ccbn-e", OURS: "ml-bn-svm", "MM": "mm"}
#: Other ways to treat the data, tried with ML and MCL on a tree.
AS_VALUE, LEFT_OUT = "a missing cell as a value of its own", "missing cells left out of a row, not the row"
CUT_BEFORE, THIRD = "cuts from all rows, test rows included", "a third of the rows, drawn by class, for testing"
_WITH_HOLES = ("adult", "breast", "cleve", "crx", "hepatitis", "soybean-large", "vote")
_DISCRETE = ("car", "chess", "flare", "nursery", "soybean-large", "vote")
_TRAINING_ROWS = {
    "adult": 32561, "letter": 15000, "satellite": 4435, "shuttle": 43500, "usps-hastie-9298": 7291
}  # fmt: skip
Split = tuple[IntArray, IntArray]


def tasks(data: Path | None, quick: bool) -> tuple[list[Task], list[str]]:
    """Return first folds of all sets, small ones first, then further folds, other ways and draws, and MM's large grid.

    ML and MCL, which are quick and have published figures, come with all folds before others have large sets.
    """
    sets = QUICK if quick else SETS
    there, _ = find_data([file for file, _ in sets.values()], data)
    names = sorted((name for name, (file, _) in sets.items() if file in there), key=lambda name: sets[name][1])
    small = [name for name in names if sets[name][1] <= SMALL]
    folds, others = range(1 if quick else FOLDS), [name for name in _LEARNERS if name != "MM"]
    planned = _figure_1(names, data, quick) + _table_1(small, [0], others, data, quick)
    for some in (small, names):
        planned += _table_1(some, folds, ["ML", MCL, MCL_END], data, quick) + _figure_2(some, data, quick)
    planned += _table_1(names, folds, others, data, quick) + ([] if quick else list(_other_ways(names, data)))
    planned += [*_optima(small, data), *_other_draws(names, data, quick)]
    planned += _table_1(names, folds, ["MM"], data, quick)
    return list({task.name: task for task in planned}.values()), [name for name in sets if name not in names]


def _figure_1(names: Sequence[str], data: Path | None, quick: bool) -> list[Task]:
    name = "iris" if quick else TRADE_OFF
    return [Task("figure 1", {"dataset": name}, measure_trade_off, (_file(name), data))] if name in names else []


def _figure_2(names: Sequence[str], data: Path | None, quick: bool) -> list[Task]:
    name, folds, draws = ("iris", 1, 2) if quick else (HIDDEN, FOLDS, DRAWS // FOLDS)
    return [
        Task("figure 2", {"dataset": name, "lam": lam, "fold": fold}, hide, (_file(name), lam, fold, draws, data))
        for fold, lam in product(range(folds if name in names else 0), LAMS_OF_FIGURE_2)
    ]


def _table_1(
    names: Sequence[str], folds: Sequence[int], methods: Sequence[str], data: Path | None, quick: bool
) -> list[Task]:
    """Return networks with these parameters that installed plugins can make, and with ours the rivals."""
    there = {method.name for method in registry.methods("parameter learner")}
    pairs = [(structure, name) for name in methods if _LEARNERS[name] in there for structure in ("TAN", "NB")]
    pairs += [("", name) for name in RIVALS if OURS in methods]
    planned = []
    for fold, name, (structure, method) in product(folds, names, pairs):
        if fold == 0 or _rows(name) <= LARGE:
            key = {"dataset": name, "structure": structure, "method": method, "fold": fold}
            planned.append(Task("table 1", key, measure, (name, structure, method, fold, data, quick)))
    return planned


def _other_ways(names: Sequence[str], data: Path | None) -> Iterator[Task]:
    for name in names:
        ways = [AS_VALUE, LEFT_OUT] if name in _WITH_HOLES else []
        ways += [] if name in _DISCRETE else [CUT_BEFORE]
        ways += [THIRD] if _rows(name) > LARGE else []
        for way, fold, method in product(ways, range(1 if _rows(name) > LARGE else FOLDS), ("ML", MCL)):
            key = {"dataset": name, "way": way, "method": method, "fold": fold}
            yield Task("other ways", key, measure_way, (name, way, method, fold, data))


def _optima(names: Sequence[str], data: Path | None) -> Iterator[Task]:
    for name, structure in product(names, ("TAN", "NB")):
        key = {"dataset": name, "structure": structure}
        yield Task("one optimum", key, measure_optimum, (name, structure, data))


def _other_draws(names: Sequence[str], data: Path | None, quick: bool) -> Iterator[Task]:
    for name, method, draw in product(names, ("ML", MCL, MCL_END), range(1, 1 + (2 if quick else REDRAWS))):
        key = {"dataset": name, "method": method, "draw": draw}
        yield Task("other draws", key, measure_draw, (name, method, draw, data))


def _file(name: str) -> str:
    return (SETS | QUICK)[name][0]


def _rows(name: str) -> int:
    return (SETS | QUICK)[name][1]


def has_usual_split(name: str) -> bool:
    """Whether a data set has test rows that are the usual ones, not drawn."""
    return _file(name) in (*_TRAINING_ROWS, "usps-11000")


def splits(dataset: datasets.Dataset, way: str = "") -> list[Split]:
    """Return training and test rows: five folds, or for large data one split, the usual one where there is one.

    Rows with a missing cell are left out, unless the `way` is to keep them: the paper leaves learning from them for
    later.
    """
    y = dataset.y.to_numpy()
    complete = dataset.X.notna().all(axis=1).to_numpy() | (way in (AS_VALUE, LEFT_OUT))
    rows = np.flatnonzero(complete)
    if len(y) <= LARGE:
        folds = StratifiedKFold(FOLDS, shuffle=True, random_state=0).split(rows, y[rows])
        return [(rows[train], rows[test]) for train, test in folds]
    if dataset.name == "usps-11000":
        rows = rows[~is_copy(dataset)[rows]]
    if way != THIRD and dataset.name == "usps-11000":
        # The first eight of every eleven rows of a class: 800 and 300 of each digit.
        labels = pd.Series(y[rows])
        place = labels.groupby(y[rows]).cumcount() / labels.groupby(y[rows]).transform("size")
        first = (place < 8 / 11).to_numpy()
    elif way != THIRD and dataset.name in _TRAINING_ROWS:
        first = rows < _TRAINING_ROWS[dataset.name]
    else:
        ((train, _),) = StratifiedShuffleSplit(1, test_size=1 / 3, random_state=0).split(rows, y[rows])
        first = np.isin(np.arange(len(rows)), train)
    return [(rows[first], rows[~first])]


def redrawn(dataset: datasets.Dataset, draw: int) -> list[Split]:
    """Return the splits of the same rows in another draw: as many folds, or one split with as many test rows."""
    parts = splits(dataset)
    rows = np.sort(np.concatenate(parts[0]))
    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=draw)
    if len(parts) == 1:
        folds = StratifiedShuffleSplit(1, test_size=len(parts[0][1]), random_state=draw)
    return [(rows[train], rows[test]) for train, test in folds.split(rows, dataset.y.to_numpy()[rows])]


def network(structure: str, method: str, coarse: bool, **options: Any) -> Any:
    """Return one of the paper's networks, NB or TAN, with settings of the paper's grids or of coarser ones."""
    folds, lams, gammas = (COARSE_FOLDS, COARSE_LAMS, COARSE_GAMMAS) if coarse else (FOLDS, LAMS, GAMMAS)
    params: dict[str, dict[str, Any]] = {
        "ML": {}, MCL: {"l2": 0.0}, MCL_END: {"l2": 0.0, "max_iter": STEPS[-1]},
        "MM": {"lam": MM_LAMS, "kappa": MM_KAPPAS, "max_iter": MM_STEPS, "cv": folds, "nested": True},
        OURS: {"lam": lams, "gamma": gammas, "cv": folds, "nested": True},
    }  # fmt: skip
    learner = bnplug.parameter_learner(_LEARNERS[method], **params[method])
    model = bnplug.BayesianNetworkClassifier(
        _STRUCTURES[structure], learner, "mdl", calibrate=None, n_jobs=1, **options
    )
    if method != MCL:
        return model
    inner = StratifiedKFold(folds, shuffle=True, random_state=0)
    return GridSearchCV(model, {"parameters__max_iter": STEPS}, cv=inner)


@dataclass(frozen=True, eq=False)
class _Rows:
    """Training and test rows, and whether there are too many of them for the paper's grids."""

    X: pd.DataFrame
    y: pd.Series[Any]
    train: IntArray
    test: IntArray

    @property
    def coarse(self) -> bool:
        return len(self.train) > LARGE

    def fit(self, model: Any) -> Any:
        return model.fit(self.X.iloc[self.train], self.y.iloc[self.train])

    def accuracy(self, model: Any) -> float:
        return 100 * float(np.mean(model.predict(self.X.iloc[self.test]) == self.y.iloc[self.test]))


def _fold(dataset: datasets.Dataset, fold: int, way: str = "") -> _Rows:
    return _Rows(dataset.X, dataset.y.astype(str), *splits(dataset, way)[fold])


def measure(name: str, structure: str, method: str, fold: int, data: Path | None, quick: bool) -> Record:
    """Measure a classifier on the test rows of a fold.

    Returns
    -------
    dict
        Sizes, ``accuracy`` in per cent, what was ``chosen``; for networks the log-likelihood of a training and of a
        test row (``train_ll``, ``test_ll``); for trees and rivals on UCI data, ``hidden``: the accuracy for each of
        `PERCENTAGES` of missing features.
    """
    dataset = load_data(_file(name), data)
    rows, kinds = _fold(dataset, fold), dataset.categorical_features
    coarse = quick or rows.coarse
    if structure:
        model = rows.fit(network(structure, method, coarse, categorical_features=kinds))
        model = getattr(model, "best_estimator_", model)
        record = _likelihoods(model, rows) | {"chosen": _chosen(model.parameters_)}
    else:
        model = rows.fit(rival(method, coarse, kinds))
        record = {"chosen": model.chosen_}
    sizes = {"n_train": len(rows.train), "n_test": len(rows.test), "features": rows.X.shape[1]}
    record |= sizes | {"classes": int(rows.y.iloc[rows.train].nunique()), "accuracy": rows.accuracy(model)}
    if structure != "NB" and name not in NOT_UCI:
        record["hidden"] = _hidden(model, rows, fold)
    return record


def _chosen(parameters: Any) -> dict[str, float]:
    named = {"lam": "lam_", "gamma": "gamma_", "kappa": "kappa_", "steps": "n_iter_"}
    return {
        name: float(getattr(parameters, attribute))
        for name, attribute in named.items()
        if hasattr(parameters, attribute)
    }


def _likelihoods(model: Any, rows: _Rows) -> Record:
    means = {}
    for name, some in (("train_ll", rows.train), ("test_ll", rows.test)):
        frame = model.bins(rows.X.iloc[some]).assign(**{model.target_: rows.y.iloc[some].to_numpy()})
        schema = model.schema_
        table = Table(schema.encode(frame), schema.names, schema.states, schema.target)
        means[name] = model.tables_.log_likelihood(table, incomplete=True) / len(some)
    return means


def _hidden(model: Any, rows: _Rows, seed: int) -> list[float]:
    """Return the accuracy for each percentage of missing features, drawn once for each test row."""
    counts = [round(percent / 100 * rows.X.shape[1]) for percent in PERCENTAGES]
    X, y = rows.X.iloc[rows.test], rows.y.iloc[rows.test]
    accuracies = hide_features({"": model}, X, y, sorted(set(counts)), draws=1, random_state=seed)
    accuracy = 100 * accuracies.set_index("missing")["accuracy"]
    return [float(accuracy[count]) for count in counts]


def measure_way(name: str, way: str, method: str, fold: int, data: Path | None) -> Record:
    """Measure a tree on a fold with the data treated in another way."""
    dataset = load_data(_file(name), data)
    rows, kinds = _fold(dataset, fold, way), dataset.categorical_features
    if way == CUT_BEFORE:
        complete = np.sort(np.concatenate([rows.train, rows.test]))
        X, kinds = _cut(rows.X.iloc[complete], rows.y.iloc[complete], kinds)
        rows = _Rows(X.reindex(range(len(rows.X))), rows.y, rows.train, rows.test)
    missing = "value" if way == AS_VALUE else "ignore"
    model = network("TAN", method, rows.coarse, categorical_features=kinds, missing=missing)
    return {"accuracy": rows.accuracy(rows.fit(model)), "n_test": len(rows.test)}


def measure_draw(name: str, method: str, draw: int, data: Path | None) -> Record:
    """Measure a tree on all folds of another draw: the mean ``accuracy`` in per cent."""
    dataset, accuracies = load_data(_file(name), data), []
    for train, test in redrawn(dataset, draw):
        rows = _Rows(dataset.X, dataset.y.astype(str), train, test)
        model = network("TAN", method, rows.coarse, categorical_features=dataset.categorical_features)
        accuracies.append(rows.accuracy(rows.fit(model)))
    return {"accuracy": float(np.mean(accuracies)), "folds": len(accuracies)}


def measure_optimum(name: str, structure: str, data: Path | None) -> Record:
    """Solve problem (11) on all complete rows from ML's parameters and from random ones.

    Returns
    -------
    dict
        ``rows``, the ``objectives`` of a row that the descents end at, that of ML first, and ``unnormalized``, how far
        the logarithm of a column's sum is from 0 at most, of columns that were counted at least once.
    """
    dataset = load_data(_file(name), data)
    X = dataset.X[dataset.X.notna().all(axis=1)]
    y, kinds = dataset.y.loc[X.index].astype(str), dataset.categorical_features
    table, _ = bnplug.encode_training(X, y, discretizer="mdl", categorical_features=kinds, name="(class)")
    learner, params = _STRUCTURES[structure]
    solver: Any = bnplug.parameter_learner("ml-bn-svm", tol=1e-6, max_iter=5000, n_jobs=1)
    problem = solver.problem(table, bnplug.structure_learner(learner, **params).learn(table))
    rng, first = np.random.default_rng(0), problem.terms.values
    starts = [first, *(problem.columns.log_softmax(rng.normal(0.0, 2.0, len(first))) for _ in range(STARTS))]
    setting = solver.setting(LAM_OF_OPTIMUM, GAMMA_OF_OPTIMUM, normalized=False)
    solutions = [problem.solve(setting, start) for start in starts]
    return {
        "rows": len(X), "objectives": [each.path[-1] / len(X) for each in solutions],
        "unnormalized": max(problem.unnormalized(each.point) for each in solutions),
    }  # fmt: skip


def _cut(X: pd.DataFrame, y: pd.Series[Any], kinds: Any) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """Return the bins of all rows, as the categories of columns, at the places of `X`."""
    table, _ = bnplug.encode_training(X, y, discretizer="mdl", categorical_features=kinds, name="(class)")
    names = [str(table.names[v]) for v in table.features]
    bins = pd.DataFrame(table.codes[table.features].T, columns=names, index=X.index).astype(str)
    return bins, tuple(names)


def measure_trade_off(file: str, data: Path | None) -> list[Record]:
    """Follow naive Bayes along lam, on all rows: Figure 1."""
    dataset = load_data(file, data)
    y, kinds = dataset.y.astype(str).to_numpy(), dataset.categorical_features
    table, _ = bnplug.encode_training(dataset.X, y, discretizer="mdl", categorical_features=kinds, name="(class)")
    steps = path(table, bnplug.Structure(table.names, table.naive_bayes()), gamma=1.0)
    return steps.drop(columns="n_iter").to_dict("records")  # type: ignore[return-value]


def hide(file: str, lam: float, fold: int, draws: int, data: Path | None) -> list[Record]:
    """Measure a tree of one lam with features missing, gamma by cross-validation: Figure 2."""
    rows = _fold(load_data(file, data), fold)
    parts = [(rows.X.iloc[some], rows.y.iloc[some]) for some in (rows.train, rows.test)]
    counts = np.unique(np.linspace(0, 0.9 * rows.X.shape[1], 9).astype(int)).tolist()
    accuracies = missing_path(parts[0], parts[1], [lam], counts, draws, random_state=fold, nested=True, n_jobs=1)
    accuracy = accuracies.set_index("missing")["accuracy"]
    return [{"missing": count, "accuracy": (100 * accuracy.loc[[count]]).tolist()} for count in counts]
