"""A network's state is plain JSON and arrays, and is checked on the way back."""

import json
import warnings

import numpy as np
import pandas as pd
import pytest

from bnplug import BayesianNetworkClassifier, BnplugWarning
from bnplug.datasets import iris
from bnplug.io._parameters import network_of, network_state


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


@pytest.fixture(scope="module")
def of_columns():
    """The state of a model with every kind of decision about columns."""
    n = 60
    X = pd.DataFrame(
        {"void": None, "when": pd.date_range("2026", periods=n), "rooms": [1, 2, 5] * 20, "k": list("aabcde") * 10}
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", BnplugWarning)
        model = BayesianNetworkClassifier("nb", max_categories=3).fit(X, ["p", "q"] * 30)
    state, arrays = network_state(model)
    return model, json.loads(json.dumps(state)), arrays


def test_what_was_decided_about_columns_comes_back(of_columns):
    model, state, arrays = of_columns
    back = network_of(state, arrays).encoder
    assert vars(back).keys() == vars(model.encoder_).keys()
    for name in ("columns", "names", "numeric", "left_out", "dates", "whole", "pooled", "missing_states"):
        assert getattr(back, name) == getattr(model.encoder_, name)


def test_a_state_that_says_nothing_of_columns_has_those_of_its_features(saved):
    model, state, arrays = saved
    older = {key: state["encoder"][key] for key in ("names", "numeric", "discretizer", "missing_states")}
    back = network_of({**state, "encoder": older}, arrays).encoder
    assert back.columns == back.names == model.encoder_.names
    assert (back.left_out, back.dates, back.whole, back.pooled) == ({}, {}, {}, {})


DAMAGED = {
    "columns": ["void", "when", "rooms"],
    "left_out": {"rooms": "no value"},
    "dates": {"when": {"century": "when.month", "day": "when.day", "weekday": "when.weekday"}},
    "whole": ["k"],
    "pooled": ["void"],
}


@pytest.mark.parametrize("key", DAMAGED)
def test_decisions_about_columns_that_cannot_be_are_refused(of_columns, key):
    _, state, arrays = of_columns
    with pytest.raises((ValueError, KeyError)):
        network_of({**state, "encoder": {**state["encoder"], key: DAMAGED[key]}}, arrays)
