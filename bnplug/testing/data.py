"""The small tables that checks run on: fixed, quick to learn from, each with one awkward trait.

The checks of the conformance kit, ``bnplug doctor`` and ``bnplug warm`` use them, and so may the tests of a plugin.
Every call makes a new table, so that a method that changes its input spoils no other check.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from bnplug.model.log_tables import LogTables
from bnplug.table.block_table import BlockTable
from bnplug.table.coding import State
from bnplug.table.table import Table
from bnplug.typing import CodeArray, IntArray

#: The class stands neither first nor last, so that its position is not taken for granted.
NAMES = ("x1", "x2", "class", "x3")
TARGET = 2
_CARDS = (2, 3, 3, 2)
_N_DRAWN = 84
_N_GAPS = 400


def standard() -> Table:
    """Return three dependent features and a class: every configuration occurs, and none tells the class for sure."""
    return _table(_codes())


def binary(label: Callable[[int], State]) -> Table:
    """Return a table of variables with two states each, labeled by `label`."""
    return _table(np.minimum(_codes(), 1), [2, 2, 2, 2], label)


def shuffled(table: Table) -> Table:
    """Return the rows in another order."""
    return table.take(np.random.RandomState(1).permutation(table.n_rows))


def reweighted() -> tuple[Table, Table]:
    """Return the same rows twice: with weights, and each repeated as often as its weight says."""
    table = standard()
    weights = np.random.RandomState(2).randint(1, 4, table.n_rows)
    repeated = table.take(np.repeat(np.arange(table.n_rows), weights))
    return with_weights(table, weights), repeated


def in_blocks(table: Table) -> BlockTable:
    """Return the rows of a table in three uneven blocks."""
    first, second = table.n_rows // 7, table.n_rows // 2
    return BlockTable.cut(table, [first, second - first, table.n_rows - second])


def with_weights(table: Table, weights: Any) -> Table:
    """Return the rows with weights."""
    return Table(table.codes, table.names, table.states, table.target, weights)


def with_missing_cells() -> Table:
    """Return a table in which every feature is missing in some rows, and the class in none."""
    table = standard()
    codes = table.codes.copy()
    hidden = np.random.RandomState(3).random_sample(codes.shape) < 0.15
    hidden[TARGET] = False
    codes[hidden] = table.missing
    return Table(codes, table.names, table.states, table.target)


def to_be_learned_by_em(unlabeled: bool) -> Table:
    """Return a table with missing cells of which all that is known is to be learned from; some rows have no class."""
    table = with_missing_cells()
    codes = table.codes.copy()
    if unlabeled:
        codes[TARGET, ::3] = table.missing
    return Table(codes, table.names, table.states, table.target, missing_policy="em")


def with_constant_feature() -> Table:
    """Return a table whose second feature has one state only."""
    codes = _codes()
    codes[1] = 0
    return _table(codes, [2, 1, 3, 2])


def with_single_feature() -> Table:
    """Return a table of one feature and the class."""
    table, rows = standard(), [1, TARGET]
    return Table(table.codes[rows], [table.names[v] for v in rows], table.states, table.target)


def without_class(table: Any = None) -> Table:
    """Return a table, by default the standard one, in which no variable is the class."""
    table = standard() if table is None else table
    table.target = table.target_index = None
    return table  # type: ignore[no-any-return]


def narrowed(table: Table, n_variables: int | None) -> Table:
    """Return the table with at most so many variables: the class, then the feature that may determine it."""
    kept = [TARGET, 1, *(v for v in range(len(table.names)) if v not in (TARGET, 1))][:n_variables]
    if len(kept) >= len(table.names):
        return table
    rows, whole = sorted(kept), table.gather()
    names = [table.names[v] for v in rows]
    part = Table(whole.codes[rows], names, table.states, NAMES[TARGET], whole.weights)
    part = part if table.target is not None else without_class(part)
    return in_blocks(part) if isinstance(table, BlockTable) else part


def with_unseen_configurations() -> Table:
    """Return a table in which a state never occurs, and another never with one of the classes."""
    codes = _codes()
    seen = (codes[1] != 2) & ((codes[0] != 1) | (codes[TARGET] != 1))
    return _table(codes[:, seen])


def told_by_a_feature() -> Table:
    """Return a table in which the second feature is the class."""
    codes = _codes()
    codes[1] = codes[TARGET]
    return _table(codes)


def with_telling_gaps() -> Table:
    """Return a table in which a cell is missing where another feature, or the class, has some state.

    Whoever takes a missing cell for a state finds other dependences by which state that is.
    """
    random = np.random.RandomState(6)
    c = random.randint(0, 3, _N_GAPS)
    x2 = np.where(random.random_sample(_N_GAPS) < 0.3, c, random.randint(0, 3, _N_GAPS))
    x3 = random.random_sample(_N_GAPS) < np.array([0.2, 0.5, 0.8])[c]
    x1 = random.random_sample(_N_GAPS) < np.array([0.8, 0.1, 0.1])[x2]
    codes = np.array([x1, x2, c, x3], dtype=np.int64)
    hidden = random.random_sample(codes.shape) < 0.05
    hidden[0] |= x3 & (random.random_sample(_N_GAPS) < 0.7)
    hidden[1] |= (c == 2) & (random.random_sample(_N_GAPS) < 0.5)
    hidden[TARGET] = False
    codes[hidden] = np.iinfo(np.uint8).max
    return _table(codes)


def filled(table: Table, state: int) -> Table:
    """Return the table with a state, the last one being -1, in place of every missing cell."""
    codes = np.where(table.codes == table.missing, (state % table.cards)[:, None], table.codes)
    return Table(codes.astype(table.codes.dtype), table.names, table.states, table.target, table.weights)


def turned(table: Table) -> Table:
    """Return the same rows, the states of every feature in reverse order; what is missing stays so."""
    codes, states = table.codes.copy(), dict(table.states)
    for v in table.features:
        known = codes[v] != table.missing
        codes[v, known] = table.cards[v] - 1 - codes[v, known]
        states[table.names[v]] = states[table.names[v]][::-1]
    return Table(codes, table.names, states, table.target, table.weights)


def told_by_parents(parents: Sequence[Sequence[int]], cards: Sequence[int]) -> Table:
    """Return a table in which the first feature with most parents follows from them, and so tells the class.

    All other features say nothing by themselves. The feature is the class plus a number that was drawn for each
    configuration of its other parents, so that parents in wrong places give wrong classes.
    """
    every = np.array(list(product(*map(range, cards)))).T
    child = max(range(len(cards)), key=lambda v: len(parents[v]))
    others = [p for p in parents[child] if p != TARGET]
    drawn = np.random.RandomState(10).randint(0, cards[child], [cards[p] for p in others])
    every[child] = (every[TARGET] + drawn[tuple(every[others])]) % cards[child]
    return _table(np.tile(every, 2), cards)


def numbers() -> tuple[pd.DataFrame, IntArray]:
    """Return two columns of numbers, some of them missing, one of which tells the class, and the class of every row."""
    random = np.random.RandomState(11)
    y = random.randint(0, 3, 150)
    X = pd.DataFrame({"told": y + random.normal(scale=0.3, size=150), "noise": random.normal(scale=2.0, size=150)})
    X[random.random_sample(X.shape) < 0.1] = np.nan
    return X, y


def mixed() -> tuple[pd.DataFrame, npt.NDArray[Any]]:
    """Return columns as they come, numbers, words, categories, truth values, and classes, which one of them tells."""
    random = np.random.RandomState(12)
    c = np.resize([0, 1, 2], 120)
    sizes = ["small", "medium", "large"]
    X = pd.DataFrame({
        "length": c + random.uniform(-0.4, 0.4, 120),
        "colour": np.array(["red", "green", "blue"], dtype=object)[(c + random.randint(0, 2, 120)) % 3],
        "size": pd.Categorical(random.choice(sizes, 120), sizes, ordered=True),
        "heavy": random.random_sample(120) < np.array([0.2, 0.5, 0.8])[c],
        "count": random.poisson(3.0, 120),
    })  # fmt: skip
    return X, np.array(["low", "middle", "top"])[c]


def with_holes(X: pd.DataFrame) -> pd.DataFrame:
    """Return the frame with some cells of every column missing, each in the way of its type."""
    hidden = np.random.RandomState(13).random_sample(X.shape) < 0.15
    return X.astype({"heavy": "boolean", "count": "Int64"}).mask(hidden)


def for_kernels() -> Iterator[Table]:
    """Yield a table of each sort that kernels are compiled for: codes of one and of two bytes, weighted and not."""
    for n_states, weighted in product((_CARDS[0], 300), (False, True)):
        table = _table(_codes(), [n_states, *_CARDS[1:]])
        yield with_weights(table, np.random.RandomState(5).random_sample(table.n_rows) + 0.5) if weighted else table


def tree(table: Table) -> list[list[int]]:
    """Return the parents in a tree-augmented naive Bayes structure, which is C1; without a class, in a chain."""
    parents: list[list[int]] = table.naive_bayes()
    for position, v in enumerate(table.features):
        parents[v] = sorted([*parents[v], *table.features[max(0, position - 1) : position]])
    return parents


def graphs(table: Table) -> list[list[list[int]]]:
    """Return graphs of several shapes, by parents: no edge, a tree, a class with parents, every edge there can be."""
    n = len(table.names)
    above = [table.features if v == table.target_index else [] for v in range(n)]
    return [[[] for _ in range(n)], tree(table), above, complete(table)]


def complete_below_class(table: Table) -> list[list[int]]:
    """Return the parents where each feature has the class and all features before it."""
    c = table.target_index
    return [[] if v == c else sorted({c, *range(v)}) for v in range(len(table.names))]


def complete(table: Table) -> list[list[int]]:
    """Return the parents where every edge is there: each variable has all that stand before it in the table."""
    return [list(range(v)) for v in range(len(table.names))]


def network(table: Table, parents: Sequence[Sequence[int]], zeros: float = 0.0) -> LogTables:
    """Return log parameters that were drawn for a graph over the table's variables; a share of them are zeros."""
    random = np.random.RandomState(9)
    tables = {}
    for v, of_v in enumerate(parents):
        values = random.gamma(1.0, size=[table.cards[u] for u in (v, *of_v)])
        values *= random.random_sample(values.shape) >= zeros
        values[0] += values.sum(axis=0) == 0
        with np.errstate(divide="ignore"):
            tables[table.names[v]] = ([table.names[p] for p in of_v], np.log(values / values.sum(axis=0)))
    return LogTables(table.names, table.states, tables, table.target)


def every_row(table: Table) -> CodeArray:
    """Return the codes of every row that there can be, with features known or missing."""
    rows = product(*([*range(card), table.missing] for card in table.cards))
    return np.array([row for row in rows if row[table.target_index] == 0]).T.astype(table.codes.dtype)


def _codes() -> IntArray:
    """Return codes of shape (variables, rows): every joint configuration once, then rows drawn with dependences."""
    random = np.random.RandomState(0)
    c = random.randint(0, 3, _N_DRAWN)
    x1 = random.random_sample(_N_DRAWN) < np.array([0.2, 0.5, 0.8])[c]
    x2 = np.where(random.random_sample(_N_DRAWN) < 0.6, (c + x1) % 3, random.randint(0, 3, _N_DRAWN))
    x3 = np.where(random.random_sample(_N_DRAWN) < 0.7, x2 == 2, c == 0)
    every = np.array(list(product(*map(range, _CARDS)))).T
    return np.hstack([every, [x1.astype(int), x2, c, x3.astype(int)]])


def _table(codes: IntArray, cards: Sequence[int] = _CARDS, label: Callable[[int], State] = str) -> Table:
    states = {name: [label(state) for state in range(card)] for name, card in zip(NAMES, cards, strict=True)}
    dtype = np.uint8 if max(cards) < 255 else np.uint16
    return Table(codes.astype(dtype), NAMES, states, NAMES[TARGET])
