"""Blocks of rows, and where they are: in memory, memory-mapped, or on other machines.

Every statistic is a sum over rows, so a learner need not see all rows at once: it has each block summed up where the
block is, and adds. A block is itself a :class:`~bnplug.Table` in memory, for as long as it is looked at. A
:class:`BlockStore` says where the blocks are; here is the one of this process. The tables that have them are in
:mod:`bnplug.data.block_table`.
"""

from __future__ import annotations

import mmap
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from bnplug.arrays import CodeArray, FloatArray, IntArray
from bnplug.data._views import read_only
from bnplug.errors import ContractError

_T = TypeVar("_T")

#: What a block is made of: codes (variables, rows), and weights (rows,) or None.
Rows = tuple[CodeArray, FloatArray | None]


@dataclass(frozen=True)
class MappedArray:
    """An array in a file, which is mapped into memory while it is looked at, and not longer.

    It is pickled by its place and not by its content.

    Parameters
    ----------
    path : path
    dtype : dtype
    shape : tuple of int
        The array is in C order.
    offset : int
        The byte of the file that it begins at.
    """

    path: str | os.PathLike[str]
    dtype: npt.DTypeLike
    shape: tuple[int, ...]
    offset: int = 0

    def load(self) -> npt.NDArray[Any]:
        """Return the array; its memory is the file's, and free again when nothing refers to it."""
        if 0 in self.shape:  # which cannot be mapped
            return np.empty(self.shape, dtype=self.dtype)
        return np.asarray(np.memmap(os.fspath(self.path), self.dtype, "r", self.offset, self.shape))


@dataclass(frozen=True)
class Block:
    """Some rows of a table, as arrays or as where these are in files.

    Parameters
    ----------
    codes : unsigned array of shape (variables, rows), or MappedArray
        A plain ``np.memmap`` of a file is taken by its place in the file.
    weights : array of shape (rows,), or MappedArray, optional
    rows : int64 array, optional
        Which of these rows the block has; by default all.
    """

    codes: npt.NDArray[Any] | MappedArray
    weights: npt.NDArray[Any] | MappedArray | None = None
    rows: IntArray | None = None

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return int(self.codes.shape[1]) if self.rows is None else len(self.rows)

    def load(self) -> Rows:
        """Return the codes and the weights."""
        codes, weights = _loaded(self.codes), None if self.weights is None else _loaded(self.weights)
        if self.rows is not None:
            codes, weights = codes[:, self.rows], None if weights is None else weights[self.rows]
        codes = read_only(np.ascontiguousarray(codes))
        return codes, None if weights is None else read_only(np.asarray(weights, dtype=np.float64))

    def by_place(self) -> Block:
        """Return the same block, its arrays known by their places in files where they can be."""
        weights = None if self.weights is None else _by_place(self.weights)
        return replace(self, codes=_by_place(self.codes), weights=weights)

    def take(self, rows: IntArray) -> Block:
        """Return a block of some of the rows, which are picked out each time it is loaded."""
        return replace(self, rows=rows if self.rows is None else self.rows[rows])


class EachBlock:
    """An argument of :meth:`Table.map`, :meth:`Table.spawn` or :meth:`Blocks.call` that is another one for each block.

    Parameters
    ----------
    values : sequence
        One for each block, in their order; :meth:`Table.split` makes them of an array over all rows.
    """

    def __init__(self, values: Sequence[Any]) -> None:
        self.values = list(values)

    @staticmethod
    def of(args: Iterable[Any], number: int) -> list[Any]:
        """Return the arguments of the block of this number."""
        return [own.values[number] if isinstance(own, EachBlock) else own for own in args]


def sum_in_order(parts: Iterable[Sequence[Any]]) -> list[Any]:
    """Add up, over the blocks and in their order, each of the arrays or numbers that a block gave.

    They are added as they come, so that no more than two need be in memory; what was given is not changed.

    Examples
    --------
    >>> sum_in_order([(1, np.array([1.0, 2.0])), (2, np.array([0.5, 0.0])), (3, np.array([0.0, 1.0]))])
    [6, array([1.5, 3. ])]
    """
    total: list[Any] = []
    for number, part in enumerate(parts):
        if number == 0:
            total = list(part)
        elif number == 1:
            total = [own + more for own, more in zip(total, part, strict=True)]
        else:
            for i, (_, more) in enumerate(zip(total, part, strict=True)):
                total[i] += more
    return total


class Blocks:
    """Objects, one for each block of a table, each kept where its block is: what :meth:`Table.spawn` gives.

    A method that returns None changes an object; one that returns something leaves it as it is. So where a block is on
    a machine that is lost, its object can be made anew, and the changes made again; a method ``clear``, if there is
    one, brings an object back to what its factory made, so that what was changed before is forgotten.

    A store whose blocks are elsewhere derives a class of its own, with an :meth:`each`, a :meth:`sum` if it can add
    where the blocks are, and a :meth:`change` if it can put changes off until something is asked for.

    Parameters
    ----------
    objects : sequence
        In the order of the blocks.
    """

    def __init__(self, objects: Sequence[Any]) -> None:
        self._objects = list(objects)

    def call(self, method: str, *args: Any) -> list[Any]:
        """Return what a method of each object returns, in the order of the blocks."""
        return list(self.each(method, *args))

    def each(self, method: str, *args: Any) -> Iterator[Any]:
        """Yield what a method of each object returns, in the order of the blocks; see :meth:`Table.each`."""
        for i, own in enumerate(self._objects):
            yield getattr(own, method)(*EachBlock.of(args, i))

    def sum(self, method: str, *args: Any) -> list[Any]:
        """Add up what a method of each object returns, arrays or numbers; see :meth:`Table.sum`."""
        return sum_in_order(self.each(method, *args))

    def change(self, method: str, *args: Any) -> None:
        """Have a method change each object, at the latest before the next call; it returns None.

        Where blocks are on other machines, a change that goes with the next call saves a message to each.
        """
        check_change(method, self.call(method, *args))


def check_change(method: str, results: Iterable[Any]) -> None:
    """Raise a :class:`~bnplug.ContractError` if a method that was to change objects returned something."""
    if any(own is not None for own in results):
        raise ContractError(f"{method} is no change, since it returns something: use call, each or sum")


class BlockStore(ABC):
    """Where the blocks of a table are, and the only ways to their rows.

    Attributes
    ----------
    sizes : tuple of int
        The number of rows of each block.
    weighted : bool
        Whether rows have weights.
    """

    sizes: tuple[int, ...]
    weighted: bool

    @abstractmethod
    def map(self, function: Callable[..., _T], *args: Any) -> list[_T]:
        """Return ``function(rows, *args)`` for the :data:`Rows` of every block, in their order.

        An argument that is an :class:`EachBlock` is another one for each block; see :meth:`EachBlock.of`.
        """

    @abstractmethod
    def spawn(self, factory: Callable[..., Any], *args: Any) -> Blocks:
        """Return ``factory(rows, *args)`` of every block, each kept where its block is."""

    def each(self, function: Callable[..., _T], *args: Any) -> Iterator[_T]:
        """Yield what :meth:`map` returns, one after the other, in the order of the blocks.

        A store that need not hold all of them at once overrides it. Who asks may stop before the end.
        """
        return iter(self.map(function, *args))

    def sum(self, function: Callable[..., Sequence[Any]], *args: Any) -> list[Any]:
        """Add up the arrays or numbers that `function` returns of every block, each of them on its own.

        A store that adds where the blocks are overrides it; the order of the additions must follow from the blocks and
        where they are, never from who is first.
        """
        return sum_in_order(self.each(function, *args))

    @abstractmethod
    def take(self, rows: Sequence[IntArray]) -> BlockStore:
        """Return a store of some rows of each block, without blocks that have none."""


class LocalStore(BlockStore):
    """Blocks of this process, in memory or memory-mapped; one is loaded at a time.

    Parameters
    ----------
    blocks : sequence of Block
    """

    def __init__(self, blocks: Sequence[Block]) -> None:
        self.blocks = [block.by_place() for block in blocks]
        self.sizes = tuple(block.n_rows for block in blocks)
        if not blocks:
            raise ValueError("there is no block of rows; a table without rows is Table.empty")
        self.weighted = any(block.weights is not None for block in blocks)
        if self.weighted and not all(block.weights is not None for block in blocks):
            raise ValueError("some blocks have weights, and others have none: give all of them weights, or none")

    def map(self, function: Callable[..., _T], *args: Any) -> list[_T]:
        """Return what `function` makes of every block, in their order."""
        return list(self.each(function, *args))

    def each(self, function: Callable[..., _T], *args: Any) -> Iterator[_T]:
        """Yield what `function` makes of one block after the other, when it is asked for."""
        for i, block in enumerate(self.blocks):
            yield function(block.load(), *EachBlock.of(args, i))

    def spawn(self, factory: Callable[..., Any], *args: Any) -> Blocks:
        """Return what `factory` makes of every block, kept in this process."""
        return Blocks(self.map(factory, *args))

    def take(self, rows: Sequence[IntArray]) -> LocalStore:
        """Return a store of some rows of each block."""
        return LocalStore([block.take(own) for block, own in zip(self.blocks, rows, strict=True) if len(own)])


class ConvertedStore(BlockStore):
    """The blocks of another store, each turned into other rows wherever and whenever it is looked at.

    Parameters
    ----------
    store : BlockStore
    convert : callable
        ``convert(rows, *args)`` returns as many :data:`Rows`; a function of a module.
    *args
        The same for every block.
    """

    def __init__(self, store: BlockStore, convert: Callable[..., Rows], *args: Any) -> None:
        self._store, self._convert, self._args = store, convert, args
        self.sizes, self.weighted = store.sizes, store.weighted

    def map(self, function: Callable[..., _T], *args: Any) -> list[_T]:
        """Return what `function` makes of every block, in their order."""
        return self._store.map(_of_converted, self._convert, self._args, function, *args)

    def each(self, function: Callable[..., _T], *args: Any) -> Iterator[_T]:
        """Yield what `function` makes of one block after the other."""
        return self._store.each(_of_converted, self._convert, self._args, function, *args)

    def sum(self, function: Callable[..., Sequence[Any]], *args: Any) -> list[Any]:
        """Add up what `function` makes of every block."""
        return self._store.sum(_of_converted, self._convert, self._args, function, *args)

    def spawn(self, factory: Callable[..., Any], *args: Any) -> Blocks:
        """Return what `factory` makes of every block, kept where the block is."""
        return self._store.spawn(_of_converted, self._convert, self._args, factory, *args)

    def take(self, rows: Sequence[IntArray]) -> ConvertedStore:
        """Return a store of some rows of each block."""
        return ConvertedStore(self._store.take(rows), self._convert, *self._args)


def _of_converted(
    rows: Rows, convert: Callable[..., Rows], given: tuple[Any, ...], function: Callable[..., _T], *args: Any
) -> _T:
    return function(convert(rows, *given), *args)


def _by_place(array: npt.NDArray[Any] | MappedArray) -> npt.NDArray[Any] | MappedArray:
    """A whole memory map as its place in its file; a part of one does not know where it begins."""
    if not isinstance(array, np.memmap) or not array.flags.c_contiguous:
        return array
    if not isinstance(getattr(array, "base", None), mmap.mmap) or array.filename is None:
        return array
    return MappedArray(array.filename, array.dtype, array.shape, array.offset)


def _loaded(array: npt.NDArray[Any] | MappedArray) -> npt.NDArray[Any]:
    return array.load() if isinstance(array, MappedArray) else np.asarray(array)
