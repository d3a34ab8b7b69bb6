"""Naive Bayes: the class is the only parent of every feature."""

from __future__ import annotations

from hypothesis import given
from strategies import tables

from bnplug import structure_learner


def edges(table, dag):
    return {(p, v) for v, own in enumerate(dag.parents) for p in own}


@given(tables())
def test_naive_bayes_has_only_class_edges(table):
    dag = structure_learner("nb").learn(table)
    assert edges(table, dag) == {(table.target_index, v) for v in table.features}
