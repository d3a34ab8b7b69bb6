"""Files of codes: rows that come in batches of any size are the blocks that are mapped afterwards."""

import errno
import os
from contextlib import nullcontext

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import bnplug.sources._table_files as table_files
from bnplug.sources._table_files import Layout, checksums, write_blocks


def written(path, layout, codes, weights, sizes):
    with open(path, "wb") as file:
        parts = np.split(np.arange(codes.shape[1]), np.cumsum(sizes))
        batches = ((codes[:, rows], None if weights is None else weights[rows]) for rows in parts)
        return write_blocks(file, layout, batches)


@given(
    st.lists(st.integers(0, 5), min_size=1, max_size=5),
    st.sampled_from([np.uint8, np.uint16]),
    st.booleans(),
    st.integers(1, 4),
)
def test_what_is_written_is_mapped(tmp_path_factory, sizes, dtype, weighted, most):
    rng, n_rows = np.random.default_rng(sum(sizes)), sum(sizes) + 1
    codes, weights = rng.integers(0, 9, (3, n_rows)).astype(dtype), rng.random(n_rows) if weighted else None
    full, rest = divmod(n_rows, most)
    layout = Layout(3, np.dtype(dtype), weighted, (most,) * full + ((rest,) if rest else ()))
    path = tmp_path_factory.mktemp("codes") / "a.codes"
    found = written(path, layout, codes, weights, sizes)
    assert path.stat().st_size == layout.n_bytes
    assert checksums(path, layout) == found
    blocks = [block.load() for block in layout.blocks(path)]
    assert [block.codes.shape[1] for block in blocks] == list(layout.rows)
    assert (np.concatenate([block.codes for block in blocks], axis=1) == codes).all()
    if weighted:
        assert (np.concatenate([block.weights for block in blocks]) == weights).all()
    else:
        assert all(block.weights is None for block in blocks)


def test_blocks_are_of_about_the_same_number_of_bytes():
    assert Layout.of(1001, np.dtype(np.uint16), True, 100_000).rows == (16693,) * 5 + (16535,)
    assert Layout.of(3, np.dtype(np.uint8), False, 10).rows == (10,)
    assert Layout.of(3, np.dtype(np.uint8), False, 0).rows == ()


def test_one_bit_changes_a_checksum(tmp_path):
    path, layout = tmp_path / "a.codes", Layout(2, np.dtype(np.uint8), False, (4, 4))
    before = written(path, layout, np.zeros((2, 8), dtype=np.uint8), None, [8])
    content = bytearray(path.read_bytes())
    content[9] ^= 1
    path.write_bytes(content)
    assert [a == b for a, b in zip(before, checksums(path, layout), strict=True)] == [True, False]


@pytest.mark.parametrize("n_rows", [7, 9])
def test_other_rows_than_were_counted_are_an_error(tmp_path, n_rows):
    layout = Layout(2, np.dtype(np.uint8), False, (4, 4))
    with pytest.raises(ValueError, match=f"{n_rows} rows came, and 8 were counted"):
        written(tmp_path / "a.codes", layout, np.zeros((2, n_rows), dtype=np.uint8), None, [n_rows])


@pytest.mark.parametrize(("number", "raises"), [(errno.ENOSPC, True), (errno.EOPNOTSUPP, False)])
def test_room_is_taken_before_the_work_where_that_can_be_done(tmp_path, monkeypatch, number, raises):
    def refuse(*_):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(table_files.os, "posix_fallocate", refuse, raising=False)
    full = pytest.raises(OSError, match="No space left") if raises else nullcontext()
    with open(tmp_path / "a.codes", "wb") as file, full:
        write_blocks(file, Layout(2, np.dtype(np.uint8), False, (4,)), [(np.zeros((2, 4), dtype=np.uint8), None)])
