"""Missing cells filled in, against the joint distribution by enumeration."""

import numpy as np
import pytest
from random_networks import MISSING, TREE, TWO_TREE, full_joint, random_rows, random_tables

from bnplug import LogTables
from bnplug.inference.sample import draw_missing, fill_most_probable

CARDS = [2, 3, 2, 2, 2, 3]


@pytest.mark.parametrize("parents", [TREE, TWO_TREE])
def test_draws_are_from_the_joint_distribution_of_what_is_missing(parents):
    tables = random_tables(np.random.default_rng(0), parents, CARDS)
    row = np.array([MISSING, 1, MISSING, 0, MISSING, 2], dtype=np.uint8)
    drawn = draw_missing(tables, np.repeat(row[:, None], 20_000, axis=1), random_state=0)
    assert (drawn[[1, 3, 5]] == row[[1, 3, 5], None]).all()
    wanted = np.exp(full_joint(tables)[:, 1, :, 0, :, 2])
    found = np.zeros((2, 2, 2))
    np.add.at(found, tuple(drawn[[0, 2, 4]].astype(int)), 1)
    np.testing.assert_allclose(found / 20_000, wanted / wanted.sum(), atol=0.015)


def test_a_row_is_drawn_alike_whatever_the_others_lack():
    rng = np.random.default_rng(1)
    tables = random_tables(rng, TREE, CARDS)
    codes = random_rows(rng, tables, 30, 0.5)
    other = codes.copy()
    other[:, 1:] = 0
    drawn, alone = draw_missing(tables, codes, 5), draw_missing(tables, other, 5)
    assert (drawn[:, 0] == alone[:, 0]).all()
    assert np.array_equal(drawn, draw_missing(tables, codes, 5, n_jobs=2))


def test_an_impossible_row_is_filled_in_all_the_same():
    tables = random_tables(np.random.default_rng(2), TREE, CARDS, zeros=0.0)
    values = tables["v1"].values.copy()
    values[0] = -np.inf
    own = {name: (parents, there) for name, (parents, there) in tables.tables.items()}
    impossible = LogTables(tables.names, tables.states, {**own, "v1": (tables["v1"].parents, values)}, "v0")
    codes = np.array([[MISSING], [0], [MISSING], [0], [0], [0]], dtype=np.uint8)
    assert (draw_missing(impossible, codes, 0) != MISSING).all()


def test_most_probable_is_the_largest_of_the_joint():
    rng = np.random.default_rng(3)
    tables = random_tables(rng, TWO_TREE, CARDS, spread=2.0)
    codes = random_rows(rng, tables, 25, 0.5)
    filled, joint = fill_most_probable(tables, codes), full_joint(tables)
    for before, after in zip(codes.T, filled.T, strict=True):
        place = tuple(slice(None) if state == MISSING else int(state) for state in before)
        assert joint[tuple(after.astype(int))] == pytest.approx(joint[place].max())


def test_only_what_is_wanted_is_filled_in():
    rng = np.random.default_rng(4)
    tables = random_tables(rng, TREE, CARDS)
    codes = random_rows(rng, tables, 10, 0.6)
    filled = fill_most_probable(tables, codes, variables=[1, 2])
    assert (filled[[1, 2]] != MISSING).all()
    assert np.array_equal(filled[[0, 3, 4, 5]], codes[[0, 3, 4, 5]])
