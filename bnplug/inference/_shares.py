"""The way back through the messages of a memo: what was counted of each is shared out to what it is made of.

The messages go up from the tables to the class, and counts come down. A message's count of a state of its separator
is split among the states of the variable that was summed out, in the proportion of their products, and every part of
the message counts its cells. What arrives at the tables are the expected counts of all rows together: messages that
rows share are gone through once.
"""

from __future__ import annotations

import numpy as np

from bnplug.compiling import inner_kernel, kernel
from bnplug.inference._messages import advance, begin, log_product, multiply


@kernel(allocates=False)
def share_out(nodes, memo, counts):  # type: ignore[no-untyped-def]
    """Share the counts of all messages of a memo out, from the last to the first; they are left zero.

    counts: float64, for each of the memo's numbers; those of the tables are added to.
    """
    _, axes, factors, strides, _, numbers, counters = memo
    used = counters[0]
    m = used.last
    while m > 0:
        message = factors[m]
        width = axes[message.axes].size if message.axes_end > message.axes else np.int64(1)
        _share(nodes[message.variable].card, width, message, axes, factors, strides, numbers, used, counts)
        m = message.previous


@inner_kernel(allocates=False)
def _share(card, width, message, axes, factors, strides, numbers, used, counts):  # type: ignore[no-untyped-def]
    """Share the counts of one message out, as blocks of products are gone through to fill it."""
    sums, stride = used.numbers, axes[message.axes].stride if message.size > 1 else np.int64(0)
    for i in range(sums + width, sums + width + card * width):
        numbers[i] = 1.0
    changed = begin(message, axes)
    known = np.int64(-1)
    while changed >= 0:
        known = max(known, changed)
        own, counted = message.offset, False
        for j in range(width):
            counted |= counts[own + j * stride] != 0.0
        if counted:
            if message.plain:
                block = multiply(numbers, message, message.parts_end, factors, card, width, sums + width, known)
            else:
                block = _log_products(numbers, message, factors, card, width, sums + width, used.logs)
            _weigh(numbers, block, card, width, sums, counts, own, stride)
            for b in range(message.parts, message.parts_end):
                _add(counts, factors[b], numbers, block, card, width)
            known = np.int64(-1)
        changed = advance(message, axes, factors, strides)


@inner_kernel(allocates=False)
def _log_products(numbers, message, factors, card, width, block, logs):  # type: ignore[no-untyped-def]
    """Fill a block, axes (variable, first axis), with products, each column divided by its largest; return it."""
    for j in range(width):
        largest = -np.inf
        for i in range(card):
            value = log_product(numbers, message, factors, i, j, logs)
            numbers[block + i * width + j] = value
            largest = max(largest, value)
        for i in range(card):
            place = block + i * width + j
            numbers[place] = np.exp(numbers[place] - largest) if largest > -np.inf else 0.0
    return block


@inner_kernel(allocates=False)
def _weigh(numbers, block, card, width, sums, counts, own, stride):  # type: ignore[no-untyped-def]
    """Scale each column of a block so that it sums to the message's count there, which is set to zero."""
    total = numbers[sums : sums + width]
    for j in range(width):
        total[j] = 0.0
    for i in range(card):
        row = numbers[block + i * width : block + (i + 1) * width]
        for j in range(width):
            total[j] += row[j]
    for j in range(width):
        # What is impossible was not counted.
        total[j] = counts[own + j * stride] / total[j] if total[j] > 0.0 else 0.0
        counts[own + j * stride] = 0.0
    for i in range(card):
        row = numbers[block + i * width : block + (i + 1) * width]
        for j in range(width):
            row[j] *= total[j]


@inner_kernel(allocates=False)
def _add(counts, part, numbers, block, card, width):  # type: ignore[no-untyped-def]
    """Add a block to a part's counts."""
    offset, inner, apart = part.offset, part.inner, part.step
    for i in range(card):
        row, own = numbers[block + i * width : block + (i + 1) * width], counts[offset + i * apart :]
        if inner == 1:
            for j in range(width):
                own[j] += row[j]
        else:
            for j in range(width):
                own[j * inner] += row[j]
