"""A table whose counts are those that a network expects, given what every row knows.

So a learner that takes sums from its table learns from incomplete rows as from complete ones: the expectation step of
structural EM (Friedman 1998). A predictive score of the core's kind takes the marginal log joints of the rows that have
a class. Who reads rows instead gets these, with what is missing drawn from the network.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from bnplug.arrays import BoolArray, CodeArray, FloatArray, IntArray
from bnplug.data._counting import count_families
from bnplug.data.block_table import BlockTable
from bnplug.data.blocks import Block, Blocks, BlockStore, EachBlock, LocalStore
from bnplug.data.table import Table
from bnplug.inference._completions import all_completions, have_few_completions, split_by
from bnplug.inference.batches import query_rows
from bnplug.inference.completing import draw_missing
from bnplug.inference.marginals import Marginalizer
from bnplug.model.log_tables import LogTables

# Joint distributions of so many missing cells of a row are kept, since many families ask for them.
_KEPT = 2

#: So many rows of a block stand for its rows at most where :meth:`ExpectedTable.expand` splits them; then it draws.
MOST_ROWS = 1 << 20


class ExpectedTable(BlockTable):
    """The rows of a table as a network expects them.

    :meth:`counts` and :meth:`expand` are exact, over all rows, also those without a class. ``codes``, :meth:`map` and
    :meth:`spawn` give the rows that have a class, completed by one draw.

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
    >>> split = expected.expand([0])
    >>> split.codes.tolist(), split.weights.round(3).tolist()
    ([[1, 0, 1, 0], [255, 0, 0, 0]], [1.0, 0.9, 0.1, 1.0])
    """

    #: Tells what takes counts in its own way that those of :meth:`counts` are to be taken.
    expects = True

    def __init__(self, rows: Table, network: Callable[[], LogTables], seed: int = 0, n_jobs: int | None = None) -> None:
        self._describe(rows.names, rows.states, rows.target, rows.left_out)
        self._all, self._network, self._seed, self._n_jobs = rows, network, seed, n_jobs
        if not rows.weighted:
            self.weights = None

    @cached_property
    def with_holes(self) -> Table:
        """The rows that have a class, as they are."""
        return self._all.with_class()

    @property
    def n_rows(self) -> int:
        """The number of rows that have a class."""
        return self.with_holes.n_rows

    @property
    def block_sizes(self) -> tuple[int, ...]:
        """The number of such rows of each block."""
        return self.with_holes.block_sizes

    @property
    def weighted(self) -> bool:
        """Whether rows have weights."""
        return self._all.weighted

    @cached_property
    def total_weight(self) -> float:
        """M: the number of all rows, or the sum of their weights."""
        return self._all.total_weight

    @property
    def has_missing(self) -> BoolArray:
        """Of no variable any row lacks it: what it is, is expected."""
        return np.zeros(len(self.names), dtype=np.bool_)

    @cached_property
    def tables(self) -> LogTables:
        """The network that says what is expected."""
        return self._network()

    @cached_property
    def _expected(self) -> Blocks:
        return self._all.spawn(_ExpectedRows, self.tables, self._n_jobs)

    @cached_property
    def store(self) -> LocalStore:  # type: ignore[override]
        """The rows that have a class, completed."""
        known = self.with_holes
        found = known.map(_completed, self.tables, _seeds(self._seed, known.n_blocks), self._n_jobs)
        return LocalStore([Block(*own) for own in found])

    def __getattr__(self, name: str) -> Any:
        if name in ("codes", "weights"):
            self.store  # noqa: B018 - which makes them
        return super().__getattr__(name)

    def counts(self, families: Sequence[Sequence[int]], folds: npt.ArrayLike | None = None) -> list[FloatArray]:
        """Return how often families are expected; with folds, those of rows without a class are in none."""
        listed = [tuple(map(int, own)) for own in families]
        if folds is None:
            return [own[0] for own in self._expected.sum("counts", listed, None, 0)]
        given = np.asarray(folds, dtype=np.int64)
        own = np.full(self._all.n_rows, -1, dtype=np.int64)
        own[self._all.column(self.target_index) != self.missing] = given
        n_folds = int(given.max(initial=-1)) + 1
        return self._expected.sum("counts", listed, self._all.split(own), n_folds)

    def column(self, v: int) -> CodeArray:
        """Return the codes of one variable in the rows that have a class; what is missing is drawn."""
        return self.with_holes.column(v) if v == self.target_index else super().column(v)

    def take(self, rows: npt.ArrayLike) -> ExpectedTable:
        """Return some of the rows that have a class (numbers or a mask), as the same network expects them."""
        return ExpectedTable(self.with_holes.take(rows), lambda: self.tables, self._seed, self._n_jobs)

    def _with_weights_divided(self, divisors: FloatArray | None) -> ExpectedTable:
        return ExpectedTable(self._all._with_weights_divided(divisors), lambda: self.tables, self._seed, self._n_jobs)

    def expand(self, variables: Sequence[int]) -> ExpandedTable:
        """Return all rows, with a class or without, as rows that know `variables`, weighted by their probability."""
        blocks = [Block(*own) for own in self._all.map(_weighted)]
        return ExpandedTable(LocalStore(blocks), self._all, self.tables, self._seed, self._n_jobs).expand(variables)


class ExpandedTable(BlockTable):
    """Rows some of which stand for the same row, each weighted by the probability of what it knows beyond that.

    See :meth:`ExpectedTable.expand`, which makes them. What else the rows lack is missing, and can be expanded too.
    """

    def __init__(self, store: BlockStore, like: Table, tables: LogTables, seed: int, n_jobs: int | None) -> None:
        super().__init__(store, like.names, like.states, like.target, like.left_out, checked=True)
        self._like, self._tables, self._seed, self._n_jobs = like, tables, seed, n_jobs

    def expand(self, variables: Sequence[int]) -> ExpandedTable:
        """Return rows that know `variables` too, those that lack one once for each of its states.

        Where that would be more than `MOST_ROWS` in a block, the states of that variable are drawn.
        """
        made = self
        for v in variables:
            seeds = _seeds(self._seed + int(v), made.n_blocks)
            found = made.map(_split, self._tables, int(v), seeds, self._n_jobs)
            made = made._with_store(LocalStore([Block(*own) for own in found]))
        return made

    def take(self, rows: npt.ArrayLike) -> Table:
        """Return a table of the given rows (numbers or a mask)."""
        taken = super().take(rows)
        return self._with_store(taken.store) if isinstance(taken, BlockTable) else taken

    def _with_store(self, store: BlockStore) -> ExpandedTable:
        return ExpandedTable(store, self._like, self._tables, self._seed, self._n_jobs)


def _seeds(first: int, n_blocks: int) -> EachBlock:
    return EachBlock([first + i for i in range(n_blocks)])


def _completed(block: Table, tables: LogTables, seed: int, n_jobs: int | None) -> tuple[CodeArray, FloatArray | None]:
    return draw_missing(tables, block.codes, seed, n_jobs), block.weights


def _weighted(block: Table) -> tuple[CodeArray, FloatArray]:
    return block.codes, np.ones(block.n_rows) if block.weights is None else block.weights


def _split(block: Table, tables: LogTables, v: int, seed: int, n_jobs: int | None) -> tuple[CodeArray, FloatArray]:
    codes, shares, source = split_by(tables, block.codes, v, MOST_ROWS, np.random.RandomState(seed % 2**32), n_jobs)
    assert block.weights is not None
    return codes, block.weights[source] * shares


class _ExpectedRows:
    """A block of rows, and what the network says of their missing cells.

    In the place of rows that have few completions stand these, and are counted like any rows; of the others the network
    is asked for what a family lacks.
    """

    def __init__(self, block: Table, tables: LogTables, n_jobs: int | None) -> None:
        self.tables, self.n_jobs = tables, n_jobs
        self.few = have_few_completions(block.codes, block.cards)
        weights = np.ones(block.n_rows) if block.weights is None else block.weights
        found = all_completions(tables, block.codes[:, self.few])
        self.source, own = found.source, weights[self.few][found.source] * found.shares
        self.completed = Table(found.codes, block.names, block.states, block.target, own)
        self.block, self.weights = block.take(~self.few), weights[~self.few]
        self.lacks = self.block.codes == block.missing
        self._compiled: dict[str, Marginalizer] = {}
        self._shares: dict[tuple[int, ...], tuple[IntArray, FloatArray]] = {}

    def counts(self, families: Sequence[tuple[int, ...]], folds: IntArray | None, n_folds: int) -> list[FloatArray]:
        """Return the expected counts of families, the fold first: those that know them, and shares of the others."""
        folds = np.full(len(self.few), -1) if folds is None else folds
        few, others = folds[self.few][self.source], np.where(folds < 0, n_folds, folds)[~self.few]
        found = []
        for family in families:
            counts = _counted(self.completed, family, few, n_folds)
            if len(others):
                counts += _counted(self.block, family, folds[~self.few], n_folds)
                self._add_incomplete(family, others, counts)
            found.append(counts)
        return found

    def _add_incomplete(self, family: tuple[int, ...], folds: IntArray, counts: FloatArray) -> None:
        lacks = self.lacks[list(family)]
        patterns = lacks.T @ (1 << np.arange(len(family)))
        for pattern in np.unique(patterns[patterns > 0]).tolist():
            axes = [i for i in range(len(family)) if pattern >> i & 1]
            rows = np.flatnonzero(patterns == pattern)
            self._add(family, axes, rows, folds, counts)

    def _add(
        self, family: tuple[int, ...], axes: list[int], rows: IntArray, folds: IntArray, counts: FloatArray
    ) -> None:
        """Add rows that lack the variables at some axes of a family."""
        known = [i for i in range(len(family)) if i not in axes]
        cards = self.block.cards
        shares = self._shares_of(tuple(family[i] for i in axes), rows) * self.weights[rows, None]
        sizes = [len(counts), *(int(cards[family[i]]) for i in known)]
        states = [folds[rows], *(self.block.codes[family[i], rows].astype(np.int64) for i in known)]
        size = int(np.prod(sizes, dtype=np.int64))
        places = np.ravel_multi_index(states, sizes)
        added = np.stack([np.bincount(places, own, size) for own in shares.T], axis=1)
        shape = [*sizes, *(int(cards[family[i]]) for i in axes)]
        counts += added.reshape(shape).transpose(0, *(1 + np.argsort([*known, *axes])))

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


def _counted(rows: Table, family: tuple[int, ...], folds: IntArray, n_folds: int) -> FloatArray:
    """Return the counts of rows that know a family, the fold first."""
    return count_families(rows, [family], folds, n_folds)[0]
