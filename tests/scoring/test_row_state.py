"""Rows and their log joint: tables that are given say what those say that are counted here."""

import numpy as np
import pytest
from scoring import slow

import bnplug
from bnplug.builtin.scores import ConditionalLogLikelihood, HitRate
from bnplug.scoring import _blocks
from bnplug.scoring._blocks import in_parts, most_configurations
from bnplug.scoring._bundles import NOT_GIVEN, Given, Layout
from bnplug.scoring._layout import Candidates
from bnplug.scoring._tables import count_tables

CHANGES = [{0: [1, 3]}, {2: []}, {0: [], 2: [0, 3]}, {1: [3]}]


@pytest.fixture(params=[HitRate(cv=3), HitRate(alpha=0.0), ConditionalLogLikelihood()])
def state(request):
    table = slow.random_table(np.random.default_rng(3), 200, (3, 2, 4, 2), 3, weighted=True, missing=0.1)
    return slow.State(request.param, table, [[3], [3], [3], []])


def counted(state, candidates):
    sizes, features, ends = Layout.of(state.rows, state.graph, Candidates.of(candidates), state.scratch)
    width = (state.rows.n_folds + 1) * state.rows.n_classes
    places = np.concatenate([[0], np.cumsum(sizes * width)]).astype(np.int64)
    given = Given(np.zeros(places[-1], dtype=np.int64), places)
    arrays = features, ends, given.places, given.counts
    count_tables(state.rows, *arrays, 0, len(candidates), state.scratch.configuration, False)
    return given, sizes


def test_given_tables_lead_to_the_same_scores(state):
    given, sizes = counted(state, CHANGES)
    assert sizes.tolist() == [12, 5, 20, 0]  # missing is one more state where it occurs; no gain changes by the last
    expected, batch = (state.make_batch(CHANGES, *np.zeros((3, 4)) - 1e9, given=own) for own in (NOT_GIVEN, given))
    assert state.score_all(expected, CHANGES) == state.score_all(batch, CHANGES) == 3
    assert (batch.scores == expected.scores).all()
    batch.counts[:] = 1  # they are looked at, and nothing else
    state.score_all(batch, CHANGES)
    assert (batch.scores != expected.scores).any()


def in_threads(state, monkeypatch):
    monkeypatch.setattr(_blocks, "_WORTH_THREADS", 0)
    state.evaluator._block.n_jobs = 2


def test_threads_score_what_one_does(state, monkeypatch):
    batches = [state.make_batch(CHANGES, *np.zeros((3, 4)) - 1e9) for _ in range(2)]
    n_scored = state.score_all(batches[0], CHANGES)
    in_threads(state, monkeypatch)
    assert state.score_all(batches[1], CHANGES) == n_scored
    assert (batches[0].scores == batches[1].scores).all()


def test_threads_have_the_room_that_others_needed(state, monkeypatch):
    in_threads(state, monkeypatch)
    state.evaluator._block.room = 1
    batches = [state.make_batch(CHANGES, *np.zeros((3, 4)) - 1e9) for _ in range(2)]
    state.score_all(batches[0], CHANGES)
    assert state.room >= 20
    monkeypatch.setattr(state.evaluator._block, "score_wide", None)  # no candidate asks for it
    state.score_all(batches[1], CHANGES)
    assert (batches[0].scores == batches[1].scores).all()


def test_families_are_added_in_parts(state):
    expected, parents, block = state.gain, state.evaluator.parents, state.evaluator._block
    families = [{v: own} for v, own in enumerate(parents)]
    block.clear()
    given, _ = counted(state, families)
    block.add(families[:2], Given(given.counts, given.places[:3]), last=False)
    rest = Given(given.counts[given.places[2] :], given.places[2:] - given.places[2])
    block.add(families[2:], rest, last=True)
    block.begin(parents)
    assert block.gain()[0] == pytest.approx(expected, rel=1e-14)


def test_rows_allow_so_many_configurations(state):
    rows = state.rows
    assert most_configurations(rows, 10**9) * (rows.n_folds + 1) * rows.n_classes <= 1 << 22
    assert most_configurations(rows, 1) * (rows.n_folds + 1) * rows.n_classes <= 1 << 16
    assert most_configurations(rows, 1) < most_configurations(rows, 10**9)


@pytest.mark.parametrize(("n", "workers"), [(10, 1), (10, 3), (1, 2), (0, 2)])
def test_parts_are_all_of_it(n, workers):
    firsts, stops = in_parts(n, workers)
    assert [i for first, stop in zip(firsts, stops, strict=True) for i in range(first, stop)] == list(range(n))


def test_room_for_wide_candidates_is_made_once():
    table = slow.random_table(np.random.default_rng(1), 90, (30, 30, 30, 30, 2), 4)
    state = slow.State(HitRate(), table, [[4], [4], [4], [4], []])
    wide = [{v: [u, 4]} for v in range(4) for u in range(4) if u != v]
    batch = state.batch(wide, np.full(len(wide), -np.inf))
    assert state.scratch.limit < 900 <= state.widest
    state.score_all(batch, wide)
    assert state.scratch.limit == 900


@pytest.mark.parametrize("score", ["cmdl", ("cll", {"cv": 3})])
def test_threads_within_a_chain_do_not_change_its_last_bits(score, monkeypatch):
    monkeypatch.setattr(_blocks, "_WORTH_THREADS", 0)
    table = slow.random_table(np.random.default_rng(2), 157, (2,) * 6, 3)
    traces = []
    for n_jobs in (1, 2):
        learner = bnplug.structure_learner("sa", score=score, max_evaluations=800, n_jobs=n_jobs, random_state=1)
        learner.learn(table)
        traces.append(learner.trace_)
    assert traces[0] == traces[1]
