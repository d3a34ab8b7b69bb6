"""Bundles of arrays: room for tables grows alone, and blocks know the ends of their gaps."""

from __future__ import annotations

from itertools import pairwise

import pytest
from scoring import slow

from bnplug.builtin.scores import ConditionalLogLikelihood, HitRate
from bnplug.scoring import _bundles


@pytest.fixture
def state():
    return slow.started(HitRate())


def test_a_scratch_with_more_room_keeps_the_rest(state):
    wider = _bundles.with_room(state.scratch, state.rows, 500)
    assert wider.limit == 500
    assert len(wider.terms) == 500 * 3
    assert wider.known is state.scratch.known


def test_block_ends_are_those_of_each_block(state):
    ends = _bundles.block_ends(state.rows, state.joint.gap)
    bounds = state.rows.bounds[:4]
    blocks = [state.joint.gap[m : min(m + 64, high)] for low, high in pairwise(bounds) for m in range(low, high, 64)]
    assert ends["lowest"].tolist() == [block.min() for block in blocks]
    assert ends["highest"].tolist() == [block.max() for block in blocks]


def test_classes_are_kept_only_where_no_gap_decides(state):
    assert not len(state.joint.labels)
    state = slow.started(ConditionalLogLikelihood(cv=3))
    assert not len(state.joint.gap)
    for s, (low, high) in enumerate(state.rows.segments()):
        assert (state.joint.labels[low:high] == s % 3).all()
