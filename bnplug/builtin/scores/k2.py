"""The marginal likelihood under uniform priors (Cooper and Herskovits 1992)."""

from __future__ import annotations

from bnplug.builtin.scores.bdeu import _log_marginal
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
        return _log_marginal(counts, 1.0, counts.shape[0])
