import numpy as np
import pytest
from random_networks import CLASS_WITH_PARENTS, TREE, TWO_TREE, random_tables

from bnplug.inference._cliques import check_clique, clique_tree, n_cells, too_large


@pytest.fixture
def tables():
    return random_tables(np.random.default_rng(0), [[], [0], [0, 1]], [2, 3, 4])


def test_cells_are_the_product_of_the_states(tables):
    assert n_cells(tables, []) == 1
    assert n_cells(tables, ["v2"]) == 4
    assert n_cells(tables, tables.names) == 24


def test_a_table_of_exactly_the_limit_is_allowed(tables):
    check_clique(tables, ["v1", "v2"], 12)
    with pytest.raises(ValueError, match=r"\['v1', 'v2'\], 12 cells, above max_clique_size=11"):
        check_clique(tables, ["v1", "v2"], 11)
    assert str(too_large(tables, ["v0"], 1, "row 7: ")).startswith("row 7: summing")


@pytest.mark.parametrize("parents", [TREE, TWO_TREE, CLASS_WITH_PARENTS])
def test_the_cliques_are_a_tree_that_holds_every_family(parents):
    tables = random_tables(np.random.default_rng(0), parents, [3, 2, 4, 3, 2, 4])
    cliques = clique_tree(tables, ["v0"])
    assert sorted(clique.variable for clique in cliques) == ["v1", "v2", "v3", "v4", "v5"]
    scopes = {clique.variable: {clique.variable, *clique.separator} for clique in cliques}
    for name, table in tables.tables.items():
        assert any({name, *table.parents} <= scope for scope in scopes.values())
    place = {clique.variable: i for i, clique in enumerate(cliques)} | {"v0": 9}
    for clique in cliques:
        assert [place[u] for u in clique.separator] == sorted(place[u] for u in clique.separator)
        if clique.separator and clique.separator[0] != "v0":
            # The running intersection: what a clique has in common with the rest is in the one that it sends to.
            assert {*clique.separator} <= scopes[clique.separator[0]]


def test_the_smallest_clique_goes_first():
    # v4 with v3: 10 cells; then v3 with v2: 8; then v1 and v2, each with the other and the class: 24.
    tables = random_tables(np.random.default_rng(0), [[], [0], [0, 1], [2], [3], []], [2, 3, 4, 2, 5, 2])
    assert [clique.variable for clique in clique_tree(tables, ["v0"])] == ["v5", "v4", "v3", "v1", "v2"]
