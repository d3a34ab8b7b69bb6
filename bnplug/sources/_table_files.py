"""Coded tables in files, for training rows that do not fit into memory.

A file of codes consists of blocks of rows. A block is its codes (variables, rows) in C order, padded with zeros to a
multiple of eight bytes, followed by the row weights as float64, if rows have weights. The index is written last, and
contains a fingerprint of the data files; if one of them changes, all are coded again.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import shutil
import tempfile
import weakref
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from bnplug._json import DAMAGE, parse_json, seal_holds, sealed
from bnplug.errors import article
from bnplug.files import MAX_TEXT, _writing_atomically, read_plain, write_atomically
from bnplug.sources._streaming import DataFiles, Paths, check_options, find_files
from bnplug.sources._survey import Surveyed, TableSpec, survey
from bnplug.table._encoder_state import encoder_state, read_encoder, read_labels
from bnplug.table.block_table import BlockTable
from bnplug.table.blocks import Block, MappedArray
from bnplug.table.coding import State
from bnplug.table.discretizer import unfitted
from bnplug.table.encoder import ColumnEncoder
from bnplug.table.rules import ColumnRules
from bnplug.typing import CodeArray, FloatArray

# The version changes if the same files would be coded in another way.
_FORMAT = ("bnplug coded table", 3)
# The approximate bytes, and the most rows, of a block.
BLOCK_BYTES, MOST_ROWS = 1 << 25, 1 << 20
# The bytes that a fingerprint covers: both ends of a file, and pieces in between.
_END, _PIECE, _PIECES = 1 << 16, 1 << 12, 16
# Errors of a disk without enough space.
_FULL = (errno.ENOSPC, errno.EFBIG, errno.EDQUOT)

#: Called with a description of the step, the number of rows processed, and their total number.
Progress = Callable[[str, int, int], None]


def encode_files(
    paths: Paths,
    target: str,
    sample_weight: str | None,
    rules: ColumnRules,
    class_weight: Any = None,
    columns: Sequence[str] | None = None,
    cache: str | os.PathLike[str] | None = None,
    csv: Mapping[str, Any] | None = None,
    n_jobs: int | None = None,
    progress: Progress | None = None,
) -> tuple[BlockTable, ColumnEncoder]:
    """Return the table of rows in files that need not fit into memory; see :func:`bnplug.encode_training`."""
    for what, given in (("target", target), ("sample_weight", sample_weight or target)):
        if not isinstance(given, str):
            raise TypeError(f"{what}: expected the name of a column of the files, not {article(type(given).__name__)}")
    spec = TableSpec(target, sample_weight, None if columns is None else tuple(columns), class_weight, rules)
    spec.check()
    files, options = find_files(paths), {"dates": None, "labels": [target, sample_weight], **(csv or {})}
    key = key_of(files, spec, options)
    if cache is None:
        coder = _FileCoder(Path(tempfile.mkdtemp(prefix="bnplug-table-")), key, spec, temporary=True)
        weakref.finalize(coder, shutil.rmtree, coder.folder, ignore_errors=True)
        return coder.encode(files, options, n_jobs, progress)
    Path(cache).mkdir(parents=True, exist_ok=True)
    coder = _FileCoder(Path(cache), key, spec)
    return coder.cached(files) or coder.encode(files, options, n_jobs, progress)


class _FileCoder:
    """A coded table in a folder, perhaps a temporary one: ``table-KEY.json``, and the file of codes that it names."""

    def __init__(self, folder: Path, key: str, spec: TableSpec, temporary: bool = False) -> None:
        self.folder, self.key, self.spec, self.temporary = folder, key, spec, temporary
        self.index = folder / f"table-{key}.json"

    def cached(self, paths: Sequence[Path]) -> tuple[BlockTable, ColumnEncoder] | None:
        """Return the table in the folder; None if there is none, it is damaged, or the files have changed."""
        try:
            content = read_plain(self.index, limit=MAX_TEXT)
            index = parse_json(content)
            is_valid = seal_holds(content, index["checksum"]) and (index["format"], index["version"]) == _FORMAT
            if not is_valid or index["files"] != fingerprint(paths):
                return None
            dtype, rows = np.dtype(index["dtype"]), tuple(map(int, index["rows"]))
            layout = Layout(index["n_variables"], dtype, index["weighted"], rows)
            codes = self._codes(index["files"])
            if codes.stat().st_size != layout.n_bytes or checksums(codes, layout) != index["checksums"]:
                return None
            states = {variable["name"]: read_labels(variable) for variable in index["variables"]}
            return self._table(codes, layout, states, read_encoder(index), checked=False)
        except DAMAGE:
            return None

    def encode(
        self, paths: Sequence[Path], csv: Mapping[str, Any], n_jobs: int | None, progress: Progress | None
    ) -> tuple[BlockTable, ColumnEncoder]:
        """Read files for states and cuts, then write their codes; write the index last."""
        before = fingerprint(paths)
        files = DataFiles(paths, **csv)
        check_options(csv, files.names)
        surveyed = survey(files, self.spec, n_jobs, _counting(progress, "states and cuts", files.n_rows))
        schema = surveyed.schema
        layout = Layout.of(len(schema.names), schema.dtype, surveyed.weighted, surveyed.n_rows)
        codes = self._codes(before)
        written = _write_codes(codes, layout, files, surveyed, _counting(progress, "codes", files.n_rows))
        changed = [old[0] for old, new in zip(before, fingerprint(paths), strict=True) if old != new]
        if changed:
            raise ValueError(f"{changed[0]} was changed while it was read; nothing is kept of it, so read it again")
        index = dict(zip(("format", "version"), _FORMAT, strict=True), files=before, checksums=written)
        index |= layout._asdict() | {"dtype": layout.dtype.str, "rows": list(layout.rows)}
        write_atomically(self.index, sealed(index | encoder_state(surveyed.encoder, schema.states, schema.target)))
        for path in self.folder.glob(f"table-{self.key}-*.codes"):
            if path != codes:
                path.unlink(missing_ok=True)
        return self._table(codes, layout, schema.states, surveyed.encoder, checked=True)

    def _codes(self, files: list[list[Any]]) -> Path:
        """Return the path of the codes, which depends on the content of the files."""
        return self.folder / f"table-{self.key}-{_digest(files)[:16]}.codes"

    def _table(
        self, codes: Path, layout: Layout, states: Mapping[str, Sequence[State]], encoder: ColumnEncoder, checked: bool
    ) -> tuple[BlockTable, ColumnEncoder]:
        place = _OwnedFile(str(codes), self) if self.temporary else codes
        blocks, policy = list(layout.blocks(place)), self.spec.rules.policies.of_table
        return BlockTable(blocks, list(states), states, self.spec.target, encoder.left_out, checked, policy), encoder


def _write_codes(
    path: Path, layout: Layout, files: DataFiles, surveyed: Surveyed, progress: Callable[[int], None]
) -> list[int]:
    """Write the codes of all rows; return the checksums of the blocks."""
    used = {*surveyed.encoder.columns, surveyed.spec.target, surveyed.spec.sample_weight}

    def coded() -> Iterator[tuple[CodeArray, FloatArray | None]]:
        for batch in files.batches([name for name in files.names if name in used]):
            yield surveyed.encode(batch)
            progress(len(batch.frame))

    try:
        with _writing_atomically(path) as file:
            return write_blocks(file, layout, coded())
    except OSError as error:
        if error.errno not in _FULL:
            raise
        said = f"the codes of {sum(layout.rows):,} rows take {layout.n_bytes:,} bytes, which the disk has not"
        raise OSError(
            error.errno, f"{error.strerror}: {said}; make room, or give another folder as cache", str(path)
        ) from error


class Layout(NamedTuple):
    """The layout of a file of codes; `rows` has the number of rows of each block."""

    n_variables: int
    dtype: np.dtype[Any]
    weighted: bool
    rows: tuple[int, ...]

    @classmethod
    def of(cls, n_variables: int, dtype: np.dtype[Any], weighted: bool, n_rows: int) -> Layout:
        """Divide rows into blocks."""
        row_bytes = n_variables * dtype.itemsize + 8 * weighted
        most = max(1, min(MOST_ROWS, BLOCK_BYTES // row_bytes))
        full, rest = divmod(n_rows, most)
        return cls(n_variables, dtype, weighted, (most,) * full + ((rest,) if rest else ()))

    @property
    def n_bytes(self) -> int:
        """The size of the file."""
        return sum(map(self.block_bytes, self.rows))

    def code_bytes(self, rows: int) -> int:
        """Return the size of a block's codes, with padding."""
        return -(-rows * self.n_variables * self.dtype.itemsize // 8) * 8

    def block_bytes(self, rows: int) -> int:
        """Return the size of a block."""
        return self.code_bytes(rows) + 8 * rows * self.weighted

    def blocks(self, path: str | os.PathLike[str]) -> Iterator[Block]:
        """Yield the blocks of a file, which are mapped into memory when they are used."""
        offset = 0
        for rows in self.rows:
            codes = MappedArray(path, self.dtype, (self.n_variables, rows), offset)
            place = offset + self.code_bytes(rows)
            weights = MappedArray(path, np.dtype(np.float64), (rows,), place) if self.weighted else None
            yield Block(codes, weights)
            offset += self.block_bytes(rows)


def write_blocks(file: BinaryIO, layout: Layout, batches: Iterable[tuple[CodeArray, FloatArray | None]]) -> list[int]:
    """Write batches of codes and weights of any size as blocks; return the CRC-32 of each block."""
    try:
        # Reserve the disk space before the work, if the file system supports it.
        if layout.n_bytes and hasattr(os, "posix_fallocate"):
            os.posix_fallocate(file.fileno(), 0, layout.n_bytes)
    except OSError as error:
        if error.errno in _FULL:
            raise
    written: list[int] = []
    waiting: list[tuple[CodeArray, FloatArray | None]] = []
    n_waiting = 0
    for batch in batches:
        waiting.append(batch)
        n_waiting += batch[0].shape[1]
        for rows in layout.rows[len(written) :]:
            if n_waiting < rows:
                break
            codes = np.concatenate([part for part, _ in waiting], axis=1)
            parts = [part for _, part in waiting if part is not None]
            weights = np.concatenate(parts) if parts else None
            content = codes[:, :rows].astype(layout.dtype).tobytes().ljust(layout.code_bytes(rows), b"\0")
            if weights is not None:
                content += weights[:rows].astype(np.float64).tobytes()
            file.write(content)
            written.append(zlib.crc32(content))
            n_waiting -= rows
            waiting = [(np.ascontiguousarray(codes[:, rows:]), None if weights is None else weights[rows:])]
    if n_waiting or len(written) != len(layout.rows):
        n_rows = sum(layout.rows[: len(written)]) + n_waiting
        raise ValueError(f"{n_rows:,} rows came, and {sum(layout.rows):,} were counted before")
    return written


def checksums(path: os.PathLike[str], layout: Layout) -> list[int]:
    """Return the checksums of the blocks of a file."""
    with open(path, "rb") as file:
        return [zlib.crc32(file.read(layout.block_bytes(rows))) for rows in layout.rows]


def fingerprint(paths: Sequence[Path]) -> list[list[Any]]:
    """Return the path, size, modification time and a hash of some bytes of each file, both ends included."""
    prints = []
    for path in paths:
        with open(path, "rb") as file:
            status = path.stat()
            sha = hashlib.sha256(file.read(_END))
            for i in range(1, _PIECES):
                file.seek(i * status.st_size // _PIECES)
                sha.update(file.read(_PIECE))
            file.seek(max(0, status.st_size - _END))
            sha.update(file.read(_END))
        prints.append([str(path.resolve()), status.st_size, status.st_mtime_ns, sha.hexdigest()])
    return prints


def key_of(paths: Sequence[Path], spec: TableSpec, csv: Mapping[str, Any]) -> str:
    """Return a short key of the paths and options, whatever the content of the files."""
    made, described = unfitted(spec.rules.discretizer), "none"
    if made is not None:
        params = sorted(made.get_params().items(), key=str)
        described = f"{type(made).__module__}.{type(made).__qualname__}{params}"
    spec = replace(spec, rules=replace(spec.rules, discretizer=described))
    options = sorted((name, repr(value)) for name, value in csv.items())
    return _digest([[str(path.resolve()) for path in paths], repr(spec), options])[:16]


def _digest(content: Any) -> str:
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()


def _counting(progress: Progress | None, what: str, total: int) -> Callable[[int], None]:
    """Wrap the progress callback so that it reports running totals."""
    done = 0

    def more(rows: int) -> None:
        nonlocal done
        done += rows
        if progress is not None:
            progress(what, done, total)

    return more


class _OwnedFile(os.PathLike[str]):
    """A path that keeps the owner of the file alive; a copy in another process does not."""

    def __init__(self, path: str, owner: Any = None) -> None:
        self.path, self.owner = path, owner

    def __fspath__(self) -> str:
        return self.path

    def __reduce__(self) -> tuple[Any, ...]:
        return _OwnedFile, (self.path,)
