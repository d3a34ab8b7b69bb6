"""Read data files into memory: CSV (also compressed) and Parquet."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from bnplug.table._checks import corrected, is_read_inexactly
from bnplug.table.frames import _is_inexact, _with_exact_numbers

#: Texts that are missing values in all columns of a CSV file, and in columns of numbers, truth values and dates.
_EMPTY, _NAN = ("",), ("NaN", "nan")

# The message of pandas for a row with too many fields.
_TOO_LONG = re.compile(r"Expected (\d+) fields in line (\d+), saw (\d+)")

_PARQUET = (".parquet", ".pq")
_PARQUET_MAGIC, _GZIP_MAGIC = b"PAR1", b"\x1f\x8b"
_OPENERS: dict[str, Callable[..., Any]] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
# Only pandas can open these.
_ARCHIVES = (".zip", ".zst", ".tar")

# A cell that begins with a zero, which a number would lose: searched in the bytes of the file first, then by column.
_ZERO_FIRST = re.compile(rb"(?:\A|[^0-9A-Za-z_.])0[0-9]")
_ZERO_LOST = r"0[0-9]+\s*"
# The bytes, and the rows, that are searched at a time.
_SCANNED, _ROWS = 1 << 20, 50_000


def read_data(
    source: str | Path | bytes,
    text: Iterable[str] = (),
    missing: Iterable[str] = (),
    numbers: Iterable[str] = (),
    sep: str = ",",
    encoding: str | None = None,
    decimal: str = ".",
) -> pd.DataFrame:
    """Read a CSV or Parquet file.

    Each column of a CSV file has one type: if one of its values is not a number, all of them are text, as in the
    file; so are whole numbers if one begins with a zero that would be lost, as in 00123. A row that is shorter than
    the header has missing values at its end, and a longer one is an error.

    Parameters
    ----------
    source : path, or bytes
        ``.parquet`` or ``.pq``; anything else is read as CSV with a header, compressed or not. Bytes are the content
        of a file, such as standard input.
    text : iterable of str
        Columns that are text even if all of their values look like numbers.
    missing : iterable of str
        Texts that stand for a missing value in a CSV file, besides an empty field. ``nan`` and ``NaN`` do, too, unless
        the column is text.
    numbers : iterable of str
        Columns of numbers: leading zeros have no meaning, and ``nan`` is missing even if other cells are text.
    sep : str
        The field separator of a CSV file.
    encoding : str, optional
        The encoding of a CSV file; by default UTF-8.
    decimal : str
        The decimal separator of numbers in a CSV file.

    Raises
    ------
    ValueError
        If the file cannot be read; the message names it.
    """
    file = _DataFile(source, sep, encoding, decimal)
    with _naming(file):
        if file.is_parquet:
            frame = pd.read_parquet(file.open())
            if not any(_is_inexact(column) for _, column in frame.items()):
                return frame
            import pyarrow.parquet as parquet

            return _with_exact_numbers(frame, parquet.read_table(file.open()))
        return _read_csv(file, list(text), [*_EMPTY, *missing], set(numbers))


def read_text(path: str | Path) -> pd.DataFrame:
    """Read a CSV file with every cell as text; an empty field is the empty string. Errors are as for `read_data`."""
    file = _DataFile(path)
    with _naming(file):
        return _read_checked(file, dtype=str)


@contextmanager
def _naming(file: _DataFile) -> Iterator[None]:
    """Name the file in error messages, and refuse a file that is not a plain one."""
    file.check_plain()
    try:
        yield
    except ImportError as error:
        raise ValueError(f'{file.name}: reading Parquet needs pyarrow: pip install "bnplug[parquet]"') from error
    except UnicodeDecodeError as error:
        raise ValueError(f"{file.name}: no text in {error.encoding}, so give its encoding: {error}") from error
    except MemoryError:
        raise
    except Exception as error:
        if file.name in str(error) and isinstance(error, ValueError):
            raise
        kind = "Parquet" if file.is_parquet else Path(file.name).suffix or "CSV"
        raise ValueError(f"{file.name}: not readable as {kind}: {error}") from error


def _separator_hint(names: Sequence[str]) -> str:
    """Return a hint if a header of one column contains another separator; else an empty string."""
    sep = next((sep for sep in ";\t|" if len(names) == 1 and sep in str(names[0])), None)
    if sep is None:
        return ""
    written = "\\t" if sep == "\t" else sep
    return f' Fields seem to be separated by {sep!r}: --sep "{written}", in Python csv={{"sep": "{written}"}}'


@dataclass(frozen=True)
class _DataFile:
    """A file, or the content of one, that can be opened several times."""

    source: str | Path | bytes
    sep: str = ","
    encoding: str | None = None
    decimal: str = "."

    @property
    def name(self) -> str:
        """The name in messages."""
        return "standard input" if isinstance(self.source, bytes) else str(self.source)

    @property
    def is_parquet(self) -> bool:
        """Whether it is a Parquet file."""
        if isinstance(self.source, bytes):
            return self.source.startswith(_PARQUET_MAGIC)
        return Path(self.source).suffix in _PARQUET

    def check_plain(self) -> None:
        """Refuse missing files, and devices and pipes, which may never end."""
        if isinstance(self.source, bytes) or Path(self.source).is_file():
            return
        if not Path(self.source).exists():
            raise ValueError(f"{self.name}: there is no such file")
        raise ValueError(
            f"{self.name}: it is not a regular file, but a device, a pipe or a folder; write the data to a file"
        )

    def open(self) -> Any:
        """Return a path or stream that pandas can read."""
        if not isinstance(self.source, bytes):
            return Path(self.source)
        return io.BytesIO(gzip.decompress(self.source) if self.source.startswith(_GZIP_MAGIC) else self.source)

    def read(self, **options: Any) -> Any:
        """Read CSV, without the default missing values of pandas."""
        options |= {"sep": self.sep, "encoding": self.encoding, "decimal": self.decimal, "keep_default_na": False}
        return pd.read_csv(self.open(), **options)

    def header(self) -> list[str]:
        """Return the names of the columns as written; raise a ``ValueError`` if the first row is longer."""
        # pandas accepts a first row that is too long (it makes a column the index, or drops a field): hence that row
        # is read here together with the header, as a row like others.
        with _parser_errors(self):
            return list(self.read(header=None, nrows=2, dtype=str).iloc[0])

    def zeros_first(self, positions: list[int]) -> list[int]:
        """Return the positions of columns in which a cell begins with a zero that a number would lose."""
        lossy: set[int] = set()
        if positions and self._may_lose_zeros():
            for rows in self.read(index_col=False, usecols=positions, dtype=str, chunksize=_ROWS):
                for i, (_, column) in zip(positions, rows.items(), strict=True):
                    if i not in lossy and column.str.fullmatch(_ZERO_LOST).fillna(False).any():
                        lossy.add(i)
        return sorted(lossy)

    def _may_lose_zeros(self) -> bool:
        """Return whether a cell may begin with a zero that a number would lose; false positives only cost time."""
        source = self.open()
        if isinstance(source, Path):
            if source.suffix in _ARCHIVES:
                return True
            source = _OPENERS.get(source.suffix, Path.open)(source, "rb")
        with source as file:
            # Encodings with two bytes per character have zero bytes in between.
            return any(_ZERO_FIRST.search(piece.replace(b"\0", b"")) for piece in _pieces(file))


def _pieces(file: Any) -> Iterator[bytes]:
    """Yield the content of a file in overlapping pieces."""
    end = b""
    while piece := file.read(_SCANNED):
        yield end + piece
        end = piece[-8:]


def _read_csv(file: _DataFile, text: list[str], missing: list[str], numbers: set[str]) -> pd.DataFrame:
    dtypes: dict[Any, Any] = dict.fromkeys(text, str)
    frame = _read_checked(file, dtype=dtypes, na_values=missing)
    with_nan = [*missing, *_NAN]
    for i, name in enumerate(frame.columns):
        if name not in text and frame.dtypes.iloc[i].kind == "O" and frame.iloc[:, i].isin(_NAN).any():
            column = _read_column(file, i, na_values=with_nan)
            if name in numbers or pd.api.types.infer_dtype(column) != "string":
                frame.isetitem(i, column.array)
    whole = [i for i, name in enumerate(frame.columns) if name not in numbers and _is_whole(frame.iloc[:, i])]
    zeros = file.zeros_first(whole)
    for i, name in enumerate(frame.columns):
        if i in zeros:
            frame.isetitem(i, _read_column(file, i, dtype=str, na_values=missing).to_numpy())
        elif name not in text and is_read_inexactly(frame.iloc[:, i], with_nan):
            exact = corrected(frame.iloc[:, i], _read_column(file, i, dtype=str, na_values=with_nan))
            frame.isetitem(i, exact.array)
    return frame


def _read_column(file: _DataFile, i: int, **options: Any) -> pd.Series[Any]:
    """Return the column at a position."""
    column: pd.Series[Any] = file.read(index_col=False, usecols=[i], low_memory=False, **options).iloc[:, 0]
    return column


def _is_whole(column: pd.Series[Any]) -> bool:
    """Return whether a column holds whole numbers, perhaps as floats because of missing cells."""
    if column.dtype.kind != "f":
        return column.dtype.kind in "iu"
    values = column.to_numpy()
    return bool((np.isnan(values) | (values == np.rint(values))).all())


def _read_checked(file: _DataFile, **options: Any) -> pd.DataFrame:
    """Read a CSV file in which no row is longer than the header; columns at the end without name and value go."""
    header = file.header()
    with _parser_errors(file):
        frame: pd.DataFrame = file.read(index_col=False, low_memory=False, **options)
    frame = frame.set_axis([name or read for name, read in zip(header, frame.columns, strict=True)], axis=1)
    width = len(header)
    while width and not header[width - 1] and frame.iloc[:, width - 1].replace("", None).isna().all():
        width -= 1
    return frame.iloc[:, :width]


@contextmanager
def _parser_errors(file: _DataFile) -> Iterator[None]:
    """Explain the errors of pandas' parser."""
    try:
        yield
    except pd.errors.ParserError as error:
        raise ValueError(_too_long(file, str(error)) or str(error)) from error


def _too_long(file: _DataFile, message: str) -> str | None:
    """Return an explanation if pandas' message is about a row that is too long."""
    match = _TOO_LONG.search(message)
    if match is None:
        return None
    width, row, fields = map(int, match.groups())
    before = file.read(
        header=None, names=list(range(width)), index_col=False, nrows=row - 1, dtype=str, skip_blank_lines=False
    )
    # pandas counts rows; a quoted field may span several lines.
    line = row + sum(int(column.str.count("\n").sum()) for _, column in before.items())
    hint = _separator_hint(list(file.read(header=None, nrows=1, dtype=str).iloc[0]))
    return (
        f"line {line} has {fields} fields, but the header has {width}; remove a delimiter at the end of the line, "
        f"quote a value with a delimiter in it, or give every column a name in the header{hint and '.' + hint}"
    )
