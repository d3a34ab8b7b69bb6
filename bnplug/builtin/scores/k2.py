"""The marginal likelihood under uniform priors (Cooper and Herskovits 1992)."""

from __future__ import annotations

from typing import Any

from bnplug.builtin.scores._marginal import MarginalLikelihood


class K2(MarginalLikelihood):
    """`k2`: the log marginal likelihood under uniform priors.

    References
    ----------
    Cooper, Herskovits: A Bayesian method for the induction of probabilistic networks from data (1992).

    Examples
    --------
    >>> from bnplug import Structure, Table
    >>> import pandas as pd
    >>> table = Table.from_frame(pd.DataFrame({"x": [0, 1], "c": ["n", "y"]}), "c")
    >>> K2().score(table, Structure(table.names, [[], []]))  # 1! 1! 1! / 3!, twice
    -3.583...
    """

    def _column_prior(self, n_states: int, n_configurations: Any) -> Any:
        return n_states
