"""A network's state is plain JSON and arrays, and the bins of anybody's discretiser come back from its cuts."""

import json

import numpy as np
import pytest

from bnplug import BayesianNetworkClassifier
from bnplug.datasets import iris
from bnplug.exchange._network_state import CutPoints, network_of, network_state


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


def test_bins_of_a_plugins_discretizer_have_the_labels_of_the_states(saved):
    model, state, arrays = saved
    cuts = state["intake"]["discretizer"]["cut_points"]
    foreign = {**state, "intake": {**state["intake"], "discretizer": {"component": "anything", "cut_points": cuts}}}
    bins = network_of(foreign, arrays).intake.discretizer
    assert isinstance(bins, CutPoints)
    X = iris()[0]
    for j, name in enumerate(model.intake_.numeric):
        assert bins.code(X[name].to_numpy(), j).states == model.tables_.states[name]
        assert (bins.code(X[name].to_numpy(), j).codes == model.discretizer_.code(X[name].to_numpy(), j).codes).all()
    with pytest.raises(ValueError, match="fit the discretizer that found them"):
        bins.fit(X, iris()[1])
    for wrong in ([[0.5]] * 4, [None], [[2, 1], *cuts[1:]], [[np.nan], *cuts[1:]]):
        foreign["intake"]["discretizer"] = {"component": "anything", "cut_points": wrong}
        with pytest.raises(ValueError, match=r"cuts|cut points|columns"):
            network_of(foreign, arrays)
