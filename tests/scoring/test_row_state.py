"""Rows and their log joint: tables that are given say what those say that are counted here."""

import numpy as np
import pytest
from scoring import slow

import bnplug
from bnplug.builtin.scores import ConditionalLogLikelihood, HitRate
from bnplug.scoring import _row_state
from bnplug.scoring._batches import count_tables
from bnplug.scoring._candidates import Candidates, FlatGraph
from bnplug.scoring._kept_counts import Layout
from bnplug.scoring._row_state import NOT_GIVEN, Given, class_families, in_parts, most_configurations
from bnplug.scoring._state import SearchState

CHANGES = [{0: [1, 3]}, {2: []}, {0: [], 2: [0, 3]}, {1: [3]}]


@pytest.fixture(params=[HitRate(cv=3), HitRate(alpha=0.0), ConditionalLogLikelihood()])
def state(request):
    table = slow.random_table(np.random.default_rng(3), 200, (3, 2, 4, 2), 3, weighted=True, missing=0.1)
    state = SearchState(request.param, table)
    state.draw(None)
    state.start([[3], [3], [3], []])
    return state


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
    assert state.score_all(expected, CHANGES, 1) == state.score_all(batch, CHANGES, 1) == 3
    assert (batch.scores == expected.scores).all()
    batch.counts[:] = 1  # they are looked at, and nothing else
    state.score_all(batch, CHANGES, 1)
    assert (batch.scores != expected.scores).any()


def test_threads_score_what_one_does(state):
    batches = [state.make_batch(CHANGES, *np.zeros((3, 4)) - 1e9) for _ in range(2)]
    assert state.score_all(batches[0], CHANGES, 1) == state.score_all(batches[1], CHANGES, 2)
    assert (batches[0].scores == batches[1].scores).all()


def test_threads_have_the_room_that_others_needed(state, monkeypatch):
    state.room = 1
    batches = [state.make_batch(CHANGES, *np.zeros((3, 4)) - 1e9) for _ in range(2)]
    state.score_all(batches[0], CHANGES, 2)
    assert state.room >= 20
    monkeypatch.setattr(state, "score_wide", None)  # no candidate asks for it
    state.score_all(batches[1], CHANGES, 2)
    assert (batches[0].scores == batches[1].scores).all()


def test_families_are_added_in_parts(state):
    expected, graph = state.measure(), state.graph
    families = class_families(graph, 3)
    assert [list(own) for own in families] == [[0], [1], [2], [3]]
    state.clear()
    given, _ = counted(state, families)
    state.add_families(families[:2], Given(given.counts, given.places[:3]), last=False)
    rest = Given(given.counts[given.places[2] :], given.places[2:] - given.places[2])
    state.add_families(families[2:], rest)
    state.settle(graph)
    assert state.measure() == pytest.approx(expected, rel=1e-14)


def test_only_families_with_the_class_tell_classes_apart():
    graph = FlatGraph.of([(1,), (2,), (), (0, 2)])
    assert class_families(graph, 2) == [{1: (2,)}, {2: ()}, {3: (0, 2)}]


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
    state = SearchState(HitRate(), table)
    state.draw(None)
    state.start([[4], [4], [4], [4], []])
    wide = [{v: [u, 4]} for v in range(4) for u in range(4) if u != v]
    batch = state.batch(wide, np.full(len(wide), -np.inf))
    assert state.scratch.limit < 900 <= state.widest
    state.score_all(batch, wide, 1)
    assert state.scratch.limit == 900


@pytest.mark.parametrize("score", ["cmdl", ("cll", {"cv": 3})])
def test_threads_within_a_chain_do_not_change_its_last_bits(score, monkeypatch):
    monkeypatch.setattr(_row_state, "_WORTH_THREADS", 0)
    table = slow.random_table(np.random.default_rng(2), 157, (2,) * 6, 3)
    traces = []
    for n_jobs in (1, 2):
        learner = bnplug.structure_learner("sa", score=score, max_evaluations=800, n_jobs=n_jobs, random_state=1)
        learner.learn(table)
        traces.append(learner.trace_)
    assert traces[0] == traces[1]
