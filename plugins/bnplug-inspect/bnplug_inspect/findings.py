"""What a check reports: findings, and the lines that repair what can be repaired."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

#: From the gravest on.
SEVERITIES = ("high", "medium", "low")

#: The kinds of findings, with a short description of each.
KINDS = {
    "leak": "a column or a pair of columns that determines the class",
    "copy": "a copy, or nearly a copy, of another column",
    "identifier": "a column that identifies rows",
    "constant": "a column with one value, or none",
    "missing-marker": "text that stands for a missing value",
    "units": "numbers with a unit",
    "thousands": "numbers with separators of thousands",
    "decimal-comma": "numbers with decimal commas",
    "numbers-in-text": "numbers among other text, or written as text",
    "spelling": "several spellings of one value",
    "dates": "dates that are not in one standard format",
    "sentinel": "a number that stands for a missing or impossible value",
    "duplicates": "rows that occur several times",
    "contradictions": "equal rows with different classes",
    "imbalance": "a class with few rows",
    "missing-class": "rows without a class",
    "missing-by-class": "missing cells that depend on the class",
    "rare-states": "states with few rows",
    "free-text": "text that differs in nearly every row",
    "sorted": "rows in the order of a column",
}


@dataclass(frozen=True)
class Fix:
    """How to repair a column: options of the reader and of ``fit``, and lines of pandas for the rest.

    Attributes
    ----------
    missing : tuple of str
        Texts to read as missing.
    decimal : str
        The decimal separator of the file, if it is not a point.
    drop : tuple of str
        Columns to leave out.
    rules : dict
        Options of :class:`bnplug.ColumnRules`, by column for ``missing``.
    lines : tuple of str
        Lines of Python that change the frame ``data``.
    """

    missing: tuple[str, ...] = ()
    decimal: str = ""
    drop: tuple[str, ...] = ()
    rules: Mapping[str, object] = field(default_factory=dict)
    lines: tuple[str, ...] = ()


@dataclass(frozen=True)
class Finding:
    """One problem of a data set.

    Attributes
    ----------
    kind : str
        A key of ``bnplug_inspect.KINDS``.
    columns : tuple of str
        The columns; none for a problem of the rows.
    severity : str
        "high": a model trained on this would be wrong or misleading. "medium": it would be worse than it could be.
        "low": worth knowing.
    evidence : str
        What was observed, with numbers.
    advice : str
        What to do.
    fix : Fix
        How to repair it, if it can be repaired.
    """

    kind: str
    columns: tuple[str, ...]
    severity: str
    evidence: str
    advice: str
    fix: Fix = field(default_factory=Fix, compare=False)

    @property
    def column(self) -> str:
        """The names of the columns in one text."""
        return " + ".join(self.columns)

    def to_dict(self) -> dict[str, object]:
        """Return the finding as JSON holds it."""
        parts = ("kind", "severity", "evidence", "advice")
        return {"columns": list(self.columns), **{name: getattr(self, name) for name in parts}}
