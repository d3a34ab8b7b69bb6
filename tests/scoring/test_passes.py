"""A pass over the rows gives the sum of the gain over the new log joint, whatever is known of the gain."""

from __future__ import annotations

import numpy as np
import pytest
from scoring import slow

from bnplug.builtin.scores import HitRate
from bnplug.scoring import Bounds, PredictiveScore, _passes
from bnplug.scoring._compiled_gains import evaluate
from bnplug.scoring._state import SearchState


def margin(L, y, params, out):
    for m in range(L.shape[0]):
        rival = -np.inf
        for c in range(L.shape[1]):
            if c != y[m]:
                rival = max(rival, L[m, c])
        out[m] = min(1.0, L[m, y[m]] - rival) if L[m, y[m]] > -np.inf and rival > -np.inf else 0.0


class Free(PredictiveScore):
    gain = margin


class Sloped(Free):
    def gain_bounds(self):
        return Bounds(maximum=1.0, high_gap=1.0, slope=1.0)


def started(score, seed=0, n_rows=700, **options):
    state = SearchState(score, slow.random_table(np.random.default_rng(seed), n_rows, (3, 3, 2, 2), 1, **options))
    state.draw(None)
    state.start([[1], [], [1], [1]])
    return state


def applied(joint, rows):
    """The log joints, with -inf where a probability is zero, and the classes of the rows."""
    values = joint.values if rows.finite else np.where(joint.zeros > 0, -np.inf, joint.values)
    labels = np.repeat(
        np.arange(rows.n_folds * rows.n_classes) % rows.n_classes, np.diff(rows.bounds)[: -rows.n_classes]
    )
    return values, labels


@pytest.mark.parametrize("score", [HitRate(cv=3), HitRate(alpha=0.0, cv=3), Free(), Sloped(cv=4)])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_score_of_a_delta_is_that_of_the_log_joint_it_leads_to(score, weighted):
    state = started(score, weighted=weighted, missing=0.05)
    for changes in ({0: (1, 2)}, {3: (0, 1)}, {2: ()}):
        delta = state._delta(state.families([changes]), 0)
        found = state.score_made(delta, 0.25, -np.inf, state.scratch)
        state.move(changes)
        L, y = applied(state.joint, state.rows)
        values = evaluate(type(score).gain, L, y, np.empty(0))
        weights = state.rows.weights[: len(y)] if weighted else np.ones(len(y))
        assert found == pytest.approx((values * weights).sum() / state.criterion.divisor - 0.25, abs=1e-9)


@pytest.mark.parametrize("alpha", [1.0, 0.0])
def test_gaps_are_those_of_the_log_joint(alpha):
    state = started(HitRate(alpha=alpha, cv=3), n_rows=300)
    state.move({0: (1, 2)})
    L, y = applied(state.joint, state.rows)
    own = L[np.arange(len(y)), y]
    others = np.sort(np.where(np.arange(3) == y[:, None], -np.inf, L), axis=1)
    alive = np.isfinite(own) & np.isfinite(others[:, -1])
    assert alive.sum() > 100
    assert state.joint.gap[alive] == pytest.approx((own - others[:, -1])[alive])
    assert np.array_equal(L[np.arange(len(y)), state.joint.rival][alive], others[alive, -1])
    both = alive & np.isfinite(others[:, -2])
    assert state.joint.second_gap[both] == pytest.approx((own - others[:, -2])[both])


def test_what_falls_below_is_dropped_only_where_a_bound_is_declared():
    for score, dropped in ((Sloped(), True), (Free(), False)):
        state = started(score)
        delta = state._delta(state.families([{2: ()}]), 0)
        found = state.score_made(delta, 0.0, state.criterion.maximum * 700 + 1, state.scratch)
        assert np.isneginf(found) == dropped


def test_candidates_are_marked_by_what_became_of_them():
    state = started(HitRate())
    candidates = [{0: [1]}, {0: [1, 2]}, {2: [0, 1, 3]}]
    batch = _passes.Batch(
        families=state.families(candidates),
        penalties=np.zeros(3),
        at_least=np.full(3, -np.inf),
        scores=np.full(3, state.gain),
        status=np.zeros(3, dtype=np.uint8),
    )
    scratch = _passes.make_scratch(state.rows, 6)
    assert _passes.score_candidates(state.rows, state.joint, state.criterion, batch, 0, 3, False, scratch) == 2
    assert batch.status.tolist() == [_passes.PASSED_OVER, _passes.SCORED, _passes.TOO_WIDE]
    assert batch.scores[[0, 2]].tolist() == [state.gain] * 2
    state.move({0: (1, 2)})
    assert batch.scores[1] == state.gain
