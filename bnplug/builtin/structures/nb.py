"""Naive Bayes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bnplug.contracts import StructureLearner

if TYPE_CHECKING:
    from bnplug.table.table import Table
    from bnplug.typing import DAG


class NaiveBayes(StructureLearner):
    """The class is the only parent of every feature."""

    def learn(self, table: Table) -> DAG:
        """Return the naive Bayes structure; the data play no part in it."""
        return table.dag(table.naive_bayes())
