"""Blocks of rows in memory, memory-mapped, or on other machines.

Every statistic is a sum over rows, so learners add the sums of blocks, computed where the blocks are. A
:class:`BlockStore` holds the blocks of a :class:`~bnplug.table.block_table.BlockTable`.
"""

from __future__ import annotations

import mmap
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from bnplug.errors import ContractError
from bnplug.table._checks import read_only
from bnplug.typing import CodeArray, FloatArray, IntArray, ShareArray

_T = TypeVar("_T")


class Rows(NamedTuple):
    """The content of a block: codes (variables, rows), weights (rows,) or None, and shares like codes or None."""

    codes: CodeArray
    weights: FloatArray | None = None
    shares: ShareArray | None = None


@dataclass(frozen=True)
class MappedArray:
    """An array in C order in a file, from byte `offset` on, mapped into memory only while it is used."""

    path: str | os.PathLike[str]
    dtype: npt.DTypeLike
    shape: tuple[int, ...]
    offset: int = 0

    def load(self) -> npt.NDArray[Any]:
        """Return the memory-mapped array."""
        if 0 in self.shape:  # Empty arrays cannot be mapped.
            return np.empty(self.shape, dtype=self.dtype)
        return np.asarray(np.memmap(os.fspath(self.path), self.dtype, "r", self.offset, self.shape))


@dataclass(frozen=True)
class Block:
    """Some rows of a table, in memory or in files.

    Parameters
    ----------
    codes : unsigned array of shape (variables, rows), or MappedArray
        An ``np.memmap`` of a whole file is stored by its location.
    weights : array of shape (rows,), or MappedArray, optional
    rows : int64 array, optional
        The rows that belong to the block; by default all.
    shares : float32 array of shape (variables, rows), or MappedArray, optional
    """

    codes: npt.NDArray[Any] | MappedArray
    weights: npt.NDArray[Any] | MappedArray | None = None
    rows: IntArray | None = None
    shares: npt.NDArray[Any] | MappedArray | None = None

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return int(self.codes.shape[1]) if self.rows is None else len(self.rows)

    def load(self) -> Rows:
        """Return the codes, the weights and the shares."""
        rows: Any = slice(None) if self.rows is None else self.rows
        codes = read_only(np.ascontiguousarray(_loaded(self.codes)[:, rows]))
        weights = None if self.weights is None else np.asarray(_loaded(self.weights)[rows], dtype=np.float64)
        shares = None if self.shares is None else np.ascontiguousarray(_loaded(self.shares)[:, rows], dtype=np.float32)
        return Rows(
            codes, None if weights is None else read_only(weights), None if shares is None else read_only(shares)
        )

    def take(self, rows: IntArray) -> Block:
        """Return a block of some of the rows, which are selected each time it is loaded."""
        return replace(self, rows=rows if self.rows is None else self.rows[rows])


class EachBlock:
    """An argument of :meth:`Table.map`, :meth:`Table.spawn` or :meth:`Blocks.call` with one value for each block."""

    def __init__(self, values: Sequence[Any]) -> None:
        self.values = list(values)

    @staticmethod
    def of(args: Iterable[Any], number: int) -> list[Any]:
        """Return the arguments of the block of this number."""
        return [value.values[number] if isinstance(value, EachBlock) else value for value in args]


def sum_in_order(parts: Iterable[Sequence[Any]]) -> list[Any]:
    """Add up the arrays or numbers of all blocks, in their order; the given arrays are not changed."""
    total: list[Any] = []
    for part in parts:
        total = [first + more for first, more in zip(total, part, strict=True)] if total else list(part)
    return total


class Blocks:
    """Objects, one for each block of a table, each kept where its block is: the result of :meth:`Table.spawn`.

    A method that returns None may change its object, any other method must not. If a machine is lost, its objects are
    created again and the changes repeated, from the last call of the method ``clear`` on, if there is one: it resets an
    object to its initial state.
    """

    def __init__(self, objects: Sequence[Any]) -> None:
        self._objects = list(objects)

    def call(self, method: str, *args: Any) -> list[Any]:
        """Call a method of each object; return the results in the order of the blocks."""
        return list(self.each(method, *args))

    def each(self, method: str, *args: Any) -> Iterator[Any]:
        """Yield the results of :meth:`call` one after the other; see :meth:`Table.each`."""
        for i, instance in enumerate(self._objects):
            yield getattr(instance, method)(*EachBlock.of(args, i))

    def sum(self, method: str, *args: Any) -> list[Any]:
        """Add up the arrays or numbers that a method of each object returns; see :meth:`Table.sum`."""
        return sum_in_order(self.each(method, *args))

    def change(self, method: str, *args: Any) -> None:
        """Change each object by a method that returns None, at the latest before the next call."""
        check_change(method, self.call(method, *args))


def check_change(method: str, results: Iterable[Any]) -> None:
    """Raise a :class:`~bnplug.ContractError` if a method that changes objects returned a result."""
    if any(result is not None for result in results):
        raise ContractError(f"{method} must not return a result when it is called by change: use call, each or sum")


class BlockStore(ABC):
    """The blocks of a table, and the only access to their rows.

    A subclass implements :meth:`take`, and one of :meth:`map` and :meth:`each`, which call each other by default.

    Attributes
    ----------
    sizes : tuple of int
        The number of rows of each block.
    weighted : bool
        Whether rows have weights.
    has_shares : bool
        Whether codes have shares; False by default.
    """

    sizes: tuple[int, ...]
    weighted: bool
    has_shares: bool = False

    def map(self, function: Callable[..., _T], *args: Any) -> list[_T]:
        """Return ``function(rows, *args)`` for the :data:`Rows` of every block, in order.

        An argument that is an :class:`EachBlock` has one value for each block; see :meth:`EachBlock.of`.
        """
        return list(self.each(function, *args))

    def each(self, function: Callable[..., _T], *args: Any) -> Iterator[_T]:
        """Yield the results of :meth:`map` one after the other; the caller may stop early."""
        return iter(self.map(function, *args))

    def spawn(self, factory: Callable[..., Any], *args: Any) -> Blocks:
        """Return ``factory(rows, *args)`` for every block, each kept where its block is."""
        return Blocks(self.map(factory, *args))

    def sum(self, function: Callable[..., Sequence[Any]], *args: Any) -> list[Any]:
        """Add up the arrays or numbers that `function` returns for every block; the order must not depend on timing."""
        return sum_in_order(self.each(function, *args))

    @abstractmethod
    def take(self, rows: Sequence[IntArray]) -> BlockStore:
        """Return a store of some rows of each block, without blocks that have none."""


class LocalStore(BlockStore):
    """Blocks of this process, in memory or memory-mapped; one is loaded at a time."""

    def __init__(self, blocks: Sequence[Block]) -> None:
        self.blocks = [
            replace(block, **{name: _by_place(getattr(block, name)) for name in Rows._fields}) for block in blocks
        ]
        self.sizes = tuple(block.n_rows for block in blocks)
        if not blocks:
            raise ValueError("there is no block of rows; a table without rows is Table.empty")
        for name in ("weights", "shares"):
            if len({getattr(block, name) is None for block in blocks}) > 1:
                raise ValueError(f"some blocks have {name}, and others have none: give all of them {name}, or none")
        self.weighted, self.has_shares = blocks[0].weights is not None, blocks[0].shares is not None

    def each(self, function: Callable[..., _T], *args: Any) -> Iterator[_T]:
        """Yield ``function(rows, *args)`` for one block after the other."""
        for i, block in enumerate(self.blocks):
            yield function(block.load(), *EachBlock.of(args, i))

    def take(self, rows: Sequence[IntArray]) -> LocalStore:
        """Return a store of some rows of each block."""
        pairs = zip(self.blocks, rows, strict=True)
        return LocalStore([block.take(selected) for block, selected in pairs if len(selected)])


class ConvertedStore(BlockStore):
    """The blocks of another store, converted each time they are loaded.

    ``convert(rows, *args)`` returns as many :data:`Rows`; it must be importable.
    """

    def __init__(self, store: BlockStore, convert: Callable[..., Rows], *args: Any) -> None:
        self._store, self._convert, self._args = store, convert, args
        self.sizes, self.weighted, self.has_shares = store.sizes, store.weighted, store.has_shares

    def each(self, function: Callable[..., _T], *args: Any) -> Iterator[_T]:
        """Yield ``function(rows, *args)`` for one block after the other."""
        return self._store.each(_of_converted, self._convert, self._args, function, *args)

    def sum(self, function: Callable[..., Sequence[Any]], *args: Any) -> list[Any]:
        """Add up the results of ``function(rows, *args)``."""
        return self._store.sum(_of_converted, self._convert, self._args, function, *args)

    def spawn(self, factory: Callable[..., Any], *args: Any) -> Blocks:
        """Return ``factory(rows, *args)`` for every block, kept where the block is."""
        return self._store.spawn(_of_converted, self._convert, self._args, factory, *args)

    def take(self, rows: Sequence[IntArray]) -> ConvertedStore:
        """Return a store of some rows of each block."""
        return ConvertedStore(self._store.take(rows), self._convert, *self._args)


def _of_converted(
    rows: Rows, convert: Callable[..., Rows], given: tuple[Any, ...], function: Callable[..., _T], *args: Any
) -> _T:
    return function(convert(Rows(*rows), *given), *args)


def _by_place(array: Any) -> Any:
    """Return a whole memory map by its location; the location of a part is not known."""
    if not isinstance(array, np.memmap) or not array.flags.c_contiguous:
        return array
    if not isinstance(getattr(array, "base", None), mmap.mmap) or array.filename is None:
        return array
    return MappedArray(array.filename, array.dtype, array.shape, array.offset)


def _loaded(array: npt.NDArray[Any] | MappedArray) -> npt.NDArray[Any]:
    return array.load() if isinstance(array, MappedArray) else np.asarray(array)
