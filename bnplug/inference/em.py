"""EM: parameters from rows of which some cells, or the class, are not known (Dempster, Laird and Rubin 1977).

The expectation step counts each family as often as the current parameters expect, given what a row knows; the
maximisation step estimates parameters from these counts as from any others. What is maximised never falls: it is the
log-likelihood of what is known, plus the logarithm of a prior where the estimates have one.
"""

from __future__ import annotations

import sys
import time
from abc import abstractmethod
from collections.abc import Callable, Sequence
from numbers import Integral
from typing import TYPE_CHECKING, Any, NamedTuple, overload

import numpy as np
from sklearn.utils import check_random_state

from bnplug.arrays import CodeArray, FloatArray
from bnplug.contracts import ParameterLearner
from bnplug.data._counting import count_rows, with_unit_weights
from bnplug.data.table import Table
from bnplug.errors import BnplugWarning, warn_outside
from bnplug.hooks.components import check_numbers
from bnplug.model.log_tables import LogTables

if TYPE_CHECKING:
    from bnplug.data.blocks import Blocks
    from bnplug.typing import DAG

# What EM does where a learner has no parameter of that name.
_DEFAULTS: dict[str, Any] = {"restarts": 0, "tol": 1e-6, "max_iter": 500}

# With tol = 0: probabilities that move by no more are still; a value that differs by no more, relatively, is the same.
_STILL, _ROUNDED = 1e-12, 1e-13

# Seconds between two lines that tell how far it is.
_PAUSE = 1.0


class CountsLearner(ParameterLearner):
    """A parameter learner whose estimates follow from the counts of families, such as relative frequencies.

    A subclass writes :meth:`from_counts`. It then learns from complete rows and, where ``table.incomplete`` is "em", by
    EM from all that incomplete rows know, with a class or without. It may have the parameters ``restarts``, ``tol``,
    ``max_iter``, ``random_state``, ``n_jobs`` and ``verbose``; ``ml`` tells what they mean.

    Attributes
    ----------
    counts_ : list of float64 arrays
        The counts that the parameters were estimated from: for each variable an array with axes (variable, \\*parents).
    n_iter_ : int
        How often they were.
    log_likelihood_path_ : list of float
        After EM: the log-likelihood of what is known plus :meth:`log_prior`, at the start and after each step. It never
        falls.

    Examples
    --------
    >>> import pandas as pd
    >>> class PlainFrequencies(CountsLearner):
    ...     def from_counts(self, table, dag, counts, rows):
    ...         families = zip(table.names, table.parents(dag), counts, strict=True)
    ...         tables = {
    ...             name: ([table.names[p] for p in own], np.log((n + 1e-9) / (n + 1e-9).sum(axis=0)))
    ...             for name, own, n in families
    ...         }
    ...         return LogTables(table.names, table.states, tables, table.target)
    >>> frame = pd.DataFrame({"x": [0, 0, 1, None], "c": [*"nnyy"]})
    >>> table = Table.from_frame(frame, "c")
    >>> em = Table(table.codes, table.names, table.states, "c", incomplete="em")
    >>> learner = PlainFrequencies()
    >>> np.exp(learner.fit(em, em.dag([[1], []]))["x"].values).round(3)[:, 1].tolist()
    [0.0, 1.0]
    >>> learner.n_iter_, round(learner.log_likelihood_path_[-1], 3)
    (16, -2.773)
    """

    takes_unlabeled = True

    @abstractmethod
    def from_counts(
        self, table: Table, dag: DAG, counts: Sequence[FloatArray], rows: Sequence[FloatArray]
    ) -> LogTables:
        """Return the estimates of every node of `dag`.

        Parameters
        ----------
        table : Table
            The variables and their states; rows are not to be read.
        dag : DAG
        counts : sequence of float64 arrays
            For each variable, the total weight of the rows in each cell, with axes (variable, \\*parents), parents
            ascending by their number. EM passes expected counts, which need not be whole numbers.
        rows : sequence of float64 arrays
            The number of rows in each cell, in the same shapes: ``counts / rows`` is the mean weight of a row. Without
            weights they equal the counts. With weights they are computed when an item is first accessed.
        """

    def log_prior(self, table: Table, tables: LogTables) -> float:
        """Return the logarithm, up to a constant, of the prior under which the estimates are the most probable ones.

        By default 0: the estimates are of maximum likelihood. A step after which the log-likelihood plus this is lower
        is not made.
        """
        return 0.0

    def fit(self, table: Table, dag: DAG) -> LogTables:
        """Return the estimates: by EM where ``table.incomplete`` is "em" and cells are missing.

        Otherwise each table counts the rows in which its variables are known.
        """
        if table.learned_by_em:
            found = expectation_maximization(self, table, dag)
            self.counts_, self.log_likelihood_path_ = found.counts, found.path
            self.n_iter_ = len(found.path) - 1
            return found.tables
        families = _families(table, dag)
        self.counts_, self.n_iter_ = table.counts(families), 1
        return self.from_counts(table, dag, self.counts_, row_counts(table, families, self.counts_))


class _LazyCounts(Sequence[FloatArray]):
    """Counts that are computed when an item is first accessed.

    Examples
    --------
    >>> counts = _LazyCounts(1, lambda: [np.array([2.0, 1.0])])
    >>> len(counts), counts[0].tolist()
    (1, [2.0, 1.0])
    """

    def __init__(self, length: int, compute: Callable[[], Sequence[FloatArray]]) -> None:
        self._length, self._compute = length, compute
        self._counts: Sequence[FloatArray] | None = None

    def __len__(self) -> int:
        return self._length

    @overload
    def __getitem__(self, index: int) -> FloatArray: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[FloatArray]: ...

    def __getitem__(self, index: int | slice) -> FloatArray | Sequence[FloatArray]:
        if self._counts is None:
            self._counts = self._compute()
        return self._counts[index]


def row_counts(table: Table, families: Sequence[tuple[int, ...]], counts: Sequence[FloatArray]) -> Sequence[FloatArray]:
    """Return the number of rows in each cell of families: `counts`, their weights, unless rows are weighted.

    Rows of weight 0 do not count. Weighted rows are counted when an item is first accessed.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"x": [0, 0, 1], "c": [*"nny"]})
    >>> table = Table.from_frame(frame, "c", weights=[0.5, 0.2, 4.0])
    >>> row_counts(table, [(0,)], table.counts([(0,)]))[0].tolist()
    [2.0, 1.0]
    """
    if not table.weighted:
        return counts
    return _LazyCounts(len(families), lambda: table.sum(count_rows, families))


class Maximum(NamedTuple):
    """Where EM ended.

    Attributes
    ----------
    tables : LogTables
    counts : list of float64 arrays
        The expected counts that the tables were estimated from.
    rows : sequence of float64 arrays
        The expected number of rows in each cell.
    path : list of float
        The log-likelihood plus the logarithm of the prior, at the start and after each step.
    """

    tables: LogTables
    counts: list[FloatArray]
    rows: Sequence[FloatArray]
    path: list[float]


def expectation_maximization(
    learner: CountsLearner, table: Table, dag: DAG, start: LogTables | None = None, **options: Any
) -> Maximum:
    """Return the parameters of `learner` at a maximum of the likelihood of what the rows of `table` know.

    Parameters
    ----------
    learner : CountsLearner
        It is not changed.
    table : Table
    dag : DAG
    start : LogTables, optional
        Where to start; by default at the estimates from available cases, those rows that know a family.
    **options
        ``restarts``, ``tol``, ``max_iter``, ``n_jobs``, ``random_state``, ``verbose``, in the place of the learner's.
    """
    em = _Run(learner, table, dag, options)
    best = em.climb(em.from_available() if start is None else start)
    for tables in em.random_starts():
        found = em.climb(tables)
        best = found if found.path[-1] > best.path[-1] else best
    em.tell_end(best)
    return best


def expected_family_counts(
    table: Table, tables: LogTables, n_jobs: int | None = None
) -> tuple[list[FloatArray], float]:
    """Return how often `tables` expect each of their families in the rows, and the log-likelihood of what these know.

    Examples
    --------
    >>> tables = LogTables(
    ...     ["x", "c"], {"x": [0, 1], "c": ["n", "y"]},
    ...     {"x": (("c",), np.log([[0.9, 0.2], [0.1, 0.8]])), "c": ((), np.log([0.5, 0.5]))}, "c")
    >>> codes = np.array([[1, 255], [255, 0]], dtype=np.uint8)  # x is 1, and: the class is n
    >>> table = Table(codes, tables.names, tables.states, "c", incomplete="em")
    >>> counts, log_likelihood = expected_family_counts(table, tables)
    >>> counts[0].round(3).tolist(), round(float(np.exp(log_likelihood)), 3)
    ([[0.9, 0.0], [0.211, 0.889]], 0.225)
    """
    counts, log_likelihood, _ = _expect(table.spawn(_Rows), tables, n_jobs)
    return counts, log_likelihood


class _Run:
    """One learner on one table: what climbs from a start, and where to start."""

    def __init__(self, learner: CountsLearner, table: Table, dag: DAG, options: dict[str, Any]) -> None:
        self.learner, self.table, self.dag = learner, table, dag
        given = {name: getattr(learner, name, value) for name, value in _DEFAULTS.items()} | options
        self.tol, self.max_iter, self.restarts = given["tol"], given["max_iter"], given["restarts"]
        check_numbers(self, "tol")
        for name, least in (("max_iter", 1), ("restarts", 0)):
            if not isinstance(given[name], Integral) or given[name] < least:
                raise ValueError(f"{name}={given[name]!r} must be a whole number of at least {least}")
        self.n_jobs, self.verbose, self.random_state = (
            options.get(name, getattr(learner, name, None)) for name in ("n_jobs", "verbose", "random_state")
        )
        self.rows, self.told = table.spawn(_Rows), time.monotonic()
        families = _families(table, dag)
        self.available = table.counts(families)
        self.available_rows = row_counts(table, families, self.available)

    def from_available(self) -> LogTables:
        """Return estimates from the available cases of each family plus one virtual row, which prevents zeros."""
        return self._from_available([np.ones(()) for _ in self.available])

    def random_starts(self) -> list[LogTables]:
        """Return estimates from these rows, each cell of which counts as much as an exponential draw says."""
        random = check_random_state(self.random_state)
        drawn = [[random.exponential(size=counts.shape) for counts in self.available] for _ in range(self.restarts)]
        return [self._from_available(factors) for factors in drawn]

    def _from_available(self, factors: Sequence[FloatArray]) -> LogTables:
        """Return estimates from available cases plus one virtual row, with a factor for each cell."""

        def multiplied(counts: Sequence[FloatArray]) -> list[FloatArray]:
            return [(cells + 1.0 / cells.size) * factor for cells, factor in zip(counts, factors, strict=True)]

        rows = _LazyCounts(len(factors), lambda: multiplied(self.available_rows))
        return self.learner.from_counts(self.table, self.dag, multiplied(self.available), rows)

    def climb(self, tables: LogTables) -> Maximum:
        """Return where steps from `tables` lead: one that does not rise by `tol` times the value is the last."""
        made_of = self.available, self.available_rows
        counts, value = self._expect(tables, warn=True)
        path = [value]
        for _ in range(self.max_iter):
            rows = self._expected_rows(tables, counts)
            new = self.learner.from_counts(self.table, self.dag, counts, rows)
            new_counts, value = self._expect(new)
            rise, moved = value - path[-1], _largest_move(tables, new)
            # Near a maximum the value is flat to the last digit long before the parameters are.
            goes_on = self.tol == 0 and moved > _STILL and abs(rise) <= _ROUNDED * abs(value)
            # Multiplying all weights by a constant changes rounding errors, so small changes are ignored.
            flat = self.table.weighted and abs(rise) <= _ROUNDED * abs(value)
            if rise > 0 or goes_on or flat:
                tables, made_of, counts = new, (counts, rows), new_counts
            if rise > 0:
                path.append(value)
                self._tell(path)
            if not rise > self.tol * abs(value) and not goes_on:
                break
        return Maximum(tables, *made_of, path)

    def _expected_rows(self, tables: LogTables, counts: list[FloatArray]) -> Sequence[FloatArray]:
        """Return the expected number of rows in each cell under `tables`: `counts`, unless rows are weighted."""
        if not self.table.weighted:
            return counts
        return _LazyCounts(len(counts), lambda: _expect(self.table.spawn(_Rows, True), tables, self.n_jobs)[0])

    def _expect(self, tables: LogTables, warn: bool = False) -> tuple[list[FloatArray], float]:
        counts, log_likelihood, impossible = _expect(self.rows, tables, self.n_jobs)
        if warn and impossible:
            warn_outside(
                f"{impossible} row(s) are impossible under tables that are fixed, and tell nothing", BnplugWarning
            )
        return counts, log_likelihood + self.learner.log_prior(self.table, tables)

    def _tell(self, path: list[float]) -> None:
        if (self.verbose or 0) > 1 or (self.verbose and time.monotonic() - self.told >= _PAUSE):
            self.told = time.monotonic()
            print(f"em: step {len(path) - 1}, log-likelihood {path[-1]:.10g}", file=sys.stderr, flush=True)

    def tell_end(self, best: Maximum) -> None:
        """Write a last line, unless silent."""
        if self.verbose:
            steps, value = len(best.path) - 1, best.path[-1]
            print(f"em: {steps} steps, log-likelihood {value:.10g}", file=sys.stderr, flush=True)


def _largest_move(tables: LogTables, other: LogTables) -> float:
    """Return by how much a probability differs at most."""
    pairs = zip(tables.tables.values(), other.tables.values(), strict=True)
    return max(float(np.abs(np.exp(a.values) - np.exp(b.values)).max()) for a, b in pairs)


def _families(table: Table, dag: DAG) -> list[tuple[int, ...]]:
    return [(v, *parents) for v, parents in enumerate(table.parents(dag))]


def _expect(rows: Blocks, tables: LogTables, n_jobs: int | None) -> tuple[list[FloatArray], float, int]:
    """Return the expected counts over all blocks, the log-likelihood, and the number of rows that are impossible."""
    *counts, value, impossible = rows.sum("expect", tables, n_jobs)
    return counts, float(value), int(impossible)


class _Rows:
    """A block of rows: the complete ones are counted once, and the others as often as parameters change."""

    def __init__(self, block: Table, unweighted: bool = False) -> None:
        block = with_unit_weights(block) if unweighted else block
        holes = (block.codes == block.missing).any(axis=0)
        self.target = block.target
        self.complete = block.take(~holes)
        self.incomplete = block.take(holes)
        self.families: list[tuple[int, ...]] = []

    def expect(self, tables: LogTables, n_jobs: int | None) -> list[Any]:
        """Return the expected counts of each family, then the log-likelihood and the number of impossible rows."""
        families = [tuple(map(tables.names.index, (name, *own))) for name, (own, _) in tables.tables.items()]
        if families != self.families:
            self.families, self.counts = families, self.complete.counts(families)
        own = _Weights(self.incomplete)
        if not self.incomplete.n_rows:
            expected = [np.zeros_like(counts) for counts in self.counts]
        else:
            from bnplug.inference.expectation import Expectation

            expected = Expectation(tables, self.target).counts(self.incomplete.codes, own, n_jobs)
        value, impossible = own.log_likelihood()
        for counts, added, (_, values) in zip(self.counts, expected, tables.tables.values(), strict=True):
            seen = (counts > 0) & np.isfinite(values)
            value += float((counts[seen] * values[seen]).sum())
            added += counts
        return [*expected, value, impossible]


class _Weights:
    """What a row counts for with each class: all of it with the one that it has, or as much as is probable."""

    def __init__(self, rows: Table) -> None:
        self.y: CodeArray = rows.codes[rows.target_index]
        self.known = self.y != rows.missing
        self.weights = np.ones(rows.n_rows) if rows.weights is None else rows.weights
        self.log_p = np.zeros(rows.n_rows)

    def __call__(self, joint: FloatArray, rows: slice) -> FloatArray:
        """Return the weights of rows by their log joints; note what these say of what is known."""
        known, y = self.known[rows], self.y[rows]
        shares = np.zeros_like(joint)
        places = np.flatnonzero(known)
        shares[places, y[places]] = 1.0
        log_p = np.empty(len(joint))
        log_p[places] = joint[places, y[places]]
        if len(places) < len(joint):
            largest = joint[~known].max(axis=1)
            largest = np.where(np.isneginf(largest), 0.0, largest)
            own = np.exp(joint[~known] - largest[:, None])
            total = own.sum(axis=1)
            shares[~known] = own / np.where(total > 0, total, 1.0)[:, None]
            with np.errstate(divide="ignore"):
                log_p[~known] = largest + np.log(total)
        self.log_p[rows] = log_p
        return np.asarray(shares * self.weights[rows, None])

    def log_likelihood(self) -> tuple[float, int]:
        """Return that of all rows that are possible, and the number of the others."""
        possible = np.isfinite(self.log_p)
        return float(self.weights[possible] @ self.log_p[possible]), int((~possible).sum())
