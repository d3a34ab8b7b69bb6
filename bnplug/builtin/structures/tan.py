"""Tree-augmented naive Bayes (Friedman, Geiger and Goldszmidt 1997)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bnplug.builtin.structures.augmented import AugmentedNaiveBayes, _fewest_with_parents
from bnplug.counts.information import INFORMATION_TIE, by_falling, first_largest
from bnplug.search.arborescence import _heaviest_tree, _reachable
from bnplug.search.constraints import Constraints
from bnplug.structure import Structure
from bnplug.table.table import Table
from bnplug.typing import BoolArray, FloatArray


@dataclass(eq=False, repr=False)
class TreeAugmentedNaiveBayes(AugmentedNaiveBayes):
    """A maximum spanning tree over I(Xi; Xj | C), directed away from its root; the class is a parent of all.

    Where something is known of the edges, direction matters: it is then the heaviest tree that leads away from its
    root by allowed edges and has the required ones, a maximum spanning arborescence.

    Parameters
    ----------
    root : str, optional
        The feature at the root; by default the one with the largest I(X; C), of those that a heaviest tree can have.
    n_jobs, required, forbidden, tiers, correction, jitter, random_state
        See :class:`~bnplug.builtin.structures.augmented.AugmentedNaiveBayes`.
    """

    root: str | None = None

    def fewest_parameters(self, table: Table) -> int:
        """Return a number of parameters that no tree on this table has fewer of."""
        return _fewest_with_parents(table, 1 if self.correction is None else 0)

    def learn(self, table: Table) -> Structure:
        """Return the tree-augmented structure."""
        constraints = Constraints.of(self, table)
        parents = constraints.augmented("tan", most=1)
        edges = None if constraints.free else _possible_edges(constraints)
        roots = self._roots(table) if edges is None else _possible_roots(constraints, edges, self._roots(table))
        between, to_class = self._measures(table)
        if edges is None:
            tree = _spanning_tree(between, table.features, first_largest(to_class, roots))
        else:
            tree = _heaviest_tree(between, edges, table.features, by_falling(to_class, roots))
        for v, other in tree.items():
            if self.correction is None or between[v, other] > 0:
                parents[v] = sorted({*parents[v], other})
        return Structure(table.names, parents)

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
        required = _required_features(constraints, v)
        if required:
            edges[:, v] = False
            edges[required, v] = True
    return edges


def _possible_roots(constraints: Constraints, edges: BoolArray, wanted: list[int]) -> list[int]:
    """Return which features some tree of these edges can have at its root; a ``ValueError`` if there is none."""
    table = constraints.table
    reached = {v: _reachable(edges, v)[table.features] for v in wanted}
    required = {v: _required_features(constraints, v) for v in wanted}
    roots = [v for v in wanted if reached[v].all() and not required[v]]
    if not roots:
        furthest = max(wanted, key=lambda v: (reached[v].sum(), not required[v]))
        lost = [
            table.names[v] for v, is_reached in zip(table.features, reached[furthest], strict=True) if not is_reached
        ]
        why = (
            f"no allowed edges lead from {table.names[furthest]!r} to {lost}"
            if lost
            else f"{table.names[furthest]!r} at its root must have the parent {table.names[required[furthest][0]]!r}"
        )
        raise ValueError(
            f"tan: no tree over all features satisfies required, forbidden and tiers: {why}. "
            "hill-climb(tree=True) learns trees without some of the features"
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
