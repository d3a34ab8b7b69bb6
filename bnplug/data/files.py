"""Reading data files: CSV (also compressed) and Parquet."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pandas as pd

# What stands for a missing value in any CSV file.
_MISSING_TEXT = ("", "NaN", "nan")

# What pandas says where a row has more fields than the rows before it.
_TOO_LONG = re.compile(r"Expected (\d+) fields in line (\d+), saw (\d+)")


def read_data(path: str | Path, text: Iterable[str] = (), missing: Iterable[str] = ()) -> pd.DataFrame:
    """Read a CSV or Parquet file.

    Each column of a CSV file has one type: where one of its values is no number, all of them are text, as in the
    file. A row that is shorter than the header has missing values at its end, and a longer one is an error. A column
    without a name is called ``Unnamed: 2`` (its position, from 0), as pandas does; at the end of the lines, one
    without values is left out.

    Parameters
    ----------
    path : path
        ``.parquet`` or ``.pq``; anything else is read as CSV with a header, compressed or not.
    text : iterable of str
        Columns that are text even where all of their values look like numbers.
    missing : iterable of str
        What stands for a missing value in a CSV file, besides an empty field and NaN.

    Raises
    ------
    ValueError
        Where the file cannot be read; the message names it.
    """
    path = Path(path)
    if not path.is_file():
        raise ValueError(f"{path}: there is no such file")
    try:
        if path.suffix in (".parquet", ".pq"):
            return pd.read_parquet(path)
        return _read_csv(path, text, missing)
    except ImportError as error:
        raise ValueError(f'{path}: reading Parquet needs pyarrow: pip install "bnplug[parquet]"') from error
    except Exception as error:
        raise ValueError(f"{path}: not readable as {path.suffix or 'CSV'}: {error}") from error


def read_text(path: str | Path) -> pd.DataFrame:
    """Read a CSV file with every cell as text; an empty field is the empty text.

    Raises
    ------
    ValueError
        Where the file cannot be read; the message names it.
    """
    try:
        return _read_checked(Path(path), dtype=str)
    except Exception as error:
        raise ValueError(f"{path}: not readable as CSV: {error}") from error


def _read_csv(path: Path, text: Iterable[str], missing: Iterable[str]) -> pd.DataFrame:
    dtypes: dict[Any, Any] = dict.fromkeys(text, str)
    return _read_checked(path, dtype=dtypes, na_values=[*_MISSING_TEXT, *missing])


def _read_checked(path: Path, **options: Any) -> pd.DataFrame:
    """Read a CSV file in which no row is longer than the header, each column as one type.

    A repeated column name stays repeated, so that it is noticed.
    """
    try:
        # Of rows that are too long pandas lets the first pass, taking a column for row names or dropping a field:
        # that one is read together with the header, which then counts as a row like others.
        top = pd.read_csv(path, header=None, nrows=2, dtype=str, keep_default_na=False)
        frame = pd.read_csv(path, index_col=False, low_memory=False, keep_default_na=False, **options)
    except pd.errors.ParserError as error:
        raise ValueError(_too_long(path, str(error)) or str(error)) from error
    names = [written or read for written, read in zip(top.iloc[0], frame.columns, strict=True)]
    return _without_unnamed(frame.set_axis(names, axis=1), list(top.iloc[0]))


def _without_unnamed(frame: pd.DataFrame, header: list[str]) -> pd.DataFrame:
    """Leave out the columns behind the last name that hold nothing: delimiters at the ends of lines make those."""
    width = len(header)
    while width and not header[width - 1] and frame.iloc[:, width - 1].replace("", None).isna().all():
        width -= 1
    return frame.iloc[:, :width]


def _too_long(path: Path, message: str) -> str | None:
    """Return what is wrong with the row that pandas calls too long; None where that is not what `message` says."""
    found = _TOO_LONG.search(message)
    if found is None:
        return None
    width, row, fields = map(int, found.groups())
    before = pd.read_csv(
        path,
        header=None,
        names=list(range(width)),
        index_col=False,
        nrows=row - 1,
        dtype=str,
        keep_default_na=False,
        skip_blank_lines=False,
    )
    # pandas counts rows; a quoted field may go over several lines.
    line = row + sum(int(column.str.count("\n").sum()) for _, column in before.items())
    return (
        f"line {line} has {fields} fields, and the header has {width}; remove a delimiter at the end of the line, "
        "quote a value with a delimiter in it, or give every column a name in the header"
    )
