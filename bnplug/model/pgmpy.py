"""The only door to pgmpy: its DAG, its CPDs and its networks, made from and turned into our own terms.

Importing pgmpy takes a second or more, so this module is imported inside functions, when first needed.
"""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Iterable, Mapping, Sequence
from itertools import combinations
from typing import Any

import networkx as nx
import numpy as np
import numpy.typing as npt

from bnplug.data.coding import State
from bnplug.errors import NotRepresentableError

with warnings.catch_warnings():
    # Some of pgmpy's modules warn of others that they import: nothing that a user of ours could change.
    warnings.simplefilter("ignore", FutureWarning)
    from pgmpy.base import DAG
    from pgmpy.factors.discrete import DiscreteFactor, TabularCPD
    from pgmpy.inference import BeliefPropagation
    from pgmpy.models import DiscreteBayesianNetwork, DiscreteMarkovNetwork

__all__ = ["DAG", "DiscreteBayesianNetwork", "JunctionTrees", "is_dag", "make_dag", "make_network", "read_network"]

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


class JunctionTrees:
    """pgmpy's junction tree of a product of tables, and belief propagation on it. Variables are numbers.

    Each part of the network that no table connects with the others has a tree of its own: pgmpy takes connected ones.
    Its calibration ends where beliefs are within 1e-8 of one another, which small numbers always are, and looks for
    that after every round. So its messages are sent here in two rounds: to a root, and back.

    Parameters
    ----------
    sizes : sequence of int
        How many states each variable has.
    factors : sequence of (tuple of int, float64 array)
        Scopes and tables, of which at least one mentions each variable.
    cliques : sequence of sequence of int
        Sets of variables that are made neighbours, so that the graph is chordal and has no larger cliques than these.
    """

    def __init__(
        self,
        sizes: Sequence[int],
        factors: Sequence[tuple[tuple[int, ...], npt.NDArray[np.float64]]],
        cliques: Iterable[Sequence[int]],
    ) -> None:
        graph = nx.Graph()
        graph.add_nodes_from(range(len(sizes)))
        for clique in cliques:
            graph.add_edges_from(combinations(clique, 2))
        self._trees = []
        for part in nx.connected_components(graph):
            network = DiscreteMarkovNetwork()
            network.add_nodes_from(sorted(part))
            network.add_edges_from(sorted(tuple(sorted(edge)) for edge in graph.edges(part)))
            network.add_factors(
                *(
                    DiscreteFactor(scope, [sizes[v] for v in scope], table)
                    for scope, table in factors
                    if scope[0] in part
                )
            )
            self._trees.append(_Propagation(network.to_junction_tree()))

    def belief(
        self, scope: Sequence[int], likelihoods: Mapping[int, npt.NDArray[np.float64]]
    ) -> npt.NDArray[np.float64]:
        """Return the marginal of variables of one clique, up to a factor; all 0 where the evidence is impossible.

        What is impossible in another part of the network is not seen.
        """
        tree, root = self._clique(scope)
        tree.collect(root, likelihoods)
        return tree.marginal(root, scope)

    def beliefs(
        self, scopes: Sequence[Sequence[int]], likelihoods: Mapping[int, npt.NDArray[np.float64]]
    ) -> list[npt.NDArray[np.float64]] | None:
        """Return the marginals of sets of variables, each within a clique; None where the evidence is impossible."""
        for tree in self._trees:
            root = next(iter(tree.get_cliques()))
            tree.collect(root, likelihoods)
            if not tree.clique_beliefs[root].values.any():
                return None
            tree.distribute(root)
        found = [tree.marginal(clique, scope) for scope in scopes for tree, clique in [self._clique(scope)]]
        return [own / own.sum() for own in found]

    def together(self, scope: Sequence[int]) -> bool:
        """Whether variables are in one clique."""
        return any({*scope} <= {*clique} for tree in self._trees for clique in tree.get_cliques())

    def _clique(self, scope: Sequence[int]) -> tuple[_Propagation, tuple[int, ...]]:
        return next((tree, clique) for tree in self._trees for clique in tree.get_cliques() if {*scope} <= {*clique})


class _Propagation(BeliefPropagation):  # type: ignore[misc]
    """Messages of pgmpy in the order that two rounds take; every belief is scaled to a largest number of 1."""

    def collect(self, root: tuple[int, ...], likelihoods: Mapping[int, npt.NDArray[np.float64]]) -> None:
        """Begin anew with what is known, and send messages to a root."""
        tree = self.junction_tree
        self.clique_beliefs = {clique: tree.get_factors(clique).copy() for clique in tree.nodes()}
        self.sepset_beliefs = {frozenset(edge): None for edge in tree.edges()}
        for v, likelihood in likelihoods.items():
            for clique, belief in self.clique_beliefs.items():
                if v in clique:
                    axis = belief.variables.index(v)
                    belief.values *= likelihood.reshape([-1 if i == axis else 1 for i in range(belief.values.ndim)])
                    break
        for clique in self.clique_beliefs:
            self._scale(clique)
        self._send((v, u) for u, v in reversed(list(nx.bfs_edges(tree, root))))

    def distribute(self, root: tuple[int, ...]) -> None:
        """Send messages back from the root."""
        self._send(nx.bfs_edges(self.junction_tree, root))

    def marginal(self, clique: tuple[int, ...], scope: Sequence[int]) -> npt.NDArray[np.float64]:
        """Return the belief in variables of a clique, one axis for each."""
        belief = self.clique_beliefs[clique]
        summed = belief.values.sum(axis=tuple(i for i, v in enumerate(belief.variables) if v not in scope))
        kept = [v for v in belief.variables if v in scope]
        return np.asarray(summed.transpose([kept.index(v) for v in scope]))

    def _send(self, edges: Iterable[tuple[tuple[int, ...], tuple[int, ...]]]) -> None:
        # 0 / 0 is 0 to pgmpy.
        with np.errstate(invalid="ignore"):
            for sender, receiver in edges:
                self._update_beliefs(sender, receiver, "marginalize")
                self._scale(receiver)

    def _scale(self, clique: tuple[int, ...]) -> None:
        values = self.clique_beliefs[clique].values
        largest = values.max()
        if largest > 0:
            values /= largest
