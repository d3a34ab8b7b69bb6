"""Tables in blocks: memory-mapped files with the rows of a table, in uneven blocks, one of them small."""

import numpy as np

from bnplug.table.block_table import BlockTable
from bnplug.table.blocks import Block, MappedArray


def uneven(n_rows, n_blocks=7):
    """Return the sizes of blocks, each larger than the one before."""
    ends = np.round(n_rows * (np.arange(1, n_blocks + 1) / n_blocks) ** 2).astype(int)
    return np.diff(ends, prepend=0).tolist()


def mapped(table, folder, n_blocks=7):
    """Return a table whose rows, those of another, are in a memory-mapped file in blocks."""
    path, blocks, low = folder / "rows.bin", [], 0
    with open(path, "wb") as file:
        for size in uneven(table.n_rows, n_blocks):
            blocks.append(_write(file, path, table, slice(low, low + size)))
            low += size
    return BlockTable(blocks, table.names, table.states, table.target, table.left_out)


def _write(file, path, table, rows):
    def written(array):
        file.write(bytes(-file.tell() % 8))
        place = MappedArray(path, array.dtype, array.shape, file.tell())
        file.write(np.ascontiguousarray(array).tobytes())
        file.flush()
        return place

    return Block(written(table.codes[:, rows]), None if table.weights is None else written(table.weights[rows]))
