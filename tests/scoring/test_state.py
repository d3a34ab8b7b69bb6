"""The log joint is that of the current graph, after any number of moves."""

from __future__ import annotations

import numpy as np
import pytest
from scoring import slow

from bnplug.builtin.scores import ConditionalLogLikelihood, ConditionalMDL, HitRate
from bnplug.scoring import _evaluating


def test_many_commits_do_not_drift():
    rng = np.random.default_rng(10)
    table = slow.random_table(rng, 60, (3, 2, 4, 2), 1)
    score = ConditionalLogLikelihood()
    evaluator = score.evaluator(table)
    parents = [[1], [], [1], [1]]
    evaluator.start(parents)
    for _ in range(250):
        changes, parents = slow.random_change(rng, parents)
        evaluator.commit(changes)
    assert evaluator.value == pytest.approx(score.evaluator(table).start(parents), abs=1e-10)
    assert evaluator.parents == [tuple(sorted(own)) for own in parents]


def test_more_configurations_than_fit_in_memory():
    rng = np.random.default_rng(11)
    table = slow.random_table(rng, 40, (4,) * 30, 0)
    many = list(range(1, 29))
    parents = [many, *([] for _ in range(28)), [0, *many]]
    for score, gain in ((HitRate(cv=4), slow.correct), (ConditionalLogLikelihood(cv=4), slow.log_posterior)):
        evaluator = score.evaluator(table)
        folds = score.folds(table, None)
        # One virtual row spread over 4 ** 29 cells: what a slow loop makes of it is the same.
        value = slow.predictive(table, parents, gain, folds, mean=isinstance(score, HitRate))
        assert evaluator.start(parents) == pytest.approx(value, abs=1e-9)
        assert evaluator.propose_many([{29: [0]}])[0] == pytest.approx(
            slow.predictive(table, [*parents[:29], [0]], gain, folds, mean=isinstance(score, HitRate)),
            abs=1e-9,
        )


def ordered(state, cells):
    """What each tested row has, in an order that does not depend on where the rows are."""
    if not cells.size:
        return cells
    whole = np.column_stack([state.rows.codes[:, : len(cells)].T, cells])
    return whole[np.lexsort(np.round(whole, 6).T)]


@pytest.mark.parametrize("score", [HitRate(alpha=0.0, cv=3), ConditionalMDL()])
def test_a_move_leads_to_the_state_of_a_start(score, monkeypatch):
    """Also where the log joint is made anew at every third move."""
    monkeypatch.setattr(_evaluating, "REFRESH", 3)
    rng = np.random.default_rng(12)
    table = slow.random_table(rng, 50, (3, 2, 4, 2), 1, weighted=True, missing=0.1)
    parents = [[1], [], [1], [1]]
    moved, fresh = slow.State(score, table, parents), slow.State(score, table, parents)
    for _ in range(10):
        changes, parents = slow.random_change(rng, parents)
        expected = moved.penalty_after(changes)
        moved.move({v: tuple(sorted(own)) for v, own in changes.items()})
        fresh.start(parents)
        assert moved.penalty == pytest.approx(expected) == pytest.approx(fresh.penalty)
        assert moved.value == pytest.approx(fresh.value)
        assert np.allclose(ordered(moved, moved.joint.values), ordered(fresh, fresh.joint.values))
        assert np.allclose(ordered(moved, moved.joint.zeros), ordered(fresh, fresh.joint.zeros))


def test_a_penalty_is_asked_for_once():
    asked = []

    class Counting(ConditionalMDL):
        def penalty(self, table, child, parents):
            asked.append((child, parents))
            return super().penalty(table, child, parents)

    state = slow.State(Counting(), slow.random_table(np.random.default_rng(0), 30, (3, 2, 4), 1), [[1], [], [1]])
    for _ in range(2):
        state.penalty_after({0: [1, 2]})
    state.move({0: (1, 2)})
    assert len(asked) == len(set(asked)) == 4
