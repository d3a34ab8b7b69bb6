"""Candidates leave the state as it is, and get the same scores however they are asked for."""

from __future__ import annotations

from math import inf

import numpy as np
import pytest
from scoring import slow

from bnplug.builtin.scores import ConditionalLogLikelihood, ConditionalMDL, HitRate
from bnplug.scoring import _blocks


def test_proposals_leave_the_state_untouched():
    rng = np.random.default_rng(6)
    table = slow.random_table(rng, 40, (3, 2, 4, 2), 1, missing=0.1)
    parents = [[1], [], [1], [0]]
    for score in (HitRate(alpha=0.0, cv=4), ConditionalLogLikelihood()):
        evaluator, untouched = score.evaluator(table), score.evaluator(table)
        evaluator.start(parents)
        untouched.start(parents)
        for _ in range(20):
            evaluator.propose_many([slow.random_change(rng, parents)[0]])[0]
        assert evaluator.value == untouched.value
        assert evaluator.parents == untouched.parents
        assert evaluator.step() == untouched.step() == untouched.value
        assert evaluator.commit({2: [0, 1]}) == untouched.commit({2: [0, 1]})


def test_moves_without_effect_are_never_evaluated():
    table = slow.random_table(np.random.default_rng(7), 30, (3, 2, 4, 2), 1)
    for score in (HitRate(), ConditionalMDL()):
        evaluator = score.evaluator(table)
        evaluator.start([[1], [], [], []])
        # Nodes 2 and 3 are not children of the class; node 0 keeps its parents.
        candidates = [{3: [2]}, {2: [0, 3]}, {0: [1]}, {3: [0], 2: [3]}]
        scores = evaluator.propose_many(candidates, at_least=evaluator.value)
        assert evaluator.n_evaluations == 0
        for changes, value in zip(candidates, scores, strict=True):
            fresh = score.evaluator(table)
            expected = fresh.start([changes.get(v, own) for v, own in enumerate([[1], [], [], []])])
            assert value == pytest.approx(expected, abs=1e-12)
        assert evaluator.propose_many([{2: [1]}])[0] != evaluator.value or score.penalized is False
        assert evaluator.n_evaluations == 1


@pytest.mark.parametrize("score", [HitRate(cv=4), ConditionalLogLikelihood(), ConditionalMDL()])
@pytest.mark.parametrize("weighted", [False, True])
def test_what_is_dropped_is_below_the_bound(score, weighted):
    rng = np.random.default_rng(8)
    table = slow.random_table(rng, 12000, (3, 4, 4, 2, 3), 1, weighted=weighted)
    evaluator = score.evaluator(table)
    evaluator.start([[1], [], [1], [1], [1]])
    candidates = [slow.random_change(rng, [[1], [], [1], [1], [1]])[0] for _ in range(40)]
    scores = evaluator.propose_many(candidates)
    bound = float(np.sort(scores)[30])
    dropped = evaluator.propose_many(candidates, at_least=bound)
    kept = np.isfinite(dropped)
    assert np.array_equal(dropped[kept], scores[kept])
    assert (scores[~kept] < bound).all()
    assert kept[scores >= bound].all()
    assert not kept.all()


@pytest.mark.usefixtures("numbering")
@pytest.mark.parametrize("score", [HitRate(cv=4), HitRate(alpha=0.0), ConditionalMDL()])
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_candidates_in_turn_end_with_the_first_that_reaches_its_bar(score, n_jobs, monkeypatch):
    rng = np.random.default_rng(10)
    table = slow.random_table(rng, 300, (3, 3, 4, 2, 3), 1, missing=0.05)
    monkeypatch.setattr(_blocks, "_WORTH_THREADS", 0 if n_jobs > 1 else 1 << 21)
    parents = [[1], [], [1], [1], [1]]
    evaluator = score.evaluator(table, n_jobs)
    evaluator.start(parents)
    for _ in range(30):
        drawn = [slow.random_change(rng, parents) for _ in range(8)]
        candidates = [changes for changes, _ in drawn]
        scores = evaluator.propose_many(candidates)
        # One of them is above `at_least` by a little, or at it, and those before it are below.
        place = int(rng.integers(8))
        at_least = np.where(
            np.arange(8) < place, np.maximum(scores + 0.01, scores.max()), scores - rng.choice([0.0, 0.01])
        )
        in_turn = evaluator.propose_in_turn(candidates, at_least)
        first = int(np.flatnonzero(scores >= at_least)[0])
        assert len(in_turn) == first + 1
        assert in_turn[first] == scores[first]
        assert all(given in (exact, -inf) for given, exact in zip(in_turn, scores, strict=False))
        parents = drawn[first][1]
        assert evaluator.commit(candidates[first]) == pytest.approx(score.evaluator(table).start(parents), abs=1e-9)
    assert evaluator.propose_in_turn([], np.empty(0)).shape == (0,)


@pytest.mark.parametrize("score", [HitRate(alpha=0.0, cv=3), ConditionalMDL()])
def test_results_do_not_depend_on_threads(score, monkeypatch):
    monkeypatch.setattr(_blocks, "_WORTH_THREADS", 0)
    rng = np.random.default_rng(9)
    table = slow.random_table(rng, 300, (3, 3, 4, 2), 1, weighted=True, missing=0.05)
    candidates = [slow.random_change(rng, [[1], [], [1], [1]])[0] for _ in range(30)]
    results = []
    for n_jobs in (1, 2, 3):
        evaluator = score.evaluator(table, n_jobs)
        evaluator.start([[1], [], [1], [1]])
        results.append([evaluator.propose_many(candidates), evaluator.commit(candidates[0])])
        assert evaluator.propose_many([]).shape == (0,)
    for scores, value in results[1:]:
        assert np.array_equal(scores, results[0][0])
        assert value == results[0][1]
