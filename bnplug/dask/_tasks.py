"""What runs on workers. Each function is of this module, so that workers know it by name.

What is kept of a block between calls is the value of a Dask task, which calls change in place. It counts its changes:
where a worker died, or Dask moved the value, the count is not the one that is expected, and the caller has it made
anew. So no call is ever made twice, or left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import Enum
from typing import Any, NamedTuple, TypeVar

import numpy as np

from bnplug.arrays import IntArray
from bnplug.dask._parcels import for_each, unpack
from bnplug.data._views import read_only
from bnplug.data.blocks import Rows, check_change, sum_in_order

_T = TypeVar("_T")

# Sums of whole numbers below this are exact, in whatever order they are added.
_LARGEST_WHOLE = 2.0**40

#: A change of what is kept of blocks: a method and its arguments.
Change = tuple[str, list[Any]]


class Sums(NamedTuple):
    """What a task gives of its blocks where results are added up.

    Attributes
    ----------
    whole : list of array or number
        The sums over the blocks whose results are all whole numbers; empty where there is no such block.
    others : list of (int, list of array or number)
        The position in the task, and the results, of each other block.
    """

    whole: list[Any]
    others: list[tuple[int, list[Any]]]


class State(Enum):
    """What a task returns in place of results where what it needs is not there any more."""

    LOST = "lost"


LOST = State.LOST


class Kept:
    """What is kept of one block, and how many changes it has seen.

    A copy in another process is empty: it may hold addresses of compiled code, and is made anew there.
    """

    def __init__(self, value: Any = None, n_changes: int = -1) -> None:
        self.value, self.n_changes = value, n_changes

    def __reduce__(self) -> tuple[Any, ...]:
        return Kept, ()


def run(blocks: Sequence[Rows], parcel: bytes) -> list[Any]:
    """Return what a function makes of blocks: the one call of the parcel."""
    return list(_run(blocks, parcel))


def run_and_sum(blocks: Sequence[Rows], parcel: bytes) -> Sums:
    """Return the sums of what a function makes of blocks; see :func:`sum_whole`."""
    return sum_whole(_run(blocks, parcel))


def _run(blocks: Sequence[Rows], parcel: bytes) -> Iterator[Any]:
    each = for_each(unpack(parcel), len(blocks))
    return (function(rows, *args) for rows, ((function, *args),) in zip(blocks, each, strict=True))


def make(block: Rows, parcel: bytes, log: bytes, n_changes: int) -> Kept:
    """Return what a factory makes of a block, with the changes that were made since."""
    (((factory, *args),),) = unpack(parcel)
    value = factory(block, *args)
    for method, own in unpack(log):
        getattr(value, method)(*own)
    return Kept(value, n_changes)


def call(kept: Sequence[Kept], n_changes: int, parcel: bytes) -> list[Any] | State:
    """Return what the last of some calls returns for each block; :data:`LOST` where one has not seen so many changes.

    The calls before are changes. So is the last one if it returns None.
    """
    return _call(kept, n_changes, parcel, list)


def call_and_sum(kept: Sequence[Kept], n_changes: int, parcel: bytes) -> Sums | State:
    """Return the sums of what a method returns for each block; see :func:`call` and :func:`sum_whole`."""
    return _call(kept, n_changes, parcel, sum_whole)


def _call(kept: Sequence[Kept], n_changes: int, parcel: bytes, collect: Callable[[Iterable[Any]], _T]) -> _T | State:
    each = for_each(unpack(parcel), len(kept))
    # Changes more than that: this task was done, or begun, and its result got lost.
    if any(not n_changes <= own.n_changes <= n_changes + len(calls) for own, calls in zip(kept, each, strict=True)):
        return LOST
    return collect(_called(own, n_changes, calls) for own, calls in zip(kept, each, strict=True))


def _called(kept: Kept, n_changes: int, calls: list[list[Any]]) -> Any:
    found, last = None, n_changes + len(calls) - 1
    for number, (method, *args) in enumerate(calls, n_changes):
        if kept.n_changes <= number:
            found = getattr(kept.value, method)(*args)
            if number < last:
                check_change(method, [found])
            kept.n_changes += found is None
    return found


def sum_whole(results: Iterable[Sequence[Any]]) -> Sums:
    """Add up the results of the blocks that give whole numbers, so that no bit is lost.

    What is no whole number is left for the caller to add, in the order of all blocks: the sum then does not depend on
    which worker has which block.

    Examples
    --------
    >>> sum_whole([[1, 2.0], [3, 4.0], [1, 0.5], [1, 1.0]])
    Sums(whole=[5, 7.0], others=[(2, [1, 0.5])])
    """
    whole: list[Any] = []
    others: list[tuple[int, list[Any]]] = []
    for position, parts in enumerate(results):
        if not all(map(_is_whole, parts)):
            others.append((position, list(parts)))
        else:
            whole = sum_in_order([whole, parts]) if whole else list(parts)
    return Sums(whole, others)


def _is_whole(part: Any) -> bool:
    values = np.asarray(part)
    if values.dtype.kind in "iub":
        return True
    if values.dtype.kind != "f":
        return False
    return bool((np.abs(values) < _LARGEST_WHOLE).all() and (values == np.rint(values)).all())


def take(block: Rows, rows: IntArray) -> Rows:
    """Return some rows of a block."""
    codes, weights = block
    return read_only(np.ascontiguousarray(codes[:, rows])), None if weights is None else read_only(weights[rows])


def n_rows(block: Rows) -> int:
    """Return the number of rows of a block."""
    return int(block[0].shape[1])
