"""A pass over the rows gives the sum of the gain over the new log joint, whatever is known of the gain."""

from __future__ import annotations

import numpy as np
import pytest
from scoring import slow

from bnplug.builtin.scores import HitRate
from bnplug.compiling import kernel
from bnplug.scoring import Bounds, PredictiveScore, _bundles, _passes
from bnplug.scoring._bundles import block_ends
from bnplug.scoring._gains import evaluate


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
    def gain_bounds(self, table):
        return Bounds(maximum=1.0, high_gap=1.0, slope=1.0)


def applied(joint, rows):
    """The log joints, with -inf where a probability is zero, and the classes of the rows."""
    values = joint.values if rows.finite else np.where(joint.zeros > 0, -np.inf, joint.values)
    labels = np.repeat(
        np.arange(rows.n_folds * rows.n_classes) % rows.n_classes, np.diff(rows.bounds)[: -rows.n_classes]
    )
    return values, labels


def scored(state, changes, at_least, penalty=0.0):
    batch = state.batch([changes], np.array([at_least]))
    batch.penalties[0] = penalty
    state.score_batch(batch, 0, 1, False, state.scratch)
    return batch.scores[0]


@pytest.mark.parametrize("score", [HitRate(cv=3), HitRate(alpha=0.0, cv=3), Free(), Sloped(cv=4)])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_score_of_a_table_is_that_of_the_log_joint_it_leads_to(score, weighted):
    state = slow.started(score, weighted=weighted, missing=0.05)
    for changes in ({0: (1, 2)}, {3: (0, 1)}, {2: ()}):
        found = scored(state, changes, -np.inf, penalty=0.25)
        state.move(changes)
        L, y = applied(state.joint, state.rows)
        values = evaluate(type(score).gain, L, y, np.empty(0))
        weights = state.rows.weights[: len(y)] if weighted else np.ones(len(y))
        assert found == pytest.approx((values * weights).sum() / state.criterion.divisor - 0.25, abs=1e-9)


@pytest.mark.parametrize("alpha", [1.0, 0.0])
@pytest.mark.parametrize("n_classes", [2, 3, 5, 6, 7, 8, 9])
def test_gaps_are_those_of_the_log_joint(alpha, n_classes):
    state = slow.started(HitRate(alpha=alpha, cv=3), n_rows=600, cards=(3, n_classes, 2, 2))
    state.move({0: (1, 2)})
    L, y = applied(state.joint, state.rows)
    own = L[np.arange(len(y)), y]
    others = np.sort(np.where(np.arange(n_classes) == y[:, None], -np.inf, L), axis=1)
    alive = np.isfinite(own) & np.isfinite(others[:, -1])
    assert alive.sum() > 100
    assert state.joint.gap[alive] == pytest.approx((own - others[:, -1])[alive])
    assert np.array_equal(L[np.arange(len(y)), state.joint.rival][alive], others[alive, -1])
    both = alive & np.isfinite(others[:, -2])
    assert state.joint.second_gap[both] == pytest.approx((own - others[:, -2])[both])


def test_what_falls_below_is_dropped_only_where_a_bound_is_declared():
    for score, dropped in ((Sloped(), True), (Free(), False)):
        state = slow.started(score)
        found = scored(state, {2: ()}, state.criterion.maximum * 700 + 1)
        assert np.isneginf(found) == dropped


def test_no_gap_decides_where_a_threshold_is_unknown():
    """Rows whose rivals are all dead have infinite gaps: a zero that is taken out can bring a rival back."""
    state = slow.started(HitRate(alpha=0.0, cv=3), n_rows=60)
    for changes in ({0: (1, 2, 3)}, {0: (1,)}, {2: (0, 1, 3)}, {2: ()}):
        found = scored(state, changes, -np.inf)
        state.move(changes)
        assert np.isinf(state.joint.gap).any() or len(changes) == 1
        assert found == pytest.approx(state.value, abs=1e-12)


def test_blocks_know_their_smallest_and_largest_gaps():
    state = slow.started(HitRate(cv=3))
    state.move({0: (1, 2)})
    expected = block_ends(state.rows, state.joint.gap)
    assert np.array_equal(state.joint.lowest, expected["lowest"])
    assert np.array_equal(state.joint.highest, expected["highest"])


@pytest.mark.parametrize("score", [HitRate(cv=3), HitRate(alpha=0.0), Sloped(cv=2)])
def test_rows_are_looked_at_in_parts(score, monkeypatch):
    expected = [scored(slow.started(score), changes, -np.inf) for changes in ({0: (1, 2)}, {3: (0, 1)}, {2: ()})]
    monkeypatch.setattr(_bundles, "_AT_ONCE", _passes.BLOCK_ROWS)
    state = slow.started(score)
    assert np.diff(state.rows.bounds).max() > len(state.scratch.pending)
    found = [scored(slow.started(score), changes, -np.inf) for changes in ({0: (1, 2)}, {3: (0, 1)}, {2: ()})]
    assert found == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_what_is_rounded_to_32_bits_is_on_the_side_it_should_be(sign):
    raised, lowered = kernel(_passes.raised.py_func), kernel(_passes.lowered.py_func)
    near = np.float32(sign * np.array([1e-9, 0.1, 1.0, 3.7, 1e6]))
    for value in [float(own) * (1 + by * 2.0**-25) for own in near for by in (-1.5, -1.0, -0.5, 0.0, 0.5, 1.0, 1.5)]:
        assert np.float32(lowered(value)) <= value <= np.float32(raised(value))


@pytest.mark.parametrize(
    ("gaps", "n_low"),
    [([-2.0, 0.5, -0.1], 2), ([0.5, np.inf, -np.inf], 1), ([1.0], 0), ([0.5, 0.0], -1), ([np.nan, 1.0], -1), ([], -1)],
)
def test_gaps_tell_how_many_rows_are_low_unless_one_is_tied_or_unknown(gaps, n_low):
    count_low = kernel(_passes.count_low.py_func)
    assert count_low(np.array(gaps, dtype=np.float32), 0.0, 0.0) == n_low


def test_a_gap_that_rounds_to_its_limit_tells_nothing():
    count_low = kernel(_passes.count_low.py_func)
    # 0.1 rounds up: 32 bits cannot tell it from a gap a little above.
    assert count_low(np.full(3, 0.1, dtype=np.float32), 0.1, -1.0) == -1
    assert count_low(np.full(3, 0.2, dtype=np.float32), 0.1, -1.0) == 0
