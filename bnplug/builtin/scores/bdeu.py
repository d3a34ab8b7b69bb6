"""The marginal likelihood under priors that score equivalent graphs alike (Heckerman et al. 1995)."""

from __future__ import annotations

from typing import Any

from bnplug.builtin.scores._marginal import MarginalLikelihood


class BDeu(MarginalLikelihood):
    """`bdeu`: the log marginal likelihood under priors that score equivalent graphs alike.

    Parameters
    ----------
    equivalent_sample_size : float
        The weight of the prior, in rows.

    References
    ----------
    Heckerman, Geiger, Chickering: Learning Bayesian networks: the combination of knowledge and statistical
    data (1995).

    Examples
    --------
    >>> from bnplug import Structure, Table
    >>> import pandas as pd
    >>> table = Table.from_frame(pd.DataFrame({"x": [0, 1, 1], "c": ["n", "y", "n"]}), "c")
    >>> bdeu = BDeu()
    >>> [round(bdeu.score(table, Structure(table.names, parents)), 9) for parents in ([[1], []], [[], [0]])]
    [-4.43651482, -4.43651482]
    """

    def __init__(self, equivalent_sample_size: float = 10.0) -> None:
        self.equivalent_sample_size = equivalent_sample_size

    def _column_prior(self, n_states: int, n_configurations: Any) -> Any:
        if not self.equivalent_sample_size > 0:
            raise ValueError(f"equivalent_sample_size={self.equivalent_sample_size!r} is not positive")
        return self.equivalent_sample_size / n_configurations
