"""Count how often each number occurs in each class: exactly for few distinct numbers, else by a bounded-error summary.

The summary consists of *points*: numbers that stand for the rows between them and the previous point. Compressing moves
rows up to the next point that is kept, at most a share ``1 / KEPT`` of them to any point. Two summaries of equally many
parts are joined and compressed again (the binary counter of Munro and Paterson 1980): the count at or below a number is
too small by at most ``n / KEPT * (1 + ceil(log2(n / LEAF)))``, 0.16% of 100 million rows, and never too large. All
classes share their points: else an interval of mixed classes would look like many short ones of a single class each.
"""

from __future__ import annotations

from typing import Self

import numpy as np

from bnplug.table._checks import has_inexact
from bnplug.table.column_summary import Points
from bnplug.typing import IntArray

#: A summary is compressed to about twice KEPT points. As many numbers as LEAF are gathered before the first
#: compression. As many distinct numbers as MOST_EXACT are kept exactly.
KEPT, LEAF, MOST_EXACT = 1 << 13, 1 << 15, 1 << 16


def _are_merged(parts: list[Points], joined: Points) -> bool:
    """Return whether joining the parts converted distinct whole numbers to the same float."""
    whole = [part.values for part in parts if part.values.dtype.kind in "iu" and has_inexact(part.values)]
    if not whole or joined.values.dtype.kind != "f":
        return False
    distinct = set().union(*(values.tolist() for values in whole))
    return len({float(number) for number in distinct}) < len(distinct)


class Distribution:
    """Incremental count of each number in each class.

    `exact` says whether every number is kept, `merged` whether distinct whole numbers became the same float.
    """

    def __init__(self, kept: int = KEPT, leaf: int = LEAF, most_exact: int = MOST_EXACT) -> None:
        self.kept, self.leaf, self.most_exact = kept, leaf, most_exact
        self.exact, self.merged = True, False
        self._waiting: list[Points] = []
        self._n_waiting, self._limit = 0, most_exact
        # Level i: the summary of 2^i leaves, or None.
        self._levels: list[Points | None] = []

    def add(self, points: Points) -> None:
        """Add the distinct numbers of more rows."""
        if len(points.values) == 0:
            return
        self._waiting.append(points)
        self._n_waiting += len(points.values)
        if self._n_waiting > (self._limit if self.exact else self.leaf):
            self._summarize()

    def merge(self, other: Distribution) -> Self:
        """Add the contents of another distribution."""
        self.merged |= other.merged
        self.exact &= other.exact
        for level, summary in enumerate(other._levels):
            if summary is not None:
                self._carry(summary, level)
        for points in other._waiting:
            self.add(points)
        return self

    def renumber(self, places: IntArray) -> None:
        """Rename class c to ``places[c]``."""
        self._waiting = [points.renumbered(places) for points in self._waiting]
        self._levels = [None if points is None else points.renumbered(places) for points in self._levels]

    def points(self) -> Points:
        """Return all points together."""
        parts = self._waiting + [level for level in self._levels if level is not None]
        return self._joined(parts) if parts else Points.of(np.zeros(0), np.zeros(0, dtype=np.int64))

    def _joined(self, parts: list[Points]) -> Points:
        joined = parts[0].join(*parts[1:])
        self.merged |= _are_merged(parts, joined)
        return joined

    def _summarize(self) -> None:
        """Join the waiting points and, if they are too many, compress them."""
        joined = self._joined(self._waiting)
        if self.exact and np.count_nonzero(joined._ends()) <= self.most_exact:
            self._waiting, self._n_waiting = [joined], len(joined.values)
            # Doubling the limit keeps the cost of repeated joins linear.
            self._limit = max(self.most_exact, 2 * self._n_waiting)
            return
        self.exact = False
        self._waiting, self._n_waiting = [], 0
        floats = joined._replace(values=joined.values.astype(np.float64))
        self.merged |= _are_merged([joined], floats)
        self._carry(floats.compress(self.kept), 0)

    def _carry(self, points: Points, level: int) -> None:
        """Store a summary at its level; two of one level are joined into one of the next."""
        self._levels += [None] * (level + 1 - len(self._levels))
        previous, self._levels[level] = self._levels[level], None
        if previous is None:
            self._levels[level] = points
        else:
            self._carry(previous.join(points).compress(self.kept), level + 1)
