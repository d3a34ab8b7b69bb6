"""Rows of numbers, and a few rows of any, as codes without a series for each column: these would take the most time."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt
import pandas as pd

from bnplug.arrays import CodeArray, FloatArray
from bnplug.data._views import read_only
from bnplug.data.bins import bin_labels, middles
from bnplug.data.coding import UNSEEN
from bnplug.data.table import Table

if TYPE_CHECKING:
    from bnplug.data.intake import Intake


# A longer number of numpy's is none of Python's.
_PLAIN_BYTES = 8


class _Feature(NamedTuple):
    """Where a feature is in the table and in the array, and the numbers that part its states."""

    variable: int
    column: int
    edges: FloatArray


class _Words(NamedTuple):
    """Where a feature is in the table and in the array, and the codes of its states, which are text."""

    variable: int
    column: int
    codes: dict[str, int]


class _Door(NamedTuple):
    """The features that numbers part, those whose states are text, and how many features there are."""

    numbers: list[_Feature]
    words: list[_Words]
    n_features: int


# Found once for the table that a model has; kept beside the intake, which predicting must not change.
_found: WeakKeyDictionary[Intake, tuple[Table, _Door]] = WeakKeyDictionary()

# Up to so many rows are coded cell by cell.
_FEW_ROWS = 16


def code_known(data: Any, intake: Intake, schema: Table) -> CodeArray | None:
    """Return the codes of data whose cells are plainly numbers, or text that training has seen; else None.

    These are an array, a frame that holds floats in the columns of training, and a few rows of a frame that has these
    columns and holds any numbers and text.
    """
    if isinstance(data, np.ndarray):
        return code_array(data, intake, schema)
    if not isinstance(data, pd.DataFrame) or data.columns.tolist() != list(intake.columns) or not len(data):
        return None
    dtypes = data.dtypes.tolist()
    if all(dtype == np.float64 for dtype in dtypes):
        array = data.to_numpy()
        # An infinite number is refused by the name of its column, which takes a frame.
        return None if np.isinf(array).any() else code_array(array, intake, schema)
    return _code_cells(data, dtypes, _door(intake, schema), schema) if len(data) <= _FEW_ROWS else None


def _code_cells(frame: pd.DataFrame, dtypes: list[Any], door: _Door, schema: Table) -> CodeArray | None:
    """Return the codes of a few rows; None where a cell is infinite, or no number or text that training has seen."""
    plain = all(_is_plain(dtypes[own.column]) for own in door.numbers)
    if not plain or len(door.numbers) + len(door.words) < door.n_features:
        return None
    cells = frame.to_numpy(dtype=object)
    numbers = [own._replace(column=i) for i, own in enumerate(door.numbers)]
    values = cells[:, [own.column for own in door.numbers]].astype(np.float64)
    codes = _parted(values.T, numbers, schema)
    for variable, column, known in door.words:
        found = [_code_of(cell, known, schema.missing) for cell in cells[:, column].tolist()]
        if UNSEEN in found:
            return None
        codes[variable] = found
    return None if np.isinf(values).any() else read_only(codes)


def _is_plain(dtype: Any) -> bool:
    return isinstance(dtype, np.dtype) and dtype.kind in "iuf" and dtype.itemsize <= _PLAIN_BYTES


def _code_of(cell: Any, known: dict[str, int], missing: int) -> int:
    """Return the code of a cell that is text or missing; ``UNSEEN`` if it is none of those known, or something else."""
    if isinstance(cell, str):
        return known.get(cell, UNSEEN)
    is_missing = cell is None or (isinstance(cell, float) and math.isnan(cell))
    return missing if is_missing else UNSEEN


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
    door = _door(intake, schema)
    if array.dtype.kind != "f" or array.dtype.itemsize > _PLAIN_BYTES or len(door.numbers) < door.n_features:
        return None
    return read_only(_parted(array.T.astype(np.float64, copy=False), door.numbers, schema))


def _parted(values: FloatArray, numbers: list[_Feature], schema: Table) -> CodeArray:
    """Return the codes of numbers (columns, rows); of all other features missing."""
    codes = np.full((len(schema.names), values.shape[1]), schema.missing, dtype=schema.codes.dtype)
    for variable, column, edges in numbers:
        codes[variable] = edges.searchsorted(values[column])
    holes = np.isnan(values)
    if holes.any():
        for variable, column, _ in numbers:
            codes[variable, holes[column]] = schema.missing
    return codes


def _door(intake: Intake, schema: Table) -> _Door:
    known = _found.get(intake)
    if known is None or known[0] is not schema:
        known = _found[intake] = schema, _make_door(intake, schema)
    return known[1]


def _make_door(intake: Intake, schema: Table) -> _Door:
    door = _Door([], [], len(schema.features))
    if intake.dates or intake.pooled or intake.missing_states:
        return door
    edges = _edges(intake, schema)
    place = {name: position for position, name in enumerate(intake.columns)}
    for v in schema.features:
        name, states = schema.names[v], schema.states[schema.names[v]]
        if name in place and name in edges:
            door.numbers.append(_Feature(v, place[name], edges[name]))
        elif name in place and name not in intake.numeric and all(isinstance(state, str) for state in states):
            door.words.append(_Words(v, place[name], {str(state): code for code, state in enumerate(states)}))
    return door


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
