"""The evaluator of predictive scores where rows are in many blocks.

A candidate costs each block two calls, many candidates at a time: one counts their tables, the other sums the gain.
In between, the counts of all blocks together say what each adds to the log joint. Counts, and gains of 0 or 1, are
whole numbers: their sums do not depend on the blocks.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from math import prod
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from sklearn.utils import check_random_state

from bnplug.arrays import FloatArray, IntArray
from bnplug.compiling import kernel
from bnplug.contracts import Changes, Evaluator
from bnplug.counts._numbering import number_occurring
from bnplug.data.blocks import Blocks
from bnplug.data.table import Table
from bnplug.scoring import _deltas, _wide
from bnplug.scoring._block_rows import BlockRows, Layout, Terms
from bnplug.scoring._candidates import FlatGraph
from bnplug.scoring._costs import FamilyCosts
from bnplug.scoring._rows import FoldedRows, describe
from bnplug.scoring._state import _FEWEST_CELLS, _MOST_CELLS, _REFRESH, _criterion, checked

if TYPE_CHECKING:
    from bnplug.scoring.predictive import PredictiveScore

# Candidates go to the blocks together as long as their tables have no more cells than this, and no more of them
# than so many while one after the other is tried.
_CELLS_AT_ONCE = 1 << 22
_IN_TURN = 16


class _Slot(NamedTuple):
    """A family that a candidate takes out (sign -1) or puts in (1)."""

    node: int
    parents: tuple[int, ...]
    sign: int


class _Candidate(NamedTuple):
    """What is to be found out of a candidate: its families that can change a gain, and its table."""

    slots: list[_Slot]
    layout: Layout


class BlockEvaluator(Evaluator):
    """Scores the neighbours of a graph by a :class:`~bnplug.scoring.PredictiveScore`, on rows in many blocks.

    Parameters
    ----------
    score : PredictiveScore
    table : Table
    n_jobs : int, optional
        Threads that each block is worked on with. The result does not depend on it.
    """

    _header: FoldedRows
    _blocks: Blocks
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

    def start(self, parents: Sequence[Iterable[int]]) -> float:
        """Make the log joint of a graph, term by term."""
        self._graph = FlatGraph.of([tuple(sorted(own)) for own in parents])
        self._penalty = self._costs.sum(self._graph)
        self._n_moves = 0
        return self._rebuild()

    def step(self) -> float:
        """Begin a step; a score that draws its folds anew does so, and the graph is scored on them."""
        if self.redraws:
            self._draw()
            self._rebuild()
        return self.value

    def propose(self, changes: Changes) -> float:
        """Return the score if `changes` were made."""
        return float(self.propose_many([changes])[0])

    def propose_many(self, candidates: Sequence[Changes], at_least: float | None = None) -> FloatArray:
        """Return the score of every candidate."""
        scores = np.array([self._gain - self._penalty_after(changes) for changes in candidates], dtype=np.float64)
        plans = [self._plan(changes) for changes in candidates]
        changing = [(i, plan) for i, plan in enumerate(plans) if plan is not None]
        self.n_evaluations += len(changing)
        for group in self._groups(changing):
            terms = self._terms([plan for _, plan in group])
            gains = self._measure([plan.layout for _, plan in group], terms)
            for (i, _), gain in zip(group, gains, strict=True):
                scores[i] = gain - self._penalty_after(candidates[i])
        return scores

    def propose_in_turn(self, candidates: Sequence[Changes], at_least: FloatArray) -> FloatArray:
        """Return the scores of candidates up to the first that is good enough, some at a time."""
        scores = np.empty(0)
        for low in range(0, len(candidates), _IN_TURN):
            found = self.propose_many(candidates[low : low + _IN_TURN])
            reached = np.flatnonzero(found >= at_least[low : low + _IN_TURN])
            scores = np.append(scores, found[: reached[0] + 1] if len(reached) else found)
            if len(reached):
                break
        return scores

    def commit(self, changes: Changes) -> float:
        """Make `changes` to the log joint, and score it."""
        made = {v: tuple(sorted(own)) for v, own in changes.items()}
        plan = self._plan(made)
        self._n_moves += 1
        again = self._n_moves % _REFRESH == 0
        if plan is not None and not again:
            terms = self._terms([plan])
            self._gain = self._measure([plan.layout], terms)[0]
            self._blocks.call("add", [plan.layout], terms)
        for v, own in made.items():
            self._graph = self._graph.replace(v, own)
        self._penalty = self._costs.sum(self._graph)
        if again:
            return self._rebuild()
        self.value = self._gain - self._penalty
        return self.value

    def _draw(self) -> None:
        """Draw the folds, and arrange the rows of every block by them."""
        score, table = self.score, self.table
        fold, header = describe(table, score.folds(table, self.random), score.alpha, score.floor)
        known = _criterion(score, table, header, address=0)
        arguments = header, type(score).gain, known.params, known.maximum, self.n_jobs
        self._blocks = table.spawn(BlockRows, table.split(fold), *arguments)
        self._header = header._replace(tested_weight=float(sum(self._blocks.call("tested_weight"))))
        self._criterion = _criterion(score, table, self._header, address=0)
        cells = min(max(_FEWEST_CELLS, 2 * table.n_rows * header.n_classes), _MOST_CELLS)
        self._widest = max(1, cells // self._width)

    def _rebuild(self) -> float:
        """Make the log joint of the current graph anew, family by family."""
        self._blocks.call("clear")
        own = {v: self._graph.parents_of(v) for v in range(len(self.table.names))}
        target = self.table.target_index
        slots = [_Slot(v, parents, 1) for v, parents in own.items() if v == target or target in parents]
        for group in self._groups([(slot.node, self._lay([slot])) for slot in slots]):
            plans = [plan for _, plan in group]
            self._blocks.call("add", [plan.layout for plan in plans], self._terms(plans))
        nothing = self._lay([])
        self._gain = self._measure([nothing.layout], self._terms([nothing]))[0]
        self.value = self._gain - self._penalty
        return self.value

    def _penalty_after(self, changes: Changes) -> float:
        return self._penalty + self._costs.change(self._graph, changes)

    @property
    def _width(self) -> int:
        """How many cells a configuration has in a table of counts."""
        return (self._header.n_folds + 1) * self._header.n_classes

    def _plan(self, changes: Changes) -> _Candidate | None:
        """Return what is to be found out of a candidate; None where no gain changes."""
        slots = [_Slot(*own) for own in _wide.families(self._header, self._graph, changes)]
        return self._lay(slots) if slots else None

    def _lay(self, slots: list[_Slot]) -> _Candidate:
        features = {v for slot in slots for v in (slot.node, *slot.parents)} - {self._header.target}
        chosen = np.array(sorted(features), dtype=np.int64)
        size = prod(int(self._header.sizes[v]) for v in chosen)
        if size <= self._widest:
            return _Candidate(slots, Layout(chosen, size, None))
        every = np.concatenate(self._blocks.call("occurring", chosen), axis=1)
        _, examples = number_occurring(every, self._header.sizes[chosen], range(len(chosen)))
        return _Candidate(slots, Layout(chosen, len(examples), every[:, examples]))

    def _groups(self, plans: list[tuple[int, _Candidate]]) -> Iterator[list[tuple[int, _Candidate]]]:
        """Yield candidates that are counted in one call."""
        group: list[tuple[int, _Candidate]] = []
        cells = 0
        for plan in plans:
            cells += plan[1].layout.size * self._width
            if group and cells > _CELLS_AT_ONCE:
                yield group
                group, cells = [], plan[1].layout.size * self._width
            group.append(plan)
        if group:
            yield group

    def _terms(self, plans: Sequence[_Candidate]) -> list[Terms]:
        """Return what candidates add to the log joint, from the counts of all blocks."""
        total = self._blocks.sum("count", [plan.layout for plan in plans])
        return [_make_terms(self._header, plan, counts) for plan, counts in zip(plans, total, strict=True)]

    def _measure(self, layouts: Sequence[Layout], terms: Sequence[Terms]) -> list[float]:
        """Return the gain under each candidate."""
        short = np.zeros(len(layouts))
        for own in self._blocks.call("shortfalls", layouts, terms):
            short += own
        gains = (self._criterion.maximum * self._header.tested_weight - short) / self._criterion.divisor
        checked(self.score, float(gains.sum()))
        return [float(gain) for gain in gains]


def _make_terms(header: FoldedRows, plan: _Candidate, counts: IntArray) -> Terms:
    """Return what a candidate adds to the log joint, from its counts in all rows."""
    slots, layout = plan
    cells = layout.size * header.n_classes
    terms = np.zeros(header.n_folds * cells)
    zeros = np.zeros(0 if header.finite else header.n_folds * cells, dtype=np.int16)
    codes = layout.states if layout.states is not None else _every(header.sizes[layout.features])
    for node, parents, sign in slots:
        place, columns = _wide.place_family(header, layout.features, codes, node, np.array(parents, dtype=np.int64))
        width = (columns if node == header.target else int(header.cards[node]) * columns) * header.n_classes
        prior = header.alpha / (float(header.cards[node]) * prod(float(header.cards[p]) for p in parents))
        _add_family(
            counts, place, cells, width, columns * header.n_classes, header.n_folds, header.n_classes,
            header.resubstitution, header.unit, prior, header.floor, int(header.cards[node]), node == header.target,
            sign, np.empty((header.n_folds + 1) * width, dtype=np.int64), np.empty(header.n_folds * width),
            np.empty(columns * header.n_classes), terms, zeros,
        )  # fmt: skip
    return Terms(terms, zeros)


def _every(sizes: IntArray) -> IntArray:
    """The codes of all configurations, (features, configurations), in C order."""
    return np.indices(tuple(sizes.tolist())).reshape(len(sizes), int(sizes.prod()))


@kernel(allocates=False)
def _add_family(  # type: ignore[no-untyped-def]
    counts, place, cells, width, stride, n_folds, n_classes, resubstitution, unit, prior, floor, states, over_classes,
    sign, own, logs, sums, terms, zeros,
):  # fmt: skip
    """Add the log parameters of a family to what a candidate adds; the arrays are those of the functions called."""
    _deltas.find_logs(counts, place, cells, width, n_folds, resubstitution, unit, prior, own, logs)
    _deltas.take_logs(logs, n_folds, width, stride, n_classes, states, floor, over_classes, sums)
    _deltas.add_logs(logs, width, place, cells, n_folds, sign, terms, zeros)
