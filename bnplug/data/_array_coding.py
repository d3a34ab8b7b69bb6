"""Rows of numbers as codes, without a series for each column: most of what one row takes would go to those."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt
import pandas as pd

from bnplug.arrays import CodeArray, FloatArray
from bnplug.data.bins import bin_labels, middles
from bnplug.data.table import Table

if TYPE_CHECKING:
    from bnplug.data.intake import Intake


class _Feature(NamedTuple):
    """Where a feature is in the table and in the array, and the numbers that part its states."""

    variable: int
    column: int
    edges: FloatArray


_Features = list[_Feature] | None

# Found once for the table that a model has; kept beside the intake, which predicting must not change.
_found: WeakKeyDictionary[Intake, tuple[Table, _Features]] = WeakKeyDictionary()


def code_numbers(data: Any, intake: Intake, schema: Table) -> CodeArray | None:
    """Return the codes of an array, or of a frame that holds floats in the columns of training; else None."""
    if isinstance(data, np.ndarray):
        return code_array(data, intake, schema)
    if not isinstance(data, pd.DataFrame) or data.columns.tolist() != list(intake.columns) or not len(data):
        return None
    if any(dtype != np.float64 for dtype in data.dtypes.tolist()):
        return None
    array = data.to_numpy()
    # An infinite number is refused by the name of its column, which takes a frame.
    return None if np.isinf(array).any() else code_array(array, intake, schema)


def code_array(array: npt.NDArray[Any], intake: Intake, schema: Table) -> CodeArray | None:
    """Return the codes of rows of floats as ``intake.encode`` would; None where that takes a frame.

    Parameters
    ----------
    array : array of shape (rows, columns)
        Columns as ``intake.columns``, without infinite numbers.
    intake : Intake
    schema : Table

    Returns
    -------
    unsigned array of shape (variables, rows), or None
        None where some feature is no number in bins or among few whole ones, or the array holds no floats.
    """
    if array.dtype.kind != "f" or array.dtype.itemsize > 8:
        return None
    known = _found.get(intake)
    if known is None or known[0] is not schema:
        known = _found[intake] = schema, _features(intake, schema)
    if known[1] is None:
        return None
    codes = np.full((len(schema.names), len(array)), schema.missing, dtype=schema.codes.dtype)
    values = array.T.astype(np.float64, copy=False)
    for variable, column, edges in known[1]:
        codes[variable] = edges.searchsorted(values[column])
    holes = np.isnan(values)
    if holes.any():
        for variable, column, _ in known[1]:
            codes[variable, holes[column]] = schema.missing
    codes.flags.writeable = False
    return codes


def _features(intake: Intake, schema: Table) -> _Features:
    if intake.dates or intake.pooled or intake.missing_states:
        return None
    edges = _edges(intake, schema)
    place = {name: position for position, name in enumerate(intake.columns)}
    names = [schema.names[v] for v in schema.features]
    if any(name not in edges or name not in place for name in names):
        return None
    return [_Feature(v, place[name], edges[name]) for v, name in zip(schema.features, names, strict=True)]


def _edges(intake: Intake, schema: Table) -> dict[str, FloatArray]:
    """Return what lies between the states of each feature whose states, in order, are those of `schema`."""
    found = {
        name: np.asarray(own, dtype=np.float64)
        for name, own in intake.cut_points.items()
        if bin_labels(own) == list(schema.states.get(name, ()))
    }
    for name, states in intake.whole.items():
        if tuple(states) == tuple(schema.states.get(name, ())):
            found[name] = middles(states)
    return found
