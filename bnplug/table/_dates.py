"""Points in time as numbers: year, month and so on, each a feature; durations as seconds."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from bnplug.errors import BnplugWarning, warn_outside
from bnplug.table.kinds import is_numeric

#: The parts of a point in time, coarsest first, and the only part of a duration.
PARTS = ("year", "month", "day", "weekday", "hour", "minute")
SECONDS = "seconds"

_ZONE = re.compile(r"[A-Za-z0-9_+:/-]+")


def all_parts(column: pd.Series[Any], zone: str | None = None) -> dict[str, pd.Series[Any]]:
    """Return all parts of a column of points in time or durations, by name."""
    return take_parts(column, (SECONDS,) if _is_duration(column) else PARTS, zone)


def zone_of(column: pd.Series[Any]) -> str | None:
    """Return the name of a column's time zone; None if there is none, or pandas cannot read its name."""
    zone = None if _is_duration(column) else str(_to_times(column).dt.tz)
    return zone if zone is not None and is_zone(zone) else None


def is_zone(name: object) -> bool:
    """Return whether a time zone has this name, such as Europe/Berlin or UTC+02:00."""
    # pandas reads other names as paths of files.
    if not isinstance(name, str) or not _ZONE.fullmatch(name) or name.startswith(("dateutil", "tz")):
        return False
    try:
        pd.DatetimeTZDtype("ns", name)
    except (TypeError, ValueError, LookupError, OSError):
        return False
    return True


def varying(parts: Mapping[str, pd.Series[Any]]) -> list[str]:
    """Return the names of the parts that vary, or the first name if none does."""
    return [name for name, part in parts.items() if part.nunique() > 1] or [next(iter(parts))]


def take_parts(column: pd.Series[Any], parts: Iterable[str], zone: str | None = None) -> dict[str, pd.Series[Any]]:
    """Return parts of a column of points in time, which may be text in ISO 8601, in a time zone if it is given."""
    wanted = tuple(parts)
    try:
        if wanted == (SECONDS,):
            return {SECONDS: _to_durations(column).dt.total_seconds()}
        times = _to_times(column)
        local = times.dt if zone is None or times.dt.tz is None else times.dt.tz_convert(zone).dt
        return {part: getattr(local, "day_of_week" if part == "weekday" else part) for part in wanted}
    except (TypeError, ValueError, AttributeError, OverflowError) as error:
        message = f"column {str(column.name)!r} contains points in time, but some values are not: {error}"
        raise ValueError(message) from None


def spread(frame: pd.DataFrame, features: Mapping[str, Mapping[str, str]], zones: Mapping[str, str]) -> pd.DataFrame:
    """Return `frame` with columns of points in time replaced by their parts; `features` names the feature of each."""
    if not features.keys() & set(frame.columns):
        return frame
    columns: dict[str, Any] = {}
    for name, column in frame.items():
        names = features.get(str(name))
        if names is None:
            columns[str(name)] = column
        else:
            known = zones.get(str(name))
            parts = take_parts(column, names, known)
            zone = None if SECONDS in names else zone_of(column)
            if (zone is None) != (known is None) and column.notna().any():
                here, before = ("without a zone" if z is None else f"in the zone {z}" for z in (zone, known))
                warn_outside(
                    f"column {str(name)!r} has times {here}, and training had times {before}: they are taken as local "
                    "times, without conversion. Convert them to the zone of the training rows",
                    BnplugWarning,
                )
            columns |= {names[part]: numbers for part, numbers in parts.items()}
    return pd.DataFrame(columns, index=frame.index)


def from_iso(column: pd.Series[Any]) -> pd.Series[Any]:
    """Convert text in ISO 8601 to points in time; a ``ValueError`` shows the first other value."""
    if is_numeric(column):
        if column.isna().all():
            return pd.Series(pd.NaT, index=column.index, dtype="datetime64[ns]")
        raise ValueError("numbers are not points in time")
    try:
        times: pd.Series[Any] = pd.to_datetime(column, format="ISO8601")
        return times
    except ValueError:
        bad = column[pd.to_datetime(column, format="ISO8601", errors="coerce", utc=True).isna() & column.notna()]
        if not len(bad):
            raise
        raise ValueError(
            f"{bad.iloc[0]!r} is not a date in ISO 8601, such as 2026-01-31 or 2026-01-31T08:30; rewrite the dates "
            "that way"
        ) from None


def _is_duration(column: pd.Series[Any]) -> bool:
    if column.dtype == object:
        return pd.api.types.infer_dtype(column, skipna=True) in ("timedelta", "timedelta64")
    return column.dtype.kind == "m"


def _to_times(column: pd.Series[Any]) -> pd.Series[Any]:
    """Convert points in time of any type to the type of pandas; times of day are on 1970-01-01."""
    if column.dtype.kind == "M" and isinstance(column.dtype, np.dtype | pd.DatetimeTZDtype):
        return column
    if isinstance(column.dtype, pd.PeriodDtype):
        return pd.Series(column.dt.to_timestamp())
    if is_numeric(column):
        return from_iso(column)
    values = column.astype(object)
    if pd.api.types.infer_dtype(values, skipna=True) == "time":
        values = values.map(lambda time: f"1970-01-01T{time.isoformat()}", na_action="ignore")
    elif pd.api.types.infer_dtype(values, skipna=True) == "period":
        return pd.Series(pd.PeriodIndex(values).to_timestamp(), index=column.index)
    return from_iso(values)


def _to_durations(column: pd.Series[Any]) -> pd.Series[Any]:
    if column.dtype.kind != "m" and is_numeric(column) and not column.isna().all():
        raise ValueError("numbers are not durations")
    return pd.to_timedelta(column.astype(object) if column.dtype.kind != "m" else column)
