"""What fitting found of a Bayesian network, as a state that JSON holds and arrays, and back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from bnplug.data._dates import PARTS, SECONDS
from bnplug.data.coding import State
from bnplug.data.discretize import discretizer_from_json, discretizer_to_json
from bnplug.data.intake import Intake
from bnplug.exchange._model_files import SURROGATE_PAIR
from bnplug.exchange.names import checked_labels
from bnplug.model.log_tables import LogTables

if TYPE_CHECKING:
    from bnplug.classifier import BayesianNetworkClassifier

# Memory that the classes may take whose type is wider than their labels are long.
_MOST_CLASS_BYTES = 1 << 24


@dataclass(frozen=True)
class SavedNetwork:
    """A fitted network: its tables, with the class as their target, how frames become discrete, what made it."""

    tables: LogTables
    intake: Intake
    named: bool
    made: dict[str, str]
    components: list[dict[str, str]]


def network_state(model: BayesianNetworkClassifier) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
    """Return the state and the arrays of a fitted network."""
    tables = model.tables_
    columns = intake_state(model.intake_, {name: tables.states[name] for name in tables.parents}, model.target_)
    state = {
        "made": dict(model.made_),
        "components": [dict(found) for found in model.components_],
        "named": hasattr(model, "feature_names_in_"),
        **columns,
        "variables": [
            {**variable, "parents": list(parents)}
            for variable, parents in zip(columns["variables"], tables.parents.values(), strict=True)
        ],
    }
    return state, {str(i): table.values for i, table in enumerate(tables.tables.values())}


def intake_state(intake: Intake, states: Mapping[str, Iterable[Any]], target: str) -> dict[str, Any]:
    """Return how frames become discrete, and the states that they then have, as what JSON holds."""
    return {
        "target": target,
        "class_dtype": intake.classes.dtype.str if intake.classes.dtype != object else "object",
        "variables": [{"name": name, "states": _plain_labels(name, labels)} for name, labels in states.items()],
        "intake": {
            "columns": list(intake.columns),
            "names": list(intake.names),
            "numeric": list(intake.numeric),
            "discretizer": discretizer_to_json(intake.discretizer),
            "missing_states": dict(intake.missing_states),
            "left_out": dict(intake.left_out),
            "dates": {name: dict(parts) for name, parts in intake.dates.items()},
            "whole": list(intake.whole),
            "pooled": list(intake.pooled),
        },
    }


def network_of(state: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any]]) -> SavedNetwork:
    """Return the network that :func:`network_state` wrote down.

    Raises
    ------
    ValueError, TypeError, KeyError, AttributeError, IndexError
        If it is damaged.
    """
    variables = state["variables"]
    states = {variable["name"]: read_labels(variable) for variable in variables}
    parents = {variable["name"]: tuple(variable["parents"]) for variable in variables}
    tables = {}
    for i, name in enumerate(states):
        shape = tuple(len(states[variable]) for variable in (name, *parents[name]))
        values = arrays[str(i)]
        if values.shape != shape or values.dtype != np.float64:
            raise ValueError(f"an array of shape {values.shape} and dtype {values.dtype}; {shape} and float64 expected")
        tables[name] = (parents[name], values)
    return SavedNetwork(
        LogTables(list(states), states, tables, str(state["target"])),
        read_intake(state),
        bool(state["named"]),
        {str(part): str(text) for part, text in state["made"].items()},
        [{str(key): str(text) for key, text in found.items()} for found in state["components"]],
    )


def _plain_labels(name: str, labels: Iterable[Any]) -> list[State]:
    """Return labels as JSON holds them; an error that names the variable where it does not."""
    plain = checked_labels(name, labels)
    for label in plain:
        if isinstance(label, str) and SURROGATE_PAIR.search(label):
            raise ValueError(f"variable {name!r}: the label {label!r} is a pair of surrogates, and no valid text")
    return plain


def read_labels(variable: Mapping[str, Any]) -> list[Any]:
    """Return the states of a variable."""
    labels = variable["states"]
    if not isinstance(labels, list) or not all(isinstance(label, str | int | float) for label in labels):
        raise ValueError(f"the states of {variable['name']!r} must be a list of texts, numbers and truth values")
    return labels


def _read_classes(state: Mapping[str, Any], labels: list[Any]) -> npt.NDArray[Any]:
    dtype = np.dtype(state["class_dtype"])
    # A few characters of text must not ask for gigabytes.
    longest = max(4 * len(str(label)) for label in labels)
    if dtype.itemsize * len(labels) > max(_MOST_CLASS_BYTES, longest * len(labels)):
        raise ValueError(f"classes of dtype {dtype} would take {dtype.itemsize * len(labels):,} bytes")
    classes = np.array(labels, dtype=dtype)
    if classes.tolist() != labels:
        raise ValueError(f"classes are not of dtype {state['class_dtype']}")
    return classes


def read_intake(state: Mapping[str, Any]) -> Intake:
    """Return what :func:`intake_state` wrote down; the errors are those of :func:`network_of`."""
    intake = state["intake"]
    features = {variable["name"] for variable in state["variables"]} - {state["target"]}
    if set(intake["names"]) != features or not set(intake["numeric"]) <= features:
        raise ValueError("the features of the intake are not those of the network")
    states = {variable["name"]: variable["states"] for variable in state["variables"]}
    for name, label in intake["missing_states"].items():
        if name not in features or not isinstance(label, str) or label not in states[name]:
            raise ValueError(f"{label!r} stands for missing in {name!r}, and is not among its states")
    of_missing = intake["missing_states"]
    values = {name: tuple(label for label in own if label != of_missing.get(name)) for name, own in states.items()}
    return Intake(
        tuple(intake["names"]),
        tuple(intake["numeric"]),
        discretizer_from_json(intake["discretizer"], intake["numeric"]),
        dict(intake["missing_states"]),
        _read_classes(state, states[state["target"]]),
        **read_columns(intake, values),
    )


def read_columns(intake: Mapping[str, Any], states: Mapping[str, tuple[State, ...]]) -> dict[str, Any]:
    """Return what training decided about columns; of folders that say nothing about it: that they are the features."""
    names = intake["names"]
    dates = {str(name): dict(parts) for name, parts in intake.get("dates", {}).items()}
    left_out = {str(name): str(reason) for name, reason in intake.get("left_out", {}).items()}
    columns = [str(name) for name in intake.get("columns", names)]
    made = [own for name in columns if name not in left_out for own in dates.get(name, {name: name}).values()]
    if sorted(made) != sorted(names) or len(set(columns)) < len(columns) or not {*left_out, *dates} <= set(columns):
        raise ValueError(f"the columns {columns} do not make the features {names}")
    if not all(parts and (set(parts) == {SECONDS} or set(parts) <= set(PARTS)) for parts in dates.values()):
        raise ValueError(f"no parts of points in time: {dates}")
    whole, pooled = ({name: states[name] for name in intake.get(key, ())} for key in ("whole", "pooled"))
    for name, numbers in whole.items():
        if not numbers or any(isinstance(x, str) for x in numbers) or list(numbers) != sorted(set(numbers)):
            raise ValueError(f"the states of {name!r}, {numbers}, are no ascending numbers")
    if not {*whole, *pooled} <= set(names) or not all(pooled.values()):
        raise ValueError("the features with whole numbers or pooled states are none of the network")
    return {"columns": tuple(columns), "left_out": left_out, "dates": dates, "whole": whole, "pooled": pooled}
