"""Fitted classifiers as folders: ``model.json`` says what one is, an ``.npz`` file holds its numbers.

A classifier is its constructor parameters (``_parameters``), a state that JSON holds, and named arrays: our own and
those of plugins alike. Nothing is pickled, so loading runs no code from the folder. Both files have checksums, and are
replaced so that a killed run leaves the old model or the new one: see ``_model_files``.
"""

from __future__ import annotations

import io
import os
import zipfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import prod
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import bnplug
from bnplug.errors import ModelFileError
from bnplug.exchange._model_files import DAMAGE, FORMAT, VERSION, damaged, index_there, read_model, write_model
from bnplug.exchange._older_models import from_older
from bnplug.exchange.files import check_takes_files

# Arrays that hold no objects: truth values, numbers, text, bytes, points in time.
_DTYPES = "biufcUSmM"


@dataclass(frozen=True)
class SavedModel:
    """What a folder holds of a fitted classifier.

    Attributes
    ----------
    method : dict or None
        The kind, name, distribution and version of a plugin's classifier; None for a
        :class:`~bnplug.BayesianNetworkClassifier`.
    params : dict of str to JSON value
        The constructor parameters.
    state : dict
        What fitting found, as JSON holds it.
    arrays : dict of str to array
        What fitting found, in numbers.
    target : str or None
        The column of the class, where a plugin's classifier has it as ``target_``; a network's state says it.
    column_kinds : dict of str to str, or None
        The kind of each feature, ``"text"``, ``"number"`` or ``"date"``, where a plugin's classifier has it under this
        name and an underscore: what a file of further rows is read by.
    """

    method: Mapping[str, str] | None
    params: Mapping[str, Any]
    state: dict[str, Any]
    arrays: dict[str, npt.NDArray[Any]]
    target: str | None = None
    column_kinds: Mapping[str, str] | None = None


def write(saved: SavedModel, path: str | PathLike[str]) -> None:
    """Write a fitted classifier to a folder, in place of a model that is there already.

    Raises
    ------
    ValueError
        If something else is there, which is left as it is.
    TypeError
        If the state is nothing that JSON holds, or an array holds objects.
    """
    _check_place(path)
    _check_plain(saved.state, "state")
    entries = [_entry(name, np.asarray(array)) for name, array in saved.arrays.items()]
    index = {
        "format": FORMAT,
        "version": VERSION,
        "bnplug": bnplug.__version__,
        "method": saved.method,
        "target": saved.target,
        "column_kinds": saved.column_kinds,
        "params": saved.params,
        "state": saved.state,
        "arrays": [entry for entry, _ in entries],
    }
    write_model(Path(path), index, _numbers(numbers for _, numbers in entries))


def check_destination(path: str | PathLike[str]) -> None:
    """Raise the ``ValueError`` of :func:`write` if a model cannot or must not be saved there: before it is learned.

    A little is written beside where the model will be, and removed, so that a file system that takes nothing more, or
    nothing of this user, is known at once.
    """
    folder = _check_place(path)
    try:
        check_takes_files(folder)
    except OSError as error:
        raise ValueError(f"{path} cannot be made: {folder} takes no files: {error.strerror}") from error


def _check_place(path: str | PathLike[str]) -> Path:
    """Raise if a model must not be saved there; return the folder that is there, it or one around it."""
    folder = Path(path).absolute()
    try:
        index_there(folder)
        there = next(place for place in (folder, *folder.parents) if _is_there(place))
    except OSError as error:
        raise ValueError(f"{path} cannot be made: {error.strerror}: {error.filename}") from error
    if not os.path.isdir(there) or not os.access(there, os.W_OK | os.X_OK):
        raise ValueError(f"{path} cannot be made: {there} is no folder that you may write to")
    return there


def _is_there(place: Path) -> bool:
    """Whether there is something, a link that leads nowhere included; an ``OSError`` where that cannot be known."""
    try:
        os.lstat(place)
    except (FileNotFoundError, NotADirectoryError):
        return False
    return True


def read(path: str | PathLike[str]) -> SavedModel:
    """Return what :func:`write` wrote.

    Raises
    ------
    ModelFileError
        If the folder is damaged, cut off, written by a later version, or no model at all.
    """
    folder = Path(path)
    try:
        index, numbers = read_model(folder)
        if index["version"] < 3:
            index = from_older(index)
        return SavedModel(
            None if index["method"] is None else dict(index["method"]),
            dict(index["params"]),
            dict(index["state"]),
            _read_numbers(numbers, index["arrays"]),
            None if index.get("target") is None else str(index["target"]),
            _read_kinds(index.get("column_kinds")),
        )
    except ModelFileError:
        raise
    except DAMAGE as error:
        raise damaged(folder, repr(error)) from error


def _read_kinds(kinds: Any) -> dict[str, str] | None:
    if kinds is None:
        return None
    if not isinstance(kinds, dict) or not all(isinstance(kind, str) for kind in kinds.values()):
        raise ValueError("the kinds of columns are texts by name")
    return kinds


def _check_plain(value: Any, place: str) -> None:
    """Raise a ``TypeError`` that says where, unless JSON gives back what it is given."""
    if isinstance(value, dict):
        for key, own in value.items():
            if not isinstance(key, str):
                raise TypeError(f"{place}: the key {key!r} is no text; JSON has no other keys")
            _check_plain(own, f"{place}[{key!r}]")
    elif isinstance(value, list | tuple):
        for i, own in enumerate(value):
            _check_plain(own, f"{place}[{i}]")
    elif value is not None and type(value) not in (bool, int, float, str):
        raise TypeError(f"{place} is a {type(value).__name__}, which JSON does not hold; put numbers into arrays")


def _entry(name: Any, array: npt.NDArray[Any]) -> tuple[dict[str, Any], npt.NDArray[Any]]:
    """Return what the index says of an array, and what the file of numbers holds: of labels, where they are."""
    if isinstance(name, str) and array.dtype.kind in _DTYPES:
        return {"name": name}, array
    labels = array.ravel().tolist()
    if not isinstance(name, str) or not all(
        label is None or type(label) in (bool, int, float, str) for label in labels
    ):
        raise TypeError(f"array {name!r} of dtype {array.dtype} cannot be saved; numbers, truth values and text can")
    return {"name": name, "labels": labels}, np.arange(len(labels)).reshape(array.shape)


def _numbers(arrays: Iterable[npt.NDArray[Any]]) -> bytes:
    buffer = io.BytesIO()
    np.savez(buffer, allow_pickle=False, **{str(i): array for i, array in enumerate(arrays)})
    return buffer.getvalue()


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
    """Return an array of objects: the label at each place."""
    if not all(label is None or isinstance(label, bool | int | float | str) for label in labels):
        raise ValueError("labels are texts, numbers, truth values or None")
    objects = np.empty(len(labels), dtype=object)
    objects[:] = labels
    return np.asarray(objects[places])


def _read_array(file: Any, size: int) -> npt.NDArray[Any]:
    """Read one array whose bytes are there; a dtype of objects is refused."""
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
