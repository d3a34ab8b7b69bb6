"""The one door to pgmpy: graphs and networks go out as they are, and come back."""

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import random_parents

from bnplug import LogTables
from bnplug.model.pgmpy import JunctionTrees, make_dag, make_network, make_pdag, read_network


def test_to_import_it_warns_of_nothing():
    command = [sys.executable, "-W", "error::FutureWarning", "-c", "import bnplug.model.pgmpy"]
    done = subprocess.run(command, check=False, capture_output=True)
    assert (done.returncode, done.stderr) == (0, b"")


def test_a_dag_has_the_nodes_in_order_and_the_edges():
    dag = make_dag(["a", "b", "c"], [("c", "a")])
    assert (list(dag.nodes), list(dag.edges)) == (["a", "b", "c"], [("c", "a")])


def test_a_partially_directed_graph_has_its_nodes_and_both_kinds_of_edges():
    pdag = make_pdag(["a", "b", "c", "d"], [("c", "a")], [("a", "b")])
    assert set(pdag.nodes) == {"a", "b", "c", "d"}
    assert (set(pdag.directed_edges), {frozenset(edge) for edge in pdag.undirected_edges}) == (
        {("c", "a")},
        {frozenset("ab")},
    )


@pytest.mark.parametrize(
    ("edges", "message"),
    [([("a", "x")], r"edges name \['x'\]"), ([("a", "b"), ("b", "a")], "the edges make a cycle: a -> b -> a")],
)
def test_edges_that_make_no_dag(edges, message):
    with pytest.raises(ValueError, match=message):
        make_dag(["a", "b"], edges)


@given(st.integers(0, 2**32 - 1), st.integers(1, 5))
def test_a_network_comes_back(seed, n):
    rng = np.random.default_rng(seed)
    names = tuple(f"x{i}" for i in range(n))
    cards = rng.integers(1, 4, n)
    states = {name: tuple(range(card)) for name, card in zip(names, cards, strict=True)}
    families = {}
    for v, own in enumerate(random_parents(rng, n)):
        values = rng.gamma(1.0, size=(cards[v], *cards[own])) + 1e-3
        families[names[v]] = (tuple(names[p] for p in own), values / values.sum(axis=0))
    back_names, back_states, back = read_network(make_network(names, states, families))
    assert (back_names, back_states) == (names, states)
    for name in names:
        assert back[name][0] == families[name][0]
        np.testing.assert_allclose(back[name][1], families[name][1], rtol=1e-15)


def test_what_is_no_network():
    with pytest.raises(TypeError, match="expected a pgmpy DiscreteBayesianNetwork, got a dict"):
        read_network({})
    with pytest.raises(TypeError, match="got a DAG"):
        LogTables.from_network(make_dag(["a"], []))


def test_beliefs_of_two_parts_by_hand():
    """P(0) = (1, 3) / 4 and P(1 | 0) are one part, variable 2 is another."""
    given = np.log([[0.9, 0.2], [0.1, 0.8]])
    trees = JunctionTrees([2, 2, 2], [((0,), np.log([1.0, 3.0])), ((1, 0), given), ((2,), np.zeros(2))], [(0, 1), (2,)])
    known = {1: np.array([-np.inf, 0.0])}
    belief = np.exp(trees.belief((0,), known))
    np.testing.assert_allclose(belief / belief.sum(), [0.1 / 2.5, 2.4 / 2.5])
    pair, alone = trees.beliefs([(1, 0), (2,)], known)
    np.testing.assert_allclose(pair, [[0.0, 0.0], [0.1 / 2.5, 2.4 / 2.5]])
    np.testing.assert_allclose(alone, [0.5, 0.5])
    assert trees.beliefs([(0,)], {2: np.full(2, -np.inf)}) is None
    assert trees.together((0, 1))
    assert not trees.together((0, 2))
