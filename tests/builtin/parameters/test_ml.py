"""Relative frequencies, smoothed and lifted as the definition says."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from bnplug import Structure, Table, parameter_learner


@pytest.fixture
def table():
    frame = pd.DataFrame({"x": [0, 0, 0, 1], "c": ["n", "n", "y", "y"]})
    return Table.from_frame(frame, "c")


@pytest.mark.parametrize(
    ("parameters", "of_x"),
    [
        ({"alpha": 0.0}, [[1, 0.5], [0, 0.5]]),
        # One virtual row over four cells.
        ({}, [[2.25 / 2.5, 0.5], [0.25 / 2.5, 0.5]]),
        ({"alpha": 0.0, "floor": 0.25}, [[1 / 1.25, 0.5], [0.25 / 1.25, 0.5]]),
    ],
)
def test_hand_computed(table, parameters, of_x):
    tables = parameter_learner("ml", **parameters).fit(table, Structure(table.names, [[1], []]))
    parents, logs = tables["x"]
    assert list(parents) == ["c"]
    assert np.exp(logs) == pytest.approx(np.array(of_x))


@pytest.mark.parametrize("parameters", [{"alpha": -1.0}, {"floor": 1.0}, {"floor": "0.1"}])
def test_parameters_are_checked(table, parameters):
    with pytest.raises(ValueError, match=next(iter(parameters))):
        parameter_learner("ml", **parameters).fit(table, Structure(table.names, [[1], []]))
