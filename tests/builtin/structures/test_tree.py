"""Only edges between features are added, one parent for each feature, whatever the class is."""

from __future__ import annotations

import numpy as np

from bnplug.builtin.structures.hill_climb import _tree_neighbourhood as tree_neighbourhood
from bnplug.search import Graph, Move

ALL, NONE = np.ones((4, 4), dtype=bool), np.zeros((4, 4), dtype=bool)


def moves(parents, allowed=ALL, capacity=4):
    """The legal moves with the class as the last of four variables."""
    return tree_neighbourhood(Graph(parents), 3, allowed, NONE, np.full(4, capacity)).moves()


def test_features_without_a_feature_parent_may_get_one():
    assert moves([[3], [0, 3], [3], []]) == [Move("add", 0, 2), Move("add", 1, 2), Move("add", 2, 0)]


def test_a_feature_that_is_no_child_of_the_class_gets_one_parent_too():
    assert moves([[], [0], [3], []]) == [Move("add", 0, 2), Move("add", 1, 2), Move("add", 2, 0)]


def test_the_class_keeps_its_parents():
    assert not [move for move in moves([[], [], [], [0]]) if 3 in move]


def test_other_limits_stay():
    allowed = ALL.copy()
    allowed[0, 2] = False
    assert moves([[3], [0, 3], [3], []], allowed) == [Move("add", 1, 2), Move("add", 2, 0)]
    assert allowed[3].all()  # what was given is left as it was
    assert moves([[3], [3], [3], []], capacity=1) == []
