"""The engine answers as the built-in one does, and as is computed by hand."""

import numpy as np
import pytest

import bnplug
from bnplug.datasets import iris

TABLES = bnplug.LogTables(
    ["c", "x"],
    {"c": ["n", "y"], "x": [0, 1]},
    {"c": ((), np.log([0.25, 0.75])), "x": (("c",), np.log([[0.9, 0.2], [0.1, 0.8]]))},
    "c",
)


def test_by_hand():
    compiled = bnplug.engine("my-engine").compile(TABLES, "c")
    codes = np.array([[255, 255], [1, 255]], dtype=np.uint8)
    joint = np.exp(compiled.log_joint(codes))
    assert np.allclose(joint[0] / joint[0].sum(), [0.04, 0.96])  # 0.25 * 0.1 and 0.75 * 0.8, of 0.625
    assert np.allclose(joint[1] / joint[1].sum(), [0.25, 0.75])
    assert np.allclose(compiled.query(["x"], {"c": [3.0, 1.0]}), [0.55, 0.45])
    counts = compiled.expected_counts(codes, np.array([[1.0, 2.0], [0.0, 1.0]]))
    assert np.allclose(counts[0], [1.0, 3.0])
    assert np.allclose(counts[1], [[0.0, 0.2], [1.0, 2.8]])


@pytest.mark.parametrize("rows", [7, 1000])
def test_it_answers_as_elimination_does(rows):
    X, y = iris()
    X = X.mask(np.random.RandomState(0).random_sample(X.shape) < 0.3)
    engines = bnplug.engine("my-engine", rows=rows), "elimination"
    ours, theirs = (bnplug.BayesianNetworkClassifier("tan", engine=engine).fit(X, y) for engine in engines)
    assert np.allclose(ours.predict_proba(X), theirs.predict_proba(X))


def test_what_it_cannot_do_is_said():
    names = [f"x{i}" for i in range(60)]
    states, tables = {name: [0, 1] for name in names}, {name: ((), np.log([0.5, 0.5])) for name in names}
    with pytest.raises(ValueError, match="at most 51 variables, and this one has 60; use engine='elimination'"):
        bnplug.engine("my-engine").compile(bnplug.LogTables(names, states, tables, "x0"), "x0")
    sure = {"c": ((), np.log([0.5, 0.5])), "x": (("c",), np.array([[0.0, 0.0], [-np.inf, -np.inf]]))}
    compiled = bnplug.engine("my-engine").compile(bnplug.LogTables(TABLES.names, TABLES.states, sure), "c")
    with pytest.raises(ValueError, match="is impossible in this network"):
        compiled.query(["c"], {"x": 1})
