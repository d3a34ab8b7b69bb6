"""The tasks of Zaidi et al. (2017): its data sets, folds and classifiers, and what is measured of each.

On every fold numeric features are cut by MDL on the training rows, and a missing cell is a value of its own; each
structure is learned once, and the parameter learners work on the same table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import isclose, prod
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.model_selection import RepeatedStratifiedKFold

import bnplug
from bnplug.experiments.statistics import bias_variance
from bnplug.experiments.storage import Record
from bnplug.inference.complete import posterior
from bnplug.inference.marginals import Marginalizer
from bnplug.table.kinds import discrete_columns
from bnplug.table.table import Table
from bnplug.typing import CodeArray, FloatArray, IntArray
from bnplug_papers.kit import Task, find_data, load_data, published, timed

if TYPE_CHECKING:
    from bnplug import Structure

#: What a run on data that ship or are generated uses instead of the paper's sets.
QUICK = ("iris", "wine", "balance-scale", "tic-tac-toe")

STRUCTURES: dict[str, tuple[str, dict[str, Any]]] = {
    "NB": ("nb", {}),
    "TAN": ("tan", {"correction": None}),
    "KDB-1": ("kdb", {"k": 1, "correction": None}),
}
LETTERS = ("w", "d", "e")

#: Where L-BFGS stops in the paper (section 7), and how many steps it remembers: not said, 5 in the program's example.
TOL, MEMORY = 1e-32, 5

#: The most iterations: the paper's, and those of data sets with more rows than that.
MAX_ITER, MANY_ROWS, MAX_ITER_OF_MANY = 10_000, 2_000, 1_000

#: How far d, e and w from zeros are followed where only their first iterations are compared (Tables 5 and 6).
FOLLOWED = 100

#: After how many iterations of w the others' are counted (Figures 15 to 17).
COUNTED_FROM = 5

#: Rounds of 2-fold cross-validation.
ROUNDS = 5

#: Sets whose convergence is drawn: the four largest (Figures 13 and 14), and the next six (18 and 19).
DRAWN = (
    "poker-hand", "connect-4", "shuttle", "adult",
    "letter", "magic", "nursery", "pendigits", "covertype-first10000", "thyroid0387",
)  # fmt: skip

#: Iterations after which a drawn path is kept.
KEPT = np.unique(np.concatenate([np.arange(11), np.geomspace(10, MAX_ITER, 40).astype(int)]))

#: Beyond the paper the toolkit's own rule of stopping is enough.
BEYOND: dict[str, Any] = {"max_iter": 500, "tol": 1e-8}

# KDB-2 and KDB-3 with more numbers than that are not learned.
MOST_NUMBERS = 3_000_000

_TARGET = "(class)"

_ROUNDING = 1e-9

# The types of codes that everything was run on before in this process.
_warmed: set[Any] = set()


def tasks(data: Path | None, quick: bool) -> tuple[list[Task], list[str]]:
    """Return the tasks, first those that the paper's tables rest on, small data sets before large ones."""
    # By rising size.
    rows = published("zaidi2017-table3-datasets").set_index("dataset")["rows"]
    names, lacking = (list(QUICK), []) if quick else find_data(rows.index, data)
    rounds = 2 if quick else ROUNDS
    planned: list[Task] = []
    for name in names:
        most = MAX_ITER if rows[name] <= MANY_ROWS else MAX_ITER_OF_MANY
        planned += _of_the_paper(name, data, rounds, 100 if quick else most, quick or name in DRAWN)
        planned += [task for number in range(1 if quick else ROUNDS) for task in _beyond(name, data, number)]
    # First rounds first, but what is beyond the paper after its own first round.
    order = {"data sets": 0, "columns": 0, "table 4": 1, "parameterisations": 1, "convergence": 2}
    planned.sort(key=lambda task: (task.key.get("round", 0), order.get(task.part, 3)))
    return planned, lacking


def _of_the_paper(name: str, data: Path | None, rounds: int, max_iter: int, drawn: bool) -> Iterator[Task]:
    yield Task("data sets", {"dataset": name}, describe, (name, data, max_iter))
    yield Task("columns", {"dataset": name, "rounds": rounds}, find_left_out, (name, data, rounds))
    for structure in STRUCTURES:
        key = {"dataset": name, "structure": structure, "max_iter": max_iter}
        yield Task("table 4", {**key, "rounds": rounds}, decompose, (name, data, structure, rounds, max_iter))
        for number in range(rounds):
            arguments = (name, data, structure, number, max_iter)
            yield Task("parameterisations", {**key, "round": number}, compare_parameterisations, arguments)
        if drawn:
            yield Task("convergence", key, follow, (name, data, structure, max_iter))


def _beyond(name: str, data: Path | None, number: int) -> Iterator[Task]:
    for structure in STRUCTURES:
        key, arguments = {"dataset": name, "structure": structure, "round": number}, (name, data, structure, number)
        yield Task("levels", key, compare_levels, arguments)
        yield Task("lambda", key, compare_strengths, arguments)
    for k in (2, 3):
        key = {"dataset": name, "structure": f"KDB-{k}", "round": number}
        yield Task("KDB-2 and KDB-3", key, learn_deeper, (name, data, k, number))


def describe(name: str, folder: Path | None, max_iter: int) -> Record:
    """Return the size of a data set, and which features have a value for every fourth row: they are kept."""
    dataset = load_data(name, folder)
    X, classes = dataset.X, dataset.y.nunique()
    discrete = discrete_columns(X, dataset.categorical_features)
    many = [str(column) for column in X.columns[discrete] if X[column].nunique() > max(10, len(X) / 4)]
    return {"rows": len(X), "columns": X.shape[1] + 1, "classes": classes, "max_iter": max_iter, "many": many}


def find_left_out(name: str, folder: Path | None, rounds: int) -> Record:
    """Return the features that are left out of a fold, since no training row has a value, and of how many folds."""
    features = load_data(name, folder).X.columns
    tables = [set(map(str, fold(name, folder, number).table.names)) for number in range(2 * rounds)]
    counts = {str(feature): sum(str(feature) not in names for names in tables) for feature in features}
    return {"folds": len(tables), "left_out": {feature: count for feature, count in counts.items() if count}}


@dataclass(frozen=True, eq=False)
class Fold:
    """Training rows as a table, and test rows as codes, with the numbers of their classes among all of the set."""

    table: Table
    classes: IntArray
    codes: CodeArray
    rows: IntArray
    truth: IntArray


@lru_cache(maxsize=2 * ROUNDS)
def fold(name: str, folder: Path | None, number: int) -> Fold:
    """Return one fold of five rounds of stratified 2-fold cross-validation, cut by MDL on its training rows."""
    dataset = load_data(name, folder)
    # A class of one row is in one of the two folds only.
    folds = RepeatedStratifiedKFold(n_splits=2, n_repeats=ROUNDS, random_state=0)
    train, test = list(folds.split(dataset.X, dataset.y))[number]
    # A feature without a value in these rows is left out, and values that they lack are unknown in test rows.
    table, encoder = bnplug.encode_training(
        dataset.X.iloc[train], dataset.y.iloc[train].to_numpy(), discretizer="mdl", missing="value",
        categorical_features=dataset.categorical_features, name=_TARGET,
    )  # fmt: skip
    codes = encoder.encode(dataset.X.iloc[test], table)
    numbers = np.unique(dataset.y.to_numpy(), return_inverse=True)[1]
    made = Fold(table, np.unique(numbers[train]), codes, test, numbers[test])
    _warm(made)
    return made


def _warm(part: Fold) -> None:
    """Run everything on a few rows once in each process, so that compilation is in no measured time."""
    if part.table.codes.dtype in _warmed:
        return
    _warmed.add(part.table.codes.dtype)
    few = part.table.take(np.arange(min(50, part.table.n_rows)))
    for structure in STRUCTURES:
        graph, _ = learn_structure(few, structure)
        for letter in LETTERS:
            for init in ("zeros", "generative"):
                weighted(letter, init=init, max_iter=1).fit(few, graph)
        bnplug.parameter_learner("ml").fit(few, graph)


def weighted(letter: str = "w", **settings: Any) -> Any:
    """Return the learner of a parameterisation: without a penalty and by the paper's rule of stopping, unless told."""
    parameters = {"l2": 0.0, "tol": TOL, "max_iter": MAX_ITER, "memory": MEMORY, "n_jobs": 1, **settings}
    return bnplug.parameter_learner(f"ccbn-{letter}", **parameters)


def learn_structure(table: Table, structure: str) -> tuple[Structure, float]:
    """Return a structure by the paper's name, and the seconds of learning it."""
    name, params = STRUCTURES.get(structure) or ("kdb", {"k": int(structure[-1]), "correction": None})
    return timed(bnplug.structure_learner(name, **params).learn, table)


def judge(probabilities: FloatArray, classes: IntArray, truth: IntArray) -> tuple[float, float, IntArray]:
    """Return the 0-1 loss, the RMSE, and the classes that are most probable.

    The probabilities are of the model's `classes`; a true one that it does not know has probability 0.

    Examples
    --------
    >>> judge(np.array([[0.8, 0.2], [0.4, 0.6]]), np.array([0, 2]), np.array([0, 1]))
    (0.5, 0.7211..., array([0, 2]))
    """
    predicted = classes[probabilities.argmax(axis=1)]
    of_truth = np.where(classes == truth[:, None], probabilities, 0.0).sum(axis=1)
    return float((predicted != truth).mean()), float(np.sqrt(((1.0 - of_truth) ** 2).mean())), predicted


def measure(part: Fold, graph: Structure, learner: Any) -> tuple[Record, IntArray]:
    """Fit on a fold; return the 0-1 loss, RMSE and seconds of learning parameters, and the predicted classes."""
    tables, seconds = timed(learner.fit, part.table, graph)
    probabilities = posterior(Marginalizer(tables, _TARGET).log_joint(part.codes, n_jobs=1))
    zero_one, rmse, predicted = judge(probabilities, part.classes, part.truth)
    return {"zero_one": zero_one, "rmse": rmse, "seconds": seconds}, predicted


def measure_all(part: Fold, graph: Structure, learners: Sequence[Any]) -> Record:
    """Return what `measure` gives as lists over learners."""
    return _lists([measure(part, graph, learner)[0] for learner in learners])


def _lists(records: Sequence[Record]) -> Record:
    """Return a list over methods for each figure.

    Examples
    --------
    >>> _lists([{"rmse": 0.3, "seconds": 1.0}, {"rmse": 0.2, "seconds": 2.0}])
    {'rmse': [0.3, 0.2], 'seconds': [1.0, 2.0]}
    """
    return {figure: [record[figure] for record in records] for figure in records[0]}


def _means(records: Sequence[Record]) -> Record:
    """Return the mean of each figure over folds, lists element by element.

    Examples
    --------
    >>> _means([{"rmse": [0.25, 0.5], "n": 1}, {"rmse": [0.75, 1.0], "n": 2}])
    {'rmse': [0.5, 0.75], 'n': 1.5}
    """
    return {figure: np.mean([record[figure] for record in records], axis=0).tolist() for figure in records[0]}


def decompose(name: str, folder: Path | None, structure: str, rounds: int, max_iter: int) -> Record:
    """Return errors, bias and variance of the generative classifier and of w from zeros, over all rounds (Table 4)."""
    learners = [bnplug.parameter_learner("ml"), weighted(init="zeros", max_iter=max_iter)]
    measured, predictions = [], []
    for number in range(2 * rounds):
        half = fold(name, folder, number)
        graph, _ = learn_structure(half.table, structure)
        results = [measure(half, graph, learner) for learner in learners]
        measured.append(_lists([record for record, _ in results]))
        predictions.append([(half.rows, predicted) for _, predicted in results])
    truth = np.unique(load_data(name, folder).y.to_numpy(), return_inverse=True)[1]
    parts = [bias_variance(truth, folds) for folds in zip(*predictions, strict=True)]
    return _means(measured) | {"bias": [part.bias for part in parts], "variance": [part.variance for part in parts]}


def compare_parameterisations(name: str, folder: Path | None, structure: str, number: int, max_iter: int) -> Record:
    """Return the means of one round: of the generative classifier, w(I), d(I) and e(I), and of paths from zeros.

    ``zero_one``, ``rmse`` and ``seconds``, structure included, of the four; of w, d and e ``n_iter`` of (I), and the
    NLL a row after 5, 10 and 50 iterations, from zeros (``zeros_5``) and of (I) (``generative_5``); of d and e
    ``further``, see :func:`count_further`.
    """
    return _of_round(name, folder, number, lambda part: _compare_on(part, structure, max_iter))


def _of_round(name: str, folder: Path | None, number: int, on: Callable[[Fold], Record]) -> Record:
    """Return the means of what is measured on both folds of a round."""
    return _means([on(fold(name, folder, 2 * number + half)) for half in (0, 1)])


def _compare_on(part: Fold, structure: str, max_iter: int) -> Record:
    graph, seconds = learn_structure(part.table, structure)
    learners = {letter: weighted(letter, init="generative", max_iter=max_iter) for letter in LETTERS}
    result = measure_all(part, graph, [bnplug.parameter_learner("ml"), *learners.values()])
    result["seconds"] = [seconds + one for one in result["seconds"]]
    result["n_iter"] = [learner.n_iter_ for learner in learners.values()]
    followed = [weighted(letter, init="zeros", max_iter=FOLLOWED) for letter in LETTERS]
    for learner in followed:
        learner.fit(part.table, graph)
    for start, those in (("zeros", followed), ("generative", learners.values())):
        paths = [np.array(learner.nll_path_) / part.table.n_rows for learner in those]
        for after in (5, 10, 50):
            result[f"{start}_{after}"] = [float(path[min(after, len(path) - 1)]) for path in paths]
    ahead, *others = [learner.nll_path_ for learner in followed]
    return result | {"further": [count_further(ahead, path) for path in others]}


def count_further(ahead: Sequence[float], behind: Sequence[float]) -> int:
    """Return how many iterations more the second path takes to come as low as the first was after `COUNTED_FROM`.

    Negative, and the other way round, where the second is lower there. A path that never comes as low counts as if it
    did after `FOLLOWED`. What differs by rounding alone, as at the minimum, is equal.
    """
    low, high = (path[min(COUNTED_FROM, len(path) - 1)] for path in (ahead, behind))
    if isclose(low, high, rel_tol=_ROUNDING):
        return 0
    if high < low:
        return -count_further(behind, ahead)
    reached = low * (1 + _ROUNDING)
    return next((place for place, value in enumerate(behind) if value <= reached), FOLLOWED) - COUNTED_FROM


def follow(name: str, folder: Path | None, structure: str, max_iter: int) -> Record:
    """Return the NLL a row after the iterations in `KEPT`, on the first fold, for each parameterisation and start."""
    part = fold(name, folder, 0)
    graph, _ = learn_structure(part.table, structure)
    result = {}
    for init, suffix in (("zeros", ""), ("generative", "(I)")):
        for letter in LETTERS:
            learner = weighted(letter, init=init, max_iter=max_iter)
            learner.fit(part.table, graph)
            path = np.array(learner.nll_path_) / part.table.n_rows
            result[f"{letter}{suffix}"] = path[KEPT[len(path) > KEPT]].tolist()
    return result


def compare_levels(name: str, folder: Path | None, structure: str, number: int) -> Record:
    """Return figures of w(I) with weights of levels 1 to 4, lists over levels, as means of a round."""

    def on(part: Fold) -> Record:
        learners = [weighted(level=level, **BEYOND) for level in (1, 2, 3, 4)]
        record = measure_all(part, learn_structure(part.table, structure)[0], learners)
        return record | {"n_iter": [learner.n_iter_ for learner in learners]}

    return _of_round(name, folder, number, on)


def compare_strengths(name: str, folder: Path | None, structure: str, number: int) -> Record:
    """Return figures of the generative classifier, of w with a penalty towards 1 by cross-validation, and of w."""

    def on(part: Fold) -> Record:
        penalized = weighted(**BEYOND, l2="cv", l2_center=1, random_state=0)
        learners = [bnplug.parameter_learner("ml"), penalized, weighted(**BEYOND)]
        record = measure_all(part, learn_structure(part.table, structure)[0], learners)
        return record | {"log10_l2": float(np.log10(penalized.l2_))}

    return _of_round(name, folder, number, on)


def learn_deeper(name: str, folder: Path | None, k: int, number: int) -> Record:
    """Return figures of KDB-k and of its w(I); only the size of its tables where that is above `MOST_NUMBERS`."""
    records, sizes = [], []
    for half in (0, 1):
        part = fold(name, folder, 2 * number + half)
        graph, _ = learn_structure(part.table, f"KDB-{k}")
        sizes.append(count_numbers(part.table, graph))
        if sizes[-1] > MOST_NUMBERS:
            return {"numbers": sizes[-1]}
        records.append(measure_all(part, graph, [bnplug.parameter_learner("ml"), weighted(**BEYOND)]))
    return _means(records) | {"numbers": max(sizes)}


def count_numbers(table: Table, graph: Structure) -> int:
    """Return how many numbers the tables of a network have."""
    return sum(prod(int(table.cards[v]) for v in (child, *parents)) for child, parents in enumerate(graph.parents))
