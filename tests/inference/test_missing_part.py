"""Which nodes a row's missing part has, and what is left of their tables; each inner kernel by itself."""

import numpy as np
from random_networks import random_tables

from bnplug.compiling import kernel
from bnplug.inference import _flat_tables
from bnplug.inference._flat_tables import AXIS, FACTOR, VARIABLE, flat_tables

mark = kernel(_flat_tables.mark.py_func)
collect = kernel(_flat_tables.collect.py_func)

# v0 is the class; v1 -> v2 -> v3 -> v4 hang below it, v3 and v4 without it; v5 is on its own.
CHAIN = [[], [0], [0, 1], [2], [3], []]


class Row:
    """The state of the pass for one row, as far as its missing part."""

    def __init__(self, flat, states):
        self.flat = flat
        self.variables = np.zeros(len(flat.nodes), VARIABLE)
        self.variables["state"] = states
        self.any = mark(flat.nodes, flat.axes, flat.both_ways, self.variables)

    def having(self, flag):
        return np.flatnonzero(self.variables[flag]).tolist()


def flat_chain(cards=(2, 3, 4, 2, 5, 2), normalized=True):
    return flat_tables(random_tables(np.random.default_rng(0), CHAIN, list(cards), normalized=normalized), "v0")


def test_barren_nodes_are_left_out():
    assert Row(flat_chain(), [0, 0, 0, -1, -1, -1]).having("needed") == [0, 1, 2]
    assert Row(flat_chain(), [0, -1, -1, -1, 1, -1]).having("needed") == [0, 1, 2, 3, 4]
    assert Row(flat_chain(normalized=False), [0, 0, 0, -1, -1, -1]).having("needed") == [0, 1, 2, 3, 4, 5]


def test_what_the_observed_separate_from_the_class_is_not_relevant():
    for states, relevant in (
        ([0, 1, 1, -1, 2, 0], []),
        ([0, -1, 1, -1, 2, 0], [1]),
        ([0, 1, -1, -1, 2, 0], [2, 3]),
        ([0, 1, -1, -1, -1, 0], [2]),
    ):
        row = Row(flat_chain(normalized=states[4] >= 0), states)
        if states[4] < 0:
            relevant = [2, 3, 4]  # a table that is not normalised is never barren
        assert row.having("relevant") == relevant
        assert row.any == bool(relevant)


def test_tables_with_a_relevant_feature_are_touched():
    assert Row(flat_chain(), [0, 1, -1, -1, 2, 0]).having("touched") == [2, 3, 4]
    assert Row(flat_chain(), [0, -1, 1, -1, 2, 0]).having("touched") == [1, 2]


def test_factors_are_the_tables_with_what_is_observed_filled_in():
    row = Row(flat_chain(), [0, 2, -1, -1, 1, -1])
    flat, variables = row.flat, row.variables
    factors, axes = np.zeros(12, FACTOR), np.concatenate([flat.axes, np.zeros(20, AXIS)])
    n = collect(flat.nodes, flat.target, variables, axes, factors, len(flat.axes))
    scopes = [sorted(axes["variable"][f["axes"] : f["axes_end"]].tolist()) for f in factors[:n]]
    assert scopes == [[0, 2], [2, 3], [3]]
    own = flat.axes[flat.nodes[2]["axes"] : flat.nodes[2]["axes_end"]]
    observed = own[own["variable"] == 1][0]
    assert factors[0]["start"] == flat.nodes[2]["start"] + 2 * observed["stride"]
    assert factors[0]["unit"] == flat.nodes[2]["unit"] + 3 * observed["unit"]
    # Each is in the bucket of the first of its features that is summed out.
    rank = {int(v): place for place, v in enumerate(flat.order)}
    firsts = [min((v for v in scope if v != 0), key=rank.__getitem__) for scope in scopes]
    for v in (2, 3):
        listed, f = [], variables[v]["bucket"]
        while f >= 0:
            listed.append(int(f))
            f = factors[f]["following"]
        assert sorted(listed) == [f for f in range(n) if firsts[f] == v]


def test_numbers_of_tables_tell_all_instantiations_apart():
    flat = flat_chain((2, 2, 2, 2, 2, 2))
    seen = {}
    for states in np.ndindex(3, 3, 3, 3, 3):
        variables = Row(flat, [0, *(s - 1 for s in states)]).variables
        factors, axes = np.zeros(12, FACTOR), np.concatenate([flat.axes, np.zeros(20, AXIS)])
        n = collect(flat.nodes, flat.target, variables, axes, factors, len(flat.axes))
        for f in factors[:n]:
            scope = tuple(axes["variable"][f["axes"] : f["axes_end"]])
            assert seen.setdefault(int(f["unit"]), (int(f["start"]), scope)) == (int(f["start"]), scope)
    assert max(seen) < flat.n_units
    assert len(set(seen.values())) == len(seen)
