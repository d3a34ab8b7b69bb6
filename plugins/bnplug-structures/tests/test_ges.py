"""ges moves between equivalence classes by valid operators, and recovers the class that generated the data."""

from itertools import combinations, product

import numpy as np
import pandas as pd
import pytest
from bnplug_structures.classes import DELETE, INSERT, TURN, apply_operator, extend, fill_class, list_operators

import bnplug
from bnplug import Structure, Table, score_function, structure_learner
from bnplug.testing.data import without_class


def random_dag(rng, n, density=0.5):
    order = rng.permutation(n)
    dag = np.zeros((n, n), dtype=bool)
    for i, j in combinations(range(n), 2):
        dag[order[i], order[j]] = rng.random() < density
    return dag


def class_of(dag):
    graph = np.empty_like(dag)
    fill_class(dag, graph)
    return graph


def is_acyclic(dag):
    left = dag.copy()
    for _ in range(len(dag)):
        left = left @ dag
    return not left.any()


def members(graph):
    """Yield all graphs of a class."""
    lines = [(u, v) for u, v in np.argwhere(graph & graph.T).tolist() if u < v]
    for flips in product((False, True), repeat=len(lines)):
        dag = graph & ~graph.T
        for (u, v), flipped in zip(lines, flips, strict=True):
            dag[(v, u) if flipped else (u, v)] = True
        if is_acyclic(dag) and (class_of(dag) == graph).all():
            yield dag


def neighbors(graph, kind):
    """Return the classes of the graphs that differ by one edge from a member of a class."""
    found = set()
    for dag in members(graph):
        for x, y in product(range(len(dag)), repeat=2):
            changed = dag.copy()
            if x == y or dag[x, y] != (kind == DELETE) or dag[y, x] != (kind == TURN):
                continue
            changed[y, x] = False
            changed[x, y] = kind != DELETE
            if is_acyclic(changed):
                found.add(class_of(changed).tobytes())
    return found - {graph.tobytes()}


def operators(graph, kind):
    n = len(graph)
    xs, bounds, cliques = np.empty(4096, np.int64), np.empty(4097, np.int64), np.empty(9999, np.int64)
    for y in range(n):
        size = list_operators(graph, kind, y, ~np.eye(n, dtype=bool), n, xs, bounds, cliques)
        for i in range(size):
            yield int(xs[i]), y, cliques[bounds[i] : bounds[i + 1]].copy()


def parents(dag, v):
    return np.flatnonzero(dag[:, v]).tolist()


@pytest.mark.parametrize("kind", [INSERT, DELETE, TURN])
@pytest.mark.parametrize("seed", range(12))
def test_valid_operators_lead_to_exactly_the_neighboring_classes(kind, seed):
    rng = np.random.default_rng(seed)
    graph = class_of(random_dag(rng, 5, rng.uniform(0.3, 0.9)))
    reached = set()
    for x, y, clique in operators(graph, kind):
        dag = np.empty_like(graph)
        if apply_operator(graph, kind, x, y, clique, dag):
            # The gain is computed from these parents.
            of_y = {*parents(graph & ~graph.T, y), *clique.tolist()} - {x}
            assert set(parents(dag, y)) == of_y | ({x} if kind != DELETE else set())
            reached.add(class_of(dag).tobytes())
    assert reached == neighbors(graph, kind)


@pytest.mark.parametrize("seed", range(20))
def test_classes_are_those_of_structures_and_have_extensions(seed):
    dag = random_dag(np.random.default_rng(seed), 7)
    graph, other = class_of(dag), np.empty_like(dag)
    expected = Structure("abcdefg", [parents(dag, v) for v in range(7)]).cpdag()
    arrows = [("abcdefg"[u], "abcdefg"[v]) for u, v in np.argwhere(graph & ~graph.T)]
    assert (set(arrows), (graph & graph.T).sum()) == (set(expected.directed), 2 * len(expected.undirected))
    assert extend(graph, other)
    assert (class_of(other) == graph).all()


def test_a_graph_without_extension_is_refused():
    square = np.zeros((4, 4), dtype=bool)
    square[[0, 1, 2, 3], [1, 2, 3, 0]] = square[[1, 2, 3, 0], [0, 1, 2, 3]] = True
    assert not extend(square, np.empty_like(square))


def exact_table(rng, dag, rows=1e6):
    """Return all configurations, weighted by their probabilities under random parameters that depend on each parent."""
    n = len(dag)
    codes = np.array(list(product((0, 1), repeat=n)))
    weights = np.full(len(codes), rows)
    for v in range(n):
        effects = rng.choice([-1, 1], n) * rng.uniform(0.8, 2.0, n) * dag[:, v]
        logit = rng.uniform(-0.5, 0.5) + (2 * codes - 1) @ effects
        weights *= 1 / (1 + np.exp(np.where(codes[:, v], -logit, logit)))
    frame = pd.DataFrame(codes, columns=list("abcdefgh")[:n])
    return without_class(Table.from_frame(frame, "a", weights))


@pytest.mark.parametrize("score", ["bdeu", "mdl"])
@pytest.mark.parametrize("seed", range(10))
def test_it_recovers_the_generating_class_from_exact_probabilities(score, seed):
    rng = np.random.default_rng(seed)
    dag = random_dag(rng, 6, 0.4)
    table = exact_table(rng, dag)
    truth = Structure(table.names, [parents(dag, v) for v in range(6)])
    learned = structure_learner("ges", score=score).learn(table)
    assert learned.pdag == learned.structure.cpdag() == truth.cpdag()


def dependent_rows(seed, n_rows=400):
    rng = np.random.default_rng(seed)
    a, b, d = rng.integers(0, 2, (3, n_rows))
    c = np.where(rng.random(n_rows) < 0.8, a ^ b, rng.integers(0, 2, n_rows))
    e = np.where(rng.random(n_rows) < 0.7, c + d, rng.integers(0, 3, n_rows))
    return Table.from_frame(pd.DataFrame({"a": a, "b": b, "c": c, "d": d, "e": e}), "c")


def test_the_trace_holds_the_scores_of_the_classes():
    table = dependent_rows(0)
    learner = structure_learner("ges", score="bdeu")
    learned = learner.learn(table)
    assert learner.trace_[-1] == pytest.approx(score_function("bdeu").score(table, learned.structure))
    assert np.all(np.diff(learner.trace_) > 0)
    assert len(learner.moves_) == len(learner.trace_) - 1


def test_constraints_hold_and_the_class_shows_them():
    table = dependent_rows(1)
    free = structure_learner("ges").learn(table)
    assert ("c", "e") in free.structure.edges or ("e", "c") in free.structure.edges
    learner = structure_learner(
        "ges", tiers=[["e"], ["a", "b", "c", "d"]], required=[("b", "a")], forbidden=[("d", "c")]
    )
    learned = learner.learn(table)
    assert ("b", "a") in learned.structure.edges
    assert ("b", "a") in learned.pdag.directed
    assert ("d", "c") not in learned.structure.edges
    assert not any(child == "e" for _, child in learned.structure.edges)
    assert any("e" in edge for edge in learned.structure.edges)


def test_max_parents_holds():
    table = dependent_rows(2)
    assert max(map(len, structure_learner("ges", score="ll", max_parents=2).learn(table).structure.parents)) == 2
    assert structure_learner("ges", score="ll", max_parents=0).learn(table).structure.edges == ()
    with pytest.raises(ValueError, match=r"the parents \['a', 'b'\] of 'c' are required; max_parents=1"):
        structure_learner("ges", max_parents=1, required=[("a", "c"), ("b", "c")]).learn(table)


def test_scores_that_differ_between_equivalent_graphs_are_refused():
    for score in ("k2", score_function("k2")):
        with pytest.raises(ValueError, match=r"equivalent graphs; 'k2' is not\. Use 'bdeu', 'll', 'mdl'"):
            structure_learner("ges", score=score).learn(dependent_rows(0))
    assert "k2" not in [method.name for method in bnplug.methods("score", score_equivalent=True)]


def test_unknown_phases_are_refused():
    with pytest.raises(ValueError, match="is not a sequence of 'forward', 'backward', 'turning'"):
        structure_learner("ges", phases=["sideways"]).learn(dependent_rows(0))
