"""Blocks: what is in a file is found again, is pickled by its place, and is mapped no longer than it is looked at."""

import pickle

import numpy as np
import pytest

from bnplug.errors import ContractError
from bnplug.table.blocks import Block, Blocks, BlockStore, EachBlock, LocalStore, MappedArray, sum_in_order


@pytest.fixture
def mapped(tmp_path):
    """Codes and weights behind each other in one file."""
    path, codes = tmp_path / "rows.bin", np.arange(10, dtype=np.uint8).reshape(2, 5)
    with open(path, "wb") as file:
        file.write(b"headheads" + codes.tobytes() + bytes(5) + np.arange(5.0).tobytes())
    return Block(MappedArray(path, np.uint8, (2, 5), 9), MappedArray(path, np.float64, (5,), 24))


def test_a_mapped_block_is_what_is_in_the_file(mapped):
    codes, weights, _ = mapped.load()
    assert codes.tolist() == [[0, 1, 2, 3, 4], [5, 6, 7, 8, 9]]
    assert weights.tolist() == [0, 1, 2, 3, 4]
    assert not codes.flags.writeable
    assert type(codes) is np.ndarray  # what kernels are compiled for


def test_rows_are_picked_out_of_picked_rows(mapped):
    taken = mapped.take(np.array([1, 3, 4])).take(np.array([2, 0]))
    assert taken.n_rows == 2
    codes, weights, _ = taken.load()
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


def test_a_block_is_looked_at_when_its_result_is_asked_for(mapped):
    seen = []
    found = LocalStore([mapped] * 3).each(lambda rows, i: seen.append(i) or i, EachBlock([4, 5, 6]))
    assert next(found) == 4
    assert seen == [4]
    found.close()
    assert seen == [4]


class Counted(list):
    """Parts of a sum that know how many of them are held at once."""

    held = most = 0

    def __init__(self, *args):
        super().__init__(*args)
        Counted.held += 1
        Counted.most = max(Counted.most, Counted.held)

    def __del__(self):
        Counted.held -= 1


def test_sums_are_made_as_the_parts_come(mapped):
    store, Counted.most = LocalStore([mapped] * 9), 0
    total = store.sum(lambda rows, i: Counted([rows[0].sum(axis=1), i]), EachBlock(range(9)))
    assert total[0].tolist() == [90, 315]
    assert total[1] == 36
    assert Counted.most <= 3


class Elsewhere(BlockStore):
    """A store that has only what it must have."""

    def __init__(self, parts):
        self.parts = parts

    def map(self, function, *args):
        return [function(part, *EachBlock.of(args, i)) for i, part in enumerate(self.parts)]

    def spawn(self, factory, *args):
        return Blocks(self.map(factory, *args))

    def take(self, rows):
        raise NotImplementedError


def test_a_store_that_can_map_can_do_the_rest():
    store = Elsewhere([1.0, 2.0, 4.0])
    assert list(store.each(lambda part, k: part * k, 3)) == [3, 6, 12]
    assert store.sum(lambda part: (part, np.array([1, part])))[0] == 7
    assert store.spawn(lambda part: [part]).sum("copy") == [7]


@pytest.mark.parametrize("n", [1, 2, 3])
def test_what_is_summed_is_left_as_it_was_and_added_in_order(n):
    parts = [[np.array([1e16, 1.0]), 1e16], [np.array([1.0, 2.0]), 1.0], [np.array([-1e16, 3.0]), -1e16]][:n]
    for array, _ in parts:
        array.flags.writeable = False
    array, number = sum_in_order(iter(parts))
    assert array[0] == number == [1e16, 1e16, 0.0][n - 1]  # in another order it would be 1 at last
    assert array[1] == [1, 3, 6][n - 1]
    assert parts[0][0].tolist() == [1e16, 1.0]


def test_parts_that_do_not_match_are_not_added():
    with pytest.raises(ValueError, match="zip"):
        sum_in_order([[1, 2], [3]])
    with pytest.raises(ValueError, match="zip"):
        sum_in_order([[1], [3], [1, 2]])


def test_objects_are_kept_and_called_in_order():
    blocks = Blocks([[3, 1], [2]])
    blocks.call("append", EachBlock([5, 6]))
    assert blocks.call("index", EachBlock([5, 6])) == [2, 1]
    blocks.change("reverse")
    assert blocks.call("index", EachBlock([5, 6])) == [0, 0]
    with pytest.raises(ContractError, match="pop must not return a result"):
        blocks.change("pop")


def test_all_blocks_have_weights_or_none(mapped):
    with pytest.raises(ValueError, match="some blocks have weights, and others have none"):
        LocalStore([mapped, Block(np.zeros((2, 1), dtype=np.uint8))])
    with pytest.raises(ValueError, match="no block of rows"):
        LocalStore([])
