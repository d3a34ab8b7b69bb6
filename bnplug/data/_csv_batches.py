"""CSV files in batches of rows: what each column holds is found in a first reading, so that batches agree."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from bnplug.data._whole_numbers import as_written, is_read_inexactly
from bnplug.data.files import _MISSING_TEXT, _DataFile, _is_whole, _too_long, _with_zeros_first

# A day, perhaps with a time, as ISO 8601 writes it.
_DATE = r"\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}(:\d{2}(\.\d+)?)?)?"

_NUMBER, _WHOLE, _TRUTH, _DATES, _TEXT = "number", "whole number", "truth value", "date", "text"
# In addition to a kind: the column has numbers that pandas does not read exactly.
_INEXACT = "inexact"


class CsvRows:
    """The rows of a CSV file; a column has the type that :func:`bnplug.data.files.read_data` would give it.

    Parameters
    ----------
    path : Path
    text, missing, numbers, sep, encoding
        As for :func:`~bnplug.data.files.read_data`.
    dates : sequence of str, or None
        The columns that are points in time. None: those in which all values are, as ISO 8601 writes them, unless they
        are among `text`.
    batch_rows : int
        So many rows are read at a time.

    Attributes
    ----------
    names : list of str
        The columns.
    n_rows : int
    dates : list of str
        The columns that are read as points in time.
    empty : set of str
        The columns without any value.
    """

    def __init__(
        self,
        path: Path,
        text: Sequence[str] = (),
        missing: Sequence[str] = (),
        numbers: Sequence[str] = (),
        sep: str = ",",
        encoding: str | None = None,
        dates: Sequence[str] | None = (),
        batch_rows: int = 1 << 18,
    ) -> None:
        self._file = _DataFile(path, sep, encoding)
        self._missing = [*_MISSING_TEXT, *missing]
        self._batch_rows = batch_rows
        header = self._header()
        kinds, self.n_rows = self._look(header, {*text, *(dates or ())})
        inexact = [i for i, kinds_of_column in enumerate(kinds) if _INEXACT in kinds_of_column]
        kinds = [kinds_of_column - {_INEXACT} for kinds_of_column in kinds]
        width = len(header)
        while width and not header[width - 1] and not kinds[width - 1]:
            width -= 1
        self._read = [name or f"Unnamed: {i}" for i, name in enumerate(header)]
        self.names = self._read[:width]
        zeros = [i for i in range(width) if kinds[i] == {_WHOLE} and self.names[i] not in numbers]
        as_text = _with_zeros_first(self._file, zeros) if zeros and self._file.may_lose_zeros() else []
        own = [i for i in range(width) if self.names[i] in text or i in as_text or not _is_one_type(kinds[i])]
        found = {self.names[i] for i in range(width) if kinds[i] == {_DATES}} - set(text)
        said = [i for i in range(width) if self.names[i] in (found if dates is None else dates)]
        self._exact = {self.names[i] for i in inexact if i < width and i not in {*own, *said}}
        self._dtypes: dict[Any, Any] = dict.fromkeys([*own, *said, *inexact], str)
        self.dates = [self.names[i] for i in said]
        self.empty = {self.names[i] for i in range(width) if not kinds[i]}

    def batches(self, wanted: Sequence[str]) -> Iterator[pd.DataFrame]:
        """Yield the rows, a batch at a time."""
        for rows in self._chunks(dtype=self._dtypes):
            frame = rows.iloc[:, : len(self.names)].set_axis(self.names, axis=1)[list(wanted)]
            times = {name: _to_times(frame[name]) for name in self.dates if name in frame.columns}
            exact = {name: as_written(frame[name]) for name in self._exact if name in frame.columns}
            yield frame.assign(**times, **exact)

    def _header(self) -> list[str]:
        """Return the names of the columns as they are written."""
        # Of rows that are too long pandas lets the first pass, so that it is read as the header is.
        try:
            top = self._file.read(header=None, nrows=2, dtype=str)
        except pd.errors.ParserError as error:
            raise ValueError(_too_long(self._file, str(error)) or str(error)) from error
        return list(top.iloc[0])

    def _look(self, header: list[str], text: set[str]) -> tuple[list[set[str]], int]:
        """Return what the values of each column look like, nothing where it has none, and the number of rows."""
        dtypes = {i: str for i, name in enumerate(header) if name in text}
        kinds: list[set[str]] = [set() for _ in header]
        n_rows = 0
        for rows in self._chunks(dtype=dtypes):
            n_rows += len(rows)
            for i, (_, column) in enumerate(rows.items()):
                inexact = i not in dtypes and is_read_inexactly(column, self._missing)
                kinds[i] |= {_INEXACT, _NUMBER if _has_fractions(column) else _WHOLE} if inexact else _look_of(column)
        return kinds, n_rows

    def _chunks(self, dtype: dict[Any, Any]) -> Iterator[pd.DataFrame]:
        options: dict[str, Any] = {"low_memory": False, "na_values": self._missing, "chunksize": self._batch_rows}
        try:
            yield from self._file.read(index_col=False, dtype=dtype, **options)
        except pd.errors.ParserError as error:
            raise ValueError(_too_long(self._file, str(error)) or str(error)) from error


def _look_of(column: pd.Series[Any]) -> set[str]:
    """Return what the values of a batch look like; nothing where there are none."""
    present = column.dropna()
    if not len(present):
        return set()
    if column.dtype.kind in "iuf":
        return {_NUMBER if _has_fractions(column) else _WHOLE}
    if column.dtype.kind == "b" or pd.api.types.infer_dtype(present) == "boolean":
        return {_TRUTH}
    return {_DATES if are_dates(present) else _TEXT}


def _has_fractions(column: pd.Series[Any]) -> bool:
    return column.dtype.kind == "f" and not _is_whole(column)


def _is_one_type(kinds: set[str]) -> bool:
    """Whether pandas, which sees a batch at a time, takes all values alike; what are dates here may be none there."""
    return kinds <= {_WHOLE, _NUMBER} or len(kinds) < 2 or kinds == {_DATES, _TEXT}


def are_dates(column: pd.Series[Any]) -> bool:
    """Whether all values of a column, which has some, are points in time as ISO 8601 writes them.

    Examples
    --------
    >>> are_dates(pd.Series(["2026-01-31", None])), are_dates(pd.Series(["2026-02-31"])), are_dates(pd.Series([2026]))
    (True, False, False)
    """
    present = column.dropna()
    if not isinstance(present.iloc[0] if len(present) else None, str):
        return False
    distinct = pd.Series(present.unique())
    if re.fullmatch(_DATE, distinct.iloc[0]) is None or not distinct.str.fullmatch(_DATE).all():
        return False
    return bool(pd.to_datetime(distinct, format="ISO8601", errors="coerce").notna().all())


def _to_times(column: pd.Series[Any]) -> pd.Series[Any]:
    try:
        return pd.to_datetime(column, format="ISO8601" if are_dates(column) else None)
    except (ValueError, TypeError) as error:
        raise ValueError(f"column {column.name!r}: {error}") from None
