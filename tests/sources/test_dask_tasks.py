"""What runs on workers: no call is made twice or left out, and only whole numbers are added there."""

import pickle

import numpy as np
import pytest

from bnplug.errors import ContractError
from bnplug.sources.dask._cluster import LOST
from bnplug.sources.dask._store import Calls, Kept, call, make, n_rows, pack, run, sum_whole, take_rows


class Counter:
    """An object of a block that counts what it is told."""

    def __init__(self, rows, start=0):
        self.total = start + int(rows[0].sum())

    def add(self, more):
        self.total += more

    def value(self):
        return self.total

    def parts(self):
        return [self.total, self.total / 4]


def block(*codes, weights=None):
    return np.array([codes], dtype=np.uint8), weights


def parcel(*arguments, after=()):
    return Calls([*after, arguments]).of([0])


def test_an_object_is_made_with_the_changes_so_far():
    kept = make(block(1, 2), parcel(Counter, 10), pack([("add", [5]), ("add", [7])]), 2)
    assert (kept.value.total, kept.n_changes) == (25, 2)


def test_a_change_is_counted_and_an_answer_is_not():
    kept = [Kept(Counter(block(i)), 0) for i in (1, 2)]
    assert call(kept, 0, parcel("value")) == [1, 2]
    assert call(kept, 0, parcel("add", 3)) == [None, None]
    assert [own.n_changes for own in kept] == [1, 1]
    assert call(kept, 1, parcel("parts"), sum_whole) == ([4, 1.0], [(1, [5, 1.25])])


def test_a_change_whose_result_got_lost_is_not_made_again():
    kept = [Kept(Counter(block(1)), 0)]
    assert call(kept, 0, parcel("add", 3)) == call(kept, 0, parcel("add", 3)) == [None]
    assert kept[0].value.total == 4


def test_changes_go_before_a_call_and_are_made_once():
    kept = [Kept(Counter(block(i)), 0) for i in (1, 2)]
    changes = [["add", 3], ["add", 4]]
    kept[1].value.add(3)  # as where the task was begun before
    kept[1].n_changes = 1
    for _ in range(2):
        assert call(kept, 0, parcel("value", after=changes)) == [8, 9]
    assert [own.n_changes for own in kept] == [2, 2]
    assert (
        call(kept, 0, parcel("add", 1, after=changes)) == call(kept, 0, parcel("add", 1, after=changes)) == [None] * 2
    )
    assert [own.value.total for own in kept] == [9, 10]


def test_what_is_no_change_is_told():
    with pytest.raises(ContractError, match="value must not return a result"):
        call([Kept(Counter(block(1)), 0)], 0, parcel("add", 1, after=[["value"]]))


@pytest.mark.parametrize("n_changes", [-1, 0, 1, 4])
def test_an_object_that_has_seen_other_changes_is_lost(n_changes):
    kept = [Kept(Counter(block(1)), 2), Kept(Counter(block(1)), n_changes)]
    assert call(kept, 2, parcel("add", 1)) is LOST
    assert kept[0].value.total == 1


def test_a_copy_of_an_object_is_empty_and_so_lost():
    copied = pickle.loads(pickle.dumps(Kept(Counter(block(1)), 0)))
    assert copied.value is None
    assert call([copied], 0, parcel("value")) is LOST


def test_lost_is_one_thing_in_every_process():
    assert pickle.loads(pickle.dumps(LOST)) is LOST


def test_functions_of_blocks():
    blocks = [block(1, 2), block(3)]
    assert run(blocks, parcel(lambda rows, more: int(rows[0].sum()) + more, 1)) == [4, 4]
    assert run(blocks, parcel(lambda rows: [rows[0].sum()]), sum_whole) == ([6], [])


@pytest.mark.parametrize(
    ("results", "whole", "others"),
    [
        ([[1.0], [2.0], [3.0]], [6.0], []),
        ([[0.5], [2.0], [3.0]], [5.0], [(0, [0.5])]),
        ([[1], [2.5], [3]], [4], [(1, [2.5])]),
        ([[1, 0.5], [2, 1.5]], [], [(0, [1, 0.5]), (1, [2, 1.5])]),
        ([[np.inf], [1.0]], [1.0], [(0, [np.inf])]),
        ([[2.0**60], [1.0]], [1.0], [(0, [2.0**60])]),
        ([["a"], ["b"]], [], [(0, ["a"]), (1, ["b"])]),
    ],
)
def test_only_whole_numbers_are_added(results, whole, others):
    assert sum_whole(results) == (whole, others)


def test_what_was_given_is_not_changed_by_adding():
    first = np.array([1.0, 2.0])
    assert sum_whole([[first], [first], [first]]).whole[0].tolist() == [3.0, 6.0]
    assert first.tolist() == [1.0, 2.0]


def test_some_rows_of_a_block():
    codes, weights, _ = take_rows(block(5, 6, 7, weights=np.array([0.5, 1.0, 2.0])), np.array([0, 2]))
    assert (codes.tolist(), weights.tolist()) == ([[5, 7]], [0.5, 2.0])
    assert not codes.flags.writeable
    assert take_rows(block(5, 6), np.array([1]))[1] is None
    assert n_rows(block(5, 6)) == 2
