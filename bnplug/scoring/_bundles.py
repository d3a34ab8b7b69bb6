"""Bundles of arrays that kernels take: the log joint, the criterion, candidates, their tables, and scratch space.

Counts over all blocks are cached by features as long as the folds stay the same: a step of a search changes one or two
families, and most of its neighbors need the same tables as before.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from bnplug.scoring import _passes
from bnplug.scoring._layout import Candidates, FlatGraph, FoldedRows
from bnplug.scoring._tables import lay_out
from bnplug.typing import CodeArray, FloatArray, IntArray

# Cells of log joints given to the gain at a time: they leave room in a first-level cache.
_BLOCK_CELLS = 2048

# Rows whose gaps are compared with thresholds before the undecided ones are examined: whole blocks.
_AT_ONCE = 16 * _passes.BLOCK_ROWS

# Log parameters of a family of the current graph are cached if it has at most this many, in all folds.
_MOST_LOGS = 1 << 12

# The largest number of cells that are cached; the least recently used tables are dropped.
_MOST_KEPT = 1 << 23

#: The features of a table in ascending order, as bytes.
Key = bytes

#: Outcome of a candidate: it changes no gain, or was not reached; it was scored; the scratch has no room for it.
PASSED_OVER, SCORED, TOO_WIDE = range(3)

#: Task for a candidate: score it; score the graph as it is; move there; move there by the table in the scratch; move
#: there, score it, and go back if the score is too low; go back.
SCORE, MEASURE, MOVE, MOVE_MADE, LEAP, GO_BACK = range(6)


class Joint(NamedTuple):
    """The log joint of every tested row under the current graph; `gap` to `highest` are empty without plateaus."""

    values: FloatArray  # (tested rows, classes): the sum of the finite terms
    zeros: npt.NDArray[np.int16]  # the number of terms that are -inf, which cannot be subtracted; (0, 0) if finite
    gap: npt.NDArray[np.float32]  # (tested rows,): that of the row's class minus the largest other; nan if all are -inf
    rival: CodeArray  # (tested rows,): that other class
    second_gap: npt.NDArray[np.float32]  # (tested rows,): minus the second largest other, or slightly less
    lowest: npt.NDArray[np.float32]  # (blocks,): the smallest gap of each block of rows of a segment
    highest: npt.NDArray[np.float32]  # (blocks,): the largest gap
    labels: IntArray  # (tested rows,): the classes; empty if there are gaps
    fill: int  # the address of `fill` of bnplug.scoring._passes; 0 if there are gaps


def empty_joint(rows: FoldedRows, gapped: bool) -> Joint:
    """Return the log joint of a graph without families."""
    shape = (rows.n_tested, rows.n_classes)
    n_gaps = rows.n_tested if gapped else 0
    lengths = np.diff(rows.bounds[: rows.n_folds * rows.n_classes + 1])
    classes = np.tile(np.arange(rows.n_classes), rows.n_folds)
    n_blocks = int((-(-lengths // _passes.BLOCK_ROWS)).sum()) if gapped else 0
    return Joint(
        values=np.zeros(shape),
        zeros=np.zeros((0, 0) if rows.finite else shape, dtype=np.int16),
        gap=np.empty(n_gaps, dtype=np.float32),
        rival=np.empty(n_gaps, dtype=np.min_scalar_type(rows.n_classes)),
        second_gap=np.empty(n_gaps, dtype=np.float32),
        lowest=np.empty(n_blocks, dtype=np.float32),
        highest=np.empty(n_blocks, dtype=np.float32),
        labels=np.repeat(classes, 0 if gapped else lengths),
        fill=0 if gapped else _passes.fill_address(),
    )


def block_ends(rows: FoldedRows, gap: npt.NDArray[np.float32]) -> dict[str, Any]:
    """Return `lowest` and `highest` of a Joint."""
    starts = [m for low, high in rows.segments() for m in range(low, high, _passes.BLOCK_ROWS)]
    return {"lowest": np.minimum.reduceat(gap, starts), "highest": np.maximum.reduceat(gap, starts)}


class Criterion(NamedTuple):
    """A gain, its bounds (see :class:`~bnplug.scoring.Bounds`), and how its values become a score."""

    gain: int  # the address of the compiled function
    params: FloatArray
    maximum: float  # 0 unless droppable
    high_gap: float  # nan: never reached, as low_gap
    low_gap: float
    low_value: float
    slope: float  # nan: not linear
    droppable: bool  # whether `maximum` bounds the score: a candidate can be dropped in the middle of its pass
    divisor: float  # divides the weighted sum of the values, in units
    whole: bool


class Batch(NamedTuple):
    """Candidates that are scored together; the first four arrays are those of :class:`~bnplug.scoring.Candidates`."""

    starts: IntArray
    nodes: IntArray
    bounds: IntArray
    parents: IntArray
    penalties: FloatArray  # (candidates,): the penalty of the graph that each leads to
    at_least: FloatArray  # (candidates,): a lower score may be -inf
    scores: FloatArray  # (candidates,): output; initialized with the scores if no gain changes
    tasks: npt.NDArray[np.uint8]  # (candidates,): SCORE, MEASURE, ...
    status: npt.NDArray[np.uint8]  # (candidates,): output; initialized with PASSED_OVER
    counts: IntArray  # the tables of all candidates if they were counted over several blocks, else empty
    places: IntArray  # (candidates + 1,): where the table of each begins


class Scratch(NamedTuple):
    """Buffers for scoring one candidate after another. A table is flat, ``[fold, configuration, class]``."""

    limit: int  # the largest number of configurations
    configuration: npt.NDArray[np.uint32]  # (rows,)
    counts: IntArray  # a table, with one more fold for rows that are never tested
    terms: FloatArray  # a table
    zeros: npt.NDArray[np.int16]  # a table; empty if no probability can be zero
    place: IntArray  # see find_logs; if only occurring configurations are numbered, the places of each slot in turn
    columns: IntArray  # in that case, the number of parent configurations of each slot; else empty
    slots: IntArray  # of a candidate
    family: IntArray  # the parents of a slot
    features: IntArray  # of a candidate
    family_counts: IntArray  # see find_logs
    logs: FloatArray  # the log parameters of a family
    sums: FloatArray  # see take_logs
    high: npt.NDArray[np.float32]  # see find_thresholds, as low and ends
    low: npt.NDArray[np.float32]
    ends: npt.NDArray[np.float32]
    pending: npt.NDArray[np.uint32]  # rows that their gap does not decide
    n_pending: IntArray  # (1,)
    joint: FloatArray  # (block, classes): new log joints on their way to the gain
    labels: IntArray  # (block,): their classes
    weights: FloatArray  # (block,): their weights; empty if every row counts once
    values: FloatArray  # (block,): their values, nan before
    by_class: FloatArray  # (classes + 4, rows of a block): see add_table
    known: npt.NDArray[np.bool_]  # (variables,): whether the log parameters of the current family are in `kept`
    kept: FloatArray  # (variables, most numbers of a family)
    short: FloatArray  # (1,): see collect_undecided
    last: IntArray  # the last candidate; the one whose table is here, or -1; its numbers of configurations, features


def make_scratch(rows: FoldedRows, limit: int) -> Scratch:
    """Return a Scratch for these rows, and for candidates of up to `limit` configurations."""
    block = max(1, _BLOCK_CELLS // rows.n_classes)
    n, n_segments = len(rows.cards), rows.n_folds * rows.n_classes
    return Scratch(
        **_room(rows, limit),
        configuration=np.empty(rows.codes.shape[1], dtype=np.uint32),
        columns=np.empty(0, dtype=np.int64),
        slots=np.empty(2 * n, dtype=np.int64),
        family=np.empty(n, dtype=np.int64),
        features=np.empty(n, dtype=np.int64),
        ends=np.empty(2 * n_segments, dtype=np.float32),
        pending=np.empty(min(_AT_ONCE, max(1, rows.n_tested)), dtype=np.uint32),
        n_pending=np.zeros(1, dtype=np.int64),
        joint=np.empty((block, rows.n_classes)),
        labels=np.empty(block, dtype=np.int64),
        weights=np.empty(0 if len(rows.weights) == 0 else block),
        values=np.full(block, np.nan),
        by_class=np.full((rows.n_classes + 4, _passes.BLOCK_ROWS), -np.inf),
        known=np.zeros(n, dtype=np.bool_),
        kept=np.empty((n, min(_MOST_LOGS, max(512, n_segments * 64)))),
        short=np.zeros(1),
        last=np.zeros(4, dtype=np.int64),
    )


def with_room(scratch: Scratch, rows: FoldedRows, limit: int) -> Scratch:
    """Return a Scratch that shares the arrays of another, with new ones for `limit` configurations."""
    return scratch._replace(**_room(rows, limit))


def _room(rows: FoldedRows, limit: int) -> dict[str, Any]:
    cells = limit * rows.n_classes
    return {
        "limit": limit,
        "counts": np.empty((rows.n_folds + 1) * cells, dtype=np.int64),
        "terms": np.empty(rows.n_folds * cells),
        "zeros": np.empty(0 if rows.finite else rows.n_folds * cells, dtype=np.int16),
        "place": np.empty(cells, dtype=np.int64),
        "family_counts": np.empty((rows.n_folds + 1) * cells, dtype=np.int64),
        "logs": np.empty(rows.n_folds * cells),
        "sums": np.empty(rows.n_folds * cells),
        "high": np.empty(rows.n_folds * cells, dtype=np.float32),
        "low": np.empty(rows.n_folds * cells, dtype=np.float32),
    }


class Given(NamedTuple):
    """The tables of candidates, counted over all blocks."""

    counts: IntArray  # [fold, configuration, class] of one candidate after the other
    places: IntArray  # (candidates + 1,): where those of each begin
    # (features, configurations): those that occur, for a single candidate with too many to number them all.
    states: IntArray | None = None

    def one(self, i: int) -> Given:
        """Return the table of candidate i."""
        if not len(self.places):
            return self
        first, last = self.places[i], self.places[i + 1]
        return Given(self.counts[first:last], np.array([0, last - first]), self.states)

    def writable(self) -> Given:
        """Return arrays of the types that kernels are compiled for; arrays from other processes may be read-only."""
        return Given(_writable(self.counts), _writable(self.places), self.states)


#: There is one block, which counts by itself.
NOT_GIVEN = Given(np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64))


class Layout(NamedTuple):
    """The tables of candidates."""

    sizes: FloatArray  # (candidates,): the number of configurations, 0 if no gain changes
    features: IntArray  # of one candidate after the other, each ascending
    ends: IntArray  # (candidates + 1,): those of candidate i are features[ends[i]:ends[i + 1]]

    @classmethod
    def of(cls, header: FoldedRows, graph: FlatGraph, candidates: Candidates, scratch: Scratch) -> Layout:
        """Return the tables of candidates from a graph."""
        arrays = candidates.starts, candidates.nodes, candidates.bounds, candidates.parents
        most = np.maximum(graph.n_parents[candidates.nodes], 0) + np.diff(candidates.bounds) + 1
        features = np.empty(int(most.sum()), dtype=np.int64)
        layout = cls(np.zeros(len(candidates)), features, np.zeros(len(candidates) + 1, dtype=np.int64))
        lay_out(header, graph, *arrays, scratch, *layout)
        return layout

    def key(self, i: int) -> Key:
        """Return the key of a candidate's table."""
        return self.features[self.ends[i] : self.ends[i + 1]].tobytes()


class Tables(NamedTuple):
    """Tables to count: see `count_tables`."""

    features: IntArray
    ends: IntArray  # (tables + 1,): the features of table i are features[ends[i]:ends[i + 1]]
    places: IntArray  # (tables + 1,): where its counts begin

    @classmethod
    def of(cls, keys: Sequence[Key], cells: Sequence[int]) -> Tables:
        """Return tables with so many cells each."""
        features = np.frombuffer(b"".join(keys), dtype=np.int64)
        return cls(features, _starts(len(key) // 8 for key in keys), _starts(cells))

    def writable(self) -> Tables:
        """Return arrays of the types that kernels are compiled for."""
        return Tables(*map(_writable, self))


class KeptCounts:
    """A cache of counts by features."""

    def __init__(self) -> None:
        self._counts: OrderedDict[Key, IntArray] = OrderedDict()
        self._n_cells = 0

    def lacking(self, keys: Iterable[Key]) -> list[Key]:
        """Return the keys that are not cached."""
        return [key for key in keys if key not in self._counts]

    def add(self, keys: Sequence[Key], counts: IntArray, places: IntArray) -> None:
        """Cache counts, given one table after the other."""
        for key, first, last in zip(keys, places[:-1], places[1:], strict=True):
            # A copy: a view would keep the whole array alive.
            self._counts[key] = counts[first:last].copy()
            self._n_cells += int(last - first)

    def given(self, keys: Sequence[Key]) -> Given:
        """Return the counts of tables, all of them cached; tables beyond the limit are dropped afterwards."""
        tables = [self._counts[key] for key in keys]
        for key in keys:
            self._counts.move_to_end(key)
        while self._n_cells > _MOST_KEPT and len(self._counts) > 1:
            self._n_cells -= len(self._counts.popitem(last=False)[1])
        return Given(np.concatenate(tables), _starts(map(len, tables)))


def _starts(lengths: Iterable[int]) -> IntArray:
    return np.cumsum([0, *lengths], dtype=np.int64)


def _writable(array: IntArray) -> IntArray:
    return np.require(array, requirements=["C", "W"])
