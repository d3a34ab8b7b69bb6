"""What is wrong with columns that become a table, and with new rows that are coded by its states."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from bnplug.data.coding import MISSING, UNSEEN, Coded, Codes, State
from bnplug.data.kinds import floats_of, refuse_infinities
from bnplug.errors import UnseenValueWarning, warn_outside

if TYPE_CHECKING:
    import pandas as pd


def check_frame(frame: pd.DataFrame, target: str) -> None:
    """Refuse a frame that nothing can be learned from."""
    if target not in frame.columns:
        raise ValueError(f"target {target!r} is not a column; there are {list(frame.columns)}")
    if len(frame) == 0:
        raise ValueError("the data have no rows (or none with a positive weight)")
    if frame.shape[1] < 2:
        raise ValueError(f"there is no feature: {target!r}, the target, is the only column")
    refuse_infinities(floats_of(frame))


def check_states(states: Mapping[str, Sequence[State]], target_codes: Codes, target: str) -> None:
    """Refuse columns without any value, and rows without a class."""
    empty = [name for name, labels in states.items() if not labels]
    if empty:
        raise ValueError(f"columns {empty} have no value at all; drop them")
    absent = int((target_codes == MISSING).sum())
    if absent:
        raise ValueError(f"the target {target!r} is missing in {absent} row(s); drop those rows")


def report_unseen(name: str, column: pd.Series[Any] | Coded, codes: Codes, unseen: str) -> None:
    """Tell of values that are no states: by a warning, or an error where `unseen` says so."""
    where = codes == UNSEEN
    if not where.any():
        return
    if isinstance(column, Coded):
        values = [column.states[code] for code in dict.fromkeys(column.codes[where].tolist())]
    else:
        values = column[where].drop_duplicates().tolist()
    shown = ", ".join(repr(value) for value in values[:3]) + (", ..." if len(values) > 3 else "")
    message = f"column {name!r}: {shown} not seen in training"
    if unseen == "error":
        raise ValueError(f'{message}; unseen="missing" would treat it as missing')
    warn_outside(f"{message}; treated as missing", UnseenValueWarning)
