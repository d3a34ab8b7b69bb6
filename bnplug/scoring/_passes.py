"""One pass over the rows for a candidate: the sum of the gain, given the candidate's table.

Most rows are decided without their log joint. A row's *gap* is the log joint of its class minus that of the best rival;
the row's configuration bounds the change of the gap from below and above. On a plateau of the gain the value is known,
and if no configuration can move any gap of a block of rows off its plateau, the whole block is skipped. Only rows whose
new gap may be on no plateau are given to the gain itself.
"""

from __future__ import annotations

import numpy as np
from numba import types

from bnplug.compiling import inner_kernel
from bnplug.compiling._addresses import called_by_address
from bnplug.scoring._gains import gain_at

#: The number of rows of a segment in a block.
BLOCK_ROWS = 64

# Factors that make a number smaller, or larger, after rounding to 32 bits.
_BELOW, _ABOVE = 1.0 - 2.0**-23, 1.0 + 2.0**-23


@inner_kernel(allocates=False)
def find_thresholds(counts, terms, zeros, n_folds, size, n_classes, high_gap, low_gap, high, low, ends):  # type: ignore[no-untyped-def]
    """Fill, for [fold, configuration, class], the gap above which the new gap is high, and below which it is low.

    ends: [fold, class, 2], the largest of the first and the smallest of the second, over configurations that occur;
    nan if one of them is nan.
    A zero that is added makes a class -inf; one that is removed may or may not revive it. The limit is then nan or
    infinite.
    Limits and gaps have 32 bits. If a gap is strictly above or below a limit, this also holds before rounding; equality
    decides nothing, not even of infinities. high is rounded up: a change alters a gap by at least high_gap - high.
    """
    counted = zeros.shape[0] > 0
    if n_classes == 2 and not counted:
        _find_two_thresholds(counts, terms, n_folds, size, high_gap, low_gap, high, low, ends)
        return
    for s in range(n_folds * n_classes):
        ends[2 * s], ends[2 * s + 1] = -np.inf, np.inf
    f = np.int64(-1)
    left = np.int64(0)
    for row in range(n_folds * size):
        # Counted down, since a division takes longer than all the rest.
        f += left == 0
        left = size - 1 if left == 0 else left - 1
        cell = row * n_classes
        top = second = -np.inf
        bottom = last_but_one = np.inf
        occurring = np.int64(0)
        for c in range(n_classes):
            occurring |= counts[cell + c]
            least = most = terms[cell + c]
            if counted and zeros[cell + c] != 0:
                least = -np.inf
                most = -np.inf if zeros[cell + c] > 0 else np.inf
            beaten = most if most < top else top
            second = beaten if beaten > second else second
            top = most if most > top else top
            beaten = least if least > bottom else bottom
            last_but_one = beaten if beaten < last_but_one else last_but_one
            bottom = least if least < bottom else bottom
        for c in range(n_classes if occurring > 0 else 0):
            least = most = terms[cell + c]
            if counted and zeros[cell + c] != 0:
                least = -np.inf
                most = -np.inf if zeros[cell + c] > 0 else np.inf
            rise = least - (second if most == top else top)
            fall = most - (last_but_one if least == bottom else bottom)
            s = f * n_classes + c
            high_from = high_gap - rise if rise > -np.inf else np.nan
            low_upto = low_gap - fall if fall < np.inf else np.nan
            high[cell + c], low[cell + c] = raised(high_from), low_upto
            # nan stays: no gap decides all rows then, not even an infinite one.
            largest, smallest = ends[2 * s], ends[2 * s + 1]
            ends[2 * s] = largest if (largest >= high_from) | (largest != largest) else high_from
            ends[2 * s + 1] = smallest if (smallest <= low_upto) | (smallest != smallest) else low_upto


@inner_kernel(allocates=False)
def raised(value):  # type: ignore[no-untyped-def]
    """Return a number that is not below `value` after rounding to 32 bits."""
    return value * (_ABOVE if value > 0 else _BELOW)


@inner_kernel(allocates=False)
def lowered(value):  # type: ignore[no-untyped-def]
    """Return a number that is not above `value` after rounding to 32 bits."""
    return value * (_BELOW if value > 0 else _ABOVE)


@inner_kernel(allocates=False)
def _find_two_thresholds(counts, terms, n_folds, size, high_gap, low_gap, high, low, ends):  # type: ignore[no-untyped-def]
    """Do the same for two classes without zeros, whose gaps change by opposite amounts."""
    for f in range(n_folds):
        least = most = np.float64(np.nan)
        for row in range(f * size, f * size + size):
            rise = terms[2 * row] - terms[2 * row + 1]
            high[2 * row], high[2 * row + 1] = raised(high_gap - rise), raised(high_gap + rise)
            low[2 * row], low[2 * row + 1] = low_gap - rise, low_gap + rise
            occurs = (counts[2 * row] | counts[2 * row + 1]) > 0
            least = rise if occurs and not least <= rise else least
            most = rise if occurs and not most >= rise else most
        ends[4 * f], ends[4 * f + 1] = high_gap - least, low_gap - most
        ends[4 * f + 2], ends[4 * f + 3] = high_gap + most, low_gap + least


@inner_kernel(allocates=False)
def decide(  # type: ignore[no-untyped-def]
    start, stop, block, first, n_classes, weights, gap, lowest, highest, number, high, low, all_high, all_low, pending,
    n_pending,
):  # fmt: skip
    """Put the rows that their gap alone does not decide into `pending`; return the weight of certainly low rows.

    The rows start to stop are of one segment, whose cells are first, first + n_classes, ..., and begin with this
    `block`. n_pending[0]: the number of pending rows. No inner loop branches: every row is written to `pending`, and
    overwritten by the next one if it was decided.
    """
    weighted = weights.shape[0] > 0
    weight = np.int64(0)
    n, cell = np.uint64(0), np.uint64(first)
    while start < stop:
        end = start + BLOCK_ROWS if stop - start > BLOCK_ROWS else stop
        if highest[block] < all_low and not weighted:
            weight += end - start
        elif not lowest[block] > all_high:
            for m in range(np.uint64(start), np.uint64(end)):
                k = cell + np.uint64(number[m]) * np.uint64(n_classes)
                is_low = gap[m] < low[k]
                weight += is_low * weights[m] if weighted else np.int64(is_low)
                pending[n] = m
                n += np.uint64(not (is_low | (gap[m] > high[k])))
        start = end
        block += 1
    n_pending[0] = n
    return weight


@inner_kernel(allocates=False)
def count_low(gap, high_gap, low_gap):  # type: ignore[no-untyped-def]
    """Return the number of low rows; -1 if some gap is neither low nor high, or there are no rows."""
    high_from, low_upto = np.float32(high_gap), np.float32(low_gap)
    n_low = n_high = np.int64(0)
    for m in range(gap.shape[0]):
        n_low += gap[m] < low_upto
        n_high += gap[m] > high_from
    return n_low if 0 < gap.shape[0] == n_low + n_high else -1


@inner_kernel(allocates=False)
def collect_undecided(  # type: ignore[no-untyped-def]
    start, stop, pending, y, first, weights, rival, second_gap, values, dead, number, terms, zeros, high,
    high_gap, low_gap, slope, low_loss, joint, labels, weight_of, short,
):  # fmt: skip
    """Collect the pending rows that are on no plateau and no slope, for the gain; return their number.

    They are of class y, and go to joint, labels, weight_of (block of rows). short[0]: by how much the other rows fall
    short of the largest value. A row's best rival is examined first, exactly, and the others by the second gap.
    """
    n_classes, counted, sloped = values.shape[1], zeros.shape[0] > 0, slope == slope
    low_weight = 0
    fallen = 0.0
    n = 0
    for i in range(start, stop):
        m = pending[i]
        cell = first + number[m] * n_classes
        weight = 1 if weights.shape[0] == 0 else weights[m]
        if not counted:
            c, from_gap = rival[m], np.float64(high[cell + y])
            ahead = values[m, y] - values[m, c] + terms[cell + y] - terms[cell + c]
            if ahead <= low_gap:
                low_weight += weight
                continue
            # A change alters the gap by at least high_gap - from_gap: no other class comes closer than this.
            if sloped and ahead <= second_gap[m] + (high_gap - from_gap):
                fallen += weight * slope * (high_gap - ahead) if ahead < high_gap else 0.0
                continue
            if ahead >= high_gap and second_gap[m] >= from_gap:
                continue
        true = largest = -np.inf
        for c in range(n_classes):
            gone = counted and dead[m, c] + zeros[cell + c] > 0
            new = joint[n, c] = -np.inf if gone else values[m, c] + terms[cell + c]
            true = new if c == y else true
            largest = new if c != y and new > largest else largest
        ahead = true - largest
        low_weight += weight if ahead <= low_gap else 0
        if sloped and ahead < high_gap:
            fallen += weight * slope * (high_gap - ahead)
        elif not (ahead <= low_gap or ahead >= high_gap):
            labels[n] = y
            if weight_of.shape[0] > 0:
                weight_of[n] = np.float64(weight)
            n += 1
    short[0] = low_weight * low_loss + fallen
    return n


@inner_kernel(allocates=False)
def fill(start, stop, bounds, weights, values, dead, number, size, terms, zeros, joint, weight_of):  # type: ignore[no-untyped-def]
    """Put the new log joints of rows start to stop into joint, and their weights into weight_of (block of rows)."""
    n_classes, origin = np.uint64(values.shape[1]), np.uint64(start)
    if weights.shape[0] > 0:
        for m in range(np.uint64(start), np.uint64(stop)):
            weight_of[m - origin] = weights[m]
    s = 0
    while start < stop:
        # Fold by fold: the cells of a configuration are then the same for all classes.
        while bounds[s + values.shape[1]] <= start:
            s += values.shape[1]
        end = bounds[s + values.shape[1]] if bounds[s + values.shape[1]] < stop else stop
        first = np.uint64(s // values.shape[1] * size)
        if values.shape[1] == 2:
            # A loop over two classes would take longer than what it does.
            for m in range(np.uint64(start), np.uint64(end)):
                cell = (first + np.uint64(number[m])) * np.uint64(2)
                one, two = values[m, 0] + terms[cell], values[m, 1] + terms[cell + np.uint64(1)]
                joint[m - origin, 0], joint[m - origin, 1] = one, two
        else:
            for m in range(np.uint64(start), np.uint64(end)):
                cell = (first + np.uint64(number[m])) * n_classes
                for c in range(n_classes):
                    joint[m - origin, c] = values[m, c] + terms[cell + c]
        if zeros.shape[0] > 0:
            for m in range(np.uint64(start), np.uint64(end)):
                cell = (first + np.uint64(number[m])) * n_classes
                for c in range(n_classes):
                    if dead[m, c] + zeros[cell + c] > 0:
                        joint[m - origin, c] = -np.inf
        start = end


_WHOLE, _REAL, _SMALL = types.int64[::1], types.float64[::1], types.int16[::1]
_FILL = types.void(
    types.int64, types.int64, _WHOLE, _WHOLE, types.float64[:, ::1], types.int16[:, ::1], types.uint32[::1],
    types.int64, _REAL, _SMALL, types.float64[:, ::1], _REAL,
)  # fmt: skip

#: `fill` is called by its address: it is compiled only for gains without a plateau.
fill_at, fill_address = called_by_address(fill, _FILL)


@inner_kernel(allocates=False)
def ask(gain, params, maximum, n, joint, labels, weight_of, values):  # type: ignore[no-untyped-def]
    """Return by how much n rows fall short of the largest value; `values` are nan before and after."""
    gain_at(gain)(joint[:n], labels[:n], params, values[:n])
    # Four sums: each waits for its last addition.
    one = two = three = four = 0.0
    whole = np.uint64(n // 4 * 4) if weight_of.shape[0] == 0 else np.uint64(0)
    for i in range(whole, np.uint64(n)):
        one += (maximum - values[i]) * (1.0 if weight_of.shape[0] == 0 else weight_of[i])
        values[i] = np.nan
    for i in range(np.uint64(0), whole, np.uint64(4)):
        a, b, c = i + np.uint64(1), i + np.uint64(2), i + np.uint64(3)
        one += maximum - values[i]
        two += maximum - values[a]
        three += maximum - values[b]
        four += maximum - values[c]
        values[i] = values[a] = values[b] = values[c] = np.nan
    return one + two + three + four


@inner_kernel(allocates=False)
def add_table(  # type: ignore[no-untyped-def]
    bounds, n_segments, values, dead, number, size, terms, zeros, gap, rival, second_gap, lowest, highest, columns
):
    """Add a table to the log joint and, if the gain has plateaus, update gaps and rivals.

    columns: scratch for the log joints of a block by class, and four more rows, of which the last is -inf.
    """
    n_classes, counted, gapped = np.uint64(values.shape[1]), zeros.shape[0] > 0, gap.shape[0] > 0
    b = 0
    for s in range(n_segments):
        first = np.uint64(s // values.shape[1] * size)
        start, end = np.uint64(bounds[s]), np.uint64(bounds[s + 1])
        while start < end:
            stop = start + np.uint64(BLOCK_ROWS) if end - start > np.uint64(BLOCK_ROWS) else end
            for m in range(start, stop):
                cell = (first + np.uint64(number[m])) * n_classes
                if gapped:
                    for c in range(n_classes):
                        columns[c, m - start] = values[m, c] = values[m, c] + terms[cell + c]
                else:
                    for c in range(n_classes):
                        values[m, c] += terms[cell + c]
            if counted:
                for m in range(start, stop):
                    cell = (first + np.uint64(number[m])) * n_classes
                    for c in range(n_classes):
                        dead[m, c] += zeros[cell + c]
                        columns[c, m - start] = -np.inf if dead[m, c] > 0 else columns[c, m - start]
            if gapped:
                find_gaps(columns, start, stop, s % values.shape[1], gap, rival, second_gap)
                find_ends(gap, start, stop, lowest, highest, b)
            start = stop
            b += 1


@inner_kernel(allocates=False)
def find_gaps(columns, start, stop, y, gap, rival, second_gap):  # type: ignore[no-untyped-def]
    """Fill the gaps and the rivals of the rows start to stop, of class y, from their log joints [class, row].

    Four rivals at a time: the largest of two pairs, then of both, and then of all so far.
    """
    n, n_classes = stop - start, columns.shape[0] - 4
    true, largest, second, best = columns[y], columns[n_classes], columns[n_classes + 1], columns[n_classes + 2]
    for i in range(n):
        largest[i] = second[i] = -np.inf
        best[i] = 0.0 if y > 0 else 1.0
    for k in range(0, n_classes - 1, 4):
        a, b, c, d = k + (k >= y), k + 1 + (k + 1 >= y), k + 2 + (k + 2 >= y), k + 3 + (k + 3 >= y)
        none = n_classes + 3
        of_a, of_b = columns[a], columns[b if b < n_classes else none]
        of_c, of_d = columns[c if c < n_classes else none], columns[d if d < n_classes else none]
        for i in range(n):
            later, last = of_b[i] > of_a[i], of_d[i] > of_c[i]
            one, beaten_one, who = (of_b[i], of_a[i], b) if later else (of_a[i], of_b[i], a)
            two, beaten_two, other = (of_d[i], of_c[i], d) if last else (of_c[i], of_d[i], c)
            rest = beaten_one if beaten_one > beaten_two else beaten_two
            later = two > one
            high, low, who = (two, one, other) if later else (one, two, who)
            rest = low if low > rest else rest
            before, further = largest[i], second[i]
            larger = high > before
            rest = further if further > rest else rest
            beaten = before if larger else high
            best[i] = who if larger else best[i]
            largest[i] = high if larger else before
            second[i] = beaten if beaten > rest else rest
    for i in range(n):
        gap[start + i], rival[start + i] = np.float32(true[i] - largest[i]), np.uint32(best[i])
        # Rounded down: decisions hold for the larger value.
        second_gap[start + i] = np.float32(lowered(true[i] - second[i]))


@inner_kernel(allocates=False)
def find_ends(gap, start, stop, lowest, highest, b):  # type: ignore[no-untyped-def]
    """Fill the smallest and the largest of the gaps start to stop; nan if one of them is nan."""
    one_least = two_least = one_most = two_most = gap[stop - np.uint64(1)]
    undefined = one_most != one_most
    # Two at a time: each comparison waits for the last one.
    for m in range(start, stop - np.uint64(1), np.uint64(2)):
        one, two = gap[m], gap[m + np.uint64(1)]
        one_least = one if one < one_least else one_least
        two_least = two if two < two_least else two_least
        one_most = one if one > one_most else one_most
        two_most = two if two > two_most else two_most
        undefined |= (one != one) | (two != two)
    lowest[b] = np.nan if undefined else (one_least if one_least < two_least else two_least)
    highest[b] = np.nan if undefined else (one_most if one_most > two_most else two_most)
