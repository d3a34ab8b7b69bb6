"""Structures: what they are made of, their equivalence classes, and what learners return beside them."""

import copy
import pickle
import subprocess
import sys
from itertools import combinations, permutations

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import random_parents

from bnplug import Learned, PartialGraph, Structure, Table

NAMES = ("c", "x", "y")
CHAIN = Structure(NAMES, [[], [0], [0, 1]])


def test_the_parts_of_a_structure():
    assert (CHAIN.names, CHAIN.parents) == (NAMES, ((), (0,), (0, 1)))
    assert CHAIN.children == ((1, 2), (2,), ())
    assert CHAIN.order == (0, 1, 2)
    assert CHAIN.edges == (("c", "x"), ("c", "y"), ("x", "y"))
    assert CHAIN.by_name == {"c": (), "x": ("c",), "y": ("c", "x")}


def test_parents_are_ascending_and_distinct_whatever_they_are_given_as():
    assert Structure(list(NAMES), [(), {0}, np.array([1, 0, 1])]) == CHAIN


@pytest.mark.parametrize("parents", [[[1]], [[1], [3], []], [[-1], [], []]])
def test_parents_are_positions_of_variables_for_each_variable(parents):
    with pytest.raises(ValueError, match="for each of the 3 variables, numbers from 0 to 2"):
        Structure(NAMES, parents)


def test_names_are_distinct():
    with pytest.raises(ValueError, match="names are not distinct"):
        Structure("aa", [[], []])


def test_a_cycle_is_named():
    with pytest.raises(ValueError, match="the edges make a cycle: c -> x -> y -> c"):
        Structure(NAMES, [[2], [0], [1]])


def test_a_structure_is_a_value():
    same = Structure(NAMES, [[], [0], [0, 1]])
    assert same == CHAIN
    assert hash(CHAIN) == hash(same)
    assert Structure(NAMES, [[], [], []]) != CHAIN
    assert CHAIN == copy.deepcopy(CHAIN) == pickle.loads(pickle.dumps(CHAIN))
    with pytest.raises(AttributeError):
        CHAIN.parents = ()


def test_no_pgmpy_is_loaded_until_a_dag_is_asked_for():
    probe = "import sys; from bnplug import Structure; s = Structure('ab', [[], [0]]); s.cpdag(); s.is_c1('a'); "
    probe += "assert 'pgmpy' not in sys.modules; s.to_dag(); assert 'pgmpy' in sys.modules"
    subprocess.run([sys.executable, "-c", probe], check=True)


def test_the_dag_of_pgmpy_has_the_nodes_in_order():
    dag = CHAIN.to_dag()
    assert (list(dag.nodes), set(dag.edges)) == (list(NAMES), set(CHAIN.edges))
    assert Structure.of(dag, CHAIN) == CHAIN


def test_c1_asks_for_a_covering_parent_of_each_class_child():
    assert CHAIN.is_c1("c")
    assert not Structure("cabx", [[], [0], [0], [0, 1, 2]]).is_c1("c")
    with pytest.raises(ValueError, match="the class 'z' is not among the 3 nodes"):
        CHAIN.is_c1("z")


# What Structure.of makes one of


@pytest.fixture
def table():
    frame = pd.DataFrame({"c": [0, 1], "x": [0, 1], "y": [1, 0]})
    full = Table.from_frame(frame, "c")
    return Table(full.codes, full.names, full.states, "c", left_out=["omitted"])


@pytest.mark.parametrize(
    "graph",
    [
        CHAIN,
        [[], [0], [0, 1]],
        ((), (0,), (0, 1)),
        [("c", "x"), ("c", "y"), ("x", "y")],
        nx.DiGraph([("c", "x"), ("c", "y"), ("x", "y")]),
        Structure("yxc", [[1, 2], [2], []]),
        [("c", "x"), ("c", "y"), ("x", "y"), ("omitted", "y")],
        Learned([("c", "x"), ("c", "y"), ("x", "y")]),
    ],
    ids=["structure", "lists", "tuples", "edges", "networkx", "other order", "omitted column", "learned"],
)
def test_a_structure_of_anything(table, graph):
    assert Structure.of(graph, table) == CHAIN


def test_no_edges_are_a_structure_without_edges(table):
    assert Structure.of([], table).edges == Structure.of(nx.DiGraph(), table).edges == ()


def test_whole_numbers_are_names_if_the_variables_have_such_names():
    numbered = Structure(["0", "1", "2"], [[], [], []])
    assert Structure.of([(0, 1), (1, 2), (0, 2)], numbered).edges == (("0", "1"), ("0", "2"), ("1", "2"))
    assert Structure.of([[], [0], [0, 1]], numbered).edges == (("0", "1"), ("0", "2"), ("1", "2"))


@pytest.mark.parametrize(
    ("graph", "error", "message"),
    [
        (nx.Graph([("c", "x")]), ValueError, "undirected"),
        (3, TypeError, "got an int: 3"),
        ("cx", TypeError, "got a str"),
        (["cx"], ValueError, "an edge is a pair"),
        ([("c", "z")], ValueError, "the graph has the node 'z', which is not a variable"),
        ([("c", "Xy")], ValueError, "the graph has the node 'Xy'"),
        ([("c", "x"), ("x", "c")], ValueError, "cycle"),
        (Structure("cx", [[], [0]]), ValueError, "the structure is over"),
    ],
    ids=str,
)
def test_what_is_no_structure(table, graph, error, message):
    with pytest.raises(error, match=message):
        Structure.of(graph, table)


# Equivalence classes


def colliders(structure):
    adjacent = {frozenset(edge) for edge in structure.edges}
    return {
        (*sorted(pair), v)
        for v, parents in structure.by_name.items()
        for pair in combinations(parents, 2)
        if frozenset(pair) not in adjacent
    }


def equivalent_structures(structure):
    """All structures with the same skeleton and the same colliders (Verma and Pearl 1990)."""
    names, edges = structure.names, structure.edges
    for flips in range(2 ** len(edges)):
        turned = [(v, u) if flips >> i & 1 else (u, v) for i, (u, v) in enumerate(edges)]
        try:
            other = Structure.of(turned, structure)
        except ValueError:
            continue
        if colliders(other) == colliders(structure):
            yield other
    assert names == structure.names


@given(st.integers(0, 2**32 - 1), st.integers(1, 5))
def test_an_edge_is_directed_if_all_equivalent_structures_direct_it_so(seed, n):
    structure = Structure([*"abcde"[:n]], random_parents(np.random.default_rng(seed), n))
    alike = [set(other.edges) for other in equivalent_structures(structure)]
    fixed = {edge for edge in structure.edges if all(edge in edges for edges in alike)}
    pdag = structure.cpdag()
    assert set(pdag.directed) == fixed
    assert {frozenset(edge) for edge in pdag.undirected} == {frozenset(e) for e in structure.edges if e not in fixed}
    assert all(other.cpdag() == pdag for other in equivalent_structures(structure))


def test_a_partial_graph_takes_names_and_positions():
    graph = PartialGraph(NAMES, [("y", "c")], [(1, 0)])
    assert (graph.directed, graph.undirected) == ((("y", "c"),), (("c", "x"),))
    assert graph == PartialGraph(NAMES, [(2, 0)], [("c", "x")])
    pdag = graph.to_pdag()
    assert set(pdag.nodes) == set(NAMES)
    assert set(pdag.directed_edges) == {("y", "c")}


@pytest.mark.parametrize(
    ("directed", "undirected", "message"),
    [
        ([("c", "z")], [], "'z' is not a variable"),
        ([("c", 3)], [], "3 is not a variable"),
        (["cx"], [], "an edge is a pair"),
        ([("c", "c")], [], "an edge joins two variables"),
        ([("c", "x"), ("x", "c")], [], "at most one joins 'c' and 'x'"),
        ([("c", "x")], [("x", "c")], "at most one joins 'c' and 'x'"),
    ],
)
def test_what_is_no_partial_graph(directed, undirected, message):
    with pytest.raises(ValueError, match=message):
        PartialGraph(NAMES, directed, undirected)


# What a learner found


def test_the_parts_of_what_was_learned_are_over_the_variables(table):
    probabilities = {(0, 1): 1, ("x", "y"): 0.25}
    learned = Learned.of(Learned([[], [0], [0, 1]], CHAIN.cpdag(), probabilities, [[[], [], []]], {"tests": 3}), table)
    assert learned.structure == CHAIN
    assert learned.edge_probabilities == {("c", "x"): 1.0, ("x", "y"): 0.25}
    assert learned.alternatives == (Structure(NAMES, [[], [], []]),)
    assert (learned.details, learned.has_more) == ({"tests": 3}, True)


def test_details_become_what_json_preserves(table):
    details = {"rate": np.float64(0.5), "tests": np.arange(3), "pairs": [(1, np.True_)], "none": None}
    plain = Learned.of(Learned(CHAIN, details=details), table).details
    assert plain == {"rate": 0.5, "tests": [0, 1, 2], "pairs": [[1, True]], "none": None}
    assert type(plain["rate"]) is float


@pytest.mark.parametrize(
    ("details", "message"),
    [
        (3, "details must be a mapping, not an int"),
        ({"a": {"b": [print]}}, r"details\['a'\]\['b'\]\[0\] is a builtin.*, which JSON cannot hold"),
        ({1: 2}, "details has the key 1; its keys must be text"),
    ],
)
def test_details_that_json_cannot_hold_are_refused(table, details, message):
    with pytest.raises(TypeError, match=message):
        Learned.of(Learned(CHAIN, details=details), table)


def test_several_graphs_are_refused(table):
    with pytest.raises(ValueError, match=r"one graph, not several; .* alternatives=others"):
        Structure.of([CHAIN, CHAIN], table)
    with pytest.raises(ValueError, match=r"not \[0\]; positions of parents are listed for all 3 variables"):
        Structure.of([[0], [1]], table)


def test_a_structure_alone_has_no_more(table):
    assert Learned.of(CHAIN, table) == Learned(CHAIN)
    assert not Learned(CHAIN).has_more


def test_every_order_of_three_variables_has_its_complete_graph_in_one_class():
    classes = set()
    for order in permutations(range(3)):
        parents = [[order[j] for j in range(order.index(v))] for v in range(3)]
        classes.add(Structure(NAMES, parents).cpdag())
    assert classes == {PartialGraph(NAMES, (), [("c", "x"), ("c", "y"), ("x", "y")])}
