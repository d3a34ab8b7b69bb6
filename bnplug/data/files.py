"""Reading data files: CSV (also compressed) and Parquet."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from bnplug.data._whole_numbers import corrected, has_inexact, is_read_inexactly

#: What stands for a missing value in any CSV file.
_MISSING_TEXT = ("", "NaN", "nan")

# What pandas says where a row has more fields than the rows before it.
_TOO_LONG = re.compile(r"Expected (\d+) fields in line (\d+), saw (\d+)")

_PARQUET = (".parquet", ".pq")
_PARQUET_MAGIC, _GZIP_MAGIC = b"PAR1", b"\x1f\x8b"
_OPENERS: dict[str, Callable[..., Any]] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
# What pandas alone can open.
_ARCHIVES = (".zip", ".zst", ".tar")

# A cell may begin with a zero that a number would lose: found in bytes, and then looked for in the column.
_ZERO_FIRST = re.compile(rb"(?:\A|[^0-9A-Za-z_.])0[0-9]")
_ZERO_LOST = r"0[0-9]+\s*"
# As many bytes, and as many rows, are looked through at once.
_SCANNED, _ROWS = 1 << 20, 50_000


def read_data(
    source: str | Path | bytes,
    text: Iterable[str] = (),
    missing: Iterable[str] = (),
    numbers: Iterable[str] = (),
    sep: str = ",",
    encoding: str | None = None,
) -> pd.DataFrame:
    """Read a CSV or Parquet file.

    Each column of a CSV file has one type: where one of its values is no number, all of them are text, as in the
    file; so are whole numbers of which one begins with a zero that would be lost, such as 00123. A row that is shorter
    than the header has missing values at its end, and a longer one is an error. A column without a name is called
    ``Unnamed: 2`` (its position, from 0), as pandas does; at the end of the lines, one without values is left out.

    Parameters
    ----------
    source : path, or bytes
        ``.parquet`` or ``.pq``; anything else is read as CSV with a header, compressed or not. Bytes are the content
        of a file, such as what standard input gave.
    text : iterable of str
        Columns that are text even where all of their values look like numbers.
    missing : iterable of str
        What stands for a missing value in a CSV file, besides an empty field and NaN.
    numbers : iterable of str
        Columns whose zeros at the beginning mean nothing.
    sep : str
        What separates the fields of a CSV file.
    encoding : str, optional
        That of a CSV file; by default UTF-8.

    Raises
    ------
    ValueError
        Where the file cannot be read; the message names it.
    """
    file = _DataFile(source, sep, encoding)
    if isinstance(source, str | Path):
        _check_plain(Path(source))
    try:
        if file.is_parquet:
            return _read_parquet(file)
        return _read_csv(file, list(text), [*_MISSING_TEXT, *missing], set(numbers))
    except ImportError as error:
        raise ValueError(f'{file.name}: reading Parquet needs pyarrow: pip install "bnplug[parquet]"') from error
    except UnicodeDecodeError as error:
        raise ValueError(f"{file.name}: no text in {error.encoding}, so give its encoding: {error}") from error
    except Exception as error:
        raise ValueError(f"{file.name}: not readable as {file.kind}: {error}") from error


def read_text(path: str | Path) -> pd.DataFrame:
    """Read a CSV file with every cell as text; an empty field is the empty text.

    Raises
    ------
    ValueError
        Where the file cannot be read; the message names it.
    """
    _check_plain(Path(path))
    try:
        return _read_checked(_DataFile(path), dtype=str)
    except Exception as error:
        raise ValueError(f"{path}: not readable as CSV: {error}") from error


def _check_plain(path: Path) -> None:
    """Refuse what may never end or never begin."""
    if not path.exists():
        raise ValueError(f"{path}: there is no such file")
    if not path.is_file():
        raise ValueError(f"{path}: it is no plain file, but a device, a pipe or a folder; write the data to a file")


@dataclass(frozen=True)
class _DataFile:
    """A file, or its content, that can be opened several times."""

    source: str | Path | bytes
    sep: str = ","
    encoding: str | None = None

    @property
    def name(self) -> str:
        """What messages call it."""
        return "standard input" if isinstance(self.source, bytes) else str(self.source)

    @property
    def is_parquet(self) -> bool:
        """Whether it is a Parquet file."""
        if isinstance(self.source, bytes):
            return self.source.startswith(_PARQUET_MAGIC)
        return Path(self.source).suffix in _PARQUET

    @property
    def kind(self) -> str:
        """What messages say that it should be."""
        suffix = "" if isinstance(self.source, bytes) else Path(self.source).suffix
        return "Parquet" if self.is_parquet else suffix or "CSV"

    def open(self) -> Any:
        """Return what pandas reads."""
        if not isinstance(self.source, bytes):
            return Path(self.source)
        return io.BytesIO(gzip.decompress(self.source) if self.source.startswith(_GZIP_MAGIC) else self.source)

    def read(self, **options: Any) -> Any:
        """Read it as CSV, in which a field is missing only where `options` say so."""
        return pd.read_csv(self.open(), sep=self.sep, encoding=self.encoding, keep_default_na=False, **options)

    def may_lose_zeros(self) -> bool:
        """Say whether a cell may begin with a zero that a number would lose; false alarms cost time alone."""
        source = self.open()
        if isinstance(source, Path):
            if source.suffix in _ARCHIVES:
                return True
            source = _OPENERS.get(source.suffix, Path.open)(source, "rb")
        with source as file:
            # In encodings of two bytes a character there are zero bytes between.
            return any(_ZERO_FIRST.search(piece.replace(b"\0", b"")) for piece in _pieces(file))


def _pieces(file: Any) -> Iterator[bytes]:
    """Yield the content of a file in pieces, each with the end of the one before it."""
    end = b""
    while piece := file.read(_SCANNED):
        yield end + piece
        end = piece[-8:]


def _read_parquet(file: _DataFile) -> pd.DataFrame:
    frame = pd.read_parquet(file.open())
    if any(map(_is_inexact, _columns(frame))):
        import pyarrow.parquet as parquet

        return _with_exact_numbers(frame, parquet.read_table(file.open()))
    return frame


def _with_exact_numbers(frame: pd.DataFrame, rows: Any) -> pd.DataFrame:
    """Return a frame that was read from an Arrow table, with exact large whole numbers even if cells are missing."""
    inexact = [i for i, column in enumerate(_columns(frame)) if _is_inexact(column)]
    if inexact:
        import pyarrow

        exact = rows.to_pandas(types_mapper={pyarrow.int64(): pd.Int64Dtype(), pyarrow.uint64(): pd.UInt64Dtype()}.get)
        for i in inexact:
            if exact.dtypes.iloc[i].kind in "iu":
                frame.isetitem(i, exact.iloc[:, i])
    return frame


def _columns(frame: pd.DataFrame) -> Iterator[pd.Series[Any]]:
    return (column for _, column in frame.items())


def _is_inexact(column: pd.Series[Any]) -> bool:
    return column.dtype == np.float64 and has_inexact(column.to_numpy())


def _read_csv(file: _DataFile, text: list[str], missing: list[str], numbers: set[str]) -> pd.DataFrame:
    dtypes: dict[Any, Any] = dict.fromkeys(text, str)
    frame = _read_checked(file, dtype=dtypes, na_values=missing)
    whole = [i for i, name in enumerate(frame.columns) if name not in numbers and _is_whole(frame.iloc[:, i])]
    zeros = _with_zeros_first(file, whole) if whole and file.may_lose_zeros() else []
    for i, name in enumerate(frame.columns):
        if i in zeros:
            frame.isetitem(i, _column_text(file, i, missing).to_numpy())
        elif name not in text and is_read_inexactly(frame.iloc[:, i], missing):
            frame.isetitem(i, corrected(frame.iloc[:, i], _column_text(file, i, missing)).array)
    return frame


def _column_text(file: _DataFile, i: int, missing: list[str]) -> pd.Series[Any]:
    """Return the column at a position as text."""
    text: pd.Series[Any] = file.read(index_col=False, usecols=[i], dtype=str, na_values=missing).iloc[:, 0]
    return text


def _is_whole(column: pd.Series[Any]) -> bool:
    """Whether a column holds whole numbers, also as the floats that a missing cell made of them."""
    if column.dtype.kind != "f":
        return column.dtype.kind in "iu"
    values = column.to_numpy()
    return bool((np.isnan(values) | (values == np.rint(values))).all())


def _with_zeros_first(file: _DataFile, positions: list[int]) -> list[int]:
    """Return the positions of columns in which a cell begins with a zero that a number would lose."""
    found: set[int] = set()
    for rows in file.read(index_col=False, usecols=positions, dtype=str, chunksize=_ROWS):
        columns = zip(positions, (column for _, column in rows.items()), strict=True)
        found |= {i for i, column in columns if i not in found and column.str.fullmatch(_ZERO_LOST).fillna(False).any()}
    return sorted(found)


def _read_checked(file: _DataFile, **options: Any) -> pd.DataFrame:
    """Read a CSV file in which no row is longer than the header, each column as one type.

    A repeated column name stays repeated, so that it is noticed.
    """
    try:
        # Of rows that are too long pandas lets the first pass, taking a column for row names or dropping a field:
        # that one is read together with the header, which then counts as a row like others.
        top = file.read(header=None, nrows=2, dtype=str)
        frame = file.read(index_col=False, low_memory=False, **options)
    except pd.errors.ParserError as error:
        raise ValueError(_too_long(file, str(error)) or str(error)) from error
    names = [written or read for written, read in zip(top.iloc[0], frame.columns, strict=True)]
    return _without_unnamed(frame.set_axis(names, axis=1), list(top.iloc[0]))


def _without_unnamed(frame: pd.DataFrame, header: list[str]) -> pd.DataFrame:
    """Leave out the columns behind the last name that hold nothing: delimiters at the ends of lines make those."""
    width = len(header)
    while width and not header[width - 1] and frame.iloc[:, width - 1].replace("", None).isna().all():
        width -= 1
    return frame.iloc[:, :width]


def _too_long(file: _DataFile, message: str) -> str | None:
    """Return what is wrong with the row that pandas calls too long; None where that is not what `message` says."""
    found = _TOO_LONG.search(message)
    if found is None:
        return None
    width, row, fields = map(int, found.groups())
    before = file.read(
        header=None, names=list(range(width)), index_col=False, nrows=row - 1, dtype=str, skip_blank_lines=False
    )
    # pandas counts rows; a quoted field may go over several lines.
    line = row + sum(int(column.str.count("\n").sum()) for _, column in before.items())
    return (
        f"line {line} has {fields} fields, and the header has {width}; remove a delimiter at the end of the line, "
        "quote a value with a delimiter in it, or give every column a name in the header"
    )
