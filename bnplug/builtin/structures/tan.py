"""Tree-augmented naive Bayes (Friedman, Geiger and Goldszmidt 1997)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from bnplug.arrays import BoolArray, FloatArray
from bnplug.builtin.structures._arborescence import heaviest_tree, reachable
from bnplug.builtin.structures._jitter import jittered
from bnplug.builtin.structures._sizes import fewest_with_parents
from bnplug.contracts import StructureLearner
from bnplug.counts.information import (
    INFORMATION_TIE,
    Correction,
    by_falling,
    class_information,
    first_largest,
    pairwise_information,
)
from bnplug.search.constraints import Constraints

if TYPE_CHECKING:
    from bnplug.data.table import Table
    from bnplug.typing import DAG


class TreeAugmentedNaiveBayes(StructureLearner):
    """A maximum spanning tree over I(Xi; Xj | C), directed away from its root; the class is a parent of all.

    Where something is known of the edges, direction matters: it is then the heaviest tree that leads away from its
    root by allowed edges and has the required ones, a maximum spanning arborescence.

    Parameters
    ----------
    root : str, optional
        The feature at the root; by default the one with the largest I(X; C), of those that a heaviest tree can have.
    n_jobs : int, optional
        Threads for the counts of pairs.
    required, forbidden : list of edges, optional
        Edges ``(parent, child)`` by name that the structure has, and that it does not have.
    tiers : list of lists of str, optional
        No edge goes from a later tier to an earlier one; see :class:`~bnplug.search.Constraints`.
    correction : float, "expected" or None, default 0.999
        Correction for chance: features with many states or few known rows seem to depend on others by chance alone.
        A float subtracts this quantile of the chance distribution from each information measure; ``"expected"``
        subtracts the value expected by chance. The result is multiplied by the share of rows in which the features
        are known. Edges whose corrected measure is 0 are omitted. None uses the plain measures, as published.
    jitter : float
        Information measures are multiplied by exp(jitter z), z drawn from the normal distribution for each: another
        structure that is nearly as good, such as a member of a mixture has. 0.3 is much.
    random_state : int or RandomState, optional
        What z is drawn from.
    """

    def __init__(
        self,
        root: str | None = None,
        n_jobs: int | None = None,
        required: Any = None,
        forbidden: Any = None,
        tiers: Any = None,
        correction: Correction = 0.999,
        jitter: float = 0.0,
        random_state: Any = None,
    ) -> None:
        self.root = root
        self.n_jobs = n_jobs
        self.required = required
        self.forbidden = forbidden
        self.tiers = tiers
        self.correction = correction
        self.jitter = jitter
        self.random_state = random_state

    def fewest_parameters(self, table: Table) -> int:
        """Return a number of parameters that no tree on this table has fewer of."""
        return fewest_with_parents(table, 1 if self.correction is None else 0)

    def learn(self, table: Table) -> DAG:
        """Return the tree-augmented structure."""
        constraints = Constraints.of(self, table)
        parents = constraints.augmented("tan", most=1)
        edges = None if constraints.free else _possible_edges(constraints)
        roots = self._roots(table) if edges is None else _possible_roots(constraints, edges, self._roots(table))
        between, to_class = jittered(
            pairwise_information(table, self.n_jobs, self.correction),
            class_information(table, self.correction),
            self,
        )
        if edges is None:
            tree = _spanning_tree(between, table.features, first_largest(to_class, roots))
        else:
            tree = heaviest_tree(between, edges, table.features, by_falling(to_class, roots))
        for v, other in tree.items():
            if self.correction is None or between[v, other] > 0:
                parents[v] = sorted({*parents[v], other})
        return table.dag(parents)

    def _roots(self, table: Table) -> list[int]:
        """Return the features that may be at the root."""
        if self.root is None:
            return table.features
        if self.root == table.target:
            raise ValueError(f"root {self.root!r} is the target; the root of a TAN is a feature")
        return [table.index(self.root)]


def _required_features(constraints: Constraints, v: int) -> list[int]:
    """Return the features that must be parents of a variable."""
    return [u for u in constraints.required_parents(v) if u != constraints.table.target_index]


def _possible_edges(constraints: Constraints) -> BoolArray:
    """Return the edges between features that a tree may have: a feature that must have a parent has no other."""
    table = constraints.table
    edges = constraints.allowed.copy()
    edges[table.target_index, :] = edges[:, table.target_index] = False
    for v in table.features:
        own = _required_features(constraints, v)
        if own:
            edges[:, v] = False
            edges[own, v] = True
    return edges


def _possible_roots(constraints: Constraints, edges: BoolArray, wanted: list[int]) -> list[int]:
    """Return which features some tree of these edges can have at its root; a ``ValueError`` if there is none."""
    table = constraints.table
    reached = {v: reachable(edges, v)[table.features] for v in wanted}
    own = {v: _required_features(constraints, v) for v in wanted}
    roots = [v for v in wanted if reached[v].all() and not own[v]]
    if not roots:
        furthest = max(wanted, key=lambda v: (reached[v].sum(), not own[v]))
        lost = [table.names[v] for v, found in zip(table.features, reached[furthest], strict=True) if not found]
        why = (
            f"no allowed edges lead from {table.names[furthest]!r} to {lost}"
            if lost
            else f"{table.names[furthest]!r} at its root must have the parent {table.names[own[furthest][0]]!r}"
        )
        raise ValueError(
            f"tan: no tree over all features keeps to what is required, forbidden and the tiers: {why}. "
            "hill-climb(tree=True) makes trees that leave features out"
        )
    return roots


def _spanning_tree(weight: FloatArray, features: list[int], root: int) -> dict[int, int]:
    """Return each feature's parent in a maximum spanning tree grown from `root` (Prim).

    Among tied edges the lowest new feature comes first, then its lowest parent.
    """
    parent: dict[int, int] = {}
    best, origin = weight[root].copy(), np.full(len(weight), root)
    left = [v for v in features if v != root]
    while left:
        v = first_largest(best, left)
        parent[v] = int(origin[v])
        left.remove(v)
        tied = np.abs(weight[v] - best) <= INFORMATION_TIE
        better = np.where(tied, v < origin, weight[v] > best)
        best[better], origin[better] = weight[v][better], v
    return parent
