"""Rows in batches: of a frame, of an array, or of files that need not fit into memory."""

from __future__ import annotations

import glob
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from os import PathLike, fspath
from pathlib import Path
from typing import Any

import pandas as pd

from bnplug.errors import did_you_mean
from bnplug.table.frames import to_frame

#: The number of rows of a batch.
BATCH_ROWS = 100_000

_PARQUET = (".parquet", ".pq")
_SEPARATORS = ";\t|,"
_FIRST_ROWS = 1000


@dataclass(frozen=True)
class Reading:
    """How CSV files are read: the separator, the encoding, texts that are missing, and the decimal point."""

    sep: str = ","
    encoding: str | None = None
    missing: Sequence[str] = ()
    decimal: str = "."

    @classmethod
    def of(cls, csv: Mapping[str, Any] | None) -> Reading:
        """Return the options of a dict; a ``ValueError`` names an option that does not exist."""
        known = list(cls.__dataclass_fields__)
        for name in csv or {}:
            if name not in known:
                raise ValueError(
                    f"csv: there is no option {name!r}.{did_you_mean(name, known)} The options are {known}"
                )
        return cls(**(csv or {}))


def paths_of(source: Any) -> list[Path] | None:
    """Return the files of a path, a pattern or several of them; None if `source` contains rows."""
    several = source if isinstance(source, list | tuple) else [source]
    if not several or not all(isinstance(path, str | PathLike) for path in several):
        return None
    files: list[str] = []
    for name in map(fspath, several):
        is_pattern = glob.has_magic(name) and not Path(name).exists()
        matches = sorted(glob.glob(name, recursive=True)) if is_pattern else [name]
        if not matches:
            raise ValueError(f"{name}: no file matches this pattern")
        files += matches
    for file in files:
        if not Path(file).is_file():
            raise ValueError(f"{file}: there is no such file")
    return list(map(Path, files))


def is_parquet(path: Path) -> bool:
    """Return whether a file is read as Parquet."""
    return path.suffix in _PARQUET


def batches(paths: Iterable[Path], reading: Reading) -> Iterator[pd.DataFrame]:
    """Yield the rows of files, as pandas reads them: columns of numbers as numbers, others as text."""
    names: list[str] | None = None
    for path in paths:
        for frame in _parquet(path) if is_parquet(path) else _csv(path, reading):
            frame.columns = list(map(str, frame.columns))
            if names is not None and list(frame.columns) != names:
                raise ValueError(f"{path} has the columns {list(frame.columns)}, but files before it have {names}")
            names = list(frame.columns)
            yield frame


def slices(X: Any, y: Any, target: str | None) -> Iterator[pd.DataFrame]:
    """Yield the rows of a frame or array, with the class as the last column if it is given."""
    frame = to_frame(X, "X")
    frame.columns = list(map(str, frame.columns))
    if y is not None and not isinstance(y, str):
        if len(y) != len(frame):
            raise ValueError(f"X has {len(frame):,} rows, but y has {len(y):,}")
        assert target is not None
        values = y.iloc[:, 0] if isinstance(y, pd.DataFrame) else y
        frame = frame.assign(**{target: values.array if isinstance(values, pd.Series) else list(values)})
    for start in range(0, len(frame), BATCH_ROWS):
        yield frame.iloc[start : start + BATCH_ROWS]


def first_of(frames: Iterator[pd.DataFrame], what: str) -> tuple[list[str], Iterator[pd.DataFrame]]:
    """Return the names of the columns and all batches; a ``ValueError`` if there are no rows."""
    first = next(frames, None)
    if first is None or not len(first):
        raise ValueError(f"{what} has no rows")
    names = list(first.columns)
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ValueError(f"{what} has several columns named {twice}; rename them")
    return names, chain([first], frames)


def _check_header(path: Path, reading: Reading) -> None:
    """Raise a ``ValueError`` if the header seems to have another separator, or the first row is longer than it."""
    options: dict[str, Any] = {"sep": reading.sep, "encoding": reading.encoding, "header": None, "dtype": str}
    names = list(map(str, pd.read_csv(path, nrows=1, **options).iloc[0]))
    other = next((sep for sep in _SEPARATORS if len(names) == 1 and sep != reading.sep and sep in names[0]), None)
    if other is not None:
        written = "tab" if other == "\t" else other
        raise ValueError(
            f"{path}: the header is one field, {names[0]!r}. Fields seem to be separated by {other!r}: "
            f'--sep "{written}", in Python csv={{"sep": {json.dumps(other)}}}'
        )
    # pandas accepts a first row that is longer than the header, and refuses later ones.
    pd.read_csv(path, nrows=2, **options)


def has_points(path: Path, reading: Reading) -> bool:
    """Return whether numbers in the first rows of a CSV file have decimal points, also those like 18.0."""
    rows = pd.read_csv(path, sep=reading.sep, encoding=reading.encoding, dtype=str, index_col=False, nrows=_FIRST_ROWS)
    return any(column.str.fullmatch(r"\s*[+-]?[0-9]*\.[0-9]+\s*").any() for _, column in rows.items())


def _csv(path: Path, reading: Reading) -> Iterator[pd.DataFrame]:
    options: dict[str, Any] = {
        "sep": reading.sep, "encoding": reading.encoding, "decimal": reading.decimal, "keep_default_na": False,
        "na_values": ["", *reading.missing], "index_col": False, "low_memory": False, "chunksize": BATCH_ROWS,
    }  # fmt: skip
    try:
        _check_header(path, reading)
        yield from pd.read_csv(path, **options)
    except (pd.errors.ParserError, pd.errors.EmptyDataError, UnicodeError) as error:
        raise ValueError(f"{path}: not readable as CSV: {error}") from error


def _parquet(path: Path) -> Iterator[pd.DataFrame]:
    try:
        import pyarrow.parquet as parquet
    except ImportError as error:
        raise ValueError(f'{path}: reading Parquet needs pyarrow: pip install "bnplug[parquet]"') from error
    with parquet.ParquetFile(path) as file:
        for rows in file.iter_batches(BATCH_ROWS, use_threads=False):
            yield rows.to_pandas()
