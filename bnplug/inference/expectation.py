"""Expected counts: how often each cell of a family occurs, given a class and the known cells of a row.

They are the derivatives of the log joint by the log parameters, and the counts of EM's expectation step. Messages go
up the clique tree to the class. The rows' weights come down the same way, for all rows of a part together: the count of
a state of a message's separator is split among the states of the variable that was summed out, in proportion to their
products, and added to the cells of the message's factors. Messages shared by several rows are processed once.
"""

from __future__ import annotations

from copy import copy

import numpy as np
from scipy.special import logsumexp

from bnplug.compiling import inner_kernel, kernel, run_in_threads
from bnplug.contracts import Weigh
from bnplug.inference._cliques import MAX_CLIQUE_SIZE, NO_LIMIT, families, known_states, naming_row
from bnplug.inference._flat_tables import (
    PLAIN,
    collect,
    flat_tables,
    in_memory,
    in_shape,
    mark_all,
    read_row,
    with_logs,
)
from bnplug.inference._memo import Memo
from bnplug.inference._messages import (
    DONE,
    FULL,
    SUM,
    TOO_LARGE,
    advance,
    begin,
    log_product,
    multiply,
    send_messages,
)
from bnplug.inference.queries import log_measure
from bnplug.model.log_tables import LogTables
from bnplug.typing import CodeArray, FloatArray

# Rows per step; the least rows of a part; the most parts, and the most numbers for their counts together.
_STEP, _PART, _PARTS, _COUNTS = 4096, 1024, 16, 2**22


def expected_counts(
    tables: LogTables,
    target: str,
    codes: CodeArray,
    weights: FloatArray,
    max_clique_size: int = MAX_CLIQUE_SIZE,
    n_jobs: int | None = None,
) -> list[FloatArray]:
    """Return the expected counts of every family; see :meth:`bnplug.CountingNetwork.expected_counts`."""
    shape = (codes.shape[1], len(tables.states[target]))
    if np.shape(weights) != shape:
        raise ValueError(f"weights have the shape {np.shape(weights)}, not {shape}: one for each row and class")
    return Expectation(tables, target, max_clique_size).counts(codes, lambda joint, rows: weights[rows], n_jobs=n_jobs)


class Expectation:
    """The tables of a network, prepared for expected counts; parameters as in :class:`Marginalizer`."""

    def __init__(self, tables: LogTables, target: str, max_clique_size: int = MAX_CLIQUE_SIZE) -> None:
        self.tables, self.target, self.max_clique_size = tables, target, max_clique_size
        self.flat = flat_tables(tables, target)
        self._given: LogTables | None = tables

    def with_logs(self, logs: FloatArray) -> Expectation:
        """Return the same network with other log parameters, flat, in the order of memory (``flat.layouts``)."""
        other = copy(self)
        other.flat, other._given = with_logs(self.flat, logs), None
        return other

    def current_tables(self) -> LogTables:
        """Return the current tables, which :meth:`with_logs` may have changed."""
        if self._given is None:
            logs = in_shape(self.tables, self.flat, self.flat.values[len(self.flat.values) // 2 :])
            self._given = self.tables._with_arrays(dict(zip(self.tables.names, logs, strict=True)))
        return self._given

    def counts(self, codes: CodeArray, weigh: Weigh, n_jobs: int | None = None) -> list[FloatArray]:
        """Return the expected counts of each family, in the order of ``tables.names`` and the shape of its table.

        The parameters are those of :meth:`bnplug.CompiledNetwork.expectation`. A class that is impossible for a row
        adds nothing.
        """
        return in_shape(self.tables, self.flat, self.flat_counts(codes, weigh, n_jobs))

    def flat_counts(self, codes: CodeArray, weigh: Weigh, n_jobs: int | None = None) -> FloatArray:
        """Return the result of :meth:`counts` for all cells, flat, in the order of memory."""
        # A kernel is compiled for each kind of array.
        codes = np.ascontiguousarray(codes).view()
        codes.flags.writeable = False
        n_rows, n_cells = codes.shape[1], len(self.flat.values) // 2
        # The parts depend on the data alone.
        n_parts = max(1, min(n_rows // _PART, _PARTS, _COUNTS // n_cells))
        bounds = [n_rows * i // n_parts for i in range(n_parts + 1)]
        parts = run_in_threads(
            lambda start, end: _Part(self, codes, weigh).count(start, end), bounds[:-1], bounds[1:], n_jobs=n_jobs
        )
        return sum(parts[1:], start=parts[0])


class _Part:
    """Expected counts of some of the rows, with their own messages, added in the order of the rows."""

    def __init__(self, expectation: Expectation, codes: CodeArray, weigh: Weigh) -> None:
        self._of, self._codes, self._weigh = expectation, codes, weigh
        self._memo = Memo(expectation.flat)
        self._counts = np.zeros(self._memo.n_numbers)

    def count(self, start: int, end: int) -> FloatArray:
        """Return the counts of the rows from `start` to `end`, flat."""
        total = np.zeros(len(self._of.flat.values) // 2)
        joint = np.empty((min(_STEP, end - start), len(self._of.tables.states[self._of.target])))
        while start < end:
            n = self._run(slice(start, min(end, start + _STEP)), False, joint)
            outcome, done = self._memo.outcome, slice(start, start + n)
            if n > 0:
                self._run(done, True, self._weights(joint[:n], done))
            start += n
            if outcome == TOO_LARGE or (outcome == FULL and self._is_too_large(start)):
                total += self._by_other_cliques(start)
                start += 1
            elif outcome == FULL:
                self._share(total)
                self._memo.make_room()
                if len(self._counts) < self._memo.n_numbers:
                    self._counts = np.zeros(self._memo.n_numbers)
        self._share(total)
        return total

    def _run(self, rows: slice, adding: bool, numbers: FloatArray) -> int:
        """Send the messages of rows; fill their log joints or, if `adding`, count their weights; return how many."""
        memo, missing, limit = self._memo, np.iinfo(self._codes.dtype).max, int(min(self._of.max_clique_size, NO_LIMIT))
        given = self._codes, missing, rows.start, rows.stop, limit
        return int(_go_up(memo.network, *given, memo.arrays, adding, numbers, self._counts))

    def _weights(self, joint: FloatArray, rows: slice) -> FloatArray:
        return np.where(np.isneginf(joint), 0.0, self._weigh(joint, rows))

    def _share(self, total: FloatArray) -> None:
        """Distribute the counts of messages to the tables, and add these to the total."""
        _share_out(self._memo.network[0], self._memo.arrays, self._counts)
        of_tables = self._counts[: len(total)]
        total += of_tables
        of_tables[:] = 0.0

    def _is_too_large(self, m: int) -> bool:
        """Return whether a row that fills the memo alone needs a table that is too large."""
        tables = self._of.tables
        known = known_states(tables, self._of.target, self._codes[:, m])
        scopes = (tuple(u for u in family if u not in known) for family in families(tables))
        return self._memo.n_rows == 0 and not self._memo.fits(tables, scopes, self._of.max_clique_size)

    def _by_other_cliques(self, m: int) -> FloatArray:
        """Return the counts of a row by its own cliques, which may be smaller than the network's."""
        tables, target, limit = self._of.current_tables(), self._of.target, self._of.max_clique_size
        known = known_states(tables, target, self._codes[:, m])
        with naming_row(m):
            joint = log_measure(tables, [target], known, {}, limit)
            weights = self._weights(joint[None], slice(m, m + 1))[0]
            counts = [_expected(tables, name, target, known, weights, limit) for name in tables.names]
        return in_memory(self._of.flat.layouts, counts)


def _expected(
    tables: LogTables, name: str, target: str, known: dict[str, int], weights: FloatArray, max_clique_size: int
) -> FloatArray:
    """Return the contribution of one row to the counts of a family."""
    family = (name, *tables.tables[name].parents)
    counts = np.zeros(tables.tables[name].values.shape)
    possible = np.flatnonzero(weights)
    if len(possible) == 0:
        return counts
    axes = [target, *(u for u in family if u not in known and u != target)]
    measure = log_measure(tables, axes, known, {}, max_clique_size)
    inner = tuple(range(1, measure.ndim))
    shares = np.zeros_like(measure)
    shares[possible] = np.exp(measure[possible] - logsumexp(measure[possible], axis=inner, keepdims=True))
    shares *= np.expand_dims(weights, inner)
    if target not in family:
        shares, axes = shares.sum(axis=0), axes[1:]
    ordered = shares.transpose([axes.index(u) for u in family if u not in known])
    counts[tuple(known.get(u, slice(None)) for u in family)] = ordered
    return counts


@kernel(allocates=False)
def _go_up(network, codes, missing, start, end, max_cells, memo, adding, rows, counts):  # type: ignore[no-untyped-def]
    """Send the messages of the rows from `start` to `end`; return the number of rows done.

    rows: float64 (rows, classes), filled with the log joint or, if adding, the weights of rows whose messages are all
    in the memo. Weights are added to `counts`, one for each number of the memo, of last messages and complete tables.
    """
    nodes, _, order, target, _ = network
    variables, axes, factors, _, _, _, counters = memo
    used = counters[0]
    asked = used.asked
    for m in range(start, end):
        read_row(codes, m, missing, target, variables)
        mark_all(nodes, axes, target, variables)
        n_factors = collect(nodes, target, variables, axes, factors, nodes[-1].axes_end)
        used.outcome = send_messages(nodes, order, target, max_cells, memo, n_factors, SUM)
        if used.outcome != DONE:
            return m - start
        used.rows += 1
        if adding:
            _add_weights(nodes, target, memo, rows[m - start], counts)
        else:
            _add_logs(nodes, target, memo, rows[m - start])
    if adding:
        used.asked = asked
    return end - start


@inner_kernel(allocates=False)
def _cell(node, axes, variables):  # type: ignore[no-untyped-def]
    """Return the position of the states of a node's family in its table, at the first class."""
    cell = node.start
    for i in range(node.axes, node.axes_end):
        cell += variables[axes[i].variable].state * axes[i].stride
    return cell


@inner_kernel(allocates=False)
def _add_logs(nodes, target, memo, joint):  # type: ignore[no-untyped-def]
    """Fill the log joint of a row: all complete tables, and all messages that arrived at the class."""
    variables, axes, factors, _, _, numbers, counters = memo
    used = counters[0]
    for c in range(joint.shape[0]):
        joint[c] = used.scale
    for v in range(nodes.shape[0]):
        if not variables[v].touched:
            cell = used.logs + _cell(nodes[v], axes, variables)
            for c in range(joint.shape[0]):
                joint[c] += numbers[cell + c if nodes[v].with_class else cell]
    f = variables[target].bucket
    while f >= 0:
        factor = factors[f]
        for c in range(joint.shape[0]):
            number = numbers[factor.start + c if factor.axes_end > factor.axes else factor.start]
            joint[c] += np.log(number) if factor.kind == PLAIN else number
        f = factor.following


@inner_kernel(allocates=False)
def _add_weights(nodes, target, memo, weights, counts):  # type: ignore[no-untyped-def]
    """Count a row, with a weight for each class: in all complete tables, and in all messages that arrived there."""
    variables, axes, factors, _, _, _, _ = memo
    for v in range(nodes.shape[0]):
        if not variables[v].touched:
            cell = _cell(nodes[v], axes, variables)
            for c in range(weights.shape[0]):
                counts[cell + c if nodes[v].with_class else cell] += weights[c]
    f = variables[target].bucket
    while f >= 0:
        factor = factors[f]
        for c in range(weights.shape[0]):
            counts[factor.start + c if factor.axes_end > factor.axes else factor.start] += weights[c]
        f = factor.following


@kernel(allocates=False)
def _share_out(nodes, memo, counts):  # type: ignore[no-untyped-def]
    """Distribute the counts of all messages of a memo to its tables, from the last message to the first."""
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
    """Distribute the counts of one message, over the blocks of products that fill it."""
    sums, stride = used.numbers, axes[message.axes].stride if message.size > 1 else np.int64(0)
    for i in range(sums + width, sums + width + card * width):
        numbers[i] = 1.0
    changed = begin(message, axes)
    known = np.int64(-1)
    while changed >= 0:
        known = max(known, changed)
        place, counted = message.offset, False
        for j in range(width):
            counted |= counts[place + j * stride] != 0.0
        if counted:
            if message.plain:
                block = multiply(numbers, message, message.parts_end, factors, card, width, sums + width, known)
            else:
                block = _log_products(numbers, message, factors, card, width, sums + width, used.logs)
            _weigh(numbers, block, card, width, sums, counts, place, stride)
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
def _weigh(numbers, block, card, width, sums, counts, first, stride):  # type: ignore[no-untyped-def]
    """Scale each column of a block so that it sums to the message's count there, which is set to zero."""
    total = numbers[sums : sums + width]
    for j in range(width):
        total[j] = 0.0
    for i in range(card):
        row = numbers[block + i * width : block + (i + 1) * width]
        for j in range(width):
            total[j] += row[j]
    for j in range(width):
        # Impossible states were not counted.
        total[j] = counts[first + j * stride] / total[j] if total[j] > 0.0 else 0.0
        counts[first + j * stride] = 0.0
    for i in range(card):
        row = numbers[block + i * width : block + (i + 1) * width]
        for j in range(width):
            row[j] *= total[j]


@inner_kernel(allocates=False)
def _add(counts, part, numbers, block, card, width):  # type: ignore[no-untyped-def]
    """Add a block to a part's counts."""
    offset, inner, apart = part.offset, part.inner, part.step
    for i in range(card):
        row, cells = numbers[block + i * width : block + (i + 1) * width], counts[offset + i * apart :]
        if inner == 1:
            for j in range(width):
                cells[j] += row[j]
        else:
            for j in range(width):
                cells[j * inner] += row[j]
