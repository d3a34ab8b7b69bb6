"""Answers that are written batch by batch: to CSV, gzipped or not, and to Parquet; whole in the end, or not at all."""

from __future__ import annotations

import gzip
import os
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

import pandas as pd

from bnplug.exchange.files import _writing_atomically
from bnplug.exchange.spreadsheets import to_csv


class AnswerFile(ABC):
    """A file that takes frames of the same columns, one after the other."""

    @abstractmethod
    def write(self, frame: pd.DataFrame) -> None:
        """Write more rows."""

    @abstractmethod
    def close(self) -> None:
        """Write what is left."""


@contextmanager
def answer_file(path: str | os.PathLike[str], formulas: bool = False) -> Iterator[AnswerFile]:
    """Give a file to write answers to, in the format that its name ends with; it gets that name when all is written.

    Parameters
    ----------
    path : path-like
        ``.parquet`` or ``.pq``; anything else is CSV with a header, gzipped where the name ends in ``.gz``.
    formulas : bool
        As for :func:`~bnplug.exchange.spreadsheets.to_csv`.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with answer_file(Path(folder, "a.csv")) as file:
    ...         for y in "pq":
    ...             file.write(pd.DataFrame({"y": [y]}))
    ...     Path(folder, "a.csv").read_text()
    'y\\np\\nq\\n'
    """
    suffix = Path(path).suffix.lower()
    with _writing_atomically(path) as file:
        in_columns = suffix in (".parquet", ".pq")
        made: AnswerFile = _ParquetFile(file) if in_columns else _CsvFile(file, formulas, suffix == ".gz")
        try:
            yield made
        except BaseException:
            # Or a writer that is not closed complains when it goes.
            with suppress(Exception):
                made.close()
            raise
        made.close()


class _CsvFile(AnswerFile):
    def __init__(self, file: BinaryIO, formulas: bool, zipped: bool) -> None:
        # Without the time, the same answers are the same bytes.
        self._file: Any = gzip.GzipFile(fileobj=file, mode="wb", mtime=0, filename="") if zipped else file
        self._formulas, self._zipped, self._begun = formulas, zipped, False

    def write(self, frame: pd.DataFrame) -> None:
        self._file.write(to_csv(frame, self._formulas, header=not self._begun).encode())
        self._begun = True

    def close(self) -> None:
        if self._zipped:
            self._file.close()


class _ParquetFile(AnswerFile):
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
        # A column without any value in the first batch may have one later, which then is text.
        frame = frame.astype({name: "str" for name, own in frame.items() if own.dtype == object and own.isna().all()})
        rows = self._arrow.Table.from_pandas(frame, self._schema, preserve_index=False)
        if self._writer is None:
            self._schema = rows.schema.remove_metadata()
            self._writer = self._parquet.ParquetWriter(self._file, self._schema)
        self._writer.write_table(rows.replace_schema_metadata(None))

    def close(self) -> None:
        if self._writer is not None:
            self._writer.close()
