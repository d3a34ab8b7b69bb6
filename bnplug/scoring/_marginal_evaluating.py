"""The evaluator of predictive scores on incomplete rows: by their marginal log joints.

A graph's parameters are estimated from the counts that the network so far expects; what rows lack is then summed out of
the graph's own log joint. With folds, a row is tested with what is expected of the rows outside its fold; rows without
a class train in every fold.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from bnplug.arrays import FloatArray
from bnplug.contracts import Changes
from bnplug.model.log_tables import estimate
from bnplug.scoring._block_evaluating import EvaluatorOfBlocks
from bnplug.scoring._candidates import FlatGraph
from bnplug.scoring._marginal_rows import Families, MarginalRows, Rule
from bnplug.scoring._rows import describe
from bnplug.scoring._state import checked

if TYPE_CHECKING:
    from bnplug.inference.expected_table import ExpectedTable
    from bnplug.scoring.predictive import PredictiveScore

# Families of candidates are counted together as long as they have no more cells, and all that were are kept up to so
# many. A family that alone has more than the first is not looked at.
_CELLS_AT_ONCE, _CELLS_KEPT = 1 << 22, 1 << 24

_Family = tuple[int, tuple[int, ...]]


class MarginalEvaluator(EvaluatorOfBlocks):
    """Scores the neighbours of a graph by a :class:`~bnplug.scoring.PredictiveScore`, on rows with missing cells.

    Parameters
    ----------
    score : PredictiveScore
    table : ExpectedTable
    n_jobs : int, optional
        Threads that score candidates. The result does not depend on it.
    """

    table: ExpectedTable

    def __init__(self, score: PredictiveScore, table: ExpectedTable, n_jobs: int | None = 1) -> None:
        self._rule = Rule(type(score).gain, score._numbers(table), score.alpha > 0 or score.floor > 0)
        super().__init__(score, table, n_jobs)

    def start(self, parents: Sequence[Iterable[int]]) -> float:
        """Make the log joint of a graph."""
        self._graph = FlatGraph.of([tuple(sorted(own)) for own in parents])
        return self._rebuild()

    def commit(self, changes: Changes) -> float:
        """Make `changes`, and the log joint anew."""
        for v, own in changes.items():
            self._graph = self._graph.replace(v, tuple(sorted(own)))
        return self._rebuild()

    def _scored(self, candidates: Sequence[Changes], at_least: FloatArray) -> FloatArray:
        """Return the scores of candidates, ``-inf`` for one with a family of millions of cells."""
        scores = np.full(len(candidates), -np.inf)
        for chosen in self._in_parts(candidates):
            changed = [self._families(candidates[i]) for i in chosen]
            (sums,) = self._rows.sum("scores", changed)
            costs = [self._penalty + self._costs.change(self._graph, candidates[i]) for i in chosen]
            scores[chosen] = sums / self._divisor - costs
            self.n_evaluations += len(chosen)
        checked(self.score, float(scores[~np.isneginf(scores)].sum()))
        return scores

    def _draw(self) -> None:
        """Draw the folds, and place the rows that are tested."""
        table, score = self.table, self.score
        folds = score.folds(table, self.random)
        number, header = describe(table, folds, score.alpha, score.floor)
        own = np.where(number < header.n_folds, number, -1)
        self._folds = None if folds is None else own
        holes = table.with_holes
        self._rows = holes.spawn(MarginalRows, holes.split(own), self._rule, self.n_jobs)
        self._divisor = holes.take(own >= 0).total_weight if score.aggregate == "mean" else 1.0
        self._logs: dict[_Family, FloatArray] = {}
        self._n_kept = 0

    def _rebuild(self) -> float:
        parents = self.parents
        self._learn(list(enumerate(parents)))
        self._rows.change("start", {v: (own, self._logs[v, own]) for v, own in enumerate(parents)})
        self._penalty = self._costs.sum(self._graph)
        (gain,) = self._rows.sum("gain")
        self.value = checked(self.score, float(gain) / self._divisor) - self._penalty
        return self.value

    def _in_parts(self, candidates: Sequence[Changes]) -> Iterator[list[int]]:
        """Yield the numbers of candidates whose new families are counted together, their log parameters known."""
        chosen: list[int] = []
        wanted: dict[_Family, int] = {}
        for i, changes in enumerate(candidates):
            own = {family: self._size(family) for family in _new(changes)}
            if max(own.values(), default=0) > _CELLS_AT_ONCE:
                continue
            if chosen and sum((wanted | own).values()) > _CELLS_AT_ONCE:
                self._learn(list(wanted))
                yield chosen
                chosen, wanted = [], {}
            chosen.append(i)
            wanted |= own
        if chosen:
            self._learn(list(wanted))
            yield chosen

    def _families(self, changes: Changes) -> Families:
        """Return the families that differ from those of now, with their log parameters."""
        new = [(v, own) for v, own in sorted(_new(changes)) if own != self._graph.parents_of(v)]
        return {v: (own, self._logs[v, own]) for v, own in new}

    def _size(self, family: _Family) -> int:
        n_folds = 1 if self._folds is None else int(self._folds.max()) + 2
        return n_folds * prod(int(self.table.cards[u]) for u in (family[0], *family[1]))

    def _learn(self, families: list[_Family]) -> None:
        """Estimate the log parameters of families that are not known, from expected counts, for each fold."""
        if self._n_kept > _CELLS_KEPT:
            current = {family: self._logs[family] for family in enumerate(self.parents) if family in self._logs}
            self._logs, self._n_kept = current, sum(own.size for own in current.values())
        new = [family for family in dict.fromkeys(families) if family not in self._logs]
        counts = self.table.counts([(v, *own) for v, own in new], self._folds)
        for family, own in zip(new, counts, strict=True):
            self._logs[family] = self._estimated(own)
            self._n_kept += self._logs[family].size

    def _estimated(self, counts: FloatArray) -> FloatArray:
        alpha, floor = self.score.alpha, self.score.floor
        training = [counts] if self._folds is None else [counts.sum(axis=0) - own for own in counts[:-1]]
        # A difference of expected counts may fall below 0 by rounding.
        return np.stack([estimate(np.maximum(own, 0.0), alpha, floor) for own in training])


def _new(changes: Changes) -> list[_Family]:
    return [(int(v), tuple(sorted(map(int, own)))) for v, own in changes.items()]
