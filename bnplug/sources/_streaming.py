"""Read data files in batches of rows: CSV, compressed or not, and Parquet; no file needs to fit into memory.

Every column has one type in all files and batches. The types of CSV columns are found in a first pass over the file.
"""

from __future__ import annotations

import glob
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from os import PathLike, fspath
from pathlib import Path
from typing import Any, NamedTuple, cast

import pandas as pd

from bnplug.errors import did_you_mean
from bnplug.sources.files import _EMPTY, _NAN, _DataFile, _is_whole, _naming, _parser_errors
from bnplug.table._checks import as_written, is_read_inexactly
from bnplug.table._dates import from_iso
from bnplug.table.frames import _with_exact_numbers, is_frame, to_frame
from bnplug.table.kinds import column_kind

#: The number of rows that are read at a time.
BATCH_ROWS = 1 << 18

#: One path, a pattern such as ``"rows/*.parquet"``, or several of them.
Paths = str | PathLike[str] | Iterable[str | PathLike[str]]

#: Kinds of columns, besides those of :func:`~bnplug.table.kinds.column_kind`.
TEXT, TRUTH, CATEGORIES, NOTHING = "text", "truth values", "categories", "nothing"

# Kinds of cells in CSV files; a column with numbers that pandas does not read exactly is also _INEXACT.
_NUMBER, _WHOLE, _DATES, _INEXACT = "number", "whole number", "date", "inexact"
# The string types of Parquet files.
_STRINGS = ("string", "large_string", "string_view")
# A day, perhaps with a time, in ISO 8601.
_DATE = r"\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}(:\d{2}(\.\d+)?)?)?"


class Batch(NamedTuple):
    """Rows of a file or partition, which messages call `path`, and the kind of each column."""

    path: Path | str
    frame: pd.DataFrame
    kinds: dict[str, str]


#: The kind of each column, and where it was first seen.
SeenKinds = dict[str, tuple[str, Path | str]]


class DataFiles:
    """Files that together are one table, with the same columns in each; options as for `read_data`, and:

    `dates`, the CSV columns of points in time (None: columns other than `labels` in which all values of all files
    are); `convert`, a function applied to each frame.
    """

    def __init__(self, paths: Paths, **options: Any) -> None:
        self.paths = find_files(paths)
        self._convert, labels = options.pop("convert", None), options.pop("labels", ())
        self._files = [_opened(path, options) for path in self.paths]
        self.names = self._files[0].names
        for path, file in zip(self.paths[1:], self._files[1:], strict=True):
            _check_names(file.names, path, self.names, self.paths[0])
        if options.get("dates", ()) is None:
            self._agree_on_dates(labels)
        self.n_rows = sum(file.n_rows for file in self._files)
        self._seen: SeenKinds = {}

    def batches(self, columns: Sequence[str] | None = None, checked: Collection[str] | None = None) -> Iterator[Batch]:
        """Yield the rows of all files in order; the `checked` columns must have the same type in all files."""
        wanted = [name for name in self.names if columns is None or name in columns]
        for path, file in zip(self.paths, self._files, strict=True):
            with _naming(_DataFile(path)):
                for rows in file.batches(wanted):
                    frame = rows if self._convert is None else self._convert(rows)
                    kinds = kinds_of(frame, file.text)
                    used = {name: kind for name, kind in kinds.items() if checked is None or name in checked}
                    note_kinds(self._seen, path, used)
                    yield Batch(path, to_frame(frame, str(path)), kinds)

    def _agree_on_dates(self, labels: Sequence[str]) -> None:
        """Read columns as dates if they contain only dates in every CSV file that has a value there."""
        files = [file for file in self._files if isinstance(file, CsvRows)]
        common = [name for name in self.names if all(name in {*file.dates, *file.empty} for file in files)]
        for file in files:
            file.dates = [name for name in common if name not in labels]


def check_options(csv: Mapping[str, Any] | None, names: Sequence[str]) -> None:
    """Raise a ``ValueError`` for options of CSV files that are text instead of a list, or name no column."""
    for option in ("missing", "text", "numbers", "dates"):
        given = (csv or {}).get(option) or ()
        if isinstance(given, str):
            raise ValueError(f"csv: {option}={given!r}; expected a list, such as [{given!r}]")
        for name in given:
            if option != "missing" and name not in names:
                hint = did_you_mean(name, names)
                raise ValueError(f"csv: {option} names {name!r}, and there is no such column.{hint}")


def note_kinds(seen: SeenKinds, path: Path | str, kinds: Mapping[str, str]) -> None:
    """Record the kinds of columns; raise a ``ValueError`` that names both places if a column has two kinds."""
    for name, kind in kinds.items():
        if kind == NOTHING:
            continue
        expected, first = seen.setdefault(name, (kind, path))
        if kind != expected and {kind, expected} != {TEXT, CATEGORIES}:
            raise ValueError(
                f"column {name!r} contains {expected} in {first}, but {kind} in {path}; use one type in all files"
            )


def column_names(path: Path, sep: str = ",", encoding: str | None = None) -> list[str]:
    """Return the columns of a file that have a name, without reading its rows."""
    file = _DataFile(path, sep, encoding)
    with _naming(file):
        if file.is_parquet:
            return _ParquetRows(path).names
        return [name for name in file.read(header=None, nrows=1, dtype=str).iloc[0] if name]


def find_files(paths: Paths) -> list[Path]:
    """Return the files of a path, a pattern (sorted) or several of them; raise a ``ValueError`` if there is none."""
    files: list[Path] = []
    several = isinstance(paths, Iterable) and not isinstance(paths, str | PathLike) and not is_frame(paths)
    for path in cast("Iterable[str | PathLike[str]]", paths) if several else [paths]:
        if not isinstance(path, str | PathLike):
            kind = type(path).__name__
            raise TypeError(f"expected paths of data files, got {kind}. To learn from rows in memory, call fit")
        name = fspath(path)
        is_pattern = glob.has_magic(name) and not Path(name).exists()
        matches = sorted(glob.glob(name, recursive=True)) if is_pattern else [name]
        if not matches:
            raise ValueError(f"{name}: no file matches this pattern")
        files += map(Path, matches)
    if not files:
        raise ValueError("no files: the list of paths is empty")
    return files


class _ParquetRows:
    """The rows of a Parquet file; `text` are its columns of strings."""

    def __init__(self, path: Path) -> None:
        import pyarrow.parquet as parquet

        self._open, self._path = parquet.ParquetFile, path
        with parquet.ParquetFile(path) as file:
            self.n_rows, schema = file.metadata.num_rows, file.schema_arrow
        # An empty frame shows which columns pandas would make the index.
        self.names = list(map(str, schema.empty_table().to_pandas().columns))
        self.text = {str(column.name) for column in schema if str(column.type) in _STRINGS}

    def batches(self, wanted: Sequence[str]) -> Iterator[pd.DataFrame]:
        """Yield the rows, a batch at a time; text is categorical, as in the file."""
        with self._open(self._path, read_dictionary=[name for name in wanted if name in self.text]) as file:
            for rows in file.iter_batches(BATCH_ROWS, columns=list(wanted), use_threads=False):
                yield _with_exact_numbers(rows.to_pandas(ignore_metadata=False), rows)[list(wanted)]


class CsvRows:
    """The rows of a CSV file, with the types and options of ``read_data``; `empty` columns have no value.

    `dates` are the columns of points in time (None: columns not in `text` in which all values are ISO 8601).
    """

    text: Collection[str] = ()

    def __init__(
        self,
        path: Path,
        text: Sequence[str] = (),
        missing: Sequence[str] = (),
        numbers: Sequence[str] = (),
        sep: str = ",",
        encoding: str | None = None,
        decimal: str = ".",
        dates: Sequence[str] | None = (),
        batch_rows: int = BATCH_ROWS,
    ) -> None:
        self._file = _DataFile(path, sep, encoding, decimal)
        with_nan = [*_EMPTY, *missing, *_NAN]
        self._batch_rows = batch_rows
        header = self._file.header()
        self._missing: Any = with_nan
        kinds, self.n_rows = self._look(header, {*text, *(dates or ())})
        inexact = [i for i, kinds_of_column in enumerate(kinds) if _INEXACT in kinds_of_column]
        kinds = [kinds_of_column - {_INEXACT} for kinds_of_column in kinds]
        width = len(header)
        while width and not header[width - 1] and not kinds[width - 1]:
            width -= 1
        self.names = [name or f"Unnamed: {i}" for i, name in enumerate(header[:width])]
        columns = list(enumerate(self.names))
        whole = [i for i, name in columns if kinds[i] == {_WHOLE} and name not in numbers]
        zeros = self._file.zeros_first(whole)
        as_text = [i for i, name in columns if name in text or i in zeros or not _is_one_type(kinds[i])]
        if dates is None:
            dates = [name for i, name in columns if kinds[i] == {_DATES} and name not in text]
        as_dates = [i for i, name in columns if name in dates]
        self._exact = {self.names[i] for i in inexact if i < width and i not in {*as_text, *as_dates}}
        self._dtypes: dict[Any, Any] = dict.fromkeys([*as_text, *as_dates, *inexact], str)
        words = {i for i, name in columns if (kinds[i] & {TEXT, _DATES} or i in as_text) and name not in numbers}
        # In dates, nan becomes a missing value when they are converted.
        self._missing = {i: [*_EMPTY, *missing] if i in words else with_nan for i in range(len(header))}
        self.dates = [self.names[i] for i in as_dates]
        self.empty = {name for i, name in columns if not kinds[i]}

    def batches(self, wanted: Sequence[str]) -> Iterator[pd.DataFrame]:
        """Yield the rows, a batch at a time."""
        for rows in self._chunks(dtype=self._dtypes):
            frame = rows.iloc[:, : len(self.names)].set_axis(self.names, axis=1)[list(wanted)]
            times = {name: _to_times(frame[name]) for name in self.dates if name in frame.columns}
            exact = {name: as_written(frame[name]) for name in self._exact if name in frame.columns}
            yield frame.assign(**times, **exact)

    def _look(self, header: list[str], text: set[str]) -> tuple[list[set[str]], int]:
        """Return the kinds of cells of each column, none if it has no value, and the number of rows."""
        dtypes = {i: str for i, name in enumerate(header) if name in text}
        kinds: list[set[str]] = [set() for _ in header]
        n_rows = 0
        for rows in self._chunks(dtype=dtypes):
            n_rows += len(rows)
            for i, (_, column) in enumerate(rows.items()):
                inexact = i not in dtypes and is_read_inexactly(column, self._missing)
                kinds[i] |= _kinds_of_cells(column, inexact)
        return kinds, n_rows

    def _chunks(self, dtype: dict[Any, Any]) -> Iterator[pd.DataFrame]:
        options: dict[str, Any] = {"low_memory": False, "na_values": self._missing, "chunksize": self._batch_rows}
        with _parser_errors(self._file):
            yield from self._file.read(index_col=False, dtype=dtype, **options)


def _kinds_of_cells(column: pd.Series[Any], inexact: bool) -> set[str]:
    """Return the kind of cells in a batch, none if it has no value; `inexact` if pandas did not read it exactly."""
    present = column.dropna()
    if inexact or (len(present) and column.dtype.kind in "iuf"):
        kind = _NUMBER if column.dtype.kind == "f" and not _is_whole(column) else _WHOLE
        return {kind, _INEXACT} if inexact else {kind}
    if not len(present):
        return set()
    if column.dtype.kind == "b" or pd.api.types.infer_dtype(present) == "boolean":
        return {TRUTH}
    return {_DATES if are_dates(present) else TEXT}


def _is_one_type(kinds: set[str]) -> bool:
    """Return whether pandas reads every batch as the same type."""
    return kinds <= {_WHOLE, _NUMBER} or len(kinds) < 2 or kinds == {_DATES, TEXT}


def are_dates(column: pd.Series[Any]) -> bool:
    """Return whether a column has values, and all are points in time in ISO 8601; nan is a missing one."""
    present = column[~column.isin(_NAN)].dropna()
    if not isinstance(present.iloc[0] if len(present) else None, str):
        return False
    distinct = pd.Series(present.unique())
    if re.fullmatch(_DATE, distinct.iloc[0]) is None or not distinct.str.fullmatch(_DATE).all():
        return False
    return bool(pd.to_datetime(distinct, format="ISO8601", errors="coerce").notna().all())


def _to_times(column: pd.Series[Any]) -> pd.Series[Any]:
    try:
        return from_iso(column)
    except (ValueError, TypeError) as error:
        raise ValueError(f"column {column.name!r}: {error}") from None


def _opened(path: Path, options: dict[str, Any]) -> _ParquetRows | CsvRows:
    file = _DataFile(path)
    with _naming(file):
        return _ParquetRows(path) if file.is_parquet else CsvRows(path, **options, batch_rows=BATCH_ROWS)


def _check_names(names: list[str], path: Path, expected: list[str], first: Path) -> None:
    more, fewer = sorted(set(names) - set(expected)), sorted(set(expected) - set(names))
    if more or fewer:
        said = [f"has the columns {more} more" if more else "", f"lacks the columns {fewer}" if fewer else ""]
        raise ValueError(f"{path} {' and '.join(filter(None, said))}, compared with {first}")


def kinds_of(frame: pd.DataFrame, text: Collection[str] = ()) -> dict[str, str]:
    """Return the kind of each column of a batch; the columns `text` are known to be strings."""
    return {str(name): _kind(column, name in text) for name, column in frame.items()}


def _kind(column: pd.Series[Any], is_text: bool) -> str:
    if is_text and column.dtype.kind == "O":
        return TEXT
    if isinstance(column.dtype, pd.CategoricalDtype):
        return CATEGORIES
    # The type of a batch without any value is arbitrary.
    if column.dtype.kind in "Of" and column.iloc[:1].isna().any() and column.isna().all():
        return NOTHING
    if column.dtype.kind == "b" or (column.dtype == object and pd.api.types.infer_dtype(column) == "boolean"):
        return TRUTH
    kind = column_kind(column)
    return TEXT if isinstance(column.dtype, pd.StringDtype) or kind == "states" else kind
