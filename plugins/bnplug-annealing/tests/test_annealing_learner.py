"""Annealing is the paper's Algorithm 1, ends always, and finds what it should."""

from __future__ import annotations

import _thread
import json
import signal
import threading
import time
from contextlib import contextmanager
from itertools import pairwise
from math import exp

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from bnplug_annealing import chain as chains
from bnplug_annealing.chain import Chain, Schedule, State
from bnplug_annealing.learner import SimulatedAnnealing
from hypothesis import given, settings
from hypothesis import strategies as st

import bnplug
from bnplug import Structure
from bnplug.builtin.scores import HitRate
from bnplug.contracts import ScoringEvaluator
from bnplug.errors import ContractError, SearchWarning
from bnplug.search import score_tie
from bnplug.table.table import Table


def make_table(features=6, rows=80, seed=0, classes=2):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(rng.integers(0, 2, (rows, features)), columns=[f"x{v}" for v in range(features)])
    rule = frame.iloc[:, 0] ^ frame.iloc[:, -1]
    frame["class"] = np.where(rng.random(rows) < 0.8, rule, rng.integers(0, classes, rows))
    return Table.from_frame(frame, "class")


def naive_bayes(table):
    return Structure(
        table.names, [[] if v == table.target_index else [table.target_index] for v in range(len(table.names))]
    )


class Wanted(bnplug.ScoreFunction):
    """How many wanted edges a graph has, each a pair of numbers."""

    def __init__(self, edges=(), value=1.0):
        self.edges = edges
        self.value = value

    def score(self, table, dag):
        return self.value * sum(((table.names[a], table.names[b]) in dag.edges) for a, b in self.edges)


def feature_edges(table, dag):
    return {(a, b) for a, b in dag.edges if a != table.target}


def test_it_finds_the_only_forest_with_all_wanted_edges():
    table = make_table(4)
    edges = ((0, 1), (1, 2), (1, 3))
    # A tree that spans all features keeps its root: chains differ in which one it is.
    learner = SimulatedAnnealing(score=Wanted(edges), restarts=5, random_state=0)
    dag = learner.learn(table)
    assert feature_edges(table, dag) == {(f"x{a}", f"x{b}") for a, b in edges}
    assert (learner.trace_[0], max(learner.trace_)) == (0.0, 3.0)
    assert min(learner.chain_scores_) < 3.0


class Weighted(bnplug.ScoreFunction):
    """Every edge between features counts, nearly each in its own way."""

    def score(self, table, dag):
        edges = [(table.index(a), table.index(b)) for a, b in dag.edges if a != table.target]
        return float(sum((17 * a + 11 * b) % 13 - 5 for a, b in edges)) / 8


class Recorder(ScoringEvaluator):
    """Keeps the order of what it was asked."""

    def __init__(self, function, table):
        super().__init__(function, table)
        self.log = []

    def propose_in_turn(self, candidates, at_least):
        scores = super().propose_in_turn(candidates, at_least)
        self.log.append((candidates, scores.tolist()))
        return scores

    def commit(self, changes):
        self.log.append(changes)
        return super().commit(changes)


def test_the_walk_is_algorithm_1():
    """Followed step by step from what the evaluator was asked: counters, temperatures, ends."""
    table = make_table(5)
    schedule = Schedule(D=0.7, r=0.9, max_try=40, max_success=7, max_rejections=60)
    c = table.target_index
    start = [[] if v == c else [c] for v in range(6)]
    chain = Chain(State.at(start, np.random.SeedSequence(3)), schedule, c)
    recorder = Recorder(Weighted(), table)
    states = list(chain.run(lambda: recorder))
    tries = successes = rejections = evaluations = 0
    value, temperature, trace, ended = 0.0, 1.0, [0.0], []
    for asked, following in pairwise([*recorder.log, None]):
        if isinstance(asked, dict):
            continue
        candidates, scores = asked
        # A commit, if there is one, is of the last candidate that was scored: those before it were rejected.
        accepted = len(scores) - 1 if isinstance(following, dict) else None
        assert accepted is None or following is candidates[accepted] or following == candidates[accepted]
        rejected = len(scores) if accepted is None else accepted
        assert all(score < value for score in scores[:rejected])
        tries, evaluations, rejections = tries + rejected, evaluations + rejected, rejections + rejected
        if accepted is not None:
            tries, evaluations, successes = tries + 1, evaluations + 1, successes + 1
            rejections = 0 if scores[accepted] > value else rejections
            value = scores[accepted]
            trace.append(value)
        assert tries <= 40
        if tries == 40 or successes == 7:
            ended.append((temperature, rejections, evaluations))
            tries = successes = 0
            temperature *= 0.7
    assert trace == chain.state.trace
    assert [t for t, _, _ in ended] == pytest.approx(chain.state.temperatures)
    assert [(s.rejections, s.n_evaluations) for s in states] == [(r, e) for _, r, e in ended]
    assert all(r < 60 for _, r, _ in ended[:-1])
    assert ended[-1][1] >= 60
    assert chain.state.finished


def test_worse_structures_are_accepted_as_often_as_boltzmann_says():
    """With one wanted edge there that cannot be added again, a candidate that takes it loses 1."""

    class Falling(bnplug.ScoreFunction):
        """Each change costs 1, whatever it is."""

        def score(self, table, dag):
            return 0.0

    class Costly(ScoringEvaluator):
        def propose(self, changes):
            return self.value - 1.0

        def commit(self, changes):
            self.parents = self._changed(changes)
            return self.value

    table = make_table(6)
    c = table.target_index
    start = [[] if v == c else [c] for v in range(7)]
    schedule = Schedule(D=0.5, r=2.0, max_try=20_000, max_success=10**9, max_rejections=1)
    chain = Chain(State.at(start, np.random.SeedSequence(1)), schedule, c)
    list(chain.run(lambda: Costly(Falling(), table)))
    share = (len(chain.state.trace) - 1) / chain.state.n_evaluations
    assert share == pytest.approx(exp(-1 / 2.0), abs=0.015)


@pytest.mark.parametrize("score", ["cr", "cll", "mdl", ("cr", {"cv": 3})])
@pytest.mark.parametrize("k", [1, 2])
def test_any_score_gives_a_structure_that_is_not_below_naive_bayes(score, k):
    table = make_table(6)
    learner = SimulatedAnnealing(score=score, k=k, random_state=0)
    dag = learner.learn(table)
    function = bnplug.hooks.registry.build("score function", score)
    if function.get_params().get("cv"):
        function.set_params(random_state=0)
    assert function.score(table, dag) == pytest.approx(max(learner.trace_), abs=1e-9)
    assert function.score(table, dag) >= function.score(table, naive_bayes(table)) - 1e-9
    graph = nx.DiGraph(list(feature_edges(table, dag)))
    assert nx.is_directed_acyclic_graph(graph)
    assert max(dict(graph.in_degree).values(), default=0) <= k
    assert all((("class", f"x{v}") in dag.edges) for v in range(6))
    assert k > 1 or not graph or nx.is_forest(graph)


@settings(max_examples=15)
@given(st.integers(1, 5), st.integers(2, 25), st.integers(0, 10**6), st.integers(1, 3))
def test_it_ends_in_a_forest_at_least_as_good_as_naive_bayes(features, rows, seed, k):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(rng.integers(0, 3, (rows, features)).astype(str), columns=[f"x{v}" for v in range(features)])
    frame["class"] = np.arange(rows) % 2
    table = Table.from_frame(frame, "class")
    learner = SimulatedAnnealing(k=k, random_state=seed)
    dag = learner.learn(table)
    score = bnplug.score_function("cr")
    assert score.score(table, dag) >= score.score(table, naive_bayes(table)) - 1e-9
    degrees = [len(dag.by_name[f"x{v}"]) for v in range(features)]
    assert max(degrees) <= k + 1
    assert learner.trace_[0] == pytest.approx(score.score(table, naive_bayes(table)))


def test_one_feature_two_features_and_a_flat_score_end():
    alone = SimulatedAnnealing(random_state=0)
    dag = alone.learn(make_table(1))
    assert set(dag.edges) == {("class", "x0")}
    assert (alone.n_evaluations_, len(alone.trace_)) == (0, 1)
    # Any tie is accepted, and then there is nothing left to try.
    pair = SimulatedAnnealing(score=Wanted(), random_state=0)
    assert len(feature_edges(make_table(2), pair.learn(make_table(2)))) == 0
    assert pair.n_evaluations_ >= 1
    assert len(pair.trace_) == 2
    flat = SimulatedAnnealing(score=Wanted(), random_state=0)
    flat.learn(make_table(6))
    assert len(flat.temperatures_) == 1
    # r is set from the first 5 N candidates, and then 5 N are accepted.
    assert flat.n_evaluations_ == 2 * 5 * 6


def test_a_score_that_draws_its_rows_anew_ends():
    """A draw always offers something better than the one before, so that rejections alone would never end it."""

    class Redrawn(ScoringEvaluator):
        draws = 0

        def step(self):
            self.draws += 1
            return super().step()

        def propose(self, changes):
            return super().propose(changes) + 1e-3 * self.draws

    class Score(bnplug.ScoreFunction):
        resamples = True

        def score(self, table, dag):
            return float(len(dag.edges)) % 2

        def evaluator(self, table, n_jobs=1):
            return Redrawn(self, table)

    learner = SimulatedAnnealing(Score(), r=1.0, max_try=10, max_success=3, random_state=0)
    learner.learn(make_table(features=4, rows=20))
    assert len(learner.temperatures_) <= 50


def test_a_score_of_unknown_scale_gets_its_r_from_the_first_proposals():
    table = make_table(6)
    edges = ((0, 1), (1, 2), (2, 3), (3, 4))
    small, large = (
        SimulatedAnnealing(score=Wanted(edges, s), random_state=0, max_evaluations=300) for s in (2.0**-10, 2.0**10)
    )
    assert feature_edges(table, small.learn(table)) == feature_edges(table, large.learn(table))
    assert large.r_ / small.r_ == 2.0**20
    assert exp(-1024.0 / large.r_) == pytest.approx(0.8)
    given = SimulatedAnnealing(r=3.0, random_state=0, max_evaluations=20)
    given.learn(table)
    assert given.r_ == 3.0
    for score, r in (("cr", 1.0), (("cr", {"cv": 2}), 1.0), (bnplug.score_function("cr"), 1.0)):
        learner = SimulatedAnnealing(score=score, random_state=0, max_evaluations=20)
        learner.learn(table)
        assert learner.r_ == r


def test_the_papers_constants_are_the_defaults(tmp_path):
    params = SimulatedAnnealing().get_params()
    assert (params["k"], params["D"], params["restarts"]) == (1, 0.8, 1)
    path = tmp_path / "sa.json"
    learner = SimulatedAnnealing(score=Wanted(((0, 1), (1, 2), (2, 3))), random_state=0, checkpoint=path)
    learner.learn(make_table(4))
    assert learner.temperatures_ == pytest.approx([0.8**i for i in range(len(learner.temperatures_))])
    limits = json.loads(path.read_text())["search"]
    assert (limits["max_try"], limits["max_success"], limits["max_rejections"]) == (200, 20, 400)


@pytest.mark.parametrize("restarts", [1, 3])
def test_threads_do_not_change_the_result(restarts):
    table = make_table(5, 200)
    found = []
    for n_jobs in (1, 2):
        learner = SimulatedAnnealing(score=("cr", {"cv": 4}), restarts=restarts, n_jobs=n_jobs, random_state=5)
        dag = learner.learn(table)
        found.append((set(dag.edges), learner.trace_, learner.n_evaluations_, learner.chain_scores_))
    assert found[0] == found[1]
    assert len(found[0][3]) == restarts


def test_with_many_features_it_takes_fewer_evaluations_than_hill_climbing():
    def climbing(n):
        return n * n * (n - 1) // 2

    table = make_table(9, 40)
    climb = bnplug.structure_learner("hill-climb", score=("cr", {"cv": 5}), tree=True, complete=True)
    climb.learn(table)
    assert climb.n_evaluations_ == climbing(9)
    learner = SimulatedAnnealing(("cr", {"cv": 5}), D=0.8, random_state=0)
    learner.learn(make_table(190, 40))
    assert 5 * learner.n_evaluations_ < climbing(190)


def test_restarts_are_other_chains_and_the_best_is_returned():
    table = make_table(8, 200)
    learner = SimulatedAnnealing("cll", restarts=4, random_state=0, max_evaluations=60)
    learner.learn(table)
    assert len(set(learner.chain_scores_)) > 1
    assert max(learner.trace_) == max(learner.chain_scores_)
    assert learner.n_evaluations_ == 4 * 60
    first = SimulatedAnnealing("cll", random_state=0, max_evaluations=60)
    first.learn(table)
    assert first.chain_scores_ == learner.chain_scores_[:1]


def test_a_limit_of_evaluations_is_kept():
    table = make_table(8)
    for limit in (1, 7, 300):
        learner = SimulatedAnnealing(score="cll", max_evaluations=limit, random_state=0)
        learner.learn(table)
        assert learner.n_evaluations_ == limit
        assert learner.evaluations_ == sorted(learner.evaluations_)
        assert learner.evaluations_[-1] <= limit
        assert len(learner.evaluations_) == len(learner.trace_)


class Slow(Wanted):
    """Every structure takes a while."""

    def score(self, table, dag):
        time.sleep(0.005)
        return super().score(table, dag)


class Interrupting(Wanted):
    """Someone presses Ctrl-C when the third wanted edge is there."""

    def score(self, table, dag):
        value = super().score(table, dag)
        if value == 3:
            raise KeyboardInterrupt
        return value


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_time_runs_out(n_jobs):
    table = make_table(6)
    learner = SimulatedAnnealing(score=Slow(((0, 1), (1, 2))), max_time=0.4, restarts=2, n_jobs=n_jobs, random_state=0)
    started = time.monotonic()
    with pytest.warns(SearchWarning, match=r"sa reached max_time=0.4; the best structure so far is returned, after"):
        dag = learner.learn(table)
    assert time.monotonic() - started < 3
    assert len({("x0", "x1"), ("x1", "x2")} & feature_edges(table, dag)) == max(learner.chain_scores_)


def test_an_interrupt_keeps_the_best_so_far():
    table = make_table(6)
    learner = SimulatedAnnealing(score=Interrupting(((0, 1), (1, 2), (2, 3))), random_state=2)
    with pytest.warns(SearchWarning, match="was interrupted"):
        dag = learner.learn(table)
    assert len({("x0", "x1"), ("x1", "x2"), ("x2", "x3")} & feature_edges(table, dag)) == 2
    assert max(learner.trace_) == 2


@pytest.mark.parametrize("when", range(20))
def test_an_interrupt_between_two_steps_loses_no_best_structure(monkeypatch, when):
    """The walk looks what a tie is before and after each change; the interrupt comes at one of these moments."""
    moments = iter(range(when))

    def interrupted(value):
        if next(moments, None) is None:
            raise KeyboardInterrupt
        return score_tie(value)

    monkeypatch.setattr(chains, "score_tie", interrupted)
    learner = SimulatedAnnealing(Wanted(((0, 1), (1, 2), (2, 3))), max_evaluations=1000, random_state=2)
    with pytest.warns(SearchWarning, match="was interrupted"):
        learner.learn(make_table(6))
    assert max(learner.trace_) <= learner.chain_scores_[0]


def test_an_interrupt_between_a_score_and_its_number_leaves_neither():
    state = State.at([[1], []], np.random.SeedSequence(0))
    state.trace, state.evaluations = [1.0, 2.0], [0]
    assert state.visited() == ([1.0], [0])


@contextmanager
def interrupts_after(seconds):
    """Press Ctrl-C, and again if nothing came of it; also where the tests run in the background, which ignores it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    done = threading.Event()

    def press():
        wait = seconds
        while not done.wait(wait):
            _thread.interrupt_main()
            wait = 5.0

    threading.Thread(target=press, daemon=True).start()
    try:
        yield
    finally:
        done.set()
        signal.signal(signal.SIGINT, before)


def test_an_interrupt_ends_chains_in_threads():
    """The interrupt comes to the main thread, which waits for chains in others."""
    table = make_table(6)
    score = Slow(((0, 1), (1, 2)))
    learner = SimulatedAnnealing(score=score, max_rejections=10**9, restarts=2, n_jobs=2, random_state=0)
    with pytest.warns(SearchWarning, match="was interrupted"), interrupts_after(0.5):
        dag = learner.learn(table)
    assert ("class", "x0") in dag.edges
    assert len(learner.trace_) >= 1


def test_after_an_interrupt_no_chain_is_at_work(tmp_path):
    """With chains in threads, the interrupt comes to the one that waits for them."""
    for number in range(5):
        file = tmp_path / f"{number}.json"
        learner = SimulatedAnnealing(
            Slow(((0, 1), (1, 2))), max_rejections=10**9, restarts=2, n_jobs=2, random_state=0, checkpoint=file
        )
        with pytest.warns(SearchWarning, match="was interrupted"), interrupts_after(0.3):
            learner.learn(make_table(6))
        before = len(learner.trace_), {path: path.read_bytes() for path in tmp_path.iterdir()}
        time.sleep(0.1)
        assert before == (len(learner.trace_), {path: path.read_bytes() for path in tmp_path.iterdir()})


def test_an_interrupt_before_any_chain_began_is_raised():
    class Impatient(Wanted):
        def score(self, table, dag):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        SimulatedAnnealing(score=Impatient()).learn(make_table(3))


def test_a_score_of_nan_is_named():
    class Broken(Wanted):
        def score(self, table, dag):
            return 0.0 if len(dag.edges) < 7 else float("nan")

    with pytest.raises(ContractError, match="nan"):
        SimulatedAnnealing(score=Broken(), random_state=0).learn(make_table(6))


@pytest.mark.parametrize(
    "params",
    [{"D": 1.0}, {"D": 0.0}, {"r": 0.0}, {"r": float("nan")}, {"k": 0}, {"restarts": 0}, {"max_try": 0},
     {"max_success": 1.5}, {"max_time": 0.0}, {"max_evaluations": -1}, {"D": "0.8"}, {"r": "x"}, {"max_time": "1"}],
)  # fmt: skip
def test_bad_parameters_are_named(params):
    [name] = params
    with pytest.raises(ValueError, match=f"{name}="):
        SimulatedAnnealing(**params).learn(make_table(3))


def test_folds_are_drawn_once_from_a_random_state():
    """Every temperature has an evaluator of its own: with other folds it would have other scores, too."""

    def trace(random_state):
        learner = SimulatedAnnealing(score=HitRate(cv=4, random_state=random_state), random_state=0)
        learner.learn(make_table(4))
        return learner.trace_

    assert trace(np.random.RandomState(0)) == trace(int(np.random.RandomState(0).randint(2**31 - 1)))


def test_progress_is_told(capsys):
    SimulatedAnnealing(score=Slow(((0, 1),)), max_evaluations=250, verbose=1, random_state=0).learn(make_table(5))
    assert "sa: " in capsys.readouterr().err


def test_a_walk_starts_where_it_is_told():
    table = make_table()
    score = Wanted([(0, 1), (1, 2), (2, 3)])
    learner = SimulatedAnnealing(score, start=[("x0", "x1"), ("x1", "x2")], random_state=0)
    learner.learn(table)
    assert learner.trace_[0] == 2
    again = SimulatedAnnealing(
        score, start=Structure(table.names, [[6], [0, 6], [6], [6], [6], [6], []]), random_state=0
    )
    again.learn(table)
    assert again.trace_[0] == 1
    with_required = SimulatedAnnealing(score, start=[("x0", "x1")], required=[("x2", "x3")], random_state=0)
    assert ("x2", "x3") in with_required.learn(table).edges
    assert with_required.trace_[0] == 2


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"start": "empty"}, "start='empty' is not 'nb'"),
        ({"start": [("x0", "class")]}, "gives 'class' the parents .'x0'.; sa gives the class none"),
        ({"start": [("x0", "x1"), ("x2", "x1")]}, "gives 'x1' the parents .'x0', 'x2', 'class'.; k=1"),
        ({"start": [("x0", "x1")], "forbidden": [("x0", "x1")]}, "'x0' -> 'x1' of the start is forbidden"),
        ({"start": [("x0", "x1")], "required": [("x1", "x0")]}, "cycle"),
        ({"start": [("x0", "y")]}, "start names 'y', which is not a variable"),
    ],
)
def test_a_start_that_cannot_be_is_said(parameters, message):
    with pytest.raises(ValueError, match=message):
        SimulatedAnnealing("mdl", **parameters).learn(make_table())


@pytest.mark.parametrize("k", [1, 2])
def test_a_walk_finds_the_best_that_is_allowed(k):
    table = make_table(features=4)
    score = Wanted([(0, 1), (1, 2), (2, 3), (3, 0)])
    known = {"required": [("x0", "x2")], "forbidden": [("x1", "x2")], "tiers": [["x0", "x1"], ["x3"]]}
    dag = SimulatedAnnealing(score, k=k, random_state=1, restarts=12, max_evaluations=200, **known).learn(table)
    edges = feature_edges(table, dag)
    assert {("x0", "x2"), ("x0", "x1"), ("x2", "x3")} <= edges
    assert not {("x1", "x2"), ("x3", "x0"), ("x3", "x1")} & edges


def test_the_best_structure_of_each_chain_is_kept():
    table = make_table()
    learner = SimulatedAnnealing(score="cr", restarts=3, max_evaluations=20, random_state=1)
    dag = learner.learn(table)
    assert 1 <= len(learner.best_structures_) <= 3
    assert set(learner.best_structures_[0]) == set(dag.edges)
