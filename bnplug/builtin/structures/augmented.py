"""The base class of `tan` and `kdb`."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from bnplug.contracts import StructureLearner
from bnplug.counts.information import Correction, class_information, pairwise_information
from bnplug.hooks.components import check_numbers
from bnplug.table.table import Table
from bnplug.typing import FloatArray


@dataclass(eq=False, repr=False, kw_only=True)
class AugmentedNaiveBayes(StructureLearner):
    """Naive Bayes with edges between features, chosen by information measures.

    Parameters
    ----------
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

    n_jobs: int | None = None
    required: Any = None
    forbidden: Any = None
    tiers: Any = None
    correction: Correction = 0.999
    jitter: float = 0.0
    random_state: Any = None

    def _measures(self, table: Table) -> tuple[FloatArray, FloatArray]:
        """Return I(Xi; Xj | C) of shape (variables, variables), and I(X; C), corrected, with jitter."""
        between = pairwise_information(table, self.n_jobs, self.correction)
        return _jittered(between, class_information(table, self.correction), self)


def _jittered(between: FloatArray, to_class: FloatArray, learner: Any) -> tuple[FloatArray, FloatArray]:
    """Return both information measures times exp(jitter z), by the learner's parameters; `between` stays symmetric."""
    check_numbers(learner, "jitter")
    if learner.jitter == 0:
        return between, to_class
    random = check_random_state(learner.random_state)
    to_class = to_class * np.exp(learner.jitter * random.standard_normal(len(to_class)))
    below = np.tril(random.standard_normal(between.shape), -1)
    return between * np.exp(learner.jitter * (below + below.T)), to_class


def _fewest_with_parents(table: Table, k: int) -> int:
    """Return a lower bound of the parameters where features have the class and k other features as parents.

    All but k features have k parents, none with fewer states than the k smallest features together.
    """
    cards = sorted(int(table.cards[v]) for v in table.features)
    k = min(k, len(cards) - 1)
    return int(table.cards[table.target_index]) * prod(cards[:k]) * sum(cards[: len(cards) - k])
