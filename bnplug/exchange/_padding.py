"""Variables of one state in formats whose readers demand two: a second state, which is impossible."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from bnplug.arrays import FloatArray
from bnplug.data.coding import State
from bnplug.errors import NotRepresentableError
from bnplug.exchange.names import STATES, SafeVariable, encode_labels
from bnplug.model.log_tables import LogTables

# Cells that tables with a second state for each variable of one state may have, all of them together.
_MAX_CELLS = 1_000_000


def padded(
    tables: LogTables, variables: Mapping[str, SafeVariable], format_name: str
) -> tuple[dict[str, SafeVariable], dict[str, FloatArray]]:
    """Return the variables, by true name, and their probabilities, with two states where there is but one.

    Raises
    ------
    NotRepresentableError
        If a table is not normalised, or the second states make tables too large.
    """
    probabilities = tables.probabilities()
    single = {name for name in tables.names if len(tables.states[name]) == 1}
    _check_size(tables, single, format_name)
    own = {name: _variable(v, tables.states[name]) if name in single else v for name, v in variables.items()}
    for name, table in tables.tables.items():
        probabilities[name] = _table(probabilities[name], [v in single for v in (name, *table.parents)])
    return own, probabilities


def _variable(variable: SafeVariable, states: tuple[State, ...]) -> SafeVariable:
    unused = "unused" if variable.labels != ["unused"] else "unused_2"
    properties = variable.properties | {STATES: encode_labels(states)}
    return SafeVariable(variable.name, [*variable.labels, unused], properties)


def _check_size(tables: LogTables, single: set[str], format_name: str) -> None:
    """Refuse tables that second states would make too large, before any of them is made."""
    numbers = {name: len(single.intersection((name, *table.parents))) for name, table in tables.tables.items()}
    sizes = {name: tables.tables[name].values.size << number for name, number in numbers.items() if number}
    if sum(sizes.values()) > _MAX_CELLS:
        name = max(sizes, key=sizes.__getitem__)
        raise NotRepresentableError(
            f"{name!r} and its parents have {numbers[name]} variables of one state, each of which {format_name} gives "
            f"a second one: a table of 2^{numbers[name]} x {tables.tables[name].values.size:,} numbers, and "
            f"{_MAX_CELLS:,} is the most for all such tables; leave out columns of one state, or write XMLBIF"
        )


def _table(values: FloatArray, is_single: list[bool]) -> FloatArray:
    """Give the impossible states their part of a table: probability zero, and any distribution below them."""
    for axis, single in enumerate(is_single):
        if single:
            values = np.repeat(values, 2, axis=axis)
            if axis == 0:
                values[1] = 0.0
    return values
