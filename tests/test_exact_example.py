"""The exact learner of the examples finds the best of all graphs."""

from __future__ import annotations

import runpy
from itertools import combinations, product
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
from scoring import slow
from strategies import seeds

from bnplug import score_function, structure_learner

EXAMPLE = runpy.run_path(str(Path(__file__).parents[1] / "examples" / "exact_dynamic_programming.py"))
ExactLearner = EXAMPLE["ExactLearner"]


def all_graphs(n):
    """The parents of every variable in each directed acyclic graph."""
    choices = [[p for k in range(n) for p in combinations([u for u in range(n) if u != v], k)] for v in range(n)]
    for parents in product(*choices):
        graph = nx.DiGraph([(u, v) for v, family in enumerate(parents) for u in family])
        if nx.is_directed_acyclic_graph(graph):
            yield parents


GRAPHS = list(all_graphs(4))


def test_there_are_as_many_graphs_of_four_variables_as_robinson_counted():
    assert len(GRAPHS) == 543


@pytest.mark.parametrize("name", ["bdeu", "k2", "mdl"])
@pytest.mark.parametrize("max_parents", [None, 1])
@pytest.mark.parametrize("seed", seeds(4))
def test_the_graph_is_the_best_of_all(name, max_parents, seed):
    table = slow.random_table(
        np.random.default_rng(seed), 60, (3, 2, 2, 3), 1, weighted=seed % 2 == 1, missing=0.1 * (seed // 2 % 2)
    )
    score = score_function(name)
    learner = ExactLearner(score=name, max_parents=max_parents)
    dag = learner.learn(table)
    allowed = [parents for parents in GRAPHS if max_parents is None or max(map(len, parents)) <= max_parents]
    assert score.score(table, dag) == pytest.approx(learner.score_, rel=1e-12)
    assert learner.score_ == pytest.approx(max(score.evaluator(table).start(p) for p in allowed), rel=1e-12)
    if max_parents:
        assert max(map(len, dag.parents)) <= max_parents


def test_no_greedy_search_finds_a_better_graph():
    table = slow.random_table(np.random.default_rng(9), 300, (3, 2, 2, 3, 4, 2, 3, 2), 0)
    greedy = structure_learner("hill-climb", score="mdl", start="empty")
    greedy.learn(table)
    learner = ExactLearner("mdl")
    learner.learn(table)
    assert learner.score_ >= greedy.trace_[-1] - 1e-9


def test_what_it_cannot_do_is_refused():
    table = slow.random_table(np.random.default_rng(0), 20, (2,) * 21, 0)
    with pytest.raises(ValueError, match="21 variables"):
        ExactLearner().learn(table)
    with pytest.raises(TypeError, match="HitRate is not decomposable"):
        ExactLearner("cr").learn(slow.random_table(np.random.default_rng(0), 20, (2, 2), 0))
