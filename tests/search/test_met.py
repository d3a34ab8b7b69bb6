"""The best graphs that a search was at: each once, the best first, and never too many."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from bnplug import Table, structure_learner
from bnplug.datasets import tic_tac_toe
from bnplug.search import TopGraphs

GRAPHS = st.lists(st.tuples(st.integers(0, 5), st.sampled_from([((), ()), ((1,), ()), ((), (0,))])), max_size=30)


@given(GRAPHS)
def test_each_graph_is_there_once_by_its_highest_score(told):
    met = TopGraphs()
    for score, parents in told:
        met.add(score, parents)
    highest = {}
    for score, parents in told:
        highest[parents] = max(score, highest.get(parents, score))
    order = sorted(highest, key=lambda graph: -highest[graph])
    names = "ab"
    assert met.edges(names) == [[(names[p], names[v]) for v in (0, 1) for p in graph[v]] for graph in order]


def test_what_is_kept_is_the_best_of_many():
    met = TopGraphs(most=3)
    scores = np.random.RandomState(0).permutation(50)
    graphs = [[sorted({v for v in range(6) if (number >> v) & 1}), *[[]] * 6] for number in range(50)]
    for score, graph in zip(scores, graphs, strict=True):
        met.add(float(score), graph)
    best = [graphs[number] for number in np.argsort(-scores)[:3]]
    names = "abcdefg"
    assert met.edges(names) == [[(names[p], "a") for p in graph[0]] for graph in best]


def test_a_climb_leaves_the_graphs_on_its_way():
    X, y = tic_tac_toe()
    table = Table.from_frame(X.assign(c=np.asarray(y)), "c")
    climb = structure_learner("hill-climb", score="cr", max_iter=4)
    found = set(climb.learn(table).edges)
    assert len(climb.best_structures_) == len(climb.moves_) + 1
    assert set(climb.best_structures_[0]) == found
    assert climb.best_structures_[-1] == [("c", name) for name in X.columns]
