"""Commands on data that need not fit into memory: several files, or large ones, go by in batches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bnplug.cli._opening import STANDARD
from bnplug.cli._progress import RowsLine
from bnplug.cli._reading import Reading, check_names

if TYPE_CHECKING:
    from bnplug.classifier._rows import Rows

#: Files that have more bytes together are read in batches; several files are, whatever their size.
STREAMED_BYTES = 1 << 28


def streamed(data: Path) -> list[Path] | None:
    """Return the files that a path or a pattern stands for, where they are read in batches; None for all others."""
    from bnplug.data._streaming import find_files

    if data == STANDARD:
        return None
    found = find_files(data)
    if found == [data] and not (data.is_file() and data.stat().st_size > STREAMED_BYTES):
        return None
    return found


def fit_streamed(
    model: Any, paths: list[Path], target: str, reading: Reading, keep: Sequence[str], drop: Sequence[str]
) -> int:
    """Fit a model on files; return the number of their rows.

    Raises
    ------
    ValueError
        If the model is none that learns from files, or an option names a column that is not there.
    """
    from bnplug.data._streaming import column_names

    if not hasattr(model, "fit_files"):
        raise ValueError(f"a {type(model).__name__} learns from one file that fits into memory, not from {paths[0]}")
    names = column_names(paths[0], reading.sep, reading.encoding)
    for option, own in (("--target", [target]), ("--keep", keep), ("--drop", drop), ("--dtype", reading.kinds)):
        check_names(own, names, option, paths[0])
    columns = [name for name in names if name != target and (not keep or name in keep) and name not in drop]
    if not columns:
        raise ValueError(f"{paths[0]}: --keep and --drop leave no feature of {names}")
    csv = reading.in_batches(None)
    dates = _dates_in_text(paths[0], columns)
    if dates:
        csv["convert"] = partial(reading.converted, dates=dates)
    with RowsLine() as line:
        model.fit_files(paths, target, columns=columns if keep or drop else None, csv=csv, progress=line.tell)
        return line.total


def _dates_in_text(path: Path, columns: Sequence[str]) -> list[str]:
    """Return the columns of a Parquet file that are text, and in whose first rows all values are points in time."""
    from bnplug.data._csv_batches import are_dates
    from bnplug.data._streaming import TEXT, DataFiles
    from bnplug.data.files import _DataFile

    first = next(DataFiles(path).batches(columns), None) if _DataFile(path).is_parquet else None
    if first is None:
        return []
    return [name for name, kind in first.kinds.items() if kind == TEXT and are_dates(first.frame[name].astype(object))]


def batches_for(
    model: Any, paths: list[Path], reading: Reading, target: str | None, ids: Sequence[str] = ()
) -> Iterator[Rows]:
    """Yield the rows of files as a model takes them, and tell how many there were."""
    from bnplug.classifier._rows import kinds_for, rows_for
    from bnplug.data._streaming import DataFiles

    target = target or getattr(model, "target_", None)
    files, done = DataFiles(paths, **reading.in_batches(kinds_for(model, target, ids))), 0
    check_names([*ids, *reading.kinds], files.names, "--id or --dtype", paths[0])
    with RowsLine() as line:
        for batch in files.batches():
            yield rows_for(model, batch.frame, target, ids)
            done += len(batch.frame)
            line.tell("rows", done, files.n_rows)
