"""A graph that nobody has looked at imports no pgmpy; looked at in whatever way, it is a graph of pgmpy."""

import copy
import pickle
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import networkx as nx
import pytest

from bnplug.table._dags import check_acyclic, lazy_dag, parents_by_number
from bnplug.typing import DAG

NAMES = ("c", "x", "y")
PARENTS = [[], [0], [1, 0]]
EDGES = {("c", "x"), ("c", "y"), ("x", "y")}


def unmade():
    return lazy_dag(NAMES, PARENTS)


def with_attribute(dag):
    dag.note = "mine"
    assert dag.note == "mine"
    return dag


@pytest.mark.parametrize(
    "look",
    [
        lambda dag: dag if isinstance(dag, DAG) else None,
        lambda dag: dag if isinstance(dag, nx.DiGraph) else None,
        lambda dag: dag if len(dag) == 3 else None,
        lambda dag: dag if list(dag) == list(NAMES) else None,
        lambda dag: dag if "x" in dag and "z" not in dag else None,
        lambda dag: dag if set(dag["c"]) == {"x", "y"} else None,
        lambda dag: dag if list(nx.topological_sort(dag)) == list(NAMES) else None,
        lambda dag: dag if sorted(dag.get_parents("y")) == ["c", "x"] else None,
        lambda dag: dag if repr(dag).startswith("<pgmpy") and "3 edges" in str(dag) else None,
        lambda dag: {dag: dag}[dag],
        with_attribute,
        copy.copy,
        copy.deepcopy,
        lambda dag: dag.copy(),
        lambda dag: pickle.loads(pickle.dumps(dag)),
        DAG,
    ],
)
def test_whoever_looks_sees_a_graph_of_pgmpy(look):
    dag = look(unmade())
    assert list(dag.nodes) == list(NAMES)
    assert set(dag.edges) == EDGES
    assert type(dag) is DAG


def test_graphs_are_equal_where_those_of_pgmpy_are():
    assert unmade() == unmade()
    assert unmade() != lazy_dag(NAMES, [[], [], []])
    assert unmade() != 3


def test_the_numbers_are_known_until_somebody_looks_and_to_the_names_they_are_of():
    dag = unmade()
    assert parents_by_number(dag, NAMES) == [[], [0], [0, 1]]
    assert parents_by_number(dag, ("x", "c", "y")) is None
    dag.remove_edge("c", "x")
    assert parents_by_number(dag, NAMES) is None
    assert parents_by_number("cxy", NAMES) is None


def test_no_pgmpy_is_loaded_for_the_numbers():
    probe = "import sys; from bnplug.table._dags import lazy_dag, parents_by_number as numbers; "
    probe += "assert numbers(lazy_dag('ab', [[], [0]]), ('a', 'b')) == [[], [0]]; assert 'pgmpy' not in sys.modules"
    subprocess.run([sys.executable, "-c", probe], check=True)


def test_threads_that_look_at_once_see_one_graph():
    dags = [unmade() for _ in range(50)]
    with ThreadPoolExecutor(8) as pool:
        seen = list(pool.map(lambda dag: set(dag.edges), [dag for dag in dags for _ in range(8)]))
    assert all(edges == EDGES for edges in seen)


def test_a_cycle_is_refused_before_anybody_looks():
    with pytest.raises(ValueError, match="the edges make a cycle: c -> x -> y -> c"):
        lazy_dag(NAMES, [[2], [0], [1]])
    check_acyclic(NAMES, PARENTS)
