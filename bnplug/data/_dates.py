"""Points in time as numbers: what a calendar and a clock show, each a feature of its own; durations as seconds.

A time is taken as its own zone shows it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from bnplug.data._looking import is_numeric

#: The parts of a point in time, coarsest first; a duration has its seconds.
PARTS = ("year", "month", "day", "weekday", "hour", "minute")
SECONDS = "seconds"

_MESSAGE = "column {name!r} holds points in time, and not all its values are: {error}"


def parts_of(column: pd.Series[Any]) -> dict[str, pd.Series[Any]]:
    """Return the parts of a column's times that vary, by name; the year (of a duration: its seconds) where none does.

    Examples
    --------
    >>> times = pd.Series(pd.to_datetime(["2026-01-31", "2026-02-28", None]))
    >>> {name: part.tolist() for name, part in parts_of(times).items()}
    {'month': [1.0, 2.0, nan], 'day': [31.0, 28.0, nan]}
    """
    everything = all_parts(column)
    return {name: everything[name] for name in varying(everything)}


def all_parts(column: pd.Series[Any]) -> dict[str, pd.Series[Any]]:
    """Return all parts of a column's times, by name; of durations, their seconds."""
    return take_parts(column, (SECONDS,) if _is_duration(column) else PARTS)


def varying(parts: Mapping[str, pd.Series[Any]]) -> list[str]:
    """Return the names of the parts that vary, of the first where none does.

    Examples
    --------
    >>> varying({"year": pd.Series([2026, 2026]), "month": pd.Series([1, 2])})
    ['month']
    """
    return [name for name, part in parts.items() if part.nunique() > 1] or [next(iter(parts))]


def take_parts(column: pd.Series[Any], parts: Iterable[str]) -> dict[str, pd.Series[Any]]:
    """Return the given parts of a column's times; text that stands for times, as ISO 8601 writes them, is read.

    Raises
    ------
    ValueError
        If some values are no times; the message names the column.
    """
    wanted = tuple(parts)
    try:
        if wanted == (SECONDS,):
            return {SECONDS: _to_durations(column).dt.total_seconds()}
        shown = _to_times(column).dt
        return {part: getattr(shown, "day_of_week" if part == "weekday" else part) for part in wanted}
    except (TypeError, ValueError, AttributeError, OverflowError) as error:
        raise ValueError(_MESSAGE.format(name=str(column.name), error=error)) from None


def spread(frame: pd.DataFrame, features: Mapping[str, Mapping[str, str]]) -> pd.DataFrame:
    """Return `frame` with each column of times replaced by the features of its parts.

    Parameters
    ----------
    frame : pandas.DataFrame
    features : mapping of str to mapping of str to str
        By column: what the feature of each part is called.
    """
    if not features.keys() & set(frame.columns):
        return frame
    columns: dict[str, Any] = {}
    for name, column in frame.items():
        called = features.get(str(name))
        if called is None:
            columns[str(name)] = column
        else:
            columns |= {called[part]: own for part, own in take_parts(column, called).items()}
    return pd.DataFrame(columns, index=frame.index)


def _is_duration(column: pd.Series[Any]) -> bool:
    if column.dtype == object:
        return pd.api.types.infer_dtype(column, skipna=True) in ("timedelta", "timedelta64")
    return column.dtype.kind == "m"


def _to_times(column: pd.Series[Any]) -> pd.Series[Any]:
    """Return points in time as pandas has them; a time of day is one of the first day of 1970."""
    if column.dtype.kind == "M" and isinstance(column.dtype, np.dtype | pd.DatetimeTZDtype):
        return column
    if isinstance(column.dtype, pd.PeriodDtype):
        return pd.Series(column.dt.to_timestamp())
    if is_numeric(column):
        if column.isna().all():
            return pd.Series(pd.NaT, index=column.index, dtype="datetime64[ns]")
        raise ValueError("numbers are no points in time")
    values = column.astype(object)
    if pd.api.types.infer_dtype(values, skipna=True) == "time":
        values = values.map(lambda time: f"1970-01-01T{time.isoformat()}", na_action="ignore")
    elif pd.api.types.infer_dtype(values, skipna=True) == "period":
        return pd.Series(pd.PeriodIndex(values).to_timestamp(), index=column.index)
    times: pd.Series[Any] = pd.to_datetime(values, format="ISO8601")
    return times


def _to_durations(column: pd.Series[Any]) -> pd.Series[Any]:
    if column.dtype.kind != "m" and is_numeric(column) and not column.isna().all():
        raise ValueError("numbers are no durations")
    return pd.to_timedelta(column.astype(object) if column.dtype.kind != "m" else column)
