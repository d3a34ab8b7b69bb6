"""What a network file says of the columns that its variables come from, so that a model that comes back takes raw rows.

A variable's properties hold its cuts (``bnplug_cuts``), how other values become states (``bnplug_kind``) and the state
of missing cells (``bnplug_missing``); the network's ``bnplug_columns`` holds columns that are no variables.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from bnplug.data.bins import bin_labels
from bnplug.data.coding import State, as_array
from bnplug.data.discretize import discretizer_from_json
from bnplug.data.intake import Intake
from bnplug.errors import ModelFileError
from bnplug.exchange._json import parse_json
from bnplug.exchange._network_state import read_columns
from bnplug.exchange.names import TARGET, SafeVariable, decode, encode
from bnplug.model.log_tables import LogTables

CUTS, KIND, MISSING, COLUMNS = "bnplug_cuts", "bnplug_kind", "bnplug_missing", "bnplug_columns"

# A variable that has numbers in one bin has no cuts.
_NO_CUTS = "none"


def with_raw_columns(variables: Mapping[str, SafeVariable], intake: Intake | None) -> dict[str, SafeVariable]:
    """Return variables, by true name, with the properties that say what raw values their states stand for."""
    if intake is None:
        return dict(variables)
    cuts = intake.cut_points
    return {
        name: variable._replace(properties={**variable.properties, **_of_variable(name, intake, cuts.get(name))})
        for name, variable in variables.items()
    }


def network_properties(tables: LogTables, intake: Intake | None) -> dict[str, str]:
    """Return the properties of a network: which variable is the class, and the columns that are no variables."""
    said = {} if tables.target is None else {TARGET: encode(tables.target)}
    if intake is not None and intake.columns != intake.names:
        own = {"columns": intake.columns, "left_out": intake.left_out, "dates": intake.dates}
        said[COLUMNS] = encode(json.dumps(own))
    return said


def raw_columns(
    tables: LogTables, variables: Mapping[str, Mapping[str, str]], network: Mapping[str, str], target: str
) -> Intake:
    """Return how raw rows become the states of a network that was read.

    Parameters
    ----------
    tables : LogTables
    variables : mapping of str to mapping of str to str
        The properties of each variable, by its true name.
    network : mapping of str to str
        The properties of the network.
    target : str
        The class, which need not be the one that the file names.

    Raises
    ------
    ModelFileError
        If a property is damaged; the message names it.
    """
    features = tuple(name for name in tables.names if name != target)
    missing = {name: _missing_state(name, variables[name], tables.states[name]) for name in features}
    missing_states = {name: label for name, label in missing.items() if label is not None}
    values = {
        name: tuple(label for label in tables.states[name] if label != missing_states.get(name)) for name in features
    }
    cuts = {name: _cuts(name, variables[name], values[name], TARGET in network) for name in features}
    numeric = tuple(name for name in features if cuts[name] is not None)
    given: dict[str, Any] = {"name": None, "params": {}, "cut_points": [cuts[name] for name in numeric]}
    kinds = {name: variables[name].get(KIND) for name in features}
    said: dict[str, Any] = {"names": features, **_columns(network, target)}
    said |= {kind: [name for name in features if kinds[name] == kind] for kind in ("whole", "pooled")}
    try:
        columns = read_columns(said, values)
        made = discretizer_from_json(given if numeric else None, numeric)
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise ModelFileError(f"the bnplug properties of its columns are damaged: {error}") from None
    return Intake(features, numeric, made, missing_states, as_array(tables.states[target]), **columns)


def _of_variable(name: str, intake: Intake, cuts: npt.ArrayLike | None) -> dict[str, str]:
    properties = {}
    if cuts is not None:
        properties[CUTS] = ",".join(map(repr, np.asarray(cuts, dtype=np.float64).tolist())) or _NO_CUTS
    for kind, names in (("whole", intake.whole), ("pooled", intake.pooled)):
        if name in names:
            properties[KIND] = kind
    if name in intake.missing_states:
        properties[MISSING] = encode(intake.missing_states[name])
    return properties


def _missing_state(name: str, properties: Mapping[str, str], states: Sequence[State]) -> str | None:
    if MISSING not in properties:
        return None
    try:
        label = decode(properties[MISSING])
    except ValueError:
        label = None
    if label not in states:
        raise ModelFileError(
            f"variable {name!r} has a damaged property {MISSING}, no state of it: {properties[MISSING][:60]!r}"
        )
    return label


def _cuts(name: str, properties: Mapping[str, str], labels: Sequence[State], is_ours: bool) -> list[float] | None:
    """Return the cuts of a numeric variable: by its property or, in our files of earlier versions, by its labels."""
    if CUTS not in properties:
        told = _cuts_in_labels(labels) if is_ours else []
        return told if told and bin_labels(told) == list(labels) else None
    text = properties[CUTS]
    try:
        cuts = [] if text == _NO_CUTS else [float(cut) for cut in text.split(",")]
        if bin_labels(cuts) == list(labels):
            return cuts
    except ValueError:
        pass
    raise ModelFileError(f"variable {name!r} has a damaged property {CUTS}: {text[:60]!r}")


def _cuts_in_labels(labels: Sequence[State]) -> list[float]:
    """Return the numbers that labels such as ``<=5.45``, ``5.45..6.15`` and ``>6.15`` begin with; none for others."""
    lower = [str(label).removeprefix(">").partition("..")[0] for label in labels[1:]]
    try:
        return [float(text) for text in lower]
    except ValueError:
        return []


def _columns(network: Mapping[str, str], target: str) -> dict[str, Any]:
    """Return what the network says of columns, if its class is still the same."""
    if COLUMNS not in network or network.get(TARGET) != encode(target):
        return {}
    try:
        said = parse_json(decode(network[COLUMNS]))
        return {key: said[key] for key in ("columns", "left_out", "dates")}
    except (ValueError, TypeError, KeyError, RecursionError):
        raise ModelFileError(f"the network has a damaged property {COLUMNS}: {network[COLUMNS][:60]!r}") from None
