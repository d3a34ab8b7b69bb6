"""Groups of missing variables, on a network small enough to see."""

import numpy as np

from bnplug.compiling import kernel
from bnplug.inference import _groups
from bnplug.inference._groups import network_of

# The class 0 is the parent of 1, 2 and 4; 1 -> 2 -> 3, and 4 -> 5.
PARENTS = [(), (0,), (0, 1), (2,), (0,), (4,)]
CARDS = np.array([2, 3, 2, 2, 2, 2])
NETWORK = network_of(PARENTS, CARDS, [0, 2, 8, 20, 24, 28])


@kernel
def find(network, first, opened, concerned, group):
    return _groups.find_group(network, first, opened, concerned, group)


@kernel
def go_through(cards, group, n_group, states, places, moves, n_families, seen):
    n = np.int64(_groups.count_states(cards, group, n_group, states))
    for i in range(n):
        seen[i] = places[0]
        _groups.advance(cards, group, n_group, states, places, moves, n_families)
    return n


def test_numbers_of_a_family_are_in_the_order_of_its_table():
    values = np.arange(2 * 2 * 3).reshape(2, 2, 3)  # of 2, given 0 and 1
    last = NETWORK.strides.shape[1] - 1
    place = 1 * NETWORK.strides[2, last] + 0 * NETWORK.strides[2, 0] + 2 * NETWORK.strides[2, 1]
    assert values.ravel()[place] == values[1, 0, 2]
    assert NETWORK.widths.tolist() == [2, 6, 12, 4, 4, 4]


def test_parents_come_first():
    order = network_of([(2,), (0,), ()], np.array([2, 2, 2]), [0, 4, 8]).order
    assert order.tolist() == [2, 0, 1]


def test_a_group_shares_families_directly_or_not():
    opened = np.array([False, True, True, True, True, False])
    group, concerned = np.zeros(6, dtype=np.int64), np.ones(6, dtype=bool)
    n = find(NETWORK, 3, opened, concerned, group)
    assert sorted(group[:n].tolist()) == [1, 2, 3]
    assert find(NETWORK, 4, opened, concerned, group) == 1
    concerned[2] = False  # the family by which 1 and 2 hang together
    n = find(NETWORK, 3, opened, concerned, group)
    assert sorted(group[:n].tolist()) == [2, 3]


def test_all_joint_states_come_once_and_the_last_variable_changes_fastest():
    group, states = np.array([1, 2, 0]), np.zeros(3, dtype=np.int64)
    places, moves, seen = np.zeros(1, dtype=np.int64), np.array([[10, 1]]), np.zeros(6, dtype=np.int64)
    assert go_through(CARDS, group, 2, states, places, moves, 1, seen) == 6
    assert seen.tolist() == [0, 1, 10, 11, 20, 21]
    assert places[0] == 0
