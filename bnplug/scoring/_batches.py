"""A batch of candidates in one compiled call: each one's families, its table, and what the rows make of it.

The arrays of a call are bundled (:mod:`bnplug.scoring._bundles`).
"""

from __future__ import annotations

import numpy as np

from bnplug.compiling import inner_kernel, kernel
from bnplug.scoring import _deltas, _passes
from bnplug.scoring._walks import (
    BACK,
    FIRST,
    GO_ON,
    LEAPT,
    MADE,
    MEASURED,
    MOVED,
    SCORED,
    STOP,
    TOO_WIDE,
    go_on_at,
)


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
                # A leap is a move, then a score and, where that is too low, the way back.
                leaps, size, goes_on = asked == LEAPT, np.int64(0), True
                step = MOVED if leaps else asked
                while goes_on:
                    n_own = 0 if step == MEASURED else n_slots
                    size = look_at(rows, joint, criterion, graph, batch, i, n_own, step, scratch)
                    fails = step == MEASURED and not scores[i] >= at_least[i]
                    goes_on = leaps and size > 0 and (step == MOVED or fails)
                    step = MEASURED if step == MOVED else BACK
                status[i] = TOO_WIDE if size == 0 else LEAPT if leaps else SCORED
                n_scored += 1
                if asked == MADE and numbers[GO_ON] != 0:
                    n_scored -= 1
                if asked in (MADE, LEAPT) and numbers[GO_ON] != 0:
                    scratch.known[batch.nodes[i]] = False
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


@inner_kernel(allocates=False, called_once=True)
def look_at(rows, joint, criterion, graph, batch, i, n_slots, asked, scratch):  # type: ignore[no-untyped-def]
    """Score candidate i of a batch, move there or back; return how many configurations, 0 if there is no room for them.

    Of no slots, that is the graph as it is.
    """
    last = scratch.last
    if asked == MEASURED and criterion.whole and rows.weights.shape[0] == 0:
        n_low = _passes.count_low(joint.gap, criterion.high_gap, criterion.low_gap)
        if n_low >= 0:
            low_loss = criterion.maximum - criterion.low_value
            total = criterion.maximum * rows.tested_weight - low_loss * n_low
            batch.scores[i] = total / criterion.divisor - batch.penalties[i]
            return np.int64(1)
    size = last[2] if asked == MADE else make_table(rows, graph, batch, i, n_slots, scratch)
    last[2] = size
    if size == 0:
        return size
    last[1] = i
    if asked == BACK:
        for cell in range(rows.n_folds * size * rows.cards[rows.target]):
            scratch.terms[cell] = -scratch.terms[cell]
            if scratch.zeros.shape[0] > 0:
                scratch.zeros[cell] = -scratch.zeros[cell]
    if asked >= MOVED:
        _passes.add_table(
            rows.bounds, rows.n_folds * rows.cards[rows.target], joint.values, joint.zeros, scratch.configuration,
            size, scratch.terms, scratch.zeros, joint.gap, joint.rival, joint.second_gap, joint.lowest, joint.highest,
            scratch.by_class,
        )  # fmt: skip
    else:
        batch.scores[i] = score_table(rows, joint, criterion, size, batch.penalties[i], batch.at_least[i], scratch)
    return size


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


@inner_kernel(allocates=False, called_once=True)
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
    elif n_slots > 0:
        _deltas.count(scratch.configuration, rows.bounds, rows.weights, n_classes, size, scratch.counts)
    else:  # the only configuration of no features occurs
        for i in range((n_folds + 1) * n_classes):
            scratch.counts[i] = 1
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
        # Where only configurations that occur are numbered, other candidates have other numbers.
        keeps = not put_in and not placed and n_folds * wide <= scratch.kept.shape[1]
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


@inner_kernel(allocates=False, called_once=True)
def score_table(rows, joint, criterion, size, penalty, at_least, scratch):  # type: ignore[no-untyped-def]
    """The score that a table leads to, or -inf as soon as it is known to be below `at_least`.

    The total starts where every row has the largest value, and only falls: so it bounds the score all the way.
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
    """As `score_table`, of a gain that gaps tell something of."""
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
                scratch.low, scratch.ends[2 * s], scratch.ends[2 * s + 1], pending, scratch.found,
            )  # fmt: skip
            done, n_pending = 0, scratch.found[0]
            if n_pending > 0 and criterion.droppable and total / divisor - penalty < at_least:
                return -np.inf
            while done < n_pending:
                upto = done + block if n_pending - done > block else n_pending
                n = _passes.settle(
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
