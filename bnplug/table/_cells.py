"""Cells of a column as training sees them: rows in memory, or distinct cells with their frequencies."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from bnplug.table.coding import Codes
from bnplug.table.column_summary import ColumnSummary
from bnplug.typing import BoolArray, FloatArray, IntArray

_MISSING_TEXT = {"", "?", ".", "na", "n/a", "#n/a", "<na>", "nan", "nat", "null"}


class Cells(NamedTuple):
    """Cells of one column, with the class and the total weight of each.

    Decisions about a column depend only on how often each value occurs with each class. Data larger than memory are
    therefore given as distinct cells. `repeats` is the number of rows that each cell represents, by default 1;
    `n_distinct` is set if the cells do not include all distinct values, `merged` if distinct whole numbers became the
    same float; `zone` is the time zone of a part of points in time.
    """

    column: pd.Series[Any]
    labels: Codes | None = None
    weights: FloatArray | None = None
    repeats: IntArray | None = None
    n_distinct: float | None = None
    merged: bool = False
    zone: str | None = None

    def n_rows(self, which: BoolArray) -> float:
        """Return the number of rows of some cells, or their total weight if that is larger."""
        n_rows = float(count_rows(which, self.repeats))
        return n_rows if self.weights is None else max(n_rows, float(self.weights[which].sum()))

    def summary(self, name: str, numbers: FloatArray, supervised: bool) -> ColumnSummary:
        """Return the summary of a column of numbers, by class if `supervised`; rows without a class are omitted."""
        cells: list[Any] = [numbers, self.labels, self.weights, self.repeats]
        if self.labels is not None and self.labels.min(initial=0) < 0:
            cells = [None if cell is None else cell[self.labels >= 0] for cell in cells]
        values, labels, weights, rows = cells
        return ColumnSummary.of(values, labels if supervised else None, weights, rows, name)


#: The cells of a column, or of each part of a column of points in time.
Seen = Cells | Mapping[str, Cells]


def cells_of(frame: pd.DataFrame, labels: Codes | None = None, weights: FloatArray | None = None) -> dict[str, Cells]:
    """Return the cells of the columns of a frame, by name."""
    return {str(name): Cells(column, labels, weights) for name, column in frame.items()}


def count_rows(which: BoolArray, repeats: IntArray | None) -> int:
    """Return the number of rows that some cells represent."""
    return int(np.count_nonzero(which) if repeats is None else repeats[which].sum())


def rows_by_number(numbers: Codes, repeats: npt.NDArray[Any] | None, size: int) -> FloatArray:
    """Return the number of rows of each code; negative codes are ignored."""
    present = numbers >= 0
    return np.bincount(numbers[present], None if repeats is None else repeats[present], size).astype(np.float64)


def unlike(label: str, taken: set[str]) -> str:
    """Return `label`, with underscores appended until it is not among `taken`."""
    while label in taken:
        label += "_"
    return label


def missing_text(states: Iterable[object]) -> list[str]:
    """Return the texts that usually stand for a missing cell; ``None`` is more often a value."""
    return [state for state in states if isinstance(state, str) and state.strip().casefold() in _MISSING_TEXT]


def similar_text(states: Iterable[object]) -> tuple[str, str] | None:
    """Return two texts that differ only in spaces or, if longer than a letter, in case; None if there are none."""
    first: dict[str, str] = {}
    for state in (state for state in states if isinstance(state, str)):
        words = " ".join(state.split())
        other = first.setdefault(words.casefold() if len(words) > 1 else words, state)
        if other != state:
            return other, state
    return None
