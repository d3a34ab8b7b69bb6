"""Conditional mutual information of what a network expects of incomplete rows.

In the place of a row stand those that it may be, for the variables that are looked at, each as heavy as it is probable;
counts of them are expected counts.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bnplug.table.table import Table
from bnplug.typing import FloatArray
from bnplug_cmi_order.block_patterns import BlockPatterns
from bnplug_cmi_order.patterns import Patterns


class ExpectedPatterns:
    """The rows of a table that `expects`, grouped as :class:`~bnplug_cmi_order.patterns.Patterns` groups them.

    Parameters
    ----------
    table : Table
    variables : sequence of int
        The variables to condition on; more come by :meth:`split`.
    """

    def __init__(self, table: Table, variables: Sequence[int] = ()) -> None:
        self.table = table
        self._variables: list[int] = []
        self._rows = table.expand([table.target_index])
        for v in variables:
            self.split(v)

    @property
    def determine_class(self) -> bool:
        """Whether every pattern is expected with one class only: no further variable has any information."""
        return not self._rows.n_rows

    def split(self, v: int) -> None:
        """Condition on one variable more."""
        self._variables.append(v)
        rows = self._rows.expand([v])
        # Rows that tell nothing more are not expanded any further.
        self._rows = rows.take(patterns_of(rows, self._variables).undecided()) if rows.n_rows else rows

    def information(self, variables: Sequence[int], n_jobs: int | None = None) -> FloatArray:
        """Return I(C; X | pattern) in nats for each X in `variables`, by expected counts."""
        if self.determine_class:
            return np.zeros(len(variables))
        shared = patterns_of(self._rows, self._variables)
        lacking = self._rows.has_missing
        result = np.empty(len(variables))
        for i, v in enumerate(variables):
            patterns = patterns_of(self._rows.expand([v]), self._variables) if lacking[v] else shared
            result[i] = patterns.information([v], n_jobs)[0] * self._rows.total_weight
        return result / self.table.total_weight


def patterns_of(rows: Table, variables: Sequence[int] = ()) -> Patterns | BlockPatterns:
    """Return rows as they are, in memory or in many blocks, grouped by variables."""
    return (Patterns if rows.n_blocks == 1 else BlockPatterns)(rows, variables)
