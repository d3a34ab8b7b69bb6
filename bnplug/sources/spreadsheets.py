"""Write CSV that spreadsheet programs display and do not run, and predictions batch by batch to CSV or Parquet."""

from __future__ import annotations

import csv
import gzip
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

import pandas as pd

from bnplug.files import _writing_atomically

# Programs take a cell that begins with one of these for a formula, in some languages also the wide forms; they skip a
# tab or a line end at the beginning.
_BEGINNINGS = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")


def to_csv(frame: pd.DataFrame, formulas: bool = False, header: bool = True) -> str:
    """Return a frame as CSV, without its index, with the names of the columns as `header`.

    Unless `formulas` are allowed, text that a spreadsheet program could run as one gets a leading apostrophe: text of
    two or more characters that begins with ``=``, ``+``, ``-``, ``@``, a tab or a line end and is not a number.

    Examples
    --------
    >>> print(to_csv(pd.DataFrame({"name": ["=1+1", "-3", "a=b"], "value": [-1.5, 2.0, 3.0]})), end="")
    name,value
    '=1+1,-1.5
    -3,2.0
    a=b,3.0
    """
    if not formulas:
        frame = frame.set_axis([_shown(name) for name in frame.columns], axis=1)
        text = [i for i, dtype in enumerate(frame.dtypes) if not pd.api.types.is_numeric_dtype(dtype)]
        for i in text:
            frame.isetitem(i, [_shown(cell) for cell in frame.iloc[:, i]])
    written = frame.to_csv(index=False, header=header, lineterminator="\n")
    if "\r" not in written:
        return written
    # Readers take a carriage return for the end of a row, but pandas does not quote it.
    return frame.to_csv(index=False, header=header, lineterminator="\n", quoting=csv.QUOTE_NONNUMERIC)


def _shown(cell: Any) -> Any:
    # A sign alone is not a formula, and is a common class label.
    is_formula = isinstance(cell, str) and len(cell) > 1 and cell.startswith(_BEGINNINGS) and not _is_number(cell)
    return f"'{cell}" if is_formula else cell


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return not text[0].isspace()


@contextmanager
def _answer_file(
    path: str | os.PathLike[str], formulas: bool = False, sources: Iterable[Path] = ()
) -> Iterator[_CsvFile | _ParquetFile]:
    """Write frames with the same columns to a Parquet or CSV file (by its name), which appears when it is complete.

    A ``ValueError`` is raised if it is one of the `sources`, the files with the rows.
    """
    if Path(path).resolve() in [source.resolve() for source in sources]:
        raise ValueError(f"{path} is the file with the rows: write the predictions to another file")
    suffix = Path(path).suffix.lower()
    with _writing_atomically(path) as file:
        is_parquet = suffix in (".parquet", ".pq")
        answers = _ParquetFile(file) if is_parquet else _CsvFile(file, formulas, suffix == ".gz")
        try:
            yield answers
        except BaseException:
            # A writer that is not closed complains when it is deleted.
            with suppress(Exception):
                answers.close()
            raise
        answers.close()


class _CsvFile:
    def __init__(self, file: BinaryIO, formulas: bool, compressed: bool) -> None:
        # Without the time, the same answers are the same bytes.
        self._file: Any = gzip.GzipFile(fileobj=file, mode="wb", mtime=0, filename="") if compressed else file
        self._formulas, self._header = formulas, True
        self.close = self._file.close if compressed else lambda: None

    def write(self, frame: pd.DataFrame) -> None:
        self._file.write(to_csv(frame, self._formulas, self._header).encode())
        self._header = False


class _ParquetFile:
    def __init__(self, file: BinaryIO) -> None:
        try:
            import pyarrow
            import pyarrow.parquet as parquet
        except ImportError as error:
            raise ValueError('writing Parquet needs pyarrow: pip install "bnplug[parquet]"') from error
        self._file, self._arrow, self._parquet = file, pyarrow, parquet
        self._writer: Any = None
        self._schema: Any = None

    def write(self, frame: pd.DataFrame) -> None:
        # A column without any value in the first batch may have text later.
        empty = [name for name, column in frame.items() if column.dtype == object and column.isna().all()]
        rows = self._arrow.Table.from_pandas(
            frame.astype(dict.fromkeys(empty, "str")), self._schema, preserve_index=False
        )
        if self._writer is None:
            self._schema = rows.schema.remove_metadata()
            self._writer = self._parquet.ParquetWriter(self._file, self._schema)
        self._writer.write_table(rows.replace_schema_metadata(None))

    def close(self) -> None:
        if self._writer is not None:
            self._writer.close()
