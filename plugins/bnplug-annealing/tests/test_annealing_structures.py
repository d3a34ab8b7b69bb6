"""Neighbours are those that brute force finds, each as likely as any other."""

from __future__ import annotations

from collections import Counter
from itertools import permutations

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from bnplug_annealing.structures import Rules, Structure

from bnplug import Table
from bnplug.search import Constraints


def features_graph(parents, target):
    graph = nx.DiGraph((p, v) for v, own in enumerate(parents) for p in own if p != target)
    graph.add_nodes_from(v for v in range(len(parents)) if v != target)
    return graph


def legal(structure):
    """The pairs (child, new parent) that repeat no edge and close no cycle, by networkx."""
    graph = features_graph(structure.parents, structure.target)
    return {
        (v, p)
        for v, p in permutations(structure.features, 2)
        if not graph.has_edge(p, v) and not nx.has_path(graph, v, p)
    }


@pytest.mark.parametrize(("target", "k"), [(0, 1), (2, 1), (5, 1), (1, 2), (5, 3)])
def test_a_walk_proposes_every_legal_change_and_no_other(target, k):
    rng = np.random.default_rng([target, k])
    parents = [[] if v == target else [target] for v in range(6)]
    structure = Structure(parents, target, k)
    for _ in range(25):
        before = [list(own) for own in structure.parents]
        drawn = [structure.draw(rng) for _ in range(400)]
        assert structure.parents == before
        new = set()
        for child, own in drawn:
            [parent] = set(own) - set(before[child])
            lost = set(before[child]) - set(own)
            assert target in own
            assert len(lost) == (len(before[child]) == k + 1)
            assert target not in lost
            new.add((child, parent))
        assert new == legal(structure)
        structure.set(*drawn[0])
        graph = features_graph(structure.parents, target)
        assert nx.is_directed_acyclic_graph(graph)
        assert max(dict(graph.in_degree).values()) <= k
        assert structure.stuck == (not legal(structure))


def test_every_legal_change_is_as_likely():
    structure = Structure([[3], [0, 3], [1, 3], []], 3)
    counts = Counter(
        (child, tuple(own)) for child, own in (structure.draw(np.random.default_rng(i)) for i in range(3000))
    )
    # From 0 -> 1 -> 2: only 2 can get 0 in place of 1; every other pair is there or closes a cycle.
    assert set(counts) == {(2, (0, 3))}
    structure = Structure([[3], [3], [3], []], 3)
    counts = Counter(structure.draw(np.random.default_rng(i))[0] for i in range(3000))
    assert min(counts.values()) > 900


@pytest.mark.parametrize(
    ("parents", "target", "k", "stuck"),
    [
        ([[1], []], 1, 1, True),
        ([[2], [2], []], 2, 1, False),
        ([[2], [0, 2], []], 2, 1, True),
        ([[3], [0, 3], [1, 3], []], 3, 1, False),
        ([[3], [0, 3], [0, 1, 3], []], 3, 2, True),
        ([[3], [0, 3], [0, 3], []], 3, 2, False),
    ],
)
def test_stuck_where_every_two_features_are_joined(parents, target, k, stuck):
    structure = Structure(parents, target, k)
    assert structure.stuck is stuck
    assert (not legal(structure)) is stuck


def test_rules_say_what_is_drawn_and_what_stays():
    frame = pd.DataFrame(np.random.default_rng(0).integers(0, 2, (20, 4)), columns=["a", "b", "d", "c"])
    table = Table.from_frame(frame, "c")
    constraints = Constraints(table, required=[("a", "b")], forbidden=[("a", "d")], tiers=[["a"], ["b", "d"]])
    assert Rules.of(Constraints(table), 1) is None
    # b must keep a, which is all that k=1 leaves room for; a may get nobody.
    assert Rules.of(constraints, 1).pairs == [(2, 1)]
    rules = Rules.of(constraints, 2)
    assert set(rules.pairs) == {(1, 0), (1, 2), (2, 1)}
    structure = Structure(constraints.augmented("sa", 2), 3, 2, rules)
    drawn = {str(structure.draw(np.random.default_rng(seed))) for seed in range(20)}
    assert drawn == {"(1, [0, 2, 3])", "(2, [1, 3])"}
    structure.set(2, [1, 3])
    assert structure.stuck
    assert Structure([[3], [0, 3], [1, 3], []], 3, 1, Rules.of(constraints, 1)).stuck
