"""Convert data of pandas, polars, pyarrow and numpy to one pandas frame with distinct string names."""

from __future__ import annotations

import sys
from collections import Counter
from typing import Any

import numpy as np
import pandas as pd

from bnplug.errors import article
from bnplug.table._checks import exact_array, has_inexact, is_beyond_numpy, native, refuse_surrogates, to_decimals


def to_frame(data: Any, what: str = "the data") -> pd.DataFrame:
    """Return `data`, which error messages call `what`, as a pandas frame whose column names are distinct strings.

    It is a pandas or polars frame (a lazy one is collected), a pyarrow table, a dict of columns, or a 2-D array, whose
    columns are named ``x0``, ``x1``, ... Frames of other libraries raise an error: as arrays they would lose the names
    and types of their columns.

    Examples
    --------
    >>> to_frame(np.array([[1, 2], [3, 4]])).columns.tolist()
    ['x0', 'x1']
    """
    data = collected(data, what)
    if isinstance(data, pd.DataFrame):
        frame = data
    elif is_polars(data):
        frame = pd.DataFrame({name: _polars_column(data[name]) for name in data.columns})
    elif type(data) is dict:
        columns: dict[Any, Any] = data
        frame = pd.DataFrame(columns)
        for name, cells in columns.items():
            if isinstance(cells, list | tuple) and _is_inexact(frame[name]):
                frame[name] = exact_array(cells)
    else:
        array = native(data if isinstance(data, list | tuple) else np.asarray(data))
        if array.ndim != 2:
            raise ValueError(f"{what}: expected a frame or a 2D array, got an array of {array.ndim} dimension(s)")
        names = [f"x{i}" for i in range(array.shape[1])]
        try:
            frame = pd.DataFrame(array, columns=names)
        except UnicodeEncodeError:
            # pandas' text type does not accept half characters.
            frame = pd.DataFrame(array, columns=names, dtype=object)
    return _with_wide_columns(_with_string_names(frame, what))


def is_frame(data: Any) -> bool:
    """Return whether `data` has named columns."""
    if isinstance(data, pd.DataFrame | np.ndarray):
        return isinstance(data, pd.DataFrame)
    # A sparse matrix in dok format is a subclass of dict.
    return type(data) is dict or _is_a(data, "polars", "LazyFrame") or _has_columns(data)


def is_polars(data: Any) -> bool:
    """Return whether `data` is a polars frame, but not a lazy one."""
    return _is_a(data, "polars", "DataFrame")


def _is_a(data: Any, library: str, *names: str) -> bool:
    """Return whether `data` is of one of these types of a library, without importing it."""
    module = sys.modules.get(library)
    # Another thread may be importing the library.
    return isinstance(data, tuple(getattr(module, name) for name in names if hasattr(module, name)))


def collected(data: Any, what: str = "the data") -> Any:
    """Collect a lazy polars frame, and convert a pyarrow table to pandas; return other data unchanged."""
    if isinstance(data, pd.DataFrame | np.ndarray):
        return data
    if _is_a(data, "polars", "LazyFrame"):
        return data.collect()
    if _is_a(data, "pyarrow", "Table", "RecordBatch"):
        return _with_exact_numbers(data.to_pandas(), data)
    if _has_columns(data) and not is_polars(data):
        library = type(data).__module__.partition(".")[0]
        remedy = "convert it to a frame of pandas or polars, or to a pyarrow table, before you pass it"
        if library.startswith("dask"):
            remedy = "call its compute() to read it into memory, or use DaskBayesianNetworkClassifier"
        raise ValueError(
            f"{what}: expected a frame in memory, got {article(type(data).__name__)} of {library}; {remedy}"
        )
    return data


def _has_columns(data: Any) -> bool:
    """Return whether `data` is a frame of any library; asking a lazy frame of polars would give a warning."""
    return hasattr(data, "__dataframe__") or (hasattr(data, "columns") and hasattr(data, "dtypes"))


def _with_exact_numbers(frame: pd.DataFrame, rows: Any) -> pd.DataFrame:
    """Return a frame made from a pyarrow table, with exact large whole numbers even if cells are missing."""
    inexact = [i for i, (_, column) in enumerate(frame.items()) if _is_inexact(column)]
    if inexact:
        import pyarrow

        exact = rows.to_pandas(types_mapper={pyarrow.int64(): pd.Int64Dtype(), pyarrow.uint64(): pd.UInt64Dtype()}.get)
        for i in inexact:
            if exact.dtypes.iloc[i].kind in "iu":
                frame.isetitem(i, exact.iloc[:, i])
    return frame


def _is_inexact(column: pd.Series[Any]) -> bool:
    return column.dtype == np.float64 and has_inexact(column.to_numpy())


def _with_string_names(frame: pd.DataFrame, what: str) -> pd.DataFrame:
    names = [str(name) for name in frame.columns]
    refuse_surrogates(names, what)
    repeated = sorted(name for name, times in Counter(names).items() if times > 1)
    if repeated:
        raise ValueError(f"{what}: duplicate column names {repeated}; every column needs a name of its own")
    return frame if names == list(frame.columns) else frame.set_axis(names, axis=1)


def _with_wide_columns(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a frame in native byte order, with floats of 16 or 32 bits as the decimals that they stand for."""
    changed: dict[str, Any] = {}
    for name, column in frame.items():
        dtype, size = column.dtype, getattr(column.dtype, "itemsize", 8)
        if dtype.kind == "f" and size < 8:
            changed[str(name)] = to_decimals(column.to_numpy(f"f{size}", na_value=np.nan))
        elif isinstance(dtype, np.dtype) and not dtype.isnative:
            changed[str(name)] = column.astype(dtype.newbyteorder("="))
    return frame.assign(**changed) if changed else frame


def _polars_column(column: Any) -> Any:
    """Convert a polars series to pandas, without pyarrow."""
    import polars

    if column.dtype == polars.Categorical:
        states = column.drop_nulls().unique().cast(polars.String).sort()
        column = column.cast(polars.String).cast(polars.Enum(states))
    if isinstance(column.dtype, polars.Enum):
        codes = column.to_physical().fill_null(len(column.dtype.categories)).cast(polars.Int64).to_numpy()
        codes = np.where(codes == len(column.dtype.categories), -1, codes)
        return pd.Categorical.from_codes(codes, categories=column.dtype.categories.to_list(), ordered=True)
    if is_beyond_numpy(column.dtype):
        # Long whole numbers and containers are refused later, by the name of the column.
        return pd.Series(column.to_list(), dtype=object)
    if column.dtype == polars.Boolean and column.null_count():
        return pd.array(column.to_list(), dtype="boolean")
    if column.dtype.is_integer() and column.null_count():
        return pd.array(column.to_list(), dtype="UInt64" if column.dtype == polars.UInt64 else "Int64")
    if getattr(column.dtype, "time_zone", None) is not None:
        # numpy has no time zones: polars converts the times to UTC.
        return pd.Series(column.to_numpy()).dt.tz_localize("UTC").dt.tz_convert(column.dtype.time_zone)
    return column.to_numpy()
