"""Rows of every type of column, as a fixture."""

import numpy as np
import pandas as pd
import pytest


@pytest.fixture(scope="session")
def mixed():
    rng = np.random.default_rng(0)
    y = pd.Series(rng.choice(["low", "high"], 200), name="risk")
    X = pd.DataFrame(
        {
            "age": rng.normal(40, 10, 200) + 20 * (y == "high"),
            "city": rng.choice(["rome", "oslo", "lima"], 200),
            "grade": pd.Categorical(rng.choice(["a", "b"], 200), categories=["b", "a", "z"]),
            "member": rng.random(200) < 0.3,
            "children": rng.integers(0, 4, 200),
        }
    )
    return X, y
