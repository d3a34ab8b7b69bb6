"""Summing variables out one by one gives what the whole product summed over them gives."""

from __future__ import annotations

import numpy as np
import pytest
from random_networks import CLASS_WITH_PARENTS, TREE, TWO_TREE, full_joint, random_tables

from bnplug.inference._cliques import Factors, product


@pytest.mark.parametrize("parents", [TREE, TWO_TREE, CLASS_WITH_PARENTS])
@pytest.mark.parametrize("zeros", [0.0, 0.3])
def test_every_variable_but_one_is_summed_out(parents, zeros):
    tables = random_tables(np.random.default_rng(0), parents, [2, 3, 2, 4, 3, 2], zeros=zeros)
    factors = [((name, *own.parents), own.values) for name, own in tables.tables.items()]
    whole = np.exp(full_joint(tables))
    for position, kept in enumerate(tables.names):
        left = Factors(tables, factors, {kept})
        while left.hidden:
            v, clique = left.cheapest()
            assert v in clique
            left.sum_out(v, clique)
        found = np.exp(product(list(left.by_number.values()), (kept,)))
        others = tuple(axis for axis in range(whole.ndim) if axis != position)
        assert found == pytest.approx(whole.sum(axis=others))
