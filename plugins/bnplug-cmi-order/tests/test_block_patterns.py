"""Patterns over many blocks of rows: what rows in memory tell."""

import numpy as np
import pytest
from bnplug_cmi_order.block_patterns import BlockPatterns
from bnplug_cmi_order.orders import order_by_all, order_by_single
from bnplug_cmi_order.patterns import Patterns

from bnplug import Table
from bnplug.table.block_table import BlockTable


@pytest.fixture(params=[None, [1.0, 2.0], [0.1, 0.7]])
def pair(request):
    random = np.random.RandomState(0)
    codes = np.array([random.randint(0, card, 200) for card in (2, 3, 4, 2, 3)], dtype=np.uint8)
    codes[0, 100:] = codes[4, 100:] % 2
    codes[:4][random.random_sample((4, 200)) < 0.05] = 255
    states = {name: list(range(card)) for name, card in zip("abdec", (2, 3, 4, 2, 3), strict=True)}
    weights = None if request.param is None else random.choice(request.param, 200)
    table = Table(codes, [*"abdec"], states, "c", weights)
    return table, BlockTable.cut(table, [3, 97, 60, 40])


@pytest.mark.parametrize("given", [[], [0], [1, 2], [3, 1, 0, 2]])
def test_information_is_that_of_rows_in_memory(pair, given):
    table, blocks = pair
    one, other = Patterns(table, given), BlockPatterns(blocks, given)
    assert one.determine_class == other.determine_class
    np.testing.assert_allclose(other.information(table.features), one.information(table.features), atol=1e-12)


def test_patterns_that_determine_the_class_tell_nothing_more(pair):
    table, _ = pair
    codes = table.codes.copy()
    codes[2] = codes[4]
    other = BlockTable.cut(Table(codes, table.names, table.states, "c"), [100, 100])
    patterns = BlockPatterns(other, [2])
    assert patterns.determine_class
    assert patterns.information([0, 1]).tolist() == [0, 0]


def test_orders_are_those_of_rows_in_memory(pair):
    table, blocks = pair
    assert order_by_all(blocks) == order_by_all(table)
    assert order_by_all(blocks, max_condition=1) == order_by_all(table, max_condition=1)
    assert order_by_single(blocks) == order_by_single(table)
