"""The learner returns what its formula says."""

import numpy as np
import pandas as pd
import pytest

import bnplug
from bnplug import Structure


@pytest.fixture
def table():
    return bnplug.Table.from_frame(pd.DataFrame({"x": [0, 0, 1], "c": ["n", "n", "y"]}), "c")


def fitted(table, strength):
    tables = bnplug.parameter_learner("my-parameters", strength=strength).fit(table, Structure(table.names, [[1], []]))
    return np.exp(tables.tables["x"].values)


def test_a_weak_prior_leaves_the_frequencies(table):
    assert np.allclose(fitted(table, 1e-9), [[1, 0], [0, 1]])


def test_a_strong_prior_forgets_the_parents(table):
    assert np.allclose(fitted(table, 1e9), [[2.5 / 4, 2.5 / 4], [1.5 / 4, 1.5 / 4]])


def test_by_hand(table):
    assert np.allclose(fitted(table, 1.0), [[2.625 / 3, 0.625 / 2], [0.375 / 3, 1.375 / 2]])


def test_a_strength_that_is_not_positive_is_refused(table):
    with pytest.raises(ValueError, match="strength=0 must be a finite positive number"):
        fitted(table, 0)
