"""`mcmc`: probabilities of edges against the enumeration of all graphs, chains, limits and constraints."""

from itertools import permutations, product

import bnplug_structures.mcmc as mcmc
import networkx as nx
import numpy as np
import pandas as pd
import pytest
from bnplug_structures.mcmc import StructureMCMC

from bnplug import Table, score_function
from bnplug.errors import SearchInterruptedWarning, SearchWarning
from bnplug.table.block_table import BlockTable

NAMES = "abcd"
PAIRS = list(permutations(range(4), 2))


def table_of(seed, n_rows=60, strength=0.8):
    random = np.random.RandomState(seed)
    a, b = random.randint(2, size=n_rows), random.randint(3, size=n_rows)
    c = np.where(random.rand(n_rows) < strength, (a + b) > 1, random.randint(2, size=n_rows))
    d = np.where(random.rand(n_rows) < strength, c + a, random.randint(3, size=n_rows))
    return Table.from_frame(pd.DataFrame({"a": a, "b": b, "c": c, "d": d}, dtype=int), "d")


def all_graphs():
    """Yield the parents in each of the 543 acyclic graphs of four variables."""
    for chosen in product((False, True), repeat=len(PAIRS)):
        edges = [edge for edge, there in zip(PAIRS, chosen, strict=True) if there]
        if any((v, u) in edges for u, v in edges):
            continue
        graph = nx.DiGraph(edges)
        if nx.is_directed_acyclic_graph(graph):
            yield [[u for u, w in edges if w == v] for v in range(4)]


GRAPHS = list(all_graphs())


def posterior(table, score, max_parents=3, allowed=lambda edges: True):
    """Return the probability of each edge, and the best score."""
    evaluator, graphs, values = score.evaluator(table), [], []
    for parents in GRAPHS:
        edges = {(NAMES[u], NAMES[v]) for v, family in enumerate(parents) for u in family}
        if max(map(len, parents)) <= max_parents and allowed(edges):
            graphs.append([[u in family for family in parents] for u in range(4)])
            values.append(evaluator.start(parents))
    weights = np.exp(np.array(values) - max(values))
    return np.tensordot(weights / weights.sum(), np.array(graphs, dtype=float), 1), max(values)


def test_there_are_543_graphs():
    assert len(GRAPHS) == 543


def check_probabilities(name, seed, n_rows, strength, n_steps):
    table = table_of(seed, n_rows, strength)
    learned = StructureMCMC(name, tolerance=0.0, n_steps=n_steps, reversals=0.25, random_state=seed).learn(table)
    expected, best = posterior(table, score_function(name))
    sampled = np.zeros((4, 4))
    for (u, v), probability in learned.edge_probabilities.items():
        sampled[NAMES.index(u), NAMES.index(v)] = probability
    np.testing.assert_allclose(sampled, expected, atol=0.02)
    score = score_function(name)
    assert score.score(table, learned.structure) == pytest.approx(best)
    values = [score.score(table, graph) for graph in (learned.structure, *learned.alternatives)]
    assert values == sorted(values, reverse=True)
    assert learned.pdag == learned.structure.cpdag()


@pytest.mark.parametrize("name", ["bdeu", "k2", "mdl"])
def test_probabilities_are_those_of_enumeration(name):
    check_probabilities(name, 0, 60, 0.8, 300_000)


@pytest.mark.long
@pytest.mark.parametrize("name", ["bdeu", "k2", "mdl"])
@pytest.mark.parametrize(("seed", "n_rows", "strength"), [(1, 20, 0.5), (2, 200, 0.7), (3, 400, 0.6)])
def test_probabilities_are_those_of_enumeration_on_more_tables(name, seed, n_rows, strength):
    check_probabilities(name, seed, n_rows, strength, 1_000_000)


def test_constraints_and_few_parents_restrict_the_posterior():
    table = table_of(4, 40, 0.6)
    rules = {"required": [("b", "a")], "forbidden": [("d", "c")], "tiers": [["b", "c"], ["a"]]}
    learner = StructureMCMC(**rules, max_parents=2, tolerance=0.0, n_steps=100_000, random_state=0)
    learned = learner.learn(table)

    def allowed(edges):
        return ("b", "a") in edges and not edges & {("d", "c"), ("a", "b"), ("a", "c")}

    expected, _ = posterior(table, score_function("bdeu"), 2, allowed)
    np.testing.assert_allclose(learner.chain_probabilities_.mean(axis=0), expected, atol=0.02)
    assert learned.edge_probabilities["b", "a"] == 1.0
    assert ("d", "c") not in learned.edge_probabilities


def test_reversals_alone_do_not_change_the_distribution():
    """Many reversals and hardly any other step: a wrong ratio would show."""
    table = table_of(5, 40, 0.7)
    learner = StructureMCMC(reversals=0.9, tolerance=0.0, n_steps=30_000, random_state=0)
    learner.learn(table)
    expected, _ = posterior(table, score_function("bdeu"))
    np.testing.assert_allclose(learner.chain_probabilities_.mean(axis=0), expected, atol=0.02)


def test_threads_blocks_and_a_class_change_nothing():
    table, options = table_of(6, 100), {"n_steps": 10_000, "tolerance": 0.0, "random_state": 3}
    expected = StructureMCMC(**options).learn(table)
    assert StructureMCMC(**options, n_jobs=2).learn(table) == expected
    assert StructureMCMC(**options).learn(BlockTable.cut(table, [40, 1, 59])) == expected
    table.target = table.target_index = None
    assert StructureMCMC(**options).learn(table) == expected
    assert expected.details["steps"] == 10_000


def test_candidates_are_the_best_single_parents():
    learned = StructureMCMC(n_candidates=1, tolerance=0.0, n_steps=5000, random_state=0).learn(table_of(7, 300))
    assert len({u for u, v in learned.edge_probabilities if v == "d"}) == 1


def test_chains_that_disagree_are_reported():
    table = table_of(8, 3000, 0.95)
    with pytest.warns(SearchWarning, match=r"has not converged: the edge '.' -> '.' has the probability"):
        learned = StructureMCMC(n_steps=300, reversals=0.0, random_state=0, tolerance=0.001).learn(table)
    assert learned.details["largest difference between chains"] > 0.001


def test_a_chain_ends_in_time_and_by_an_interrupt(monkeypatch):
    table = table_of(9)
    with pytest.warns(SearchWarning, match=r"reached max_time=1e-09, after 0 steps"):
        learned = StructureMCMC(max_time=1e-9, random_state=0).learn(table)
    assert {*learned.edge_probabilities.values()} <= {0.25, 0.5, 0.75, 1.0}

    def interrupt(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(mcmc, "run_in_threads", interrupt)
    with pytest.warns(SearchInterruptedWarning, match="was interrupted"):
        StructureMCMC(random_state=0).learn(table)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"n_steps": 0}, "n_steps=0"),
        ({"chains": 1.5}, "chains=1.5"),
        ({"burn_in": 1.0}, "burn_in=1.0"),
        ({"reversals": -0.1}, "reversals=-0.1"),
        ({"max_time": 0}, "max_time=0"),
        ({"n_candidates": 0}, "n_candidates=0"),
    ],
)
def test_wrong_parameters_are_refused(wrong, message):
    with pytest.raises(ValueError, match=message):
        StructureMCMC(**wrong).learn(table_of(0))
