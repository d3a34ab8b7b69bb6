"""The only door to pgmpy: its DAG, its CPDs and its networks, made from and turned into our own terms.

Importing pgmpy takes a second or more, so this module is imported inside functions, when first needed.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any

import networkx as nx
import numpy as np
import numpy.typing as npt
from pgmpy.base import DAG
from pgmpy.factors.discrete import TabularCPD
from pgmpy.models import DiscreteBayesianNetwork

from bnplug.data.coding import State
from bnplug.errors import NotRepresentableError

__all__ = ["DAG", "DiscreteBayesianNetwork", "is_dag", "make_dag", "make_network", "read_network"]

# pgmpy has a letter for each variable of a table.
_MAX_PARENTS = 51

_Family = tuple[tuple[str, ...], npt.NDArray[np.float64]]


def make_dag(names: Sequence[str], edges: Iterable[tuple[str, str]]) -> DAG:
    """Return the DAG on `names`, in that order, with the given edges; a cycle is a ``ValueError``."""
    graph = nx.DiGraph()
    graph.add_nodes_from(names)
    graph.add_edges_from(edges)
    unknown = [name for name in graph if name not in set(names)]
    if unknown:
        raise ValueError(f"edges name {unknown}, which are not among the variables {list(names)}")
    if not nx.is_directed_acyclic_graph(graph):
        cycle = " -> ".join([*(u for u, _ in nx.find_cycle(graph)), nx.find_cycle(graph)[0][0]])
        raise ValueError(f"the edges make a cycle: {cycle}")
    dag = DAG()
    dag.add_nodes_from(graph.nodes)
    # pgmpy's own add_edges_from looks for a cycle at every edge; the graph was checked above.
    nx.DiGraph.add_edges_from(dag, graph.edges)
    return dag


def is_dag(value: Any) -> bool:
    """Whether `value` is a pgmpy DAG (a network is one)."""
    return isinstance(value, DAG)


def make_network(
    names: Sequence[str], states: Mapping[str, Sequence[State]], families: Mapping[str, _Family]
) -> DiscreteBayesianNetwork:
    """Return the pgmpy network of `families`: parents and probabilities by name, with axes ``(node, *parents)``."""
    _check_parents(families)
    network = DiscreteBayesianNetwork()
    network.add_nodes_from(names)
    for name in names:
        nx.DiGraph.add_edges_from(network, [(parent, name) for parent in families[name][0]])
    for name in names:
        parents, probabilities = families[name]
        network.add_cpds(
            TabularCPD(
                name,
                len(states[name]),
                probabilities.reshape(len(states[name]), -1),
                evidence=list(parents),
                evidence_card=[len(states[parent]) for parent in parents],
                state_names={variable: list(states[variable]) for variable in (name, *parents)},
            )
        )
    network.check_model()
    return network


def _check_parents(families: Mapping[str, _Family]) -> None:
    for name, (parents, _) in families.items():
        if len(parents) > _MAX_PARENTS:
            raise NotRepresentableError(
                f"{name!r} has {len(parents)} parents; pgmpy takes tables of up to {_MAX_PARENTS}. Use fewer parents"
            )


def read_network(
    network: DiscreteBayesianNetwork,
) -> tuple[tuple[str, ...], dict[str, tuple[State, ...]], dict[str, _Family]]:
    """Return names, states and families of a pgmpy network; the parents' axes follow the order of names."""
    if not isinstance(network, DiscreteBayesianNetwork):
        raise TypeError(f"expected a pgmpy DiscreteBayesianNetwork, got a {type(network).__name__}")
    network.check_model()
    nodes: list[Hashable] = list(network.nodes())
    position = {node: i for i, node in enumerate(nodes)}
    states, families = {}, {}
    for node in nodes:
        cpd = network.get_cpds(node)
        states[str(node)] = tuple(cpd.state_names[node])
        parents = sorted(cpd.variables[1:], key=position.__getitem__)
        axes = [0, *(cpd.variables.index(parent) for parent in parents)]
        families[str(node)] = (tuple(map(str, parents)), np.ascontiguousarray(cpd.values.transpose(axes)))
    return tuple(map(str, nodes)), states, families
