"""The marginal likelihood under priors that score equivalent graphs alike (Heckerman et al. 1995)."""

from __future__ import annotations

from collections.abc import Sequence

from bnplug.builtin.scores._marginal import log_marginal, log_marginal_batch
from bnplug.counts.counting import BatchCounts
from bnplug.scoring import DecomposableScore, n_configurations
from bnplug.table.table import Table
from bnplug.typing import FloatArray


class BDeu(DecomposableScore):
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
    >>> from bnplug import Structure
    >>> import pandas as pd
    >>> table = Table.from_frame(pd.DataFrame({"x": [0, 1, 1], "c": ["n", "y", "n"]}), "c")
    >>> bdeu = BDeu()
    >>> [round(bdeu.score(table, Structure(table.names, parents)), 9) for parents in ([[1], []], [[], [0]])]
    [-4.43651482, -4.43651482]
    """

    def __init__(self, equivalent_sample_size: float = 10.0) -> None:
        self.equivalent_sample_size = equivalent_sample_size

    def local(self, table: Table, child: int, parents: tuple[int, ...], counts: FloatArray) -> float:
        """Return the marginal likelihood with a prior count of ess / (r q) for each cell."""
        column = self._checked_size() / n_configurations(table, parents)
        return log_marginal(counts, column / counts.shape[0], column)

    def local_batch(
        self, table: Table, child: int, parent_sets: Sequence[tuple[int, ...]], counts: BatchCounts
    ) -> FloatArray:
        """Return the local terms of `child` with many sets of parents, in one call."""
        n_states, columns = int(table.cards[child]), self._checked_size() / counts.n_configurations
        return log_marginal_batch(n_states, counts, columns / n_states, columns)

    def _checked_size(self) -> float:
        if not self.equivalent_sample_size > 0:
            raise ValueError(f"equivalent_sample_size={self.equivalent_sample_size!r} is not positive")
        return self.equivalent_sample_size
