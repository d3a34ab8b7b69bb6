"""Conversion from and to pgmpy's graphs, CPDs and networks; no other module of the core imports pgmpy.

Importing pgmpy takes a second or more, so this module is imported inside functions, when first needed.
"""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Iterable, Mapping, Sequence
from itertools import combinations

import networkx as nx
import numpy as np

from bnplug.errors import NotRepresentableError, article
from bnplug.model.wettig import _align, _log_sum
from bnplug.table.coding import State
from bnplug.typing import FloatArray

with warnings.catch_warnings():
    # Some of pgmpy's modules warn of others that they import: nothing that a user of ours could change.
    warnings.simplefilter("ignore", FutureWarning)
    from pgmpy.base import DAG, PDAG
    from pgmpy.factors.discrete import DiscreteFactor, TabularCPD
    from pgmpy.models import DiscreteBayesianNetwork, DiscreteMarkovNetwork

__all__ = [
    "DAG", "PDAG", "DiscreteBayesianNetwork", "JunctionTrees", "make_dag", "make_network", "make_pdag", "read_network",
]  # fmt: skip

# pgmpy has a letter for each variable of a table.
_MAX_PARENTS = 51

_Family = tuple[tuple[str, ...], FloatArray]
_Clique = tuple[int, ...]


def make_dag(names: Sequence[str], edges: Iterable[tuple[str, str]]) -> DAG:
    """Return the DAG on `names`, in that order, with the given edges; a cycle is a ``ValueError``."""
    dag = DAG()
    dag.add_nodes_from(names)
    # pgmpy's own add_edges_from looks for a cycle at every edge.
    nx.DiGraph.add_edges_from(dag, edges)
    unknown = [name for name in dag if name not in set(names)]
    if unknown:
        raise ValueError(f"edges name {unknown}, which are not among the variables {list(names)}")
    if not nx.is_directed_acyclic_graph(dag):
        cycle = " -> ".join([*(u for u, _ in nx.find_cycle(dag)), nx.find_cycle(dag)[0][0]])
        raise ValueError(f"the edges make a cycle: {cycle}")
    return dag


def make_pdag(names: Sequence[str], directed: Iterable[tuple[str, str]], undirected: Iterable[tuple[str, str]]) -> PDAG:
    """Return the partially directed graph on `names`."""
    graph = PDAG(directed_ebunch=list(directed), undirected_ebunch=list(undirected))
    graph.add_nodes_from(names)
    return graph


def make_network(
    names: Sequence[str], states: Mapping[str, Sequence[State]], families: Mapping[str, _Family]
) -> DiscreteBayesianNetwork:
    """Return the pgmpy network of `families`: parents and probabilities by name, with axes ``(node, *parents)``."""
    for name, (parents, _) in families.items():
        if len(parents) > _MAX_PARENTS:
            raise NotRepresentableError(
                f"{name!r} has {len(parents)} parents; pgmpy takes tables of up to {_MAX_PARENTS}. Use fewer parents"
            )
    network = DiscreteBayesianNetwork()
    network.add_nodes_from(names)
    nx.DiGraph.add_edges_from(network, [(parent, name) for name in names for parent in families[name][0]])
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


def read_network(
    network: DiscreteBayesianNetwork,
) -> tuple[tuple[str, ...], dict[str, tuple[State, ...]], dict[str, _Family]]:
    """Return names, states and families of a pgmpy network; the parents' axes follow the order of names."""
    if not isinstance(network, DiscreteBayesianNetwork):
        raise TypeError(f"expected a pgmpy DiscreteBayesianNetwork, got {article(type(network).__name__)}")
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

    `sizes` are the numbers of states of the variables, `factors` the scopes and logarithms of tables, and `cliques` the
    largest cliques of a chordal graph.
    """

    def __init__(
        self, sizes: Sequence[int], factors: Sequence[tuple[_Clique, FloatArray]], cliques: Iterable[Sequence[int]]
    ) -> None:
        graph = nx.Graph()
        graph.add_nodes_from(range(len(sizes)))
        for clique in cliques:
            graph.add_edges_from(combinations(clique, 2))
        self._forest, self._roots = nx.Graph(), []
        for part in nx.connected_components(graph):
            network = DiscreteMarkovNetwork()
            network.add_nodes_from(sorted(part))
            network.add_edges_from(sorted(tuple(sorted(edge)) for edge in graph.edges(part)))
            network.add_factors(*(DiscreteFactor([v], [sizes[v]], np.ones(sizes[v])) for v in sorted(part)))
            tree = network.to_junction_tree()
            self._roots.append(next(iter(tree.nodes())))
            self._forest.add_nodes_from(tree.nodes())
            self._forest.add_edges_from(tree.edges())
        self._potentials = {clique: np.zeros([sizes[v] for v in clique]) for clique in self._forest}
        for scope, logs in factors:
            home = self._clique(scope)
            self._potentials[home] += _align(logs, scope, home)

    def belief(self, scope: Sequence[int], likelihoods: Mapping[int, FloatArray]) -> FloatArray:
        """Return the log marginal of variables of one clique, up to a constant, given the evidence on its component."""
        root = self._clique(scope)
        self._combine(likelihoods)
        self._collect(root)
        return self._marginal(root, scope)

    def log_total(self, likelihoods: Mapping[int, FloatArray]) -> float:
        """Return the logarithm of the sum over all variables; `likelihoods` are logarithms."""
        self._combine(likelihoods)
        return sum(map(self._collect, self._roots))

    def beliefs(
        self, scopes: Sequence[Sequence[int]], likelihoods: Mapping[int, FloatArray]
    ) -> list[FloatArray] | None:
        """Return the probabilities of sets of variables, each within a clique; None if the evidence is impossible."""
        self._combine(likelihoods)
        for root in self._roots:
            if np.isneginf(self._collect(root)):
                return None
            for sender, receiver in nx.bfs_edges(self._forest, root):
                self._send(sender, receiver)
        logs = [self._marginal(self._clique(scope), scope) for scope in scopes]
        with np.errstate(under="ignore"):
            shares = [np.exp(belief - belief.max()) for belief in logs]
        return [share / share.sum() for share in shares]

    def together(self, scope: Sequence[int]) -> bool:
        """Whether variables are in one clique."""
        return any({*scope} <= {*clique} for clique in self._forest)

    def _clique(self, scope: Sequence[int]) -> _Clique:
        return next(clique for clique in self._forest if {*scope} <= {*clique})

    def _combine(self, likelihoods: Mapping[int, FloatArray]) -> None:
        """Combine the tables with the log likelihoods of the evidence."""
        self._beliefs = {clique: potential.copy() for clique, potential in self._potentials.items()}
        self._sent: dict[frozenset[_Clique], FloatArray] = {}
        for v, logs in likelihoods.items():
            home = self._clique((v,))
            self._beliefs[home] += _align(logs, (v,), home)

    def _collect(self, root: _Clique) -> float:
        """Send messages to a root (Lauritzen, Spiegelhalter 1988); return the log of the sum over its tree."""
        edges = reversed(list(nx.bfs_edges(self._forest, root)))
        scales = [self._send(sender, receiver) for receiver, sender in edges]
        return float(self._marginal(root, ())) + sum(scales)

    def _marginal(self, clique: _Clique, scope: Sequence[int]) -> FloatArray:
        """Return the logarithm of the belief in variables of a clique, one axis for each."""
        others = tuple(axis for axis, v in enumerate(clique) if v not in scope)
        kept = [v for v in clique if v in scope]
        return _log_sum(self._beliefs[clique], others).transpose([kept.index(v) for v in scope])

    def _send(self, sender: _Clique, receiver: _Clique) -> float:
        """Multiply the receiver's belief by a message, scaled to a maximum of one; return the log of its scale."""
        # In the same order in both directions: the second message is divided by the first.
        shared = sorted({*sender} & {*receiver})
        message = self._marginal(sender, shared)
        largest = float(message.max())
        scale = largest if np.isfinite(largest) else 0.0
        message -= scale
        edge = frozenset((sender, receiver))
        before = self._sent.get(edge)
        self._sent[edge] = message
        if before is not None:
            # Where the earlier message was 0, the belief of the receiver, which sent it, is 0 too.
            message = np.where(np.isneginf(before), -np.inf, message) - np.where(np.isneginf(before), 0.0, before)
        self._beliefs[receiver] += _align(message, shared, receiver)
        return scale
