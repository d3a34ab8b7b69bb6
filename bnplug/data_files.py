"""Reading data files: CSV (also compressed) and Parquet."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pandas as pd

# What stands for a missing value in any CSV file.
_MISSING_TEXT = ("", "NaN", "nan")


def read_data(path: str | Path, text: Iterable[str] = (), missing: Iterable[str] = ()) -> pd.DataFrame:
    """Read a CSV or Parquet file.

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


def _read_csv(path: Path, text: Iterable[str], missing: Iterable[str]) -> pd.DataFrame:
    """Read a CSV file; a repeated column name stays repeated, so that it is noticed."""
    header = pd.read_csv(path, header=None, nrows=1, dtype=str, keep_default_na=False)
    dtypes: dict[Any, Any] = dict.fromkeys(text, str)
    frame = pd.read_csv(path, dtype=dtypes, keep_default_na=False, na_values=[*_MISSING_TEXT, *missing])
    names = header.iloc[0].tolist()
    return frame.set_axis(names, axis=1) if len(names) == frame.shape[1] else frame
