"""Evidence as users write it, encoded as the codes and likelihoods that engines take."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast
from weakref import WeakKeyDictionary

import numpy as np
import pandas as pd

from bnplug.table.encoder import ColumnEncoder
from bnplug.table.table import Table
from bnplug.typing import CodeArray, FloatArray

#: The code of a state, or a likelihood for each state of a variable.
Finding = int | FloatArray


def encode_evidence(evidence: Mapping[str, Any] | None, encoder: ColumnEncoder, schema: Table) -> dict[str, Finding]:
    """Return the findings of `evidence`, by name: a value is a state, a dict of state to likelihood soft evidence."""
    given = dict(evidence or {})
    codes = _KNOWN.setdefault(encoder, _Codes(schema))
    if codes.schema is not schema:
        codes = _KNOWN[encoder] = _Codes(schema)
    known = {name: codes.get(name, value) for name, value in given.items()}
    if None not in known.values():
        return cast("dict[str, Finding]", known)
    soft = {name: value for name, value in given.items() if isinstance(value, Mapping)}
    hard = encoder.encode_evidence({name: value for name, value in given.items() if name not in soft}, schema)
    findings: dict[str, Finding] = {}
    for name in given:
        if name in soft:
            findings[name] = weights = likelihood(name, soft[name], encoder, schema)
            if not weights.any():
                raise ValueError(
                    f"evidence {name!r}: every likelihood is 0; give at least one state a positive likelihood"
                )
        else:
            parts = [name] if name in hard else encoder.dates[name].values()
            findings |= {part: hard[part] for part in parts if part in hard}
            if name in hard:
                codes.add(name, given[name], hard[name])
    return findings


class _Codes:
    """The codes of findings that were encoded before, for a schema: encoding takes longer than most answers."""

    def __init__(self, schema: Table) -> None:
        self.schema, self._codes = schema, dict[tuple[str, type, Any], int]()

    def get(self, name: str, value: Any) -> int | None:
        """Return the code of a value, None if it is not known."""
        return self._codes.get((name, type(value), value)) if type(value) in _PLAIN else None

    def add(self, name: str, value: Any, code: int) -> None:
        """Keep the code of a value, unless it is 0, which equals -0.0, or there are too many."""
        if type(value) in _PLAIN and value != 0 and len(self._codes) < _MOST_CODES:
            self._codes[name, type(value), value] = code


_PLAIN, _MOST_CODES = (str, int, float), 10_000

_KNOWN: WeakKeyDictionary[ColumnEncoder, _Codes] = WeakKeyDictionary()


def likelihood(name: str, given: Mapping[Any, Any], encoder: ColumnEncoder, schema: Table) -> FloatArray:
    """Return soft evidence on a variable as a likelihood of each of its states."""
    if name in encoder.dates:
        raise ValueError(
            f"evidence {name!r}: a likelihood must be of one feature: one of {[*encoder.dates[name].values()]}"
        )
    states = schema.states[schema.names[schema.index(name)]]
    result = np.full(len(states), np.nan)
    for value, weight in given.items():
        code = encoder.encode_evidence({name: value}, schema)[name]
        if not np.isnan(result[code]):
            raise ValueError(
                f"evidence {name!r}: the state {states[code]!r} is given two likelihoods, one as {value!r}"
            )
        number = isinstance(weight, int | float | np.integer | np.floating) and not isinstance(weight, bool)
        if not number or not 0 <= weight < np.inf:
            raise ValueError(
                f"evidence {name!r}: the likelihood of {value!r} is {weight!r}; give a number of at least 0"
            )
        result[code] = weight
    absent = [state for state, weight in zip(states, result, strict=True) if np.isnan(weight)]
    if absent:
        raise ValueError(f"evidence {name!r}: no likelihood of {absent}; say 0 for a state that is ruled out")
    return result


def encode_rows(
    frame: pd.DataFrame, encoder: ColumnEncoder, schema: Table, unseen: str
) -> tuple[CodeArray, dict[int, Any]]:
    """Return the codes of rows of evidence, and by row what they say softly: cells that are dicts of likelihoods."""
    for name in frame.columns:
        if name not in encoder.left_out and name not in encoder.dates:
            schema.index(name)
    soft: dict[int, dict[str, FloatArray]] = {}
    plain: dict[Any, pd.Series[Any]] = {}
    for column_name, column in frame.items():
        name = str(column_name)
        dicts = np.array([isinstance(cell, Mapping) for cell in column] if column.dtype == object else [], dtype=bool)
        for m in map(int, np.flatnonzero(dicts)):
            soft.setdefault(m, {})[name] = likelihood(name, column.iloc[m], encoder, schema)
        plain[name] = column.mask(dicts).infer_objects() if dicts.any() else column
    codes = encoder.encode(pd.DataFrame(plain, index=frame.index), schema, unseen).copy()
    for m, likelihoods in soft.items():
        codes[[schema.index(name) for name in likelihoods], m] = schema.missing
    return codes, soft
