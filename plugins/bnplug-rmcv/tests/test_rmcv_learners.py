"""Searches by risk end at a local optimum, within their limits, and say what matters."""

from __future__ import annotations

from itertools import permutations

import networkx as nx
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import PredefinedSplit

import bnplug
from bnplug import Structure
from bnplug.table.table import Table

LEARNERS = ["rmcv", "rmho", "rmho-f", "rmho-ar"]
NOISE = 1e-12


def noisy_table(seed, n_rows=90, n_features=3, n_classes=3):
    """A class that two features tell together, and features that follow one of them."""
    rng = np.random.default_rng(seed)
    features = rng.integers(0, 3, (n_features, n_rows))
    labels = np.where(rng.random(n_rows) < 0.8, features[0] + features[1], rng.integers(0, 9, n_rows)) % n_classes
    for v in range(2, n_features):
        copied = rng.random(n_rows) < 0.5
        features[v] = np.where(copied, features[v % 2], features[v])
    names = [f"x{v}" for v in range(n_features)] + ["c"]
    states = {name: range(3) for name in names[:-1]} | {"c": range(n_classes)}
    return Table(np.vstack([features, labels]).astype(np.uint8), names, states, "c")


def neighbours(dag, reversals):
    """Every graph that one added, deleted or reversed edge leads to."""
    for u, v in permutations(dag.nodes, 2):
        changed = nx.DiGraph(dag.edges)
        changed.add_nodes_from(dag.nodes)
        if dag.has_edge(u, v):
            changed.remove_edge(u, v)
            yield changed.copy()
            if reversals:
                changed.add_edge(v, u)
                yield changed
        elif not dag.has_edge(v, u):
            changed.add_edge(u, v)
            yield changed


def scored(score, table, graph):
    parents = [sorted(table.index(p) for p in graph.predecessors(name)) for name in table.names]
    return score.score(table, Structure(table.names, parents))


@pytest.mark.parametrize("start", ["nb", "empty"])
@pytest.mark.parametrize(("name", "score"), [("rmcv", "rmcv"), ("rmho-f", "rmho-f"), ("rmho-ar", "rmho-f")])
@pytest.mark.parametrize("alpha", [0.0, 1.0])
def test_no_neighbour_of_the_end_is_better(name, score, start, alpha):
    for seed in range(5):
        table = noisy_table(seed)
        learner = bnplug.structure_learner(name, start=start, alpha=alpha, random_state=seed)
        end = learner.learn(table)
        risk = bnplug.score_function(score, alpha=alpha, random_state=seed)
        value = scored(risk, table, end.to_dag())
        assert value == pytest.approx(learner.trace_[-1], abs=NOISE)
        legal = [g for g in neighbours(end.to_dag(), name != "rmho-ar") if nx.is_directed_acyclic_graph(g)]
        assert len(legal) >= 6
        assert max(scored(risk, table, graph) for graph in legal) <= value + NOISE


def test_every_move_is_the_best_there_is():
    """Replays a search: each step takes the highest score among all neighbours."""
    table = noisy_table(2)
    learner = bnplug.structure_learner("rmcv", random_state=2, alpha=0.0)
    learner.learn(table)
    risk = bnplug.score_function("rmcv", random_state=2, alpha=0.0)
    graph = nx.DiGraph([("c", name) for name in table.names[:-1]])
    assert len(learner.moves_) >= 2
    for move, reached in zip(learner.moves_, learner.trace_[1:], strict=True):
        legal = [g for g in neighbours(graph, True) if nx.is_directed_acyclic_graph(g)]
        assert max(scored(risk, table, g) for g in legal) == pytest.approx(reached, abs=NOISE)
        kind, u, _, v = move.split()
        if kind != "add":
            graph.remove_edge(u, v)
        if kind != "delete":
            graph.add_edge(*((v, u) if kind == "reverse" else (u, v)))
    assert scored(risk, table, graph) == pytest.approx(learner.trace_[-1], abs=NOISE)


@pytest.mark.parametrize("name", LEARNERS)
def test_the_trace_tells_of_every_move(name):
    table = noisy_table(4, n_rows=300, n_features=6)
    learner = bnplug.structure_learner(name, random_state=0)
    learner.learn(table)
    assert len(learner.trace_) == len(learner.moves_) + 1 > 1
    assert learner.n_evaluations_ > 0
    assert np.all(np.diff(learner.trace_) > 0)
    if name == "rmho-ar":
        assert not any(move.startswith("reverse") for move in learner.moves_)


@pytest.mark.parametrize("name", LEARNERS)
def test_the_same_model_for_the_same_seed_in_any_number_of_threads(name):
    table = noisy_table(5, n_rows=60_000, n_features=7)  # for fewer rows, threads are not worth their cost
    found = []
    for n_jobs in (1, 2, 2):
        learner = bnplug.structure_learner(name, random_state=3, n_jobs=n_jobs)
        found.append((sorted(learner.learn(table).edges), learner.trace_, learner.moves_))
    assert found[0] == found[1] == found[2]


def test_the_seed_decides_the_folds():
    table = noisy_table(6, n_rows=200, n_features=6)
    ends = {tuple(clone(bnplug.structure_learner("rmcv", random_state=seed)).learn(table).edges) for seed in range(5)}
    assert len(ends) > 1


def test_the_markov_blanket_is_parents_children_and_co_parents():
    table = noisy_table(7, n_rows=200, n_features=7)
    learner = bnplug.structure_learner("rmcv", start="empty", random_state=0)
    dag = learner.learn(table).to_dag()
    children = set(dag.successors("c"))
    wanted = set(dag.predecessors("c")) | children | {p for child in children for p in dag.predecessors(child)}
    assert learner.markov_blanket_ == [name for name in table.names if name in wanted - {"c"}]
    assert {"x0", "x1"} <= set(learner.markov_blanket_) < set(table.names)


def test_changes_outside_the_markov_blanket_are_never_scored():
    """From the empty graph only the edges to and from the class matter: 12 of 42."""
    learner = bnplug.structure_learner("rmcv", start="empty", max_iter=1, random_state=0)
    learner.learn(noisy_table(7, n_rows=200, n_features=6))
    assert learner.n_evaluations_ == 12


@pytest.mark.parametrize("name", LEARNERS)
def test_limits(name):
    table = noisy_table(8, n_rows=300, n_features=6)
    dag = bnplug.structure_learner(name, random_state=0, max_parents=2).learn(table)
    assert max(map(len, dag.parents)) <= 2
    learner = bnplug.structure_learner(name, random_state=0, max_iter=1)
    learner.learn(table)
    assert len(learner.moves_) == 1


def test_starts():
    table = noisy_table(9)
    edges = [("x0", "c"), ("x1", "c")]
    for start in (edges, Structure(table.names, [[], [], [], [0, 1]])):
        learner = bnplug.structure_learner("rmcv", start=start, max_iter=0, random_state=0)
        assert sorted(learner.learn(table).edges) == edges
    with pytest.raises(ValueError, match="start='tan'"):
        bnplug.structure_learner("rmcv", start="tan").learn(table)


def test_rmho_needs_a_limit():
    with pytest.raises(ValueError, match="give a number as max_iter"):
        bnplug.structure_learner("rmho", max_iter=None).learn(noisy_table(0))


@pytest.mark.parametrize("start", ["nb", "empty"])
@pytest.mark.parametrize("keep", [True, False])
def test_rmho_compares_with_the_kept_score_or_with_one_of_the_same_draw(keep, start):
    """A plain climb by scores of draws that are made one after the other ends at the same graph."""
    ends = set()
    for seed in range(4):
        table = noisy_table(seed, n_features=4)
        learner = bnplug.structure_learner("rmho", start=start, random_state=seed, keep=keep, max_iter=12)
        end = learner.learn(table)
        graph, trace = slow_rmho(table, start, seed, keep, max_iter=12)
        assert learner.trace_ == pytest.approx(trace, abs=NOISE)
        assert set(end.edges) == set(graph.edges)
        ends.add(len(trace))
        assert not keep or np.all(np.diff(trace) > 0)
    assert len(ends) > 1


def slow_rmho(table, start, seed, keep, max_iter):
    """Draw rows at every step, score every neighbour on them, go to the first of the best if it is better."""
    random, score = np.random.RandomState(seed), bnplug.score_function("rmho-f")
    graph = nx.DiGraph([("c", name) for name in table.names[:-1]] if start == "nb" else [])
    graph.add_nodes_from(table.names)

    def drawn():
        folds = score.folds(table, random)
        return bnplug.score_function("cr", cv=PredefinedSplit(folds))

    trace = [scored(drawn(), table, graph)]
    while len(trace) <= max_iter:
        risk = drawn()
        value = trace[-1] if keep else scored(risk, table, graph)
        legal = [g for g in ordered_neighbours(table, graph) if nx.is_directed_acyclic_graph(g)]
        scores = [scored(risk, table, g) for g in legal]
        if max(scores) <= value + NOISE:
            return graph, trace
        best = next(n for n, one in enumerate(scores) if one >= max(scores) - NOISE)
        graph = legal[best]
        trace.append(scores[best])
    return graph, trace


def ordered_neighbours(table, graph):
    """Deletions, reversals, additions; each by the position of the parent, then of the child."""
    edges = sorted(graph.edges, key=lambda edge: [table.index(name) for name in edge])
    for reverse in (False, True):
        for u, v in edges:
            changed = graph.copy()
            changed.remove_edge(u, v)
            if reverse:
                changed.add_edge(v, u)
            yield changed
    for u, v in permutations(table.names, 2):
        if not graph.has_edge(u, v):
            changed = graph.copy()
            changed.add_edge(u, v)
            yield changed


def test_features_that_do_not_matter_stay_out():
    """Corral's rule needs four features; from the empty graph the irrelevant ones are not taken in."""
    X, y = bnplug_corral()
    model = bnplug.recipe("RMCV", random_state=0).fit(X, y)
    assert model.score(X, y) == 1.0
    assert model.structure_.markov_blanket_ == model.markov_blanket()


def bnplug_corral():
    from bnplug import datasets

    corral = datasets.load("corral")
    return corral.X, corral.y
