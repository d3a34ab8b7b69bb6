"""The log-likelihood of a graph's maximum-likelihood parameters."""

from __future__ import annotations

from collections.abc import Sequence

from bnplug.counts.counting import BatchCounts
from bnplug.scoring import DecomposableScore, log_likelihood, log_likelihood_batch
from bnplug.table.table import Table
from bnplug.typing import FloatArray


class LogLikelihood(DecomposableScore):
    """`ll`: the log-likelihood of the maximum-likelihood parameters.

    Examples
    --------
    >>> from bnplug import Structure
    >>> import pandas as pd
    >>> table = Table.from_frame(pd.DataFrame({"x": [0, 0, 1, 1], "c": ["n", "n", "y", "y"]}), "c")
    >>> LogLikelihood().score(table, Structure(table.names, [[1], []]))  # x follows from c: 4 log 1/2
    -2.772...
    """

    def local(self, table: Table, child: int, parents: tuple[int, ...], counts: FloatArray) -> float:
        """Return the sum of N_ijk log (N_ijk / N_ij)."""
        return log_likelihood(counts)

    def local_batch(
        self, table: Table, child: int, parent_sets: Sequence[tuple[int, ...]], counts: BatchCounts
    ) -> FloatArray:
        """Return the local terms of `child` with many sets of parents, in one call."""
        return log_likelihood_batch(int(table.cards[child]), counts)
