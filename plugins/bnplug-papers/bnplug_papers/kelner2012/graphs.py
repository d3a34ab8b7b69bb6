"""Section 5.2: every graph of five variables, by its scores on training rows and its accuracy on test rows.

The class's answer depends on few of a graph's parents: those of the class and of its children. Graphs that agree there
are scored once.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import spearmanr
from sklearn.model_selection import PredefinedSplit, StratifiedKFold, StratifiedShuffleSplit

import bnplug
from bnplug import Table
from bnplug.typing import FloatArray, IntArray
from bnplug_papers.kit import load_data

#: The network that made-up rows come from: a parent of the class, a child, the child's other parent, and a variable
#: outside the Markov blanket. The paper's probabilities are in a picture only; these are ours. Each variable with its
#: parents and the probability of 1 for each of their states, the last parent's changing first.
NETWORK: dict[str, tuple[tuple[str, ...], tuple[float, ...]]] = {
    "parent": ((), (0.35,)),
    "class": (("parent",), (0.25, 0.8)),
    "co-parent": ((), (0.6,)),
    "child": (("class", "co-parent"), (0.15, 0.4, 0.7, 0.9)),
    "outside": (("parent",), (0.2, 0.65)),
}
SYNTHETIC_ROWS = 10_000

#: How many sets of held-out rows RMHO draws from, one for each graph.
DRAWS = 200

#: After the name of a data set: columns are cut into ten bins of equal width.
TEN_BINS = ", ten equal bins"

#: The data sets by the paper's names.
TITLES = {
    "iris": "Iris", "balance-scale": "Balance", "synthetic": "Synthetic", f"iris{TEN_BINS}": f"Iris{TEN_BINS}",
}  # fmt: skip

#: Cells of a picture in each direction.
CELLS = 48

_PLAIN = {"alpha": 0.0}
_LIFTED = {"alpha": 0.0, "floor": 1e-5}
_TIE = 1e-9
# So many seeds are one draw's.
_DRAWN_FOLDS = 10


def all_graphs(n: int) -> IntArray:
    """Return every graph without a cycle on n variables, the parents of each variable as the bits of a number."""
    possible = [[mask for mask in range(1 << n) if not mask >> v & 1] for v in range(n)]
    masks = np.array(list(product(*possible)), dtype=np.int64)
    left = np.full(len(masks), (1 << n) - 1)
    # What has no parent among those that are left is taken away; n times is enough.
    for _ in range(n):
        for v in range(n):
            left &= ~np.where(masks[:, v] & left == 0, 1 << v, 0)
    acyclic: IntArray = masks[left == 0]
    return acyclic


def answering(masks: IntArray, target: int) -> tuple[IntArray, IntArray]:
    """Return one graph of each kind that answers alike, and the kind of every graph."""
    asked = masks >> target & 1 == 1
    asked[:, target] = True
    _, first, kind = np.unique(np.where(asked, masks, -1), axis=0, return_index=True, return_inverse=True)
    return masks[first], kind.ravel()


def to_parents(masks: IntArray) -> list[list[int]]:
    """Return the parents of every variable as numbers."""
    return [[u for u in range(len(masks)) if mask >> u & 1] for mask in masks.tolist()]


def synthetic(rows: int, seed: int) -> pd.DataFrame:
    """Draw rows from `NETWORK`."""
    random, frame = np.random.default_rng(seed), pd.DataFrame(index=range(rows))
    for name, (parents, chances) in NETWORK.items():
        state = np.zeros(rows, dtype=int)
        for parent in parents:
            state = 2 * state + frame[parent]
        frame[name] = (random.random(rows) < np.array(chances)[state]).astype(int)
    return frame


def generating(table: Table) -> list[int]:
    """Return `NETWORK` as bits, by the order of a table's variables."""
    return [sum(1 << table.index(parent) for parent in NETWORK[name][0]) for name in table.names]


def study(name: str, folder: Any, draw: int = 0, n_features: int | None = None) -> list[dict[str, Any]]:
    """Score every graph on the folds of a data set; return a dict for each score, and one for the graphs.

    Of the first draw of folds, where all graphs are is returned, too.
    """
    splits = list(_splits(name, folder, draw, n_features))
    names = splits[0][0].names
    masks = all_graphs(len(names))
    means: dict[str, FloatArray] = {}
    for number, (train, both, tested) in enumerate(splits):
        for score, values in _scored(train, both, tested, masks, _DRAWN_FOLDS * draw + number).items():
            means[score] = means.get(score, 0) + values / len(splits)
    test = means.pop("test")
    highest = test >= test.max() - _TIE
    whole = {
        "score": "graphs", "n": len(masks), "highest": float(test.max()), "n_highest": int(highest.sum()),
        "rows": [splits[0][0].n_rows, int(tested.sum())], "folds": len(splits),
    }  # fmt: skip
    if name == "synthetic":
        whole["generating"] = bool(highest[(masks == generating(splits[0][0])).all(axis=1)].all())
    rows = [whole]
    for score, values in means.items():
        rows.append({"score": score, **_summary(values, test, highest)})
        if draw == 0:
            rows[-1] |= {"grid_test": _grid(values, test), "grid_training": _grid(values, means["training"])}
    return rows


def _summary(values: FloatArray, test: FloatArray, highest: Any) -> dict[str, Any]:
    best = values >= values.max() - _TIE * max(1.0, abs(values.max()))
    return {
        "mse": float(np.mean((values - test) ** 2)), "spearman": float(spearmanr(values, test)[0]),
        "best": float(values.max()), "n_best": int(best.sum()), "n_best_highest": int((best & highest).sum()),
        "test_of_best": float(test[best].mean()),
    }  # fmt: skip


def _grid(x: FloatArray, y: FloatArray) -> dict[str, Any]:
    """Return where the dots of a picture are: the bounds of both axes, and the cells that have any, as x, y, number."""
    counts, x_edges, y_edges = np.histogram2d(x, y, bins=CELLS)
    places = np.argwhere(counts > 0)
    cells = [[int(i), int(j), int(counts[i, j])] for i, j in places]
    return {"x": [float(x_edges[0]), float(x_edges[-1])], "y": [float(y_edges[0]), float(y_edges[-1])], "cells": cells}


def _splits(name: str, folder: Any, draw: int, n_features: int | None) -> Iterator[tuple[Table, Table, Any]]:
    """Yield the training rows, all rows with the same states, and which of these are tested."""
    if name == "synthetic":
        frame = synthetic(SYNTHETIC_ROWS, draw)
        folds: Any = StratifiedShuffleSplit(1, test_size=0.5, random_state=draw)
    else:
        data = load_data(name.removesuffix(TEN_BINS), folder)
        frame = data.X.assign(**{"class": data.y})
        folds = StratifiedKFold(5, shuffle=True, random_state=draw)
    X, y = frame.drop(columns="class").iloc[:, :n_features], frame["class"]
    # The values of Balance are taken as they are; cut points of Iris are learned on training rows.
    categorical = list(X.columns) if name in ("balance-scale", "synthetic") else "auto"
    cuts = ("uniform", {"n_bins": 10}) if name.endswith(TEN_BINS) else "mdl"
    for train, test in folds.split(X, y):
        table, encoder = bnplug.encode_training(
            X.iloc[train], y.iloc[train], discretizer=cuts, categorical_features=categorical
        )
        tested = np.isin(np.arange(len(X)), test)
        codes = encoder.encode(X, table).copy()
        codes[table.target_index] = pd.Categorical(y, categories=list(table.states[table.target])).codes
        yield table, Table(codes, table.names, table.states, table.target), tested


def _scored(train: Table, both: Table, tested: Any, masks: IntArray, seed: int) -> dict[str, FloatArray]:
    """Return the scores of all graphs on the training rows, and their accuracies on training and test rows."""
    kinds, kind = answering(masks, train.target_index)
    held_out = PredefinedSplit(np.where(tested, 0, -1))
    predictive = {
        "test": (both, bnplug.score_function("cr", cv=held_out, **_PLAIN)),
        "training": (train, bnplug.score_function("cr", **_PLAIN)),
        "CLL": (train, bnplug.score_function("cll", **_LIFTED)),
        "RMHO-f": (train, bnplug.score_function("rmho-f", random_state=seed, **_PLAIN)),
        "RMCV": (train, bnplug.score_function("rmcv", random_state=seed, **_PLAIN)),
    }
    parents = [to_parents(graph) for graph in kinds]
    scores = {}
    for name, (table, score) in predictive.items():
        evaluator = score.evaluator(table)
        scores[name] = np.array([evaluator.start(graph) for graph in parents])[kind]
    sums = {name: _summed(name, train, masks) for name in ("mdl", "k2", "ll")}
    scores |= {"MDL": sums["mdl"], "K2": sums["k2"], "CMDL": scores["CLL"] - (sums["ll"] - sums["mdl"])}
    return {**scores, "RMHO": _redrawn(train, parents, kind, seed)}


def _summed(name: str, table: Table, masks: IntArray) -> FloatArray:
    """Return a decomposable score of all graphs, as the sum of what each variable's parents change."""
    evaluator, n = bnplug.score_function(name).evaluator(table), masks.shape[1]
    empty: list[list[int]] = [[] for _ in range(n)]
    start = evaluator.start(empty)
    total = np.full(len(masks), start)
    for v in range(n):
        changes = np.zeros(1 << n)
        for mask in np.unique(masks[:, v]).tolist():
            chosen = [u for u in range(n) if mask >> u & 1]
            changes[mask] = evaluator.start([*empty[:v], chosen, *empty[v + 1 :]]) - start
        total += changes[masks[:, v]]
    return total


def _redrawn(table: Table, parents: list[list[list[int]]], kind: IntArray, seed: int) -> FloatArray:
    """Return the rate of every graph on held-out rows of its own, one of `DRAWS` sets."""
    drawn = np.random.default_rng(seed).integers(DRAWS, size=len(kind))
    rates = np.empty(len(kind))
    for draw in range(DRAWS):
        score = bnplug.score_function("rmho-f", random_state=DRAWS * (seed + 1) + draw, **_PLAIN)
        evaluator = score.evaluator(table)
        places = np.flatnonzero(drawn == draw)
        values = {int(number): evaluator.start(parents[number]) for number in np.unique(kind[places])}
        rates[places] = [values[int(number)] for number in kind[places]]
    return rates
