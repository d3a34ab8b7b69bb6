"""Selective KDB (Martinez et al. 2016): as many features and parents as are best for rows that are left out.

Features come by falling I(X; C), each with the earlier ones of the largest I(Xi; Xj | C) as parents, as in KDB. The
structure with the first n features, each with its first k parents, is a part of the largest one, so that its counts are
known. One pass over the rows leaves out each in turn, whose counts are one less, and adds up the loss of all n and k.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from bnplug import Structure, StructureLearner, structure_learner
from bnplug.compiling import kernel, run_in_threads
from bnplug.counts.counting import Configurations, configurations, count_occurring
from bnplug.counts.information import Correction, by_falling, pairwise_information
from bnplug.table.block_table import missing_as_state
from bnplug.table.table import Table
from bnplug.typing import FloatArray, IntArray

if TYPE_CHECKING:
    from bnplug import Structure

#: The losses of a row, by name: what the kernel knows them by.
LOSSES = {"rmse": 0, "log": 1, "error": 2}

_MOST_PARENTS = 5
# Losses that differ by no more, relative to the least, are tied: the fewest parents, then the fewest features win.
_TIE = 1e-9
_CLASSES_TIE = 1e-9


class SelectiveKDependence(StructureLearner):
    """KDB whose number of parents and of features is chosen by leaving out each row in turn.

    Estimates are the paper's, (n + 1 / states) / (N + 1), without the row that is left out. Weights are divided by
    their mean, so multiplying all weights by a constant changes nothing. Leaving out a row removes its whole weight.
    Features that are not selected have no edges. During selection, missing is one more state of a parent, and a
    missing feature contributes nothing.

    Parameters
    ----------
    k : int
        The most feature parents of a feature, at most 5; fewer are chosen where they are better.
    loss : {"rmse", "log", "error"}
        Of a row that is left out: the squared 1 - P(its class), -log P(its class), or whether another class wins.
    select : bool
        Whether to choose the features too, or the number of parents alone.
    n_jobs : int, optional
        Threads. The result does not depend on it.
    correction : float, "expected" or None
        As in ``kdb``: subtract from each information measure a quantile of the chance distribution, the value
        expected by chance (``"expected"``), or nothing (None, as published).

    Attributes
    ----------
    order_ : list of str
        The features that were chosen, by falling I(X; C).
    k_ : int
        The number of parents that was chosen.
    losses_ : float64 array of shape (k + 1, features + 1)
        The mean loss with each number of parents and of the first features; with 0 features it is that of the prior.

    Examples
    --------
    >>> import pandas as pd
    >>> from bnplug.datasets import monks
    >>> X, y = monks(1)
    >>> table = Table.from_frame(X.assign(c=y), "c")
    >>> learner = SelectiveKDependence(k=3)
    >>> edges = learner.learn(table).edges
    >>> learner.k_, sorted(learner.order_)
    (1, ['a1', 'a2', 'a5'])
    """

    relative_weights = True

    def __init__(
        self,
        k: int = 5,
        loss: str = "rmse",
        select: bool = True,
        n_jobs: int | None = None,
        correction: Correction = 0.999,
    ) -> None:
        self.k = k
        self.loss = loss
        self.select = select
        self.n_jobs = n_jobs
        self.correction = correction

    def learn(self, table: Table) -> Structure:
        """Return the structure of the least loss."""
        self._check()
        order, parents = self._largest(table.with_relative_weights(by_class=True))
        table = table.with_relative_weights()
        search = _LeftOut(table, LOSSES[self.loss])
        losses = run_in_threads(lambda k: search.losses(order, parents, k), range(self.k + 1), n_jobs=self.n_jobs)
        self.losses_ = np.array(losses) / table.total_weight
        self.k_, n_features = self._best(self.losses_)
        self.order_ = [table.names[v] for v in order[:n_features]]
        kept: list[list[int]] = [[] for _ in table.names]
        for v in order[:n_features]:
            kept[v] = [table.target_index, *parents[v][: self.k_]]
        return Structure(table.names, kept)

    def _largest(self, table: Table) -> tuple[list[int], dict[int, list[int]]]:
        """Return KDB's order of the features, and the parents of each, the most informative first."""
        kdb = structure_learner("kdb", k=self.k, n_jobs=self.n_jobs, correction=self.correction)
        families = Structure.of(kdb.learn(table), table).parents
        between = pairwise_information(table, self.n_jobs, self.correction)
        order = [table.index(name) for name in kdb.order_]
        return order, {v: by_falling(between[v], [p for p in families[v] if p != table.target_index]) for v in order}

    def _best(self, losses: FloatArray) -> tuple[int, int]:
        """Return the number of parents and of features of the least loss; of tied ones the least."""
        able = losses if self.select else losses[:, -1:]
        k, place = divmod(int(np.argmax(able <= able.min() * (1.0 + _TIE))), able.shape[1])
        return k, place if self.select else losses.shape[1] - 1

    def _check(self) -> None:
        if isinstance(self.k, bool) or not isinstance(self.k, int | np.integer) or not 0 <= self.k <= _MOST_PARENTS:
            raise ValueError(f"k={self.k!r}: the most feature parents are a whole number from 0 to {_MOST_PARENTS}")
        if self.loss not in LOSSES:
            raise ValueError(f"loss={self.loss!r} is not one of {sorted(LOSSES)}")
        if not isinstance(self.select, bool):
            raise ValueError(f"select={self.select!r} must be True or False")


class _LeftOut:
    """The losses of rows that are left out in turn.

    Rows may be in many blocks: each has the log joint of its rows, and receives the counts of all.
    """

    def __init__(self, table: Table, loss: int) -> None:
        self._cards = table.cards
        self._rows = missing_as_state(table)
        self._loss = loss
        self._prior = table.counts([[table.target_index]])[0]

    def losses(self, order: list[int], parents: dict[int, list[int]], k: int) -> FloatArray:
        """Return the sum of the losses with the first 0, 1, 2, ... features, each with its first k parents."""
        blocks = self._rows.spawn(_RowsLeftOut, self._prior, self._loss)
        losses = blocks.sum("loss")
        for v in order:
            blocks.call("add", self._term(v, parents[v][:k]))
            losses += blocks.sum("loss")
        return np.array(losses)

    def _term(self, v: int, parents: list[int]) -> _Term:
        rows, states = self._rows, int(self._cards[v])
        counts, cells = count_occurring(rows, rows.target_index, [*parents, v])
        counts = np.ascontiguousarray(counts.T)
        # Cells with the same parents are neighbours.
        if cells.states is None:
            code, group = (np.arange(cells.size) % rows.cards[v]), np.arange(cells.size) // rows.cards[v]
        else:
            code, given = cells.states[:, -1], cells.states[:, :-1]
            group = np.cumsum(np.concatenate([[False], (given[1:] != given[:-1]).any(axis=1)]))
        known = code < states
        totals = np.zeros((int(group[-1]) + 1, counts.shape[1]))
        np.add.at(totals, group[known], counts[known])
        # The blocks number their own rows.
        numbering = Configurations(np.empty(0, dtype=np.int64), cells.size, cells.states)
        return _Term((*parents, v), states, numbering, counts, totals, group)


@dataclass(frozen=True)
class _Term:
    """What a feature adds to the log joint.

    Attributes
    ----------
    variables : tuple of int
        The feature's parents and itself.
    states : int
        Of the feature; the code that is one above is missing, and adds nothing.
    cells : Configurations
        How the joint states of the variables are numbered.
    counts : float64 array of shape (cells, classes)
    totals : float64 array of shape (groups, classes)
        Over the states of the feature.
    group : int64 array of shape (cells,)
        Which of the totals is that of a cell.
    """

    variables: tuple[int, ...]
    states: int
    cells: Configurations
    counts: FloatArray
    totals: FloatArray
    group: IntArray


class _RowsLeftOut:
    """The rows of a block, with the log joint of each by estimates without it."""

    def __init__(self, block: Table, prior: FloatArray, loss: int) -> None:
        self._block = block
        self._loss = loss
        self._weights = np.ones(block.n_rows) if block.weights is None else block.weights
        self._y = block.codes[block.target_index].astype(np.int64)
        self._joint = self._of_classes(prior)

    def _of_classes(self, counts: FloatArray) -> FloatArray:
        """Return log P(class) for every row and class, (n + 1/|C|) / (N + 1), the row left out."""
        joint = np.tile(counts, (len(self._y), 1))
        joint[np.arange(len(self._y)), self._y] -= self._weights
        total = np.maximum(counts.sum() - self._weights, 0.0)
        return np.asarray(np.log(np.maximum(joint, 0.0) + 1.0 / len(counts)) - np.log(total + 1.0)[:, None])

    def loss(self) -> list[float]:
        """Return the sum of the losses."""
        return [_add_up(self._joint, self._y, self._weights, self._loss)]

    def add(self, term: _Term) -> None:
        """Add a feature to the log joint, given every class and its parents."""
        cells = configurations(self._block, term.variables, like=term.cells).index
        cells[self._block.codes[term.variables[-1]] >= term.states] = -1
        _add_term(cells, term.group, term.counts, term.totals, 1.0 / term.states, self._y, self._weights, self._joint)


@kernel
def _add_term(cells, group, counts, totals, share, y, weights, joint):  # type: ignore[no-untyped-def]
    """joint[m, c] += log of (n + share) / (N + 1), n and N without row m where c is its class.

    cells : int64 (rows,), of the value with its parents; -1 where the value is missing. group : int64 (cells,).
    counts : float64 (cells, classes). totals : float64 (groups, classes). y : int64 (rows,). weights : float64 (rows,).
    joint : float64 (rows, classes).
    """
    for m in range(joint.shape[0]):
        if cells[m] < 0:
            continue
        for c in range(joint.shape[1]):
            left_out = weights[m] if c == y[m] else 0.0
            n = max(counts[cells[m], c] - left_out, 0.0)
            total = max(totals[group[cells[m]], c] - left_out, 0.0)
            joint[m, c] += np.log((n + share) / (total + 1.0))


@kernel
def _add_up(joint, y, weights, loss):  # type: ignore[no-untyped-def]
    """The weighted sum over the rows of a loss: 0 the squared 1 - P(class), 1 -log P(class), 2 another class wins."""
    result = 0.0
    for m in range(joint.shape[0]):
        largest = joint[m, 0]
        for c in range(1, joint.shape[1]):
            largest = max(largest, joint[m, c])
        if loss == 2:
            winner = 0
            while joint[m, winner] < largest - _CLASSES_TIE:
                winner += 1
            result += weights[m] if winner != y[m] else 0.0
            continue
        total = 0.0
        for c in range(joint.shape[1]):
            total += np.exp(joint[m, c] - largest)
        below = joint[m, y[m]] - largest
        if loss == 1:
            result += weights[m] * (np.log(total) - below)
        else:
            away = 1.0 - np.exp(below) / total
            result += weights[m] * away * away
    return result
