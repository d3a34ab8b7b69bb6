import numpy as np
import pytest
from random_networks import CLASS_WITH_PARENTS, TREE, TWO_TREE, random_tables

from bnplug import LogTables
from bnplug.inference._cliques import MoralGraph, check_clique, elimination_order, fits, n_cells


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


def test_a_table_of_more_axes_than_arrays_have_is_refused_whatever_its_cells():
    tables = random_tables(np.random.default_rng(0), [[] for _ in range(65)], [1] * 65)
    check_clique(tables, tables.names[:64], 1)
    with pytest.raises(ValueError, match=r"'v19'\] and 45 others: 65 variables, and arrays have at most 64 axes"):
        check_clique(tables, tables.names, 1)


def test_a_number_of_cells_that_python_does_not_write_is_told():
    tables = random_tables(np.random.default_rng(0), [[] for _ in range(15_000)], [2] * 15_000)
    with pytest.raises(ValueError, match=r"and 14,980 others: more than 1,000,000,000,000,000 cells, more than"):
        check_clique(tables, tables.names, 10_000_000)


def taken(tables, kept):
    graph, cliques = MoralGraph(tables, kept=kept), []
    while graph.sizes:
        cliques.append(graph.take_smallest())
    return cliques


@pytest.mark.parametrize("parents", [TREE, TWO_TREE, CLASS_WITH_PARENTS])
def test_the_cliques_are_a_tree_that_holds_every_family(parents):
    tables = random_tables(np.random.default_rng(0), parents, [3, 2, 4, 3, 2, 4])
    cliques = taken(tables, ["v0"])
    assert sorted(clique.variable for clique in cliques) == ["v1", "v2", "v3", "v4", "v5"]
    assert [clique.variable for clique in cliques] == elimination_order(tables, ["v0"])
    scopes = {clique.variable: {clique.variable, *clique.neighbours} for clique in cliques}
    for name, table in tables.tables.items():
        assert any({name, *table.parents} <= scope for scope in scopes.values())
    place = {clique.variable: i for i, clique in enumerate(cliques)} | {"v0": 9}
    for clique in cliques:
        assert clique.n_cells == n_cells(tables, scopes[clique.variable])
        assert all(place[u] > place[clique.variable] for u in clique.neighbours)
        following = min(clique.neighbours, key=place.__getitem__, default="v0")
        if following != "v0":
            # The running intersection: what a clique has in common with the rest is in the one that it sends to.
            assert clique.neighbours <= scopes[following]


def test_the_smallest_clique_goes_first():
    # v4 with v3: 10 cells; then v3 with v2: 8; then v1 and v2, each with the other and the class: 24.
    tables = random_tables(np.random.default_rng(0), [[], [0], [0, 1], [2], [3], []], [2, 3, 4, 2, 5, 2])
    assert elimination_order(tables, ["v0"]) == ["v5", "v4", "v3", "v1", "v2"]


def test_sizes_are_kept_up_to_date():
    rng = np.random.default_rng(3)
    parents = [sorted(rng.choice(v, min(v, 2), replace=False).tolist()) for v in range(30)]
    tables = random_tables(rng, parents, rng.integers(1, 5, 30).tolist())
    graph = MoralGraph(tables)
    while graph.sizes:
        assert graph.sizes == {v: n_cells(tables, {v, *graph._neighbours[v]}) for v in graph.sizes}
        smallest = min(graph.sizes.values())
        assert graph.take_smallest().n_cells == smallest


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
