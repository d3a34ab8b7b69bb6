"""A noise column with few known rows comes late in the orders, and has hardly any children."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from bnplug import Table, structure_learner
from bnplug.datasets import tic_tac_toe


def chain(rng):
    """Ten features with three states; given the first, the others carry no information about the class."""
    y = rng.integers(0, 2, 1500)
    columns, before = {}, y
    for i in range(10):
        before = columns[f"x{i}"] = np.where(rng.random(1500) < 0.3, rng.integers(0, 3, 1500), before)
    return pd.DataFrame(columns), y


def boards(_):
    X, y = tic_tac_toe()
    return X, y.to_numpy()


def with_noise(data, states, seed):
    rng = np.random.default_rng(seed)
    X, y = data(rng)
    noise = pd.Series(rng.integers(0, states, len(X)).astype(float)).mask(rng.random(len(X)) < 0.95)
    X.insert(seed % 2 * X.shape[1], "noise", noise)
    return Table.from_frame(X.assign(y=y), "y")


@pytest.mark.parametrize("name", ["omi", "omisp"])
@pytest.mark.parametrize("data", [chain, boards])
@pytest.mark.parametrize("states", [2, 10, 60])
def test_a_column_with_95_percent_missing_cells_comes_late(name, data, states):
    for seed in range(3):
        table = with_noise(data, states, seed)
        learner = structure_learner(name)
        edges = learner.learn(table).edges
        assert learner.order_.index("noise") >= len(learner.order_) - 3
        assert sum(parent == "noise" for parent, _ in edges) <= 1


def test_it_is_not_among_the_candidates():
    """With `candidates`, parents are tried by I(Xi; Xj | C), in which noise does not come first either."""
    table, parents = with_noise(boards, 10, 0), []
    for seed in range(8):
        learner = structure_learner("ro", candidates=1, score="ll", random_state=seed)
        parents += [parent for parent, child in learner.learn(table).edges if "y" not in (parent, child)]
    assert len(parents) > 40
    assert parents.count("noise") <= 2
