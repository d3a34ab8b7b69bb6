"""Column encoders as JSON, and back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from bnplug._json import SURROGATE_PAIR
from bnplug.table._dates import PARTS, SECONDS, is_zone
from bnplug.table.coding import State, checked_labels
from bnplug.table.discretizer import discretizer_from_json, discretizer_to_json
from bnplug.table.encoder import ColumnEncoder

# Memory for classes whose type is wider than their labels.
_MOST_CLASS_BYTES = 1 << 24


def encoder_state(encoder: ColumnEncoder, states: Mapping[str, Iterable[Any]], target: str) -> dict[str, Any]:
    """Return an encoder and the states of its features as JSON; an error names a variable if that is impossible."""
    variables = [{"name": name, "states": checked_labels(name, labels)} for name, labels in states.items()]
    for name, label in ((variable["name"], label) for variable in variables for label in variable["states"]):
        if isinstance(label, str) and SURROGATE_PAIR.search(label):
            raise ValueError(f"variable {name!r}: the label {label!r} is a pair of surrogates, and no valid text")
    return {
        "target": target,
        "class_dtype": encoder.classes.dtype.str if encoder.classes.dtype != object else "object",
        "variables": variables,
        "encoder": {
            **{key: list(getattr(encoder, key)) for key in ("columns", "names", "numeric")},
            "discretizer": discretizer_to_json(encoder.discretizer),
            **{key: getattr(encoder, key) for key in ("missing_states", "left_out", "dates", "zones")},
            **{key: list(getattr(encoder, key)) for key in ("whole", "pooled")},
        },
    }


def read_labels(variable: Mapping[str, Any]) -> list[Any]:
    """Return the states of a variable."""
    labels = variable["states"]
    if not isinstance(labels, list) or not all(isinstance(label, str | int | float) for label in labels):
        raise ValueError(f"the states of {variable['name']!r} must be a list of texts, numbers and truth values")
    return labels


def _read_classes(state: Mapping[str, Any], labels: list[Any]) -> npt.NDArray[Any]:
    dtype = np.dtype(state["class_dtype"])
    # A short text in a file must not allocate gigabytes.
    longest = max(4 * len(str(label)) for label in labels)
    if dtype.itemsize * len(labels) > max(_MOST_CLASS_BYTES, longest * len(labels)):
        raise ValueError(f"classes of dtype {dtype} would take {dtype.itemsize * len(labels):,} bytes")
    classes = np.array(labels, dtype=dtype)
    if classes.tolist() != labels:
        raise ValueError(f"classes are not of dtype {state['class_dtype']}")
    return classes


def read_encoder(state: Mapping[str, Any]) -> ColumnEncoder:
    """Return the encoder that :func:`encoder_state` described; invalid descriptions are errors."""
    encoder = state["encoder"]
    features = {variable["name"] for variable in state["variables"]} - {state["target"]}
    if set(encoder["names"]) != features or not set(encoder["numeric"]) <= features:
        raise ValueError("the features of the encoder are not those of the network")
    states = {variable["name"]: variable["states"] for variable in state["variables"]}
    for name, label in encoder["missing_states"].items():
        if name not in features or not isinstance(label, str) or label not in states[name]:
            raise ValueError(f"{label!r} stands for missing in {name!r}, and is not among its states")
    of_missing = encoder["missing_states"]
    values = {name: tuple(x for x in labels if x != of_missing.get(name)) for name, labels in states.items()}
    return ColumnEncoder(
        tuple(encoder["names"]),
        tuple(encoder["numeric"]),
        discretizer_from_json(encoder["discretizer"], encoder["numeric"]),
        dict(encoder["missing_states"]),
        _read_classes(state, states[state["target"]]),
        **read_columns(encoder, values),
    )


def read_columns(encoder: Mapping[str, Any], states: Mapping[str, tuple[State, ...]]) -> dict[str, Any]:
    """Return the decisions about columns; without any, the columns are the features."""
    names = encoder["names"]
    dates = {str(name): dict(parts) for name, parts in encoder.get("dates", {}).items()}
    left_out = {str(name): str(reason) for name, reason in encoder.get("left_out", {}).items()}
    columns = [str(name) for name in encoder.get("columns", names)]
    made = [part for name in columns if name not in left_out for part in dates.get(name, {name: name}).values()]
    if sorted(made) != sorted(names) or len(set(columns)) < len(columns) or not {*left_out, *dates} <= set(columns):
        raise ValueError(f"the columns {columns} do not make the features {names}")
    if not all(parts and (set(parts) == {SECONDS} or set(parts) <= set(PARTS)) for parts in dates.values()):
        raise ValueError(f"invalid parts of points in time: {dates}")
    zones = {str(name): zone for name, zone in encoder.get("zones", {}).items()}
    if not zones.keys() <= dates.keys() or not all(map(is_zone, zones.values())):
        raise ValueError(f"invalid time zones of points in time: {zones}")
    whole, pooled = ({name: states[name] for name in encoder.get(key, ())} for key in ("whole", "pooled"))
    for name, numbers in whole.items():
        if not numbers or any(isinstance(x, str) for x in numbers) or list(numbers) != sorted(set(numbers)):
            raise ValueError(f"the states of {name!r}, {numbers}, are not ascending numbers")
    if not {*whole, *pooled} <= set(names) or not all(pooled.values()):
        raise ValueError("the features with whole numbers or pooled states are none of the network")
    described = {"columns": tuple(columns), "left_out": left_out, "dates": dates, "zones": zones}
    return {**described, "whole": whole, "pooled": pooled}
