"""Model folders: ``model.json`` describes a fitted classifier, and an ``.npz`` file contains its arrays.

Nothing is pickled: loading runs no code from the folder. The arrays are written to a new file, and ``model.json``,
which names it, is replaced last. The folder therefore contains a complete model at all times, even while several
processes save to it. Only files that ``model.json`` names are removed; a reader whose arrays disappear reads it again.
"""

from __future__ import annotations

import errno
import hashlib
import io
import os
import re
import secrets
import stat
import time
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from math import prod
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import bnplug
from bnplug._json import DAMAGE, parse_json, seal_holds, sealed
from bnplug.errors import ModelFileError, article
from bnplug.files import MAX_TEXT, TEMPORARY, _lock_file, check_takes_files, read_plain, replace_file

_FORMAT, _VERSION, _INDEX = "bnplug-model", 1, "model.json"

# Dtypes without objects.
_DTYPES = "biufcUSmM"

# A part of the checksum, and a random number.
_TABLES = re.compile(r"tables-(?P<digest>[0-9a-f]{16})-[0-9a-f]{16}\.npz")

# Maximum length of a message, which may quote long names from a forged file.
_MESSAGE_LENGTH = 500

# Versions that a message may quote.
_VERSION_TEXT = re.compile(r"[0-9][A-Za-z0-9.+!]{0,30}")

_LOCK_SECONDS, _LOCK_PAUSE = 10.0, 0.005


@dataclass(frozen=True)
class SavedModel:
    """The content of a model folder: constructor parameters, fitted state and arrays.

    ``method`` has the kind, name, distribution and version of a plugin's classifier, and is None for a
    :class:`~bnplug.BayesianNetworkClassifier`. ``target`` and ``column_kinds`` are ``target_`` and ``column_kinds_``
    of a plugin's classifier, if it has them; see :func:`bnplug.save`.
    """

    method: Mapping[str, str] | None
    params: Mapping[str, Any]
    state: dict[str, Any]
    arrays: dict[str, npt.NDArray[Any]]
    target: str | None = None
    column_kinds: Mapping[str, str] | None = None


def write(saved: SavedModel, path: str | PathLike[str]) -> None:
    """Write a fitted classifier to a folder, and replace an existing model.

    Raises a ``ValueError`` if the folder contains anything else, which is left unchanged, and a ``TypeError`` if JSON
    cannot represent the state, or an array contains objects.
    """
    _check_place(path)
    _check_plain(saved.state, "state")
    entries = [_entry(name, np.asarray(array)) for name, array in saved.arrays.items()]
    index = {
        "format": _FORMAT,
        "version": _VERSION,
        "bnplug": bnplug.__version__,
        "method": saved.method,
        "target": saved.target,
        "column_kinds": saved.column_kinds,
        "params": saved.params,
        "state": saved.state,
        "arrays": [entry for entry, _ in entries],
    }
    buffer = io.BytesIO()
    np.savez(buffer, allow_pickle=False, **{str(i): numbers for i, (_, numbers) in enumerate(entries)})
    _write_files(Path(path), index, buffer.getvalue())


def check_destination(path: str | PathLike[str]) -> None:
    """Raise the ``ValueError`` of :func:`write` before a model is learned; a temporary file is written and removed."""
    folder = _check_place(path)
    try:
        check_takes_files(folder)
    except OSError as error:
        raise ValueError(f"{path} cannot be created: {folder} is not writable: {error.strerror}") from error


def _check_place(path: str | PathLike[str]) -> Path:
    """Raise if a model must not be saved there; return the folder, or the closest parent that exists."""
    folder = Path(path).absolute()
    try:
        _current_index(folder)
        existing = next(place for place in (folder, *folder.parents) if _exists(place))
    except OSError as error:
        raise ValueError(f"{path} cannot be created: {error.strerror}: {error.filename}") from error
    if not os.path.isdir(existing) or not os.access(existing, os.W_OK | os.X_OK):
        raise ValueError(f"{path} cannot be created: {existing} is not a folder that you can write to")
    return existing


def _exists(place: Path) -> bool:
    """Return whether a path or a link exists; raise an ``OSError`` if that cannot be determined."""
    try:
        os.lstat(place)
    except (FileNotFoundError, NotADirectoryError):
        return False
    return True


def read(path: str | PathLike[str]) -> SavedModel:
    """Read a model folder; raise a ``ModelFileError`` if it is damaged, of another version, or not a model."""
    folder = Path(path)
    try:
        index, numbers = _read_files(folder)
        kinds = index["column_kinds"]
        if not isinstance(kinds, dict | None) or not all(isinstance(kind, str) for kind in (kinds or {}).values()):
            raise ValueError("the kinds of columns are texts by name")
        return SavedModel(
            None if index["method"] is None else dict(index["method"]),
            dict(index["params"]),
            dict(index["state"]),
            _read_numbers(numbers, index["arrays"]),
            None if index["target"] is None else str(index["target"]),
            kinds,
        )
    except ModelFileError:
        raise
    except DAMAGE as error:
        raise _damaged(folder, repr(error)) from error


def _check_plain(value: Any, place: str) -> None:
    """Raise a ``TypeError`` that names the place unless JSON preserves the value."""
    if isinstance(value, dict):
        for key, item in value.items():
            if not isinstance(key, str):
                raise TypeError(f"{place}: the key {key!r} is not text; JSON has no other keys")
            _check_plain(item, f"{place}[{key!r}]")
    elif isinstance(value, list | tuple):
        for i, item in enumerate(value):
            _check_plain(item, f"{place}[{i}]")
    elif value is not None and type(value) not in (bool, int, float, str):
        raise TypeError(
            f"{place} is {article(type(value).__name__)}, which JSON cannot represent; put numbers into arrays"
        )


def _entry(name: Any, array: npt.NDArray[Any]) -> tuple[dict[str, Any], npt.NDArray[Any]]:
    """Return the index entry of an array, and the array to store: for labels, their positions."""
    if isinstance(name, str) and array.dtype.kind in _DTYPES:
        return {"name": name}, array
    labels = array.ravel().tolist()
    if not isinstance(name, str) or not all(
        label is None or type(label) in (bool, int, float, str) for label in labels
    ):
        raise TypeError(f"array {name!r} of dtype {array.dtype} cannot be saved; numbers, truth values and text can")
    return {"name": name, "labels": labels}, np.arange(len(labels)).reshape(array.shape)


def _read_numbers(content: bytes, entries: Iterable[Mapping[str, Any]]) -> dict[str, npt.NDArray[Any]]:
    """Read the arrays; none takes more memory than it has bytes in the file."""
    arrays: dict[str, npt.NDArray[Any]] = {}
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        if sum(stored.file_size for stored in archive.infolist()) > len(content):
            raise ValueError("its arrays are larger than their file: some are compressed, or share their bytes")
        for i, entry in enumerate(entries):
            stored, name = archive.getinfo(f"{i}.npy"), entry["name"]
            if not isinstance(name, str) or name in arrays or stored.compress_type != zipfile.ZIP_STORED:
                raise ValueError(f"array {name!r} is not stored as a model's arrays are")
            with archive.open(stored) as file:
                array = _read_array(file, stored.file_size)
            arrays[name] = array if "labels" not in entry else _labelled(array, entry["labels"])
    return arrays


def _labelled(places: npt.NDArray[Any], labels: list[Any]) -> npt.NDArray[Any]:
    """Return an array of objects: the label at each position."""
    if not all(label is None or isinstance(label, bool | int | float | str) for label in labels):
        raise ValueError("labels are texts, numbers, truth values or None")
    objects = np.empty(len(labels), dtype=object)
    objects[:] = labels
    return np.asarray(objects[places])


def _read_array(file: Any, size: int) -> npt.NDArray[Any]:
    """Read one array; refuse a dtype of objects, and sizes beyond the file."""
    if np.lib.format.read_magic(file) != (1, 0):
        raise ValueError("an array in another format than .npy 1.0")
    shape, fortran, dtype = np.lib.format.read_array_header_1_0(file)
    n_bytes = dtype.itemsize * prod(shape)
    if dtype.kind not in _DTYPES or not 0 <= n_bytes <= size:
        raise ValueError(f"an array of shape {shape} and dtype {dtype} in {size} bytes")
    data = file.read(n_bytes)
    if len(data) != n_bytes:
        raise ValueError("an array is cut off")
    flat = np.frombuffer(data, dtype=dtype) if data else np.empty(0, dtype)
    return flat.reshape(shape, order="F" if fortran else "C").copy()


# The files of a folder


def _write_files(folder: Path, index: Mapping[str, Any], numbers: bytes) -> None:
    """Write a model to a folder; raise a ``ValueError`` if it contains anything but a model of bnplug."""
    folder.mkdir(parents=True, exist_ok=True)
    with _lock(folder):
        former_index = _current_index(folder)
        former = [file for file in _tables_named(former_index) if os.path.lexists(folder / file)]
        digest = hashlib.sha256(numbers).hexdigest()
        name = f"tables-{digest[:16]}-{secrets.token_hex(8)}.npz"
        tables = {"tables": name, "tables_sha256": digest, "tables_bytes": len(numbers), "former_tables": former}
        content = sealed({**index, **tables})
        access = None if former_index is None else _status(folder / _INDEX)
        try:
            replace_file(folder / name, numbers, (_status(folder / former[0]) if former else None) or access)
            replace_file(folder / _INDEX, content, access)
            for file in former:
                _remove(folder / file)
        finally:
            # After an error, or if another process replaced the index, nothing names these tables.
            if not _is_named(folder, name):
                _remove(folder / name)


def _read_files(folder: Path) -> tuple[dict[str, Any], bytes]:
    """Return the index and the content of the tables' file; raise a ``ModelFileError`` if they are not valid."""
    missed: bytes | None = None
    while True:
        content, index = _read_index(folder)
        name, size = index.get("tables"), index.get("tables_bytes")
        if not isinstance(name, str) or Path(name).name != name:
            raise _damaged(folder, f"{name!r} is not a file name")
        if type(size) is not int or size < 0:
            raise _damaged(folder, f"{size!r} is not a number of bytes")
        try:
            numbers = read_plain(folder / name, limit=size)
        except FileNotFoundError as error:
            # Another process saved a model in the meantime, unless the index is unchanged.
            if content == missed:
                raise _damaged(folder, error) from error
            missed = content
            continue
        except OSError as error:
            reason = f"{name} does not match its checksum: {error}" if error.errno == errno.EFBIG else error
            raise _damaged(folder, reason) from error
        if hashlib.sha256(numbers).hexdigest() != index.get("tables_sha256"):
            raise _damaged(folder, f"{name} does not match its checksum")
        return index, numbers


def _damaged(folder: Path, reason: object) -> ModelFileError:
    """Return the error for a folder that cannot be read."""
    return ModelFileError(f"{folder} is a damaged model folder: {str(reason)[:_MESSAGE_LENGTH]}")


def _current_index(folder: Path) -> dict[str, Any] | None:
    """Return the index in a folder, or None for its first model; raise a ``ValueError`` if it has other files."""
    try:
        # A single call, because another process may create the folder at any moment.
        names = os.listdir(folder)
    except FileNotFoundError:
        if folder.is_symlink() and not folder.exists():
            raise ValueError(f"{folder} is a broken link; a model is saved to a folder") from None
        return None
    except NotADirectoryError:
        file = next(place for place in (folder, *folder.parents) if os.path.lexists(place))
        raise ValueError(f"{file} is a file; a model is saved to a folder") from None
    if _INDEX in names:
        index = _our_index(folder / _INDEX)
        if index is None:
            raise ValueError(
                f"{folder / _INDEX} is not a model of bnplug, or is damaged, and is left unchanged; remove it, or "
                "choose an empty or a new folder"
            )
        return index
    foreign = sorted(name for name in names if not _is_left_over(folder / name))
    if foreign:
        raise ValueError(
            f"{folder} is a folder with other files in it, such as {foreign[0]!r}; choose an empty or a new one"
        )
    return None


def _our_index(path: Path) -> dict[str, Any] | None:
    """Return an index of bnplug, of any version; None for other files."""
    try:
        index = parse_json(read_plain(path, limit=MAX_TEXT))
    except PermissionError as error:
        raise ValueError(f"{path} cannot be read ({error.strerror}), so the folder is left as it is") from None
    except (OSError, ValueError, RecursionError):
        return None
    return index if isinstance(index, dict) and index.get("format") == _FORMAT else None


def _tables_named(index: Mapping[str, Any] | None) -> list[str]:
    """Return the tables' files that an index names, its current one first."""
    if index is None:
        return []
    former = index.get("former_tables")
    names = [index.get("tables"), *(former if isinstance(former, list) else [])]
    return [name for name in names if isinstance(name, str) and _TABLES.fullmatch(name)]


def _is_named(folder: Path, name: str) -> bool:
    """Return whether the index names a file; True if the index cannot be read at present."""
    try:
        return name.encode() in read_plain(folder / _INDEX, limit=MAX_TEXT)
    except FileNotFoundError:
        return False
    except OSError:
        return True


def _is_left_over(path: Path) -> bool:
    """Return whether a killed first save left a file behind, or it has disappeared."""
    tables = _TABLES.fullmatch(path.name)
    if tables is None and not TEMPORARY.fullmatch(path.name):
        return False
    try:
        if not stat.S_ISREG(path.lstat().st_mode):
            return False
        if tables is None:
            return True
        with open(path, "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest().startswith(tables["digest"])
    except OSError as error:
        return isinstance(error, FileNotFoundError)


def _status(path: Path) -> os.stat_result | None:
    with suppress(FileNotFoundError):
        return path.stat()
    return None


def _remove(path: Path) -> None:
    """Remove a file; if that fails, the index still names it, and the next save removes it."""
    with suppress(OSError):
        path.unlink()


@contextmanager
def _lock(folder: Path) -> Iterator[None]:
    """Wait a limited time while another process saves: otherwise neither would remove the tables of the other."""
    if os.name == "nt":  # which opens no folders
        yield
        return
    descriptor = os.open(folder, os.O_RDONLY)
    end = time.monotonic() + _LOCK_SECONDS
    try:
        while time.monotonic() < end and _lock_file(descriptor, wait=False) is False:
            time.sleep(_LOCK_PAUSE)
        yield
    finally:
        os.close(descriptor)  # releases the lock


def _read_index(folder: Path) -> tuple[bytes, dict[str, Any]]:
    """Return ``model.json`` as bytes and parsed, if it has the version that is read, and a valid checksum."""
    try:
        content = read_plain(folder / _INDEX, limit=MAX_TEXT)
        index = parse_json(content.decode())
    except FileNotFoundError:
        raise ModelFileError(f"{folder} is not a model folder: it has no {_INDEX}") from None
    except (OSError, ValueError, RecursionError) as error:
        raise ModelFileError(f"{folder / _INDEX} cannot be read: {error}") from error
    if not isinstance(index, dict) or index.get("format") != _FORMAT:
        raise ModelFileError(f"{folder / _INDEX} is not a model of bnplug")
    version, writer = index.get("version"), str(index.get("bnplug"))
    if type(version) is not int or version != _VERSION:
        written_by = f". It was written by bnplug {writer}" if _VERSION_TEXT.fullmatch(writer) else ""
        reads = f"bnplug {bnplug.__version__} reads {_VERSION}"
        raise ModelFileError(f"{folder}: format version {repr(version)[:60]}; {reads}{written_by}")
    if not seal_holds(content, index.get("checksum")):
        raise _damaged(folder, f"{_INDEX} does not match its checksum")
    return content, index
