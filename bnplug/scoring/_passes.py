"""One pass over the rows for a candidate: what its JointDelta makes of the gains.

Most rows are decided without their log joint. A row's *gap* is the log joint of its class minus that of the best
rival; what a change can do to it at least and at most follows from the row's configuration. Where the gain has a
plateau there, its value is known. Only the other rows are looked at, and only those whose new gap is on no plateau
are given to the gain itself.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numba.extending import register_jitable

from bnplug.arrays import FloatArray, IntArray
from bnplug.compiling import inner_kernel, kernel
from bnplug.scoring._compiled_gains import gain_at
from bnplug.scoring._deltas import CandidateFamilies, JointDelta, fill_dense, find_features, n_configurations
from bnplug.scoring._rows import FoldedRows

# A block of log joints on their way to the gain fits a first-level cache.
_BLOCK_CELLS = 4096

# What is done to a block of rows in several steps finds it in a first-level cache.
_BLOCK_ROWS = 256

# The log parameters of families of the current graph are kept up to this number, and as long as all fit in 32 MB.
_MOST_LOGS, _ALL_LOGS = 1 << 12, 1 << 22

_LARGEST = np.finfo(np.float64).max


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
    rival : uint32 array of the same shape
        That other class.
    second_gap : float64 array of the same shape
        The log joint of the row's class minus the second largest of another one.
    """

    values: FloatArray
    zeros: npt.NDArray[np.int16]
    gap: FloatArray
    rival: npt.NDArray[np.uint32]
    second_gap: FloatArray


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


#: What became of a candidate: it changes no gain, or was not come to; it was scored; it has more configurations than
#: the scratch has room for, and must be scored by those that occur. What is asked for, if not a score of what is to be
#: made in the scratch: a score of the JointDelta that is there; a JointDelta without a score.
PASSED_OVER, SCORED, TOO_WIDE, MADE, TO_MAKE = 0, 1, 2, 3, 4


class Batch(NamedTuple):
    """Candidates that are scored together.

    Attributes
    ----------
    families : CandidateFamilies
        What they take out and put in.
    penalties, at_least : float64 arrays of shape (candidates,)
        The penalty of the graph that each leads to, and the score below which ``-inf`` will do.
    scores : float64 array of shape (candidates,)
        Their scores; at first, what they are if no gain changes.
    status : uint8 array of shape (candidates,)
        ``PASSED_OVER``, ``SCORED`` or ``TOO_WIDE``; at first ``PASSED_OVER``, ``MADE`` or ``TO_MAKE``.
    """

    families: CandidateFamilies
    penalties: FloatArray
    at_least: FloatArray
    scores: FloatArray
    status: npt.NDArray[np.uint8]


class Scratch(NamedTuple):
    """What the scoring of one candidate after another writes to.

    Attributes
    ----------
    limit : int
        The most configurations that a candidate's JointDelta may have here.
    configuration : uint32 array of shape (rows,)
    counts, terms, zeros : int64, float64 and int16 arrays
        The numbers of a candidate's JointDelta come first in them.
    features : int64 array of shape (variables,)
        Those of a candidate come first.
    pending : uint32 array of shape (tested rows,)
        The rows that no bound decided.
    ends : int64 array of shape (tested segments + 1,)
        Those of segment s are ``pending[ends[s]:ends[s + 1]]``.
    short : float64 array of shape (1,)
        What a block of pending rows falls short of the largest value, as far as the gain was not asked.
    joint : float64 array of shape (block, classes)
        New log joints on their way to the gain.
    labels, weights, values : int64, float64 and float64 arrays of shape (block,)
        What goes with them, and what the gain makes of them.
    known : bool array of shape (variables,)
        Whether the log parameters of a variable's family in the current graph are in `logs`.
    logs : float64 array of shape (variables, n_folds, most cells of a family)
        As from `find_logs`: those of v come first in ``logs[v]``.
    found : int64 array of shape (3,)
        What `score_candidates` came to: the last candidate; the one whose JointDelta is here, -1 for none; how many
        configurations that has.
    """

    limit: int
    configuration: npt.NDArray[np.uint32]
    counts: IntArray
    terms: FloatArray
    zeros: npt.NDArray[np.int16]
    features: IntArray
    pending: npt.NDArray[np.uint32]
    ends: IntArray
    short: FloatArray
    joint: FloatArray
    labels: IntArray
    weights: FloatArray
    values: FloatArray
    known: npt.NDArray[np.bool_]
    logs: FloatArray
    found: IntArray


def make_scratch(rows: FoldedRows, limit: int) -> Scratch:
    """Return a Scratch for these rows, and for candidates of up to `limit` configurations.

    Without bounds all rows are pending: so `ends` begins as the segments. What is not written to takes no memory.
    """
    block = max(1, _BLOCK_CELLS // rows.n_classes)
    n_variables = len(rows.cards)
    cells = rows.n_folds * limit * rows.n_classes
    return Scratch(
        limit=limit,
        configuration=np.empty(rows.codes.shape[1], dtype=np.uint32),
        counts=np.empty(cells + limit * rows.n_classes, dtype=np.int64),
        terms=np.empty(cells),
        zeros=np.empty(0 if rows.finite else cells, dtype=np.int16),
        features=np.empty(n_variables, dtype=np.int64),
        pending=np.empty(rows.n_tested, dtype=np.uint32),
        ends=rows.bounds[: rows.n_folds * rows.n_classes + 1].copy(),
        short=np.zeros(1),
        joint=np.empty((block, rows.n_classes)),
        labels=np.empty(block, dtype=np.int64),
        weights=np.empty(block),
        values=np.empty(block),
        known=np.zeros(n_variables, dtype=np.bool_),
        logs=np.empty((n_variables, rows.n_folds, min(_MOST_LOGS, _ALL_LOGS // (n_variables * rows.n_folds)))),
        found=np.empty(3, dtype=np.int64),
    )


@register_jitable(inline="always")
def delta_in(scratch, n_folds, size, n_classes):  # type: ignore[no-untyped-def]
    """The JointDelta of `size` configurations whose numbers are in a Scratch."""
    cells = n_folds * size * n_classes
    kept = n_folds if scratch.zeros.shape[0] > 0 else 0
    return JointDelta(
        scratch.configuration,
        scratch.counts[: cells + size * n_classes].reshape((n_folds + 1, size, n_classes)),
        scratch.terms[:cells].reshape((n_folds, size, n_classes)),
        scratch.zeros[: kept * size * n_classes].reshape((kept, size, n_classes)),
    )


@kernel
def score_candidates(rows, joint, criterion, batch, first, stop, in_turn, scratch):  # type: ignore[no-untyped-def]
    """Fill the scores of the candidates first <= i < stop of a Batch; one that changes no gain is passed over.

    One below its `at_least` gets -inf; one that is too wide is marked so, and not scored. With `in_turn` the first one
    that is not below is the last, as is one that is too wide. Returns how many were not passed over.
    """
    families, at_least, scores, status = batch.families, batch.at_least, batch.scores, batch.status
    n_scored = 0
    scratch.found[0], scratch.found[1] = stop - 1, -1
    for i in range(first, stop):
        asked = status[i]
        if asked == MADE or families.starts[i] < families.starts[i + 1]:
            n_scored += 1
            if asked != MADE:
                n_features = find_features(rows, families, i, scratch.features)
                size = n_configurations(rows, scratch.features[:n_features])
                status[i] = TOO_WIDE if size > scratch.limit else SCORED
                scratch.found[2] = 0 if size > scratch.limit else np.int64(size)
            if status[i] != TOO_WIDE:
                delta = delta_in(scratch, rows.n_folds, scratch.found[2], rows.cards[rows.target])
                if asked != MADE:
                    features = scratch.features[:n_features]
                    fill_dense(rows, families, i, features, scratch.known, scratch.logs, delta)
                    scratch.found[1] = i
                if asked != TO_MAKE:
                    scores[i] = score_delta(rows, joint, delta, criterion, batch.penalties[i], at_least[i], scratch)
        if in_turn and (status[i] == TOO_WIDE or scores[i] >= at_least[i]):
            scratch.found[0] = i
            break
    return n_scored


@inner_kernel
def score_delta(rows, joint, delta, criterion, penalty, at_least, scratch):  # type: ignore[no-untyped-def]
    """The score that a JointDelta leads to, or -inf as soon as it is known to be below `at_least`.

    The total starts where every row has the largest value, and only falls: so it bounds the score all the way.
    """
    gapped = joint.gap.shape[0] > 0
    total = criterion.maximum * rows.tested_weight
    if gapped:
        n_folds, size, n_classes = delta.terms.shape
        high_from, low_upto = np.empty((n_folds, n_classes, size)), np.empty((n_folds, n_classes, size))
        _find_thresholds(delta, criterion.high_gap, criterion.low_gap, high_from, low_upto)
        total -= _decide(rows, joint, delta, criterion, high_from, low_upto, scratch.pending, scratch.ends)
    n_pending = scratch.ends[-1]
    for start in range(0, n_pending, scratch.joint.shape[0]):
        if criterion.droppable and total / criterion.divisor - penalty < at_least:
            return -np.inf
        stop = min(start + scratch.joint.shape[0], n_pending)
        if gapped:
            n = _settle(rows, joint, delta, criterion, start, stop, scratch)
            total -= scratch.short[0]
        else:
            n = _fill(rows, joint, delta, start, stop, scratch)
        if n > 0:
            for i in range(n):
                scratch.values[i] = np.nan
            gain_at(criterion.gain)(scratch.joint[:n], scratch.labels[:n], criterion.params, scratch.values[:n])
            for i in range(n):
                total -= scratch.weights[i] * (criterion.maximum - scratch.values[i])
    return total / criterion.divisor - penalty


@inner_kernel
def _find_thresholds(delta, high_gap, low_gap, high_from, low_upto):  # type: ignore[no-untyped-def]
    """Fill, for (fold, class, configuration), from which gap on the new one is high, and up to which it is low.

    A zero that is put in makes a class -inf, one that is taken out may or may not revive it. The infinite limits that
    follow are made finite or nan, so that a gap that is infinite itself decides nothing wrongly.
    """
    counts, terms, zeros = delta.counts, delta.terms, delta.zeros
    n_folds, size, n_classes = terms.shape
    for f in range(n_folds):
        for k in range(size):
            tested = False
            top = second = -np.inf
            bottom = last_but_one = np.inf
            for c in range(n_classes):
                tested |= counts[f, k, c] > 0
                least = most = terms[f, k, c]
                if zeros.shape[0] > 0 and zeros[f, k, c] != 0:
                    least = -np.inf
                    most = -np.inf if zeros[f, k, c] > 0 else np.inf
                second = max(second, min(top, most))
                top = max(top, most)
                last_but_one = min(last_but_one, max(bottom, least))
                bottom = min(bottom, least)
            for c in range(n_classes):
                high_from[f, c, k] = low_upto[f, c, k] = np.nan
            for c in range(n_classes if tested else 0):
                least = most = terms[f, k, c]
                if zeros.shape[0] > 0 and zeros[f, k, c] != 0:
                    least = -np.inf
                    most = -np.inf if zeros[f, k, c] > 0 else np.inf
                rise = least - (second if most == top else top)
                fall = most - (last_but_one if least == bottom else bottom)
                if rise > -np.inf:
                    high_from[f, c, k] = max(high_gap - rise, -_LARGEST)
                if fall < np.inf:
                    low_upto[f, c, k] = min(low_gap - fall, _LARGEST)


@inner_kernel
def _decide(rows, joint, delta, criterion, high_from, low_upto, pending, ends):  # type: ignore[no-untyped-def]
    """What rows fall short of the largest value together: those that are low for sure, and those on the slope.

    The rows that are not decided go to `pending`. No loop branches: every row is written there, and the next one over
    it where it was decided.
    """
    bounds, weights, terms = rows.bounds, rows.weights, delta.terms
    finite, high_gap, low_gap = delta.zeros.shape[0] == 0, criterion.high_gap, criterion.low_gap
    sloped, slope = not np.isnan(criterion.slope), criterion.slope
    n_classes = terms.shape[2]
    weight = 0
    fallen = 0.0
    n = 0
    for s in range(ends.shape[0] - 1):
        start, stop = bounds[s], bounds[s + 1]
        fold, y = s // n_classes, s % n_classes
        gap, second_gap, rival = joint.gap[start:stop], joint.second_gap[start:stop], joint.rival[start:stop]
        number = delta.configuration[start:stop]
        high, low = high_from[fold, y], low_upto[fold, y]
        first = n
        for m in range(gap.shape[0]):
            k = number[m]
            is_low = gap[m] <= low[k]
            weight += is_low if weights.shape[0] == 0 else is_low * weights[start + m]
            pending[n] = m
            n += not (is_low | (gap[m] >= high[k]))
        last, n = n, first
        for i in range(first, last):
            # Closer: the best rival so far exactly, the others by the second gap.
            m = pending[i]
            k = number[m]
            ahead = gap[m] + terms[fold, k, y] - terms[fold, k, rival[m]] if finite else np.nan
            is_low = ahead <= low_gap
            weight += is_low if weights.shape[0] == 0 else is_low * weights[start + m]
            # What a change can do to the gap at least is high_gap - high[k]: no other class comes closer than this one.
            is_known = sloped & (ahead <= second_gap[m] + (high_gap - high[k]))
            short = slope * (high_gap - ahead) if is_known & (ahead < high_gap) else 0.0
            fallen += short if weights.shape[0] == 0 else short * weights[start + m]
            pending[n] = start + m
            n += not (is_low | is_known | ((ahead >= high_gap) & (second_gap[m] >= high[k])))
        ends[s + 1] = n
    return weight * (criterion.maximum - criterion.low_value) + fallen


@inner_kernel
def _new_log_joint(joint, delta, fold, m, k, c):  # type: ignore[no-untyped-def]
    """The log joint of row m, of a fold and in configuration k, under class c, once the delta is applied."""
    dead = joint.zeros.shape[0] > 0 and joint.zeros[m, c] + delta.zeros[fold, k, c] > 0
    return -np.inf if dead else joint.values[m, c] + delta.terms[fold, k, c]


@inner_kernel
def _settle(rows, joint, delta, criterion, start, stop, scratch):  # type: ignore[no-untyped-def]
    """Give those of the pending rows to the gain that are on no plateau and no slope; return their number.

    What the others fall short of the largest value goes to `scratch.short`.
    """
    pending, ends, weights = scratch.pending, scratch.ends, rows.weights
    high_gap, low_gap, slope = criterion.high_gap, criterion.low_gap, criterion.slope
    n_classes = joint.values.shape[1]
    low_weight = 0
    fallen = 0.0
    n = 0
    segment = 0
    while ends[segment + 1] <= start:
        segment += 1
    while start < stop:
        fold, y = segment // n_classes, segment % n_classes
        for i in range(start, min(stop, ends[segment + 1])):
            m = pending[i]
            k = delta.configuration[m]
            own = _new_log_joint(joint, delta, fold, m, k, y)
            rival = -np.inf
            for c in range(n_classes):
                new = _new_log_joint(joint, delta, fold, m, k, c)
                rival = new if c != y and new > rival else rival
            low = own - rival <= low_gap
            weight = 1 if weights.shape[0] == 0 else weights[m]
            low_weight += low * weight
            if own - rival < high_gap and not np.isnan(slope):
                fallen += weight * slope * (high_gap - (own - rival))
            elif not (low | (own - rival >= high_gap)):
                for c in range(n_classes):
                    scratch.joint[n, c] = _new_log_joint(joint, delta, fold, m, k, c)
                scratch.labels[n], scratch.weights[n] = y, weight
                n += 1
        segment += 1
        start = max(start, ends[segment])
    scratch.short[0] = low_weight * (criterion.maximum - criterion.low_value) + fallen
    return n


@inner_kernel
def _fill(rows, joint, delta, start, stop, scratch):  # type: ignore[no-untyped-def]
    """Give the new log joints of rows start to stop to the gain; return their number."""
    ends, n_classes = scratch.ends, joint.values.shape[1]
    n = stop - start
    for i in range(n):
        scratch.weights[i] = 1.0 if rows.weights.shape[0] == 0 else rows.weights[start + i]
    filled = 0
    segment = 0
    while ends[segment + 1] <= start:
        segment += 1
    while filled < n:
        low, high = start + filled, min(stop, ends[segment + 1])
        # Slices that begin at 0 let the loops below vectorise.
        block, values = scratch.joint[filled : filled + high - low], joint.values[low:high]
        configuration, terms = delta.configuration[low:high], delta.terms[segment // n_classes]
        for i in range(block.shape[0]):
            scratch.labels[filled + i] = segment % n_classes
            k = configuration[i]
            for c in range(n_classes):
                block[i, c] = values[i, c] + terms[k, c]
        if joint.zeros.shape[0] > 0:
            zeros, added = joint.zeros[low:high], delta.zeros[segment // n_classes]
            for i in range(block.shape[0]):
                for c in range(n_classes):
                    if zeros[i, c] + added[configuration[i], c] > 0:
                        block[i, c] = -np.inf
        filled += max(0, high - low)
        segment += 1
    return n


@kernel
def apply_delta(rows, joint, delta, with_gaps):  # type: ignore[no-untyped-def]
    """Make a change to the log joint, and to the gaps and the rivals where the gain makes use of them.

    Without gaps they are left as they were, which saves time where another change follows.
    """
    n_classes = joint.values.shape[1]
    with_gaps = with_gaps and joint.gap.shape[0] > 0
    for s in range(rows.n_folds * n_classes):
        for low in range(rows.bounds[s], rows.bounds[s + 1], _BLOCK_ROWS):
            high = min(low + _BLOCK_ROWS, rows.bounds[s + 1])
            _add(joint, delta, s // n_classes, low, high)
            if with_gaps:
                _find_gaps(joint, s % n_classes, low, high)


@inner_kernel
def _add(joint, delta, fold, low, high):  # type: ignore[no-untyped-def]
    values, configuration, terms = joint.values[low:high], delta.configuration[low:high], delta.terms[fold]
    n_classes = values.shape[1]
    for m in range(values.shape[0]):
        k = configuration[m]
        for c in range(n_classes):
            values[m, c] += terms[k, c]
    if joint.zeros.shape[0] > 0:
        zeros, added = joint.zeros[low:high], delta.zeros[fold]
        for m in range(zeros.shape[0]):
            for c in range(n_classes):
                zeros[m, c] += added[configuration[m], c]


@inner_kernel
def _find_gaps(joint, y, low, high):  # type: ignore[no-untyped-def]
    """Fill the gaps and the rivals of rows of class y.

    Nothing in the loop over classes branches, since which value is larger cannot be predicted: this takes a sixth of
    the time.
    """
    values, zeros = joint.values[low:high], joint.zeros[low:high]
    gap, second_gap, rivals = joint.gap[low:high], joint.second_gap[low:high], joint.rival[low:high]
    n_classes, dead = values.shape[1], zeros.shape[0] > 0
    first = 0 if y > 0 else 1
    for m in range(values.shape[0]):
        own = values[m, y]
        # For as long as the loop takes, so that it need not tell this class from the others.
        values[m, y] = second = -np.inf
        rival = first
        largest = -np.inf if dead and zeros[m, first] > 0 else values[m, first]
        for c in range(first + 1, n_classes):
            value = -np.inf if dead and zeros[m, c] > 0 else values[m, c]
            larger = value > largest
            smaller = largest if larger else value
            rival = c if larger else rival
            largest = value if larger else largest
            second = smaller if smaller > second else second
        values[m, y] = own
        if dead and zeros[m, y] > 0:
            own = -np.inf
        gap[m], second_gap[m], rivals[m] = own - largest, own - second, rival
