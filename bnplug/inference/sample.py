"""Drawing rows from a network, parents before children."""

from __future__ import annotations

from collections.abc import Sequence
from graphlib import TopologicalSorter
from typing import Any

import pandas as pd
from sklearn.utils import check_random_state

from bnplug.arrays import IntArray
from bnplug.data.coding import State, label_index
from bnplug.model.log_tables import LogTables


def sample(tables: LogTables, n: int, random_state: Any = None) -> pd.DataFrame:
    """Return `n` rows drawn from the network, as a frame of its state labels.

    Raises
    ------
    NotRepresentableError
        If a table is not normalised.

    Examples
    --------
    >>> import numpy as np
    >>> tables = LogTables(["c"], {"c": ["heads", "tails"]}, {"c": ((), np.log([0.5, 0.5]))})
    >>> sample(tables, 3, random_state=0)["c"].tolist()
    ['tails', 'tails', 'tails']
    """
    if n < 0:
        raise ValueError(f"n={n}: the number of rows cannot be negative")
    probabilities = tables.probabilities()
    rng = check_random_state(random_state)
    codes: dict[str, IntArray] = {}
    for node in TopologicalSorter(tables.parents).static_order():
        parents = tables.tables[node].parents
        cumulative = probabilities[node].cumsum(axis=0)
        # Dividing by the last sum mends a rounding error: it may fall short of one.
        cumulative = (cumulative / cumulative[-1])[:, *(codes[parent] for parent in parents)]
        uniform = rng.random_sample(n)
        codes[node] = (cumulative.reshape(len(cumulative), -1) <= uniform).sum(axis=0)
    return pd.DataFrame({node: _labels(tables.states[node], codes[node]) for node in tables.names})


def without_label(column: pd.Series[Any], label: str) -> pd.Series[Any]:
    """Return a sampled column with missing cells where it has `label`."""
    if isinstance(column.dtype, pd.CategoricalDtype):
        return column.cat.remove_categories([label])
    return column.mask(column == label)


def _labels(states: Sequence[State], codes: IntArray) -> Any:
    if all(isinstance(state, str) for state in states):
        return pd.Categorical.from_codes(codes, categories=label_index(states).astype(object))
    return label_index(states).take(codes).array
