"""A batch says of each candidate what became of it, whatever room there is for its table."""

from __future__ import annotations

import numpy as np
import pytest
from scoring import slow

from bnplug.builtin.scores import ConditionalLogLikelihood, HitRate
from bnplug.scoring._bundles import LEAP, PASSED_OVER, SCORED, TOO_WIDE, make_scratch

CANDIDATES = [{0: [1]}, {0: [1, 2]}, {2: [0, 1, 3]}]


@pytest.fixture
def state():
    return slow.started(HitRate())


def test_candidates_are_marked_by_what_became_of_them(state):
    batch = state.batch(CANDIDATES, np.full(3, -np.inf))
    scratch = make_scratch(state.rows, 6)
    assert state.score_batch(batch, 0, 3, False, scratch) == 2
    assert batch.status.tolist() == [PASSED_OVER, SCORED, TOO_WIDE]
    assert batch.scores[[0, 2]].tolist() == [state.gain] * 2
    wider = state.score_wide(batch, CANDIDATES[2], 2, scratch)
    assert wider.limit >= 12
    assert batch.status[2] == SCORED
    for i in (1, 2):
        state.start([[1], [], [1], [1]])
        state.move({v: tuple(own) for v, own in CANDIDATES[i].items()})
        assert batch.scores[i] == state.gain


def test_in_turn_the_first_that_is_good_enough_is_the_last(state):
    batch = state.batch(CANDIDATES, np.array([2.0, 0.0, 0.0]))
    assert state.score_batch(batch, 0, 3, True, state.scratch) == 1
    assert state.scratch.last.tolist() == [1, 1, 6, 2]
    assert batch.status[2] == PASSED_OVER


@pytest.mark.parametrize("score", [HitRate(), HitRate(alpha=0.0, cv=3), HitRate(cv=3)])
def test_a_leap_is_a_move_and_its_score_or_nothing(score):
    for changes in ({0: (1, 2)}, {2: (0, 1)}, {3: ()}):
        state, moved = slow.started(score), slow.started(score)
        moved.move(changes)
        for at_least, expected in ((-np.inf, moved), (2.0, slow.started(score))):
            batch = state.make_batch([changes], np.zeros(1), np.array([at_least]), np.zeros(1), LEAP)
            assert state.score_batch(batch, 0, 1, True, state.scratch) == 1
            assert batch.scores[0] == moved.gain or batch.scores[0] < at_least
            assert state.joint.values == pytest.approx(expected.joint.values, abs=1e-12)
            assert np.array_equal(state.joint.zeros, expected.joint.zeros)
            for name in ("gap", "second_gap", "lowest", "highest"):
                found = getattr(state.joint, name)
                assert found == pytest.approx(getattr(expected.joint, name), abs=1e-5, nan_ok=True)
            assert np.array_equal(state.joint.rival, expected.joint.rival)
            state = slow.started(score)


@pytest.mark.parametrize("score", [HitRate(cv=5), HitRate(), ConditionalLogLikelihood(cv=5)])
@pytest.mark.parametrize("wide_first", [False, True])
def test_parameters_of_occurring_configurations_are_no_others(score, wide_first):
    """A table of 6,400 configurations is numbered by those that occur, and narrow ones by all."""
    table = slow.random_table(np.random.default_rng(0), 2000, (4, 4, 4, 100, 2), 4)
    evaluator, start = score.evaluator(table), [[4], [4], [0, 1, 4], [4], []]
    evaluator.start(start)
    for parents in ([0, 1, 3, 4], [0, 4]) if wide_first else ([0, 4], [0, 1, 3, 4]):
        expected = score.evaluator(table).start([*start[:2], parents, *start[3:]])
        assert evaluator.propose_many([{2: parents}])[0] == pytest.approx(expected, abs=1e-9)
