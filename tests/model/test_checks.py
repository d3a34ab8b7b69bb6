"""What is given and what learners return is checked at the door, and a fault is named with whoever made it."""

import networkx as nx
import numpy as np
import pandas as pd
import pytest

from bnplug import ContractError, LogTables, Table, structure_learner
from bnplug.model.checks import check_dag, check_tables, given_dag


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


def test_a_dag_is_passed_on_as_it_is(table):
    dag = table.dag(NB)
    dag.add_nodes_from([])  # by now it is a graph of pgmpy
    assert check_dag(dag, table, LEARNER) is dag
    assert check_dag(unmade := table.dag(NB), table, LEARNER) is unmade


@pytest.mark.parametrize(
    "numbers", [NB, tuple(map(tuple, NB)), [np.array([2]), {2}, ()]], ids=["lists", "tuples", "any"]
)
def test_parents_as_numbers_become_a_dag(table, numbers):
    assert table.parents(check_dag(numbers, table, LEARNER)) == NB
    assert set(check_dag(numbers, table, LEARNER).edges) == {("c", "a"), ("c", "b")}


@pytest.mark.parametrize(
    ("numbers", "message"),
    [
        ([[2], [2]], "for each of the 3 variables"),
        ([[3], [], []], "numbers from 0 to 2"),
        ([[-1], [], []], "numbers from 0 to 2"),
        ([["c"], [], []], "'str' object cannot be interpreted as an integer"),
        ([[1.0], [], []], "'float' object"),
        ([2, 2, None], "not iterable"),
        ([[1], [2], [0]], "the edges make a cycle: a -> c -> b -> a"),
        ([[0], [], []], "the edges make a cycle: a -> a"),
    ],
    ids=["too few", "too large", "negative", "names", "floats", "no lists", "a cycle", "its own parent"],
)
def test_numbers_that_are_no_dag_of_the_table(table, numbers, message):
    with pytest.raises(ContractError, match=f"'nb' of bnplug .*: learn returned numbers that make no DAG: .*{message}"):
        check_dag(numbers, table, LEARNER)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda table: nx.DiGraph([("c", "a")]), "'nb' of bnplug .*: learn returned a DiGraph, not a pgmpy DAG"),
        (lambda table: None, "returned a NoneType"),
        (lambda table: without(table.dag(NB), "b"), r"they differ in \['b'\]"),
        (lambda table: cyclic(table.dag(NB)), "the graph has a cycle"),
    ],
    ids=["another graph", "nothing", "a node is absent", "a cycle"],
)
def test_what_is_no_dag_of_the_table(table, make, message):
    with pytest.raises(ContractError, match=message):
        check_dag(make(table), table, LEARNER)


def without(dag, node):
    dag.remove_node(node)
    return dag


def cyclic(dag):
    nx.DiGraph.add_edges_from(dag, [("a", "c")])
    return dag


def test_parameters_get_the_tables_target_and_are_normalised_where_that_is_possible(table):
    checked = check_tables(log_tables(table, NB), table, NB, LEARNER)
    assert checked.target == "c"
    assert check_tables(log_tables(table, NB, probability=1.0), table, NB, LEARNER).normalized


def test_parameters_that_are_no_network_stay_where_the_structure_is_not_c1():
    frame = pd.DataFrame({"a": [0, 1, 0], "b": [0, 0, 1], "d": [1, 1, 0], "c": [0, 1, 1]})
    table, apart = Table.from_frame(frame, "c"), [[3], [3], [0, 1, 3], []]
    given = log_tables(table, apart, probability=1.0)
    checked = check_tables(given, table, apart, LEARNER)
    assert not checked.normalized
    assert all((checked[name].values == given[name].values).all() for name in table.names)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda table: {}, "fit returned a dict, not LogTables"),
        (lambda table: log_tables(table, NB, states=dict.fromkeys("abc", "uv")), "not the table's"),
        (lambda table: log_tables(table, [[], [2], []]), r"'a' has parents \(\), in the DAG \('c',\)"),
    ],
    ids=["a dict", "other states", "other parents"],
)
def test_what_are_no_parameters_of_the_dag(table, make, message):
    with pytest.raises(ContractError, match=message):
        check_tables(make(table), table, NB, LEARNER)


@pytest.mark.parametrize(
    "structure", [[("c", "a"), ("c", "b")], nx.DiGraph([("c", "a"), ("c", "b")])], ids=["edges", "graph"]
)
def test_a_given_structure_may_be_edges_or_a_graph(table, structure):
    assert table.parents(given_dag(structure, table)) == NB


@pytest.mark.parametrize(
    ("structure", "error", "message"),
    [
        (nx.Graph([("c", "a")]), ValueError, "undirected"),
        (3, TypeError, "a name, a learner, a DAG or a list of edges"),
        (["ca"], ValueError, "an edge is a pair"),
        ([("c", "x")], ValueError, r"structure names \['x'\]"),
        ([("a", "b"), ("b", "a")], ValueError, "cycle"),
    ],
    ids=str,
)
def test_what_is_no_structure(table, structure, error, message):
    with pytest.raises(error, match=message):
        given_dag(structure, table)
