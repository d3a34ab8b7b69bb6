"""The score is what it says."""

import numpy as np
import pandas as pd
import pytest

import bnplug
from bnplug import Structure


@pytest.fixture
def table():
    return bnplug.Table.from_frame(pd.DataFrame({"x": [0, 0, 1, 1], "c": ["n", "n", "y", "n"]}), "c")


@pytest.mark.parametrize("power", [1.0, 2.0])
def test_the_mean_distance_of_posteriors_from_the_truth(table, power):
    score = bnplug.score_function("my-score", power=power).score(table, Structure(table.names, [[], []]))
    n, y = 3.5 / 5, 1.5 / 5  # without an edge, the smoothed shares of the classes
    expected = -(3 * ((1 - n) ** power + y**power) + (1 - y) ** power + n**power) / 4
    assert np.isclose(score, expected)


def test_a_power_that_is_not_positive_is_refused(table):
    with pytest.raises(ValueError, match="power=0 must be a finite positive number"):
        bnplug.score_function("my-score", power=0).score(table, Structure(table.names, [[], []]))


def test_it_goes_with_a_search():
    X = pd.DataFrame({"a": [0, 0, 1, 1] * 10, "b": [0, 1, 0, 1] * 10})
    y = ["n", "y", "y", "n"] * 10  # neither feature tells the class, both together do
    learner = bnplug.structure_learner(
        "hill-climb", score="my-score", start=[("class", "a"), ("class", "b"), ("a", "b")]
    )
    model = bnplug.BayesianNetworkClassifier(structure=learner).fit(X, y)
    assert (model.predict(X) == y).all()
