"""Where only configurations that occur are numbered, a candidate's table says the same about every row."""

from __future__ import annotations

import numpy as np
import pytest
from scoring import slow

from bnplug.builtin.scores import HitRate
from bnplug.scoring._blocks import features_of

PARENTS = [[1], [], [1], [0, 1]]
CANDIDATES = [{0: [1, 2]}, {2: []}, {3: [1, 2]}, {2: [1, 3], 3: [1]}, {1: [0], 0: []}]


def added(state, scratch):
    """What the table in a scratch adds to each row, and how many zeros."""
    rows, size = state.rows, scratch.last[2]
    fold = np.repeat(np.arange((rows.n_folds + 1) * rows.n_classes) // rows.n_classes, np.diff(rows.bounds))
    tested = fold < rows.n_folds
    cells = (fold * size + scratch.configuration)[tested][:, None] * rows.n_classes + np.arange(rows.n_classes)
    return scratch.terms[cells], None if rows.finite else scratch.zeros[cells]


@pytest.mark.parametrize("alpha", [1.0, 0.0])
@pytest.mark.parametrize("missing", [0.0, 0.15])
def test_both_numberings_add_the_same_to_every_row(alpha, missing):
    table = slow.random_table(np.random.default_rng(0), 40, (3, 2, 4, 2), 1, weighted=True, missing=missing)
    state = slow.State(HitRate(alpha=alpha, cv=3), table, PARENTS)
    for changes in CANDIDATES:
        batch = state.batch([changes], np.array([-np.inf]))
        state.score_batch(batch, 0, 1, False, state.scratch)
        dense, score = added(state, state.scratch), batch.scores[0]
        occurring = state.place(changes, state.scratch)
        batch.status[0] = 0
        state.score_batch(batch, 0, 1, False, occurring)
        for some, others in zip(dense, added(state, occurring), strict=True):
            assert (some is None and others is None) or some == pytest.approx(others, abs=1e-12)
        assert batch.scores[0] == score


def test_missing_is_one_more_code_of_features():
    table = slow.random_table(np.random.default_rng(0), 40, (3, 2, 4, 2), 1, missing=0.2)
    rows, graph = (state := slow.State(HitRate(), table, PARENTS)).rows, state.graph
    assert rows.sizes[features_of(rows, graph, {0: [1, 2]})].tolist() == [4, 5]
    assert rows.sizes[features_of(rows, graph, {3: [2]})].tolist() == [4, 3]  # 0 and 3: the class is lost
