"""k-dependence Bayesian classifiers (Sahami 1996)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from bnplug.builtin.structures._jitter import jittered
from bnplug.builtin.structures._sizes import fewest_with_parents
from bnplug.contracts import StructureLearner
from bnplug.counts.information import (
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


class KDependence(StructureLearner):
    """Features by falling I(X; C); each takes the k earlier ones with the largest I(Xi; Xj | C) as parents.

    Where something is known of the edges, parents come first in the order where that is required, and earlier tiers
    before later ones; a feature has its required parents, and then the best of those that are allowed.

    Parameters
    ----------
    k : int
        How many features may be parents of a feature.
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
        are known. A feature takes no parent whose corrected measure is 0. None uses the plain measures, as published.
    jitter : float
        Information measures are multiplied by exp(jitter z), z drawn from the normal distribution for each: another
        structure that is nearly as good, such as a member of a mixture has. 0.3 is much.
    random_state : int or RandomState, optional
        What z is drawn from.
    """

    def __init__(
        self,
        k: int = 2,
        n_jobs: int | None = None,
        required: Any = None,
        forbidden: Any = None,
        tiers: Any = None,
        correction: Correction = 0.999,
        jitter: float = 0.0,
        random_state: Any = None,
    ) -> None:
        self.k = k
        self.n_jobs = n_jobs
        self.required = required
        self.forbidden = forbidden
        self.tiers = tiers
        self.correction = correction
        self.jitter = jitter
        self.random_state = random_state

    def fewest_parameters(self, table: Table) -> int:
        """Return a number of parameters that no such structure on this table has fewer of."""
        k = self.k if self.correction is None and Constraints.of(self, table).free else 0
        return fewest_with_parents(table, k) if isinstance(self.k, int) else 0

    def learn(self, table: Table) -> DAG:
        """Return the k-dependence structure; ``order_`` holds the features' names in their order."""
        if not isinstance(self.k, int | np.integer) or self.k < 0:
            raise ValueError(f"k={self.k!r}: the number of feature parents is a whole number, and cannot be negative")
        constraints = Constraints.of(self, table)
        parents = constraints.augmented("kdb", most=self.k)
        between, to_class = jittered(
            pairwise_information(table, self.n_jobs, self.correction),
            class_information(table, self.correction),
            self,
        )
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
        return table.dag(parents)
