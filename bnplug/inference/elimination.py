"""Bucket elimination: the compiled pass that sums the missing features out of each row.

Observed features are instantiated first, so that every table shrinks to the row's missing part. The
missing features are then eliminated one by one, next always the one with the smallest clique: each collects
the tables that still mention it in its bucket, a clique of the junction tree which that order defines, and
sends their product, summed over itself, to the bucket of the next missing feature in it. The class is kept
to the end, as the last axis of every table that has it.

Products are taken of plain numbers as long as known bounds rule out underflow and overflow, else of
logarithms, with the largest value of each class moved out of the message: that is exact for any number
of features.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from bnplug.arrays import CodeArray, FloatArray, IntArray
from bnplug.compiling import inner_kernel, kernel, run_in_threads
from bnplug.inference._cliques import MAX_CLIQUE_SIZE, too_large
from bnplug.inference._flat_tables import AXIS, flat_tables, record
from bnplug.inference._missing_part import (
    FACTOR,
    LOG,
    PLAIN,
    TABLE,
    VARIABLE,
    collect,
    link,
    mark_needed,
    mark_relevant,
    rank_features,
)
from bnplug.model.log_tables import LogTables

# An axis of the separator, which is what the factors of the open bucket mention besides its variable and
# the class, and the state at which an odometer over it stands.
_SEPARATOR = record("variable size state")

# The open bucket: how many factors it has, and how many of its variable alone; how many axes its separator
# has; whether the class is in it; bounds of the product's logarithms. Its message: where it is, its numbers,
# the last axis (the class, or 1), and whether it is plain. `block`: the variable's states times `width`.
_BUCKET = record("n_members n_single n_axes start size width block", flags="with_class plain", numbers="low high")

# Numbers within e**-600 .. e**600 are multiplied as they are: float64 ends at about e**-708 and e**709.
_RANGE = 600.0

# Rows that a thread takes at a time.
_BLOCK = 1024


class Elimination:
    """The tables of a network, ready to have missing features summed out of them.

    Parameters
    ----------
    tables : LogTables
    target : str
        The class.
    max_clique_size : int
        The number of cells that the largest table may have.
    """

    def __init__(self, tables: LogTables, target: str, max_clique_size: int = MAX_CLIQUE_SIZE) -> None:
        self.tables = tables
        self.max_clique_size = max_clique_size
        # Kernels take a plain tuple of arrays.
        self._flat = tuple(flat_tables(tables, target))

    def add_missing(self, codes: CodeArray, rows: IntArray, joint: FloatArray, n_jobs: int | None = None) -> None:
        """Add to log joints what the tables that mention a missing feature contribute.

        Parameters
        ----------
        codes : unsigned array of shape (variables, rows)
            In the order of the tables' names; the dtype's largest value is missing.
        rows : int64 array
            The rows to do.
        joint : float64 array of shape (rows, classes)
            The sum of all other tables of the class and its children, as :func:`bnplug.inference.complete.log_joint`
            gives it; changed in place.
        n_jobs : int, optional
            Threads, as joblib counts them. The result does not depend on it.

        Raises
        ------
        ValueError
            If a row needs a table of more than `max_clique_size` cells; the message names its variables.
        """
        missing = np.iinfo(codes.dtype).max
        blocks = [rows[start : start + _BLOCK] for start in range(0, len(rows), _BLOCK)]
        cliques = np.full((len(blocks), len(codes)), -1, dtype=np.int64)

        def add(i: int) -> int:
            room = _make_room(len(codes))
            most = self.max_clique_size
            return int(_add_missing(self._flat, codes, missing, blocks[i], most, room, joint, cliques[i]))

        failures = run_in_threads(add, range(len(blocks)), n_jobs=n_jobs)
        for row, clique in zip(failures, cliques, strict=True):
            if row >= 0:
                names = [self.tables.names[v] for v in clique if v >= 0]
                raise too_large(self.tables, names, self.max_clique_size, f"row {row}: ")


def _make_room(n: int) -> tuple[npt.NDArray[Any], ...]:
    """Return the arrays that the elimination of one row after another writes to, for `n` variables."""
    return (
        np.zeros(n, VARIABLE),
        np.empty(n, np.int64),
        np.empty(n, np.int64),
        np.zeros((n, n), np.bool_),
        np.empty(n, np.float64),
        np.zeros(2 * n, FACTOR),
        np.empty(2 * n, np.int64),
        np.zeros(n, _SEPARATOR),
        np.zeros(1, _BUCKET),
    )


@kernel
def _add_missing(flat, codes, missing, rows, max_cells, room, result, clique):  # type: ignore[no-untyped-def]
    """result[m, c] += log of the sum, over row m's missing features, of the tables that mention one of them.

    flat: the fields of FlatTables, as a plain tuple; codes: (variables, all rows); rows: those to do; room: as from
    `_make_room`. Returns the first that needs a table of more than `max_cells` cells, whose variables are then in
    `clique`, else -1.
    """
    nodes, axes, children, leaves_first, values, log_values, target, n_classes = flat
    variables, found, order, linked, sizes, factors, members, separator, buckets = room
    n = nodes.shape[0]
    messages = np.empty(1024, np.float64)
    strides = np.empty(1024, np.int64)
    for m in rows:
        for v in range(n):
            variables[v].state = -1 if codes[v, m] == missing else np.int64(codes[v, m])
        variables[target].state = 0
        mark_needed(nodes, axes, leaves_first, target, variables)
        n_found = mark_relevant(nodes, axes, children, leaves_first, variables, found)
        if n_found == 0:
            continue
        n_axes = link(nodes, axes, variables, found, n_found, linked)
        n_axes += rank_features(nodes, target, variables, found, n_found, linked, sizes, order)
        factor_axes = np.empty(n_axes, AXIS)
        n_factors = collect(nodes, axes, variables, factors, factor_axes)
        # Taken anew for each row: a record does not keep its array alive, a use inside the loop does.
        bucket = buckets[0]
        bucket.start = 0
        for v in order[:n_found]:
            _open_bucket(nodes, variables, v, factors, factor_axes, members, separator, bucket)
            if not _measure(nodes[v], n_classes, separator, bucket, max_cells):
                _name_clique(v, target, separator, bucket, clique)
                return m
            if bucket.n_members * bucket.n_axes > strides.shape[0]:
                strides = np.empty(2 * bucket.n_members * bucket.n_axes, np.int64)
            _lay_strides(variables, factors, factor_axes, members, separator, bucket, strides)
            end = bucket.start + bucket.size + bucket.block * (bucket.n_members - bucket.n_single + 1)
            if end > messages.shape[0]:
                larger = np.empty(2 * end, np.float64)
                _copy(messages, bucket.start, larger)
                messages = larger
            tables = values if bucket.plain else log_values
            _sum_out(tables, messages, factors, factor_axes, members, strides, separator, bucket)
            if bucket.n_axes == 0:
                for c in range(n_classes):
                    message = messages[bucket.start + c]
                    result[m, c] += np.log(message) if bucket.plain else message
                continue
            if not bucket.plain:
                _rescale(messages, bucket, result[m])
            _send(variables, factors, n_factors, factor_axes, separator, bucket)
            n_factors += 1
            bucket.start += bucket.size
    return -1


@inner_kernel
def _open_bucket(nodes, variables, v, factors, factor_axes, members, separator, bucket):  # type: ignore[no-untyped-def]
    """List the factors in v's bucket and the axes of its separator.

    These are descending by rank: the one eliminated next lies beside the class, where its numbers are contiguous.
    """
    bucket.n_members = bucket.n_axes = 0
    bucket.with_class = False
    bucket.low = bucket.high = 0.0
    f = variables[v].bucket
    while f >= 0:
        factor = factors[f]
        bucket.low += factor.low
        bucket.high += factor.high
        bucket.with_class |= factor.with_class
        members[bucket.n_members] = f
        bucket.n_members += 1
        for i in range(factor.axes + 1, factor.axes_end):
            _insert_axis(nodes, variables, factor_axes[i].variable, separator, bucket)
        f = factor.following


@inner_kernel
def _insert_axis(nodes, variables, v, separator, bucket):  # type: ignore[no-untyped-def]
    """Insert v in the separator, unless it is there."""
    i = bucket.n_axes
    while i > 0 and variables[separator[i - 1].variable].rank < variables[v].rank:
        i -= 1
    if i > 0 and separator[i - 1].variable == v:
        return
    for k in range(bucket.n_axes, i, -1):
        separator[k] = separator[k - 1]
    separator[i].variable, separator[i].size = v, nodes[v].card
    bucket.n_axes += 1


@inner_kernel
def _measure(node, n_classes, separator, bucket, max_cells):  # type: ignore[no-untyped-def]
    """Find the size of the message; return whether its clique has at most `max_cells` cells."""
    bucket.width = n_classes if bucket.with_class else 1
    bucket.block = node.card * bucket.width
    cells = float(bucket.width)
    for i in range(bucket.n_axes):
        cells *= separator[i].size
    if cells * node.card > max_cells:
        return False
    bucket.size = np.int64(cells)
    bucket.plain = bucket.low > -_RANGE and bucket.high < _RANGE
    # The sum has at most as many terms as the variable has states.
    bucket.high += node.log_card
    return True


@inner_kernel
def _name_clique(v, target, separator, bucket, clique):  # type: ignore[no-untyped-def]
    clique[0] = v
    for i in range(bucket.n_axes):
        clique[i + 1] = separator[i].variable
    if bucket.with_class:
        clique[bucket.n_axes + 1] = target


@inner_kernel
def _lay_strides(variables, factors, factor_axes, members, separator, bucket, strides):  # type: ignore[no-untyped-def]
    """Sort the members by the last axis of the separator that they have; fill their strides along its axes.

    strides: those of a member along all axes of the separator, and then those of the next one.
    """
    for i in range(bucket.n_members * bucket.n_axes):
        strides[i] = 0
    for i in range(bucket.n_axes):
        variables[separator[i].variable].place = i
    bucket.n_single = 0
    for b in range(bucket.n_members):
        f = members[b]
        factor = factors[f]
        factor.offset, factor.depth = factor.start, -1
        if factor.axes_end > factor.axes + 1:
            factor.depth = variables[factor_axes[factor.axes + 1].variable].place
        bucket.n_single += factor.depth < 0
        i = b
        while i > 0 and factors[members[i - 1]].depth > factor.depth:
            members[i] = members[i - 1]
            i -= 1
        members[i] = f
    for b in range(bucket.n_single, bucket.n_members):
        factor = factors[members[b]]
        for i in range(factor.axes + 1, factor.axes_end):
            strides[b * bucket.n_axes + variables[factor_axes[i].variable].place] = factor_axes[i].stride


@inner_kernel
def _copy(messages, used, larger):  # type: ignore[no-untyped-def]
    for i in range(used):
        larger[i] = messages[i]


@inner_kernel
def _sum_out(tables, messages, factors, factor_axes, members, strides, separator, bucket):  # type: ignore[no-untyped-def]
    """Fill the bucket's message: the product, summed over its variable, axes (separator, class); its log if not plain.

    Behind the message come blocks with axes (variable, class). The first is the product of the factors of the
    variable alone; each other factor makes one more. Most blocks stay as they are from one configuration of
    the separator to the next.
    """
    block, width, plain, n_members = bucket.block, bucket.width, bucket.plain, bucket.n_members
    blocks = bucket.start + bucket.size
    for i in range(blocks, blocks + block):
        messages[i] = 1.0 if plain else 0.0
    for i in range(bucket.n_axes):
        separator[i].state = 0
    changed = np.int64(-1)
    for cell in range(bucket.start, blocks, width):
        source = blocks
        for b in range(n_members):
            factor = factors[members[b]]
            to = source if factor.depth < 0 else source + block
            last = plain and b == n_members - 1
            if factor.depth >= changed or last:
                numbers = tables if factor.kind == TABLE else messages
                step = factor_axes[factor.axes].stride
                if last:
                    _multiply_sum(numbers, factor, step, messages, source, block, cell, width)
                else:
                    _multiply(numbers, factor, step, plain, messages, source, to, block, width)
            source = to
        if not plain:
            _log_sum(messages, source, block, cell, width)
        changed = _advance(factors, members, strides, separator, bucket)


@inner_kernel
def _advance(factors, members, strides, separator, bucket):  # type: ignore[no-untyped-def]
    """Go to the next configuration of the separator, in C order; return the first axis that changed."""
    for i in range(bucket.n_axes - 1, -1, -1):
        axis = separator[i]
        axis.state += 1
        carry = axis.state == axis.size
        if carry:
            axis.state = 0
        for b in range(bucket.n_single, bucket.n_members):
            factors[members[b]].offset += strides[b * bucket.n_axes + i] * (1 - axis.size if carry else 1)
        if not carry:
            return i
    return 0


@inner_kernel
def _multiply(numbers, factor, step, plain, messages, source, to, block, width):  # type: ignore[no-untyped-def]
    """Block `to` of messages = block `source` times the factor's numbers, `step` apart; axes (variable, class).

    Where not `plain`, all are logarithms, but for the numbers of a plain message.
    """
    offset = factor.offset
    if plain and width == 1:
        for i in range(block):
            messages[to + i] = messages[source + i] * numbers[offset + i * step]
        return
    for i in range(0, block, width):
        given, product = messages[source + i : source + i + width], messages[to + i : to + i + width]
        if not plain:
            for c in range(width):
                number = numbers[offset + c] if factor.with_class else numbers[offset]
                product[c] = given[c] + (np.log(number) if factor.kind == PLAIN else number)
        elif factor.with_class:
            own = numbers[offset : offset + width]
            for c in range(width):
                product[c] = given[c] * own[c]
        else:
            number = numbers[offset]
            for c in range(width):
                product[c] = given[c] * number
        offset += step


@inner_kernel
def _multiply_sum(numbers, factor, step, messages, source, block, cell, width):  # type: ignore[no-untyped-def]
    """Put what _multiply gives for plain numbers, summed over the variable, in the message's numbers at `cell`."""
    offset = factor.offset
    if width == 1:
        messages[cell] = 0.0
        for i in range(block):
            messages[cell] += messages[source + i] * numbers[offset + i * step]
        return
    total = messages[cell : cell + width]
    for c in range(width):
        total[c] = 0.0
    for i in range(source, source + block, width):
        given = messages[i : i + width]
        if factor.with_class:
            own = numbers[offset : offset + width]
            for c in range(width):
                total[c] += given[c] * own[c]
        else:
            number = numbers[offset]
            for c in range(width):
                total[c] += given[c] * number
        offset += step


@inner_kernel
def _log_sum(messages, source, block, cell, width):  # type: ignore[no-untyped-def]
    """Put the logarithm of the sum over the variable of exp(block `source`) in the message's numbers at `cell`."""
    for c in range(width):
        largest = -np.inf
        for i in range(source + c, source + block, width):
            largest = max(largest, messages[i])
        total = 0.0
        if largest > -np.inf:
            for i in range(source + c, source + block, width):
                total += np.exp(messages[i] - largest)
        messages[cell + c] = largest + np.log(total)


@inner_kernel
def _rescale(messages, bucket, result):  # type: ignore[no-untyped-def]
    """Move each class's largest logarithm from the message to `result`; make the rest plain if its range allows.

    Without a class axis the largest is that of every class.
    """
    bucket.low = bucket.high = 0.0
    end = bucket.start + bucket.size
    for c in range(bucket.width):
        largest = -np.inf
        for i in range(bucket.start + c, end, bucket.width):
            largest = max(largest, messages[i])
        for other in range(c, c + 1 if bucket.with_class else result.shape[0]):
            result[other] += largest
        if largest > -np.inf:
            for i in range(bucket.start + c, end, bucket.width):
                messages[i] -= largest
                if messages[i] > -np.inf:
                    bucket.low = min(bucket.low, messages[i])
    if bucket.low > -_RANGE:
        bucket.plain = True
        for i in range(bucket.start, end):
            messages[i] = np.exp(messages[i])


@inner_kernel
def _send(variables, factors, f, factor_axes, separator, bucket):  # type: ignore[no-untyped-def]
    """Make the message factor f, and put it in the bucket of the feature in it that is eliminated next."""
    factor = factors[f]
    end = factors[f - 1].axes_end
    factor.axes = end
    stride = bucket.width
    for i in range(bucket.n_axes - 1, -1, -1):
        factor_axes[end].variable, factor_axes[end].stride = separator[i].variable, stride
        stride *= separator[i].size
        end += 1
    factor.axes_end = end
    factor.kind, factor.start = PLAIN if bucket.plain else LOG, bucket.start
    factor.with_class, factor.low, factor.high = bucket.with_class, bucket.low, bucket.high
    first = variables[factor_axes[factor.axes].variable]
    factor.following, first.bucket = first.bucket, f
