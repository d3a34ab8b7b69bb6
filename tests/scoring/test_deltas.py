"""What a candidate changes in the log joint is what two loops over rows differ by, numbered in either way."""

from __future__ import annotations

import numpy as np
import pytest
from scoring import slow

from bnplug.compiling import kernel
from bnplug.scoring import _deltas
from bnplug.scoring._passes import delta_in, make_scratch
from bnplug.scoring._rows import arrange

find_features = kernel(_deltas.find_features.py_func)
n_configurations = kernel(_deltas.n_configurations.py_func)
fill_dense = kernel(_deltas.fill_dense.py_func)

CARDS = (3, 2, 4, 2)
PARENTS = [[1], [], [1], [0, 1]]
CANDIDATES = [{0: [1, 2]}, {2: []}, {3: [1, 2]}, {2: [1, 3], 3: [1]}, {1: [0], 0: []}]


def dense(rows, families, i):
    scratch = make_scratch(rows, 1000)
    features = scratch.features[: find_features(rows, families, i, scratch.features)]
    delta = delta_in(scratch, rows.n_folds, int(n_configurations(rows, features)), rows.n_classes)
    fill_dense(rows, families, i, features, scratch.known, scratch.logs, delta)
    return delta


def families_of(candidates):
    new = _deltas.flatten_families([changes.items() for changes in candidates])
    return _deltas.with_replaced(new, _deltas.FlatGraph.of(PARENTS), 1)


@pytest.mark.parametrize("make", [dense, _deltas.wide_delta])
@pytest.mark.parametrize("alpha", [1.0, 0.0])
@pytest.mark.parametrize("missing", [0.0, 0.15])
def test_a_delta_is_the_difference_of_two_log_joints(make, alpha, missing):
    table = slow.random_table(np.random.default_rng(0), 40, CARDS, 1, weighted=True, missing=missing)
    folds = np.arange(40) % 3
    rows = arrange(table, folds, alpha, 0.0)
    order = np.lexsort((table.codes[1], folds))
    families = families_of(CANDIDATES)
    for i, changes in enumerate(CANDIDATES):
        delta = make(rows, families, i)
        changed = [changes.get(v, own) for v, own in enumerate(PARENTS)]
        for m, row in enumerate(order):
            at = folds[row], delta.configuration[m]
            before, after = (
                np.array(slow.log_joint(table, own, row, folds != folds[row], alpha, 0.0)) for own in (PARENTS, changed)
            )
            finite = np.isfinite(before) & np.isfinite(after)
            assert delta.terms[at][finite] == pytest.approx((after - before)[finite], abs=1e-9)
            if alpha == 0:
                assert (delta.zeros[at][np.isneginf(after) & np.isfinite(before)] > 0).all()
                assert (delta.zeros[at][np.isfinite(after) & np.isneginf(before)] < 0).all()


def test_families_that_cannot_matter_drop_out():
    # 3 is no child of the class before or after; 0 keeps its parents; 2 loses the class; 1 is the class.
    candidates = [{0: [1]}, {2: [0]}, {1: [2]}]
    graph = _deltas.FlatGraph.of([[1], [], [1], [2]])
    new = _deltas.flatten_families([changes.items() for changes in [*candidates, {3: [0]}]])
    families = _deltas.with_replaced(new, graph, 1)
    assert families.starts.tolist() == [0, 0, 1, 3, 3]
    assert families.nodes[:3].tolist() == [2, 1, 1]
    assert families.signs[:3].tolist() == [-1, -1, 1]


def test_a_flat_graph_grows_with_its_families():
    graph = _deltas.FlatGraph.of([[], [0], [0, 1]])
    graph = graph.replace(2, [0]).replace(0, [1, 2, 3])
    assert [graph.parents_of(v) for v in range(3)] == [(1, 2, 3), (0,), (0,)]


def test_no_delta_adds_nothing():
    table = slow.random_table(np.random.default_rng(1), 20, CARDS, 1)
    rows = arrange(table, None, 0.0, 0.0)
    delta = _deltas.no_delta(rows)
    assert not delta.terms.any()
    assert not delta.zeros.any()
    assert delta.counts.sum() == 20
