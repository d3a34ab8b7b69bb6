"""Blocks: what is in a file is found again, is pickled by its place, and is mapped no longer than it is looked at."""

import pickle

import numpy as np
import pytest

from bnplug.data.blocks import Block, Blocks, EachBlock, LocalStore, MappedArray


@pytest.fixture
def mapped(tmp_path):
    """Codes and weights behind each other in one file."""
    path, codes = tmp_path / "rows.bin", np.arange(10, dtype=np.uint8).reshape(2, 5)
    with open(path, "wb") as file:
        file.write(b"headheads" + codes.tobytes() + bytes(5) + np.arange(5.0).tobytes())
    return Block(MappedArray(path, np.uint8, (2, 5), 9), MappedArray(path, np.float64, (5,), 24))


def test_a_mapped_block_is_what_is_in_the_file(mapped):
    codes, weights = mapped.load()
    assert codes.tolist() == [[0, 1, 2, 3, 4], [5, 6, 7, 8, 9]]
    assert weights.tolist() == [0, 1, 2, 3, 4]
    assert not codes.flags.writeable
    assert type(codes) is np.ndarray  # what kernels are compiled for


def test_rows_are_picked_out_of_picked_rows(mapped):
    taken = mapped.take(np.array([1, 3, 4])).take(np.array([2, 0]))
    assert taken.n_rows == 2
    codes, weights = taken.load()
    assert codes.tolist() == [[4, 1], [9, 6]]
    assert weights.tolist() == [4, 1]


def test_a_mapped_block_is_pickled_by_its_place(tmp_path):
    whole = np.lib.format.open_memmap(tmp_path / "codes.npy", "w+", np.uint8, (2, 100_000))
    whole[:] = 3
    whole.flush()
    block = LocalStore([Block(whole)]).blocks[0]
    assert len(pickle.dumps(block)) < 1000
    assert pickle.loads(pickle.dumps(block)).load()[0].sum() == 600_000
    part = LocalStore([Block(whole[:, :7])]).blocks[0]  # does not know where in the file it is
    assert part.load()[0].shape == (2, 7)


def test_an_array_without_rows_is_not_mapped(tmp_path):
    assert MappedArray(tmp_path / "nowhere", np.uint8, (3, 0)).load().shape == (3, 0)


def test_a_store_maps_in_order_and_gives_each_block_its_own_argument(mapped):
    store = LocalStore([mapped, mapped.take(np.array([0, 2]))])
    assert store.sizes == (5, 2)
    assert store.weighted
    found = store.map(lambda rows, a, b: (rows[0].shape[1], a, b), EachBlock("xy"), 7)
    assert found == [(5, "x", 7), (2, "y", 7)]
    assert store.take([np.array([], dtype=int), np.array([1])]).map(lambda rows: rows[0].tolist()) == [[[2], [7]]]


def test_objects_are_kept_and_called_in_order():
    blocks = Blocks([[3, 1], [2]])
    blocks.call("append", EachBlock([5, 6]))
    assert blocks.call("index", EachBlock([5, 6])) == [2, 1]


def test_all_blocks_have_weights_or_none(mapped):
    with pytest.raises(ValueError, match="some blocks have weights, and others have none"):
        LocalStore([mapped, Block(np.zeros((2, 1), dtype=np.uint8))])
    with pytest.raises(ValueError, match="no block of rows"):
        LocalStore([])
