"""A start is a name, a graph or edges; what must be there is, and what must not is refused."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from search.toys import make_table

from bnplug.builtin.structures._start import edge_matrix, start_parents


@pytest.fixture
def table():
    return make_table(features=3)


def test_named_edges_become_a_matrix(table):
    matrix = edge_matrix(table, [("x1", "x3"), ("class", "x2")])
    assert np.argwhere(matrix).tolist() == [[0, 2], [3, 1]]
    assert not edge_matrix(table, None).any()
    with pytest.raises(ValueError, match="pair"):
        edge_matrix(table, ["x1"])


@pytest.mark.parametrize(
    ("start", "fixed", "forbidden", "expected"),
    [
        ("nb", [], [], [[3], [3], [3], []]),
        ("empty", [("x1", "x2")], [], [[], [0], [], []]),
        # A named start gives way: to an edge that points to the class, and to one that is forbidden.
        ("nb", [("x1", "class")], [("class", "x3")], [[], [3], [], [0]]),
        ([("x1", "x2")], [("x2", "x3")], [], [[], [0], [1], []]),
        (nx.DiGraph([("x1", "class")]), [], [], [[], [], [], [0]]),
    ],
)
def test_starts(table, start, fixed, forbidden, expected):
    assert start_parents(table, start, edge_matrix(table, fixed), edge_matrix(table, forbidden)) == expected


def test_what_cannot_be_is_said(table):
    nothing = edge_matrix(table, None)
    with pytest.raises(ValueError, match="'tan' is not"):
        start_parents(table, "tan", nothing, nothing)
    with pytest.raises(ValueError, match="'x1' -> 'x2' is in the blacklist"):
        start_parents(table, [("x1", "x2")], nothing, edge_matrix(table, [("x1", "x2")]))
    with pytest.raises(ValueError, match="cycle"):
        start_parents(table, [("x1", "x2"), ("x2", "x1")], nothing, nothing)
