"""Frequencies shrunk to the marginal distribution: rare configurations of the parents say little by themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bnplug import LogTables, ParameterLearner, Structure
from bnplug.counts import count
from bnplug.hooks.components import check_numbers

if TYPE_CHECKING:
    from bnplug import Table
    from bnplug.typing import FloatArray


class MyParameters(ParameterLearner):
    """P(x | parents) = (N(x, parents) + strength P(x)) / (N(parents) + strength).

    P(x) is the variable's own distribution, with one virtual row spread evenly over its states.

    Parameters
    ----------
    strength : float
        How many rows P(x) counts for in each configuration of the parents.

    Examples
    --------
    >>> import bnplug, pandas as pd
    >>> table = bnplug.Table.from_frame(pd.DataFrame({"x": [0, 0, 1], "c": ["n", "n", "y"]}), "c")
    >>> tables = MyParameters(strength=1.0).fit(table, Structure(table.names, [[1], []]))
    >>> np.exp(tables.tables["x"].values).round(4).tolist()  # a row for each state of x, a column for each class
    [[0.875, 0.3125], [0.125, 0.6875]]
    """

    def __init__(self, strength: float = 5.0) -> None:
        self.strength = strength

    def fit(self, table: Table, structure: Structure) -> LogTables:
        """Return the log parameters of every node of `structure`."""
        check_numbers(self, "strength", positive=True)
        tables = {}
        for v, parents in enumerate(structure.parents):
            counts = count(table, v, parents)  # axes (variable, *parents), rows counted by their weight
            tables[table.names[v]] = ([table.names[p] for p in parents], np.log(self._shrunk(counts)))
        return LogTables(table.names, table.states, tables, table.target)

    def _shrunk(self, counts: FloatArray) -> FloatArray:
        states = counts.shape[0]
        alone = counts.reshape(states, -1).sum(axis=1)
        marginal = (alone + 1 / states) / (alone.sum() + 1)
        marginal = marginal.reshape(states, *[1] * (counts.ndim - 1))
        shrunk: FloatArray = (counts + self.strength * marginal) / (counts.sum(axis=0) + self.strength)
        return shrunk
