"""What runs on workers. Each function is of this module, so that workers know it by name.

What is kept of a block between calls is the value of a Dask task, which calls change in place. It counts its changes:
where a worker died, or Dask moved the value, the count is not the one that is expected, and the caller has it made
anew. So no call is ever made twice, or left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import Enum
from typing import Any

import numpy as np

from bnplug.arrays import IntArray
from bnplug.dask._parcels import for_each, unpack
from bnplug.data._views import read_only
from bnplug.data.blocks import Rows, check_change

# Sums of whole numbers below this are exact, in whatever order they are added.
_LARGEST_WHOLE = 2.0**40

#: A change of what is kept of blocks: a method and its arguments.
Change = tuple[str, list[Any]]

#: The sum over some blocks that follow each other in a task: the position of the first, and the arrays or numbers.
Piece = tuple[int, list[Any]]


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


def run_and_sum(blocks: Sequence[Rows], parcel: bytes) -> list[Piece]:
    """Return the sums of what a function makes of blocks; see :func:`sum_pieces`."""
    return sum_pieces(_run(blocks, parcel))


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


def call_and_sum(kept: Sequence[Kept], n_changes: int, parcel: bytes) -> list[Piece] | State:
    """Return the sums of what a method returns for each block; see :func:`call` and :func:`sum_pieces`."""
    return _call(kept, n_changes, parcel, sum_pieces)


def _call(
    kept: Sequence[Kept], n_changes: int, parcel: bytes, collect: Callable[[Iterable[Any]], list[Any]]
) -> list[Any] | State:
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


def sum_pieces(results: Iterable[Sequence[Any]]) -> list[Piece]:
    """Add up the results of blocks that follow each other as long as all are whole numbers, so that no bit is lost.

    What is no whole number is left for the caller to add, in the order of all blocks: the sum then does not depend on
    which worker has which block.

    Examples
    --------
    >>> sum_pieces([[1, 2.0], [3, 4.0], [1, 0.5], [1, 1.0]])
    [(0, [4, 6.0]), (2, [1, 0.5]), (3, [1, 1.0])]
    """
    pieces: list[Piece] = []
    begun = False
    for position, parts in enumerate(results):
        whole = all(map(_is_whole, parts))
        if whole and begun:
            total = pieces[-1][1]
            pieces[-1] = pieces[-1][0], [own + more for own, more in zip(total, parts, strict=True)]
        else:
            pieces.append((position, list(parts)))
        begun = whole
    return pieces


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
