"""A third party's gain equals a loop over rows, with bounds and without."""

from __future__ import annotations

import numpy as np
import pytest
from scoring import slow
from scoring.third_party import NegativeCost, margin

from bnplug.scoring import Bounds, PredictiveScore, winner


class Margin(PredictiveScore):
    gain = margin
    slope = 0.5

    def gain_params(self, table):
        return [self.slope]


class BoundedMargin(Margin):
    def gain_bounds(self, table):
        return Bounds(maximum=1.0, high_gap=1 / self.slope)


class SlopedMargin(Margin):
    def gain_bounds(self, table):
        return Bounds(maximum=1.0, high_gap=1 / self.slope, slope=self.slope)


class MarginOfTheData(Margin):
    def gain_params(self, table):
        return [1 / len(table.names)]

    def gain_bounds(self, table):
        slope = self.gain_params(table)[0]
        return Bounds(maximum=1.0, high_gap=1 / slope, slope=slope)


def assert_a_walk_equals_a_loop(rng, score, table, gain, folds=None, mean=False):
    """Compare a random walk with a loop over rows."""
    parents = [[1], [], [1], [0, 1]]
    evaluator = score.evaluator(table)
    assert evaluator.start(parents) == pytest.approx(
        slow.predictive(table, parents, gain, folds, score.alpha, mean=mean), abs=1e-9
    )
    for _ in range(3):
        changes, parents = slow.random_change(rng, parents)
        expected = slow.predictive(table, parents, gain, folds, score.alpha, mean=mean)
        assert evaluator.propose_many([changes])[0] == pytest.approx(expected, abs=1e-9)
        assert evaluator.commit(changes) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("alpha", [1.0, 0.0])
@pytest.mark.parametrize("aggregate", ["sum", "mean"])
def test_a_cost_matrix(alpha, aggregate):
    rng = np.random.default_rng(0)
    table = slow.random_table(rng, 30, (3, 3, 2, 2), 1, weighted=True)
    costs = rng.integers(0, 9, (3, 3))
    score = type("Score", (NegativeCost,), {"aggregate": aggregate})(costs, alpha=alpha)
    assert_a_walk_equals_a_loop(
        rng, score, table, lambda joint, y: -costs[y, slow.winner(joint)], mean=aggregate == "mean"
    )


@pytest.mark.parametrize("score", [Margin(cv=3), BoundedMargin(cv=3), SlopedMargin(cv=3)])
def test_a_margin(score):
    rng = np.random.default_rng(1)
    table = slow.random_table(rng, 30, (3, 3, 2, 2), 1, weighted=True, missing=0.1)
    folds = score.folds(table, None)
    assert_a_walk_equals_a_loop(rng, score, table, lambda joint, y: min(1.0, 0.5 * slow.gap(joint, y)), folds)


def test_bounds_see_the_table():
    rng = np.random.default_rng(1)
    table = slow.random_table(rng, 30, (3, 3, 2, 2), 1, weighted=True)
    assert_a_walk_equals_a_loop(rng, MarginOfTheData(), table, lambda joint, y: min(1.0, 0.25 * slow.gap(joint, y)))
    droppable = [score.evaluator(table) for score in (MarginOfTheData(), BoundedMargin())]
    for evaluator in droppable:
        evaluator.start([[1], [], [1], [0, 1]])
        assert evaluator.propose_many([{0: []}], at_least=1e9).tolist() == [-np.inf]


def test_bounds_drop_losers():
    rng = np.random.default_rng(2)
    table = slow.random_table(rng, 4000, (3, 3, 2, 2, 4), 1)
    candidates = [slow.random_change(rng, [[1], [], [1], [1], [1]])[0] for _ in range(30)]
    results = []
    for score in (Margin(), BoundedMargin(), SlopedMargin()):
        evaluator = score.evaluator(table)
        value = evaluator.start([[1], [], [1], [1], [1]])
        results.append((evaluator.propose_many(candidates), evaluator.propose_many(candidates, at_least=value)))
    (free, kept), *others = results
    assert np.array_equal(free, kept)
    for bounded, dropped in others:
        assert bounded == pytest.approx(free, abs=1e-9)
        assert (bounded[np.isneginf(dropped)] < value).all()
    assert np.isneginf(others[0][1]).any()


@pytest.mark.parametrize(
    ("joint", "expected"),
    [
        ([0.0, 1.0], 1),
        ([1.0, 1.0], 0),
        ([1.0, 1.0 + 0.9e-9], 0),
        ([1.0, 1.0 + 1.1e-9], 1),
        ([-np.inf, -np.inf], 0),
        ([-np.inf, -5.0], 1),
        ([0.0, 2.0, 2.0 + 0.9e-9], 1),
        ([1.0, 1.0 + 0.6e-9, 1.0 + 1.2e-9], 1),
        ([-np.inf] * 3, 0),
    ],
)
def test_the_winner_is_the_first_that_is_tied_with_the_largest(joint, expected):
    assert winner(np.array([joint]), 0) == expected == slow.winner(joint)
