from math import prod

import numpy as np
import pytest
from random_networks import CLASS_WITH_PARENTS, TREE, TWO_TREE, random_tables

from bnplug import LogTables
from bnplug.inference._cliques import check_clique, fits, n_cells
from bnplug.inference._orders import best_order, cliques, elimination_order


@pytest.fixture
def tables():
    return random_tables(np.random.default_rng(0), [[], [0], [0, 1]], [2, 3, 4])


def test_cells_are_the_product_of_the_states(tables):
    assert n_cells(tables, []) == 1
    assert n_cells(tables, ["v2"]) == 4
    assert n_cells(tables, tables.names) == 24


def test_a_table_of_exactly_the_limit_is_allowed(tables):
    check_clique(tables, ["v1", "v2"], 12)
    with pytest.raises(ValueError, match=r"\['v1', 'v2'\]: 12 cells, more than max_clique_size=11"):
        check_clique(tables, ["v1", "v2"], 11)


def test_a_number_of_cells_that_python_does_not_write_is_told():
    tables = random_tables(np.random.default_rng(0), [[] for _ in range(15_000)], [2] * 15_000)
    with pytest.raises(ValueError, match=r"and 14,980 others: more than 1,000,000,000,000,000 cells, more than"):
        check_clique(tables, tables.names, 10_000_000)


@pytest.mark.parametrize("parents", [TREE, TWO_TREE, CLASS_WITH_PARENTS])
def test_the_cliques_are_a_tree_that_holds_every_family(parents):
    scopes = [(v, *above) for v, above in enumerate(parents)]
    order = best_order([3, 2, 4, 3, 2, 4], scopes, [0])
    assert sorted(order) == [1, 2, 3, 4, 5]
    found = list(cliques(order, scopes))
    assert all(any({*scope} <= clique for clique in found) for scope in scopes)
    place = {v: i for i, v in enumerate(order)} | {0: 9}
    for v, clique in zip(order, found, strict=True):
        others = clique - {v}
        assert all(place[u] > place[v] for u in others)
        following = min(others, key=place.__getitem__, default=0)
        if following != 0:
            # The running intersection: what a clique has in common with the rest is in the one that it sends to.
            assert others <= found[place[following]]


def test_the_smallest_clique_goes_first():
    # v4 with v3: 10 cells; then v3 with v2: 8; then v1 and v2, each with the other and the class: 24.
    tables = random_tables(np.random.default_rng(0), [[], [0], [0, 1], [2], [3], []], [2, 3, 4, 2, 5, 2])
    assert elimination_order(tables, ["v0"]) == ["v5", "v4", "v3", "v1", "v2"]


def test_each_variable_has_the_smallest_of_the_remaining_cliques():
    rng = np.random.default_rng(3)
    scopes = [(v, *rng.choice(v, min(v, 2), replace=False).tolist()) for v in range(30)]
    cards = rng.integers(1, 5, 30).tolist()
    order = best_order(cards, scopes)
    for place, clique in enumerate(cliques(order, scopes)):
        if place < 29:
            others = [[*order[:place], v, *(u for u in order[place:] if u != v)] for v in order[place:]]
            sizes = [prod(cards[u] for u in list(cliques(other, scopes))[place]) for other in others]
            assert prod(cards[u] for u in clique) == min(sizes)


def test_a_search_finds_an_order_with_smaller_cliques_than_the_smallest_first():
    # A grid of 12 x 12: its cliques have at least 13 variables, and the smallest first make larger ones.
    n = 12
    scopes = [(i * n + j, i * n + j + step) for i in range(n) for j in range(n - 1) for step in (1,)]
    scopes += [(i * n + j, (i + 1) * n + j) for i in range(n - 1) for j in range(n)]
    order = best_order([2] * (n * n), scopes)
    assert sorted(order) == list(range(n * n))
    assert sum(2 ** len(clique) for clique in cliques(order, scopes)) < 2_000_000


def test_an_order_whose_cliques_exceed_every_memory_has_all_variables():
    n = 100
    tables = random_tables(np.random.default_rng(0), [[], *([0] for _ in range(1, n))], [2] * n)
    # Every pair of features is in the family of some node, so all features are neighbors.
    names = [f"v{i}" for i in range(n)]
    pairs = [(a, b) for a in range(1, n) for b in range(a + 1, n)]
    states = {name: range(2) for name in names} | {f"p{i}": range(2) for i in range(len(pairs))}
    families = {name: (table.parents, table.values) for name, table in tables.tables.items()}
    families |= {f"p{i}": ((names[a], names[b]), np.zeros((2, 2, 2))) for i, (a, b) in enumerate(pairs)}
    order = elimination_order(LogTables(list(states), states, families), ["v0"])
    assert sorted(order) == sorted(set(states) - {"v0"})


def test_an_order_fits_if_none_of_its_tables_is_too_large():
    tables = random_tables(np.random.default_rng(0), [[], [0], [0], [0]], [2, 3, 4, 5])
    scopes = [("v0",), ("v1", "v0"), ("v2", "v0"), ("v3", "v0")]
    assert fits(tables, scopes, ["v1", "v2", "v3", "v0"], 10)
    assert not fits(tables, scopes, ["v1", "v2", "v3", "v0"], 9)
    # Removing v0 first connects the others.
    assert fits(tables, scopes, ["v0", "v1", "v2", "v3"], 120)
    assert not fits(tables, scopes, ["v0", "v1", "v2", "v3"], 119)
