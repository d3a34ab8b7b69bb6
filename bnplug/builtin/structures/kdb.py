"""k-dependence Bayesian classifiers (Sahami 1996)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bnplug.builtin.structures._sizes import fewest_with_parents
from bnplug.contracts import StructureLearner
from bnplug.counts.information import by_falling, class_information, pairwise_information

if TYPE_CHECKING:
    from bnplug.data.table import Table
    from bnplug.typing import DAG


class KDependence(StructureLearner):
    """Features by falling I(X; C); each takes the k earlier ones with the largest I(Xi; Xj | C) as parents.

    Parameters
    ----------
    k : int
        How many features may be parents of a feature.
    n_jobs : int, optional
        Threads for the counts of pairs.
    """

    def __init__(self, k: int = 2, n_jobs: int | None = None) -> None:
        self.k = k
        self.n_jobs = n_jobs

    def fewest_parameters(self, table: Table) -> int:
        """Return a number of parameters that no such structure on this table has fewer of."""
        return fewest_with_parents(table, self.k) if isinstance(self.k, int) else 0

    def learn(self, table: Table) -> DAG:
        """Return the k-dependence structure; ``order_`` holds the features' names in their order."""
        if not isinstance(self.k, int | np.integer) or self.k < 0:
            raise ValueError(f"k={self.k!r}: the number of feature parents is a whole number, and cannot be negative")
        to_class, between = class_information(table), pairwise_information(table, self.n_jobs)
        order = by_falling(to_class, table.features)
        parents: list[list[int]] = [[] for _ in table.names]
        for position, v in enumerate(order):
            earlier = sorted(order[:position])
            parents[v] = [table.target_index, *by_falling(between[v], earlier)[: self.k]]
        self.order_ = [table.names[v] for v in order]
        return table.dag(parents)
