"""States by their labels: rows given as such, and numeric columns that come as bins already."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from bnplug.arrays import CodeArray
from bnplug.data.bins import bin_labels, in_bins
from bnplug.data.coding import MISSING, Coded, factorize, label_index
from bnplug.data.kinds import is_numeric
from bnplug.data.table import Table


def named_bins(column: pd.Series[Any], cuts: npt.ArrayLike) -> Coded | None:
    """Return the bins of a column that names some of them; None where it holds numbers alone.

    Raises
    ------
    ValueError
        If a value is neither a number nor the label of a bin; the message names the column.

    Examples
    --------
    >>> named_bins(pd.Series(["<=0.5", ">0.5", None, 0.3]), [0.5])
    Coded(codes=array([ 0,  1, -1,  0]), states=('<=0.5', '>0.5'))
    """
    if is_numeric(column) or column.dtype.kind == "b":
        return None
    codes, values = factorize(column)
    position = {label: number for number, label in enumerate(bin_labels(cuts))}
    numbers = [position[v] if isinstance(v, str) and v in position else _bin(v, cuts, column.name) for v in values]
    return Coded(np.array([*numbers, MISSING], dtype=np.int64)[codes], tuple(position))


def _bin(value: Any, cuts: npt.ArrayLike, name: Any) -> int:
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = np.nan
    if not np.isfinite(number):
        raise ValueError(
            f"column {name!r} is numeric, and {value!r} is neither a number nor one of its bins {bin_labels(cuts)}"
        )
    return int(in_bins(np.array([number]), cuts).codes[0])


def as_states(codes: CodeArray, schema: Table, missing_states: Mapping[str, str]) -> dict[str, pd.Categorical]:
    """Return coded rows by the labels of their states; cells in the state of missing cells are missing too.

    Examples
    --------
    >>> schema = Table.empty(["sky", "y"], {"sky": ["sun", "?"], "y": [0, 1]}, "y")
    >>> [list(column) for column in as_states(np.array([[0, 1], [1, 255]], np.uint8), schema, {"sky": "?"}).values()]
    [['sun', nan], [1, nan]]
    """
    found = {}
    for name, own in zip(schema.names, codes, strict=True):
        signed = np.where(own == schema.missing, MISSING, own.astype(np.int64))
        column = pd.Categorical.from_codes(signed, categories=label_index(schema.states[name]))
        found[name] = column.remove_categories([missing_states[name]]) if name in missing_states else column
    return found
