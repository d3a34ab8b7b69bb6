"""The marginal likelihood under uniform priors (Cooper and Herskovits 1992)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bnplug.builtin.scores._marginal import log_marginal, log_marginal_batch
from bnplug.counts.counting import BatchCounts
from bnplug.scoring import DecomposableScore
from bnplug.table.table import Table
from bnplug.typing import FloatArray


class K2(DecomposableScore):
    """`k2`: the log marginal likelihood under uniform priors.

    References
    ----------
    Cooper, Herskovits: A Bayesian method for the induction of probabilistic networks from data (1992).

    Examples
    --------
    >>> from bnplug import Structure
    >>> import pandas as pd
    >>> table = Table.from_frame(pd.DataFrame({"x": [0, 1], "c": ["n", "y"]}), "c")
    >>> K2().score(table, Structure(table.names, [[], []]))  # 1! 1! 1! / 3!, twice
    -3.583...
    """

    def local(self, table: Table, child: int, parents: tuple[int, ...], counts: FloatArray) -> float:
        """Return sum_j [lgamma(r) - lgamma(N_ij + r) + sum_k lgamma(N_ijk + 1)]."""
        return log_marginal(counts, 1.0, counts.shape[0])

    def local_batch(
        self, table: Table, child: int, parent_sets: Sequence[tuple[int, ...]], counts: BatchCounts
    ) -> FloatArray:
        """Return the local terms of `child` with many sets of parents, in one call."""
        n_states, ones = int(table.cards[child]), np.ones(len(parent_sets))
        return log_marginal_batch(n_states, counts, ones, n_states * ones)
