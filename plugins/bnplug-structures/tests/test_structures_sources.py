"""Rows in blocks, on workers, with missing cells and without a class: the same graphs as in memory."""

import pytest
from clusters import cluster, on_workers
from test_in_blocks import drawn

from bnplug import Learned, structure_learner
from bnplug.table.block_table import BlockTable
from bnplug.testing.data import without_class

NAMES = ["chow-liu", "tabu", "ges", "exact"]


def learned(name, table):
    return Learned.of(structure_learner(name).learn(table), table)


@pytest.fixture(scope="module")
def client():
    with cluster(2) as found:
        yield found


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("weights", [None, [1.0, 2.0, 5.0]])
def test_blocks_and_workers_give_the_graph_of_memory(name, weights, client):
    table = drawn(weights=weights)
    expected = learned(name, table)
    assert expected.structure.edges
    assert learned(name, BlockTable.cut(table, [150, 1, 249])) == expected
    assert learned(name, on_workers(table, client)) == expected


@pytest.mark.parametrize("name", NAMES)
def test_the_class_is_a_variable_like_the_others(name):
    expected = learned(name, drawn())
    assert learned(name, without_class(drawn())) == expected
    assert learned(name, without_class(BlockTable.cut(drawn(), [150, 250]))) == expected
