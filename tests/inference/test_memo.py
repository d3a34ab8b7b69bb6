"""A memo that is too small is emptied, or grows; what is computed does not depend on it."""

import numpy as np
import pytest
from random_networks import TWO_TREE, random_rows, random_tables

from bnplug.inference import _memo
from bnplug.inference._flat_tables import flat_tables
from bnplug.inference._memo import Memo
from bnplug.inference.expectation import expected_counts
from bnplug.inference.marginals import Elimination


@pytest.fixture
def tables():
    return random_tables(np.random.default_rng(5), TWO_TREE, [3, 2, 4, 3, 2, 4])


@pytest.mark.parametrize("numbers", [1, 40, 200])
def test_a_small_memo_changes_nothing(tables, numbers, monkeypatch):
    codes = random_rows(np.random.default_rng(7), tables, 200, 0.5)
    expected = np.zeros((200, 3))
    Elimination(tables, "v0").add_missing(codes, np.arange(200), expected)
    monkeypatch.setattr(_memo, "_NUMBERS", numbers)
    monkeypatch.setattr(_memo, "_MOST_NUMBERS", numbers)
    result = np.zeros((200, 3))
    Elimination(tables, "v0").add_missing(codes, np.arange(200), result)
    np.testing.assert_array_equal(result, expected)


@pytest.mark.parametrize("numbers", [1, 300])
def test_counts_that_come_down_in_turns_are_those_of_all_rows(tables, numbers, monkeypatch):
    codes = random_rows(np.random.default_rng(7), tables, 200, 0.5)
    weights = np.random.default_rng(8).normal(size=(200, 3))
    expected = expected_counts(tables, "v0", codes, weights)
    monkeypatch.setattr(_memo, "_NUMBERS", numbers)
    monkeypatch.setattr(_memo, "_MOST_NUMBERS", numbers)
    for own, other in zip(expected_counts(tables, "v0", codes, weights), expected, strict=True):
        np.testing.assert_allclose(own, other, rtol=0, atol=1e-12)


def test_a_row_that_fills_it_gets_more_room_in_small_steps_first(tables):
    memo = Memo(flat_tables(tables, "v0"))
    of_tables = memo.n_numbers - _memo._NUMBERS
    found = []
    for _ in range(5):
        memo.make_room()
        found.append((memo.n_numbers - of_tables) // _memo._NUMBERS)
    assert found == [2, 4, 16, 32, 64]
