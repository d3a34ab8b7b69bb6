"""Predictive scores equal a loop over rows: whole, and by small changes of any graph."""

from __future__ import annotations

from math import inf

import numpy as np
import pandas as pd
import pytest
from scoring import slow
from sklearn.base import clone
from sklearn.model_selection import PredefinedSplit, StratifiedKFold
from strategies import random_parents, seeds

from bnplug import Structure
from bnplug.builtin.scores import ConditionalLogLikelihood, ConditionalMDL, HitRate
from bnplug.scoring import PredictiveScore
from bnplug.table.table import Table


def definition(score, table, parents, folds):
    if isinstance(score, HitRate):
        return slow.predictive(table, parents, slow.correct, folds, score.alpha, score.floor, mean=True)
    value = slow.predictive(table, parents, slow.log_posterior, folds, score.alpha, score.floor)
    if isinstance(score, ConditionalMDL):
        value -= 0.5 * slow.dimension(table, parents) * np.log(table.total_weight)
    return value


def random_problem(rng):
    """A table with or without weights and missing cells, one-state features, and folds or none."""
    cards = [int(card) for card in rng.integers(1, 5, 4)]
    target = int(rng.integers(4))
    cards[target] = int(rng.integers(2, 4))
    table = slow.random_table(rng, 26, cards, target, bool(rng.integers(2)), float(rng.choice([0.0, 0.15])))
    folds = [None, rng.permutation(26) % 3, rng.permutation(26) % 4 - 1][rng.integers(3)]
    return table, folds


@pytest.mark.usefixtures("numbering")
@pytest.mark.parametrize(("alpha", "floor"), [(1.0, 0.0), (0.0, 0.0), (0.0, 0.01), (2.5, 0.05)])
@pytest.mark.parametrize("seed", seeds(4))
def test_equals_a_loop_over_rows_on_a_random_walk(seed, alpha, floor):
    rng = np.random.default_rng(seed)
    table, folds = random_problem(rng)
    scores = [HitRate, ConditionalLogLikelihood, ConditionalMDL][: 3 if alpha or floor else 1]
    for score in scores:
        score = score(alpha=alpha, floor=floor, cv=None if folds is None else PredefinedSplit(folds))
        parents = random_parents(rng, 4)
        evaluator = score.evaluator(table)
        value = definition(score, table, parents, folds)
        assert evaluator.start(parents) == pytest.approx(value, abs=1e-9)
        for _ in range(2):
            moves = [slow.random_change(rng, parents) for _ in range(2)]
            scored = evaluator.propose_many([changes for changes, _ in moves])
            expected = [definition(score, table, changed, folds) for _, changed in moves]
            assert scored == pytest.approx(expected, abs=1e-9)
            assert evaluator.propose_many([moves[1][0]])[0] == scored[1]
            assert evaluator.value == pytest.approx(value, abs=1e-9)
            changes, parents = moves[1]
            value = expected[1]
            assert evaluator.commit(changes) == pytest.approx(value, abs=1e-9)


def test_score_is_the_value_of_a_start():
    table = slow.random_table(np.random.default_rng(0), 30, (3, 2, 2), 1)
    parents = [[1], [2], []]
    for score in (HitRate(cv=3), ConditionalLogLikelihood(), ConditionalMDL()):
        assert score.score(table, Structure(table.names, parents)) == score.evaluator(table).start(parents)


def test_hand_computed():
    table = Table.from_frame(pd.DataFrame({"x": [0, 0, 0, 1], "c": ["n", "n", "y", "y"]}), "c")
    joint = np.array([[2.25 / 2.5, 1.25 / 2.5], [0.25 / 2.5, 1.25 / 2.5]]) * [0.5, 0.5]  # [x, c], alpha = 1
    posterior = joint / joint.sum(axis=1, keepdims=True)
    assert HitRate().evaluator(table).start([[1], []]) == 0.75
    expected = np.log(posterior[[0, 0, 0, 1], [0, 0, 1, 1]]).sum()
    assert ConditionalLogLikelihood().evaluator(table).start([[1], []]) == pytest.approx(expected, abs=1e-12)


def test_ties_go_to_the_lowest_class():
    frame = pd.DataFrame({"x": [0, 1, 0, 1], "z": [0, 0, 1, 1], "c": ["n", "n", "y", "y"]})
    table = Table.from_frame(frame, "c")
    # Neither the prior nor x tells the classes apart: the first wins everywhere, in half of the rows rightly.
    evaluator = HitRate().evaluator(table)
    assert evaluator.start([[2], [], []]) == 0.5
    assert evaluator.propose_many([{0: [1, 2]}])[0] == 0.5  # by the smoothing alone: within rounding of a tie
    assert evaluator.propose_many([{1: [2]}])[0] == 1.0
    # No row's z is seen in the other fold: every class is impossible, and the first wins.
    plain = HitRate(alpha=0.0, cv=PredefinedSplit([0, 0, 1, 1])).evaluator(
        Table.from_frame(frame.assign(c=["n", "y", "n", "y"]), "c")
    )
    assert plain.start([[], [2], []]) == 0.5


def test_all_classes_impossible_is_a_tie():
    frame = pd.DataFrame({"x": [0, 1, 2, 3], "z": [0, 1, 2, 3], "c": ["n", "y", "n", "y"]})
    table = Table.from_frame(frame, "c")
    split = PredefinedSplit([0, -1, -1, -1])
    evaluator = HitRate(alpha=0.0, cv=split).evaluator(table)
    # Row 0's x was never seen in training: -inf for both classes, so the lowest, which is right.
    assert evaluator.start([[2], [], []]) == 1.0
    assert evaluator.propose_many([{1: [2]}])[0] == 1.0
    assert evaluator.propose_many([{0: []}])[0] == 0.0  # the prior alone: two y against one n
    assert evaluator.commit({0: [], 1: [2]}) == 1.0
    assert evaluator.commit({1: []}) == 0.0


def test_a_weight_of_two_is_the_row_twice():
    rng = np.random.default_rng(5)
    table = slow.random_table(rng, 24, (3, 2, 3), 1)
    times = 1 + rng.integers(0, 2, 24)
    folds = np.arange(24) % 3
    rows = np.repeat(np.arange(24), times)
    weighted = Table(table.codes, table.names, table.states, table.target, times)
    for score in (HitRate, ConditionalLogLikelihood, ConditionalMDL):
        one = score(cv=PredefinedSplit(folds)).evaluator(weighted)
        other = score(cv=PredefinedSplit(folds[rows])).evaluator(table.take(rows))
        for evaluator in (one, other):
            evaluator.start([[1], [], [1]])
        assert one.value == pytest.approx(other.value, rel=1e-12)
        assert one.propose_many([{0: [1, 2]}])[0] == pytest.approx(other.propose_many([{0: [1, 2]}])[0], rel=1e-12)


class TestResampling:
    def test_a_number_of_folds_is_scikit_learns(self):
        table = slow.random_table(np.random.default_rng(12), 60, (3, 3, 4), 1)
        labels = table.codes[1]
        for random_state, splitter in (
            (None, StratifiedKFold(4)),
            (7, StratifiedKFold(4, shuffle=True, random_state=7)),
        ):
            one = ConditionalLogLikelihood(cv=4, random_state=random_state).evaluator(table)
            other = ConditionalLogLikelihood(cv=splitter).evaluator(table)
            assert one.start([[1], [], [1]]) == other.start([[1], [], [1]])
            folds = np.empty(60, dtype=int)
            for number, (_, test) in enumerate(splitter.split(labels, labels)):
                folds[test] = number
            assert one.value == pytest.approx(
                slow.predictive(table, [[1], [], [1]], slow.log_posterior, folds), abs=1e-9
            )

    def test_folds_are_drawn_anew_at_each_step_where_a_score_says_so(self):
        table = slow.random_table(np.random.default_rng(13), 60, (3, 2, 4), 1)
        evaluator = HoldOut(random_state=0).evaluator(table)
        start = evaluator.start([[1], [], [1]])
        steps = [evaluator.step() for _ in range(5)]
        assert len({start, *steps}) > 1
        assert evaluator.value == steps[-1]
        again = HoldOut(random_state=0).evaluator(table)
        assert [again.start([[1], [], [1]]), *(again.step() for _ in range(5))] == [start, *steps]
        # The rows of the last draw are those that count.
        folds = evaluator.score.drawn[-1]
        assert steps[-1] == pytest.approx(
            slow.predictive(table, [[1], [], [1]], slow.correct, folds, mean=True), abs=1e-9
        )

    def test_fixed_folds_stay(self):
        table = slow.random_table(np.random.default_rng(14), 60, (3, 2, 4), 1)
        evaluator = HitRate(cv=4, random_state=0).evaluator(table)
        value = evaluator.start([[1], [], [1]])
        assert evaluator.step() == evaluator.step() == value


class HoldOut(HitRate):
    """A quarter of the rows, drawn anew at each step."""

    resamples = True

    def folds(self, table, random):
        folds = np.where(random.permutation(table.n_rows) < table.n_rows // 4, 0, -1)
        self.drawn = [*getattr(self, "drawn", []), folds]
        return folds


def test_parameters_are_those_of_an_estimator():
    score = clone(ConditionalMDL(alpha=2.0, cv=PredefinedSplit([0, 1])).set_params(floor=0.1))
    assert score.get_params()["alpha"] == 2.0
    assert score.get_params()["floor"] == 0.1
    assert isinstance(score.cv, PredefinedSplit)
    assert set(score.get_params()) == {"alpha", "floor", "cv", "random_state"}


@pytest.mark.parametrize("score", [ConditionalLogLikelihood, ConditionalMDL])
def test_a_logarithm_needs_smoothing(score):
    table = slow.random_table(np.random.default_rng(15), 20, (3, 2), 1)
    with pytest.raises(ValueError, match="needs alpha > 0 or floor > 0"):
        score(alpha=0.0).evaluator(table)
    assert score(alpha=0.0, floor=1e-5).evaluator(table).start([[1], []]) > -inf


@pytest.mark.parametrize("parameters", [{"alpha": -1.0}, {"floor": -0.1}, {"alpha": np.nan}])
def test_parameters_are_checked(parameters):
    table = slow.random_table(np.random.default_rng(16), 20, (3, 2), 1)
    with pytest.raises(ValueError, match="must be a finite number that is not negative"):
        HitRate(**parameters).evaluator(table)


def test_only_a_score_with_a_penalty_is_penalized():
    assert not PredictiveScore().penalized
    assert not ConditionalLogLikelihood().penalized
    assert ConditionalMDL().penalized
