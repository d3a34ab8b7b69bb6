"""One pass over the rows for a candidate: what its table makes of the gains.

Most rows are decided without their log joint. A row's *gap* is the log joint of its class minus that of the best rival;
what a change can do to it at least and at most follows from the row's configuration. Where the gain has a plateau, its
value is known; where the gaps of a block of rows are such that no configuration brings one off its plateau, none of
them is looked at. Only the other rows are, and only those whose new gap is on no plateau are given to the gain itself.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from numba import config, types

from bnplug.compiling import inner_kernel, interrupts_held_back
from bnplug.compiling._addresses import compile_at, function_at
from bnplug.scoring._compiled_gains import gain_at

#: The rows of a segment go by in blocks of so many.
BLOCK_ROWS = 64

_LARGEST = np.finfo(np.float64).max

# What makes a number of 32 bits smaller, and larger, whatever it is rounded to.
_BELOW, _ABOVE = 1.0 - 2.0**-23, 1.0 + 2.0**-23


@inner_kernel(allocates=False)
def find_thresholds(counts, terms, zeros, n_folds, size, n_classes, high_gap, low_gap, high, low, ends):  # type: ignore[no-untyped-def]
    """Fill, for [fold, configuration, class], from which gap on the new one is high, and up to which it is low.

    ends: [fold, class, 2], the largest of the first and the smallest of the second, over configurations that occur;
    nan where one is.
    A zero that is put in makes a class -inf, one that is taken out may or may not revive it. The infinite limits that
    follow are made finite or nan, so that a gap that is infinite itself decides nothing wrongly.
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
            high_from = -_LARGEST if high_from < -_LARGEST else high_from
            low_upto = _LARGEST if low_upto > _LARGEST else low_upto
            high[cell + c], low[cell + c] = high_from, low_upto
            # nan stays: no gap decides all rows then, not even an infinite one.
            largest, smallest = ends[2 * s], ends[2 * s + 1]
            ends[2 * s] = largest if (largest >= high_from) | (largest != largest) else high_from
            ends[2 * s + 1] = smallest if (smallest <= low_upto) | (smallest != smallest) else low_upto


@inner_kernel(allocates=False)
def _find_two_thresholds(counts, terms, n_folds, size, high_gap, low_gap, high, low, ends):  # type: ignore[no-untyped-def]
    """As `find_thresholds` for two classes without zeros: what raises the gap of one lowers that of the other."""
    for f in range(n_folds):
        least = most = np.float64(np.nan)
        for row in range(f * size, f * size + size):
            rise = terms[2 * row] - terms[2 * row + 1]
            high[2 * row], high[2 * row + 1] = high_gap - rise, high_gap + rise
            low[2 * row], low[2 * row + 1] = low_gap - rise, low_gap + rise
            occurs = (counts[2 * row] | counts[2 * row + 1]) > 0
            least = rise if occurs and not least <= rise else least
            most = rise if occurs and not most >= rise else most
        ends[4 * f], ends[4 * f + 1] = high_gap - least, low_gap - most
        ends[4 * f + 2], ends[4 * f + 3] = high_gap + most, low_gap + least


@inner_kernel(allocates=False)
def decide(bounds, weights, gap, lowest, highest, number, size, n_classes, high, low, ends, pending, found):  # type: ignore[no-untyped-def]
    """Put the rows that their gap alone does not decide into `pending`; return what those weigh that are low for sure.

    found: those of segment s end at found[s + 1]. No inner loop branches: every row is written to `pending`, and the
    next one over it where it was decided.
    """
    weighted = weights.shape[0] > 0
    weight = np.int64(0)
    n = np.uint64(0)
    b = 0
    for s in range(found.shape[0] - 1):
        all_high, all_low = ends[2 * s], ends[2 * s + 1]
        first = np.uint64(s // n_classes * size * n_classes + s % n_classes)
        start, end = bounds[s], bounds[s + 1]
        while start < end:
            stop = start + BLOCK_ROWS if end - start > BLOCK_ROWS else end
            if highest[b] <= all_low and not weighted:
                weight += stop - start
            elif not lowest[b] >= all_high:
                for m in range(np.uint64(start), np.uint64(stop)):
                    k = first + np.uint64(number[m]) * np.uint64(n_classes)
                    is_low = gap[m] <= low[k]
                    weight += is_low * weights[m] if weighted else np.int64(is_low)
                    pending[n] = m
                    n += np.uint64(not (is_low | (gap[m] >= high[k])))
            start = stop
            b += 1
        found[s + 1] = n
    return weight


@inner_kernel(allocates=False)
def settle(  # type: ignore[no-untyped-def]
    start, stop, pending, found, weights, gap, rival, second_gap, values, dead, number, size, terms, zeros, high,
    high_gap, low_gap, slope, low_loss, joint, labels, weight_of, short,
):  # fmt: skip
    """Give those of the pending rows to the gain that are on no plateau and no slope; return their number.

    They go to joint, labels, weight_of (block of rows); what the others fall short of the largest value is in short[0].
    A row's best rival so far is looked at first, exactly, and the others by the second gap.
    """
    n_classes, counted, sloped = values.shape[1], zeros.shape[0] > 0, slope == slope
    low_weight = 0
    fallen = 0.0
    n = 0
    s = -1
    y = first = upto = np.int64(0)
    for i in range(start, stop):
        # A division for each row would take longer than all the rest.
        if i >= upto:
            while found[s + 1] <= i:
                s += 1
            y, first, upto = s % n_classes, s // n_classes * size, found[s + 1]
        m = pending[i]
        cell = (first + number[m]) * n_classes
        weight = 1 if weights.shape[0] == 0 else weights[m]
        if not counted:
            ahead, from_gap = gap[m] + terms[cell + y] - terms[cell + rival[m]], high[cell + y]
            if ahead <= low_gap:
                low_weight += weight
                continue
            # What a change can do to the gap at least is high_gap - from_gap: no other class comes closer than this.
            if sloped and ahead <= second_gap[m] + (high_gap - from_gap):
                fallen += weight * slope * (high_gap - ahead) if ahead < high_gap else 0.0
                continue
            if ahead >= high_gap and second_gap[m] >= from_gap:
                continue
        own = largest = -np.inf
        for c in range(n_classes):
            gone = counted and dead[m, c] + zeros[cell + c] > 0
            new = joint[n, c] = -np.inf if gone else values[m, c] + terms[cell + c]
            own = new if c == y else own
            largest = new if c != y and new > largest else largest
        ahead = own - largest
        low_weight += weight if ahead <= low_gap else 0
        if sloped and ahead < high_gap:
            fallen += weight * slope * (high_gap - ahead)
        elif not (ahead <= low_gap or ahead >= high_gap):
            labels[n], weight_of[n] = y, np.float64(weight)
            n += 1
    short[0] = low_weight * low_loss + fallen
    return n


@inner_kernel(allocates=False)
def fill(start, stop, bounds, weights, values, dead, number, size, terms, zeros, joint, labels, weight_of):  # type: ignore[no-untyped-def]
    """Put the new log joints of rows start to stop into joint, labels, weight_of (block of rows)."""
    n_classes, origin = np.uint64(values.shape[1]), np.uint64(start)
    s = 0
    while start < stop:
        while bounds[s + 1] <= start:
            s += 1
        first, end = np.uint64(s // values.shape[1] * size), bounds[s + 1] if bounds[s + 1] < stop else stop
        if values.shape[1] == 2:
            # A loop over two classes would take longer than what it does.
            for m in range(np.uint64(start), np.uint64(end)):
                cell = (first + np.uint64(number[m])) * np.uint64(2)
                joint[m - origin, 0] = values[m, 0] + terms[cell]
                joint[m - origin, 1] = values[m, 1] + terms[cell + np.uint64(1)]
        else:
            for m in range(np.uint64(start), np.uint64(end)):
                cell = (first + np.uint64(number[m])) * n_classes
                for c in range(n_classes):
                    joint[m - origin, c] = values[m, c] + terms[cell + c]
        for m in range(np.uint64(start), np.uint64(end)):
            labels[m - origin] = s % values.shape[1]
        if weights.shape[0] > 0:
            for m in range(np.uint64(start), np.uint64(end)):
                weight_of[m - origin] = weights[m]
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
    types.int64, _REAL, _SMALL, types.float64[:, ::1], _WHOLE, _REAL,
)  # fmt: skip

#: Returns `fill`, inside a kernel that most who use it never need for a gain without a plateau.
fill_at = function_at(_FILL)

if config.DISABLE_JIT:

    def fill_at(address):  # type: ignore[no-untyped-def]
        """Return `fill`, which has no address."""
        return fill


@cache
def fill_address() -> int:
    """Return where `fill` is; it is compiled when a gain without a plateau first needs it."""
    with interrupts_held_back():
        return 0 if config.DISABLE_JIT else int(compile_at(fill.py_func, _FILL, allocates=False).address)


@inner_kernel(allocates=False)
def ask(gain, params, maximum, n, joint, labels, weight_of, values):  # type: ignore[no-untyped-def]
    """Return by how much the first n rows of a block fall short of the largest value, as the gain has it."""
    for i in range(n):
        values[i] = np.nan
    gain_at(gain)(joint[:n], labels[:n], params, values[:n])
    # Four sums: each waits for its last addition.
    one = two = three = four = 0.0
    whole = np.uint64(n // 4 * 4)
    for i in range(whole, np.uint64(n)):
        one += (maximum - values[i]) * weight_of[i]
    for i in range(np.uint64(0), whole, np.uint64(4)):
        a, b, c = i + np.uint64(1), i + np.uint64(2), i + np.uint64(3)
        one += (maximum - values[i]) * weight_of[i]
        two += (maximum - values[a]) * weight_of[a]
        three += (maximum - values[b]) * weight_of[b]
        four += (maximum - values[c]) * weight_of[c]
    return one + two + three + four


@inner_kernel(allocates=False)
def add_table(  # type: ignore[no-untyped-def]
    bounds, n_segments, values, dead, number, size, terms, zeros, gap, rival, second_gap, lowest, highest, columns
):
    """Make a change to the log joint and, where the gain makes use of them, to the gaps and the rivals.

    columns: float64 (classes + 4, BLOCK_ROWS), scratch: the log joints of a block by class, so that what is done to
    them vectorises over rows; and four rows more, of which the last is -inf.
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
                for c in range(n_classes):
                    columns[c, m - start] = values[m, c] = values[m, c] + terms[cell + c]
            if counted:
                for m in range(start, stop):
                    cell = (first + np.uint64(number[m])) * n_classes
                    for c in range(n_classes):
                        dead[m, c] += zeros[cell + c]
                        columns[c, m - start] = -np.inf if dead[m, c] > 0 else columns[c, m - start]
            if gapped:
                find_gaps(columns, start, stop, s % values.shape[1], gap, rival, second_gap)
                least = most = gap[start]
                for m in range(start, stop):
                    least = gap[m] if gap[m] < least or gap[m] != gap[m] else least
                    most = gap[m] if gap[m] > most or gap[m] != gap[m] else most
                lowest[b], highest[b] = least, most
            start = stop
            b += 1


@inner_kernel(allocates=False)
def find_gaps(columns, start, stop, y, gap, rival, second_gap):  # type: ignore[no-untyped-def]
    """Fill the gaps and the rivals of the rows start to stop, of class y, from their log joints [class, row].

    Two rivals at a time.
    """
    n, n_classes = stop - start, columns.shape[0] - 4
    own, largest, second, best = columns[y], columns[n_classes], columns[n_classes + 1], columns[n_classes + 2]
    for i in range(n):
        largest[i] = second[i] = -np.inf
        best[i] = 0.0 if y > 0 else 1.0
    for k in range(0, n_classes - 1, 2):
        a, b = k + (k >= y), k + 1 + (k + 1 >= y)
        one, other = columns[a], columns[b if k + 2 < n_classes else n_classes + 3]
        for i in range(n):
            first, last, before = one[i], other[i], largest[i]
            later = last > first
            high, low = (last, first) if later else (first, last)
            larger = high > before
            beaten = before if larger else high
            rest = second[i] if second[i] > low else low
            best[i] = (b if later else a) if larger else best[i]
            largest[i] = high if larger else before
            second[i] = beaten if beaten > rest else rest
    for i in range(n):
        gap[start + i], rival[start + i] = own[i] - largest[i], np.uint32(best[i])
        # Rounded down: what it decides is true of the larger one.
        further = own[i] - second[i]
        second_gap[start + i] = np.float32(further * (_BELOW if further > 0 else _ABOVE))
