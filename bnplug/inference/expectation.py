"""Expected counts: how often each cell of a family occurs, given a class and what a row knows.

They are the derivatives of the log joint by the log parameters, and what the expectation step of EM counts. Messages
go up the clique tree to the class, and the rows' weights come down the same way, for all rows of a part together.
"""

from __future__ import annotations

from copy import copy

import numpy as np
from scipy.special import logsumexp

from bnplug.arrays import CodeArray, FloatArray
from bnplug.compiling import inner_kernel, kernel, run_in_threads
from bnplug.contracts import Weigh
from bnplug.inference._cliques import MAX_CLIQUE_SIZE, NO_LIMIT, families, fits
from bnplug.inference._factors import known_states, naming_row
from bnplug.inference._flat_tables import flat_tables, in_shape, with_logs
from bnplug.inference._memo import Memo
from bnplug.inference._messages import DONE, FULL, TOO_LARGE, send_messages
from bnplug.inference._missing_part import PLAIN, collect, mark_all
from bnplug.inference._shares import share_out
from bnplug.inference.queries import log_measure
from bnplug.model.log_tables import LogTables

# Rows whose log joints are there at a time; the least of a part; how many parts there are at most, and how many
# numbers their counts may take together.
_STEP, _PART, _PARTS, _COUNTS = 4096, 1024, 16, 2**22


def expected_counts(
    tables: LogTables,
    target: str,
    codes: CodeArray,
    weights: FloatArray,
    max_clique_size: int = MAX_CLIQUE_SIZE,
    n_jobs: int | None = None,
) -> list[FloatArray]:
    """Return for each family the sum over rows m and classes c of ``weights[m, c] P(cell | c, what row m knows)``.

    Parameters
    ----------
    tables : LogTables
    target : str
        The class; what `codes` say about it is not read.
    codes : unsigned array of shape (variables, rows)
        In the order of ``tables.names``; the largest value of the type is missing.
    weights : float64 array of shape (rows, classes)
        They may be negative. A class that is impossible for a row adds nothing.
    max_clique_size : int
        The number of cells that the largest table may have.
    n_jobs : int, optional
        Threads, as joblib counts them. The result does not depend on it.

    Examples
    --------
    >>> tables = LogTables(
    ...     ["c", "x"], {"c": ["n", "p"], "x": [0, 1]},
    ...     {"c": ((), np.log([0.5, 0.5])), "x": (("c",), np.log([[0.9, 0.2], [0.1, 0.8]]))})
    >>> codes = np.array([[255, 255], [1, 255]], dtype=np.uint8)  # x is 1 in one row, and missing in the other
    >>> expected_counts(tables, "c", codes, np.array([[0.0, 1.0], [0.0, 1.0]]))[1]
    array([[0. , 0.2],
           [0. , 1.8]])
    """
    shape = (codes.shape[1], len(tables.states[target]))
    if np.shape(weights) != shape:
        raise ValueError(f"weights have the shape {np.shape(weights)}, not {shape}: one for each row and class")
    return Expectation(tables, target, max_clique_size).counts(codes, lambda joint, rows: weights[rows], n_jobs=n_jobs)


class Expectation:
    """The tables of a network, ready to count what rows are expected to hold.

    Parameters
    ----------
    tables : LogTables
    target : str
        The class.
    max_clique_size : int
        The number of cells that the largest table may have.

    Examples
    --------
    The step of EM that a row without a class takes: it counts with the posterior of its classes.

    >>> tables = LogTables(
    ...     ["c", "x"], {"c": ["n", "p"], "x": [0, 1]},
    ...     {"c": ((), np.log([0.5, 0.5])), "x": (("c",), np.log([[0.9, 0.2], [0.1, 0.8]]))})
    >>> joint = np.empty((2, 2))
    >>> def posterior(own, rows):
    ...     joint[rows] = own
    ...     return np.exp(own - np.logaddexp.reduce(own, axis=1, keepdims=True))
    >>> codes = np.array([[255, 255], [1, 255]], dtype=np.uint8)
    >>> Expectation(tables, "c").counts(codes, posterior)[0].round(3)
    array([0.611, 1.389])
    >>> np.exp(joint).round(3)
    array([[0.05, 0.4 ],
           [0.5 , 0.5 ]])
    """

    def __init__(self, tables: LogTables, target: str, max_clique_size: int = MAX_CLIQUE_SIZE) -> None:
        self.tables = tables
        self.target = target
        self.max_clique_size = max_clique_size
        self.flat = flat_tables(tables, target)
        self._given: LogTables | None = tables

    def with_logs(self, logs: FloatArray) -> Expectation:
        """Return the same network with other log parameters, flat, in the order of memory (``flat.layouts``).

        What follows from the structure is kept: for the steps of an optimiser, which change the parameters alone.
        """
        other = copy(self)
        other.flat, other._given = with_logs(self.flat, logs), None
        return other

    def current_tables(self) -> LogTables:
        """Return the tables that are counted by, which :meth:`with_logs` may have changed."""
        if self._given is None:
            logs = in_shape(self.tables, self.flat, self.flat.values[len(self.flat.values) // 2 :])
            names, parents = self.tables.names, self.tables.parents
            changed = {name: (parents[name], own) for name, own in zip(names, logs, strict=True)}
            self._given = LogTables(names, self.tables.states, changed, self.tables.target)
        return self._given

    def counts(self, codes: CodeArray, weigh: Weigh, n_jobs: int | None = None) -> list[FloatArray]:
        """Return the expected counts of each family, weighted by what `weigh` makes of the rows' log joints.

        Parameters
        ----------
        codes : unsigned array of shape (variables, rows)
            In the order of ``tables.names``; the largest value of the type is missing. What it says about the class is
            not read.
        weigh : callable
            ``weigh(joint, rows)`` gets L[m, c] = log P(c, what row m knows) for the rows of a slice, nothing left out,
            and returns their weights, of the same shape; they may be negative. Each row comes once, in any order and
            thread. A class that is impossible for a row adds nothing, whatever its weight.
        n_jobs : int, optional
            Threads, as joblib counts them. The result does not depend on it.

        Returns
        -------
        list of float64 arrays
            For each of ``tables.names`` an array of the shape of its table: its own axis first, then its parents'.

        Raises
        ------
        ValueError
            If a row needs a table of more than `max_clique_size` cells; the message names its variables.
        """
        return in_shape(self.tables, self.flat, self.flat_counts(codes, weigh, n_jobs))

    def flat_counts(self, codes: CodeArray, weigh: Weigh, n_jobs: int | None = None) -> FloatArray:
        """Return what :meth:`counts` does for all cells, one behind the other, in the order of memory."""
        # A kernel is compiled for each kind of array.
        codes = np.ascontiguousarray(codes).view()
        codes.flags.writeable = False
        n_rows, n_cells = codes.shape[1], len(self.flat.values) // 2
        # Each part adds up its own rows: which these are depends on the data alone.
        n_parts = max(1, min(n_rows // _PART, _PARTS, _COUNTS // n_cells))
        bounds = [n_rows * i // n_parts for i in range(n_parts + 1)]
        parts = run_in_threads(
            lambda start, end: _Part(self, codes, weigh).count(start, end), bounds[:-1], bounds[1:], n_jobs=n_jobs
        )
        return sum(parts[1:], start=parts[0])


class _Part:
    """Counts some of the rows, by messages of their own: the order in which they are added is that of the rows."""

    def __init__(self, expectation: Expectation, codes: CodeArray, weigh: Weigh) -> None:
        self._of = expectation
        self._codes = codes
        self._weigh = weigh
        self._memo = Memo(expectation.flat)
        self._counts = np.zeros(self._memo.n_numbers)

    def count(self, start: int, end: int) -> FloatArray:
        """Return the counts of the rows from `start` to `end`, flat."""
        total = np.zeros(len(self._of.flat.values) // 2)
        joint = np.empty((min(_STEP, end - start), len(self._of.tables.states[self._of.target])))
        while start < end:
            n, outcome = self._add(slice(start, min(end, start + _STEP)), joint)
            start += n
            if outcome == TOO_LARGE or (outcome == FULL and self._will_be_too_large(start)):
                total += self._by_other_cliques(start)
                start += 1
            elif outcome == FULL:
                self._share(total)
                self._memo.make_room()
                if len(self._counts) < self._memo.n_numbers:
                    self._counts = np.zeros(self._memo.n_numbers)
        self._share(total)
        return total

    def _add(self, rows: slice, joint: FloatArray) -> tuple[int, int]:
        """Send the messages of rows, and add the rows' weights to those that arrive; how many rows, what stopped it."""
        n = self._run(rows, False, joint)
        outcome = self._memo.outcome
        if n > 0:
            done = slice(rows.start, rows.start + n)
            self._run(done, True, self._weights(joint[:n], done))
        return n, outcome

    def _run(self, rows: slice, adding: bool, numbers: FloatArray) -> int:
        memo, missing, limit = self._memo, np.iinfo(self._codes.dtype).max, int(min(self._of.max_clique_size, NO_LIMIT))
        start, end = rows.start, rows.stop
        return int(
            _go_up(memo.network, self._codes, missing, start, end, limit, memo.arrays, adding, numbers, self._counts)
        )

    def _weights(self, joint: FloatArray, rows: slice) -> FloatArray:
        return np.where(np.isneginf(joint), 0.0, self._weigh(joint, rows))

    def _share(self, total: FloatArray) -> None:
        """Share out what messages count, and add what the tables then count to the total."""
        share_out(self._memo.network[0], self._memo.arrays, self._counts)
        own = self._counts[: len(total)]
        total += own
        own[:] = 0.0

    def _will_be_too_large(self, m: int) -> bool:
        """Whether a row that fills the cache alone needs a table that is too large, in the network's order."""
        if self._memo.n_rows > 0:
            return False
        tables = self._of.tables
        known = known_states(tables, self._of.target, self._codes[:, m])
        scopes = (tuple(u for u in family if u not in known) for family in families(tables))
        order = [tables.names[v] for v in self._of.flat.order]
        return not fits(tables, scopes, order, self._of.max_clique_size)

    def _by_other_cliques(self, m: int) -> FloatArray:
        """Return the counts of a row by cliques of its own, which may be smaller than the network's."""
        tables, target, limit = self._of.current_tables(), self._of.target, self._of.max_clique_size
        known = known_states(tables, target, self._codes[:, m])
        flat = []
        with naming_row(m):
            joint = log_measure(tables, [target], known, {}, limit)
            weights = self._weights(joint[None], slice(m, m + 1))[0]
            for name, layout in zip(tables.names, self._of.flat.layouts, strict=True):
                flat.append(_expected(tables, name, target, known, weights, limit).transpose(layout).ravel())
        return np.concatenate(flat)


def _expected(
    tables: LogTables, name: str, target: str, known: dict[str, int], weights: FloatArray, max_clique_size: int
) -> FloatArray:
    """Return the share of one row in the counts of a family."""
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
    """Send the messages of the rows from `start` to `end`; return how many were done.

    network: the first fields of FlatTables; codes: (variables, all rows); memo: the arrays of a memo, which says what
    stopped it; rows: float64 (rows, classes). It is filled with the log joint or, where adding is true, has the weights
    of rows whose messages are all in the memo. These are added to what the last messages and complete tables count:
    float64, for each number of the memo.
    """
    nodes, _, order, target, _ = network
    variables, axes, factors, _, _, _, counters = memo
    used = counters[0]
    asked = used.asked
    for m in range(start, end):
        for v in range(nodes.shape[0]):
            variables[v].state = -1 if codes[v, m] == missing else np.int64(codes[v, m])
        variables[target].state = 0
        mark_all(nodes, axes, target, variables)
        n_factors = collect(nodes, target, variables, axes, factors, nodes[-1].axes_end)
        used.outcome = send_messages(nodes, order, target, max_cells, memo, n_factors)
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
    """Where the table of a node has the states of its family, at the first class if that is in it."""
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
