"""Second states of variables that have but one: impossible, and not too many."""

import numpy as np
import pytest
from awkward import random_tables

from bnplug import NotRepresentableError
from bnplug.exchange._padding import padded
from bnplug.exchange.names import STATES, SafeVariable


def variables(tables):
    return {name: SafeVariable(name, list(map(str, tables.states[name])), {}) for name in tables.names}


def test_a_second_state_has_no_probability_and_any_distribution_below_it():
    tables = random_tables(["c", "x"], {"c": [7], "x": ["a", "b"]}, {"x": ("c",)})
    own, probabilities = padded(tables, variables(tables), "BIF")
    assert own["c"] == SafeVariable("c", ["7", "unused"], {STATES: "int:7"})
    assert own["x"].labels == ["a", "b"]
    np.testing.assert_array_equal(probabilities["c"], [1.0, 0.0])
    assert probabilities["x"].shape == (2, 2)
    np.testing.assert_allclose(probabilities["x"].sum(axis=0), 1.0)
    np.testing.assert_array_equal(probabilities["x"][:, 0], np.exp(tables["x"].values[:, 0]))


def test_the_second_label_is_another_one():
    tables = random_tables(["c"], {"c": ["unused"]}, {})
    assert padded(tables, variables(tables), "NET")[0]["c"].labels == ["unused", "unused_2"]


def test_tables_that_would_be_too_large_are_refused_before_they_are_made():
    names = [f"v{i}" for i in range(30)]
    tables = random_tables(names, dict.fromkeys(names, ("one",)), {"v29": tuple(names[:29])})
    with pytest.raises(NotRepresentableError, match=r"'v29' .* 30 variables of one state, each of which NET gives"):
        padded(tables, variables(tables), "NET")
