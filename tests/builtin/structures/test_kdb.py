"""KDB takes the features that its definition says."""

from __future__ import annotations

from itertools import pairwise

import pandas as pd
import pytest
from hypothesis import given
from strategies import tables

from bnplug import structure_learner
from bnplug.counts.information import class_information, pairwise_information
from bnplug.data.table import Table


def edges(table, dag):
    return {(p, v) for v, own in enumerate(table.parents(dag)) for p in own}


@given(tables(max_features=5))
def test_kdb_takes_the_k_best_earlier_features(table):
    learner = structure_learner("kdb", k=2)
    parents = table.parents(learner.learn(table))
    order = [table.index(name) for name in learner.order_]
    to_class, between = class_information(table), pairwise_information(table)
    assert all(to_class[a] >= to_class[b] - 1e-9 for a, b in pairwise(order))
    for position, v in enumerate(order):
        chosen = set(parents[v]) - {table.target_index}
        assert table.target_index in parents[v]
        assert len(chosen) == min(position, 2)
        assert chosen <= set(order[:position])
        rest = set(order[:position]) - chosen
        if rest:
            assert min(between[v, p] for p in chosen) >= max(between[v, p] for p in rest) - 1e-9


def test_kdb_of_zero_is_naive_bayes_and_less_is_an_error():
    table = Table.from_frame(pd.DataFrame({"x": [0, 1, 1], "y": [0, 1, 0], "c": [0, 1, 0]}), "c")
    assert edges(table, structure_learner("kdb", k=0).learn(table)) == {(2, 0), (2, 1)}
    for k in (-1, 1.5, "two"):
        with pytest.raises(ValueError, match=f"k={k!r}: the number"):
            structure_learner("kdb", k=k).learn(table)
