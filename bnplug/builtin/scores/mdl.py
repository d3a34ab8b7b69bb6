"""Minimum description length (Lam and Bacchus 1994), which is also the Bayesian information criterion."""

from __future__ import annotations

from collections.abc import Sequence
from math import log

from bnplug.builtin.scores.ll import LogLikelihood
from bnplug.counts.counting import BatchCounts
from bnplug.scoring import dimension
from bnplug.table.table import Table
from bnplug.typing import FloatArray


class MDL(LogLikelihood):
    """`mdl`: `ll` minus 1/2 Dim(G) log M, for M rows (their total weight); BIC by another name.

    Examples
    --------
    >>> from bnplug import Structure
    >>> import pandas as pd
    >>> table = Table.from_frame(pd.DataFrame({"x": [0, 0, 1, 1], "c": ["n", "n", "y", "y"]}), "c")
    >>> MDL().score(table, Structure(table.names, [[1], []]))  # three parameters, log 4 / 2 for each
    -4.852...
    """

    def local(self, table: Table, child: int, parents: tuple[int, ...], counts: FloatArray) -> float:
        """Return the log-likelihood of the family minus 1/2 log M for each of its free parameters."""
        penalty = 0.5 * log(table.total_weight) * dimension(table, child, parents)
        return super().local(table, child, parents, counts) - penalty

    def local_batch(
        self, table: Table, child: int, parent_sets: Sequence[tuple[int, ...]], counts: BatchCounts
    ) -> FloatArray:
        """Return the local terms of `child` with many sets of parents, in one call."""
        penalties = 0.5 * log(table.total_weight) * ((int(table.cards[child]) - 1) * counts.n_configurations)
        return super().local_batch(table, child, parent_sets, counts) - penalties
