"""What compiled calls are given, and what is kept between them: plain arrays, bundled by what they are about."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from bnplug.arrays import CodeArray, FloatArray, IntArray
from bnplug.scoring import _passes
from bnplug.scoring._rows import FoldedRows

# A block of log joints on their way to the gain leaves room in a first-level cache.
_BLOCK_CELLS = 2048

# So many rows are decided by their gaps before those that are not are looked at: whole blocks of them.
_AT_ONCE = 16 * _passes.BLOCK_ROWS

#: The log parameters of families of the current graph are kept where a family has at most so many, in all folds.
_MOST_LOGS = 1 << 12


class Joint(NamedTuple):
    """The log joint of every tested row under the current graph.

    Attributes
    ----------
    values : float64 array of shape (tested rows, classes)
        The sum of the finite terms.
    zeros : int16 array of the same shape, or (0, 0) where no probability can be zero
        How many terms are ``-inf``, which could not be taken out of a sum again.
    gap : float32 array of shape (tested rows,), or (0,) where the gain has no plateau
        The log joint of the row's class minus the largest of another one; nan where all are ``-inf``.
    rival : unsigned array of the same shape
        That other class.
    second_gap : float32 array of the same shape
        The log joint of the row's class minus the second largest of another one, or a little less.
    lowest, highest : float32 arrays of shape (blocks,)
        The smallest and the largest gap of each block of rows of a segment.
    labels : int64 array of shape (tested rows,), or (0,) where there are gaps
        The classes.
    fill : int
        Where there are no gaps, the address of `fill` of :mod:`bnplug.scoring._passes`.
    """

    values: FloatArray
    zeros: npt.NDArray[np.int16]
    gap: npt.NDArray[np.float32]
    rival: CodeArray
    second_gap: npt.NDArray[np.float32]
    lowest: npt.NDArray[np.float32]
    highest: npt.NDArray[np.float32]
    labels: IntArray
    fill: int


def no_joint(rows: FoldedRows, gapped: bool) -> Joint:
    """Return the log joint of no family at all."""
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
    """Return the smallest and the largest gap of each block of rows of a segment, by their names in a Joint."""
    starts = [m for low, high in rows.segments() for m in range(low, high, _passes.BLOCK_ROWS)]
    return {"lowest": np.minimum.reduceat(gap, starts), "highest": np.maximum.reduceat(gap, starts)}


class Criterion(NamedTuple):
    """A gain, its parameters, its bounds, and how its values become a score.

    Attributes
    ----------
    gain : int
        The address of the compiled function.
    params : float64 array
    maximum : float
        What no row's value exceeds, if `droppable`; else 0.
    high_gap, low_gap, low_value : float
        The value is `maximum` where the gap is at least `high_gap`, `low_value` where it is at most `low_gap`; nan
        is a gap that is never reached.
    slope : float
        What the value falls by for each unit that the gap is below `high_gap`; nan if it does not fall so.
    droppable : bool
        Whether `maximum` bounds the score, so that a candidate can be dropped in the middle of its pass.
    divisor : float
        What the weighted sum of values, in units, is divided by.
    whole : bool
        Whether every value is a whole number.
    """

    gain: int
    params: FloatArray
    maximum: float
    high_gap: float
    low_gap: float
    low_value: float
    slope: float
    droppable: bool
    divisor: float
    whole: bool


class Batch(NamedTuple):
    """Candidates that are scored together.

    Attributes
    ----------
    starts : int64 array of shape (candidates + 1,)
        Candidate i changes the variables ``nodes[starts[i]:starts[i + 1]]``.
    nodes : int64 array
    bounds : int64 array
        The j-th of them gets the parents ``parents[bounds[j]:bounds[j + 1]]``.
    parents : int64 array
    penalties, at_least : float64 arrays of shape (candidates,)
        The penalty of the graph that each leads to, and the score below which ``-inf`` will do.
    scores : float64 array of shape (candidates,)
        Their scores; at first, what they are if no gain changes.
    status : uint8 array of shape (candidates,)
        ``PASSED_OVER``, ``SCORED`` or ``TOO_WIDE``; at first ``PASSED_OVER``, or what is asked for.
    counts : int64 array
        The tables of the candidates, one behind the other, where they are counted elsewhere; (0,) where rows are.
    places : int64 array of shape (candidates + 1,)
        Where the table of each begins.
    """

    starts: IntArray
    nodes: IntArray
    bounds: IntArray
    parents: IntArray
    penalties: FloatArray
    at_least: FloatArray
    scores: FloatArray
    status: npt.NDArray[np.uint8]
    counts: IntArray
    places: IntArray


class Scratch(NamedTuple):
    """What the scoring of one candidate after another writes to.

    Attributes
    ----------
    limit : int
        The most configurations that a candidate may have here.
    configuration : uint32 array of shape (rows,)
    counts, terms, zeros : int64, float64 and int16 arrays
        The table of a candidate comes first in them: ``[fold, configuration, class]``. Counts have one fold more, of
        rows that are never tested. No zeros are counted where no probability can be zero.
    place : int64 array
        See `find_logs`; for a candidate whose places are given, those of each slot in turn.
    columns : int64 array
        For such a candidate, the number of parent configurations of each slot.
    slots, family, features : int64 arrays
        Those of a candidate, or of one of its families, come first.
    own, logs, sums : int64 and float64 arrays
        Counts and log parameters of a family.
    high, low, ends : float32 arrays
        See `find_thresholds`.
    pending : uint32 array of shape (rows looked at before any is settled,)
        Those of them that no gap decided.
    found : int64 array of shape (1,)
        How many there are.
    joint : float64 array of shape (block, classes)
        New log joints on their way to the gain.
    labels, weights, values : int64, float64 and float64 arrays of shape (block,)
        What goes with them, and what the gain makes of them: nan until then. There are no weights where every row
        counts once.
    by_class : float64 array of shape (classes + 4, rows of a block)
        See `add_table`.
    known : bool array of shape (variables,)
        Whether the log parameters of a variable's family in the current graph are in `kept`.
    kept : float64 array of shape (variables, most numbers of a family)
    short : float64 array of shape (1,)
    last : int64 array of shape (4,)
        What a call came to: the last candidate; the one whose table is here, -1 for none; how many configurations that
        has, and how many features.
    """

    limit: int
    configuration: npt.NDArray[np.uint32]
    counts: IntArray
    terms: FloatArray
    zeros: npt.NDArray[np.int16]
    place: IntArray
    columns: IntArray
    slots: IntArray
    family: IntArray
    features: IntArray
    own: IntArray
    logs: FloatArray
    sums: FloatArray
    high: npt.NDArray[np.float32]
    low: npt.NDArray[np.float32]
    ends: npt.NDArray[np.float32]
    pending: npt.NDArray[np.uint32]
    found: IntArray
    joint: FloatArray
    labels: IntArray
    weights: FloatArray
    values: FloatArray
    by_class: FloatArray
    known: npt.NDArray[np.bool_]
    kept: FloatArray
    short: FloatArray
    last: IntArray


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
        found=np.zeros(1, dtype=np.int64),
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
    """Return a Scratch that has the arrays of another, but room for `limit` configurations."""
    return scratch._replace(**_room(rows, limit))


def _room(rows: FoldedRows, limit: int) -> dict[str, Any]:
    cells = limit * rows.n_classes
    return {
        "limit": limit,
        "counts": np.empty((rows.n_folds + 1) * cells, dtype=np.int64),
        "terms": np.empty(rows.n_folds * cells),
        "zeros": np.empty(0 if rows.finite else rows.n_folds * cells, dtype=np.int16),
        "place": np.empty(cells, dtype=np.int64),
        "own": np.empty((rows.n_folds + 1) * cells, dtype=np.int64),
        "logs": np.empty(rows.n_folds * cells),
        "sums": np.empty(rows.n_folds * cells),
        "high": np.empty(rows.n_folds * cells, dtype=np.float32),
        "low": np.empty(rows.n_folds * cells, dtype=np.float32),
    }
