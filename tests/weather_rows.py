"""Rows whose columns tell each other, which two files of tests fill in."""

import numpy as np
import pandas as pd


def weather(n=200, seed=0):
    """Return text, categories, numbers and whole numbers that go with rain, and a column that does not.

    The class goes with rain in nine of ten rows.
    """
    rng = np.random.default_rng(seed)
    rain = rng.random(n) < 0.5
    X = pd.DataFrame({
        "sky": np.where(rain, "rain", "sun"),
        "wet": pd.Categorical(np.where(rain, "yes", "no")),
        "degrees": np.where(rain, 5.0, 25.0) + rng.normal(size=n),
        "umbrellas": np.where(rain, 3, 1),
        "kind": [f"k{i % 2}" for i in range(n)],
    })  # fmt: skip
    return X, np.where(rain ^ (rng.random(n) < 0.1), "stay", "go")
