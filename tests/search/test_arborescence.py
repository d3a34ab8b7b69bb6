"""The heaviest tree from a root is the one that trying all trees finds."""

from __future__ import annotations

from itertools import product

import networkx as nx
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from bnplug.search.arborescence import _heaviest_tree as heaviest_tree
from bnplug.search.arborescence import _reachable as reachable
from bnplug.search.arborescence import maximum_arborescence


def drawn(seed, size):
    """Return weights, many of them tied, and edges, of which some are missing."""
    rng = np.random.default_rng(seed)
    weight = rng.integers(0, 4, (size, size)).astype(float) if seed % 2 else rng.random((size, size))
    allowed = rng.random((size, size)) < rng.choice([0.4, 0.7, 1.0])
    np.fill_diagonal(allowed, False)
    return weight, allowed


def best_total(weight, allowed, root):
    """Return what the heaviest tree weighs, by trying all parents."""
    others = [v for v in range(len(weight)) if v != root]
    totals = []
    for parents in product(range(len(weight)), repeat=len(others)):
        edges = list(zip(parents, others, strict=True))
        if all(allowed[u, v] for u, v in edges) and (not edges or nx.is_arborescence(nx.DiGraph(edges))):
            totals.append(sum(weight[u, v] for u, v in edges))
    return max(totals)


@given(st.integers(0, 2**32 - 1), st.integers(1, 5))
def test_no_tree_is_heavier(seed, size):
    weight, allowed = drawn(seed, size)
    assume(reachable(allowed, 0).all())
    parents = maximum_arborescence(weight, allowed, 0)
    edges = [(u, v) for v, u in enumerate(parents) if u >= 0]
    assert parents[0] == -1
    assert len(edges) == size - 1
    assert all(allowed[u, v] for u, v in edges)
    assert not edges or nx.is_arborescence(nx.DiGraph(edges))
    assert sum(weight[u, v] for u, v in edges) == pytest.approx(best_total(weight, allowed, 0), abs=1e-8)


@given(st.integers(0, 2**32 - 1), st.integers(2, 4))
def test_the_first_root_of_a_heaviest_tree_is_taken(seed, size):
    weight, allowed = drawn(seed, size)
    roots = [v for v in range(size) if reachable(allowed, v).all()]
    assume(roots)
    totals = [best_total(weight, allowed, root) for root in roots]
    tree = heaviest_tree(weight, allowed, range(size), roots)
    first = next(root for root, total in zip(roots, totals, strict=True) if total >= max(totals) - 1e-8)
    assert set(range(size)) - set(tree) == {first}
    assert sum(weight[u, v] for v, u in tree.items()) == pytest.approx(max(totals), abs=1e-8)


def test_as_heavy_as_another_program_finds_on_many_nodes():
    rng = np.random.default_rng(0)
    weight = rng.random((30, 30))
    weight += weight.T
    allowed = np.triu(np.ones((30, 30), dtype=bool), 1) | (rng.random((30, 30)) < 0.3)
    np.fill_diagonal(allowed, False)
    parents = maximum_arborescence(weight, allowed, 0)
    graph = nx.DiGraph()
    graph.add_weighted_edges_from((u, v, weight[u, v]) for u, v in np.argwhere(allowed) if v != 0)
    expected = nx.maximum_spanning_arborescence(graph).size(weight="weight")
    assert sum(weight[u, v] for v, u in enumerate(parents) if u >= 0) == pytest.approx(expected)


def test_what_is_reached():
    edges = np.zeros((4, 4), dtype=bool)
    edges[0, 1] = edges[1, 2] = edges[3, 0] = True
    assert reachable(edges, 0).tolist() == [True, True, True, False]
