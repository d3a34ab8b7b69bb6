"""Cells hidden at random, the same for every model."""

import numpy as np
import pandas as pd
import pytest

from bnplug.experiments import hide_features


class Witness:
    """Predicts "p", and remembers which cells it saw."""

    def __init__(self):
        self.seen = []

    def predict(self, X):
        self.seen.append(X.isna().to_numpy())
        return np.full(len(X), "p")


@pytest.fixture
def data():
    return pd.DataFrame(np.ones((40, 5)), columns=list("abcde")), ["p", "p", "p", "q"] * 10


def test_every_row_misses_as_many_and_all_models_see_the_same(data):
    one, two = Witness(), Witness()
    found = hide_features({"one": one, "two": two}, *data, [0, 2, 5], draws=3)
    assert all(np.array_equal(a, b) for a, b in zip(one.seen, two.seen, strict=True))
    assert [np.unique(seen.sum(axis=1)).tolist() for seen in one.seen] == [[0], *[[2]] * 3, *[[5]] * 3]
    assert len({seen.tobytes() for seen in one.seen[1:4]}) == 3
    assert found.groupby("method").size().tolist() == [7, 7]
    assert (found["accuracy"] == 0.75).all()


def test_the_seed_decides_which(data):
    models = [Witness() for _ in range(3)]
    for model, seed in zip(models, (0, 0, 1), strict=True):
        hide_features({"m": model}, *data, [2], draws=1, random_state=seed)
    assert np.array_equal(models[0].seen[0], models[1].seen[0])
    assert not np.array_equal(models[0].seen[0], models[2].seen[0])


def test_more_features_than_there_are_cannot_be_hidden(data):
    with pytest.raises(ValueError, match="6 features cannot be missing: there are 5"):
        hide_features({"m": Witness()}, *data, [6])
