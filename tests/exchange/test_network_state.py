"""A network's state is plain JSON and arrays, and is checked on the way back."""

import json

import numpy as np
import pytest

from bnplug import BayesianNetworkClassifier
from bnplug.datasets import iris
from bnplug.exchange._network_state import network_of, network_state


@pytest.fixture(scope="module")
def saved():
    model = BayesianNetworkClassifier("nb").fit(*iris())
    state, arrays = network_state(model)
    return model, json.loads(json.dumps(state)), arrays


def test_a_network_comes_back_from_its_state(saved):
    model, state, arrays = saved
    back = network_of(state, arrays)
    assert back.tables.states == model.tables_.states
    assert (back.made, back.components, back.named) == (model.made_, model.components_, True)


@pytest.mark.parametrize(
    ("array", "message"),
    [(np.zeros((3, 2)), "shape"), (np.zeros(3, dtype=np.float32), "float32"), (np.zeros(2), r"\(2,\)")],
    ids=["axes", "dtype", "length"],
)
def test_an_array_that_is_not_the_table_of_its_variable_is_refused(saved, array, message):
    model, state, arrays = saved
    place = str(model.tables_.names.index("species"))
    with pytest.raises(ValueError, match=message):
        network_of(state, {**arrays, place: array})


def test_a_table_that_is_not_there_is_missed(saved):
    _, state, arrays = saved
    with pytest.raises(KeyError):
        network_of(state, dict(list(arrays.items())[1:]))
