"""Missing cells as a state of their own, for methods that learn from them what they learn from any other state."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from bnplug.arrays import BoolArray, CodeArray, IntArray
from bnplug.data._pooling import unlike
from bnplug.data.block_table import BlockTable
from bnplug.data.blocks import ConvertedStore, Rows
from bnplug.data.table import Table, smallest_dtype


def missing_as_state(table: Table, which: npt.ArrayLike | None = None) -> Table:
    """Return the same rows with missing as one more state, the last, of some variables.

    Rows in many blocks stay there: each is turned when it is looked at.

    Parameters
    ----------
    table : Table
    which : bool array of shape (variables,), optional
        The variables; by default those that have missing cells. The label of their new state is "missing", or longer
        where they have such a state.

    Examples
    --------
    >>> import pandas as pd
    >>> table = Table.from_frame(pd.DataFrame({"x": ["a", None, "b"], "c": [*"nyy"]}), "c")
    >>> more = missing_as_state(table)
    >>> more.codes.tolist(), more.states["x"]
    ([[0, 2, 1], [0, 1, 1]], ('a', 'b', 'missing'))
    """
    chosen: BoolArray = table.has_missing if which is None else np.asarray(which, dtype=bool)
    states = {
        name: (*own, unlike("missing", set(map(str, own)))) if more else own
        for (name, own), more in zip(table.states.items(), chosen, strict=True)
    }
    missing, dtype = np.where(chosen, table.cards, -1), smallest_dtype(table.cards + chosen)
    if isinstance(table, BlockTable):
        store = ConvertedStore(table.store, _turned, table.missing, missing, dtype)
        return BlockTable(store, table.names, states, table.target, table.left_out, checked=True)
    codes, weights = _turned((table.codes, table.weights), table.missing, missing, dtype)
    return Table(codes, table.names, states, table.target, weights, table.left_out)


def _turned(rows: Rows, old: int, missing: IntArray, dtype: np.dtype[Any]) -> Rows:
    """Return rows in which missing, the code `old`, is ``missing[v]``, or still missing where that is -1."""
    codes: CodeArray = rows[0].astype(dtype)
    still = int(np.iinfo(dtype).max)
    for v, (column, state) in enumerate(zip(rows[0], missing.tolist(), strict=True)):
        if state >= 0 or still != old:
            codes[v][column == old] = still if state < 0 else state
    return codes, rows[1]
