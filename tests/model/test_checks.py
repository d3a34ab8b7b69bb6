"""What is given and what learners return is checked at the door, and a fault is named with whoever made it."""

import networkx as nx
import numpy as np
import pandas as pd
import pytest

from bnplug import ContractError, Learned, LogTables, PartialGraph, Structure, Table, structure_learner
from bnplug.model.checks import check_learned, check_tables


@pytest.fixture
def table():
    return Table.from_frame(pd.DataFrame({"a": [0, 1, 0], "b": [0, 0, 1], "c": [0, 1, 1]}), "c")


LEARNER = structure_learner("nb")
NB = [[2], [2], []]


def log_tables(table, parents, probability=0.5, states=None):
    names = table.names
    families = {
        names[v]: ([names[p] for p in own], np.full([2] * (1 + len(own)), np.log(probability)))
        for v, own in enumerate(parents)
    }
    return LogTables(names, states or table.states, families)


def test_a_structure_stays_as_it_is(table):
    structure = Structure(table.names, NB)
    assert check_learned(structure, table, LEARNER) == Learned(structure)
    assert check_learned(structure, table, LEARNER).structure is structure


@pytest.mark.parametrize(
    "found",
    [
        NB,
        tuple(map(tuple, NB)),
        [np.array([2]), {2}, ()],
        [("c", "a"), ("c", "b")],
        nx.DiGraph([("c", "a"), ("c", "b")]),
    ],
    ids=["lists", "tuples", "any", "edges", "graph"],
)
def test_anything_that_makes_a_structure_may_be_learned(table, found):
    assert check_learned(found, table, LEARNER).structure == Structure(table.names, NB)
    assert check_learned(Learned(found), table, LEARNER).structure == Structure(table.names, NB)


@pytest.mark.parametrize(
    ("found", "message"),
    [
        ([[2], [2]], "an edge is a pair"),
        ([[3], [], []], "numbers from 0 to 2"),
        ([[-1], [], []], "numbers from 0 to 2"),
        ([["c"], [], []], "an edge is a pair"),
        ([[1], [2], [0]], "the edges make a cycle: a -> c -> b -> a"),
        ([[0], [], []], "the edges make a cycle: a -> a"),
        ([nx.DiGraph([("c", "a")]), nx.DiGraph()], "expected one graph, not several"),
        (None, "got a NoneType: None"),
        (nx.DiGraph([("c", "hidden")]), "the graph has the node 'hidden', which is not a variable"),
        (nx.DiGraph([("c", "a"), ("a", "c")]), "the edges make a cycle"),
        (Learned(NB, pdag=[]), "pdag must be a PartialGraph, not a list"),
        (Learned(NB, pdag=PartialGraph("ab")), "pdag is over"),
        (Learned(NB, pdag=PartialGraph("abca")), "pdag is over"),
        (Learned(NB, edge_probabilities=[]), "edge_probabilities must be a mapping, not a list"),
        (Learned(NB, alternatives=Structure("abc", NB)), "alternatives must be an iterable, not a Structure"),
        (Learned(NB, edge_probabilities={("a", "b"): 1.5}), r"the edge \('a', 'b'\) has the probability 1.5"),
        (Learned(NB, edge_probabilities={("a", "x"): 0.5}), "'x' is not a variable"),
        (Learned(NB, alternatives=[[[1], [0], []]]), "the edges make a cycle"),
    ],
    ids=range(18),
)
def test_what_is_no_structure_of_the_table_names_the_learner(table, found, message):
    returned = "(no structure|a Learned with a wrong part)"
    with pytest.raises(ContractError, match=f"'nb' of bnplug .*: learn returned {returned}.*{message}"):
        check_learned(found, table, LEARNER)


def test_parameters_get_the_tables_target_and_are_normalised_where_that_is_possible(table):
    checked = check_tables(log_tables(table, NB), table, Structure(table.names, NB), LEARNER)
    assert checked.target == "c"
    assert check_tables(log_tables(table, NB, probability=1.0), table, Structure(table.names, NB), LEARNER).normalized


def test_parameters_that_are_no_network_stay_where_the_structure_is_not_c1():
    frame = pd.DataFrame({"a": [0, 1, 0], "b": [0, 0, 1], "d": [1, 1, 0], "c": [0, 1, 1]})
    table, apart = Table.from_frame(frame, "c"), [[3], [3], [0, 1, 3], []]
    given = log_tables(table, apart, probability=1.0)
    checked = check_tables(given, table, Structure(table.names, apart), LEARNER)
    assert not checked.normalized
    assert all((checked[name].values == given[name].values).all() for name in table.names)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda table: {}, "fit returned a dict, not LogTables"),
        (lambda table: log_tables(table, NB, states=dict.fromkeys("abc", "uv")), "not the table's"),
        (lambda table: log_tables(table, [[], [2], []]), r"'a' has parents \(\); the structure: \('c',\)"),
    ],
    ids=["a dict", "other states", "other parents"],
)
def test_what_are_no_parameters_of_the_dag(table, make, message):
    with pytest.raises(ContractError, match=message):
        check_tables(make(table), table, Structure(table.names, NB), LEARNER)
