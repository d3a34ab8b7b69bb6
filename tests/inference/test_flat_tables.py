"""The flat form of a network says of each cell what its tables say."""

import numpy as np
import pytest
from random_networks import CLASS_WITH_PARENTS, TREE, random_tables

from bnplug.inference._flat_tables import flat_tables
from bnplug.inference._orders import elimination_order


@pytest.mark.parametrize("parents", [TREE, CLASS_WITH_PARENTS])
def test_every_cell_is_found_by_strides(parents):
    rng = np.random.default_rng(0)
    tables = random_tables(rng, parents, [3, 2, 4, 3, 2, 4], zeros=0.2)
    flat = flat_tables(tables, "v0")
    for _ in range(50):
        row = [int(rng.integers(len(tables.states[name]))) for name in tables.names]
        for v, name in enumerate(tables.names):
            node = flat.nodes[v]
            axes = flat.axes[node["axes"] : node["axes_end"]]
            cell = node["start"] + sum(row[axis["variable"]] * axis["stride"] for axis in axes)
            cell += row[0] if node["with_class"] else 0
            own, values = tables.tables[name]
            expected = values[tuple(row[tables.names.index(u)] for u in (name, *own))]
            assert flat.values[cell + len(flat.values) // 2] == expected
            assert flat.values[cell] == np.exp(expected)


def test_relations_and_bounds():
    tables = random_tables(np.random.default_rng(1), CLASS_WITH_PARENTS, [3, 2, 4, 3, 2, 4], zeros=0.2)
    tables.tables["v4"].values[:] = 0.5
    flat = flat_tables(tables, "v0")
    assert flat.nodes["with_class"].tolist() == [True, False, False, True, False, True]
    assert flat.nodes["proper"].tolist() == [True, True, True, True, False, True]
    for v, node in enumerate(flat.nodes):
        finite = tables.tables[f"v{v}"].values[np.isfinite(tables.tables[f"v{v}"].values)]
        assert node["low"] == min(0.0, finite.min())
        assert node["high"] == max(0.0, finite.max())
    down, up = flat.both_ways[:6].tolist(), flat.both_ways[6:].tolist()
    assert up == down[::-1]
    assert all(down.index(child) < down.index(parent) for child, own in enumerate(CLASS_WITH_PARENTS) for parent in own)
    assert (flat.target, flat.nodes["card"][flat.target]) == (0, 3)


def test_axes_are_in_the_order_of_elimination():
    tables = random_tables(np.random.default_rng(1), CLASS_WITH_PARENTS, [3, 2, 4, 3, 2, 4])
    flat = flat_tables(tables, "v0")
    assert [f"v{v}" for v in flat.order] == elimination_order(tables, ["v0"])
    assert flat.nodes["rank"][0] == -1
    assert flat.nodes["rank"][flat.order].tolist() == [0, 1, 2, 3, 4]
    for node in flat.nodes:
        ranks = flat.nodes["rank"][flat.axes[node["axes"] : node["axes_end"]]["variable"]]
        assert ranks.tolist() == sorted(ranks)
