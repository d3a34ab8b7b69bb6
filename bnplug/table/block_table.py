"""Tables of many blocks of rows, larger than memory or on other machines; missing cells as a state."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from operator import attrgetter
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from bnplug.errors import NotInMemoryError
from bnplug.table._cells import unlike
from bnplug.table._checks import read_only
from bnplug.table.blocks import Block, Blocks, BlockStore, ConvertedStore, LocalStore, Rows
from bnplug.table.coding import State, smallest_dtype
from bnplug.table.table import Table
from bnplug.typing import BoolArray, CodeArray, FloatArray, IntArray

_T = TypeVar("_T")


class BlockTable(Table):
    """A :class:`~bnplug.Table` of many blocks of rows, without arrays of all rows.

    Reading ``codes``, or the ``weights`` of weighted rows, raises a :class:`~bnplug.errors.NotInMemoryError` unless
    there is only one block. Use :meth:`counts`, :meth:`map` and :meth:`spawn`; :meth:`gather` copies rows into memory.

    Parameters
    ----------
    blocks : sequence of Block or of arrays, or BlockStore
        Arrays are codes as for :class:`~bnplug.Table`, in memory or an ``np.memmap``.
    names, states, target, left_out, missing_policy
        As for :class:`~bnplug.Table`; the same for all blocks.
    checked : bool
        Whether codes are known to be valid. Otherwise all are checked once.

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
    """

    def __init__(
        self,
        blocks: Sequence[Block | npt.NDArray[Any]] | BlockStore,
        names: Sequence[str],
        states: Mapping[str, Sequence[State]],
        target: str,
        left_out: Iterable[str] = (),
        checked: bool = False,
        missing_policy: str = "ignore",
    ) -> None:
        self._describe(names, states, target, left_out, missing_policy)
        if not isinstance(blocks, BlockStore):
            blocks = LocalStore([block if isinstance(block, Block) else Block(block) for block in blocks])
        self.store = blocks
        if not self.store.weighted:
            self.weights = None
        if not self.store.has_shares:
            self.shares = None
        if not checked:
            self.map(Table._check_codes)

    @classmethod
    def cut(cls, table: Table, sizes: Sequence[int]) -> BlockTable:
        """Return the rows of a table in memory as blocks of these sizes, to try out learning on blocks."""
        if sum(sizes) != table.n_rows:
            raise ValueError(f"blocks of {list(sizes)} rows are {sum(sizes)}; the table has {table.n_rows}")
        bounds = np.cumsum(sizes)[:-1]
        parts = [[None] * len(sizes) if cells is None else np.split(cells, bounds, axis=-1) for cells in _rows(table)]
        blocks = [Block(codes, weights, shares=shares) for codes, weights, shares in zip(*parts, strict=True)]
        return cls(blocks, table.names, table.states, table.target, table.left_out, True, table.missing_policy)

    def __getattr__(self, name: str) -> Any:
        if name not in Rows._fields or "store" not in self.__dict__:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        if self.n_blocks == 1:
            ((self.codes, self.weights, self.shares),) = self.map(_rows)
            return getattr(self, name)
        raise NotInMemoryError(
            f"table.{name}: the {self.n_rows:,} rows of this table are in {self.n_blocks} blocks, not in one array. "
            "Sums over them come from table.counts, table.map and table.spawn; table.gather() makes a copy in memory"
        )

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
        """The number of rows, or the sum of their weights."""
        return float(sum(self.map(attrgetter("total_weight"))) if self.weighted else self.n_rows)

    @cached_property
    def has_missing(self) -> BoolArray:
        """Whether each variable has missing cells."""
        return np.asarray(np.any(self.map(attrgetter("has_missing")), axis=0))

    def each(self, function: Callable[..., _T], *args: Any) -> Iterator[_T]:
        """Yield ``function(block, *args)`` for one block after the other."""
        return self.store.each(_with_table, self._schema, function, *args)

    def sum(self, function: Callable[..., Sequence[Any]], *args: Any) -> list[Any]:
        """Add up the arrays or numbers that ``function(block, *args)`` returns for every block."""
        return self.store.sum(_with_table, self._schema, function, *args)

    def spawn(self, factory: Callable[..., Any], *args: Any) -> Blocks:
        """Return ``factory(block, *args)`` for every block, kept where the block is."""
        return self.store.spawn(_with_table, self._schema, factory, *args)

    def take(self, rows: npt.ArrayLike) -> Table:
        """Return a table of the given rows (numbers or a mask), in the order of the blocks."""
        rows = np.asarray(rows)
        numbers = np.flatnonzero(rows) if rows.dtype == bool else rows.astype(np.int64)
        if not len(numbers):
            return self._schema
        ends = np.cumsum(self.store.sizes)
        if numbers.min() < 0 or numbers.max() >= ends[-1]:
            raise IndexError(f"rows must be numbers from 0 to {ends[-1] - 1}, those of this table")
        block = np.searchsorted(ends, numbers, side="right")
        selected = [numbers[block == i] - first for i, first in enumerate(ends - self.store.sizes)]
        return self._of_store(self.store.take(selected))

    def gather(self) -> Table:
        """Return a table in memory with all rows."""
        parts: Any = zip(*self.map(_rows), strict=True)
        rows: Any = [None if part[0] is None else np.concatenate(part, axis=-1) for part in parts]
        return self._schema._with_rows(*rows)

    def column(self, v: int) -> CodeArray:
        """Return the codes of one variable in all rows."""
        return read_only(np.concatenate([np.empty(0, dtype=self.dtype), *self.map(_column, v)]))

    def _of_store(self, store: BlockStore, missing_policy: str | None = None) -> BlockTable:
        policy = self.missing_policy if missing_policy is None else missing_policy
        return BlockTable(store, self.names, self.states, self.target, self.left_out, True, policy)

    def _learned(self, missing_policy: str) -> Table:
        return self._of_store(self.store, missing_policy)

    def _with_weights_divided(self, divisors: FloatArray | None) -> Table:
        store = ConvertedStore(self.store, _weights_divided, self._schema, divisors)
        store.weighted = divisors is not None
        return self._of_store(store)

    @cached_property
    def _schema(self) -> Table:
        schema = Table.empty(self.names, self.states, self.target)
        schema.left_out, schema.missing_policy = self.left_out, self.missing_policy
        weights = read_only(np.empty(0)) if self.weighted else None
        shares = read_only(np.empty(schema.codes.shape, dtype=np.float32)) if self.store.has_shares else None
        return schema._with_rows(schema.codes, weights, shares)

    def __repr__(self) -> str:
        shape = f"{self.n_rows} rows in {self.n_blocks} blocks, {len(self.names) - 1} features"
        return f"BlockTable({shape}, target {self.target!r})"


def missing_as_state(table: Table, which: npt.ArrayLike | None = None) -> Table:
    """Return the same rows with missing as the last state of some variables.

    The rows of a :class:`BlockTable` are converted each time a block is loaded.

    Parameters
    ----------
    table : Table
    which : bool array of shape (variables,), optional
        The variables; by default those with missing cells. Their new state is "missing", or longer if that is a state.

    Examples
    --------
    >>> import pandas as pd
    >>> table = Table.from_frame(pd.DataFrame({"x": ["a", None, "b"], "c": [*"nyy"]}), "c")
    >>> more = missing_as_state(table)
    >>> more.codes.tolist(), more.states["x"]
    ([[0, 2, 1], [0, 1, 1]], ('a', 'b', 'missing'))
    """
    chosen: BoolArray = table.has_missing if which is None else np.asarray(which, dtype=bool)
    states = {
        name: (*labels, unlike("missing", set(map(str, labels)))) if more else labels
        for (name, labels), more in zip(table.states.items(), chosen, strict=True)
    }
    missing, dtype = np.where(chosen, table.cards, -1), smallest_dtype(table.cards + chosen)
    if isinstance(table, BlockTable):
        store = ConvertedStore(table.store, _missing_converted, table.missing, missing, dtype)
        return BlockTable(store, table.names, states, table.target, table.left_out, checked=True)
    codes, weights, shares = _missing_converted(_rows(table), table.missing, missing, dtype)
    return Table(codes, table.names, states, table.target, weights, table.left_out, shares=shares)


def _missing_converted(rows: Rows, old: int, missing: IntArray, dtype: np.dtype[Any]) -> Rows:
    """Replace the code `old` of missing cells by ``missing[v]``, or by the missing code of `dtype` if that is -1."""
    codes: CodeArray = rows.codes.astype(dtype)
    still = int(np.iinfo(dtype).max)
    for v, (column, state) in enumerate(zip(rows.codes, missing.tolist(), strict=True)):
        if state >= 0 or still != old:
            codes[v][column == old] = still if state < 0 else state
    return rows._replace(codes=codes)


def _rows(table: Table) -> Rows:
    return Rows(table.codes, table.weights, table.shares)


def _with_table(rows: Rows, schema: Table, function: Callable[..., _T], *args: Any) -> _T:
    return function(schema._with_rows(*rows), *args)


def _weights_divided(rows: Rows, schema: Table, divisors: FloatArray | None) -> Rows:
    return _rows(schema._with_rows(*rows)._with_weights_divided(divisors))


def _column(block: Table, v: int) -> CodeArray:
    return np.array(block.codes[v])
