"""Bucket elimination: the compiled pass that sums the missing features out of each row.

Observed features are instantiated first, so that every table shrinks to the row's missing part. The missing features
are then eliminated one by one, in the order that the network's clique tree gives: each collects the tables that still
mention it in its bucket, and sends their product, summed over itself, to the bucket of the next missing feature in it.
The class is kept to the end, as the last axis of every table that has it. Messages are kept for the rows that follow.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from bnplug.arrays import CodeArray, FloatArray, IntArray
from bnplug.compiling import kernel, run_in_threads
from bnplug.inference._cliques import MAX_CLIQUE_SIZE, NO_LIMIT, fits
from bnplug.inference._factors import Factor, Factors, connected, known_states, naming_row, product
from bnplug.inference._flat_tables import flat_tables
from bnplug.inference._memo import Memo
from bnplug.inference._messages import DONE, TOO_LARGE, send_messages
from bnplug.inference._missing_part import PLAIN, collect, mark
from bnplug.inference.queries import instantiated, relevant
from bnplug.model.log_tables import LogTables

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
        self.target = target
        self.max_clique_size = max_clique_size
        self._flat = flat_tables(tables, target)
        # One for each thread that has been at work, for the next rows.
        self._memos: list[Memo] = []

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
        missing, limit = np.iinfo(codes.dtype).max, int(min(self.max_clique_size, NO_LIMIT))
        blocks = [rows[start : start + _BLOCK] for start in range(0, len(rows), _BLOCK)]

        def add(own: IntArray) -> None:
            memo = self._memo()
            while len(own) > 0:
                n = _add_missing(memo.network, codes, missing, own, limit, memo.arrays, joint)
                own = own[n:]
                if len(own) > 0 and (memo.outcome == TOO_LARGE or self._will_be_too_large(memo, codes[:, own[0]])):
                    joint[own[0]] = self._by_other_cliques(codes[:, own[0]], int(own[0]))
                    own = own[1:]
                elif len(own) > 0:
                    memo.make_room()
            self._memos.append(memo)

        run_in_threads(add, blocks, n_jobs=n_jobs)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_memos": []}

    def _memo(self) -> Memo:
        try:
            return self._memos.pop()
        except IndexError:
            return Memo(self._flat)

    def _will_be_too_large(self, memo: Memo, row: CodeArray) -> bool:
        """Whether a row that fills the cache alone needs a table that is too large, in the network's order."""
        if memo.n_rows > 0:
            return False
        order = [self.tables.names[v] for v in self._flat.order]
        return not fits(self.tables, (scope for scope, _ in self._factors(row)), order, self.max_clique_size)

    def _factors(self, row: CodeArray) -> list[Factor]:
        """Return the tables that are relevant to the class, reduced by the evidence of a row."""
        known = known_states(self.tables, self.target, row)
        needed = relevant(self.tables, {self.target, *known})
        factors = [instantiated(self.tables, name, known) for name in self.tables.names if name in needed]
        # What is known separates the other factors from the class: they are the same for all.
        return connected(factors, self.target)

    def _by_other_cliques(self, row: CodeArray, m: int) -> FloatArray:
        """Return the log joint of a row by an order of elimination for its evidence, whose cliques may be smaller."""
        with naming_row(m):
            left = Factors(self.tables, self._factors(row), {self.target}, self.max_clique_size)
        while left.hidden:
            left.sum_out(*left.cheapest())
        return product(list(left.by_number.values()), (self.target,))


@kernel(allocates=False)
def _add_missing(network, codes, missing, rows, max_cells, memo, result):  # type: ignore[no-untyped-def]
    """result[m, c] += log of the sum, over row m's missing features, of the tables that mention one of them.

    network: the first fields of FlatTables; codes: (variables, all rows); rows: those to do; memo: the arrays of a
    memo. Returns how many rows were done; the memo says what stopped it.
    """
    nodes, both_ways, order, target, _ = network
    variables, axes, factors, _, _, numbers, counters = memo
    used = counters[0]
    for i in range(rows.shape[0]):
        m = rows[i]
        for v in range(nodes.shape[0]):
            variables[v].state = -1 if codes[v, m] == missing else np.int64(codes[v, m])
        variables[target].state = 0
        if not mark(nodes, axes, both_ways, variables):
            continue
        n_factors = collect(nodes, target, variables, axes, factors, nodes[-1].axes_end)
        used.outcome = send_messages(nodes, order, target, max_cells, memo, n_factors)
        if used.outcome != DONE:
            return i
        used.rows += 1
        f = variables[target].bucket
        for c in range(result.shape[1]):
            result[m, c] += used.scale
        while f >= 0:
            for c in range(result.shape[1]):
                number = numbers[factors[f].start + c]
                result[m, c] += np.log(number) if factors[f].kind == PLAIN else number
            f = factors[f].following
    return rows.shape[0]
