"""Counts that come down from a message are split in the proportion of the products that it sums."""

import numpy as np
import pytest
from random_networks import MISSING, random_tables

from bnplug import LogTables
from bnplug.inference.expectation import expected_counts


def test_a_chain_by_hand():
    """c -> x -> y, y = 1 known: P(x = 1 | c, y = 1) is 0.1 * 0.8 / (0.1 * 0.8 + 0.9 * 0.5) for c = 0."""
    tables = LogTables(
        ["c", "x", "y"],
        {name: [0, 1] for name in "cxy"},
        {
            "c": ((), np.log([0.5, 0.5])),
            "x": (("c",), np.log([[0.9, 0.2], [0.1, 0.8]])),
            "y": (("x",), np.log([[0.5, 0.2], [0.5, 0.8]])),
        },
    )
    codes = np.array([[MISSING], [MISSING], [1]], dtype=np.uint8)
    c, x, y = expected_counts(tables, "c", codes, np.array([[2.0, -1.0]]))
    of_x = np.array([0.45 / 0.53, 0.08 / 0.53]), np.array([0.1 / 0.74, 0.64 / 0.74])
    np.testing.assert_allclose(c, [2.0, -1.0])
    np.testing.assert_allclose(x, np.transpose([2 * of_x[0], -of_x[1]]))
    np.testing.assert_allclose(y, [[0.0, 0.0], 2 * of_x[0] - of_x[1]], atol=1e-15)


@pytest.mark.parametrize("scale", [1.0, 400.0])
def test_counts_of_every_family_sum_to_the_weights(scale):
    """Also where products are taken of logarithms."""
    rng = np.random.default_rng(3)
    tables = random_tables(rng, [[], [0], [0, 1], [2], []], [2, 3, 2, 4, 3], spread=scale)
    codes = np.full((5, 3), MISSING, dtype=np.uint8)
    codes[3] = [0, 1, 2]
    for own in expected_counts(tables, "v0", codes, np.array([[1.0, 2.0], [0.5, 0.0], [-1.0, 1.0]])):
        assert own.sum() == pytest.approx(3.5)
