"""Which nodes a row's missing part has, and in which order they are summed out; each inner kernel by itself."""

import numpy as np
from random_networks import random_tables

from bnplug.compiling import kernel
from bnplug.inference import _missing_part
from bnplug.inference._flat_tables import AXIS, flat_tables
from bnplug.inference._missing_part import FACTOR, VARIABLE

mark_needed = kernel(_missing_part.mark_needed.py_func)
mark_relevant = kernel(_missing_part.mark_relevant.py_func)
link = kernel(_missing_part.link.py_func)
rank_features = kernel(_missing_part.rank_features.py_func)
collect = kernel(_missing_part.collect.py_func)

# v0 is the class; v1 -> v2 -> v3 -> v4 hang below it, v3 and v4 without it; v5 is on its own.
CHAIN = [[], [0], [0, 1], [2], [3], []]


class Row:
    """The state of the pass for one row, as far as the order of elimination."""

    def __init__(self, flat, states):
        n = len(flat.nodes)
        self.flat = flat
        self.variables = np.zeros(n, VARIABLE)
        self.variables["state"] = states
        self.found = np.empty(n, np.int64)
        mark_needed(flat.nodes, flat.axes, flat.leaves_first, flat.target, self.variables)
        self.n = mark_relevant(flat.nodes, flat.axes, flat.children, flat.leaves_first, self.variables, self.found)

    @property
    def relevant(self):
        return self.found[: self.n].tolist()

    def order(self):
        n = len(self.flat.nodes)
        linked, sizes, order = np.zeros((n, n), np.bool_), np.empty(n), np.empty(n, np.int64)
        self.n_axes = link(self.flat.nodes, self.flat.axes, self.variables, self.found, self.n, linked)
        self.n_axes += rank_features(
            self.flat.nodes, self.flat.target, self.variables, self.found, self.n, linked, sizes, order
        )
        return order[: self.n].tolist()


def flat_chain(cards=(2, 3, 4, 2, 5, 2), normalized=True):
    return flat_tables(random_tables(np.random.default_rng(0), CHAIN, list(cards), normalized=normalized), "v0")


def needed(row):
    return np.flatnonzero(row.variables["needed"]).tolist()


def test_barren_nodes_are_left_out():
    assert needed(Row(flat_chain(), [0, 0, 0, -1, -1, -1])) == [0, 1, 2]
    assert needed(Row(flat_chain(), [0, -1, -1, -1, 1, -1])) == [0, 1, 2, 3, 4]
    assert needed(Row(flat_chain(normalized=False), [0, 0, 0, -1, -1, -1])) == [0, 1, 2, 3, 4, 5]


def test_what_the_observed_separate_from_the_class_is_not_relevant():
    assert Row(flat_chain(), [0, 1, 1, -1, 2, 0]).relevant == []
    assert Row(flat_chain(), [0, -1, 1, -1, 2, 0]).relevant == [1]
    assert Row(flat_chain(), [0, 1, -1, -1, 2, 0]).relevant == [3, 2]


def test_the_smallest_clique_is_summed_out_first():
    # v1 with the class and v2: 2 * 3 * 4 cells; v2 with the class, v1 and v3: 48; v3 with v2: 8.
    row = Row(flat_chain(), [0, -1, -1, -1, 1, -1])
    assert row.order() == [3, 2, 1]
    assert row.variables["rank"][[3, 2, 1]].tolist() == [0, 1, 2]


def test_of_equal_cliques_the_first_found_goes_first_and_the_order_follows_the_states():
    assert Row(flat_chain((2, 2, 2, 2, 2, 2)), [0, -1, -1, -1, 1, -1]).order() == [3, 2, 1]
    # v1 with the class and v2: 2 * 3 * 4 = 24 cells; v3 with v2: 9 * 4 = 36.
    assert Row(flat_chain((2, 3, 4, 9, 5, 2)), [0, -1, -1, -1, 1, -1]).order() == [1, 3, 2]


def test_factors_are_the_tables_with_what_is_observed_filled_in():
    row = Row(flat_chain(), [0, 2, -1, -1, 1, -1])
    row.order()
    factors, axes = np.zeros(12, FACTOR), np.zeros(row.n_axes, AXIS)
    n = collect(row.flat.nodes, row.flat.axes, row.variables, factors, axes)
    scopes = [axes["variable"][f["axes"] : f["axes_end"]].tolist() for f in factors[:n]]
    assert sorted(map(sorted, scopes)) == [[2], [2, 3], [3]]
    nodes, observed = row.flat.nodes, row.flat.axes
    stride = observed[nodes[2]["axes"] : nodes[2]["axes_end"]]
    stride = int(stride["stride"][stride["variable"] == 1][0])
    first = factors[scopes.index([2])]
    assert first["start"] == nodes[2]["start"] + 2 * stride
    assert first["with_class"]
