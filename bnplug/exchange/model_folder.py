"""A fitted classifier as a folder: ``model.json`` says what it is, an ``.npz`` file holds its numbers.

Nothing is pickled, so loading runs no code from the folder. Both files have checksums, and are replaced so that a
killed run leaves the old model or the new one: see ``_model_files``.
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import prod
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

import bnplug
from bnplug.arrays import FloatArray
from bnplug.data.coding import State
from bnplug.data.discretize import discretizer_from_json, discretizer_to_json
from bnplug.data.intake import Intake, check_missing
from bnplug.data.table import check_unseen
from bnplug.errors import ModelFileError
from bnplug.exchange._model_files import FORMAT, SURROGATE_PAIR, VERSION, damaged, index_there, read_model, write_model
from bnplug.exchange.names import checked_labels
from bnplug.model.log_tables import LogTables

if TYPE_CHECKING:
    from bnplug.classifier import BayesianNetworkClassifier

# Constructor parameters that predicting depends on.
_KEPT = ("missing", "unseen", "max_parameters", "max_clique_size")


# What reading a damaged file raises; of versions that there are not, zipfile says NotImplementedError, a RuntimeError.
_DAMAGE = (KeyError, TypeError, ValueError, AttributeError, IndexError, OSError, RuntimeError, zipfile.BadZipFile)


@dataclass(frozen=True)
class SavedModel:
    """The parts of a fitted classifier that a folder holds.

    Attributes
    ----------
    tables : LogTables
        With the class as its target.
    intake : Intake
    named : bool
        Whether the features have names of their own, rather than positions in an array.
    made : dict of str to str
        The components that made it, as the user wrote them.
    settings : dict of str to value
        Constructor parameters that predicting depends on.
    """

    tables: LogTables
    intake: Intake
    named: bool
    made: dict[str, str]
    settings: dict[str, Any]


def save(model: BayesianNetworkClassifier, path: str | PathLike[str]) -> None:
    """Write a fitted classifier to a folder, in place of a model that is there already.

    Raises
    ------
    ValueError
        If something else is there, which is left as it is.
    TypeError
        If a state label is no text, number or truth value.
    """
    check_destination(path)
    write_model(Path(path), _index(model), _numbers(model.tables_))


def check_destination(path: str | PathLike[str]) -> None:
    """Raise the ``ValueError`` of :func:`save` if a model must not be saved there."""
    index_there(Path(path))


def read(path: str | PathLike[str]) -> SavedModel:
    """Return the parts of the model that :func:`save` wrote.

    Raises
    ------
    ModelFileError
        If the folder is damaged, cut off, written by a later version, or no model at all.
    """
    folder = Path(path)
    try:
        index, numbers = read_model(folder)
        variables = index["variables"]
        states = {variable["name"]: _read_labels(variable) for variable in variables}
        parents = {variable["name"]: tuple(variable["parents"]) for variable in variables}
        values = _read_numbers(numbers, states, parents)
        tables = LogTables(list(states), states, {n: (parents[n], values[n]) for n in states}, str(index["target"]))
        return SavedModel(
            tables,
            _read_intake(index),
            bool(index["named"]),
            {str(part): str(text) for part, text in index["made"].items()},
            _read_settings(index),
        )
    except ModelFileError:
        raise
    except _DAMAGE as error:
        raise damaged(folder, repr(error)) from error


def _index(model: BayesianNetworkClassifier) -> dict[str, Any]:
    """What ``model.json`` says, apart from where the numbers are."""
    intake = model.intake_
    return {
        "format": FORMAT,
        "version": VERSION,
        "bnplug": bnplug.__version__,
        "made": model.made_,
        "target": model.target_,
        "class_dtype": model.classes_.dtype.str if model.classes_.dtype != object else "object",
        "named": hasattr(model, "feature_names_in_"),
        "variables": [
            {"name": name, "states": _plain_labels(name, model.tables_.states[name]), "parents": list(parents)}
            for name, parents in model.tables_.parents.items()
        ],
        "intake": {
            "names": list(intake.names),
            "numeric": list(intake.numeric),
            "discretizer": discretizer_to_json(intake.discretizer),
            "missing_states": intake.missing_states,
        },
        "settings": {name: getattr(model, name) for name in _KEPT},
    }


def _plain_labels(name: str, labels: Iterable[Any]) -> list[State]:
    """Return labels as JSON holds them; an error that names the variable where it does not."""
    plain = checked_labels(name, labels)
    for label in plain:
        if isinstance(label, str) and SURROGATE_PAIR.search(label):
            raise ValueError(f"variable {name!r}: the label {label!r} is a pair of surrogates, and no valid text")
    return plain


def _numbers(tables: LogTables) -> bytes:
    buffer = io.BytesIO()
    arrays = {str(i): table.values for i, table in enumerate(tables.tables.values())}
    np.savez(buffer, allow_pickle=False, **arrays)
    return buffer.getvalue()


def _read_labels(variable: Mapping[str, Any]) -> list[Any]:
    labels = variable["states"]
    if not isinstance(labels, list) or not all(isinstance(label, str | int | float) for label in labels):
        raise ValueError(f"the states of {variable['name']!r} must be a list of texts, numbers and truth values")
    return labels


def _read_classes(index: Mapping[str, Any], labels: list[Any]) -> npt.NDArray[Any]:
    classes = np.array(labels, dtype=np.dtype(index["class_dtype"]))
    if classes.tolist() != labels:
        raise ValueError(f"classes are not of dtype {index['class_dtype']}")
    return classes


def _read_settings(index: Mapping[str, Any]) -> dict[str, Any]:
    settings = {name: index["settings"][name] for name in _KEPT}
    check_missing(settings["missing"])
    check_unseen(settings["unseen"])
    for name in ("max_parameters", "max_clique_size"):
        if type(settings[name]) is not int or settings[name] < 1:
            raise ValueError(f"{name}={settings[name]!r} is no positive whole number")
    return settings


def _read_intake(index: Mapping[str, Any]) -> Intake:
    intake = index["intake"]
    features = {variable["name"] for variable in index["variables"]} - {index["target"]}
    if set(intake["names"]) != features or not set(intake["numeric"]) <= features:
        raise ValueError("the features of the intake are not those of the network")
    states = {variable["name"]: variable["states"] for variable in index["variables"]}
    for name, label in intake["missing_states"].items():
        if name not in features or not isinstance(label, str) or label not in states[name]:
            raise ValueError(f"{label!r} stands for missing in {name!r}, and is not among its states")
    return Intake(
        tuple(intake["names"]),
        tuple(intake["numeric"]),
        discretizer_from_json(intake["discretizer"], intake["numeric"]),
        dict(intake["missing_states"]),
        _read_classes(index, states[index["target"]]),
    )


def _read_numbers(
    content: bytes, states: Mapping[str, list[Any]], parents: Mapping[str, tuple[str, ...]]
) -> dict[str, FloatArray]:
    """Read the tables, each checked to have the shape that the index implies before it is read."""
    values = {}
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        for i, name in enumerate(states):
            shape = tuple(len(states[variable]) for variable in (name, *parents[name]))
            with archive.open(f"{i}.npy") as file:
                values[name] = _read_array(file, shape)
    return values


def _read_array(file: Any, shape: tuple[int, ...]) -> FloatArray:
    """Read one array of float64 of the given shape; another dtype (objects among them) is refused."""
    if np.lib.format.read_magic(file) != (1, 0):
        raise ValueError("an array in another format than .npy 1.0")
    stored, fortran, dtype = np.lib.format.read_array_header_1_0(file)
    if stored != shape or dtype != np.float64:
        raise ValueError(f"an array of shape {stored} and dtype {dtype}; {shape} and float64 are expected")
    data = file.read(8 * prod(shape))
    if len(data) != 8 * prod(shape):
        raise ValueError("an array is cut off")
    return np.frombuffer(data, dtype=np.float64).reshape(shape, order="F" if fortran else "C").copy()
