"""From which difference on an alarm is medium or large."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pandas as pd

#: Population stability indices of a feature.
MEDIUM, LARGE = 0.1, 0.25

#: Total variations of a conditional table.
MEDIUM_VARIATION, LARGE_VARIATION = 0.1, 0.2

#: Differences between shares of missing cells.
MEDIUM_MISSING, LARGE_MISSING = 0.05, 0.2


def size(value: float, medium: float, large: float) -> str:
    """Return "large", "medium" or "small"."""
    return "large" if value >= large else "medium" if value >= medium else "small"


def records(frame: pd.DataFrame) -> Iterator[Any]:
    """Yield the rows of a frame, whose cells are attributes."""
    yield from frame.itertuples(index=False)
