"""Counts of training rows and quantiles of held-out rows, which models keep; no rows."""

import numpy as np
import pandas as pd
import pytest

import bnplug
from bnplug import BayesianNetworkClassifier, Structure, Table
from bnplug.model.training_summary import HeldOutSummary, TrainingSummary, reliability


def test_rows_are_counted_once_whatever_their_weight():
    frame = pd.DataFrame({"x": ["a", "a", None, "b"], "c": ["n", "y", "y", "y"]})
    table = Table.from_frame(frame, "c", [2.0, 0.5, 1.0, 1.0])
    summary = TrainingSummary.of(table, Structure(table.names, [[1], []]))
    assert summary.n_rows == 4
    assert summary.states["x"].tolist() == [2, 1]
    assert summary.families["x"].tolist() == [[1, 1], [0, 1]]
    assert summary.class_weights.tolist() == [2.0, 2.5]
    assert (summary + summary).families["x"].tolist() == [[2, 2], [0, 2]]


def test_held_out_rows_are_summarized_by_quantiles():
    posterior = np.log([[0.9, 0.1], [0.55, 0.45], [0.2, 0.8], [0.95, 0.05]])
    classes = np.array([0, 1, 1, 1])
    bins = reliability(posterior, classes)
    assert bins[5].tolist() == pytest.approx([1, 0.55, 0])
    assert bins[8].tolist() == pytest.approx([1, 0.8, 1])
    assert bins[9].tolist() == pytest.approx([2, 1.85, 1])
    values = np.append(-np.inf, np.arange(99.0))
    summary = HeldOutSummary.of(values, np.log(np.full((100, 2), 0.5)), np.zeros(100, dtype=np.int64))
    assert summary.log_likelihood.tolist() == [values[int(5 * i + 2.5)] for i in range(20)]
    assert (summary.log_score == np.log(0.5)).all()


@pytest.fixture(scope="module")
def data():
    random = np.random.default_rng(0)
    y = random.choice(["n", "y"], 400)
    return pd.DataFrame({"x": np.where(random.random(400) < 0.8, y, "n"), "z": random.normal(size=400)}), y


def test_a_saved_model_has_the_summary(data, tmp_path):
    model = BayesianNetworkClassifier(calibrate="evidence").fit(*data)
    model.save(tmp_path / "model")
    before, after = model.training_summary_, bnplug.load(tmp_path / "model").training_summary_
    assert before.held_out.n_rows == 400
    assert len(before.held_out.log_likelihood) == 80
    for name in before.families:
        np.testing.assert_array_equal(before.families[name], after.families[name])
        np.testing.assert_array_equal(before.states[name], after.states[name])
    for first, second in zip(before.held_out, after.held_out, strict=True):
        np.testing.assert_array_equal(first, second)
    assert BayesianNetworkClassifier.from_tables(model.tables_).training_summary_ is None


@pytest.mark.parametrize(
    "damage",
    [
        {"training_counts": np.arange(3, dtype=np.uint8)},
        {"training_counts": np.zeros(3)},
        {"training_classes": np.zeros(5)},
        {"held_out_quantiles": np.full((2, 4), np.nan)},
        {"held_out_reliability": np.zeros((3, 3))},
    ],
)
def test_a_damaged_summary_is_refused(data, damage):
    model = BayesianNetworkClassifier(calibrate="evidence").fit(*data)
    arrays = model.training_summary_.to_arrays()
    with pytest.raises(ValueError, match=r"shape|counts"):
        TrainingSummary.from_arrays({**arrays, **damage}, model.tables_)


def test_the_held_out_likelihood_is_close_to_that_of_new_rows(data):
    model = BayesianNetworkClassifier(calibrate="evidence").fit(*data)
    codes = np.array(model.encode(data[0]))
    network = model.engine_.compile(model.tables_, model.target_)
    values = np.logaddexp.reduce(network.log_joint(codes, complete=True), axis=1)
    assert model.training_summary_.held_out.log_likelihood.mean() == pytest.approx(values.mean(), abs=0.2)
