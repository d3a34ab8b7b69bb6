"""Model folders of versions 1 and 2, in the form of those that are written today.

They have the parameters that predicting depends on, and the text of the components; what else made the model is not
known, so that it is not fitted again by mistake with something else.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from bnplug.exchange._parameters import OLDER_FORMATS, parameters_to_json
from bnplug.hooks import registry
from bnplug.hooks.descriptors import name_and_parameters
from bnplug.hooks.expressions import Expression, parse

# Constructor parameters that these versions have.
_KEPT = ("missing", "unseen", "max_parameters", "max_clique_size")

# What a model depends on and they have not.
_LOST = ("categorical_features", "class_weight", "random_state")


def from_older(index: Mapping[str, Any]) -> dict[str, Any]:
    """Return an index of version 1 or 2 as version 3 has it."""
    variables = index["variables"]
    edges = [(parent, variable["name"]) for variable in variables for parent in variable["parents"]]
    params: dict[str, Any] = {name: index["settings"][name] for name in _KEPT}
    for part, text in index["made"].items():
        given = edges if part == "structure" else "ml"
        params[str(part)] = _component(str(part), str(text), given)
    reason = OLDER_FORMATS[index["version"]]
    lost = {name: {"is": "unsaved", "written": "unknown", "reason": reason} for name in _LOST}
    keys = ("made", "target", "class_dtype", "named", "variables", "intake")
    return {
        "method": None,
        "params": {**{name: _as_json(name, value) for name, value in params.items()}, **lost},
        "state": {**{key: index[key] for key in keys}, "components": []},
        "arrays": [{"name": str(i)} for i in range(len(variables))],
    }


def _component(part: str, text: str, given: Any) -> Any:
    """Return the component that a text means: a name, or a name with parameters that are literals."""
    if text == "given":
        return given
    if _is_registered(part, text) or text == "none":
        return text
    with suppress(ValueError):
        parsed = parse(text)
        if parsed.structure is not None and parsed == Expression(parsed.structure):
            # Parsing drops empty parentheses.
            name, params = name_and_parameters(parsed.structure)
            if _is_registered(part, name):
                return name, params
    return {"is": "unsaved", "written": text}


def _as_json(name: str, value: Any) -> Any:
    return value if isinstance(value, dict) else parameters_to_json({name: value})[name]


def _is_registered(part: str, name: str) -> bool:
    return part in registry.NESTED and name in map(registry.name_of, registry.methods(registry.NESTED[part]))
