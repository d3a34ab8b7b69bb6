"""Climbing on from a local optimum ends no lower, and is one move."""

from __future__ import annotations

import numpy as np
import pytest
from search.toys import (
    DecomposableMdl,
    PlainMdl,
    make_table,
    neighbours,
    parents_of,
    replay,
)

import bnplug
from bnplug import Structure
from bnplug.builtin.structures.hill_climb import HillClimb
from bnplug.search import Graph, GreedySearch, Neighbourhood, climb
from bnplug.table.table import Table


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
        assert score.score(table, Structure(table.names, parents_of(table, graph))) <= learner.trace_[-1] + 1e-9


@pytest.mark.parametrize("start", ["nb", "empty"])
@pytest.mark.parametrize("seed", range(3))
def test_without_shaking_a_decomposable_score_is_climbed_once_and_plainly(start, seed):
    table = make_table(seed, features=9, rows=400, states=3)
    parents = table.naive_bayes() if start == "nb" else [[] for _ in table.names]
    search = GreedySearch(bnplug.score_function("mdl").evaluator(table), parents, "test")
    climb(search, Neighbourhood(Graph(parents)), table.names)
    learner = HillClimb("mdl", start, shake=False)
    assert learner.learn(table) == Structure(table.names, search.parents)
    assert (learner.moves_, learner.trace_) == (search.moves, search.trace)
    assert learner.n_evaluations_ == search.evaluator.n_evaluations


def test_shaking_leaves_fixed_edges_alone():
    table = make_table(1, features=9, rows=400, states=3)
    required = [("x1", "x5"), ("x9", "class")]
    dag = HillClimb("mdl", "empty", required=required, forbidden=[("x2", "x3")], max_parents=2).learn(table)
    assert set(required) <= set(dag.edges)
    assert ("x2", "x3") not in dag.edges
    assert max(map(len, dag.parents)) <= 2
