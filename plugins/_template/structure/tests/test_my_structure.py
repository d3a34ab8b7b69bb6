"""The learner finds what it should."""

import pandas as pd
import pytest

import bnplug

# Neither `a` nor `b` tells the class, both together do; `noise` tells nothing.
FRAME = pd.DataFrame(
    {"a": [0, 0, 1, 1] * 10, "noise": [0, 1, 1, 0, 1] * 8, "b": [0, 1, 0, 1] * 10, "c": ["n", "y", "y", "n"] * 10}
)


@pytest.fixture
def table():
    return bnplug.Table.from_frame(FRAME, "c")


def test_it_adds_the_edge_that_helps(table):
    learner = bnplug.structure_learner("my-structure")
    structure = learner.learn(table)
    assert ("a", "b") in structure.edges or ("b", "a") in structure.edges
    assert learner.trace_[-1] == 1.0
    assert len(learner.moves_) == len(learner.trace_) - 1


def test_every_feature_has_the_class_and_at_most_one_feature_as_parents(table):
    structure = bnplug.structure_learner("my-structure", score="ll").learn(table)
    for feature in ("a", "noise", "b"):
        assert "c" in structure.by_name[feature]
        assert len(structure.by_name[feature]) <= 2
    assert structure.by_name["c"] == ()


def test_without_edges_to_add_it_is_naive_bayes(table):
    structure = bnplug.structure_learner("my-structure", max_iter=0).learn(table)
    assert sorted(structure.edges) == [("c", "a"), ("c", "b"), ("c", "noise")]


def test_a_negative_limit_is_refused(table):
    with pytest.raises(ValueError, match="max_iter=-1 must not be negative"):
        bnplug.structure_learner("my-structure", max_iter=-1).learn(table)
