"""Hill climbing ends at a local optimum, within its limits, and always at the same one."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
import time

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from strategies import seeds

import bnplug
from bnplug.builtin.structures.hill_climb import HillClimb
from bnplug.contracts import Evaluator, ScoreFunction
from bnplug.counts.counting import count
from bnplug.data.table import Table
from bnplug.errors import ContractError, SearchWarning
from bnplug.search import Graph, GreedySearch, Neighbourhood, climb


def family_score(table, v, parents):
    """Log-likelihood of one family, less half of log M for each free parameter."""
    counts = count(table, v, parents).reshape(table.cards[v], -1)
    positive = counts > 0
    terms = counts[positive] * np.log((counts / np.maximum(counts.sum(0), 1))[positive])
    return float(terms.sum() - 0.5 * np.log(table.n_rows) * (counts.shape[0] - 1) * counts.shape[1])


class PlainMdl(ScoreFunction):
    """A third party's score: no evaluator of its own."""

    def score(self, table, dag):
        return sum(family_score(table, v, own) for v, own in enumerate(table.parents(dag)))


class DecomposableMdl(PlainMdl):
    def evaluator(self, table, n_jobs=1):
        return DecomposableEvaluator(table)


class DecomposableEvaluator(Evaluator):
    decomposable = True

    def __init__(self, table):
        self.table = table

    def start(self, parents):
        self.parents = [list(own) for own in parents]
        self.value = sum(family_score(self.table, v, own) for v, own in enumerate(self.parents))
        return self.value

    def propose(self, changes):
        self.n_evaluations += 1
        old = sum(family_score(self.table, v, self.parents[v]) for v in changes)
        return self.value - old + sum(family_score(self.table, v, own) for v, own in changes.items())

    def commit(self, changes):
        return self.start([changes.get(v, own) for v, own in enumerate(self.parents)])


class Edges(ScoreFunction):
    """The number of edges: every graph can be improved until it is complete."""

    def __init__(self, interrupt_after=None, seconds=0.0):
        self.interrupt_after = interrupt_after
        self.seconds = seconds

    def score(self, table, dag):
        self.calls_ = getattr(self, "calls_", 0) + 1
        if self.calls_ == self.interrupt_after:
            raise KeyboardInterrupt
        time.sleep(self.seconds)
        return float(len(dag.edges))


class FewerEdges(ScoreFunction):
    def score(self, table, dag):
        return -float(len(dag.edges))


class Constant(ScoreFunction):
    def __init__(self, value=1.0):
        self.value = value

    def score(self, table, dag):
        return self.value


def make_table(seed=0, features=3, rows=60, states=2):
    rng = np.random.default_rng(seed)
    first = rng.integers(0, states, rows)
    columns = {"x1": first}
    for i in range(2, features + 1):
        copied = columns[f"x{rng.integers(1, i)}"]
        columns[f"x{i}"] = np.where(rng.random(rows) < 0.7, copied, rng.integers(0, states, rows))
    columns["class"] = (columns["x1"] + columns[f"x{features}"] + (rng.random(rows) < 0.2)) % 2
    return Table.from_frame(pd.DataFrame(columns), "class")


def neighbours(dag):
    """All DAGs one deletion, reversal or addition away, as sets of edges."""
    edges = set(dag.edges)
    for u, v in itertools.permutations(dag.nodes, 2):
        options = [edges - {(u, v)}, edges - {(u, v)} | {(v, u)}] if (u, v) in edges else [edges | {(u, v)}]
        for option in options:
            graph = nx.DiGraph(sorted(option))
            graph.add_nodes_from(dag.nodes)
            if nx.is_directed_acyclic_graph(graph):
                yield graph


def parents_of(table, graph):
    return [sorted(table.index(p) for p in graph.predecessors(name)) for name in table.names]


@pytest.mark.parametrize("start", ["nb", "empty"])
@pytest.mark.parametrize("score", [PlainMdl(), DecomposableMdl()])
@pytest.mark.parametrize("seed", seeds(4))
def test_the_end_is_a_local_optimum(start, score, seed):
    table = make_table(seed)
    learner = HillClimb(score, start)
    dag = learner.learn(table)
    reached = score.score(table, dag)
    assert learner.trace_[-1] == pytest.approx(reached)
    best = max(score.score(table, table.dag(parents_of(table, graph))) for graph in neighbours(dag))
    assert best <= reached + 1e-9
    assert (np.diff(learner.trace_) > 0).all()


@pytest.mark.parametrize("start", ["nb", "empty"])
@pytest.mark.parametrize("name", ["ll", "mdl", "k2", "bdeu", "cr", "cll", "cmdl"])
def test_every_score_of_the_core_climbs_to_a_local_optimum(name, start):
    table = make_table(11, rows=80)
    learner = HillClimb(name, start)
    dag = learner.learn(table)
    score = bnplug.score_function(name)
    reached = score.score(table, dag)
    assert learner.trace_[-1] == pytest.approx(reached, abs=1e-9)
    for graph in neighbours(dag):
        assert score.score(table, table.dag(parents_of(table, graph))) <= reached + 1e-9


def replay(table, start, moves):
    """Yield the graph at the start and after each move."""
    edges = {("class", name) for name in table.names if name != "class"} if start == "nb" else set()
    yield edges
    for move in moves:
        kind, u, _, v = move.split(" ")
        edges = edges - {(u, v)} if kind != "add" else edges | {(u, v)}
        edges = edges | {(v, u)} if kind == "reverse" else edges
        yield edges


@pytest.mark.parametrize("start", ["nb", "empty"])
@pytest.mark.parametrize("score", [PlainMdl(), DecomposableMdl()])
def test_every_move_is_the_best_one_and_leads_to_the_end(start, score):
    table = make_table(7, features=3)
    learner = HillClimb(score, start)
    dag = learner.learn(table)
    graphs = list(replay(table, start, learner.moves_))
    assert graphs[-1] == set(dag.edges)
    assert len(graphs) == len(learner.trace_)
    for edges, value in zip(graphs, learner.trace_[1:], strict=False):
        graph = nx.DiGraph(sorted(edges))
        graph.add_nodes_from(table.names)
        best = max(score.score(table, table.dag(parents_of(table, other))) for other in neighbours(graph))
        assert value == pytest.approx(best)


@pytest.mark.parametrize("start", ["nb", "empty"])
@pytest.mark.parametrize("seed", seeds(3))
@pytest.mark.parametrize("last_of_ties", [False, True])
def test_remembered_gains_lead_the_same_way(start, seed, last_of_ties):
    table = make_table(seed, features=6, rows=200, states=3)
    c = table.target_index
    parents = [[c] if v != c and start == "nb" else [] for v in range(len(table.names))]
    searches = []
    for score in (PlainMdl(), DecomposableMdl()):
        search = GreedySearch(score.evaluator(table), parents, "test")
        search.last_of_ties = last_of_ties
        climb(search, Neighbourhood(Graph(parents), capacity=np.full(len(parents), 3)), table.names)
        searches.append(search)
    plain, remembering = searches
    assert plain.moves == remembering.moves
    assert plain.parents == remembering.parents
    np.testing.assert_allclose(plain.trace, remembering.trace)
    assert remembering.evaluator.n_evaluations < plain.evaluator.n_evaluations / 2


def test_a_decomposable_score_is_climbed_both_ways_and_the_better_end_is_kept():
    """Which of two equal directions the first edge gets decides where the climb ends."""
    ends = set()
    for seed in range(4):
        table = make_table(seed, features=5, rows=150, states=3)
        backwards = Table(table.codes[::-1], table.names[::-1], table.states, "class")
        first, last = (HillClimb(PlainMdl(), "empty") for _ in range(2))
        first.learn(table)
        last.learn(backwards)
        both = HillClimb(DecomposableMdl(), "empty")
        dag = both.learn(table)
        assert both.trace_[-1] >= max(first.trace_[-1], last.trace_[-1]) - 1e-9
        assert both.trace_[-1] == pytest.approx(PlainMdl().score(table, dag))
        assert len(both.trace_) == len(both.moves_) + 1
        ends.add(np.sign(round(first.trace_[-1] - last.trace_[-1], 6)))
    assert len(ends) > 1


def test_what_a_shake_improves_is_one_move_and_the_end_a_local_optimum():
    """On this table both climbs end below; every trace is of strictly better graphs, each reached by its move."""
    table = make_table(1, features=9, rows=400, states=3)
    start = [[] for _ in table.names]
    ends = []
    for last_of_ties in (False, True):
        search = GreedySearch(bnplug.score_function("mdl").evaluator(table), start, "test")
        search.last_of_ties = last_of_ties
        climb(search, Neighbourhood(Graph(start)), table.names)
        ends.append(search.trace[-1])
    learner = HillClimb("mdl", "empty")
    dag = learner.learn(table)
    assert learner.trace_[-1] > max(ends) + 1e-6
    assert (np.diff(learner.trace_) > 0).all()
    shaken = [move for move in learner.moves_ if "," in move]
    assert shaken
    single = ", ".join(learner.moves_).split(", ")
    assert list(replay(table, "empty", single))[-1] == set(dag.edges)
    score = bnplug.score_function("mdl")
    for graph in neighbours(dag):
        assert score.score(table, table.dag(parents_of(table, graph))) <= learner.trace_[-1] + 1e-9


@pytest.mark.parametrize("start", ["nb", "empty"])
@pytest.mark.parametrize("seed", range(3))
def test_without_shaking_a_decomposable_score_is_climbed_once_and_plainly(start, seed):
    table = make_table(seed, features=9, rows=400, states=3)
    parents = table.naive_bayes() if start == "nb" else [[] for _ in table.names]
    search = GreedySearch(bnplug.score_function("mdl").evaluator(table), parents, "test")
    climb(search, Neighbourhood(Graph(parents)), table.names)
    learner = HillClimb("mdl", start, shake=False)
    assert table.parents(learner.learn(table)) == search.parents
    assert (learner.moves_, learner.trace_) == (search.moves, search.trace)
    assert learner.n_evaluations_ == search.evaluator.n_evaluations


def test_shaking_leaves_fixed_edges_alone():
    table = make_table(1, features=9, rows=400, states=3)
    whitelist = [("x1", "x5"), ("x9", "class")]
    dag = HillClimb("mdl", "empty", whitelist=whitelist, blacklist=[("x2", "x3")], max_parents=2).learn(table)
    assert set(whitelist) <= set(dag.edges)
    assert ("x2", "x3") not in dag.edges
    assert max(dict(dag.in_degree).values()) <= 2


def test_ties_go_to_the_first_move_and_no_gain_is_no_move():
    table = make_table()
    learner = HillClimb(Edges(), "empty", max_iter=2)
    learner.learn(table)
    assert learner.moves_ == ["add x1 -> x2", "add x1 -> x3"]
    learner = HillClimb(FewerEdges(), "nb", max_iter=1)
    learner.learn(table)
    assert learner.moves_ == ["delete class -> x1"]
    learner = HillClimb(Constant(), "nb")
    learner.learn(table)
    assert learner.moves_ == []
    assert learner.trace_ == [1.0]


def test_max_parents_counts_the_class():
    table = make_table(features=5)
    for limit in (1, 2):
        dag = HillClimb(Edges(), max_parents=limit).learn(table)
        assert max(dag.in_degree(name) for name in table.names) == limit
        # No edge is left to add: from any other graph within the limit one could.
        assert len(dag.edges) == sum(min(limit, position) for position in range(6))


def test_a_tree_is_a_tree_over_the_features():
    table = make_table(features=6)
    dag = HillClimb(Edges(), tree=True).learn(table)
    assert set(dag.successors("class")) == {f"x{i}" for i in range(1, 7)}
    assert not list(dag.predecessors("class"))
    tree = dag.subgraph([name for name in table.names if name != "class"]).to_undirected()
    assert nx.is_tree(nx.Graph(tree))


def test_complete_goes_on_downhill_to_a_whole_tree():
    table = make_table(features=6)
    learner = HillClimb(FewerEdges(), tree=True, complete=True)
    dag = learner.learn(table)
    assert len(dag.edges) == 6 + 5
    assert learner.trace_ == [-6.0, -7.0, -8.0, -9.0, -10.0, -11.0]
    assert len(HillClimb(FewerEdges(), tree=True).learn(table).edges) == 6


def test_whitelisted_edges_stay_and_blacklisted_ones_never_come():
    table = make_table(features=4)
    listed = [("x4", "x1"), ("x3", "class")]
    dag = HillClimb(FewerEdges(), "nb", whitelist=listed).learn(table)
    assert set(dag.edges) == set(listed)
    forbidden = [("x1", "x2"), ("x2", "x1"), ("class", "x3"), ("x3", "class")]
    dag = HillClimb(Edges(), "nb", blacklist=forbidden).learn(table)
    assert not set(dag.edges) & set(forbidden)
    assert len(dag.edges) == 5 * 4 / 2 - 2


def test_start_is_a_graph_or_a_list_of_edges():
    table = make_table(features=3)
    edges = [("x1", "class"), ("class", "x2")]
    for start in (edges, nx.DiGraph(edges), table.dag([[], [3], [], [0]])):
        assert set(HillClimb(Constant(), start).learn(table).edges) == set(edges)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"start": "naive"}, "'naive' is not"),
        ({"start": [("x1", "y")]}, "no variable 'y'"),
        ({"start": ["x1"]}, "pair"),
        ({"start": [("x1", "x2"), ("x2", "x1")]}, "cycle"),
        ({"start": [("x1", "x2")], "blacklist": [("x1", "x2")]}, "blacklist"),
        ({"whitelist": [("x1", "x2")], "blacklist": [("x1", "x2")]}, "blacklist"),
        ({"max_parents": 0}, "max_parents=0"),
        ({"max_parents": -1}, "negative"),
        ({"max_iter": -1}, "negative"),
        ({"max_time": 0}, "positive"),
        ({"complete": True}, "tree=True"),
        ({"tree": True, "start": [("x1", "x3"), ("x2", "x3")]}, "one feature parent"),
    ],
)
def test_what_cannot_be_is_said(parameters, message):
    with pytest.raises(ValueError, match=message):
        HillClimb(**{"score": Constant(), **parameters}).learn(make_table())


def test_max_iter_is_the_number_of_moves():
    learner = HillClimb(Edges(), "empty", max_iter=2)
    assert len(learner.learn(make_table()).edges) == 2
    assert not HillClimb(Edges(), "empty", max_iter=0).learn(make_table()).edges


def test_an_interrupt_returns_the_graph_found_so_far():
    table = make_table()
    # The start, then 12 candidates and a commit for the first move, then the interrupt in the second step.
    learner = HillClimb(Edges(interrupt_after=18), "empty")
    with pytest.warns(SearchWarning, match="interrupted; the best graph so far is returned, 1 moves"):
        dag = learner.learn(table)
    assert set(dag.edges) == {("x1", "x2")}
    assert learner.trace_ == [0.0, 1.0]


def test_an_interrupt_in_the_second_climb_returns_the_end_of_the_first():
    class Interrupted(DecomposableEvaluator):
        climbs = 0

        def step(self):
            self.climbs += not any(self.parents)
            if self.climbs == 2:
                raise KeyboardInterrupt
            return super().step()

    class Score(PlainMdl):
        def evaluator(self, table, n_jobs=1):
            return Interrupted(table)

    table = make_table(1, features=4)
    learner, first = HillClimb(Score(), "empty"), HillClimb(PlainMdl(), "empty")
    with pytest.warns(SearchWarning, match="interrupted"):
        dag = learner.learn(table)
    assert set(dag.edges) == set(first.learn(table).edges)
    assert learner.moves_ == first.moves_


def test_an_interrupt_in_the_middle_of_a_move_leaves_none_of_it():
    """A reversal changes two families; with one of them alone, both directions of the edge could be in the graph."""

    class Interrupted(dict):
        def items(self):
            yield 1, [0, 2]
            raise KeyboardInterrupt

    table = make_table()
    search = GreedySearch(PlainMdl().evaluator(table), [[1], [], [], []], "test")
    with pytest.warns(SearchWarning, match="interrupted"), search.running():
        search.commit(Interrupted({0: [], 1: [0, 2]}), "reverse")
    assert search.parents == [[1], [], [], []]
    assert (len(search.trace), search.moves) == (1, [])


def test_time_that_is_up_returns_the_graph_found_so_far():
    learner = HillClimb(Edges(seconds=0.005), "empty", max_time=0.15)
    started = time.monotonic()
    with pytest.warns(SearchWarning, match=r"max_time=0.15"):
        dag = learner.learn(make_table(features=8))
    assert time.monotonic() - started < 5
    assert len(dag.edges) == len(learner.moves_) < 8 * 9 / 2


def test_a_score_that_is_nan_is_named():
    class Broken(ScoreFunction):
        def score(self, table, dag):
            return 0.0 if not dag.edges else float("nan")

    with pytest.raises(ContractError, match="nan"):
        HillClimb(Broken(), "empty").learn(make_table())


def test_from_minus_infinity_any_finite_score_is_better():
    class Ladder(ScoreFunction):
        def score(self, table, dag):
            return 0.0 if ("x1", "x2") in dag.edges else -np.inf

    learner = HillClimb(Ladder(), "empty")
    assert set(learner.learn(make_table()).edges) == {("x1", "x2")}
    assert learner.trace_ == [-np.inf, 0.0]


def test_a_score_that_is_drawn_anew_is_compared_on_the_same_draw():
    """Each step, the current graph and its neighbours are scored on the step's own draw."""

    class Redrawing(DecomposableEvaluator):
        decomposable = False
        offset = 0.0

        def step(self):
            self.offset -= 1000.0
            return self.value + self.offset

        def propose(self, changes):
            return super().propose(changes) + self.offset

    class Redrawn(PlainMdl):
        def evaluator(self, table, n_jobs=1):
            return Redrawing(table)

    table = make_table(2, features=4)
    redrawn, plain = HillClimb(Redrawn(), "empty"), HillClimb(PlainMdl(), "empty")
    redrawn.learn(table)
    plain.learn(table)
    assert redrawn.moves_ == plain.moves_


def test_it_is_quiet_unless_verbose(capsys):
    HillClimb(Edges(), "empty").learn(make_table())
    assert capsys.readouterr() == ("", "")
    HillClimb(Edges(), "empty", verbose=2).learn(make_table())
    out, err = capsys.readouterr()
    lines = err.splitlines()
    assert out == ""
    assert len(lines) == 6 + 1
    assert lines[0].startswith("hill-climb: 1 moves, score 1, ")
    assert lines[0].endswith(": add x1 -> x2")
    assert "evaluations" in lines[-1]
    assert "per second" in lines[-1]


def test_learning_changes_neither_the_learner_nor_its_score():
    score = Edges()
    learner = HillClimb(score, "empty", blacklist=[("x1", "x2")])
    before = learner.get_params()
    first = learner.learn(make_table())
    assert learner.get_params() == before
    assert not hasattr(score, "calls_")
    assert set(clone(learner).learn(make_table()).edges) == set(first.edges)


PROGRAM = """
import numpy as np, pandas as pd
from bnplug.builtin.structures.hill_climb import HillClimb
from bnplug.data.table import Table
rng = np.random.default_rng(5)
frame = pd.DataFrame(rng.integers(0, 3, (80, 6)), columns=list("fedcba"))
for child, parent in ["bf", "db", "cd", "ad"]:
    frame[child] = frame[parent].where(rng.random(80) < 0.6, frame[child])
learner = HillClimb("mdl", "empty", max_parents=2)
print(list(learner.learn(Table.from_frame(frame, "a")).edges), learner.trace_, learner.moves_)
"""


def test_the_hash_seed_plays_no_part(capsys):
    exec(PROGRAM, {})
    here = capsys.readouterr().out
    other_seed = "2" if os.environ.get("PYTHONHASHSEED") == "1" else "1"
    there = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env={**os.environ, "PYTHONHASHSEED": other_seed},
        capture_output=True,
        text=True,
        check=True,
    )
    assert here == there.stdout
    assert "->" in here
