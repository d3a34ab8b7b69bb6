"""Check given structures and the results of learners; errors name the learner."""

from __future__ import annotations

from typing import Any

from bnplug.errors import ConstantPredictionWarning, ContractError, warn_outside
from bnplug.hooks.registry import origin
from bnplug.model.log_tables import LogTables
from bnplug.structure import Learned, Structure
from bnplug.table.table import Table


def warn_of_constant_prediction(table: Table, structure: Structure) -> None:
    """Warn if the class has neither parents nor children in a learned structure."""
    target = table.target_index
    if structure.parents[target] or structure.children[target]:
        return
    warn_outside(
        f"No feature affects the prediction: in the learned structure, the class {table.target!r} has neither parents "
        "nor children, so every row is predicted by the class prior. Start the search from naive Bayes (start='nb'), "
        "choose another score, or use structure='nb' or 'tan'",
        ConstantPredictionWarning,
    )


def check_learned(result: Any, table: Table, learner: object) -> Learned:
    """Return the result of ``learn``, over the variables of the table; raise a ``ContractError`` if it is invalid."""
    try:
        return Learned.of(result, table)
    except (TypeError, ValueError) as error:
        what = (
            "a Learned with a wrong part" if isinstance(result, Learned) else "no structure over the table's variables"
        )
        raise ContractError(f"{origin(learner)}: learn returned {what}: {error}") from error


def check_tables(tables: Any, table: Table, structure: Structure, learner: object) -> LogTables:
    """Return the result of ``fit``, normalized if the structure is C1; raise a ``ContractError`` if it is invalid."""
    if not isinstance(tables, LogTables):
        raise ContractError(f"{origin(learner)}: fit returned a {type(tables).__name__}, not LogTables")
    if tables.names != table.names or tables.states != table.states:
        raise ContractError(f"{origin(learner)}: the parameters' variables or states are not the table's")
    for v, name in enumerate(table.names):
        expected = tuple(table.names[p] for p in structure.parents[v])
        if tables.tables[name].parents != expected:
            raise ContractError(
                f"{origin(learner)}: {name!r} has parents {tables.tables[name].parents}; the structure: {expected}"
            )
    checked = tables.with_target(table.target)
    if not checked.normalized and structure.is_c1(table.target):
        return checked.normalize()
    return checked
