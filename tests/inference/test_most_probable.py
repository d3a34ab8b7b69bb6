"""The most probable explanation, against enumeration of all joint states."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from queried_networks import queried_network, weighted
from random_networks import random_tables
from strategies import seeds

from bnplug import LogTables
from bnplug.inference.most_probable import most_probable


def enumerated(tables, evidence):
    """The first of all joint states, the last variable changing fastest, that is within 1e-9 of the best."""
    with np.errstate(divide="ignore"):
        logs = np.log(weighted(tables, evidence))
    first = np.unravel_index(np.argmax(logs >= logs.max() - 1e-9), logs.shape)
    return {
        name: int(code)
        for name, code in zip(tables.names, first, strict=True)
        if not isinstance(evidence.get(name), int)
    }


@pytest.mark.parametrize("block", range(4))
def test_it_is_that_of_enumeration(block):
    for seed in seeds(50):
        tables, evidence = queried_network([block, seed])
        assert most_probable(tables, evidence) == enumerated(tables, evidence), (block, seed)


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), levels=st.integers(1, 3))
def test_ties_go_to_the_lowest_states_of_the_first_variables(seed, levels):
    # Few values of parameters: many joint states are as good as the best.
    tables, evidence = queried_network(seed, soft=False)
    rough = {
        name: (table.parents, np.where(np.isneginf(table.values), -np.inf, np.round(table.values * levels) / 4))
        for name, table in tables.tables.items()
    }
    rough = LogTables(tables.names, tables.states, rough, tables.target)
    assert most_probable(rough, evidence) == enumerated(rough, evidence)


def test_what_is_equal_but_for_rounding_is_tied():
    third = np.log(np.array([1.0 + 1e-12, 1.0, 1.0 + 3e-12]) / 3)
    tables = LogTables(
        ["a", "b"], {"a": range(3), "b": range(3)}, {"a": ((), third), "b": (("a",), np.stack([third] * 3, axis=1))}
    )
    assert most_probable(tables) == {"a": 0, "b": 0}
    apart = LogTables(["a"], {"a": range(2)}, {"a": ((), np.log([0.5 - 1e-8, 0.5 + 1e-8]))})
    assert most_probable(apart) == {"a": 1}


def test_the_best_joint_state_need_not_have_the_best_states():
    tables = LogTables(
        ["c", "x"],
        {"c": ["n", "p"], "x": [0, 1, 2]},
        {
            "c": ((), np.log([0.4, 0.6])),
            "x": (("c",), np.log([[0.9, 0.3], [0.05, 0.3], [0.05, 0.4]])),
        },
    )
    assert most_probable(tables) == {"c": 0, "x": 0}  # .36 is above .6 * .4 = .24
    assert most_probable(tables, {"c": [1.0, 1.6]}) == {"c": 1, "x": 2}  # .36 against .384


def test_a_long_chain_with_ties_everywhere():
    n = 60
    names = [f"v{i}" for i in range(n)]
    same = np.log([[0.5, 0.5], [0.5, 0.5]])
    tables = LogTables(
        names,
        {name: range(2) for name in names},
        {name: ((names[i - 1],), same) if i else ((), np.log([0.5, 0.5])) for i, name in enumerate(names)},
    )
    assert most_probable(tables, {"v30": 1}) == {name: 0 for name in names if name != "v30"}


def test_what_is_wrong_is_said():
    tables = random_tables(np.random.default_rng(0), [[], [0], [0, 1]], [2, 3, 4])
    with pytest.raises(ValueError, match="no variable 'v9'"):
        most_probable(tables, {"v9": 0})
    with pytest.raises(ValueError, match="24 cells, more than max_clique_size=23"):
        most_probable(tables, {}, 23)
    tables.tables["v1"].values[0] = -np.inf
    with pytest.raises(ValueError, match=r"the evidence \{'v1': 0\} is impossible"):
        most_probable(tables, {"v1": 0})
    assert most_probable(tables, {"v0": 0, "v1": 1, "v2": 3}) == {}
