import numpy as np
import pytest
from random_networks import random_tables

from bnplug.inference._cliques import check_clique, n_cells, too_large


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
