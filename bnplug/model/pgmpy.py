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
    """Belief propagation on pgmpy's junction trees of a product of tables. Variables are numbers.

    pgmpy builds the trees, one for each connected component of the graph. This class sends the messages, as logarithms:
    pgmpy multiplies probabilities, which underflow, and stops its calibration once beliefs differ by less than 1e-8,
    as small probabilities always do.

    Parameters
    ----------
    sizes : sequence of int
        The number of states of each variable.
    factors : sequence of (tuple of int, float64 array)
        Scopes and logarithms of tables. Each variable is in at least one scope.
    cliques : sequence of sequence of int
        Sets of variables to connect. They make the graph chordal, and are its largest cliques.
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
            network.add_factors(*(DiscreteFactor([v], [sizes[v]], np.ones(sizes[v])) for v in sorted(part)))
            tree = network.to_junction_tree()
            factors_of_part = [(scope, logs) for scope, logs in factors if scope[0] in part]
            self._trees.append(_Propagation(list(tree.nodes()), list(tree.edges()), sizes, factors_of_part))

    def belief(
        self, scope: Sequence[int], likelihoods: Mapping[int, npt.NDArray[np.float64]]
    ) -> npt.NDArray[np.float64]:
        """Return the log marginal of variables of one clique, up to a constant; all -inf for impossible evidence.

        `likelihoods` are logarithms. Evidence on another component of the graph is ignored, even if it is impossible.
        """
        tree, root = self._clique(scope)
        tree.collect(root, likelihoods)
        return tree.marginal(root, scope)

    def log_total(self, likelihoods: Mapping[int, npt.NDArray[np.float64]]) -> float:
        """Return the logarithm of the sum over all variables; `likelihoods` are logarithms."""
        return sum(tree.collect(tree.cliques[0], likelihoods) for tree in self._trees)

    def beliefs(
        self, scopes: Sequence[Sequence[int]], likelihoods: Mapping[int, npt.NDArray[np.float64]]
    ) -> list[npt.NDArray[np.float64]] | None:
        """Return the marginals of sets of variables, each within a clique; None if the evidence is impossible.

        `likelihoods` are logarithms, marginals are probabilities.
        """
        for tree in self._trees:
            root = tree.cliques[0]
            if np.isneginf(tree.collect(root, likelihoods)):
                return None
            tree.distribute(root)
        logs = [tree.marginal(clique, scope) for scope in scopes for tree, clique in [self._clique(scope)]]
        with np.errstate(under="ignore"):
            shares = [np.exp(belief - belief.max()) for belief in logs]
        return [share / share.sum() for share in shares]

    def together(self, scope: Sequence[int]) -> bool:
        """Whether variables are in one clique."""
        return any({*scope} <= {*clique} for tree in self._trees for clique in tree.cliques)

    def _clique(self, scope: Sequence[int]) -> tuple[_Propagation, tuple[int, ...]]:
        return next((tree, clique) for tree in self._trees for clique in tree.cliques if {*scope} <= {*clique})


class _Propagation:
    """Messages along one junction tree, in two rounds: to a root, and back (Lauritzen, Spiegelhalter 1988).

    Parameters
    ----------
    cliques : list of tuple of int
    edges : list of pairs of cliques
    sizes : sequence of int
        The number of states of each variable.
    factors : sequence of (tuple of int, float64 array)
        Scopes and logarithms of tables.
    """

    def __init__(
        self,
        cliques: list[tuple[int, ...]],
        edges: Iterable[tuple[tuple[int, ...], tuple[int, ...]]],
        sizes: Sequence[int],
        factors: Sequence[tuple[tuple[int, ...], npt.NDArray[np.float64]]],
    ) -> None:
        self.cliques = cliques
        self._tree = nx.Graph(edges)
        self._tree.add_nodes_from(cliques)
        self._potentials = {clique: np.zeros([sizes[v] for v in clique]) for clique in cliques}
        for scope, logs in factors:
            home = next(clique for clique in cliques if {*scope} <= {*clique})
            self._potentials[home] += _along(logs, scope, home)

    def collect(self, root: tuple[int, ...], likelihoods: Mapping[int, npt.NDArray[np.float64]]) -> float:
        """Combine the tables with the log likelihoods of the evidence, and send messages to the root.

        Returns the logarithm of the sum over all variables.
        """
        self.beliefs = {clique: potential.copy() for clique, potential in self._potentials.items()}
        self._sent: dict[frozenset[tuple[int, ...]], npt.NDArray[np.float64]] = {}
        for v, logs in likelihoods.items():
            home = next((clique for clique in self.cliques if v in clique), None)
            if home is not None:
                self.beliefs[home] += _along(logs, (v,), home)
        scales = [self._send(sender, receiver) for receiver, sender in reversed(list(nx.bfs_edges(self._tree, root)))]
        return float(self.marginal(root, ())) + sum(scales)

    def distribute(self, root: tuple[int, ...]) -> None:
        """Send messages back from the root."""
        for sender, receiver in nx.bfs_edges(self._tree, root):
            self._send(sender, receiver)

    def marginal(self, clique: tuple[int, ...], scope: Sequence[int]) -> npt.NDArray[np.float64]:
        """Return the logarithm of the belief in variables of a clique, one axis for each."""
        belief = self.beliefs[clique]
        others = tuple(axis for axis, v in enumerate(clique) if v not in scope)
        largest = belief.max(axis=others, keepdims=True)
        largest[np.isneginf(largest)] = 0.0
        with np.errstate(divide="ignore", under="ignore"):
            summed = np.log(np.exp(belief - largest).sum(axis=others)) + largest.squeeze(others)
        kept = [v for v in clique if v in scope]
        return np.asarray(summed.transpose([kept.index(v) for v in scope]))

    def _send(self, sender: tuple[int, ...], receiver: tuple[int, ...]) -> float:
        """Multiply the receiver's belief by the sender's, divided by the message that went the other way.

        The message is divided by its largest value, whose logarithm is returned.
        """
        shared = [v for v in receiver if v in sender]
        message = self.marginal(sender, shared)
        largest = float(message.max())
        scale = largest if np.isfinite(largest) else 0.0
        message -= scale
        edge = frozenset((sender, receiver))
        before = self._sent.get(edge)
        self._sent[edge] = message
        if before is not None:
            # Where the earlier message was 0, the belief of the receiver, which sent it, is 0 too.
            message = np.where(np.isneginf(before), -np.inf, message) - np.where(np.isneginf(before), 0.0, before)
        self.beliefs[receiver] += _along(message, shared, receiver)
        return scale


def _along(values: npt.NDArray[np.float64], scope: Sequence[int], clique: Sequence[int]) -> npt.NDArray[np.float64]:
    """Return values over `scope` as an array that broadcasts over the axes of `clique`."""
    ordered = values.transpose([scope.index(v) for v in clique if v in scope])
    return ordered[tuple(slice(None) if v in scope else None for v in clique)]
