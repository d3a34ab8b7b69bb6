"""Candidates as arrays are the changes that they were made of."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from bnplug.scoring._layout import Candidates, FlatGraph, Toggles

changes = st.dictionaries(st.integers(0, 9), st.lists(st.integers(0, 9), max_size=4), max_size=3)


@given(st.lists(changes, max_size=6), st.integers(0, 6), st.integers(0, 6))
def test_arrays_are_a_sequence_of_changes(candidates, low, high):
    flat = Candidates.of(candidates)
    assert list(flat) == candidates
    assert list(flat[low:high]) == candidates[low:high]
    assert Candidates.of(flat) is flat
    assert flat.starts.dtype == flat.nodes.dtype == flat.bounds.dtype == flat.parents.dtype == np.int64


def test_toggles_take_out_what_is_there_and_put_in_what_is_not():
    edges = np.zeros((3, 3), dtype=bool)
    edges[0, 2] = edges[1, 2] = True
    toggles = Toggles(edges, np.array([0, 2, 2]), np.array([1, 1, 0]))
    assert list(toggles) == list(Candidates.of(toggles)) == [{0: [1]}, {2: [0]}, {2: [1]}]
    assert list(toggles[1:]) == [{2: [0]}, {2: [1]}]
    assert toggles[-1] == {2: [1]}


def test_a_flat_graph_grows_with_its_families():
    graph = FlatGraph.of([[], [0], [0, 1]])
    graph = graph.replace(2, [0]).replace(0, [1, 2, 3])
    assert [graph.parents_of(v) for v in range(3)] == [(1, 2, 3), (0,), (0,)]


def test_a_graph_without_families_has_no_parents():
    assert FlatGraph.without_families(2).parents_of(1) == ()
