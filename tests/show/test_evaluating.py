"""Sums over batches are the evaluation of all rows."""

import numpy as np
import pandas as pd
import pytest

from bnplug import BayesianNetworkClassifier
from bnplug.show.evaluation import RunningEvaluation, evaluate

RNG = np.random.default_rng(0)
N = 300
Y = RNG.choice(list("pqr"), N)
X = pd.DataFrame(
    {"a": np.where(RNG.random(N) < 0.6, Y, "p"), "b": RNG.integers(0, 3, N), "x": RNG.normal(size=N) + (Y == "q")}
)


@pytest.mark.parametrize("classes", ["pq", "pqr"])
@pytest.mark.parametrize("costs", [None, 1])
def test_batches_add_up(classes, costs):
    known = np.isin(Y, list(classes))
    frame, y = X[known], Y[known]
    costs = None if costs is None else RNG.random((len(classes), len(classes)))
    model = BayesianNetworkClassifier("nb", costs=costs).fit(frame, y)
    found = RunningEvaluation(model)
    for rows in np.array_split(np.arange(len(y)), 4):
        found.add(frame.iloc[rows], y[rows])
    one, other = found.result(), evaluate(model, frame, y)
    assert one.n_rows == other.n_rows
    assert one.confusion.to_numpy().tolist() == other.confusion.to_numpy().tolist()
    assert list(one.confusion) == list(other.confusion)
    assert one.figures.keys() == other.figures.keys()
    for name, value in other.figures.items():
        assert one.figures[name] == pytest.approx(value, rel=1e-12)


def test_one_class_has_no_curve_and_no_rows_are_an_error():
    model = BayesianNetworkClassifier("nb").fit(X, Y)
    found = RunningEvaluation(model)
    with pytest.raises(ValueError, match="no row to evaluate on"):
        found.result()
    found.add(X[Y == "p"], Y[Y == "p"])
    assert found.result().auc is None
