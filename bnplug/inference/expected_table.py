"""Structural EM: learn a structure from incomplete rows with a learner for complete rows (Friedman 1998).

The structure is learned from a table of expected counts under the current network, then the parameters of that
structure by EM, until a structure recurs. Predictive scores of the core use the marginal log joints of the rows that
have a class. Learners that read rows get rows with the missing cells drawn from the network.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import cache, cached_property, partial
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from sklearn.utils import check_random_state

from bnplug.contracts import Engine
from bnplug.inference.em import SmoothedFrequencies, compiled_for_em, expectation_maximization
from bnplug.inference.predicting import query_rows
from bnplug.inference.sample import _all_completions, _have_few_completions, _split_by, draw_missing
from bnplug.model.log_tables import LogTables
from bnplug.table._counting import count_families
from bnplug.table.block_table import BlockTable
from bnplug.table.blocks import Block, Blocks, BlockStore, EachBlock, LocalStore
from bnplug.table.table import Table
from bnplug.typing import BoolArray, CodeArray, FloatArray, IntArray

if TYPE_CHECKING:
    from bnplug.structure import Learned, Structure

# Joint distributions of up to this many missing cells of a row are cached, since many families need them.
_KEPT = 2

#: The maximum number of rows that :meth:`ExpectedTable.expand` makes of a block before it draws states instead.
MOST_ROWS = 1 << 20


class ExpectedTable(BlockTable):
    """The rows of a table as a network expects them.

    :meth:`counts` and :meth:`expand` are exact, over all rows, also those without a class. ``codes``, :meth:`map` and
    :meth:`spawn` give the rows that have a class, completed by one draw with `seed`. The `network` of the expectations
    is computed when it is first needed. `n_jobs` and `engine` are as in :func:`structural_em`.
    """

    #: Whether :meth:`counts` must be used instead of counting rows.
    expects = True

    def __init__(
        self,
        rows: Table,
        network: Callable[[], LogTables],
        seed: int = 0,
        n_jobs: int | None = None,
        engine: Engine | None = None,
    ) -> None:
        self._describe(rows.names, rows.states, rows.target, rows.left_out)
        self._all, self._network, self._seed, self._n_jobs, self._engine = rows, network, seed, n_jobs, engine
        self.shares = None
        if not rows.weighted:
            self.weights = None

    @cached_property
    def with_holes(self) -> Table:
        """The rows that have a class, with their missing cells."""
        return self._all.with_class()

    @property
    def n_rows(self) -> int:
        """The number of rows that have a class."""
        return self.with_holes.n_rows

    @property
    def block_sizes(self) -> tuple[int, ...]:
        """The number of these rows in each block."""
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
        """All False: missing cells are filled in by expectation."""
        return np.zeros(len(self.names), dtype=np.bool_)

    @cached_property
    def tables(self) -> LogTables:
        """The network of the expectations."""
        return self._network()

    @cached_property
    def _expected(self) -> Blocks:
        return self._all.spawn(_ExpectedRows, self.tables, self._n_jobs, self._engine)

    @cached_property
    def store(self) -> LocalStore:  # type: ignore[override]
        """The rows that have a class, completed."""
        known = self.with_holes
        completed = known.map(_completed, self.tables, _seeds(self._seed, known.n_blocks), self._n_jobs)
        return LocalStore([Block(*block) for block in completed])

    def __getattr__(self, name: str) -> Any:
        if name in ("codes", "weights"):
            self.store  # noqa: B018 - sets them
        return super().__getattr__(name)

    def counts(self, families: Sequence[Sequence[int]], folds: npt.ArrayLike | None = None) -> list[FloatArray]:
        """Return the expected counts of families; rows without a class belong to no fold."""
        listed = [tuple(map(int, family)) for family in families]
        if folds is None:
            return [counts[0] for counts in self._expected.sum("counts", listed, None, 0)]
        given = np.asarray(folds, dtype=np.int64)
        of_all = np.full(self._all.n_rows, -1, dtype=np.int64)
        of_all[self._all.column(self.target_index) != self.missing] = given
        n_folds = int(given.max(initial=-1)) + 1
        return self._expected.sum("counts", listed, self._all.split(of_all), n_folds)

    def column(self, v: int) -> CodeArray:
        """Return the codes of one variable in the rows that have a class, with missing cells drawn."""
        return self.with_holes.column(v) if v == self.target_index else super().column(v)

    def take(self, rows: npt.ArrayLike) -> ExpectedTable:
        """Return some of the rows that have a class (numbers or a mask), with the same network."""
        return self._of(self.with_holes.take(rows))

    def _with_weights_divided(self, divisors: FloatArray | None) -> ExpectedTable:
        return self._of(self._all._with_weights_divided(divisors))

    def _of(self, rows: Table) -> ExpectedTable:
        return ExpectedTable(rows, lambda: self.tables, self._seed, self._n_jobs, self._engine)

    def expand(self, variables: Sequence[int]) -> ExpandedTable:
        """Return all rows, with or without a class, expanded over `variables` and weighted by their probability."""
        blocks = [Block(*block) for block in self._all.map(_weighted)]
        return ExpandedTable(LocalStore(blocks), self._all, self.tables, self._seed, self._n_jobs).expand(variables)


class ExpandedTable(BlockTable):
    """Rows expanded into weighted completions by :meth:`ExpectedTable.expand`; other cells may be missing."""

    def __init__(self, store: BlockStore, like: Table, tables: LogTables, seed: int, n_jobs: int | None) -> None:
        super().__init__(store, like.names, like.states, like.target, like.left_out, checked=True)
        self._like, self._tables, self._seed, self._n_jobs = like, tables, seed, n_jobs

    def expand(self, variables: Sequence[int]) -> ExpandedTable:
        """Expand rows that lack one of `variables` into rows for its states; beyond `MOST_ROWS` of them, draw."""
        expanded = self
        for v in variables:
            seeds = _seeds(self._seed + int(v), expanded.n_blocks)
            split = expanded.map(_split, self._tables, int(v), seeds, self._n_jobs)
            expanded = expanded._with_store(LocalStore([Block(*block) for block in split]))
        return expanded

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
    codes, shares, source = _split_by(tables, block.codes, v, MOST_ROWS, np.random.RandomState(seed % 2**32), n_jobs)
    assert block.weights is not None
    return codes, block.weights[source] * shares


class _ExpectedRows:
    """A block of rows: those with few completions are replaced by these; for others, families are queried."""

    def __init__(self, block: Table, tables: LogTables, n_jobs: int | None, engine: Engine | None) -> None:
        self.tables, self.n_jobs = tables, n_jobs
        self.few = _have_few_completions(block.codes, block.cards)
        weights = np.ones(block.n_rows) if block.weights is None else block.weights
        codes, shares, self.source = _all_completions(tables, block.codes[:, self.few])
        shares = weights[self.few][self.source] * shares
        self.completed = Table(codes, block.names, block.states, block.target, shares)
        self.block, self.weights = block.take(~self.few), weights[~self.few]
        self.lacks = self.block.codes == block.missing
        self._compile = cache(partial(compiled_for_em, engine, tables))
        self._shares: dict[tuple[int, ...], tuple[IntArray, FloatArray]] = {}

    def counts(self, families: Sequence[tuple[int, ...]], folds: IntArray | None, n_folds: int) -> list[FloatArray]:
        """Return the expected counts of families, the fold first: complete rows, and shares of incomplete ones."""
        folds = np.full(len(self.few), -1) if folds is None else folds
        few, others = folds[self.few][self.source], np.where(folds < 0, n_folds, folds)[~self.few]
        result = count_families(self.completed, families, few, n_folds)
        if len(others):
            complete = count_families(self.block, families, folds[~self.few], n_folds)
            for family, counts, of_complete in zip(families, result, complete, strict=True):
                counts += of_complete
                self._add_incomplete(family, others, counts)
        return result

    def _add_incomplete(self, family: tuple[int, ...], folds: IntArray, counts: FloatArray) -> None:
        """Add the rows that lack a variable of a family, for each set of its variables that some of them lack."""
        lacks, cards = self.lacks[list(family)], self.block.cards
        patterns = lacks.T @ (1 << np.arange(len(family)))
        for pattern in np.unique(patterns[patterns > 0]).tolist():
            axes = [i for i in range(len(family)) if pattern >> i & 1]
            known = [i for i in range(len(family)) if i not in axes]
            rows = np.flatnonzero(patterns == pattern)
            shares = self._shares_of(tuple(family[i] for i in axes), rows) * self.weights[rows, None]
            sizes = [len(counts), *(int(cards[family[i]]) for i in known)]
            places = np.ravel_multi_index([folds[rows], *self.block.codes[[family[i] for i in known]][:, rows]], sizes)
            added = np.stack([np.bincount(places, share, prod(sizes)) for share in shares.T], axis=1)
            shape = [*sizes, *(int(cards[family[i]]) for i in axes)]
            counts += added.reshape(shape).transpose(0, *(1 + np.argsort([*known, *axes])))

    def _shares_of(self, variables: tuple[int, ...], rows: IntArray) -> FloatArray:
        """Return P(variables | known cells) of rows that lack them, the last variable changing fastest."""
        if len(variables) > _KEPT:
            return self._asked(variables, rows)
        if variables not in self._shares:
            every = np.flatnonzero(self.lacks[list(variables)].all(axis=0))
            self._shares[variables] = every, self._asked(variables, every)
        every, shares = self._shares[variables]
        return np.asarray(shares[np.searchsorted(every, rows)])

    def _asked(self, variables: tuple[int, ...], rows: IntArray) -> FloatArray:
        names = [self.tables.names[v] for v in variables]
        return query_rows(self.tables, names, self._compile, self.block.codes[:, rows], self.n_jobs)


#: The maximum number of structures learned after the first.
MOST_STRUCTURES = 10

# The parameters between two structures need not be exact.
_BETWEEN: dict[str, Any] = {"tol": 1e-5, "max_iter": 100, "restarts": 0}


def structural_em(
    learn: Callable[[Table], Learned],
    table: Table,
    random_state: Any = None,
    n_jobs: int | None = None,
    verbose: int | None = None,
    engine: Engine | None = None,
) -> Learned:
    """Learn a structure by structural EM; return the first that recurs, or the last of `MOST_STRUCTURES`.

    `learn` is the method of a :class:`~bnplug.StructureLearner`, with checks. It is called first with the rows of
    `table` that have a class, whose statistics ignore rows with missing cells, and then with an :class:`ExpectedTable`.
    `random_state` is the seed for drawing missing cells; each round uses the same draws. The result does not depend on
    `n_jobs`. If `verbose`, every round is reported. `engine` is used if it offers expected counts.
    """
    seed = int(check_random_state(0 if random_state is None else random_state).randint(2**31 - 1))
    learned = learn(table.ignoring())
    seen: list[Structure] = []
    while learned.structure not in seen and len(seen) < MOST_STRUCTURES:
        seen.append(learned.structure)
        # The parameters are computed on demand, since not every learner needs them.
        expected = partial(_by_em, table, seen[-1], n_jobs, engine)
        learned = learn(ExpectedTable(table, expected, seed, n_jobs, engine))
        if verbose:
            changed = sum(a != b for a, b in zip(seen[-1].parents, learned.structure.parents, strict=True))
            print(f"structural em: round {len(seen)}, {changed} families changed", file=sys.stderr, flush=True)
    return learned


def _by_em(table: Table, structure: Structure, n_jobs: int | None, engine: Engine | None) -> LogTables:
    """Return the parameters of a structure by EM."""
    options = {**_BETWEEN, "n_jobs": n_jobs, "engine": engine}
    return expectation_maximization(SmoothedFrequencies(), table, structure, **options).tables
