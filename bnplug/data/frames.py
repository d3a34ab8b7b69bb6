"""Frames at the door: pandas, polars and arrays become one pandas frame with distinct string names."""

from __future__ import annotations

import sys
from collections import Counter
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from bnplug.data._checks import is_beyond_numpy, native, refuse_surrogates
from bnplug.data._whole_numbers import exact_array, has_inexact


def to_frame(data: Any, what: str = "the data") -> pd.DataFrame:
    """Return `data` as a pandas frame whose column names are distinct strings.

    Parameters
    ----------
    data : pandas or polars frame (a lazy one is collected), dict of columns, or 2-D array
        An array's columns are named ``x0``, ``x1``, ...
    what : str
        What error messages call it.

    Examples
    --------
    >>> to_frame(np.array([[1, 2], [3, 4]])).columns.tolist()
    ['x0', 'x1']
    """
    data = collected(data)
    if isinstance(data, pd.DataFrame):
        frame = data
    elif is_polars(data):
        frame = pd.DataFrame({name: _polars_column(data[name]) for name in data.columns})
    elif type(data) is dict:
        frame = _from_dict(data)
    else:
        array = native(data if isinstance(data, list | tuple) else np.asarray(data))
        if array.ndim != 2:
            raise ValueError(f"{what}: expected a frame or a 2D array, got an array of {array.ndim} dimension(s)")
        frame = _from_array(array)
    return _with_native_columns(_with_string_names(frame, what))


def is_frame(data: Any) -> bool:
    """Whether `data` has named columns. (A sparse matrix in dok format is a dict too, of a type of its own.)"""
    return isinstance(data, pd.DataFrame) or type(data) is dict or is_polars(data) or _is_lazy(data)


def is_polars(data: Any) -> bool:
    """Whether `data` is a polars frame, and no lazy one; polars is not imported to find out."""
    polars = sys.modules.get("polars")
    return polars is not None and isinstance(data, polars.DataFrame)


def _is_polars_series(data: Any) -> bool:
    """Whether `data` is a polars series; polars is not imported to find out."""
    polars = sys.modules.get("polars")
    return polars is not None and isinstance(data, polars.Series)


def collected(data: Any) -> Any:
    """Return the frame that a lazy frame of polars makes; all else as it is."""
    return data.collect() if _is_lazy(data) else data


def _is_lazy(data: Any) -> bool:
    polars = sys.modules.get("polars")
    return polars is not None and isinstance(data, polars.LazyFrame)


def _with_string_names(frame: pd.DataFrame, what: str) -> pd.DataFrame:
    names = [str(name) for name in frame.columns]
    refuse_surrogates(names, what)
    repeated = sorted(name for name, times in Counter(names).items() if times > 1)
    if repeated:
        raise ValueError(f"{what}: duplicate column names {repeated}; every column needs a name of its own")
    if names == list(frame.columns):
        return frame
    return frame.set_axis(names, axis=1)


def _from_dict(data: dict[Any, Any]) -> pd.DataFrame:
    frame = pd.DataFrame(data)
    for name, cells in data.items():
        if isinstance(cells, list | tuple) and frame[name].dtype == np.float64 and has_inexact(frame[name].to_numpy()):
            frame[name] = exact_array(cells)
    return frame


def _from_array(array: npt.NDArray[Any]) -> pd.DataFrame:
    names = [f"x{i}" for i in range(array.shape[1])]
    try:
        return pd.DataFrame(array, columns=names)
    except UnicodeEncodeError:
        # pandas' type of text takes no half characters, objects may be any.
        return pd.DataFrame({name: pd.Series(own, dtype=object) for name, own in zip(names, array.T, strict=True)})


def _with_native_columns(frame: pd.DataFrame) -> pd.DataFrame:
    foreign = {
        name: dtype.newbyteorder("=")
        for name, dtype in frame.dtypes.items()
        if isinstance(dtype, np.dtype) and not dtype.isnative
    }
    return frame.astype(foreign) if foreign else frame


def _polars_column(column: Any) -> Any:
    """One polars series as what pandas makes of it, without needing pyarrow."""
    import polars

    if column.dtype == polars.Categorical:
        states = column.drop_nulls().unique().cast(polars.String).sort()
        column = column.cast(polars.String).cast(polars.Enum(states))
    if isinstance(column.dtype, polars.Enum):
        codes = column.to_physical().fill_null(len(column.dtype.categories)).cast(polars.Int64).to_numpy()
        codes = np.where(codes == len(column.dtype.categories), -1, codes)
        return pd.Categorical.from_codes(codes, categories=column.dtype.categories.to_list(), ordered=True)
    if is_beyond_numpy(column.dtype):
        # Whole numbers that are too long for a float are refused by name, and so are containers.
        return pd.Series(column.to_list(), dtype=object)
    if column.dtype == polars.Boolean and column.null_count():
        return pd.array(column.to_list(), dtype="boolean")
    if column.dtype.is_integer() and column.null_count():
        return pd.array(column.to_list(), dtype="UInt64" if column.dtype == polars.UInt64 else "Int64")
    if getattr(column.dtype, "time_zone", None) is not None:
        # numpy has no time zones: polars converts the times to UTC.
        return pd.Series(column.to_numpy()).dt.tz_localize("UTC").dt.tz_convert(column.dtype.time_zone)
    return column.to_numpy()
