"""Tables of files that do not fit into memory: read twice, coded into a file of one byte a cell, and used again.

The index of a coded table is written last, and atomically, so that a run that is killed leaves no table or a whole one.
It holds a fingerprint of the files: where one of them was changed, all are coded again.
"""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
import weakref
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bnplug.data._columns import Rules
from bnplug.data._streaming import DataFiles, Paths, find_files
from bnplug.data._survey import Question, Surveyed, survey
from bnplug.data.block_table import BlockTable
from bnplug.data.coding import State
from bnplug.data.intake import Intake
from bnplug.exchange._code_file import CodeWriter, Layout, checksums
from bnplug.exchange._fingerprints import digest, fingerprint, key_of
from bnplug.exchange._json import parse_json
from bnplug.exchange._model_files import DAMAGE, seal_holds, sealed
from bnplug.exchange._network_state import intake_state, read_intake, read_labels
from bnplug.exchange.files import MAX_TEXT, _writing_atomically, read_plain, write_atomically

# The version is another one where the same files would be coded in another way.
_FORMAT = ("bnplug coded table", 1)

#: Told what is being done, the rows that are done, and their number.
_Progress = Callable[[str, int, int], None]


class FileTable(BlockTable):
    """A table whose codes are in a file: what :func:`bnplug.open_table` gives.

    Attributes
    ----------
    intake : Intake
        How other rows become codes: ``intake.encode(frame, table)``.
    """

    intake: Intake


def open_table(
    paths: Paths,
    target: str,
    *,
    cache: str | os.PathLike[str] | None = None,
    sample_weight: str | None = None,
    columns: Sequence[str] | None = None,
    discretizer: Any = "auto",
    categorical_features: Any = "auto",
    class_weight: Any = None,
    missing: Any = "ignore",
    on_useless: str = "drop",
    max_categories: int | None = None,
    min_frequency: Any = "auto",
    dates: str = "parts",
    relative_weights: bool = False,
    csv: Mapping[str, Any] | None = None,
    n_jobs: int | None = None,
    progress: _Progress | None = None,
) -> FileTable:
    """Return the table of rows in files that need not fit into memory.

    The files are read twice, in batches: for states and cuts, and for codes, which go to a file of one byte a cell (two
    where a column has more than 255 states). That file is mapped into memory a block at a time.

    Parameters
    ----------
    paths : path, pattern such as ``"rows/*.parquet"``, or a list of them
        Parquet, or CSV with a header, gzipped or not. All files have the same columns, of the same types.
    target : str
        The column that holds the class.
    cache : path, optional
        A folder that keeps the coded table. It is used again as long as the files and these parameters are the same.
        By default a temporary folder, which is removed when nothing refers to the table any more.
    sample_weight : str, optional
        The column that holds the weights of the rows.
    columns : sequence of str, optional
        The features; by default all other columns.
    discretizer, categorical_features, class_weight, missing, on_useless, max_categories, min_frequency, dates
        As parameters of :class:`~bnplug.BayesianNetworkClassifier`; ``discretizer="auto"`` are the bins for its default
        parameters. A discretiser must be one that cuts column by
        column, as those of the core do.
    relative_weights : bool
        As for :func:`bnplug.code`.
    csv : dict, optional
        How CSV files are read: ``sep``, ``encoding``, ``missing`` (texts that stand for a missing value), ``text`` and
        ``numbers`` (columns that are text, or numbers, whatever they look like), ``dates`` (columns of points in time;
        by default features in which all values are written as ISO 8601 writes them).
    n_jobs : int, optional
        Threads.
    progress : callable, optional
        Called with what is being done, the number of rows that are done, and the number of all.

    Returns
    -------
    FileTable
        A :class:`~bnplug.Table` of many blocks; its ``intake`` codes other rows alike.

    Raises
    ------
    ValueError
        For files that cannot be read or do not go together, and for data that cannot be learned from.
    OSError
        Where the codes do not fit on the disk; the message says how many bytes they take.

    Notes
    -----
    States, cuts and codes are those of :func:`bnplug.code` on all rows, as long as every numeric column has at most
    65,536 distinct values and every other column at most 262,144. Above, cuts come from a summary, which counts too few
    rows at or below a number, but no fewer than by ``n / 8192 * (1 + log2(n / 32768))``, 0.16% of 100 million; and a
    column that is not numeric is left out.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import pandas as pd
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for i, sky in enumerate(["sun", "rain"]):
    ...         frame = pd.DataFrame({"sky": [sky, "sun"], "play": ["yes", "no"]})
    ...         frame.to_csv(pathlib.Path(folder, f"{i}.csv"), index=False)
    ...     table = open_table(f"{folder}/*.csv", target="play")
    >>> table.n_rows, table.states["sky"], table.counts([[0, 1]])[0].tolist()
    (4, ('rain', 'sun'), [[0.0, 1.0], [2.0, 1.0]])
    """
    rules = Rules(
        categorical_features, on_useless, max_categories, min_frequency, dates, relative_weights=relative_weights
    )
    question = Question(
        target, sample_weight, None if columns is None else tuple(columns), discretizer, class_weight, missing, rules
    )
    question.check()
    found, options = find_files(paths), {"dates": None, "labels": [target, sample_weight], **(csv or {})}
    key = key_of(found, question, options)
    if cache is None:
        folder = _TemporaryFolder()
        made = _FileCoder(folder.path, key, folder).code(found, question, options, n_jobs, progress)
        made.incomplete = question.cells.incomplete
        return made
    Path(cache).mkdir(parents=True, exist_ok=True)
    coder = _FileCoder(Path(cache), key)
    there = coder.used_again(found)
    table = coder.code(found, question, options, n_jobs, progress) if there is None else there
    table.incomplete = question.cells.incomplete
    return table


class _FileCoder:
    """The coded tables in a folder: ``table-KEY.json``, and the codes that it names.

    Parameters
    ----------
    folder : Path
    key : str
        What was asked of which files.
    owner : object, optional
        What must live as long as the codes are needed.
    """

    def __init__(self, folder: Path, key: str, owner: Any = None) -> None:
        self.folder, self.key, self.owner = folder, key, owner
        self.index = folder / f"table-{key}.json"

    def used_again(self, paths: Sequence[Path]) -> FileTable | None:
        """Return the table that is there; None where there is none, it is damaged, or the files were changed."""
        try:
            content = read_plain(self.index, limit=MAX_TEXT)
            index = parse_json(content)
            right = seal_holds(content, index["checksum"]) and (index["format"], index["version"]) == _FORMAT
            if not right or index["files"] != fingerprint(paths):
                return None
            layout = Layout(
                index["n_variables"], np.dtype(index["dtype"]), index["weighted"], tuple(map(int, index["rows"]))
            )
            codes = self._codes(index["files"])
            if codes.stat().st_size != layout.n_bytes or checksums(codes, layout) != index["checksums"]:
                return None
            states = {variable["name"]: read_labels(variable) for variable in index["variables"]}
            return self._table(codes, layout, states, index["target"], read_intake(index), checked=False)
        except DAMAGE:
            return None

    def code(
        self,
        paths: Sequence[Path],
        question: Question,
        csv: Mapping[str, Any],
        n_jobs: int | None,
        progress: _Progress | None,
    ) -> FileTable:
        """Read files twice, and write their codes; then what says so."""
        before = fingerprint(paths)
        files = DataFiles(paths, **csv)
        surveyed = survey(files, question, n_jobs, _counting(progress, "states and cuts", files.n_rows))
        schema = surveyed.schema
        weighted = question.sample_weight is not None or surveyed.class_weights is not None
        layout = Layout.of(len(schema.names), schema.dtype, weighted, surveyed.n_rows)
        codes = self._codes(before)
        found = _write_codes(codes, layout, files, question, surveyed, _counting(progress, "codes", files.n_rows))
        _check_unchanged(paths, before)
        self._write_index(before, layout, found, surveyed)
        return self._table(codes, layout, schema.states, schema.target, surveyed.intake, checked=True)

    def _codes(self, files: list[list[Any]]) -> Path:
        """Return where the codes of these files are: those of other content have another name."""
        return self.folder / f"table-{self.key}-{digest(files)[:16]}.codes"

    def _write_index(self, files: list[list[Any]], layout: Layout, found: list[int], surveyed: Surveyed) -> None:
        schema = surveyed.schema
        index = {
            "format": _FORMAT[0],
            "version": _FORMAT[1],
            "files": files,
            "n_variables": layout.n_variables,
            "dtype": layout.dtype.str,
            "weighted": layout.weighted,
            "rows": list(layout.rows),
            "checksums": found,
            **intake_state(surveyed.intake, schema.states, schema.target),
        }
        write_atomically(self.index, sealed(index))
        for path in self.folder.glob(f"table-{self.key}-*.codes"):
            if path != self._codes(files):
                path.unlink(missing_ok=True)

    def _table(
        self,
        codes: Path,
        layout: Layout,
        states: Mapping[str, Sequence[State]],
        target: str,
        intake: Intake,
        checked: bool,
    ) -> FileTable:
        place = codes if self.owner is None else _OwnedFile(str(codes), self.owner)
        table = FileTable(list(layout.blocks(place)), list(states), states, target, intake.left_out, checked=checked)
        table.intake = intake
        return table


def _write_codes(
    path: Path,
    layout: Layout,
    files: DataFiles,
    question: Question,
    surveyed: Surveyed,
    progress: Callable[[int], None] | None,
) -> list[int]:
    """Write the codes of all rows; return the checksums of the blocks."""
    used = {*surveyed.intake.columns, question.target, question.sample_weight}
    try:
        with _writing_atomically(path) as file:
            writer = CodeWriter(file, layout)
            for batch in files.batches([name for name in files.names if name in used]):
                writer.add(*surveyed.encode(batch, question))
                if progress is not None:
                    progress(len(batch.frame))
            writer.close()
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EFBIG, errno.EDQUOT):
            raise
        said = f"the codes of {sum(layout.rows):,} rows take {layout.n_bytes:,} bytes, which the disk has not"
        raise OSError(
            error.errno, f"{error.strerror}: {said}; make room, or give another folder as cache", str(path)
        ) from error
    return writer.checksums


def _check_unchanged(paths: Sequence[Path], before: list[list[Any]]) -> None:
    changed = [there[0] for there, now in zip(before, fingerprint(paths), strict=True) if there != now]
    if changed:
        raise ValueError(f"{changed[0]} was changed while it was read; nothing is kept of it, so read it again")


def _counting(progress: _Progress | None, what: str, total: int) -> Callable[[int], None] | None:
    """Return what is told of more rows, and tells of all so far."""
    if progress is None:
        return None
    done = 0

    def more(rows: int) -> None:
        nonlocal done
        done += rows
        progress(what, done, total)

    return more


class _TemporaryFolder:
    """A folder that is removed when nothing refers to it any more."""

    def __init__(self) -> None:
        self.path = Path(tempfile.mkdtemp(prefix="bnplug-table-"))
        weakref.finalize(self, shutil.rmtree, self.path, ignore_errors=True)


class _OwnedFile(os.PathLike[str]):
    """A path that keeps what owns the file alive; another process, which gets a copy, does not own it."""

    def __init__(self, path: str, owner: Any = None) -> None:
        self.path, self.owner = path, owner

    def __fspath__(self) -> str:
        return self.path

    def __reduce__(self) -> tuple[Any, ...]:
        return _OwnedFile, (self.path,)
