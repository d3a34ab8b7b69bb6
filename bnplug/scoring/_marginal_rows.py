"""The rows of a block that have a class, with their missing cells, and their marginal log joints under a graph."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from bnplug.arrays import BoolArray, FloatArray, IntArray
from bnplug.compiling import run_in_threads
from bnplug.data.table import Table
from bnplug.inference._groups import Network, network_of
from bnplug.inference.marginals import Marginalizer
from bnplug.model.log_tables import LogTables
from bnplug.scoring._compiled_gains import evaluate
from bnplug.scoring._marginal_joint import fill_changed, fill_whole, make_scratch
from bnplug.scoring.gains import Gain

#: Variables with other parents than now, ascending, and the log parameters ``[fold, state, *parents]`` of each.
Families = dict[int, tuple[tuple[int, ...], FloatArray]]


class Rule(NamedTuple):
    """How rows are scored: the gain, its numbers, and whether no probability can be zero."""

    gain: Gain
    params: FloatArray
    finite: bool


class MarginalRows:
    """The tested rows of a block.

    Parameters
    ----------
    block : Table
    folds : int64 array of shape (rows,)
        The fold of each row, negative for one that is not tested.
    rule : Rule
    n_jobs : int, optional
        Threads. The result does not depend on it.
    """

    def __init__(self, block: Table, folds: IntArray, rule: Rule, n_jobs: int | None) -> None:
        tested = folds >= 0
        self.block = block.take(tested)
        self.codes = np.ascontiguousarray(self.block.codes.T)
        self.folds = np.ascontiguousarray(folds[tested])
        self.labels = self.block.codes[block.target_index].astype(np.int64)
        self.rule, self.n_jobs = rule, n_jobs
        self.families: Families = {}

    def start(self, families: Families) -> None:
        """Make a graph the current one, by the families of all variables."""
        self.families = dict(sorted(families.items()))
        self.parents = [own for own, _ in self.families.values()]
        sizes = [logs.size for _, logs in self.families.values()]
        self.network = self._network(self.parents, np.cumsum([0, *sizes[:-1]]).tolist())
        self.values = np.concatenate([logs.ravel() for _, logs in self.families.values()])
        self.joint = self._whole(self.families, self.network, self.values)

    def gain(self) -> list[float]:
        """Return the sum of the gain over the rows."""
        return [self._sum(self.joint)]

    def scores(self, candidates: Sequence[Families]) -> list[FloatArray]:
        """Return the sum of the gain over the rows for each candidate."""
        return [np.array(run_in_threads(self._score, candidates, n_jobs=self.n_jobs), dtype=np.float64)]

    def _score(self, changes: Families) -> float:
        return self._sum(self.joint if not changes else self._changed(changes))

    def _sum(self, joint: FloatArray) -> float:
        gains = evaluate(self.rule.gain, joint, self.labels, self.rule.params)
        return float(gains.sum() if self.block.weights is None else self.block.weights @ gains)

    def _network(self, parents: Sequence[tuple[int, ...]], starts: Sequence[int]) -> Network:
        return network_of(parents, self.block.cards, starts)

    def _whole(self, families: Families, network: Network, values: FloatArray) -> FloatArray:
        """Return the log joints under a network, row by row."""
        joint, wide = self._room()
        fill_whole(*self._data(), network, values, self._scratch(), joint, wide)
        return self._with_wide(families, joint, wide)

    def _changed(self, changes: Families) -> FloatArray:
        """Return the log joints with other families for some variables."""
        families = self.families | changes
        parents, starts, place = [own for own, _ in families.values()], self.network.starts.tolist(), len(self.values)
        for v, (_, logs) in changes.items():
            starts[v] = place
            place += logs.size
        new, added = self._network(parents, starts), np.concatenate([logs.ravel() for _, logs in changes.values()])
        if not self.rule.finite:  # what is infinite cannot be taken out of a sum
            return self._whole(families, new, np.concatenate([self.values, added]))
        joint, wide = self._room()
        nodes = np.array(list(changes), dtype=np.int64)
        now = self.network, self.values
        fill_changed(*self._data(), *now, new, added, nodes, self._scratch(), self.joint, joint, wide)
        return self._with_wide(families, joint, wide)

    def _data(self) -> tuple[object, ...]:
        block = self.block
        return self.codes, block.missing, self.folds, block.cards, block.target_index

    def _room(self) -> tuple[FloatArray, BoolArray]:
        n = len(self.codes)
        return np.empty((n, int(self.block.cards[self.block.target_index]))), np.zeros(n, dtype=np.bool_)

    def _scratch(self) -> object:
        return make_scratch(len(self.block.names), int(self.block.cards[self.block.target_index]))

    def _with_wide(self, families: Families, joint: FloatArray, wide: BoolArray) -> FloatArray:
        """Have the engine answer for rows whose missing cells have too many joint states."""
        names = self.block.names
        for fold in np.unique(self.folds[wide]).tolist():
            rows = np.flatnonzero(wide & (self.folds == fold))
            tables = {names[v]: ([names[p] for p in own], logs[fold]) for v, (own, logs) in families.items()}
            network = LogTables(names, self.block.states, tables, self.block.target)
            joint[rows] = Marginalizer(network, self.block.target).log_joint(self.block.codes[:, rows])
        return joint
