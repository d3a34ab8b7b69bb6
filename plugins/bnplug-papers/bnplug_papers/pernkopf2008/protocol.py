"""What is measured of Pernkopf and Bilmes (2008): their data sets and splits, their classifiers, one task each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold
from sklearn.svm import SVC

import bnplug
from bnplug import Structure, datasets
from bnplug.experiments.storage import Record
from bnplug.hooks import recipes
from bnplug.typing import IntArray
from bnplug_papers import kit
from bnplug_papers.kit import CodedSplit, Task, load_data
from bnplug_papers.pernkopf2008 import steps

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
QUICK = ("corral", "iris")

MNIST = "mnist14"
#: Where features are hidden; the paper's speech frames are not free.
HIDDEN = ("satellite", "segment", "waveform-21")
SIZES = (20, 50, 100, 200, 500, 1000)
ORDERS, DRAWS, BATCH = 1000, 100, 10
#: How often the folds and rows of Table 1 are drawn again, to see how much that changes its averages.
REDRAWS = 4

GREEDY, ORDERED, GENERATIVE, BY_RATE = "TAN-CR-ML", "TAN-OMI-CR-ML", "TAN-CMI-ML", "TAN-OCR-CR-ML"
STRUCTURES = {
    "NB": "NB-ML", "TAN-CMI": GENERATIVE, "TAN-OMI-CR": ORDERED, "TAN-OMISP-CR": "TAN-OMISP-CR-ML",
    "TAN-CR": GREEDY, "2-tree-OMI-CR": "2-tree-OMI-CR-ML",
}  # fmt: skip
#: Steps of conditional likelihood, and the ways that they are gone.
STEPS, WAYS = 20, tuple(steps.WAYS)
TIMED = ("TAN-CMI", "TAN-OMI-CR", "TAN-CR")

_DRAWN = ("NB-ML", GENERATIVE, ORDERED, "NB-CL", "TAN-CMI-CL", "TAN-OMI-CR-CL")
#: Friedman, Geiger and Goldszmidt's smoothing.
FRIEDMAN = {"alpha": 5.0, "prior": "marginal"}


def tasks(data: Path | None, quick: bool) -> tuple[list[Task], list[str]]:
    """Return what is measured: what is quick and much is said of first, searches of minutes last."""
    there, lacking = (list(QUICK), []) if quick else kit.find_data(sorted([*CROSS_VALIDATED, *HELD_OUT]), data)
    digits = not quick and MNIST in kit.find_data([MNIST], data)[0]
    folds = kit.Folds(repetitions=1, missing="drop", splits=cv)
    planned = list(kit.fold_tasks("table 1", _classifiers(), there, data, folds))
    batches, sizes = range(1 if quick else DRAWS // BATCH), (50,) if quick else SIZES
    planned += [Task("figure 1", {"rows": n, "draws": batch}, draw, (n, batch)) for batch in batches for n in sizes]
    planned += [] if quick else _redrawn(there, data)
    planned += [Task("table 4", {"dataset": name}, measure_times, (name, data)) for name in there]
    if digits:
        planned += [Task("NB-CL", {"dataset": MNIST, "way": way}, measure_steps, (MNIST, data, way)) for way in WAYS]
        planned += [_digits(name, data) for name in STRUCTURES if name not in ("TAN-CR", "2-tree-OMI-CR")]
    hidden = QUICK[:1] if quick else kit.find_data(HIDDEN, data)[0]
    planned += [
        Task("figure 3", {"dataset": name, "draws": batch}, hide, (name, data, batch))
        for batch in batches for name in hidden
    ]  # fmt: skip
    planned += _orders(there, data, 5 if quick else ORDERS)
    planned += [_digits(name, data) for name in ("2-tree-OMI-CR", "TAN-CR")] if digits else []
    return planned, [*lacking, *([] if digits else ["MNIST"]), "TIMIT-4/6", "TIMIT-39"]


def _classifiers() -> dict[str, Any]:
    """Return the classifiers of Table 1 but random orders; those with CL parameters where a plugin has them."""
    ready = recipes.ready()
    names = [*STRUCTURES.values(), *(name for name in (f"{structure}-CL" for structure in STRUCTURES) if name in ready)]
    classifiers: dict[str, Any] = {name: bnplug.recipe(name) for name in names}
    return classifiers | {BY_RATE: bnplug.recipe(ORDERED).set_params(structure__by="score")}


def cv(dataset: datasets.Dataset, seed: int = 0) -> Any:
    """Return the paper's way to split a data set: training and test rows, or 5 folds."""
    train, test = HELD_OUT.get(dataset.name, (0, 0))
    if not train or len(dataset.X) < train + test:
        return 5
    rows = np.arange(len(dataset.X))
    if dataset.name not in _TRAINING_ROWS_FIRST:
        rows = np.random.default_rng(seed).permutation(rows)
    return [(rows[:train], rows[train : train + test])]


def splits(dataset: datasets.Dataset, seed: int = 0) -> list[tuple[IntArray, IntArray]]:
    """Return the training and test rows of each fold, none with a missing cell; another `seed` draws others."""
    complete, given = dataset.X.notna().all(axis=1).to_numpy(), cv(dataset, seed)
    if isinstance(given, list):
        return [(train[complete[train]], test[complete[test]]) for train, test in given]
    rows = np.flatnonzero(complete)
    folds = StratifiedKFold(given, shuffle=True, random_state=seed).split(rows, dataset.y.to_numpy()[rows])
    return [(rows[train], rows[test]) for train, test in folds]


def _redrawn(there: Iterable[str], data: Path | None) -> list[Task]:
    names = tuple(name for name in there if name not in _TRAINING_ROWS_FIRST)
    return [
        Task("drawn again", {"method": method, "draw": draw}, measure_again, (method, names, data, draw))
        for draw in range(1, REDRAWS + 1) for method in _classifiers()
    ]  # fmt: skip


def measure_again(method: str, names: Iterable[str], data: Path | None, draw: int) -> Record:
    """Measure a classifier of Table 1 on another draw of folds and rows: its accuracy (%) on each data set."""
    record: Record = {}
    for name in names:
        dataset, rates = load_data(name, data), []
        for train, test in splits(dataset, draw):
            model = clone(_classifiers()[method])
            model.set_params(categorical_features=dataset.categorical_features, n_jobs=1, random_state=draw)
            model.fit(dataset.X.iloc[train], dataset.y.iloc[train])
            rates.append(np.mean(model.predict(dataset.X.iloc[test]) == dataset.y.iloc[test].to_numpy()))
        record[name] = 100 * float(np.mean(rates))
    return record


def _orders(there: Iterable[str], data: Path | None, n: int) -> Iterator[Task]:
    for name in there:
        for fold in range(len(splits(load_data(name, data)))):
            key = {"dataset": name, "orders": n, "fold": fold}
            yield Task("random orders", key, walk_orders, (name, data, fold, n))


def walk_orders(name: str, data: Path | None, fold: int, n: int) -> Record:
    """Measure trees along random orders: the mean on test rows, and those that are best and worst on training rows."""
    split, model = _coded(name, data, fold), bnplug.recipe("TAN-RO-CR-ML")
    rates, accuracies = [], []
    for seed in range(n):
        structure = model.structure.set_params(n_jobs=1, random_state=seed).learn(split.train)
        rates.append(model.structure.trace_[-1])
        accuracies.append(split.accuracy(model.parameters.fit(split.train, structure)))
    best, worst = int(np.argmax(rates)), int(np.argmin(rates))
    return {"mean": float(np.mean(accuracies)), "max": accuracies[best], "min": accuracies[worst]}


def _coded(name: str, data: Path | None, fold: int) -> CodedSplit:
    dataset = load_data(name, data)
    rows = dataset.split if name == MNIST else splits(dataset)[fold]
    assert rows is not None
    return kit.code_split(dataset, *rows)


def measure_times(name: str, data: Path | None) -> Record:
    """Measure learning the structure from the first training part: processor seconds, and candidates scored."""
    table = _coded(name, data, 0).train
    record: Record = {"features": len(table.features)}
    for title in TIMED:
        learner = bnplug.recipe(STRUCTURES[title]).structure
        if title != "TAN-CMI":  # which scores no candidates
            learner.set_params(n_jobs=1)
        seconds = min(kit.timed(learner.learn, table)[1] for _ in range(3))
        record[title] = {"seconds": seconds, "evaluations": getattr(learner, "n_evaluations_", 0)}
    return record


def _digits(structure: str, data: Path | None) -> Task:
    return Task("MNIST", {"dataset": MNIST, "structure": structure}, measure_digits, (structure, data))


def measure_digits(structure: str, data: Path | None) -> Record:
    """Learn a structure from all digits, and measure it with each kind of parameters."""
    split, model = _coded(MNIST, data, 0), bnplug.recipe(STRUCTURES[structure])
    structure, seconds = kit.timed(model.structure.learn, split.train)
    record: Record = {"structure_seconds": seconds, "evaluations": getattr(model.structure, "n_evaluations_", 0)}
    record |= {"n_train": split.train.n_rows, "n_test": len(split.labels)}
    parameters = {"ML": model.parameters, "smoothed": bnplug.parameter_learner("ml", **FRIEDMAN)}
    if f"{structure}-CL" in recipes.ready():
        parameters["CL"] = bnplug.recipe(f"{structure}-CL").parameters
    return record | {kind: split.accuracy(learner.fit(split.train, structure)) for kind, learner in parameters.items()}


def measure_steps(name: str, data: Path | None, way: str) -> Record:
    """Measure naive Bayes after twenty steps up the conditional likelihood, gone in one of several ways."""
    split = _coded(name, data, 0)
    structure = Structure(split.train.names, split.train.naive_bayes())
    start = bnplug.recipe("NB-ML").parameters.fit(split.train, structure)
    path, tables = steps.descend(split.train, structure, start, way, STEPS)
    return {"nll": path, "accuracy": split.accuracy(tables)}


def draw(rows: int, batch: int) -> Record:
    """Measure classifiers on ten draws of the synthetic case: the accuracies (%) of each on 1000 test rows."""
    names = [name for name in _DRAWN if name in recipes.ready()]
    # The paper's penalty 3 and width 1 of the radial basis functions.
    models: dict[str, Any] = {name: bnplug.recipe(name) for name in names} | {"SVM": SVC(C=3.0, gamma=0.5)}
    record: Record = {name: [] for name in models}
    for number in range(batch * BATCH, (batch + 1) * BATCH):
        seeds = np.random.SeedSequence([rows, number]).generate_state(2)
        X, y = datasets.p08_synthetic(rows, random_state=int(seeds[0]))
        X_test, y_test = datasets.p08_synthetic(1000, random_state=int(seeds[1]))
        for name, model in models.items():
            right = clone(model).fit(X, y).predict(X_test) == y_test.to_numpy()
            record[name].append(100 * float(np.mean(right)))
    return record


def hide(name: str, data: Path | None, batch: int) -> list[Record]:
    """Measure accuracy with features missing in ten draws, the same ones for all classifiers."""
    dataset = load_data(name, data)
    kinds: dict[str, Any] = {"categorical_features": dataset.categorical_features, "n_jobs": 1}
    models = {recipe: bnplug.recipe(recipe, **kinds) for recipe in ("NB-ML", GENERATIVE, ORDERED, GREEDY)}
    return kit.hide_draws(models, dataset, *splits(dataset)[0], BATCH, batch)
