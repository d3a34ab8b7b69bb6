"""Messages between the cliques of a network, each computed once for all rows that share its factors.

A message is the product of the factors in the bucket of a variable, summed over that variable. Its factors are listed
by number: tables as instantiated by rows, and other messages. Rows whose lists agree share the message. Products are
taken of plain numbers as long as known bounds rule out underflow and overflow, otherwise of logarithms. If the bounds
grow wide, the largest number is moved out of the message.
"""

from __future__ import annotations

import numpy as np

from bnplug.compiling import inner_kernel
from bnplug.inference._flat_tables import LOG, PLAIN, TABLE, record

# A place of a hash table: a list of factors, as the number of a shorter list and the factor that it adds; the list's
# own number, or 0 at a free place; the message of a bucket with these factors, or 0.
SLOT = record("shorter unit number message")

# How much of a memo's arrays is in use; how many numbers behind these the products of a message take at most; the last
# message, or 0; how many rows were done, messages asked for, and computed; the number of the first message; where
# logarithms of tables begin in its numbers; a number that no bucket had before. Of the last row: what became of it, and
# the sum of its messages' scales.
USED = record(
    "lists factors axes strides numbers spare last rows asked computed units logs stamp outcome weights",
    numbers="scale",
)

#: What became of a row: there was no room in the memo, or a table would have been too large.
DONE, FULL, TOO_LARGE = 0, 1, 2

# Numbers within e**-600 .. e**600 are multiplied as they are: float64 ends at about e**-708 and e**709.
RANGE = 600.0

# Bounds wider than this are replaced by those that a message really has.
_WIDE = 250.0


#: What a message does with its variable, and whether the order of elimination changes between calls.
SUM, SUM_ANY_ORDER, MAX_ANY_ORDER = 0, 1, 2


@inner_kernel(allocates=False)
def send_messages(nodes, order, target, max_cells, memo, n_factors, mode):  # type: ignore[no-untyped-def]
    """Sum or maximize over the variables in `order`; the remaining factors are in the bucket of the target.

    Returns what became of the row.
    """
    variables, axes, factors, _, slots, _, counters = memo
    used = counters[0]
    used.scale = 0.0
    for v in order:
        if variables[v].bucket < 0:
            continue
        used.asked += 1
        # Messages of different variables, and sums and maxima, have different keys.
        key = -1 - v - (nodes.shape[0] if mode == MAX_ANY_ORDER else 0)
        place = _find(slots, used, factors, variables[v].bucket, key)
        if place < 0:
            return FULL
        if slots[place].message == 0:
            outcome = _compute(nodes, v, target, max_cells, memo, slots[place], mode == MAX_ANY_ORDER)
            if outcome != DONE:
                return outcome
        factors[n_factors] = factors[slots[place].message]
        factor = factors[n_factors]
        used.scale += factor.scale
        if mode != SUM:
            factor.next = _first_of(nodes, axes, factor, target)
        factor.following, variables[factor.next].bucket = variables[factor.next].bucket, n_factors
        n_factors += 1
    return DONE


@inner_kernel(allocates=False)
def _first_of(nodes, axes, factor, target):  # type: ignore[no-untyped-def]
    """Return the variable of a factor that is eliminated first; the target if none is."""
    first = target
    for i in range(factor.axes, factor.axes_end):
        u = axes[i].variable
        if nodes[u].rank >= 0 and (first == target or nodes[u].rank < nodes[first].rank):
            first = u
    return first


@inner_kernel(allocates=False)
def _find(slots, used, factors, f, key):  # type: ignore[no-untyped-def]
    """Return the place of the list of factors in the bucket that begins with f, or -1 if there is none left."""
    mask = slots.shape[0] - 1
    place, number = np.int64(0), key
    while f >= 0:
        unit = factors[f].unit
        place = ((((number * 1_000_003) ^ unit) & 0x7FFFFFFF) * 2_654_435_769 >> 15) & mask
        slot = slots[place]
        while slot.number > 0 and (slot.shorter != number or slot.unit != unit):
            place = (place + 1) & mask
            slot = slots[place]
        if slot.number == 0:
            if 2 * used.lists > mask:
                return np.int64(-1)
            used.lists += 1
            slot.shorter, slot.unit, slot.number = number, unit, used.lists
        number = slot.number
        f = factors[f].following
    return place


@inner_kernel(allocates=False)
def _compute(nodes, v, target, max_cells, memo, slot, maximize):  # type: ignore[no-untyped-def]
    """Add the message of v's bucket to the memo."""
    variables, axes, factors, strides, _, numbers, counters = memo
    used, card = counters[0], nodes[v].card
    # A bucket has at most all tables and all messages.
    if used.factors + 2 * nodes.shape[0] > factors.shape[0] or used.axes + nodes.shape[0] > axes.shape[0]:
        return FULL
    message = factors[used.factors]
    message.variable, message.unit, message.next = v, used.units + slot.number, target
    message.parts = used.factors + 1
    _open(variables, v, factors, message, used)
    size = _lay_axes(nodes, v, variables, target, axes, factors, message, used.stamp, max_cells)
    if size < 0:
        return TOO_LARGE
    n_parts, n_axes = message.parts_end - message.parts, message.axes_end - message.axes
    width = axes[message.axes].size if n_axes > 0 else np.int64(1)
    message.start, message.size = used.numbers, size
    # Behind the message: its sums along the first axis, and blocks of products.
    spare = max(used.spare, width * (1 + card * (n_parts + 1)))
    if used.strides + n_parts * n_axes > strides.shape[0] or used.numbers + size + spare > numbers.shape[0]:
        return FULL
    _lay_parts(variables, v, axes, factors, strides, message, used)
    message.plain = message.low > -RANGE and message.high < RANGE
    _fill(card, width, message, axes, factors, strides, numbers, used.logs, maximize)
    # The sum has at most as many terms as the variable has states.
    message.high += nodes[v].log_card
    message.kind, message.scale = PLAIN, 0.0
    if not message.plain or message.low < -_WIDE or message.high > _WIDE:
        _rescale(numbers, message)
    used.computed += 1
    message.previous, used.last, used.spare = used.last, used.factors, spare
    slot.message = used.factors
    used.factors = message.parts_end
    used.axes = message.axes_end
    used.strides += n_parts * n_axes
    used.numbers += size
    return DONE


@inner_kernel(allocates=False)
def _open(variables, v, factors, message, used):  # type: ignore[no-untyped-def]
    """Count the factors in v's bucket, and add up their bounds."""
    used.stamp += 1
    message.low = message.high = 0.0
    message.parts_end = message.parts
    f = variables[v].bucket
    while f >= 0:
        message.low += factors[f].low
        message.high += factors[f].high
        message.parts_end += 1
        f = factors[f].following
    message.axes = message.axes_end = used.axes


@inner_kernel(allocates=False)
def _lay_axes(nodes, v, variables, target, axes, factors, message, stamp, max_cells):  # type: ignore[no-untyped-def]
    """Append the axes of the separator (v's bucket without v) by rank; return its number of cells, -1 if too many."""
    first, end, room = message.axes, message.axes, max_cells // nodes[v].card
    variables[v].stamp = stamp
    f = variables[v].bucket
    while f >= 0:
        for i in range(factors[f].axes, factors[f].axes_end):
            u = axes[i].variable
            if variables[u].stamp != stamp:
                variables[u].stamp = stamp
                # Divide the limit instead of multiplying sizes, whose product might overflow.
                room //= nodes[u].card
                if room == 0:
                    return np.int64(-1)
                place = end
                while place > first and nodes[axes[place - 1].variable].rank > nodes[u].rank:
                    axes[place].variable = axes[place - 1].variable
                    place -= 1
                axes[place].variable = u
                end += 1
        f = factors[f].following
    message.axes_end = end
    size = np.int64(1)
    for i in range(first, end):
        u = axes[i].variable
        variables[u].place = i - first
        axes[i].stride, axes[i].size = size, nodes[u].card
        size *= nodes[u].card
        if message.next == target and nodes[u].rank >= 0:
            message.next = u
    # As in tables, the first two that will be summed out swap places.
    if end > first + 1 and nodes[axes[first].variable].rank >= 0:
        axes[first].stride, axes[first + 1].stride = axes[first + 1].size, np.int64(1)
    return size


@inner_kernel(allocates=False)
def _lay_parts(variables, v, axes, factors, strides, message, used):  # type: ignore[no-untyped-def]
    """Copy the factors in v's bucket to the message's parts, which change least often first, with strides."""
    n_axes = message.axes_end - message.axes
    row, end = used.strides, message.parts
    f = variables[v].bucket
    while f >= 0:
        factor = factors[f]
        factor.offset, factor.depth, factor.inner, factor.strides = factor.start, n_axes, 0, row
        for i in range(row, row + n_axes):
            strides[i] = 0
        for i in range(factor.axes, factor.axes_end):
            if axes[i].variable == v:
                factor.step = axes[i].stride
                continue
            place = variables[axes[i].variable].place
            strides[row + place] = axes[i].stride
            if place == 0:
                factor.inner = axes[i].stride
            elif place < factor.depth:
                factor.depth = place
        row += n_axes
        k = end
        while k > message.parts and factors[k - 1].depth < factor.depth:
            factors[k] = factors[k - 1]
            k -= 1
        factors[k] = factor
        end += 1
        f = factor.following


@inner_kernel(allocates=False)
def _fill(card, width, message, axes, factors, strides, numbers, logs, maximize):  # type: ignore[no-untyped-def]
    """Fill a message: the product of its parts, reduced over its variable; if not plain, the logarithm of that.

    The sums along its first axis are taken at once, from blocks of products, axes (variable, first axis), that are
    extended part by part: most stay as they are from one state of the other axes to the next.
    """
    sums = message.start + message.size
    for i in range(sums + width, sums + width + card * width):
        numbers[i] = 1.0
    stride = axes[message.axes].stride if message.size > 1 else np.int64(0)
    changed = begin(message, axes)
    while changed >= 0:
        if message.plain:
            block = multiply(numbers, message, message.parts_end - 1, factors, card, width, sums + width, changed)
            if maximize:
                _maximize(numbers, factors[message.parts_end - 1], block, sums, card, width)
            else:
                times(numbers, factors[message.parts_end - 1], block, sums, np.int64(0), card, width)
        else:
            _sum_logs(numbers, message, factors, card, width, sums, logs, maximize)
        for j in range(width):
            numbers[message.offset + j * stride] = numbers[sums + j]
        changed = advance(message, axes, factors, strides)


@inner_kernel(allocates=False)
def begin(message, axes):  # type: ignore[no-untyped-def]
    """Go to the first state of all axes; return how many there are: for `advance`, all of them have changed."""
    message.offset = message.start
    for i in range(message.axes, message.axes_end):
        axes[i].state = 0
    return message.axes_end - message.axes


@inner_kernel(allocates=False)
def advance(message, axes, factors, strides):  # type: ignore[no-untyped-def]
    """Go to the next state of a message's axes but the first; return the last axis that changed, -1 at the end."""
    for i in range(1, message.axes_end - message.axes):
        axis = axes[message.axes + i]
        axis.state += 1
        steps = np.int64(1)
        if axis.state == axis.size:
            axis.state = 0
            steps -= axis.size
        message.offset += steps * axis.stride
        for b in range(message.parts, message.parts_end):
            factors[b].offset += steps * strides[factors[b].strides + i]
        if axis.state > 0:
            return i
    return np.int64(-1)


@inner_kernel(allocates=False)
def multiply(numbers, message, end, factors, card, width, block, changed):  # type: ignore[no-untyped-def]
    """Multiply the parts up to `end`, with blocks behind a `block` of ones; return where the block of products is."""
    for b in range(message.parts, end):
        if factors[b].depth <= changed:
            times(numbers, factors[b], block, block + card * width, width, card, width)
        block += card * width
    return block


@inner_kernel(allocates=False)
def times(numbers, part, source, to, step, card, width):  # type: ignore[no-untyped-def]
    """Multiply a block, axes (variable, first axis), with a part. Where step is 0, sum over the variable."""
    offset, inner, apart = part.offset, part.inner, part.step
    for i in range(card):
        given, product, factor = numbers[source : source + width], numbers[to : to + width], numbers[offset:]
        if inner == 1 and (i == 0 or step > 0):
            for j in range(width):
                product[j] = given[j] * factor[j]
        elif inner == 1:
            for j in range(width):
                product[j] += given[j] * factor[j]
        elif i == 0 or step > 0:
            for j in range(width):
                product[j] = given[j] * factor[j * inner]
        else:
            for j in range(width):
                product[j] += given[j] * factor[j * inner]
        source += width
        to += step
        offset += apart


@inner_kernel(allocates=False)
def _maximize(numbers, part, source, to, card, width):  # type: ignore[no-untyped-def]
    """Multiply a block, axes (variable, first axis), with a part; take the maximum over the variable."""
    for j in range(width):
        largest = 0.0
        for i in range(card):
            place = part.offset + i * part.step + j * part.inner
            largest = max(largest, numbers[source + i * width + j] * numbers[place])
        numbers[to + j] = largest


@inner_kernel(allocates=False)
def log_product(numbers, message, factors, i, j, logs):  # type: ignore[no-untyped-def]
    """The sum of the logarithms of the parts, at state i of the variable and j of the first axis."""
    total = 0.0
    for b in range(message.parts, message.parts_end):
        part = factors[b]
        place = part.offset + i * part.step + j * part.inner
        if part.kind == PLAIN:
            total += np.log(numbers[place])
        else:
            total += numbers[place + logs if part.kind == TABLE else place]
    return total


@inner_kernel(allocates=False)
def _sum_logs(numbers, message, factors, card, width, sums, logs, maximize):  # type: ignore[no-untyped-def]
    """numbers[sums + j] = the logarithm of the reduced products of the variable, at state j of the first axis."""
    for j in range(width):
        largest, total = -np.inf, 0.0
        for i in range(card):
            value = log_product(numbers, message, factors, i, j, logs)
            if value > largest:
                total = total * np.exp(largest - value) + 1.0
                largest = value
            elif value > -np.inf:
                total += np.exp(value - largest)
        numbers[sums + j] = largest if maximize else largest + np.log(total)


@inner_kernel(allocates=False)
def _rescale(numbers, message):  # type: ignore[no-untyped-def]
    """Move the largest number out of a message; make it plain if its range allows, else logarithms."""
    values = numbers[message.start : message.start + message.size]
    largest, smallest = -np.inf, np.inf
    for i in range(message.size):
        if message.plain:
            values[i] = np.log(values[i])
        if values[i] > -np.inf:
            largest, smallest = max(largest, values[i]), min(smallest, values[i])
    if largest == -np.inf:
        largest = smallest = 0.0
    message.scale, message.low, message.high = largest, smallest - largest, 0.0
    message.kind = PLAIN if message.low > -RANGE else LOG
    for i in range(message.size):
        values[i] -= largest
        if message.kind == PLAIN:
            values[i] = np.exp(values[i])
