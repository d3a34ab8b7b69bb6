"""EM: parameters from rows with missing cells or a missing class (Dempster, Laird and Rubin 1977).

The objective, the log-likelihood of the known cells plus the log prior, never falls.
"""

from __future__ import annotations

import sys
import time
from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from numbers import Integral
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
from sklearn.utils import check_random_state

from bnplug.contracts import CompiledNetwork, CountingNetwork, Engine, ParameterLearner
from bnplug.errors import BnplugWarning, warn_outside
from bnplug.hooks.components import check_numbers
from bnplug.inference.marginals import Marginalizer
from bnplug.model.log_tables import LogTables, estimate
from bnplug.structure import Structure
from bnplug.table._counting import count_rows, with_unit_weights
from bnplug.table.table import Table
from bnplug.typing import CodeArray, FloatArray

if TYPE_CHECKING:
    from bnplug.table.blocks import Blocks

# The options of EM for learners without a parameter of that name.
_DEFAULTS: dict[str, Any] = {"restarts": 0, "tol": 1e-6, "max_iter": 500}

# With tol = 0: the largest change of converged probabilities, and the relative change of an equal objective.
_STILL, _ROUNDED = 1e-12, 1e-13

# Seconds between two progress messages.
_PAUSE = 1.0


class CountsLearner(ParameterLearner):
    """A parameter learner whose estimates follow from the counts of families, such as relative frequencies.

    A subclass implements :meth:`from_counts`. It then learns from complete rows in memory, in blocks and on Dask, in
    parts (:meth:`partial_fit`) and, if ``table.missing_policy`` is "em", from all known cells of incomplete rows by EM,
    with or without a class. It may have the parameters ``restarts``, ``tol``, ``max_iter``, ``random_state``,
    ``n_jobs`` and ``verbose``, with the meaning of ``ml``.

    Attributes
    ----------
    engine_ : Engine or None
        The engine of EM, which the classifier sets before it calls :meth:`fit`. Without an engine whose compiled
        network is a :class:`~bnplug.CountingNetwork`, EM uses `elimination`.
    reads_rows : bool
        Whether :meth:`from_counts` reads ``rows``, as by default. False saves a pass over weighted rows, and ``rows``
        is then empty except in EM.
    counts_ : list of float64 arrays
        The counts that the parameters were estimated from: for each variable an array with axes (variable, \\*parents).
    rows_ : list of float64 arrays
        The numbers of rows in the same cells. Empty after EM, and if `reads_rows` is False.
    n_iter_ : int
        The number of steps of EM; 1 without EM.
    log_likelihood_path_ : list of float
        After EM: the log-likelihood of the known cells plus :meth:`log_prior`, at the start and after each step.

    Examples
    --------
    >>> import pandas as pd
    >>> class PlainFrequencies(CountsLearner):
    ...     def from_counts(self, table, structure, counts, rows):
    ...         families = zip(table.names, structure.parents, counts, strict=True)
    ...         tables = {
    ...             name: ([table.names[p] for p in parents], np.log((n + 1e-9) / (n + 1e-9).sum(axis=0)))
    ...             for name, parents, n in families
    ...         }
    ...         return LogTables(table.names, table.states, tables, table.target)
    >>> frame = pd.DataFrame({"x": [0, 0, 1, None], "c": [*"nnyy"]})
    >>> table = Table.from_frame(frame, "c")
    >>> em = Table(table.codes, table.names, table.states, "c", missing_policy="em")
    >>> learner = PlainFrequencies()
    >>> np.exp(learner.fit(em, Structure(em.names, [[1], []]))["x"].values).round(3)[:, 1].tolist()
    [0.0, 1.0]
    >>> learner.n_iter_, round(learner.log_likelihood_path_[-1], 3)
    (16, -2.773)
    """

    takes_unlabeled = True
    engine_: Engine | None = None
    reads_rows: ClassVar[bool] = True

    @abstractmethod
    def from_counts(
        self, table: Table, structure: Structure, counts: Sequence[FloatArray], rows: Sequence[FloatArray]
    ) -> LogTables:
        """Return the estimates of every node of `structure`.

        Parameters
        ----------
        table : Table
            The variables and their states; rows are not to be read.
        structure : Structure
        counts : sequence of float64 arrays
            For each variable, the total weight of the rows in each cell, with axes (variable, \\*parents), parents
            ascending by their number. EM passes expected counts, which need not be whole numbers.
        rows : sequence of float64 arrays
            The number of rows in each cell, in the same shapes: ``counts / rows`` is the mean weight of a row. In EM
            with weights, these numbers are computed when an item is first accessed.
        """

    def log_prior(self, table: Table, tables: LogTables) -> float:
        """Return the log prior, up to a constant, under which the estimates are most probable; by default 0."""
        return 0.0

    def fit(self, table: Table, structure: Structure) -> LogTables:
        """Return the estimates, by EM or from the rows in which all variables of a family are known."""
        self.__dict__.pop("log_likelihood_path_", None)
        if table.learned_by_em:
            maximum = expectation_maximization(self, table, structure)
            self.counts_, self.log_likelihood_path_ = maximum.counts, maximum.path
            self.n_iter_ = len(maximum.path) - 1
            self.rows_: list[FloatArray] = []
            return maximum.tables
        self.counts_, self.rows_ = self._count(table, structure)
        self.n_iter_ = 1
        return self.from_counts(table, structure, self.counts_, self.rows_)

    def partial_fit(self, table: Table, structure: Structure) -> LogTables:
        """Return the estimates from these and all earlier rows, with the same states and structure; not for EM."""
        if not hasattr(self, "counts_"):
            return self.fit(table, structure)
        if table.learned_by_em or hasattr(self, "log_likelihood_path_"):
            raise ValueError('missing_policy="em" needs several passes over all rows: use fit')
        return self._fit_more(table, structure)

    def _fit_more(self, table: Table, structure: Structure) -> LogTables:
        counts, rows = self._count(table, structure)
        self.counts_, self.rows_ = added_counts(self.counts_, counts), added_counts(self.rows_, rows)
        return self.from_counts(table, structure, self.counts_, self.rows_)

    def _count(self, table: Table, structure: Structure) -> tuple[list[FloatArray], list[FloatArray]]:
        """Return the total weight and, if they are read, the number of rows in each cell of each family."""
        families = _families(table, structure)
        counts = table.counts(families)
        return counts, list(row_counts(table, families, counts)) if self.reads_rows else []


class SmoothedFrequencies(CountsLearner):
    """Relative frequencies with ``alpha`` virtual rows, spread evenly over each table: ``ml`` without its options."""

    reads_rows = False

    def __init__(self, alpha: float = 1.0, floor: float = 0.0, n_jobs: int | None = None) -> None:
        self.alpha = alpha
        self.floor = floor
        self.n_jobs = n_jobs

    def from_counts(
        self, table: Table, structure: Structure, counts: Sequence[FloatArray], rows: Sequence[FloatArray]
    ) -> LogTables:
        """Return the smoothed relative frequencies of the counts."""
        check_numbers(self, "alpha", "floor")
        if not self.floor < 1:
            raise ValueError(f"floor={self.floor} must be at least 0 and below 1")
        tables = {
            table.names[v]: ([table.names[p] for p in parents], estimate(counts[v], self.alpha, self.floor))
            for v, parents in enumerate(structure.parents)
        }
        return LogTables(table.names, table.states, tables, table.target)

    def log_prior(self, table: Table, tables: LogTables) -> float:
        """Return the sum over cells of their virtual rows times the log parameter."""
        total = 0.0
        for _, values in tables.tables.values() if self.alpha > 0 else ():
            total += self.alpha / values.size * float(values.sum())
        return total


def added_counts(earlier: Sequence[FloatArray], counts: Sequence[FloatArray]) -> list[FloatArray]:
    """Return the counts of earlier and of more rows; a ``ValueError`` if these have other states or another structure.

    Examples
    --------
    >>> added_counts([np.array([1.0, 2.0])], [np.array([0.0, 5.0])])
    [array([1., 7.])]
    """
    if [cells.shape for cells in earlier] != [cells.shape for cells in counts]:
        raise ValueError("these rows have other states or another structure than earlier rows; fit all rows together")
    return [before + more for before, more in zip(earlier, counts, strict=True)]


class _LazyCounts(Sequence[FloatArray]):
    """Counts that are computed when an item is first accessed."""

    def __init__(self, length: int, compute: Callable[[], Sequence[FloatArray]]) -> None:
        self._length, self._compute = length, cache(compute)

    def __len__(self) -> int:
        return self._length

    def __getitem__(self, index: Any) -> Any:
        return self._compute()[index]


def row_counts(table: Table, families: Sequence[tuple[int, ...]], counts: Sequence[FloatArray]) -> Sequence[FloatArray]:
    """Return the number of rows in each cell, without rows of weight 0: `counts`, unless rows are weighted."""
    if not table.weighted:
        return counts
    return _LazyCounts(len(families), lambda: table.sum(count_rows, families))


class Maximum(NamedTuple):
    """Tables, the expected counts and rows they are estimated from, and the objective at the start and each step."""

    tables: LogTables
    counts: list[FloatArray]
    rows: Sequence[FloatArray]
    path: list[float]


def expectation_maximization(
    learner: CountsLearner, table: Table, structure: Structure, start: LogTables | None = None, **options: Any
) -> Maximum:
    """Return the parameters of `learner`, which is not modified, at a maximum of the likelihood of the known cells.

    `start` is by default estimated from the rows in which a family is known. `options` replace the learner's:
    ``restarts``, ``tol``, ``max_iter``, ``n_jobs``, ``random_state``, ``verbose`` and ``engine``.
    """
    em = _Run(learner, table, structure, options)
    best = max(map(em.climb, em.starts(start)), key=lambda maximum: maximum.path[-1])
    if em.verbose:
        print(f"em: {len(best.path) - 1} steps, log-likelihood {best.path[-1]:.10g}", file=sys.stderr, flush=True)
    return best


def expected_family_counts(
    table: Table, tables: LogTables, n_jobs: int | None = None
) -> tuple[list[FloatArray], float]:
    """Return the expected counts of each family under `tables`, and the log-likelihood of the known cells."""
    counts, log_likelihood, _ = _expect(table.spawn(_Rows), tables, n_jobs, None)
    return counts, log_likelihood


def compiled_for_em(engine: Engine | None, tables: LogTables, target: str) -> CompiledNetwork:
    """Compile a network for EM: by `engine`, if it offers expected counts, and otherwise by elimination."""
    compiled = None if engine is None else engine.compile(tables, target)
    return compiled if isinstance(compiled, CountingNetwork) else Marginalizer(tables, target)


class _Run:
    """EM of one learner on one table."""

    def __init__(self, learner: CountsLearner, table: Table, structure: Structure, options: dict[str, Any]) -> None:
        self.learner, self.table, self.structure = learner, table, structure
        given = {name: getattr(learner, name, value) for name, value in _DEFAULTS.items()} | options
        self.tol, self.max_iter, self.restarts = given["tol"], given["max_iter"], given["restarts"]
        check_numbers(self, "tol")
        for name, least in (("max_iter", 1), ("restarts", 0)):
            if not isinstance(given[name], Integral) or given[name] < least:
                raise ValueError(f"{name}={given[name]!r} must be a whole number of at least {least}")
        self.n_jobs, self.verbose, self.random_state = (
            options.get(name, getattr(learner, name, None)) for name in ("n_jobs", "verbose", "random_state")
        )
        self.engine: Engine | None = options.get("engine", getattr(learner, "engine_", None))
        self.rows, self.reported = table.spawn(_Rows), time.monotonic()
        families = _families(table, structure)
        self.available = table.counts(families)
        self.available_rows = row_counts(table, families, self.available)

    def starts(self, first: LogTables | None) -> Iterator[LogTables]:
        """Yield the first start, by default the estimates from available cases, and the random ones."""
        yield self._from_available([np.ones(()) for _ in self.available]) if first is None else first
        random = check_random_state(self.random_state)
        for _ in range(self.restarts):
            yield self._from_available([random.exponential(size=counts.shape) for counts in self.available])

    def _from_available(self, factors: Sequence[FloatArray]) -> LogTables:
        """Return estimates from available cases plus one virtual row, with a factor for each cell; none is zero."""

        def multiplied(counts: Sequence[FloatArray]) -> list[FloatArray]:
            return [(cells + 1.0 / cells.size) * factor for cells, factor in zip(counts, factors, strict=True)]

        rows = _LazyCounts(len(factors), lambda: multiplied(self.available_rows))
        return self.learner.from_counts(self.table, self.structure, multiplied(self.available), rows)

    def climb(self, tables: LogTables) -> Maximum:
        """Return the end of the steps from `tables`: the last one does not rise by `tol` times the value."""
        made_of = self.available, self.available_rows
        counts, value = self._expect(tables, warn=True)
        path = [value]
        for _ in range(self.max_iter):
            rows = self._expected_rows(tables, counts)
            new = self.learner.from_counts(self.table, self.structure, counts, rows)
            new_counts, value = self._expect(new)
            rise, moved = value - path[-1], _largest_move(tables, new)
            # Near a maximum the value converges long before the parameters.
            goes_on = self.tol == 0 and moved > _STILL and abs(rise) <= _ROUNDED * abs(value)
            # Multiplying all weights by a constant changes rounding errors, so small changes are ignored.
            flat = self.table.weighted and abs(rise) <= _ROUNDED * abs(value)
            if rise > 0 or goes_on or flat:
                tables, made_of, counts = new, (counts, rows), new_counts
            if rise > 0:
                path.append(value)
                self._report(path)
            if not rise > self.tol * abs(value) and not goes_on:
                break
        return Maximum(tables, *made_of, path)

    def _expected_rows(self, tables: LogTables, counts: list[FloatArray]) -> Sequence[FloatArray]:
        """Return the expected number of rows in each cell under `tables`: `counts`, unless rows are weighted."""
        if not self.table.weighted:
            return counts

        def compute() -> Sequence[FloatArray]:
            return _expect(self.table.spawn(_Rows, True), tables, self.n_jobs, self.engine)[0]

        return _LazyCounts(len(counts), compute)

    def _expect(self, tables: LogTables, warn: bool = False) -> tuple[list[FloatArray], float]:
        counts, log_likelihood, impossible = _expect(self.rows, tables, self.n_jobs, self.engine)
        if warn and impossible:
            warn_outside(
                f"{impossible} row(s) are impossible under tables that are fixed, and are ignored", BnplugWarning
            )
        return counts, log_likelihood + self.learner.log_prior(self.table, tables)

    def _report(self, path: list[float]) -> None:
        if (self.verbose or 0) > 1 or (self.verbose and time.monotonic() - self.reported >= _PAUSE):
            self.reported = time.monotonic()
            print(f"em: step {len(path) - 1}, log-likelihood {path[-1]:.10g}", file=sys.stderr, flush=True)


def _largest_move(tables: LogTables, other: LogTables) -> float:
    """Return the largest difference of a probability."""
    pairs = zip(tables.tables.values(), other.tables.values(), strict=True)
    return max(float(np.abs(np.exp(a.values) - np.exp(b.values)).max()) for a, b in pairs)


def _families(table: Table, structure: Structure) -> list[tuple[int, ...]]:
    return [(v, *parents) for v, parents in enumerate(structure.parents)]


def _expect(
    rows: Blocks, tables: LogTables, n_jobs: int | None, engine: Engine | None
) -> tuple[list[FloatArray], float, int]:
    """Return the expected counts over all blocks, the log-likelihood, and the number of impossible rows."""
    *counts, value, impossible = rows.sum("expect", tables, n_jobs, engine)
    return counts, float(value), int(impossible)


class _Rows:
    """A block of rows: complete rows are counted once, incomplete ones whenever parameters change."""

    def __init__(self, block: Table, unweighted: bool = False) -> None:
        block = with_unit_weights(block) if unweighted else block
        holes = (block.codes == block.missing).any(axis=0)
        self.target = block.target
        self.complete = block.take(~holes)
        self.incomplete = block.take(holes)
        self.families: list[tuple[int, ...]] = []

    def expect(self, tables: LogTables, n_jobs: int | None, engine: Engine | None) -> list[Any]:
        """Return the expected counts of each family, then the log-likelihood and the number of impossible rows."""
        families = [tuple(map(tables.names.index, (name, *parents))) for name, (parents, _) in tables.tables.items()]
        if families != self.families:
            self.families, self.counts = families, self.complete.counts(families)
        weights = _Weights(self.incomplete)
        if not self.incomplete.n_rows:
            expected = [np.zeros_like(counts) for counts in self.counts]
        else:
            compiled = compiled_for_em(engine, tables, self.target)
            expected = compiled.expectation(self.incomplete.codes, weights, n_jobs)
        value, impossible = weights.log_likelihood()
        for counts, added, (_, values) in zip(self.counts, expected, tables.tables.values(), strict=True):
            seen = (counts > 0) & np.isfinite(values)
            value += float((counts[seen] * values[seen]).sum())
            added += counts
        return [*expected, value, impossible]


class _Weights:
    """The weight of a row with each class: its whole weight with its class, or the posterior if it has none."""

    def __init__(self, rows: Table) -> None:
        self.y: CodeArray = rows.codes[rows.target_index]
        self.known = self.y != rows.missing
        self.weights = np.ones(rows.n_rows) if rows.weights is None else rows.weights
        self.log_p = np.zeros(rows.n_rows)

    def __call__(self, joint: FloatArray, rows: slice) -> FloatArray:
        """Return the weights of rows given their log joints, and store their log probabilities."""
        known, y = self.known[rows], self.y[rows]
        shares = np.zeros_like(joint)
        places = np.flatnonzero(known)
        shares[places, y[places]] = 1.0
        log_p = np.empty(len(joint))
        log_p[places] = joint[places, y[places]]
        if len(places) < len(joint):
            largest = joint[~known].max(axis=1)
            largest[np.isneginf(largest)] = 0.0
            scaled = np.exp(joint[~known] - largest[:, None])
            total = scaled.sum(axis=1)
            shares[~known] = scaled / np.where(total > 0, total, 1.0)[:, None]
            with np.errstate(divide="ignore"):
                log_p[~known] = largest + np.log(total)
        self.log_p[rows] = log_p
        return np.asarray(shares * self.weights[rows, None])

    def log_likelihood(self) -> tuple[float, int]:
        """Return the log-likelihood of all possible rows, and the number of impossible ones."""
        possible = np.isfinite(self.log_p)
        return float(self.weights[possible] @ self.log_p[possible]), int((~possible).sum())
