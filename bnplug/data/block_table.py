"""The table of many blocks of rows: what outgrows memory, or is on other machines."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import numpy.typing as npt

from bnplug.arrays import BoolArray, CodeArray, FloatArray
from bnplug.data._views import read_only
from bnplug.data.blocks import Block, Blocks, BlockStore, ConvertedStore, LocalStore, Rows
from bnplug.data.table import Table
from bnplug.errors import ManyBlocksError

if TYPE_CHECKING:
    from bnplug.data.coding import State

_T = TypeVar("_T")


class BlockTable(Table):
    """A table of many blocks of rows: all that a :class:`~bnplug.Table` is, but for the arrays of all its rows.

    Who reads ``codes`` (or ``weights``, where rows have them) gets a :class:`~bnplug.errors.ManyBlocksError`, unless
    there is one block only. Sums come from :meth:`counts`, :meth:`map` and :meth:`spawn`; :meth:`gather` makes a copy
    in memory.

    Parameters
    ----------
    blocks : sequence of Block or of arrays, or BlockStore
        Arrays are codes as for :class:`~bnplug.Table`, in memory or an ``np.memmap``.
    names, states, target, left_out, incomplete
        As for :class:`~bnplug.Table`; the same for all blocks.
    checked : bool
        Whether codes are known to be below the numbers of states. Otherwise all are looked through once.

    Attributes
    ----------
    store : BlockStore
        Where the blocks are.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"sky": [*"srrsr"], "play": [*"ynyyn"]})
    >>> table = BlockTable.cut(Table.from_frame(frame, target="play"), [2, 2, 1])
    >>> table
    BlockTable(5 rows in 3 blocks, 1 features, target 'play')
    >>> table.map(lambda block: block.n_rows)
    [2, 2, 1]
    >>> table.counts([[0, 1]])[0].tolist()
    [[2.0, 1.0], [0.0, 2.0]]
    >>> table.gather().codes.tolist()
    [[1, 0, 0, 1, 0], [1, 0, 1, 1, 0]]
    """

    def __init__(
        self,
        blocks: Sequence[Block | npt.NDArray[Any]] | BlockStore,
        names: Sequence[str],
        states: Mapping[str, Sequence[State]],
        target: str,
        left_out: Iterable[str] = (),
        checked: bool = False,
        incomplete: str = "ignore",
    ) -> None:
        self._describe(names, states, target, left_out, incomplete)
        self.store = blocks if isinstance(blocks, BlockStore) else LocalStore([_block(own) for own in blocks])
        if not self.store.weighted:
            self.weights = None
        if not checked:
            self.map(Table._check_codes)

    @classmethod
    def cut(cls, table: Table, sizes: Sequence[int]) -> BlockTable:
        """Return the rows of a table in memory as blocks of these sizes, to try out what learns on blocks."""
        if sum(sizes) != table.n_rows:
            raise ValueError(f"blocks of {list(sizes)} rows are {sum(sizes)}; the table has {table.n_rows}")
        bounds = np.cumsum(sizes)[:-1]
        codes = np.split(table.codes, bounds, axis=1)
        weights = [None] * len(codes) if table.weights is None else np.split(table.weights, bounds)
        blocks = [Block(*own) for own in zip(codes, weights, strict=True)]
        return cls(blocks, table.names, table.states, table.target, table.left_out, True, table.incomplete)

    def __getattr__(self, name: str) -> Any:
        if name not in ("codes", "weights") or "store" not in self.__dict__:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        if self.n_blocks == 1:
            # What is written for one block reads its arrays.
            ((self.codes, self.weights),) = self.map(_rows)
            return getattr(self, name)
        raise ManyBlocksError(
            f"table.{name}: the {self.n_rows:,} rows of this table are in {self.n_blocks} blocks, not in one array. "
            "Sums over them come from table.counts, table.map and table.spawn; table.gather() makes a copy in memory"
        )

    @property
    def n_rows(self) -> int:
        """The number of rows, of all blocks."""
        return sum(self.store.sizes)

    @property
    def block_sizes(self) -> tuple[int, ...]:
        """The number of rows of each block."""
        return self.store.sizes

    @property
    def weighted(self) -> bool:
        """Whether rows have weights."""
        return self.store.weighted

    @cached_property
    def total_weight(self) -> float:
        """M: the number of rows, or the sum of their weights."""
        return float(sum(self.map(_total_weight)) if self.weighted else self.n_rows)

    @cached_property
    def has_missing(self) -> BoolArray:
        """Of each variable, whether some row lacks it."""
        found: BoolArray = np.logical_or.reduce(self.map(_has_missing))
        return found

    def map(self, function: Callable[..., _T], *args: Any) -> list[_T]:
        """Return ``function(block, *args)`` for every block, in their order."""
        return self.store.map(_with_table, self._schema, function, *args)

    def each(self, function: Callable[..., _T], *args: Any) -> Iterator[_T]:
        """Yield ``function(block, *args)`` of one block after the other."""
        return self.store.each(_with_table, self._schema, function, *args)

    def sum(self, function: Callable[..., Sequence[Any]], *args: Any) -> list[Any]:
        """Add up what ``function(block, *args)`` returns of every block, each array or number on its own."""
        return self.store.sum(_with_table, self._schema, function, *args)

    def spawn(self, factory: Callable[..., Any], *args: Any) -> Blocks:
        """Return an object of each block, kept where the block is."""
        return self.store.spawn(_with_table, self._schema, factory, *args)

    def take(self, rows: npt.ArrayLike) -> Table:
        """Return a table of the given rows (numbers or a mask); they stay in the order of the blocks.

        Rows are picked out each time that a block is loaded. Without any row, the table is one in memory.
        """
        rows = np.asarray(rows)
        numbers = np.flatnonzero(rows) if rows.dtype == bool else rows.astype(np.int64)
        if not len(numbers):
            return self._schema
        ends = np.cumsum(self.store.sizes)
        if numbers.min() < 0 or numbers.max() >= ends[-1]:
            raise IndexError(f"rows must be numbers from 0 to {ends[-1] - 1}, those of this table")
        block = np.searchsorted(ends, numbers, side="right")
        own = [numbers[block == i] - first for i, first in enumerate(ends - self.store.sizes)]
        taken = self.store.take(own)
        return BlockTable(taken, self.names, self.states, self.target, self.left_out, True, self.incomplete)

    def gather(self) -> Table:
        """Return a table in memory with all rows."""
        found = self.map(_rows)
        weights = np.concatenate([own for _, own in found if own is not None]) if self.weighted else None
        return self._schema._with_rows(np.concatenate([codes for codes, _ in found], axis=1), weights)

    def column(self, v: int) -> CodeArray:
        """Return the codes of one variable in all rows."""
        return read_only(np.concatenate([np.empty(0, dtype=self.dtype), *self.map(_column, v)]))

    def _learned(self, incomplete: str) -> Table:
        return BlockTable(self.store, self.names, self.states, self.target, self.left_out, True, incomplete)

    def _with_weights_divided(self, divisors: FloatArray | None) -> Table:
        store = ConvertedStore(self.store, _weights_divided, self._schema, divisors)
        store.weighted = divisors is not None
        return BlockTable(store, self.names, self.states, self.target, self.left_out, True, self.incomplete)

    @cached_property
    def _schema(self) -> Table:
        made = Table.empty(self.names, self.states, self.target)
        made.left_out, made.incomplete = self.left_out, self.incomplete
        return made._with_rows(made.codes, read_only(np.empty(0))) if self.weighted else made

    def __repr__(self) -> str:
        shape = f"{self.n_rows} rows in {self.n_blocks} blocks, {len(self.names) - 1} features"
        return f"BlockTable({shape}, target {self.target!r})"


def _with_table(rows: Rows, schema: Table, function: Callable[..., _T], *args: Any) -> _T:
    return function(schema._with_rows(*rows), *args)


def _rows(block: Table) -> Rows:
    return block.codes, block.weights


def _weights_divided(rows: Rows, schema: Table, divisors: FloatArray | None) -> Rows:
    block = schema._with_rows(*rows)._with_weights_divided(divisors)
    return block.codes, block.weights


def _column(block: Table, v: int) -> CodeArray:
    return np.array(block.codes[v])


def _total_weight(block: Table) -> float:
    return block.total_weight


def _has_missing(block: Table) -> BoolArray:
    return block.has_missing


def _block(given: Block | npt.NDArray[Any]) -> Block:
    return given if isinstance(given, Block) else Block(given)
