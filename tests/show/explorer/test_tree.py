from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bnplug.show.explorer._part import clique_tree, n_cells


@st.composite
def networks(draw):
    n = draw(st.integers(1, 9))
    parents = [draw(st.lists(st.integers(0, v - 1), unique=True, max_size=3)) if v else [] for v in range(n)]
    order = draw(st.permutations(range(n)))
    renamed = {order[v]: [order[p] for p in family] for v, family in enumerate(parents)}
    cards = draw(st.lists(st.integers(1, 4), min_size=n, max_size=n))
    return [renamed[v] for v in range(n)], cards, draw(st.integers(0, n - 1))


@given(networks())
def test_it_is_a_clique_tree(network):
    parents, cards, target = network
    tree = clique_tree(parents, cards, target)
    sets = [set(clique) for clique in tree.cliques]
    assert tree.above[0] == -1
    assert all(0 <= above < k for k, above in enumerate(tree.above) if k)
    for v, family in enumerate(parents):
        assert {v, *family} <= sets[tree.families[v]]
        assert v in sets[tree.homes[v]]
        # The cliques that hold a variable hang together: all but one of them hang on another.
        holding = [k for k, clique in enumerate(sets) if v in clique]
        assert sum(tree.above[k] not in holding for k in holding) == 1
    assert not any(a <= b or b <= a for a, b in combinations(sets, 2))
    assert target in sets[0]
    cells = sum(np.prod([cards[v] for v in clique], dtype=int) for clique in tree.cliques)
    assert n_cells(parents, cards, cells) == cells
    assert n_cells(parents, cards, cells - 1) is None


def test_a_cycle_of_parents_is_cut_by_one_edge():
    # 0 -> 1 -> 3 <- 2 <- 0, moralised: 1 - 2; the cliques are two triangles.
    tree = clique_tree([[], [0], [0], [1, 2]], [2, 2, 2, 2], 3)
    assert sorted(tree.cliques) == [(0, 1, 2), (1, 2, 3)]
    assert tree.cliques[0] == (1, 2, 3)


@pytest.mark.parametrize("n", [50, 400])
def test_children_are_spread(n):
    tree = clique_tree([[], *([0] for _ in range(n))], [2] * (n + 1), 0)
    assert max(np.bincount(tree.above[1:])) == 2
