import numpy as np
import pytest
from strategies import random_parents

from bnplug.structure import markov_blanket


def test_a_node_on_its_own_has_an_empty_one():
    assert markov_blanket({"a": ["b"], "b": [], "c": []}, "c") == []


def test_numbers_are_nodes_too():
    assert markov_blanket({0: [], 1: [0], 2: [1, 3], 3: []}, 1) == [0, 2, 3]


@pytest.mark.parametrize("seed", range(20))
def test_it_separates_the_node_from_all_others(seed):
    """By d-separation, which networkx decides, and no smaller set of its members does."""
    import networkx as nx

    rng = np.random.default_rng(seed)
    parents = dict(enumerate(random_parents(rng, 6)))
    graph = nx.DiGraph([(parent, child) for child, own in parents.items() for parent in own])
    graph.add_nodes_from(parents)
    blanket = set(markov_blanket(parents, 0))
    others = set(parents) - blanket - {0}
    assert nx.is_d_separator(graph, {0}, others, blanket)
    for left_out in blanket:
        assert not nx.is_d_separator(graph, {0}, others | {left_out}, blanket - {left_out})
