"""Score a batch of candidates in one compiled call, or walk over the terms of a decomposable score.

The arrays of a call are bundled (:mod:`bnplug.scoring._bundles`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bnplug.compiling import inner_kernel, kernel
from bnplug.scoring import _passes
from bnplug.scoring._bundles import GO_BACK, LEAP, MEASURE, MOVE, MOVE_MADE, SCORED, TOO_WIDE
from bnplug.scoring._tables import find_slots, make_table
from bnplug.scoring._walks import FIRST, GO_ON, MOVING, PHASE, STOP, VALUE, advance
from bnplug.typing import FloatArray, IntArray


@kernel(allocates=False)
def score_candidates(rows, joint, criterion, graph, batch, first, stop, in_turn, scratch, steps):  # type: ignore[no-untyped-def]
    """Do the tasks of the candidates first <= i < stop of a Batch; return how many were scored.

    A candidate that changes no gain is passed over. With `in_turn`, the first candidate that reaches its `at_least`, or
    is too wide, is the last. If `steps` belong to a walk, it continues: see `go_on`.
    """
    at_least, scores, tasks, status = batch.at_least, batch.scores, batch.tasks, batch.status
    last, numbers = scratch.last, steps.numbers
    n_scored = 0
    going = True
    while going:
        last[0], last[1] = stop - 1, -1
        for i in range(first, stop):
            task = tasks[i]
            n_slots = find_slots(
                batch.nodes, batch.bounds, batch.parents, batch.starts[i], batch.starts[i + 1],
                graph.n_parents, graph.parents, rows.target, scratch.slots,
            )  # fmt: skip
            if n_slots > 0 or task in (MEASURE, MOVE_MADE):
                # A leap is a move, then a score and, where that is too low, the way back.
                leaps, size, goes_on = task == LEAP, np.int64(0), True
                step = MOVE if leaps else task
                while goes_on:
                    n_used = 0 if step == MEASURE else n_slots
                    size = look_at(rows, joint, criterion, graph, batch, i, n_used, step, scratch)
                    fails = step == MEASURE and not scores[i] >= at_least[i]
                    goes_on = leaps and size > 0 and (step == MOVE or fails)
                    step = MEASURE if step == MOVE else GO_BACK
                status[i] = TOO_WIDE if size == 0 else SCORED
                n_scored += 1
                if task == MOVE_MADE and numbers[GO_ON] != 0:
                    n_scored -= 1
                if task in (MOVE_MADE, LEAP) and numbers[GO_ON] != 0:
                    scratch.known[batch.nodes[i]] = False
            if in_turn and (status[i] == TOO_WIDE or scores[i] >= at_least[i]):
                last[0] = i
                break
        going = numbers[GO_ON] != 0
        if going:
            going = advance(steps, graph, batch, last)
            first, stop = numbers[FIRST], numbers[STOP]
    return n_scored


@inner_kernel(allocates=False, called_once=True)
def look_at(rows, joint, criterion, graph, batch, i, n_slots, task, scratch):  # type: ignore[no-untyped-def]
    """Score candidate i of a batch, move there or back; return its number of configurations, 0 if they do not fit."""
    last = scratch.last
    if task == MEASURE and criterion.whole and rows.weights.shape[0] == 0:
        n_low = _passes.count_low(joint.gap, criterion.high_gap, criterion.low_gap)
        if n_low >= 0:
            low_loss = criterion.maximum - criterion.low_value
            total = criterion.maximum * rows.tested_weight - low_loss * n_low
            batch.scores[i] = total / criterion.divisor - batch.penalties[i]
            return np.int64(1)
    size = last[2] if task == MOVE_MADE else make_table(rows, graph, batch, i, n_slots, scratch)
    last[2] = size
    if size == 0:
        return size
    last[1] = i
    if task == GO_BACK:
        for cell in range(rows.n_folds * size * rows.cards[rows.target]):
            scratch.terms[cell] = -scratch.terms[cell]
            if scratch.zeros.shape[0] > 0:
                scratch.zeros[cell] = -scratch.zeros[cell]
    if task >= MOVE:
        _passes.add_table(
            rows.bounds, rows.n_folds * rows.cards[rows.target], joint.values, joint.zeros, scratch.configuration,
            size, scratch.terms, scratch.zeros, joint.gap, joint.rival, joint.second_gap, joint.lowest, joint.highest,
            scratch.by_class,
        )  # fmt: skip
    else:
        batch.scores[i] = score_table(rows, joint, criterion, size, batch.penalties[i], batch.at_least[i], scratch)
    return size


@inner_kernel(allocates=False, called_once=True)
def score_table(rows, joint, criterion, size, penalty, at_least, scratch):  # type: ignore[no-untyped-def]
    """Return the score that a table leads to, or -inf as soon as it is known to be below `at_least`.

    The total starts as if every row had the largest value, and only falls: it always bounds the score.
    """
    if joint.gap.shape[0] > 0:
        return score_by_gaps(rows, joint, criterion, size, penalty, at_least, scratch)
    total, divisor, block = criterion.maximum * rows.tested_weight, criterion.divisor, scratch.joint.shape[0]
    start, n_rows = 0, joint.values.shape[0]
    while start < n_rows:
        if criterion.droppable and total / divisor - penalty < at_least:
            return -np.inf
        stop = start + block if n_rows - start > block else n_rows
        _passes.fill_at(joint.fill)(
            start, stop, rows.bounds, rows.weights, joint.values, joint.zeros, scratch.configuration, size,
            scratch.terms, scratch.zeros, scratch.joint, scratch.weights,
        )  # fmt: skip
        total -= _passes.ask(
            criterion.gain, criterion.params, criterion.maximum, stop - start, scratch.joint, joint.labels[start:stop],
            scratch.weights, scratch.values,
        )  # fmt: skip
        start = stop
    return total / divisor - penalty


@inner_kernel(allocates=False)
def score_by_gaps(rows, joint, criterion, size, penalty, at_least, scratch):  # type: ignore[no-untyped-def]
    """Do the same for a gain with bounds on gaps."""
    number, terms, zeros, pending = scratch.configuration, scratch.terms, scratch.zeros, scratch.pending
    gap, values, bounds, weights, divisor = joint.gap, joint.values, rows.bounds, rows.weights, criterion.divisor
    total, low_loss = criterion.maximum * rows.tested_weight, criterion.maximum - criterion.low_value
    n_classes, block, b = values.shape[1], scratch.joint.shape[0], 0
    _passes.find_thresholds(
        scratch.counts, terms, zeros, rows.n_folds, size, n_classes, criterion.high_gap, criterion.low_gap,
        scratch.high, scratch.low, scratch.ends,
    )  # fmt: skip
    s = first = y = 0
    while s < rows.n_folds * n_classes:
        start = bounds[s]
        while start < bounds[s + 1]:
            stop = start + pending.shape[0] if bounds[s + 1] - start > pending.shape[0] else bounds[s + 1]
            total -= low_loss * _passes.decide(
                start, stop, b, first + y, n_classes, weights, gap, joint.lowest, joint.highest, number, scratch.high,
                scratch.low, scratch.ends[2 * s], scratch.ends[2 * s + 1], pending, scratch.n_pending,
            )  # fmt: skip
            done, n_pending = 0, scratch.n_pending[0]
            if n_pending > 0 and criterion.droppable and total / divisor - penalty < at_least:
                return -np.inf
            while done < n_pending:
                upto = done + block if n_pending - done > block else n_pending
                n = _passes.collect_undecided(
                    done, upto, pending, y, first, weights, joint.rival, joint.second_gap, values, joint.zeros,
                    number, terms, zeros, scratch.high, criterion.high_gap, criterion.low_gap, criterion.slope,
                    low_loss, scratch.joint, scratch.labels, scratch.weights, scratch.short,
                )  # fmt: skip
                total -= scratch.short[0]
                if n > 0:
                    total -= _passes.ask(
                        criterion.gain, criterion.params, criterion.maximum, n, scratch.joint, scratch.labels,
                        scratch.weights, scratch.values,
                    )  # fmt: skip
                done = upto
            b += (stop - start + _passes.BLOCK_ROWS - 1) // _passes.BLOCK_ROWS
            start = stop
        # Without the divisions that fold and class of a segment would take.
        s += 1
        y = y + 1 if y + 1 < n_classes else 0
        first += size * n_classes if y == 0 else 0
    return total / divisor - penalty


class Walked(NamedTuple):
    """Buffers of a walk over terms."""

    current: FloatArray  # (variables,): the terms of the current graph
    drawn: FloatArray  # (batch,): the terms of the candidates
    parts: FloatArray  # (variables + 1,): see exact_sum
    last: IntArray  # (2,): for go_on


@kernel(allocates=False)
def walk_terms(terms, base, target, k, walked, steps, graph, batch):  # type: ignore[no-untyped-def]
    """Continue a walk over terms until it ends (see `go_on`), or a candidate's term is not known.

    terms: flat, with axes (child, k parents without the class), nan if not known. The axes have `base` entries, the
    last of which stands for no parent.
    """
    numbers, current, drawn, last = steps.numbers, walked.current, walked.drawn, walked.last
    nodes, bounds, given, scores = batch.nodes, batch.bounds, batch.parents, batch.scores
    going = True
    while going:
        first, stop = numbers[FIRST], numbers[STOP]
        last[0] = stop - 1
        if numbers[PHASE] == MOVING:
            current[nodes[first]] = drawn[first]
            scores[first] = exact_sum(current, walked.parts)
        else:
            # All of a batch are looked up first: unknown terms are computed together.
            for i in range(first, stop):
                place, left = nodes[i], k
                for p in range(bounds[i], bounds[i + 1]):
                    if given[p] != target:
                        place = place * base + given[p]
                        left -= 1
                for _ in range(left):
                    place = place * base + base - 1
                drawn[i] = terms[place]
                if drawn[i] != drawn[i]:
                    return False
            for i in range(first, stop):
                scores[i] = steps.reals[VALUE] + (drawn[i] - current[nodes[i]])
                if scores[i] >= batch.at_least[i]:
                    last[0] = i
                    break
        last[1] = last[0]
        going = advance(steps, graph, batch, last)
    return True


@inner_kernel(allocates=False)
def exact_sum(values, parts):  # type: ignore[no-untyped-def]
    """Return the sum of numbers, rounded once, as `math.fsum`; parts: scratch for rounding errors (Shewchuk 1997)."""
    n = 0
    plain = 0.0
    for v in range(values.shape[0]):
        x = values[v]
        plain += x
        kept = 0
        for j in range(n):
            y = parts[j]
            large, small = (x, y) if abs(x) >= abs(y) else (y, x)
            x = large + small
            lost = small - (x - large)
            if lost != 0.0:
                parts[kept] = lost
                kept += 1
        parts[kept] = x
        n = kept + 1
    if not np.isfinite(plain):
        return plain
    n -= 1
    total, lost = parts[n], 0.0
    while n > 0 and lost == 0.0:
        n -= 1
        large = total
        total = large + parts[n]
        lost = parts[n] - (total - large)
    # Half way between two numbers, the remaining parts decide.
    if n > 0 and ((lost < 0.0 and parts[n - 1] < 0.0) or (lost > 0.0 and parts[n - 1] > 0.0)):
        further = total + 2.0 * lost
        total = further if further - total == 2.0 * lost else total
    return total
