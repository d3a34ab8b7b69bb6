"""The most probable states of many rows, against those of each row on its own."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_networks import CLASS_WITH_PARENTS, MISSING, TREE, TWO_TREE, full_joint, random_rows, random_tables
from strategies import LONG

from bnplug import LogTables
from bnplug.inference._groups import best_states
from bnplug.inference.most_probable import most_probable
from bnplug.inference.sample import fill_most_probable

CARDS = [2, 3, 2, 2, 2, 3]


def one_by_one(tables, codes):
    filled = codes.copy()
    for m, row in enumerate(codes.T):
        known = {name: int(state) for name, state in zip(tables.names, row, strict=True) if state != MISSING}
        for name, state in most_probable(tables, known).items():
            filled[tables.names.index(name), m] = state
    return filled


@settings(max_examples=100 if LONG else 10)
@given(
    st.integers(0, 10**6),
    st.sampled_from([TREE, TWO_TREE, CLASS_WITH_PARENTS]),
    st.sampled_from([0.2, 0.5, 0.9]),
    st.booleans(),
)
def test_rows_together_are_filled_as_each_on_its_own(seed, parents, missing, has_class):
    rng = np.random.default_rng(seed)
    tables = random_tables(rng, parents, CARDS, spread=2.0)
    if not has_class:
        tables = LogTables(tables.names, tables.states, tables.tables)
    codes = random_rows(rng, tables, 15, missing)
    found, undecided = best_states(tables, codes)
    assert not undecided.any()
    assert np.array_equal(found, one_by_one(tables, codes))


@settings(max_examples=100 if LONG else 10)
@given(st.integers(0, 10**6), st.sampled_from([TREE, TWO_TREE, CLASS_WITH_PARENTS]))
def test_of_tied_states_the_first_is_taken(seed, parents):
    """Tables of few different numbers, so that many joint states are tied, in the class or between classes."""
    rng = np.random.default_rng(seed)
    tables = random_tables(rng, parents, CARDS)
    own = {
        name: (table.parents, np.log(rng.integers(1, 3, table.values.shape) / 4))
        for name, table in tables.tables.items()
    }
    tied = LogTables(tables.names, tables.states, own, "v0")
    codes = random_rows(rng, tied, 15, 0.5)
    assert np.array_equal(fill_most_probable(tied, codes), one_by_one(tied, codes))


def test_states_that_differ_by_about_the_tolerance_are_left_open():
    values = np.log(np.array([[0.5, 0.5], [0.5, 0.5]]))
    values[1, 0] += 5e-10
    tables = LogTables(
        ["c", "x"], {"c": [0, 1], "x": [0, 1]}, {"c": ((), np.log([0.9, 0.1])), "x": (("c",), values)}, "c"
    )
    codes = np.array([[0, 1], [MISSING, MISSING]], dtype=np.uint8)
    found, undecided = best_states(tables, codes)
    assert undecided.tolist() == [True, False]
    assert found[1, 1] == 0
    assert fill_most_probable(tables, codes)[1].tolist() == [0, 0]


def test_what_is_impossible_is_left_open_and_an_error():
    tables = random_tables(np.random.default_rng(0), TREE, CARDS)
    values = tables["v1"].values.copy()
    values[0] = -np.inf
    own = {**tables.tables, "v1": (tables["v1"].parents, values)}
    impossible = LogTables(tables.names, tables.states, own, "v0")
    codes = np.array([[MISSING] * 2, [0, 1], [MISSING] * 2, [0, 0], [0, 0], [0, 0]], dtype=np.uint8)
    assert best_states(impossible, codes)[1].tolist() == [True, False]
    with pytest.raises(ValueError, match="impossible"):
        fill_most_probable(impossible, codes)


def test_many_joint_states_are_left_open():
    chain = [[], *([0, v - 1] if v > 1 else [0] for v in range(1, 14))]
    tables = random_tables(np.random.default_rng(0), chain, [2] * 14, spread=2.0)
    codes = np.full((14, 2), MISSING, dtype=np.uint8)
    codes[7, 1] = 1
    assert best_states(tables, codes)[1].tolist() == [True, False]
    filled, joint = fill_most_probable(tables, codes), full_joint(tables)
    assert joint[tuple(filled[:, 0])] == joint.max()
    assert joint[tuple(filled[:, 1])] == np.take(joint, 1, axis=7).max()
