"""How the commands of ``bnplug`` read data: the options that they share, and rows as a model takes them."""

from __future__ import annotations

import csv
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bnplug.cli._opening import STANDARD
from bnplug.errors import did_you_mean

if TYPE_CHECKING:
    import pandas as pd

    from bnplug.classifier._rows import Rows

_KINDS = ("text", "number", "date")

# A day, perhaps with a time, as ISO 8601 writes it.
_DATE = r"\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}(:\d{2}(\.\d+)?)?)?"
# Characters that a shell hands on as they are typed.
_SEPARATORS = {"\\t": "\t", "tab": "\t"}

data_argument = click.argument("data", type=click.Path(path_type=Path))


@dataclass(frozen=True)
class Reading:
    """What a user says of a data file.

    Attributes
    ----------
    missing : sequence of str
        What stands for a missing value, besides an empty field.
    kinds : dict of str to str
        Columns that are read as ``"text"``, ``"number"`` or ``"date"``, whatever they look like.
    sep, encoding
        Those of a CSV file.
    """

    missing: Sequence[str] = ()
    kinds: dict[str, str] = field(default_factory=dict)
    sep: str = ","
    encoding: str | None = None

    def frame(self, data: Path, known: Mapping[str, str] | None = None) -> pd.DataFrame:
        """Read a file, or standard input; `known` are kinds of columns where the user says nothing.

        Where nothing is known, a column of nothing but dates, as ISO 8601 writes them, is one of dates.
        """
        from bnplug.data.files import read_data
        from bnplug.data.frames import to_frame

        source = sys.stdin.buffer.read() if data == STANDARD else data
        frame = to_frame(read_data(source, **self.options(known)), str(data))
        check_columns(self.kinds, frame, "--dtype", data)
        if known is None:
            known = {str(name): "date" for name, column in frame.items() if _are_dates(column)}
        return self.converted(frame, [name for name, kind in known.items() if kind == "date"])

    def options(self, known: Mapping[str, str] | None = None) -> dict[str, Any]:
        """Return the options of :func:`bnplug.data.files.read_data`."""
        kinds = {**(known or {}), **self.kinds}
        return {
            "text": [name for name, kind in kinds.items() if kind != "number"],
            "numbers": [name for name, kind in kinds.items() if kind == "number"],
            "missing": self.missing,
            "sep": self.sep,
            "encoding": self.encoding,
        }

    def in_batches(self, known: Mapping[str, str] | None) -> dict[str, Any]:
        """Return the options of :class:`bnplug.data._streaming.DataFiles`; `known` are kinds as for :meth:`frame`."""
        dates = None if known is None else [name for name, kind in known.items() if kind == "date"]
        return {**self.options(known), "dates": dates, **({"convert": self.converted} if self.kinds else {})}

    def converted(self, frame: pd.DataFrame, dates: Iterable[str] = ()) -> pd.DataFrame:
        """Return a frame whose columns are of the kinds that the user says; `dates` are dates if they say nothing."""
        kinds = {**dict.fromkeys(dates, "date"), **self.kinds}
        return frame.assign(**{name: _converted(frame[name], kind) for name, kind in kinds.items() if name in frame})


def reading_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options of a :class:`Reading`, which it gets as ``reading``."""

    @wraps(command)
    def wrapped(*, na: Sequence[str], dtype: Sequence[str], sep: str, encoding: str | None, **others: Any) -> Any:
        kinds = dict(_name_and_kind(text) for text in dtype)
        return command(reading=Reading(na, kinds, _SEPARATORS.get(sep, sep), encoding), **others)

    options = [
        click.option("--na", multiple=True, help="Text that stands for a missing value, besides an empty field."),
        click.option(
            "--dtype", multiple=True, metavar="NAME=KIND", help="Read a column as text, number or date: zip=text."
        ),
        click.option("--sep", default=",", show_default=True, help="What separates the fields of a CSV file, or tab."),
        click.option("--encoding", help="The encoding of a CSV file.  [default: UTF-8]"),
    ]
    made: Callable[..., Any] = wrapped
    for option in reversed(options):
        made = option(made)
    return made


def listed(texts: Iterable[str]) -> list[str]:
    """Return the names in options such as ``--drop id,name``; a name with a comma is quoted.

    Examples
    --------
    >>> listed(["id, name", '"a,b"'])
    ['id', 'name', 'a,b']
    """
    return [name.strip() for row in csv.reader(texts, skipinitialspace=True) for name in row if name.strip()]


def check_columns(names: Iterable[str], frame: pd.DataFrame, option: str, data: Path) -> None:
    """Raise a ``ValueError`` if an option names a column that is not there."""
    check_names(names, list(frame.columns), option, data)


def check_names(names: Iterable[str], columns: Sequence[str], option: str, data: Path) -> None:
    """Raise a ``ValueError`` if an option names a column that is not there."""
    for name in names:
        if name not in columns:
            hint = did_you_mean(name, columns)
            raise ValueError(
                f"{data}: {option} names {name!r}, and there is no such column.{hint} There are {list(columns)}"
            )


def chosen_columns(frame: pd.DataFrame, keep: Sequence[str], drop: Sequence[str], data: Path) -> pd.DataFrame:
    """Return the features that ``--keep`` and ``--drop`` leave."""
    check_columns(keep, frame, "--keep", data)
    check_columns(drop, frame, "--drop", data)
    left = [name for name in frame.columns if (not keep or name in keep) and name not in drop]
    if not left:
        raise ValueError(f"{data}: --keep and --drop leave no feature of {list(frame.columns)}")
    return frame[left]


def take_target(frame: pd.DataFrame, target: str, data: Path) -> tuple[pd.DataFrame, pd.Series[Any]]:
    """Return the features and the class, in the column `target`."""
    if target not in frame.columns:
        hint = " Is it separated by something else: --sep?" if frame.shape[1] == 1 else ""
        raise ValueError(f"{data}: target {target!r} is not a column; there are {list(frame.columns)}.{hint}")
    return frame.drop(columns=target), frame[target]


def read_rows(model: Any, data: Path, reading: Reading, target: str | None = None, ids: Sequence[str] = ()) -> Rows:
    """Read rows for a model: what it knows as text stays text, and columns that it does not know are left out."""
    from bnplug.classifier._rows import kinds_for, rows_for

    target = target or getattr(model, "target_", None)
    frame = reading.frame(data, kinds_for(model, target, ids))
    check_columns(ids, frame, "--id", data)
    return rows_for(model, frame, target, ids)


def read_labelled(model: Any, data: Path, reading: Reading, target: str | None = None) -> tuple[Any, Any]:
    """Read rows and their class, in the column that the model names or that is given."""
    rows = read_rows(model, data, reading, target)
    check_labelled(model, rows, data, target)
    return rows.X, rows.y


def check_labelled(model: Any, rows: Rows, data: Path, target: str | None) -> None:
    """Raise a ``ValueError`` for rows whose class is not there."""
    if rows.y is None:
        name, there = target or getattr(model, "target_", None), list(rows.X.columns)
        if name is None:
            raise ValueError(f"the model does not say which column is its class: --target, one of {there}")
        raise ValueError(f"{data}: there is no column {name!r}, the class of the model; there are {there}")


def kinds_of(X: pd.DataFrame) -> dict[str, str]:
    """Return the kind of each column, which a model's later rows are read by."""
    from bnplug.data.kinds import is_numeric

    def kind(column: pd.Series[Any]) -> str:
        if column.dtype.kind == "M":
            return "date"
        return "number" if is_numeric(column) or column.dtype.kind == "b" else "text"

    return {str(name): kind(column) for name, column in X.items()}


def _name_and_kind(text: str) -> tuple[str, str]:
    name, equals, kind = text.rpartition("=")
    if not equals or not name or kind not in _KINDS:
        raise click.BadParameter(f"{text!r} is not NAME=KIND with one of {', '.join(_KINDS)}", param_hint="--dtype")
    return name, kind


def _are_dates(column: pd.Series[Any]) -> bool:
    import pandas as pd

    present = column.dropna()
    if not isinstance(present.iloc[0] if len(present) else None, str) or not present.str.fullmatch(_DATE).all():
        return False
    return bool(pd.to_datetime(present, format="ISO8601", errors="coerce").notna().all())


def _converted(column: pd.Series[Any], kind: str) -> pd.Series[Any]:
    import pandas as pd

    from bnplug.data.kinds import is_numeric

    if kind == "number" and is_numeric(column):
        return column
    try:
        if kind == "date":
            return pd.to_datetime(column, format="ISO8601" if _are_dates(column) else None)
        return pd.to_numeric(column) if kind == "number" else column.map(str, na_action="ignore")
    except (ValueError, TypeError) as error:
        raise ValueError(f"--dtype {column.name}={kind}: {error}") from None
