"""Data files read in batches of rows, so that no file need fit into memory: CSV, gzipped or not, and Parquet.

A column is of one type over all files; where it holds numbers in one and text in another, that is an error that names
both.
"""

from __future__ import annotations

import glob
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from os import PathLike, fspath
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import pandas as pd

from bnplug.data._csv_batches import CsvRows
from bnplug.data._looking import column_kind
from bnplug.data.files import _check_plain, _DataFile, _with_exact_numbers
from bnplug.data.frames import to_frame

#: Files are read so many rows at a time.
BATCH_ROWS = 1 << 18

#: One path, a pattern such as ``"rows/*.parquet"``, or several of them.
Paths = str | PathLike[str] | Sequence[str | PathLike[str]]

#: What a column may hold, besides what :func:`~bnplug.data._looking.column_kind` tells.
TEXT, TRUTH, CATEGORIES, NOTHING = "text", "truth values", "categories", "nothing"


class Batch(NamedTuple):
    """Some rows of a file.

    Attributes
    ----------
    path : Path or str
        What messages call the place that the rows are from.
    frame : pandas.DataFrame
        Text may come as categories, which is faster to read.
    kinds : dict of str to str
        What each column holds.
    """

    path: Path | str
    frame: pd.DataFrame
    kinds: dict[str, str]


#: What each column was first seen to hold, and where.
SeenKinds = dict[str, tuple[str, Path | str]]


class _Rows(Protocol):
    names: list[str]
    n_rows: int

    def batches(self, wanted: Sequence[str]) -> Iterator[pd.DataFrame]: ...


class DataFiles:
    """Files that together are one table.

    Parameters
    ----------
    paths : path, pattern or sequence of them
        As for :func:`find_files`.
    **options
        As for :func:`bnplug.data.files.read_data`; `dates`, the columns of CSV files that are points in time (None:
        those in which all values are, in all files, but for `labels`); `convert`, a function of each frame, which
        returns what is taken for it.

    Attributes
    ----------
    paths : list of Path
    names : list of str
        The columns, in the order of the first file.
    n_rows : int
        The number of rows of all files.

    Raises
    ------
    ValueError
        If a file cannot be read, and if files do not have the same columns; the message names them.
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

    def batches(self, columns: Sequence[str] | None = None) -> Iterator[Batch]:
        """Yield the rows of all files in order, a batch at a time.

        Parameters
        ----------
        columns : sequence of str, optional
            Those that are wanted; by default all.

        Raises
        ------
        ValueError
            Where a file cannot be read, and where a column holds something else than in another file.
        """
        wanted = [name for name in self.names if columns is None or name in columns]
        for path, file in zip(self.paths, self._files, strict=True):
            with _naming(path):
                for given in file.batches(wanted):
                    frame = given if self._convert is None else self._convert(given)
                    kinds = kinds_of(frame, getattr(file, "text", ()))
                    note_kinds(self._seen, path, kinds)
                    yield Batch(path, to_frame(frame, str(path)), kinds)

    def _agree_on_dates(self, labels: Sequence[str]) -> None:
        """Take for dates what is so in all CSV files that have a value there."""
        files = [file for file in self._files if isinstance(file, CsvRows)]
        common = [name for name in self.names if all(name in {*file.dates, *file.empty} for file in files)]
        for file in files:
            file.dates = [name for name in common if name not in labels]


def note_kinds(seen: SeenKinds, path: Path | str, kinds: Mapping[str, str]) -> None:
    """Note what columns hold in one place more.

    Raises
    ------
    ValueError
        Where a column holds something else than elsewhere; the message names both places.

    Examples
    --------
    >>> seen = {"area": ("numbers", "a.csv")}
    >>> note_kinds(seen, "b.csv", {"area": "text"})
    Traceback (most recent call last):
    ValueError: column 'area' holds numbers in a.csv, and text in b.csv; make it the same everywhere
    """
    for name, kind in kinds.items():
        if kind == NOTHING:
            continue
        there, first = seen.setdefault(name, (kind, path))
        if kind != there and {kind, there} != {TEXT, CATEGORIES}:
            raise ValueError(
                f"column {name!r} holds {there} in {first}, and {kind} in {path}; make it the same everywhere"
            )


def column_names(path: Path, sep: str = ",", encoding: str | None = None) -> list[str]:
    """Return the columns of a file that have a name, without reading its rows."""
    _check_plain(path)
    with _naming(path):
        if _DataFile(path).is_parquet:
            return _ParquetRows(path).names
        header = _DataFile(path, sep, encoding).read(header=None, nrows=1, dtype=str).iloc[0]
        return [name for name in header if name]


def find_files(paths: Paths) -> list[Path]:
    """Return the files that a path, a pattern or a list of them stands for; those of a pattern are sorted.

    Raises
    ------
    ValueError
        If there is none.
    """
    listed = [paths] if isinstance(paths, str | PathLike) else list(paths)
    found: list[Path] = []
    for own in [fspath(path) for path in listed]:
        is_pattern = glob.has_magic(own) and not Path(own).exists()
        matches = sorted(glob.glob(own, recursive=True)) if is_pattern else [own]
        if not matches:
            raise ValueError(f"{own}: no file has a name like that")
        found += map(Path, matches)
    if not found:
        raise ValueError("there is no file: the list of paths is empty")
    return found


class _ParquetRows:
    """The rows of a Parquet file."""

    def __init__(self, path: Path) -> None:
        try:
            import pyarrow.parquet as parquet
        except ImportError as error:
            raise ValueError(f'{path}: reading Parquet needs pyarrow: pip install "bnplug[parquet]"') from error
        self._open, self._path = parquet.ParquetFile, path
        with parquet.ParquetFile(path) as file:
            self.n_rows, schema = file.metadata.num_rows, file.schema_arrow
        # Of an empty batch it is known which columns pandas would take for the names of rows.
        self.names = list(map(str, schema.empty_table().to_pandas().columns))
        self.text = {str(own.name) for own in schema if str(own.type) in ("string", "large_string", "string_view")}

    def batches(self, wanted: Sequence[str]) -> Iterator[pd.DataFrame]:
        """Yield the rows, a batch at a time; text comes as categories, as the file has it."""
        with self._open(self._path, read_dictionary=[name for name in wanted if name in self.text]) as file:
            for rows in file.iter_batches(BATCH_ROWS, columns=list(wanted), use_threads=False):
                yield _with_exact_numbers(rows.to_pandas(ignore_metadata=False), rows)[list(wanted)]


def _opened(path: Path, options: dict[str, Any]) -> _Rows:
    _check_plain(path)
    with _naming(path):
        if _DataFile(path).is_parquet:
            return _ParquetRows(path)
        return CsvRows(path, **options, batch_rows=BATCH_ROWS)


@contextmanager
def _naming(path: Path) -> Iterator[None]:
    """Let what is wrong with a file name it."""
    try:
        yield
    except UnicodeDecodeError as error:
        raise ValueError(f"{path}: no text in {error.encoding}, so give its encoding: {error}") from error
    except MemoryError:
        raise
    except Exception as error:
        if str(path) in str(error) and isinstance(error, ValueError):
            raise
        raise ValueError(f"{path}: not readable as {_DataFile(path).kind}: {error}") from error


def _check_names(names: list[str], path: Path, expected: list[str], first: Path) -> None:
    more, fewer = sorted(set(names) - set(expected)), sorted(set(expected) - set(names))
    if more or fewer:
        said = [f"has the columns {more} more" if more else "", f"lacks the columns {fewer}" if fewer else ""]
        raise ValueError(f"{path} {' and '.join(filter(None, said))}, compared with {first}")


def kinds_of(frame: pd.DataFrame, text: Collection[str] = ()) -> dict[str, str]:
    """Return what each column of a batch holds; of some it is known that they are text."""
    return {str(name): _kind(column, name in text) for name, column in frame.items()}


def _kind(column: pd.Series[Any], is_text: bool) -> str:
    """Return what a column of a batch holds."""
    if is_text and column.dtype.kind == "O":
        return TEXT
    if isinstance(column.dtype, pd.CategoricalDtype):
        return CATEGORIES
    # Of a batch without any value, readers make what they like.
    if column.dtype.kind in "Of" and column.iloc[:1].isna().any() and column.isna().all():
        return NOTHING
    if column.dtype.kind == "b" or (column.dtype == object and pd.api.types.infer_dtype(column) == "boolean"):
        return TRUTH
    kind = column_kind(column)
    is_str = isinstance(column.dtype, pd.StringDtype) or kind == "states"
    return TEXT if is_str else kind
