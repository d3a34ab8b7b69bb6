"""Hill climbing ends at a local optimum, within its limits, and always at the same one."""

from __future__ import annotations

import os
import subprocess
import sys
import time

import networkx as nx
import numpy as np
import pytest
from search.toys import (
    Constant,
    DecomposableEvaluator,
    DecomposableMdl,
    Edges,
    FewerEdges,
    PlainMdl,
    make_table,
    neighbours,
    parents_of,
    replay,
)
from sklearn.base import clone
from strategies import seeds

import bnplug
from bnplug import Structure
from bnplug.builtin.structures.hill_climb import HillClimb
from bnplug.contracts import Resamples, ScoreFunction
from bnplug.datasets import tic_tac_toe
from bnplug.errors import ContractError, SearchWarning


@pytest.mark.parametrize("start", ["nb", "empty"])
@pytest.mark.parametrize("score", [PlainMdl(), DecomposableMdl()])
@pytest.mark.parametrize("seed", seeds(4))
def test_the_end_is_a_local_optimum(start, score, seed):
    table = make_table(seed)
    learner = HillClimb(score, start)
    dag = learner.learn(table)
    reached = score.score(table, dag)
    assert learner.trace_[-1] == pytest.approx(reached)
    best = max(score.score(table, Structure(table.names, parents_of(table, graph))) for graph in neighbours(dag))
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
        assert score.score(table, Structure(table.names, parents_of(table, graph))) <= reached + 1e-9


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
        best = max(score.score(table, Structure(table.names, parents_of(table, other))) for other in neighbours(graph))
        assert value == pytest.approx(best)


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
        assert max(len(dag.by_name[name]) for name in table.names) == limit
        # No edge is left to add: from any other graph within the limit one could.
        assert len(dag.edges) == sum(min(limit, position) for position in range(6))


def test_a_tree_is_a_tree_over_the_features():
    table = make_table(features=6)
    dag = HillClimb(Edges(), tree=True).learn(table)
    assert {child for parent, child in dag.edges if parent == "class"} == {f"x{i}" for i in range(1, 7)}
    assert dag.by_name["class"] == ()
    tree = dag.to_dag().subgraph([name for name in table.names if name != "class"]).to_undirected()
    assert nx.is_tree(nx.Graph(tree))


def test_complete_goes_on_downhill_to_a_whole_tree():
    table = make_table(features=6)
    learner = HillClimb(FewerEdges(), tree=True, complete=True)
    dag = learner.learn(table)
    assert len(dag.edges) == 6 + 5
    assert learner.trace_ == [-6.0, -7.0, -8.0, -9.0, -10.0, -11.0]
    assert len(HillClimb(FewerEdges(), tree=True).learn(table).edges) == 6


def test_requireded_edges_stay_and_forbiddened_ones_never_come():
    table = make_table(features=4)
    listed = [("x4", "x1"), ("x3", "class")]
    dag = HillClimb(FewerEdges(), "nb", required=listed).learn(table)
    assert set(dag.edges) == set(listed)
    forbidden = [("x1", "x2"), ("x2", "x1"), ("class", "x3"), ("x3", "class")]
    dag = HillClimb(Edges(), "nb", forbidden=forbidden).learn(table)
    assert not set(dag.edges) & set(forbidden)
    assert len(dag.edges) == 5 * 4 / 2 - 2


def test_start_is_a_graph_or_a_list_of_edges():
    table = make_table(features=3)
    edges = [("x1", "class"), ("class", "x2")]
    for start in (edges, nx.DiGraph(edges), Structure(table.names, [[], [3], [], [0]])):
        assert set(HillClimb(Constant(), start).learn(table).edges) == set(edges)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"start": "naive"}, "'naive' is not"),
        ({"start": [("x1", "y")]}, "start names 'y', which is not a variable"),
        ({"start": ["x1"]}, "pair"),
        ({"start": [("x1", "x2"), ("x2", "x1")]}, "cycle"),
        ({"start": [("x1", "x2")], "forbidden": [("x1", "x2")]}, "forbidden"),
        ({"required": [("x1", "x2")], "forbidden": [("x1", "x2")]}, "forbidden"),
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
    class Interrupted(DecomposableEvaluator, Resamples):
        climbs = 0

        def step(self):
            self.climbs += not any(self.parents)
            if self.climbs == 2:
                raise KeyboardInterrupt
            return self.value

    class Score(PlainMdl):
        def evaluator(self, table, n_jobs=1):
            return Interrupted(table)

    table = make_table(1, features=4)
    learner, first = HillClimb(Score(), "empty"), HillClimb(PlainMdl(), "empty")
    with pytest.warns(SearchWarning, match="interrupted"):
        dag = learner.learn(table)
    assert set(dag.edges) == set(first.learn(table).edges)
    assert learner.moves_ == first.moves_


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

    class Redrawing(DecomposableEvaluator, Resamples):
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
    learner = HillClimb(score, "empty", forbidden=[("x1", "x2")])
    before = learner.get_params()
    first = learner.learn(make_table())
    assert learner.get_params() == before
    assert not hasattr(score, "calls_")
    assert set(clone(learner).learn(make_table()).edges) == set(first.edges)


PROGRAM = """
import numpy as np, pandas as pd
from bnplug.builtin.structures.hill_climb import HillClimb
from bnplug.table.table import Table
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


def test_evaluations_are_those_at_each_entry_of_the_trace():
    learner = bnplug.structure_learner("hill-climb", score="mdl", shake=False)
    learner.learn(bnplug.encode_training(*tic_tac_toe())[0])
    assert len(learner.evaluations_) == len(learner.trace_)
    assert learner.evaluations_ == sorted(learner.evaluations_)
    # What is looked at after the last move improves nothing.
    assert 0 <= learner.evaluations_[0] < learner.evaluations_[-1] < learner.n_evaluations_
