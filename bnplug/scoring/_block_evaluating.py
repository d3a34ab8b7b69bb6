"""The evaluator of predictive scores where rows are in many blocks.

Candidates cost each block two calls, many at a time: one counts their tables, as far as these are not known, the
other sums the gain, given the counts of all blocks together. Counts, and gains of 0 or 1, are whole numbers: their sums
do not depend on the blocks.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from sklearn.utils import check_random_state

from bnplug.arrays import FloatArray, IntArray
from bnplug.contracts import Changes, Evaluator
from bnplug.counts._numbering import merge_occurring
from bnplug.data.blocks import Blocks
from bnplug.data.table import Table
from bnplug.scoring import _wide
from bnplug.scoring._block_rows import BlockRows
from bnplug.scoring._bundles import make_scratch
from bnplug.scoring._candidates import Candidates, FlatGraph
from bnplug.scoring._costs import FamilyCosts
from bnplug.scoring._kept_counts import KeptCounts, Key, Layout, Tables, in_groups
from bnplug.scoring._row_state import WORTH_TIDYING, Given, class_families, most_configurations
from bnplug.scoring._rows import FoldedRows, describe
from bnplug.scoring._state import REFRESH, checked, criterion_of

if TYPE_CHECKING:
    from bnplug.scoring.predictive import PredictiveScore

# Candidates go to the blocks together as long as their tables have no more cells than this, and no more of them
# than so many while one after the other is tried.
_CELLS_AT_ONCE = 1 << 21
_IN_TURN = 16

# What rounding may do to a sum over the blocks, relative to the largest that it can be.
_ROUNDING = 1e-9


class EvaluatorOfBlocks(Evaluator):
    """What evaluators by a :class:`~bnplug.scoring.PredictiveScore` have in common whose rows stay where they are.

    Parameters
    ----------
    score : PredictiveScore
    table : Table
    n_jobs : int, optional
        Threads that each block is worked on with. The result does not depend on it.
    """

    _graph: FlatGraph

    def __init__(self, score: PredictiveScore, table: Table, n_jobs: int | None = 1) -> None:
        self.score = score
        self.table = table
        self.n_jobs = n_jobs
        self.redraws = score.redraws
        self.random = None if score.random_state is None else check_random_state(score.random_state)
        self._costs = FamilyCosts(score, table)
        self._draw()

    @property
    def parents(self) -> list[tuple[int, ...]]:
        """The current graph: the parents of every variable."""
        return [self._graph.parents_of(v) for v in range(len(self.table.names))]

    def step(self) -> float:
        """Begin a step; a score that draws its folds anew does so, and scores the graph on them unless it keeps."""
        if self.redraws:
            kept = self.value
            self._draw()
            self._rebuild()
            if self.score.keeps:
                self.value = kept
        return self.value

    def propose(self, changes: Changes) -> float:
        """Return the score if `changes` were made."""
        return float(self.propose_many([changes])[0])

    def propose_many(self, candidates: Sequence[Changes], at_least: float | None = None) -> FloatArray:
        """Return the score of every candidate; one that is found to be below `at_least` may get ``-inf``."""
        return self._scored(candidates, np.full(len(candidates), -np.inf if at_least is None else float(at_least)))

    def propose_in_turn(self, candidates: Sequence[Changes], at_least: FloatArray) -> FloatArray:
        """Return the scores of candidates up to the first that is good enough, some at a time."""
        scores = np.empty(0)
        for low in range(0, len(candidates), _IN_TURN):
            least = np.asarray(at_least[low : low + _IN_TURN], dtype=np.float64)
            found = self._scored(candidates[low : low + _IN_TURN], least)
            reached = np.flatnonzero(found >= least)
            scores = np.append(scores, found[: reached[0] + 1] if len(reached) else found)
            if len(reached):
                break
        return scores

    @abstractmethod
    def _draw(self) -> None:
        """Draw the folds, and arrange the rows of every block by them."""

    @abstractmethod
    def _rebuild(self) -> float:
        """Make the log joint of the current graph anew; return its score."""

    @abstractmethod
    def _scored(self, candidates: Sequence[Changes], at_least: FloatArray) -> FloatArray:
        """Return the scores of candidates; ``-inf`` will do for one below its `at_least`."""


class BlockEvaluator(EvaluatorOfBlocks):
    """Scores the neighbours of a graph by a :class:`~bnplug.scoring.PredictiveScore`, on rows in many blocks."""

    takes_all = True
    _header: FoldedRows
    _blocks: Blocks

    def start(self, parents: Sequence[Iterable[int]]) -> float:
        """Make the log joint of a graph, term by term."""
        self._graph = FlatGraph.of([tuple(sorted(own)) for own in parents])
        self._penalty = self._costs.sum(self._graph)
        self._n_moves = 0
        return self._rebuild()

    def commit(self, changes: Changes) -> float:
        """Make `changes` to the log joint, and score it."""
        made = {v: tuple(sorted(own)) for v, own in changes.items()}
        changed = bool(Layout.of(self._header, self._graph, Candidates.of([made]), self._scratch).sizes[0])
        self._n_moves += 1
        again = self._n_moves % REFRESH == 0
        if not again:
            ((_, given),) = self._counted([made], self._graph) if changed else [(None, None)]
            self._blocks.change("move", made, given)
        for v, own in made.items():
            self._graph = self._graph.replace(v, own)
        self._penalty = self._costs.sum(self._graph)
        if again:
            return self._rebuild()
        if changed:
            self._is_tidy = False
            self._measure()
        self.value = self._gain - self._penalty
        return self.value

    def _draw(self) -> None:
        """Draw the folds, and arrange the rows of every block by them."""
        score, table = self.score, self.table
        fold, header = describe(table, score.folds(table, self.random), score.alpha, score.floor)
        self._widest = most_configurations(header, table.n_rows)
        criterion = criterion_of(score, table, header, address=0)
        arguments = header, type(score).gain, criterion, self._widest, self.n_jobs
        self._blocks = table.spawn(BlockRows, table.split(fold), *arguments)
        self._header = header._replace(tested_weight=float(self._blocks.sum("tested_weight")[0]))
        self._criterion = criterion_of(score, table, self._header, address=0)
        self._scratch = make_scratch(self._header, 1)
        self._kept = KeptCounts()

    def _rebuild(self) -> float:
        """Make the log joint of the current graph anew, family by family."""
        self._blocks.change("clear")
        families = class_families(self._graph, self.table.target_index)
        n_added = 0
        for chosen, given in self._counted(families, FlatGraph.without_families(len(self.table.names))):
            n_added += len(chosen)
            self._blocks.call("add", [families[i] for i in chosen], given, n_added == len(families))
        self._blocks.change("begin", self.parents)
        self._is_tidy = False
        self._measure()
        self.value = self._gain - self._penalty
        return self.value

    def _measure(self) -> None:
        """Sum the gain over the log joint as it is."""
        self._gain = checked(self.score, float(self._blocks.sum("gain")[0]) / self._criterion.divisor)

    def _scored(self, candidates: Sequence[Changes], at_least: FloatArray) -> FloatArray:
        """Return the scores of candidates; ``-inf`` will do for one below its `at_least`."""
        penalties = np.full(len(candidates), self._penalty)
        if self.score.penalized:
            penalties += [self._costs.change(self._graph, changes) for changes in candidates]
        scores = self._gain - penalties
        if not self._is_tidy and len(candidates) > WORTH_TIDYING * (len(self.table.names) + self._header.n_classes):
            self._blocks.change("tidy")
            self._is_tidy = True
        allowed = self._allowed(at_least + penalties)
        flat = Candidates.of(candidates)
        for chosen, given in self._counted(flat, self._graph):
            self.n_evaluations += len(chosen)
            (sums,) = self._blocks.sum("scores", _some(flat, chosen), given, allowed[chosen])
            scores[chosen] = sums / self._criterion.divisor - penalties[chosen]
        checked(self.score, float(scores.sum()))
        return scores

    def _allowed(self, least: FloatArray) -> FloatArray:
        """Return what rows may fall short of the largest value together, for a gain of at least so much."""
        if not self._criterion.droppable:
            return np.full(len(least), np.inf)
        most = self._criterion.maximum * self._header.tested_weight
        return most - least * self._criterion.divisor + _ROUNDING * max(1.0, abs(most))

    def _counted(self, candidates: Sequence[Changes], graph: FlatGraph) -> Iterator[tuple[IntArray, Given]]:
        """Yield the numbers of candidates that change a gain, as many as go together, and their counts."""
        flat = Candidates.of(candidates)
        layout = Layout.of(self._header, graph, flat, self._scratch)
        width = (self._header.n_folds + 1) * self._header.n_classes
        narrow = np.flatnonzero((layout.sizes > 0) & (layout.sizes <= self._widest))
        keys, cells = [layout.key(i) for i in narrow.tolist()], (layout.sizes[narrow] * width).astype(np.int64).tolist()
        for group in in_groups(cells, _CELLS_AT_ONCE):
            self._count(dict(zip(keys[group], cells[group], strict=True)))
            yield narrow[group], self._kept.given(keys[group])
        for i in np.flatnonzero(layout.sizes > self._widest):
            states = self._occurring(flat[int(i)], graph)
            (counts,) = self._blocks.sum("count_wide", flat[int(i)], states)
            yield np.array([i]), Given(counts, np.array([0, len(counts)]), states)

    def _count(self, cells: Mapping[Key, int]) -> None:
        """Count tables that have so many cells, unless they are known."""
        keys = self._kept.lacking(cells)
        if keys:
            tables = Tables.of(keys, [cells[own] for own in keys])
            (counts,) = self._blocks.sum("count", tables)
            self._kept.add(keys, counts, tables.places)

    def _occurring(self, changes: Changes, graph: FlatGraph) -> IntArray:
        """Return the configurations of a candidate that occur in some block, (features, size)."""
        features = _wide.features_of(self._header, graph, changes)
        return merge_occurring(self._blocks.each("occurring", features), self._header.sizes[features])[0]


def _some(candidates: Candidates, chosen: IntArray) -> Candidates:
    """Return some of the candidates."""
    if len(chosen) == len(candidates):
        return candidates
    if len(chosen) == chosen[-1] + 1 - chosen[0]:
        return candidates[int(chosen[0]) : int(chosen[-1]) + 1]
    return Candidates.of([candidates[int(i)] for i in chosen])
