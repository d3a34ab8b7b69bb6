"""What becomes of missing cells in training: one way for all columns, or one for each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from bnplug.errors import BnplugWarning, did_you_mean, warn_outside

#: The ways to train with missing cells.
WAYS = ("ignore", "em", "drop", "value", "error")

#: The ways that are of the whole table: how it is learned from where cells stay missing.
_WHOLE_TABLE = ("ignore", "em")

#: The key of all columns that a dict does not name.
_OTHERS = "*"


@dataclass(frozen=True)
class MissingCells:
    """The way of every column, as the parameter ``missing`` of a classifier says it.

    Attributes
    ----------
    others : str
        The way of columns that are not named.
    named : mapping of str to str
        The way of those that are.

    Examples
    --------
    >>> cells = MissingCells.of({"age": "value", "*": "em"})
    >>> cells["age"], cells["name"], cells.incomplete
    ('value', 'em', 'em')
    """

    others: str
    named: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, missing: Any) -> MissingCells:
        """Return what `missing`, a way or a dict of them by column, says.

        Raises
        ------
        ValueError
            If it names something else, or two ways that are of the whole table.
        """
        if isinstance(missing, MissingCells):
            return missing
        if not isinstance(missing, Mapping):
            _check_way(missing, f"missing={missing!r}")
            return cls(missing)
        for name, way in missing.items():
            _check_way(way, f"missing={dict(missing)!r}: for {name!r}, {way!r}")
        whole = {way for way in missing.values() if way in _WHOLE_TABLE}
        others = missing.get(_OTHERS, next(iter(whole), "ignore"))
        if len(whole) > 1:
            raise ValueError(
                f'missing={dict(missing)!r}: "ignore" and "em" are of the whole table, so that only one of them can '
                'be there; {"a": "value", "*": "em"} makes a state of what is missing in the column "a", and learns '
                "from all other columns by EM"
            )
        return cls(others, {str(name): way for name, way in missing.items() if name != _OTHERS})

    def __getitem__(self, column: str) -> str:
        return self.named.get(column, self.others)

    @property
    def incomplete(self) -> str:
        """How rows in which cells stay missing are learned from: "em" or "ignore"."""
        return "em" if "em" in (self.others, *self.named.values()) else "ignore"

    @property
    def drops(self) -> bool:
        """Whether rows are left out where some column is missing."""
        return "drop" in (self.others, *self.named.values())

    def columns(self, way: str, among: Iterable[str]) -> list[str]:
        """Return those columns `among` some that go this way."""
        return [name for name in among if self[name] == way]

    def check_names(self, columns: Iterable[str]) -> None:
        """Raise a ``ValueError`` where a column is named that is not there."""
        there = list(columns)
        for name in self.named:
            if name not in there:
                raise ValueError(f"missing names the column {name!r}, which is not there.{did_you_mean(name, there)}")


def _report_dropped(n_rows: int, n_kept: int, lost: Iterable[object]) -> None:
    """Warn if dropping incomplete rows removed all rows of some classes, or more than half of the rows."""
    classes = ", ".join(map(repr, lost))
    if not classes and 2 * n_kept >= n_rows:
        return
    without = f", and none of class {classes}" if classes else ""
    warn_outside(
        f'missing="drop" keeps {n_kept:,} of {n_rows:,} rows{without}. missing="ignore" and missing="em" use all rows',
        BnplugWarning,
    )


def _check_way(way: Any, said: str) -> None:
    if not isinstance(way, str) or way not in WAYS:
        raise ValueError(f"{said} is not one of {list(WAYS)}")
