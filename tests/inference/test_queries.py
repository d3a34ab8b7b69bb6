"""Answers about any variables, against enumeration of the joint distribution."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from queried_networks import marginal, queried_network, weighted
from random_networks import TREE, full_joint, random_tables
from strategies import random_parents, seeds

from bnplug.inference.queries import query, query_frame, relevant, rows_frame


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), normalized=st.booleans(), data=st.data())
def test_query_equals_enumeration(seed, normalized, data):
    rng = np.random.default_rng(seed)
    n = data.draw(st.integers(2, 6))
    tables = random_tables(rng, random_parents(rng, n), rng.integers(1, 4, n).tolist(), normalized=normalized)
    shuffled = data.draw(st.permutations(tables.names))
    size = data.draw(st.integers(1, n))
    known = {name: int(rng.integers(len(tables.states[name]))) for name in shuffled[size : size + 2]}
    joint = np.exp(full_joint(tables))
    for name, state in known.items():
        joint = joint.take([state], axis=tables.names.index(name))
    kept = [tables.names.index(name) for name in shuffled[:size]]
    expected = np.einsum(joint, list(range(n)), kept)
    np.testing.assert_allclose(query(tables, shuffled[:size], known), expected / expected.sum(), rtol=0, atol=1e-12)


@pytest.mark.parametrize("block", range(4))
def test_answers_about_several_given_states_and_likelihoods_are_those_of_enumeration(block):
    for seed in seeds(50):
        tables, evidence = queried_network([block, seed])
        free = [name for name in tables.names if not isinstance(evidence.get(name), int)]
        asked = np.random.default_rng(seed).permutation(free)[:3].tolist()
        wanted = marginal(tables, weighted(tables, evidence), asked)
        np.testing.assert_allclose(query(tables, asked, evidence), wanted, rtol=0, atol=1e-10)


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), normalized=st.booleans(), data=st.data())
def test_soft_evidence_weighs_the_states_of_the_joint(seed, normalized, data):
    rng = np.random.default_rng(seed)
    n = data.draw(st.integers(2, 5))
    tables = random_tables(rng, random_parents(rng, n), rng.integers(1, 4, n).tolist(), normalized=normalized)
    asked, *others = data.draw(st.permutations(tables.names))
    given_softly = {name: rng.uniform(0.1, 2.0, len(tables.states[name])) for name in (asked, *others[:2])}
    known = dict.fromkeys(others[2:3], 0)
    joint = np.exp(full_joint(tables))
    for name, likelihood in given_softly.items():
        joint = joint * likelihood.reshape([-1 if axis == tables.names.index(name) else 1 for axis in range(n)])
    for name, state in known.items():
        joint = joint.take([state], axis=tables.names.index(name))
    expected = np.einsum(joint, list(range(n)), [tables.names.index(asked)])
    result = query(tables, [asked], {**given_softly, **known})
    np.testing.assert_allclose(result, expected / expected.sum(), rtol=0, atol=1e-12)


def test_a_likelihood_of_one_state_alone_is_that_state(rng):
    tables = random_tables(rng, TREE, [3, 2, 4, 3, 2, 4])
    softly = query(tables, ["v0"], {"v2": [0, 0, 5, 0]})
    np.testing.assert_allclose(softly, query(tables, ["v0"], {"v2": 2}), rtol=0, atol=1e-14)


@pytest.mark.parametrize(
    ("variables", "evidence", "message"),
    [
        (["v9"], {}, "no variable 'v9'"),
        (["v1"], {"v22": 0}, "no variable 'v22' in the network. Did you mean 'v2'"),
        ([], {}, "ask about at least one"),
        (["v1", "v1"], {}, "each once"),
        (["v1"], {"v1": 0}, "not about what is known"),
        (["v1"], {"v2": 7}, "'v2': 7 is not one of its 4 states"),
        (["v1"], {"v9": [1.0]}, "no variable 'v9'"),
        (["v1"], {"v2": [1.0, 2.0]}, r"'v2': \[1.0, 2.0\] is neither a state nor a finite likelihood.*of its 4 states"),
        (["v1"], {"v1": [1.0, -2.0]}, "not negative"),
        (["v1"], {"v1": [0.0, 0.0]}, "is impossible"),
        (["v0", "v1", "v2", "v3"], {}, "72 cells, more than max_clique_size=71"),
    ],
)
def test_query_says_what_is_wrong(rng, variables, evidence, message):
    tables = random_tables(rng, TREE, [3, 2, 4, 3, 2, 4])
    with pytest.raises(ValueError, match=message):
        query(tables, variables, evidence, max_clique_size=71)


def test_query_given_the_impossible(rng):
    tables = random_tables(rng, [[], [0]], [2, 2])
    tables.tables["v1"].values[0] = -np.inf
    with pytest.raises(ValueError, match=r"the evidence \{'v1': 0\} is impossible"):
        query(tables, ["v0"], {"v1": 0})


def test_an_answer_as_a_frame_has_a_row_for_each_joint_state():
    frame = query_frame(np.array([[0.1, 0.2], [0.3, 0.4]]), {"a": ["x", "y"], "b": [0, 1]})
    assert frame.columns.tolist() == ["a", "b", "probability"]
    assert frame.to_numpy().tolist() == [["x", 0, 0.1], ["x", 1, 0.2], ["y", 0, 0.3], ["y", 1, 0.4]]


def test_answers_for_rows_as_a_frame_have_the_row_first_whatever_variables_are_called():
    answers = np.array([[0.1, 0.9], [0.3, 0.7]])
    frame = rows_frame(answers, {"row": ["x", "y"]}, pd.Index(["m", "n"]))
    assert frame.columns.tolist() == ["row_", "row", "probability"]
    assert frame.to_numpy().tolist() == [["m", "x", 0.1], ["m", "y", 0.9], ["n", "x", 0.3], ["n", "y", 0.7]]


def test_what_tells_of_a_variable_are_its_ancestors_and_what_does_not_sum_to_one(rng):
    tables = random_tables(rng, [[], [0], [1], [0], []], [2] * 5)
    assert relevant(tables, {"v1"}) == {"v0", "v1"}
    tables.tables["v3"].values[:] += 0.5
    assert relevant(tables, {"v4"}) == {"v0", "v3", "v4"}


@pytest.fixture
def rng():
    return np.random.default_rng(11)
