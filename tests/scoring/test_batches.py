"""A batch says of each candidate what became of it, whatever room there is for its table."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from scoring import slow

from bnplug.builtin.scores import HitRate
from bnplug.scoring import _batches, _walks
from bnplug.scoring._state import SearchState

CANDIDATES = [{0: [1]}, {0: [1, 2]}, {2: [0, 1, 3]}]


@pytest.fixture
def state():
    state = SearchState(HitRate(), slow.random_table(np.random.default_rng(0), 700, (3, 3, 2, 2), 1))
    state.draw(None)
    state.start([[1], [], [1], [1]])
    return state


def test_candidates_are_marked_by_what_became_of_them(state):
    batch = state.batch(CANDIDATES, np.full(3, -np.inf))
    scratch = _batches.make_scratch(state.rows, 6)
    assert state.score_batch(batch, 0, 3, False, scratch) == 2
    assert batch.status.tolist() == [_walks.PASSED_OVER, _walks.SCORED, _walks.TOO_WIDE]
    assert batch.scores[[0, 2]].tolist() == [state.gain] * 2
    wider = state.score_wide(batch, CANDIDATES[2], 2, scratch)
    assert wider.limit >= 12
    assert batch.status[2] == _walks.SCORED
    for i in (1, 2):
        state.start([[1], [], [1], [1]])
        state.move({v: tuple(own) for v, own in CANDIDATES[i].items()})
        assert batch.scores[i] == state.gain


def test_in_turn_the_first_that_is_good_enough_is_the_last(state):
    batch = state.batch(CANDIDATES, np.array([2.0, 0.0, 0.0]))
    assert state.score_batch(batch, 0, 3, True, state.scratch) == 1
    assert state.scratch.last.tolist() == [1, 1, 6, 2]
    assert batch.status[2] == _walks.PASSED_OVER


def test_a_scratch_with_more_room_keeps_the_rest(state):
    wider = _batches.with_room(state.scratch, state.rows, 500)
    assert wider.limit == 500
    assert len(wider.terms) == 500 * 3
    assert wider.known is state.scratch.known


def test_block_ends_are_those_of_each_block(state):
    ends = _batches.block_ends(state.rows, state.joint.gap)
    bounds = state.rows.bounds[:4]
    blocks = [state.joint.gap[m : min(m + 64, high)] for low, high in pairwise(bounds) for m in range(low, high, 64)]
    assert ends["lowest"].tolist() == [block.min() for block in blocks]
    assert ends["highest"].tolist() == [block.max() for block in blocks]
