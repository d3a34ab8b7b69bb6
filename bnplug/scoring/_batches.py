"""A batch of candidates in one compiled call: each one's families, its table, and what the rows make of it.

What is kept between calls is in plain arrays, bundled by what they are about.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from bnplug.arrays import CodeArray, FloatArray, IntArray
from bnplug.compiling import inner_kernel, kernel
from bnplug.scoring import _deltas, _passes
from bnplug.scoring._rows import FoldedRows
from bnplug.scoring._walks import (
    FIRST,
    GO_ON,
    MADE,
    MEASURED,
    MOVED,
    SCORED,
    STOP,
    TOO_WIDE,
    go_on_at,
)

# A block of log joints on their way to the gain leaves room in a first-level cache.
_BLOCK_CELLS = 2048

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
    gap : float64 array of shape (tested rows,), or (0,) where the gain has no plateau
        The log joint of the row's class minus the largest of another one; nan where all are ``-inf``.
    rival : unsigned array of the same shape
        That other class.
    second_gap : float32 array of the same shape
        The log joint of the row's class minus the second largest of another one, or a little less.
    lowest, highest : float64 arrays of shape (blocks,)
        The smallest and the largest gap of each block of rows of a segment.
    fill : int
        Where there are no gaps, the address of `fill` of :mod:`bnplug.scoring._passes`.
    """

    values: FloatArray
    zeros: npt.NDArray[np.int16]
    gap: FloatArray
    rival: CodeArray
    second_gap: npt.NDArray[np.float32]
    lowest: FloatArray
    highest: FloatArray
    fill: int


def no_joint(rows: FoldedRows, gapped: bool) -> Joint:
    """Return the log joint of no family at all."""
    shape = (rows.n_tested, rows.n_classes)
    n_gaps = rows.n_tested if gapped else 0
    lengths = np.diff(rows.bounds[: rows.n_folds * rows.n_classes + 1])
    n_blocks = int((-(-lengths // _passes.BLOCK_ROWS)).sum()) if gapped else 0
    return Joint(
        values=np.zeros(shape),
        zeros=np.zeros((0, 0) if rows.finite else shape, dtype=np.int16),
        gap=np.empty(n_gaps),
        rival=np.empty(n_gaps, dtype=np.min_scalar_type(rows.n_classes)),
        second_gap=np.empty(n_gaps, dtype=np.float32),
        lowest=np.empty(n_blocks),
        highest=np.empty(n_blocks),
        fill=0 if gapped else _passes.fill_address(),
    )


def block_ends(rows: FoldedRows, gap: FloatArray) -> dict[str, Any]:
    """Return the smallest and the largest gap of each block of rows of a segment, by their names in a Joint."""
    bounds = rows.bounds[: rows.n_folds * rows.n_classes + 1].tolist()
    starts = [m for low, high in pairwise(bounds) for m in range(low, high, _passes.BLOCK_ROWS)]
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
    high, low, ends : float64 arrays
        See `find_thresholds`.
    pending : uint32 array of shape (tested rows,)
        The rows that no gap decided.
    found : int64 array of shape (tested segments + 1,)
        Those of segment s are ``pending[found[s]:found[s + 1]]``.
    joint : float64 array of shape (block, classes)
        New log joints on their way to the gain.
    labels, weights, values : int64, float64 and float64 arrays of shape (block,)
        What goes with them, and what the gain makes of them. Weights are 1 where every row counts once.
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
    high: FloatArray
    low: FloatArray
    ends: FloatArray
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
        ends=np.empty(2 * n_segments),
        pending=np.empty(rows.n_tested, dtype=np.uint32),
        found=np.zeros(n_segments + 1, dtype=np.int64),
        joint=np.empty((block, rows.n_classes)),
        labels=np.empty(block, dtype=np.int64),
        weights=np.ones(block),
        values=np.empty(block),
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
        "high": np.empty(rows.n_folds * cells),
        "low": np.empty(rows.n_folds * cells),
    }


@kernel(allocates=False)
def score_candidates(rows, joint, criterion, graph, batch, first, stop, in_turn, scratch, steps):  # type: ignore[no-untyped-def]
    """Fill the scores of the candidates first <= i < stop of a Batch, or move there; see its status.

    One that changes no gain is passed over. One below its `at_least` gets -inf; one that is too wide is marked so, and
    not scored. With `in_turn` the first one that is not below is the last, as is one that is too wide. Where `steps`
    are those of a walk, it is gone on with: see `go_on`. Returns how many candidates were scored.
    """
    at_least, scores, status, last, numbers = batch.at_least, batch.scores, batch.status, scratch.last, steps.numbers
    n_scored = 0
    going = True
    while going:
        last[0], last[1] = stop - 1, -1
        for i in range(first, stop):
            asked = status[i]
            n_slots = _deltas.find_slots(
                batch.nodes, batch.bounds, batch.parents, batch.starts[i], batch.starts[i + 1],
                graph.n_parents, graph.parents, rows.target, scratch.slots,
            )  # fmt: skip
            if n_slots > 0 or asked in (MEASURED, MADE):
                size = last[2] if asked == MADE else make_table(rows, graph, batch, i, n_slots, scratch)
                status[i] = SCORED if size > 0 else TOO_WIDE
                last[2] = size
                if size > 0:
                    last[1] = i
                    if asked >= MOVED:
                        _passes.add_table(
                            rows.bounds, rows.n_folds * rows.cards[rows.target], joint.values, joint.zeros,
                            scratch.configuration, size, scratch.terms, scratch.zeros, joint.gap, joint.rival,
                            joint.second_gap, joint.lowest, joint.highest, scratch.by_class,
                        )  # fmt: skip
                    else:
                        scores[i] = score_table(rows, joint, criterion, size, batch.penalties[i], at_least[i], scratch)
                n_scored += 1
                if asked == MADE and numbers[GO_ON] != 0:
                    scratch.known[batch.nodes[i]] = False
                    n_scored -= 1
            if in_turn and (status[i] == TOO_WIDE or scores[i] >= at_least[i]):
                last[0] = i
                break
        going = numbers[GO_ON] != 0
        if going:
            going = go_on_at(numbers[GO_ON])(
                numbers, steps.reals, steps.features, steps.pairs, steps.required, steps.paths, steps.accepted,
                steps.values, steps.layers, graph.n_parents, graph.parents, batch.nodes, batch.bounds, batch.parents,
                at_least, scores, status, last,
            )  # fmt: skip
            first, stop = numbers[FIRST], numbers[STOP]
    return n_scored


@inner_kernel(allocates=False)
def find_features(  # type: ignore[no-untyped-def]
    sizes, target, n_parents, parents, nodes, bounds, given, n_slots, slots, family, features, last
):
    """Put the features of a candidate into `features`, their number into last[3]; return how many configurations.

    They are in ascending order, so that candidates of the same features have the same table.
    """
    n = 0
    for i in range(n_slots):
        n_own = _deltas.find_parents(slots[i], nodes, bounds, given, n_parents, parents, family)
        n = _deltas.add_features(nodes[slots[i] // 2], family, n_own, target, features, n)
    for i in range(1, n):
        own, j = features[i], i
        while j > 0 and features[j - 1] > own:
            features[j] = features[j - 1]
            j -= 1
        features[j] = own
    last[3] = n
    width = 1.0
    for i in range(n):
        width *= sizes[features[i]]
    return width


@inner_kernel(allocates=False)
def make_table(rows, graph, batch, number, n_slots, scratch):  # type: ignore[no-untyped-def]
    """Make the table of a candidate of this number; return how many configurations, 0 if there is no room for them.

    Where `columns` are given, so are the places of families, the configurations of rows, and their number in last[2].
    """
    nodes, bounds, given = batch.nodes, batch.bounds, batch.parents
    slots, family, features = scratch.slots, scratch.family, scratch.features
    cards, sizes, target, n_folds = rows.cards, rows.sizes, rows.target, rows.n_folds
    n_classes = cards[target]
    placed = scratch.columns.shape[0] > 0
    width = 1.0
    if not placed:
        width = find_features(
            sizes, target, graph.n_parents, graph.parents, nodes, bounds, given, n_slots, slots, family, features,
            scratch.last,
        )  # fmt: skip
        if width > scratch.limit:
            return 0
        _deltas.number_rows(rows.codes, sizes, features, scratch.last[3], scratch.configuration)
    size, n = scratch.last[2] if placed else np.int64(width), scratch.last[3]
    terms, zeros = scratch.terms, scratch.zeros
    if batch.counts.shape[0] > 0:
        first = batch.places[number]
        for i in range((n_folds + 1) * size * n_classes):
            scratch.counts[i] = batch.counts[first + i]
    else:
        _deltas.count(scratch.configuration, rows.bounds, rows.weights, n_classes, size, scratch.counts)
    cells = size * n_classes
    for i in range(n_folds * cells):
        terms[i] = 0.0
        if zeros.shape[0] > 0:
            zeros[i] = 0
    for i in range(n_slots):
        node, put_in = nodes[slots[i] // 2], slots[i] % 2 == 1
        n_own = _deltas.find_parents(slots[i], nodes, bounds, given, graph.n_parents, graph.parents, family)
        first = i * cells if placed else 0
        place = scratch.place[first : first + cells]
        if placed:
            columns = scratch.columns[i]
        else:
            columns = _deltas.place_family(features, n, node, family, n_own, cards, sizes, target, place)
        wide = (columns if node == target else cards[node] * columns) * n_classes
        keeps = not put_in and n_folds * wide <= scratch.kept.shape[1]
        logs = scratch.kept[node] if keeps else scratch.logs
        if not (keeps and scratch.known[node]):
            numbers = np.float64(cards[node])
            for p in range(n_own):
                numbers *= cards[family[p]]
            _deltas.find_logs(
                scratch.counts, place, cells, wide, n_folds, rows.resubstitution, rows.unit, rows.alpha / numbers,
                scratch.own, logs,
            )  # fmt: skip
            _deltas.take_logs(
                logs, n_folds, wide, columns * n_classes, n_classes, cards[node], rows.floor, node == target,
                scratch.sums,
            )  # fmt: skip
            if keeps:
                scratch.known[node] = True
        _deltas.add_logs(logs, wide, place, cells, n_folds, 1 if put_in else -1, terms, zeros)
    return size


@inner_kernel(allocates=False)
def score_table(rows, joint, criterion, size, penalty, at_least, scratch):  # type: ignore[no-untyped-def]
    """The score that a table leads to, or -inf as soon as it is known to be below `at_least`.

    The total starts where every row has the largest value, and only falls: so it bounds the score all the way.
    """
    maximum, divisor = criterion.maximum, criterion.divisor
    number, terms, zeros = scratch.configuration, scratch.terms, scratch.zeros
    gap, values, dead, weights = joint.gap, joint.values, joint.zeros, rows.weights
    block, n_classes, gapped = scratch.joint.shape[0], values.shape[1], gap.shape[0] > 0
    total = maximum * rows.tested_weight
    low_loss = maximum - criterion.low_value
    n_rows = values.shape[0]
    if gapped:
        _passes.find_thresholds(
            scratch.counts, terms, zeros, rows.n_folds, size, n_classes, criterion.high_gap, criterion.low_gap,
            scratch.high, scratch.low, scratch.ends,
        )  # fmt: skip
        total -= low_loss * _passes.decide(
            rows.bounds, weights, gap, joint.lowest, joint.highest, number, size, n_classes, scratch.high,
            scratch.low, scratch.ends, scratch.pending, scratch.found,
        )  # fmt: skip
        n_rows = scratch.found[scratch.found.shape[0] - 1]
    start = 0
    while start < n_rows:
        if criterion.droppable and total / divisor - penalty < at_least:
            return -np.inf
        stop = start + block if n_rows - start > block else n_rows
        if gapped:
            n = _passes.settle(
                start, stop, scratch.pending, scratch.found, weights, gap, joint.rival, joint.second_gap, values, dead,
                number, size, terms, zeros, scratch.high, criterion.high_gap, criterion.low_gap, criterion.slope,
                low_loss, scratch.joint, scratch.labels, scratch.weights, scratch.short,
            )  # fmt: skip
            total -= scratch.short[0]
        else:
            n = stop - start
            _passes.fill_at(joint.fill)(
                start, stop, rows.bounds, weights, values, dead, number, size, terms, zeros, scratch.joint,
                scratch.labels, scratch.weights,
            )  # fmt: skip
        if n > 0:
            total -= _passes.ask(
                criterion.gain, criterion.params, maximum, n, scratch.joint, scratch.labels, scratch.weights,
                scratch.values,
            )  # fmt: skip
        start = stop
    return total / divisor - penalty


@kernel(allocates=False)
def lay_out(rows, graph, starts, nodes, bounds, parents, scratch, sizes, features, ends):  # type: ignore[no-untyped-def]
    """Fill sizes[i] with the number of configurations of candidate i, 0 where it changes no gain.

    Its features become features[ends[i] : ends[i + 1]].
    """
    for i in range(sizes.shape[0]):
        n = 0
        n_slots = _deltas.find_slots(
            nodes, bounds, parents, starts[i], starts[i + 1], graph.n_parents, graph.parents, rows.target, scratch.slots
        )
        if n_slots > 0:
            sizes[i] = find_features(
                rows.sizes, rows.target, graph.n_parents, graph.parents, nodes, bounds, parents, n_slots,
                scratch.slots, scratch.family, scratch.features, scratch.last,
            )  # fmt: skip
            n = scratch.last[3]
        for j in range(n):
            features[ends[i] + j] = scratch.features[j]
        ends[i + 1] = ends[i] + n


@kernel(allocates=False)
def count_tables(rows, features, ends, places, counts, first, stop, configuration, numbered):  # type: ignore[no-untyped-def]
    """Fill counts[places[i] : places[i + 1]] with the table of features[ends[i] : ends[i + 1]], for first <= i < stop.

    One that has no place is passed over.
    configuration: scratch, or what those of the rows are if they are `numbered`.
    """
    n_classes, width = rows.cards[rows.target], rows.bounds.shape[0] - 1
    for i in range(first, stop):
        own, table = features[ends[i] : ends[i + 1]], counts[places[i] : places[i + 1]]
        if table.shape[0] == 0:
            continue
        if not numbered:
            _deltas.number_rows(rows.codes, rows.sizes, own, own.shape[0], configuration)
        _deltas.count(configuration, rows.bounds, rows.weights, n_classes, table.shape[0] // width, table)
