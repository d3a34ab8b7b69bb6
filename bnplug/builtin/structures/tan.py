"""Tree-augmented naive Bayes (Friedman, Geiger and Goldszmidt 1997)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bnplug.arrays import FloatArray
from bnplug.builtin.structures._sizes import fewest_with_parents
from bnplug.contracts import StructureLearner
from bnplug.counts.information import INFORMATION_TIE, class_information, first_largest, pairwise_information

if TYPE_CHECKING:
    from bnplug.data.table import Table
    from bnplug.typing import DAG


class TreeAugmentedNaiveBayes(StructureLearner):
    """A maximum spanning tree over I(Xi; Xj | C), directed away from its root; the class is a parent of all.

    Parameters
    ----------
    root : str, optional
        The feature at the root; by default the one with the largest I(X; C).
    n_jobs : int, optional
        Threads for the counts of pairs.
    """

    def __init__(self, root: str | None = None, n_jobs: int | None = None) -> None:
        self.root = root
        self.n_jobs = n_jobs

    def fewest_parameters(self, table: Table) -> int:
        """Return a number of parameters that no tree on this table has fewer of."""
        return fewest_with_parents(table, 1)

    def learn(self, table: Table) -> DAG:
        """Return the tree-augmented structure."""
        root = self._root(table)
        parent = _spanning_tree(pairwise_information(table, self.n_jobs), table.features, root)
        parents = table.naive_bayes()
        for v, other in parent.items():
            parents[v].append(other)
        return table.dag(parents)

    def _root(self, table: Table) -> int:
        if self.root is None:
            return first_largest(class_information(table), table.features)
        if self.root == table.target:
            raise ValueError(f"root {self.root!r} is the target; the root of a TAN is a feature")
        return table.index(self.root)


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
