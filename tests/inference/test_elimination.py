"""The compiled pass adds the missing part to what complete tables give."""

import numpy as np
import pytest
from random_networks import MISSING, TWO_TREE, enumerated, random_rows, random_tables

from bnplug import LogTables
from bnplug.inference.complete import log_joint, terms
from bnplug.inference.marginals import Elimination, Marginalizer


@pytest.fixture
def tables():
    return random_tables(np.random.default_rng(5), TWO_TREE, [3, 2, 4, 3, 2, 4])


def test_complete_and_missing_part_make_the_marginal(tables):
    codes = random_rows(np.random.default_rng(6), tables, 40, 0.5)
    joint = log_joint(terms(tables, "v0"), codes)
    Elimination(tables, "v0").add_missing(codes, np.arange(40), joint)
    np.testing.assert_allclose(joint, enumerated(tables, codes), rtol=0, atol=1e-12)


def test_only_the_rows_asked_for_change(tables):
    codes = random_rows(np.random.default_rng(7), tables, 10, 0.6)
    joint = np.zeros((10, 3))
    Elimination(tables, "v0").add_missing(codes, np.array([2, 5]), joint)
    assert np.flatnonzero(joint.any(axis=1)).tolist() == [2, 5]


def test_a_row_without_holes_gets_nothing(tables):
    codes = random_rows(np.random.default_rng(8), tables, 5, 0.0)
    joint = np.zeros((5, 3))
    Elimination(tables, "v0").add_missing(codes, np.arange(5), joint)
    assert not joint.any()


def test_threads_change_nothing(tables):
    codes = random_rows(np.random.default_rng(9), tables, 3000, 0.5)
    one, two = np.zeros((3000, 3)), np.zeros((3000, 3))
    Elimination(tables, "v0").add_missing(codes, np.arange(3000), one, n_jobs=1)
    Elimination(tables, "v0").add_missing(codes, np.arange(3000), two, n_jobs=2)
    np.testing.assert_array_equal(one, two)


def test_the_row_that_needs_too_large_a_table_is_named(tables):
    codes = np.zeros((6, 4), dtype=np.uint8)
    codes[1:5, 2] = MISSING
    with pytest.raises(ValueError, match=r"row 2: .*more than max_clique_size=2"):
        Elimination(tables, "v0", max_clique_size=2).add_missing(codes, np.arange(4), np.zeros((4, 3)))


def test_rows_with_cliques_of_their_own_leave_out_what_others_leave_out():
    """x is known, and separates y, z from the class; z = 1 is impossible given any y, which is the same for all."""
    with np.errstate(divide="ignore"):
        tables = LogTables(
            ["c", "w", "x", "y", "z"],
            {name: [0, 1] for name in "cwxyz"},
            {
                "c": ((), np.log([0.5, 0.5])),
                "w": (("c",), np.log([[0.9, 0.2], [0.1, 0.8]])),
                "x": (("c", "w"), np.log([[[0.3, 0.6], [0.5, 0.1]], [[0.7, 0.4], [0.5, 0.9]]])),
                "y": (("x",), np.log([[0.5, 0.2], [0.5, 0.8]])),
                "z": (("y",), np.log([[1.0, 1.0], [0.0, 0.0]])),
            },
            "c",
        )
    row = np.array([0, MISSING, 1, MISSING, 1], dtype=np.uint8)
    joint = log_joint(terms(tables, "c"), row[:, None])
    network = Elimination(tables, "c")
    network.add_missing(row[:, None], np.arange(1), joint)
    expected = np.log([0.5 * (0.9 * 0.7 + 0.1 * 0.4), 0.5 * (0.2 * 0.5 + 0.8 * 0.9)])
    np.testing.assert_allclose(joint[0], expected)
    np.testing.assert_allclose(network._by_other_cliques(row, 0), expected)
    # The full log joint has the tables of y and z, which are the same for both classes: z = 1 is impossible.
    assert np.isneginf(Marginalizer(tables, "c").log_joint(row[:, None], complete=True)).all()
    row[4] = 0
    np.testing.assert_allclose(Marginalizer(tables, "c").log_joint(row[:, None], complete=True)[0], expected)
    np.testing.assert_allclose(network._by_other_cliques(row, 0, complete=True), expected)
    row[3] = 1
    np.testing.assert_allclose(network._by_other_cliques(row, 0, complete=True), expected + np.log(0.8))
    np.testing.assert_allclose(
        Marginalizer(tables, "c").log_joint(row[:, None], complete=True)[0], expected + np.log(0.8)
    )
