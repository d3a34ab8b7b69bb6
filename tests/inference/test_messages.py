"""Messages are shared by rows that agree on what they are made of, and forgotten when there is no more room."""

import numpy as np
import pytest
from random_networks import TWO_TREE, enumerated, random_rows, random_tables

from bnplug.inference.complete import log_joint, terms
from bnplug.inference.marginals import Elimination


@pytest.fixture
def tables():
    return random_tables(np.random.default_rng(5), TWO_TREE, [3, 2, 4, 3, 2, 4])


def computed(network):
    return [int(memo.arrays[-1]["computed"][0]) for memo in network._memos[0]]


def test_equal_rows_share_all_messages(tables):
    codes = random_rows(np.random.default_rng(6), tables, 30, 0.5)
    network = Elimination(tables, "v0")
    network.add_missing(codes, np.arange(30), np.zeros((30, 3)))
    before = computed(network)
    assert before[0] > 0
    network.add_missing(codes, np.arange(30), np.zeros((30, 3)))
    assert computed(network) == before


def test_wide_ranges_are_exact(tables):
    """Log parameters that no product of plain numbers holds."""
    for name in tables.names:
        tables.tables[name].values[:] *= 400
    codes = random_rows(np.random.default_rng(8), tables, 60, 0.6)
    joint = log_joint(terms(tables, "v0"), codes)
    Elimination(tables, "v0").add_missing(codes, np.arange(60), joint)
    np.testing.assert_allclose(joint, enumerated(tables, codes), rtol=1e-12)
