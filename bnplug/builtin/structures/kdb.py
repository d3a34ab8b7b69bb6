"""k-dependence Bayesian classifiers (Sahami 1996)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bnplug.builtin.structures.augmented import AugmentedNaiveBayes, _fewest_with_parents
from bnplug.counts.information import by_falling, first_largest
from bnplug.search.constraints import Constraints
from bnplug.structure import Structure
from bnplug.table.table import Table


@dataclass(eq=False, repr=False)
class KDependence(AugmentedNaiveBayes):
    """Features by falling I(X; C); each takes the k earlier ones with the largest I(Xi; Xj | C) as parents.

    Where something is known of the edges, parents come first in the order where that is required, and earlier tiers
    before later ones; a feature has its required parents, and then the best of those that are allowed.

    Parameters
    ----------
    k : int
        The largest number of features among the parents of a feature.
    n_jobs, required, forbidden, tiers, correction, jitter, random_state
        See :class:`~bnplug.builtin.structures.augmented.AugmentedNaiveBayes`.
    """

    k: int = 2

    def fewest_parameters(self, table: Table) -> int:
        """Return a number of parameters that no such structure on this table has fewer of."""
        k = self.k if self.correction is None and Constraints.of(self, table).free else 0
        return _fewest_with_parents(table, k) if isinstance(self.k, int) else 0

    def learn(self, table: Table) -> Structure:
        """Return the k-dependence structure; ``order_`` holds the features' names in their order."""
        if not isinstance(self.k, int | np.integer) or self.k < 0:
            raise ValueError(f"k={self.k!r}: the number of feature parents is a whole number, and cannot be negative")
        constraints = Constraints.of(self, table)
        parents = constraints.augmented("kdb", most=self.k)
        between, to_class = self._measures(table)
        order: list[int] = []
        left = table.features
        while left:
            v = first_largest(to_class, constraints.ready(left))
            near = [u for u in sorted(order) if self.correction is None or between[v, u] > 0]
            others = constraints.allowed_parents(v, [u for u in near if u not in parents[v]])
            parents[v] += by_falling(between[v], others, most=self.k + 1 - len(parents[v]))
            order.append(v)
            left.remove(v)
        self.order_ = [table.names[v] for v in order]
        return Structure(table.names, parents)
