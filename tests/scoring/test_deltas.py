"""What a candidate changes in the log joint, step by step: its families, their features, their log parameters."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bnplug.compiling import kernel
from bnplug.scoring import _tables
from bnplug.scoring._layout import Candidates, FlatGraph

find_slots = kernel(_tables.find_slots.py_func)
place_family = kernel(_tables.place_family.py_func)
take_log = kernel(_tables._log.py_func)


def slots_of(changes, parents, target):
    candidates, graph = Candidates.of([changes]), FlatGraph.of(parents)
    slots = np.full(2 * len(parents), -1)
    arrays = candidates.nodes, candidates.bounds, candidates.parents
    n = find_slots(*arrays, 0, len(changes), graph.n_parents, graph.parents, target, slots)
    return slots[:n].tolist()


@pytest.mark.parametrize(
    ("changes", "slots"),
    [
        ({0: [1]}, []),  # it keeps its parents
        ({3: [0]}, []),  # no child of the class, before or after
        ({2: [0]}, [0]),  # it loses the class
        ({3: [1, 2]}, [1]),  # it gets the class
        ({1: [2]}, [0, 1]),  # the class itself
        ({0: [1], 2: [0, 1]}, [2, 3]),
    ],
)
def test_families_that_cannot_matter_drop_out(changes, slots):
    assert slots_of(changes, [[1], [], [1], [2]], target=1) == slots


def test_a_graph_without_families_has_none_to_take_out():
    candidates, graph = Candidates.of([{1: []}]), FlatGraph.without_families(2)
    slots = np.zeros(4, dtype=np.int64)
    arrays = candidates.nodes, candidates.bounds, candidates.parents
    assert find_slots(*arrays, 0, 1, graph.n_parents, graph.parents, 1, slots) == 1
    assert slots[0] == 1


def test_places_are_states_by_parent_configurations():
    # Features 2 and 0 in C order; the class, 1, is left out; 0 has a code more than it has states, for missing cells.
    cards, sizes = np.array([2, 2, 3]), np.array([3, 2, 3])
    place = np.empty(18, dtype=np.int64)
    columns = place_family(np.array([2, 0]), 2, 0, np.array([1, 2]), 2, cards, sizes, 1, place)
    assert columns == 3
    assert place.reshape(3, 3, 2)[..., 0].tolist() == [[0, 6, -1], [2, 8, -1], [4, 10, -1]]
    assert place.reshape(3, 3, 2)[..., 1].tolist() == [[1, 7, -1], [3, 9, -1], [5, 11, -1]]


@given(st.lists(st.floats(0, 1e300), min_size=1, max_size=40))
def test_logarithms_are_those_of_the_library(numbers):
    values = np.array(numbers)
    with np.errstate(divide="ignore"):
        expected = np.log(values)
    take_log(values, len(values))
    np.testing.assert_array_max_ulp(values, expected, maxulp=2)


def test_logarithms_of_the_smallest_numbers_and_of_zero():
    values = np.array([5.0, 0.0, 5e-324, 2.3e-308, 1.0, 5.0])
    take_log(values[1:], 4)
    expected = [5.0, -np.inf, np.log(5e-324), np.log(2.3e-308), 0.0, 5.0]
    assert values == pytest.approx(expected, rel=1e-15)
