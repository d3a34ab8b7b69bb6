"""What the families of a graph cost by a predictive score, each asked for once."""

from __future__ import annotations

from math import fsum
from typing import TYPE_CHECKING

from bnplug.contracts import Changes
from bnplug.scoring._candidates import FlatGraph

if TYPE_CHECKING:
    from bnplug.data.table import Table
    from bnplug.scoring.predictive import PredictiveScore


class FamilyCosts:
    """The penalties of families.

    Parameters
    ----------
    score : PredictiveScore
    table : Table
    """

    def __init__(self, score: PredictiveScore, table: Table) -> None:
        self.score = score
        self.table = table
        self._known: dict[tuple[int, tuple[int, ...]], float] = {}

    def sum(self, graph: FlatGraph) -> float:
        """Return the penalty of a graph."""
        variables = range(len(self.table.names)) if self.score.penalized else ()
        return fsum(self.of(v, graph.parents_of(v)) for v in variables)

    def change(self, graph: FlatGraph, changes: Changes) -> float:
        """Return by how much the penalty of a graph rises with some changes."""
        if not self.score.penalized:
            return 0.0
        return sum(self.of(v, tuple(sorted(own))) - self.of(v, graph.parents_of(v)) for v, own in changes.items())

    def of(self, node: int, parents: tuple[int, ...]) -> float:
        """Return the penalty of a family."""
        family = (node, parents)
        if family not in self._known:
            self._known[family] = float(self.score.penalty(self.table, node, parents))
        return self._known[family]
