"""Exact marginals: the log joint of every row with every class, whichever features are missing.

The product of the tables is taken as a measure, and missing features are summed out of it. If the columns of a network
sum to one, that measure is its joint distribution. Discriminative parameters that are not normalized define a measure
too, whose marginals define the meaning of a missing feature; no table is omitted then.

Features are summed out by compiled bucket elimination. Observed features are instantiated first. The missing features
follow in the order of the network's clique tree: the bucket of each collects the tables that still mention it, and
their product, summed over it, goes to the bucket of the next missing feature. The class is kept to the end.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from bnplug.compiling import kernel, run_in_threads
from bnplug.contracts import CompiledNetwork, Engine, Weigh
from bnplug.errors import ContractError
from bnplug.hooks import registry
from bnplug.inference._asking import CONNECTED, EVERYTHING, Asked
from bnplug.inference._cliques import MAX_CLIQUE_SIZE, NO_LIMIT, known_states, naming_row
from bnplug.inference._flat_tables import PLAIN, collect, flat_tables, mark, mark_complete, read_row
from bnplug.inference._memo import Memo
from bnplug.inference._messages import DONE, SUM, TOO_LARGE, send_messages
from bnplug.inference.complete import Terms, log_joint, log_rest, terms
from bnplug.inference.expectation import Expectation, expected_counts
from bnplug.inference.queries import log_probability, posterior, relevant
from bnplug.model.log_tables import LogTables
from bnplug.typing import CodeArray, FloatArray, IntArray

# Rows that a thread takes at a time.
_BLOCK = 1024


class Elimination:
    """The tables of a network, prepared for marginalizing missing features; parameters as in :class:`Marginalizer`."""

    def __init__(self, tables: LogTables, target: str, max_clique_size: int = MAX_CLIQUE_SIZE) -> None:
        self.tables, self.target, self.max_clique_size = tables, target, max_clique_size
        self._flat = flat_tables(tables, target)
        # One for each thread that has been at work, for the next rows: for posteriors, and for full log joints.
        self._memos: tuple[list[Memo], list[Memo]] = [], []

    def add_missing(
        self, codes: CodeArray, rows: IntArray, joint: FloatArray, complete: bool = False, n_jobs: int | None = None
    ) -> None:
        """Add to log joints of some `rows`, in place, the contribution of the tables that mention a missing feature.

        `joint` holds the sum of all other tables of the class and its children or, if `complete`, of all other tables.
        """
        missing, limit = np.iinfo(codes.dtype).max, int(min(self.max_clique_size, NO_LIMIT))
        blocks = [rows[start : start + _BLOCK] for start in range(0, len(rows), _BLOCK)]

        def add(left: IntArray) -> None:
            memo = self._memo(complete)
            while len(left) > 0:
                n = _add_missing(memo.network, codes, missing, left, limit, memo.arrays, complete, joint)
                left = left[n:]
                if len(left) == 0:
                    break
                m, row = int(left[0]), codes[:, left[0]]
                is_too_large = memo.outcome == TOO_LARGE
                if not is_too_large and memo.n_rows == 0:  # a row that fills the memo alone
                    known = known_states(self.tables, self.target, row)
                    needed = relevant(self.tables, {self.target, *known})
                    scopes = (tuple(u for u in (v, *self.tables[v].parents) if u not in known) for v in needed)
                    is_too_large = not memo.fits(self.tables, scopes, self.max_clique_size)
                if is_too_large:
                    joint[m] = self._by_other_cliques(row, m, complete)
                    left = left[1:]
                else:
                    memo.make_room()
            self._memos[complete].append(memo)

        run_in_threads(add, blocks, n_jobs=n_jobs)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_memos": ([], [])}

    @cached_property
    def _asked(self) -> Asked:
        return Asked(self.tables, self.max_clique_size)

    def _memo(self, complete: bool) -> Memo:
        try:
            return self._memos[complete].pop()
        except IndexError:  # another thread may have taken the last one
            return Memo(self._flat)

    def _by_other_cliques(self, row: CodeArray, m: int, complete: bool = False) -> FloatArray:
        """Return the log joint of a row by an order of elimination for its evidence, whose cliques may be smaller."""
        known = known_states(self.tables, self.target, row)
        with naming_row(m):
            return self._asked.log_measure((self.target,), known, {}, EVERYTHING if complete else CONNECTED)


@kernel(allocates=False)
def _add_missing(network, codes, missing, rows, max_cells, memo, complete, result):  # type: ignore[no-untyped-def]
    """result[m, c] += log of the sum, over row m's missing features, of the tables that mention one of them.

    complete: whether to include features that only add a constant. Returns the number of rows done.
    """
    nodes, both_ways, order, target, _ = network
    variables, axes, factors, _, _, numbers, counters = memo
    used = counters[0]
    for i in range(rows.shape[0]):
        m = rows[i]
        read_row(codes, m, missing, target, variables)
        if complete:
            any_relevant = mark_complete(nodes, axes, both_ways, target, variables)
        else:
            any_relevant = mark(nodes, axes, both_ways, variables)
        if not any_relevant:
            continue
        n_factors = collect(nodes, target, variables, axes, factors, nodes[-1].axes_end)
        used.outcome = send_messages(nodes, order, target, max_cells, memo, n_factors, SUM)
        if used.outcome != DONE:
            return i
        used.rows += 1
        f = variables[target].bucket
        for c in range(result.shape[1]):
            result[m, c] += used.scale
        while f >= 0:
            for c in range(result.shape[1]):
                number = numbers[factors[f].start + c if factors[f].axes_end > factors[f].axes else factors[f].start]
                result[m, c] += np.log(number) if factors[f].kind == PLAIN else number
            f = factors[f].following
    return rows.shape[0]


__all__ = ["MAX_CLIQUE_SIZE", "Asked", "Marginalizer", "check_marginals", "check_saved_limits"]


def check_marginals(compiled: object, engine: object) -> CompiledNetwork:
    """Return `compiled`, or raise a `ContractError` that names the engine if it is not a `CompiledNetwork`."""
    if not isinstance(compiled, CompiledNetwork):
        raise ContractError(f"{registry.origin(engine)}: compile must return bnplug.CompiledNetwork, not {compiled!r}")
    return compiled


def check_saved_limits(engine: Engine) -> None:
    """Raise a ``ValueError`` if a parameter of an engine exceeds the limit for model folders."""
    for name, limit in engine.saved_limits.items():
        value = getattr(engine, name)
        if value is not None and value > limit:
            raise ValueError(
                f"{name} of {registry.origin(engine)} exceeds {limit:,}, the largest value that a model folder may "
                f"contain: {value:,}"
            )


class Marginalizer(CompiledNetwork):
    """Log joints of rows with any pattern of missing features.

    The cost of a row depends on its missing part: naive Bayes skips a missing feature, a tree sends messages along
    missing features only, and any other DAG is summed clique by clique. Two kinds of nodes are omitted: barren ones
    (missing, with nothing observed below them) whose columns sum to one, and nodes that the observed features separate
    from the class, even if they are impossible.

    Parameters
    ----------
    tables : LogTables
        The log parameters.
    target : str
        The class.
    max_clique_size : int
        The maximum number of cells of a table. A row that needs a larger one is a ``ValueError`` that names its
        variables.

    Examples
    --------
    >>> tables = LogTables(
    ...     ["c", "x", "y"], {"c": ["n", "p"], "x": [0, 1], "y": [0, 1]},
    ...     {"c": ((), np.log([0.5, 0.5])),
    ...      "x": (("c",), np.log([[0.9, 0.2], [0.1, 0.8]])),
    ...      "y": (("c", "x"), np.log([[[0.3, 0.6], [0.5, 0.1]], [[0.7, 0.4], [0.5, 0.9]]]))})
    >>> codes = np.array([[255], [255], [1]], dtype=np.uint8)  # x is missing, y is 1
    >>> np.exp(Marginalizer(tables, "c").log_joint(codes)).round(3)
    array([[0.335, 0.41 ]])
    """

    def __init__(self, tables: LogTables, target: str, max_clique_size: int = MAX_CLIQUE_SIZE) -> None:
        self.tables, self.target, self.max_clique_size = tables, target, max_clique_size

    def log_joint(
        self, codes: CodeArray, shares: FloatArray | None = None, complete: bool = False, *, n_jobs: int | None = None
    ) -> FloatArray:
        """Return L[m, c] = log P(c, known cells of row m); see :meth:`bnplug.CompiledNetwork.log_joint`."""
        self.refuse_shares(shares)
        joint = log_joint(self._terms, codes)
        if complete:
            joint += log_rest(self.tables, self.target, codes)[:, None]
        features = np.arange(len(codes)) != self.tables.names.index(self.target)
        rows = np.flatnonzero((codes[features] == np.iinfo(codes.dtype).max).any(axis=0))
        if len(rows) > 0 and not self._skipping_is_exact:
            self._elimination.add_missing(codes, rows, joint, complete, n_jobs)
        return joint

    def query(self, variables: Sequence[str], evidence: Mapping[str, int | npt.ArrayLike]) -> FloatArray:
        """Return P(variables | evidence); see :func:`bnplug.inference.queries.query`."""
        return posterior(self.kept, variables, evidence)

    def log_probability(self, evidence: Mapping[str, int | npt.ArrayLike]) -> float:
        """Return log P(evidence), relative to no evidence."""
        return log_probability(self.kept, evidence)

    def expected_counts(self, codes: CodeArray, weights: FloatArray) -> list[FloatArray]:
        """Return expected counts; see :func:`bnplug.inference.expectation.expected_counts`."""
        return expected_counts(self.tables, self.target, codes, weights, self.max_clique_size)

    def expectation(self, codes: CodeArray, weigh: Weigh, n_jobs: int | None = None) -> list[FloatArray]:
        """Return expected counts and log joints in one pass; see :class:`bnplug.inference.expectation.Expectation`."""
        return Expectation(self.tables, self.target, self.max_clique_size).counts(codes, weigh, n_jobs)

    @cached_property
    def kept(self) -> Asked:
        """The network, kept for single questions."""
        return Asked(self.tables, self.max_clique_size)

    @cached_property
    def _terms(self) -> Terms:
        return terms(self.tables, self.target)

    @cached_property
    def _elimination(self) -> Elimination:
        return Elimination(self.tables, self.target, self.max_clique_size)

    @cached_property
    def _skipping_is_exact(self) -> bool:
        """Whether skipping missing features is exact: on normalized naive Bayes."""
        return all(
            table.parents == (() if name == self.target else (self.target,)) and table.normalized
            for name, table in self.tables.tables.items()
        )
