"""A table's codes in a file: blocks of rows one after the other, one variable after the other within a block.

A block is its codes, as bytes in C order, filled up with zeros to a multiple of eight, and then the weights of its rows
as float64, where rows have weights.
"""

from __future__ import annotations

import errno
import os
import zlib
from collections.abc import Iterator
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from bnplug.arrays import CodeArray, FloatArray
from bnplug.data.blocks import Block, MappedArray

#: A block has about so many bytes, and at most so many rows.
BLOCK_BYTES, MOST_ROWS = 1 << 25, 1 << 20


class Layout(NamedTuple):
    """How a file of codes is laid out.

    Attributes
    ----------
    n_variables : int
    dtype : dtype
        That of the codes.
    weighted : bool
    rows : tuple of int
        The number of rows of each block.
    """

    n_variables: int
    dtype: np.dtype[Any]
    weighted: bool
    rows: tuple[int, ...]

    @classmethod
    def of(cls, n_variables: int, dtype: np.dtype[Any], weighted: bool, n_rows: int) -> Layout:
        """Return the layout of so many rows.

        Examples
        --------
        >>> layout = Layout.of(21, np.dtype(np.uint8), False, 3_000_000)
        >>> layout.rows, layout.n_bytes
        ((1048576, 1048576, 902848), 63000000)
        """
        row = n_variables * dtype.itemsize + 8 * weighted
        most = max(1, min(MOST_ROWS, BLOCK_BYTES // row))
        full, rest = divmod(n_rows, most)
        return cls(n_variables, dtype, weighted, (most,) * full + ((rest,) if rest else ()))

    @property
    def n_bytes(self) -> int:
        """The size of the file."""
        return sum(map(self.block_bytes, self.rows))

    def code_bytes(self, rows: int) -> int:
        """Return the bytes of a block's codes, filled up."""
        return -(-rows * self.n_variables * self.dtype.itemsize // 8) * 8

    def block_bytes(self, rows: int) -> int:
        """Return the bytes of a block."""
        return self.code_bytes(rows) + 8 * rows * self.weighted

    def blocks(self, path: str | os.PathLike[str]) -> Iterator[Block]:
        """Yield the blocks of a file, by their places."""
        offset = 0
        for rows in self.rows:
            codes = MappedArray(path, self.dtype, (self.n_variables, rows), offset)
            place = offset + self.code_bytes(rows)
            weights = MappedArray(path, np.dtype(np.float64), (rows,), place) if self.weighted else None
            yield Block(codes, weights)
            offset += self.block_bytes(rows)


class CodeWriter:
    """Writes rows, as they come in batches of any size, as blocks.

    Parameters
    ----------
    file : binary file
    layout : Layout

    Attributes
    ----------
    checksums : list of int
        CRC-32 of each block that is written.
    """

    def __init__(self, file: BinaryIO, layout: Layout) -> None:
        self.checksums: list[int] = []
        self._file, self._layout = file, layout
        self._reserve()
        self._waiting: list[tuple[CodeArray, FloatArray | None]] = []
        self._n_waiting = 0

    def add(self, codes: CodeArray, weights: FloatArray | None) -> None:
        """Write more rows: codes (variables, rows), and weights (rows,) or None."""
        self._waiting.append((codes, weights))
        self._n_waiting += codes.shape[1]
        while len(self.checksums) < len(self._layout.rows) and self._n_waiting >= self._next_rows():
            self._write_block(self._next_rows())

    def close(self) -> None:
        """Raise a ``ValueError`` unless exactly the rows were written that the layout has."""
        written, left = sum(self._layout.rows[: len(self.checksums)]), self._n_waiting
        if left or len(self.checksums) != len(self._layout.rows):
            raise ValueError(f"{written + left:,} rows came, and {sum(self._layout.rows):,} were counted before")

    def _next_rows(self) -> int:
        return self._layout.rows[len(self.checksums)]

    def _write_block(self, rows: int) -> None:
        codes = np.concatenate([own for own, _ in self._waiting], axis=1)
        weights = [own for _, own in self._waiting if own is not None]
        every = np.concatenate(weights) if weights else None
        content = np.ascontiguousarray(codes[:, :rows], dtype=self._layout.dtype).tobytes()
        content = content.ljust(self._layout.code_bytes(rows), b"\0")
        if every is not None:
            content += every[:rows].astype(np.float64).tobytes()
        self._file.write(content)
        self.checksums.append(zlib.crc32(content))
        self._n_waiting -= rows
        rest = None if every is None else every[rows:]
        self._waiting = [(np.ascontiguousarray(codes[:, rows:]), rest)] if self._n_waiting else []

    def _reserve(self) -> None:
        """Take the room on the disk before the work, where the file system can."""
        try:
            if self._layout.n_bytes and hasattr(os, "posix_fallocate"):
                os.posix_fallocate(self._file.fileno(), 0, self._layout.n_bytes)
        except OSError as error:
            if error.errno in (errno.ENOSPC, errno.EFBIG, errno.EDQUOT):
                raise


def checksums(path: os.PathLike[str], layout: Layout) -> list[int]:
    """Return the checksums of the blocks of a file."""
    found = []
    with open(path, "rb") as file:
        for rows in layout.rows:
            found.append(zlib.crc32(file.read(layout.block_bytes(rows))))
    return found
