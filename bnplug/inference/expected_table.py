"""A table whose counts are those that a network expects, given what every row knows.

So a learner that takes sums from its table learns from incomplete rows as from complete ones: the expectation step of
structural EM (Friedman 1998). Who reads rows instead gets those that have a class, with what is missing drawn from the
network.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from bnplug.arrays import CodeArray, FloatArray, IntArray
from bnplug.data.block_table import BlockTable
from bnplug.data.blocks import Block, Blocks, EachBlock, LocalStore
from bnplug.data.table import Table
from bnplug.inference.batches import query_rows
from bnplug.inference.completing import draw_missing
from bnplug.inference.marginals import Marginalizer
from bnplug.model.log_tables import LogTables

# Joint distributions of so many missing cells of a row are kept, since many families ask for them.
_KEPT = 2


class ExpectedTable(BlockTable):
    """The rows of a table as a network expects them.

    :meth:`counts` is exact, over all rows, also those without a class. ``codes``, :meth:`map` and :meth:`spawn` give
    the rows that have a class, completed by one draw.

    Parameters
    ----------
    rows : Table
        With missing cells, maybe of the class.
    network : callable
        Returns the :class:`~bnplug.LogTables` that say what is expected; called when that is first asked for.
    seed : int
        What missing cells are drawn with.
    n_jobs : int, optional
        Threads. Nothing depends on it.

    Examples
    --------
    >>> tables = LogTables(
    ...     ["x", "c"], {"x": [0, 1], "c": ["n", "y"]},
    ...     {"x": (("c",), np.log([[0.9, 0.2], [0.1, 0.8]])), "c": ((), np.log([0.5, 0.5]))}, "c")
    >>> codes = np.array([[1, 255, 0], [255, 0, 0]], dtype=np.uint8)
    >>> rows = Table(codes, tables.names, tables.states, "c", incomplete="em")
    >>> expected = ExpectedTable(rows, lambda: tables)
    >>> expected.counts([[0, 1]])[0].round(3).tolist(), expected.n_rows, expected.total_weight
    ([[1.9, 0.0], [0.211, 0.889]], 2, 3.0)
    """

    #: Tells what takes counts in its own way that those of :meth:`counts` are to be taken.
    expects = True

    def __init__(self, rows: Table, network: Callable[[], LogTables], seed: int = 0, n_jobs: int | None = None) -> None:
        self._describe(rows.names, rows.states, rows.target, rows.left_out)
        self._all, self._network, self._seed, self._n_jobs = rows, network, seed, n_jobs
        if not rows.weighted:
            self.weights = None

    @cached_property
    def _known(self) -> Table:
        return self._all.with_class()

    @property
    def n_rows(self) -> int:
        """The number of rows that have a class."""
        return self._known.n_rows

    @property
    def block_sizes(self) -> tuple[int, ...]:
        """The number of such rows of each block."""
        return self._known.block_sizes

    @property
    def weighted(self) -> bool:
        """Whether rows have weights."""
        return self._all.weighted

    @cached_property
    def total_weight(self) -> float:
        """M: the number of all rows, or the sum of their weights."""
        return self._all.total_weight

    @cached_property
    def _tables(self) -> LogTables:
        return self._network()

    @cached_property
    def _expected(self) -> Blocks:
        return self._all.spawn(_ExpectedRows, self._tables, self._n_jobs)

    @cached_property
    def store(self) -> LocalStore:  # type: ignore[override]
        """The rows that have a class, completed."""
        seeds = EachBlock([self._seed + i for i in range(self._known.n_blocks)])
        found = self._known.map(_completed, self._tables, seeds, self._n_jobs)
        return LocalStore([Block(*own) for own in found])

    def __getattr__(self, name: str) -> Any:
        if name in ("codes", "weights"):
            self.store  # noqa: B018 - which makes them
        return super().__getattr__(name)

    def counts(self, families: Sequence[Sequence[int]], folds: npt.ArrayLike | None = None) -> list[FloatArray]:
        """Return how often families are expected; with folds, how often completed rows have them."""
        if folds is not None:
            return super().counts(families, folds)
        return self._expected.sum("counts", [tuple(map(int, own)) for own in families])


def _completed(block: Table, tables: LogTables, seed: int, n_jobs: int | None) -> tuple[CodeArray, FloatArray | None]:
    return draw_missing(tables, block.codes, seed, n_jobs), block.weights


class _ExpectedRows:
    """A block of rows, and what the network says of their missing cells."""

    def __init__(self, block: Table, tables: LogTables, n_jobs: int | None) -> None:
        self.block, self.tables, self.n_jobs = block, tables, n_jobs
        self.lacks = block.codes == block.missing
        self.weights = np.ones(block.n_rows) if block.weights is None else block.weights
        self._compiled: dict[str, Marginalizer] = {}
        self._shares: dict[tuple[int, ...], tuple[IntArray, FloatArray]] = {}

    def counts(self, families: Sequence[tuple[int, ...]]) -> list[FloatArray]:
        """Return the expected counts of families: those of rows that know them, and shares of the others."""
        found = self.block.counts(families)
        for family, counts in zip(families, found, strict=True):
            self._add_incomplete(family, counts)
        return found

    def _add_incomplete(self, family: tuple[int, ...], counts: FloatArray) -> None:
        lacks = self.lacks[list(family)]
        patterns = lacks.T @ (1 << np.arange(len(family)))
        for pattern in np.unique(patterns[patterns > 0]).tolist():
            axes = [i for i in range(len(family)) if pattern >> i & 1]
            rows = np.flatnonzero(patterns == pattern)
            self._add(family, axes, rows, counts)

    def _add(self, family: tuple[int, ...], axes: list[int], rows: IntArray, counts: FloatArray) -> None:
        """Add rows that lack the variables at some axes of a family."""
        known = [i for i in range(len(family)) if i not in axes]
        cards = self.block.cards
        shares = self._shares_of(tuple(family[i] for i in axes), rows) * self.weights[rows, None]
        sizes = [int(cards[family[i]]) for i in known]
        states = [self.block.codes[family[i], rows].astype(np.int64) for i in known]
        places = np.ravel_multi_index(states, sizes) if known else np.zeros(len(rows), dtype=np.int64)
        size = int(np.prod(sizes, dtype=np.int64))
        added = np.stack([np.bincount(places, own, size) for own in shares.T], axis=1)
        shape = [*sizes, *(int(cards[family[i]]) for i in axes)]
        counts += added.reshape(shape).transpose(np.argsort([*known, *axes]))

    def _shares_of(self, variables: tuple[int, ...], rows: IntArray) -> FloatArray:
        """Return P(variables | what a row knows) of rows that lack them, the last variable changing fastest."""
        if len(variables) > _KEPT:
            return self._asked(variables, rows)
        if variables not in self._shares:
            every = np.flatnonzero(self.lacks[list(variables)].all(axis=0))
            self._shares[variables] = every, self._asked(variables, every)
        every, shares = self._shares[variables]
        found: FloatArray = shares[np.searchsorted(every, rows)]
        return found

    def _asked(self, variables: tuple[int, ...], rows: IntArray) -> FloatArray:
        names = [self.tables.names[v] for v in variables]
        return query_rows(self.tables, names, self._compile, self.block.codes[:, rows], self.n_jobs)

    def _compile(self, name: str) -> Marginalizer:
        if name not in self._compiled:
            self._compiled[name] = Marginalizer(self.tables, name)
        return self._compiled[name]
