"""The arguments and options that commands share: how they find their model, read their data and write a page."""

from __future__ import annotations

import csv
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial, reduce, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import bnplug
from bnplug.cli._terminal import RowsLine
from bnplug.errors import did_you_mean

if TYPE_CHECKING:
    import pandas as pd

    from bnplug.classifier._rows import Rows

#: The path of standard input and standard output.
STANDARD = Path("-")

Complete = Callable[[click.Context, click.Parameter, str], list[str]]

_KINDS = ("text", "number", "date")

# Characters that a shell hands on as they are typed.
_SEPARATORS = {"\\t": "\t", "tab": "\t"}

#: Files that have more bytes together are read in batches; several files are, whatever their size.
STREAMED_BYTES = 1 << 28

PATH = click.Path(path_type=Path)
files_argument = click.argument("data", metavar="DATA...", type=PATH, nargs=-1, required=True)
model_argument = click.argument("model_path", metavar="MODEL", type=PATH)
target_option = click.option("--target", help="The column that holds the class.  [default: what the model says]")


@dataclass(frozen=True)
class Reading:
    """The user's options for a data file; `kinds` has the columns to read as "text", "number" or "date"."""

    missing: Sequence[str] = ()
    kinds: dict[str, str] = field(default_factory=dict)
    sep: str = ","
    encoding: str | None = None
    decimal: str = "."

    def frame(self, data: Path, known: Mapping[str, str] | None = None) -> pd.DataFrame:
        """Read a file, or standard input; `known` are kinds of columns, by default "date" for dates in ISO 8601."""
        from bnplug.sources._streaming import are_dates
        from bnplug.sources.files import read_data
        from bnplug.table.frames import to_frame

        source = sys.stdin.buffer.read() if data == STANDARD else data
        frame = to_frame(read_data(source, **self.options(known)), str(data))
        check_names(self.kinds, list(frame.columns), "--dtype", data)
        if known is None:
            known = {str(name): "date" for name, column in frame.items() if are_dates(column)}
        try:
            return self.converted(frame, [name for name, kind in known.items() if kind == "date"])
        except ValueError as error:
            raise ValueError(f"{data}: {error}") from None

    def options(self, known: Mapping[str, str] | None = None) -> dict[str, Any]:
        """Return the options of :func:`bnplug.sources.files.read_data`."""
        kinds = {**(known or {}), **self.kinds}
        return {
            "text": [name for name, kind in kinds.items() if kind != "number"],
            "numbers": [name for name, kind in kinds.items() if kind == "number"],
            "missing": self.missing,
            "sep": self.sep,
            "encoding": self.encoding,
            "decimal": self.decimal,
        }

    def in_batches(self, known: Mapping[str, str] | None) -> dict[str, Any]:
        """Return the options of `DataFiles`; `known` are kinds as for :meth:`frame`."""
        dates = None if known is None else [name for name, kind in known.items() if kind == "date"]
        return {**self.options(known), "dates": dates, **({"convert": self.converted} if self.kinds else {})}

    def converted(self, frame: pd.DataFrame, dates: Iterable[str] = ()) -> pd.DataFrame:
        """Return a frame whose columns are of the kinds that the user says; `dates` are dates if they say nothing."""
        kinds = {**dict.fromkeys(dates, "date"), **self.kinds}
        return frame.assign(**{name: _converted(frame[name], kind) for name, kind in kinds.items() if name in frame})


def reading_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options of a :class:`Reading`, which it gets as ``reading``."""

    @wraps(command)
    def wrapped(
        *, na: Sequence[str], dtype: Sequence[str], sep: str, encoding: str | None, decimal: str, **others: Any
    ) -> Any:
        kinds = dict(_name_and_kind(text) for text in dtype)
        return command(reading=Reading(na, kinds, _SEPARATORS.get(sep, sep), encoding, decimal), **others)

    options = [
        click.option("--na", multiple=True, help="Text that stands for a missing value, besides an empty field."),
        click.option(
            "--dtype", multiple=True, metavar="NAME=KIND", help="Read a column as text, number or date: zip=text."
        ),
        click.option("--sep", default=",", show_default=True, help="What separates the fields of a CSV file, or tab."),
        click.option("--encoding", help="The encoding of a CSV file.  [default: UTF-8]"),
        click.option("--decimal", default=".", show_default=True, help="The decimal separator of a CSV file."),
    ]
    return reduce(lambda wrapped, option: option(wrapped), reversed(options), wrapped)


@dataclass(frozen=True)
class Given:
    """The user's model, data files for it, how to read them, and the column of the class unless the model says it."""

    model_path: Path
    data: tuple[Path, ...]
    reading: Reading
    target: str | None

    def rows(self, model: Any, ids: Sequence[str] = ()) -> Rows:
        """Read the rows of the first file: what the model knows as text stays text, unknown columns are left out."""
        from bnplug.classifier._rows import kinds_for, rows_for

        target = self.target or getattr(model, "target_", None)
        frame = self.reading.frame(self.data[0], kinds_for(model, target, ids))
        check_names(ids, list(frame.columns), "--id", self.data[0])
        return rows_for(model, frame, target, ids)

    def labelled(self, model: Any, rows: Rows | None = None) -> tuple[Any, Any]:
        """Return rows, by default of the first file, and their classes; a ``ValueError`` if there are no classes."""
        rows = self.rows(model) if rows is None else rows
        if rows.y is None:
            name, there = self.target or getattr(model, "target_", None), list(rows.X.columns)
            if name is None:
                raise ValueError(f"the model does not say which column is its class: --target, one of {there}")
            raise ValueError(f"{self.data[0]}: there is no column {name!r}, the class of the model; columns: {there}")
        return rows.X, rows.y

    def batches(self, model: Any, paths: list[Path], ids: Sequence[str] = ()) -> Iterator[Rows]:
        """Yield the rows of files as a model takes them, and tell how many there were."""
        from bnplug.classifier._rows import kinds_for, rows_for, used_columns
        from bnplug.sources._streaming import DataFiles

        target = self.target or getattr(model, "target_", None)
        files, done = DataFiles(paths, **self.reading.in_batches(kinds_for(model, target, ids))), 0
        check_names([*ids, *self.reading.kinds], files.names, "--id or --dtype", paths[0])
        with RowsLine() as line:
            for batch in files.batches(checked=used_columns(model)):
                yield rows_for(model, batch.frame, target, ids)
                done += len(batch.frame)
                line.tell("rows", done, files.n_rows)


drop_unlabeled_option = click.option(
    "--drop-unlabeled", is_flag=True, help="Drop the rows without a class; they are an error by default."
)


def labeled_rows(X: pd.DataFrame, y: pd.Series[Any]) -> tuple[pd.DataFrame, pd.Series[Any]]:
    """Return the rows that have a class, and their classes; print how many others there were."""
    known = y.notna()
    if known.all():
        return X, y
    click.echo(f"{len(y) - known.sum():,} of {len(y):,} rows without a class are dropped", err=True)
    labels = y[known]
    # Whole numbers became floats because of the gaps.
    is_whole = labels.dtype.kind == "f" and bool((labels % 1 == 0).all())
    return X[known], labels.astype("int64") if is_whole else labels


def model_and_data(required: bool = True, several: bool = False) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Give a command the arguments MODEL and DATA and the options for them, which it gets as ``given``."""
    data = files_argument if several else click.argument("data", type=PATH, required=required)

    def decorated(command: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(command)
        def wrapped(*, model_path: Path, data: Any, reading: Reading, target: str | None, **others: Any) -> Any:
            files = data if several else (data,) if data is not None else ()
            return command(given=Given(model_path, files, reading, target), **others)

        return model_argument(data(reading_options(target_option(wrapped))))

    return decorated


def names_option(name: str, parameter: str, help: str) -> Callable[[Any], Any]:
    """Return an option for names of columns, separated by commas."""
    return click.option(
        name, parameter, multiple=True, metavar="NAMES", help=help, callback=lambda _c, _p, texts: listed(texts)
    )


def listed(texts: Iterable[str]) -> list[str]:
    """Return the names in options such as ``--drop id,name``; a name with a comma is quoted."""
    return [name.strip() for row in csv.reader(texts, skipinitialspace=True) for name in row if name.strip()]


def check_names(names: Iterable[str], columns: Sequence[str], option: str, data: Path) -> None:
    """Raise a ``ValueError`` if an option names a column that does not exist."""
    from bnplug.sources.files import _separator_hint

    for name in names:
        if name not in columns:
            hint = _separator_hint(columns) or did_you_mean(name, columns)
            raise ValueError(
                f"{data}: {option} names {name!r}, which is not a column.{hint} The columns are {list(columns)}"
            )


def chosen_columns(frame: pd.DataFrame, keep: Sequence[str], drop: Sequence[str], data: Path) -> pd.DataFrame:
    """Return the features that ``--keep`` and ``--drop`` leave."""
    names = list(frame.columns)
    check_names(keep, names, "--keep", data)
    check_names(drop, names, "--drop", data)
    left = [name for name in names if (not keep or name in keep) and name not in drop]
    if not left:
        raise ValueError(f"{data}: --keep and --drop leave no feature of {names}")
    return frame[left]


def take_target(frame: pd.DataFrame, target: str, data: Path) -> tuple[pd.DataFrame, pd.Series[Any]]:
    """Return the features and the class, in the column `target`."""
    from bnplug.sources.files import _separator_hint

    names = list(frame.columns)
    if target not in names:
        raise ValueError(f"{data}: target {target!r} is not a column; the columns are {names}.{_separator_hint(names)}")
    return frame.drop(columns=target), frame[target]


def kinds_of(X: pd.DataFrame) -> dict[str, str]:
    """Return the kind of each column, which a model's later rows are read by."""
    from bnplug.table.kinds import is_numeric

    kinds = {"M": "date", "b": "number"}
    return {
        str(name): kinds.get(column.dtype.kind, "number" if is_numeric(column) else "text")
        for name, column in X.items()
    }


def _name_and_kind(text: str) -> tuple[str, str]:
    name, equals, kind = text.rpartition("=")
    if not equals or not name or kind not in _KINDS:
        raise click.BadParameter(f"{text!r} is not NAME=KIND with one of {', '.join(_KINDS)}", param_hint="--dtype")
    return name, kind


def _converted(column: pd.Series[Any], kind: str) -> pd.Series[Any]:
    import pandas as pd

    from bnplug.table._dates import from_iso
    from bnplug.table.kinds import is_numeric

    if kind == "number" and is_numeric(column):
        return column
    try:
        if kind == "date":
            return from_iso(column)
        return pd.to_numeric(column) if kind == "number" else column.map(str, na_action="ignore")
    except (ValueError, TypeError) as error:
        raise ValueError(f"column {column.name!r} read as {kind} (--dtype {column.name}={kind}): {error}") from None


def streamed(data: Sequence[Path]) -> list[Path] | None:
    """Return the files of paths and patterns if they are read in batches; None for standard input or one small file."""
    from bnplug.sources._streaming import find_files

    if STANDARD in data:
        if len(data) > 1:
            raise ValueError("- is standard input, which cannot be read together with files")
        return None
    files = find_files(data)
    is_small = files == list(data) and len(files) == 1
    is_small &= not (files[0].is_file() and files[0].stat().st_size > STREAMED_BYTES)
    return None if is_small else files


def fit_streamed(
    model: Any,
    paths: list[Path],
    target: str,
    reading: Reading,
    keep: Sequence[str],
    drop: Sequence[str],
    drop_unlabeled: bool = False,
) -> int:
    """Fit a model on files; return the number of their rows."""
    from bnplug.sources._streaming import column_names

    if not hasattr(model, "fit_files"):
        given = f"{paths[0]}, which is large" if len(paths) == 1 else f"{len(paths)} files"
        raise ValueError(
            f"{type(model).__name__} learns from one file of at most {STREAMED_BYTES >> 20} MiB, because it has no "
            f"fit_files; got {given}. Join or sample the rows, or choose another method"
        )
    names = column_names(paths[0], reading.sep, reading.encoding)
    for option, named in (("--target", [target]), ("--keep", keep), ("--drop", drop), ("--dtype", reading.kinds)):
        check_names(named, names, option, paths[0])
    columns = [name for name in names if name != target and (not keep or name in keep) and name not in drop]
    if not columns:
        raise ValueError(f"{paths[0]}: --keep and --drop leave no feature of {names}")
    csv = reading.in_batches(None)
    dates = _dates_in_text(paths[0], columns)
    if dates:
        csv["convert"] = partial(reading.converted, dates=dates)
    if drop_unlabeled:
        csv["convert"] = partial(_with_class, csv.get("convert"), target)
    with RowsLine() as line:
        model.fit_files(paths, target, columns=columns if keep or drop else None, csv=csv, progress=line.tell)
        summary = getattr(model, "training_summary_", None)
        return summary.n_rows if drop_unlabeled and summary is not None else line.total


def _with_class(
    convert: Callable[[pd.DataFrame], pd.DataFrame] | None, target: str, frame: pd.DataFrame
) -> pd.DataFrame:
    """Return the rows of a converted batch that have a class."""
    frame = frame if convert is None else convert(frame)
    return frame[frame[target].notna()]


def _dates_in_text(path: Path, columns: Sequence[str]) -> list[str]:
    """Return the columns of a Parquet file that are text, and in whose first rows all values are points in time."""
    from bnplug.sources._streaming import TEXT, DataFiles, are_dates
    from bnplug.sources.files import _DataFile

    first = next(DataFiles(path).batches(columns), None) if _DataFile(path).is_parquet else None
    if first is None:
        return []
    return [name for name, kind in first.kinds.items() if kind == TEXT and are_dates(first.frame[name].astype(object))]


def rows_option(which: str) -> Callable[[Any], Any]:
    """Return the option ``--rows`` of a command that writes a page; `which` says which rows of DATA it contains."""
    text = f"Number of rows of DATA in the page, {which}. Anyone with the page can read them.  [default: none]"
    return click.option("--rows", type=click.IntRange(min=0), default=0, help=text)


def check_rows_option(rows: int, data: Sequence[Path]) -> None:
    """Raise a ``UsageError`` if ``--rows`` is given without data."""
    if rows and not data:
        raise click.UsageError("--rows needs DATA: pass the file to take the rows from")


def open_model(path: Path, target: str | None = None) -> Any:
    """Load a model folder, or the network in a file of another program or in standard input, with class `target`."""
    if path == STANDARD or path.is_file():
        return read_file(path, target)
    return bnplug.load(path)


def read_file(path: Path, target: str | None = None, format_name: str | None = None) -> Any:
    """Read the network in a file of another program, by default in the format of its ending, or in standard input."""
    from bnplug.io.network_files import format_names, format_of, format_of_content, parse_network, read_network

    if path == STANDARD:
        content = sys.stdin.buffer.read()
        name = format_name or format_of_content(content)
        if name is None:
            raise ValueError(f"standard input is not a network file in any known format ({format_names('read')})")
        network = parse_network(content, name, target, "standard input")
    else:
        name = format_name or format_of(path)
        if not path.exists():
            raise ValueError(f"{path}: there is no such file")
        network = read_network(path, name, target)
    return bnplug.BayesianNetworkClassifier.from_tables(*network)


def open_network(path: Path, target: str | None = None, *abilities: str) -> Any:
    """Load a network, or a plugin's classifier that has all of these attributes of a network."""
    return check_able(open_model(path, target), path, *abilities)


def check_able(model: Any, path: Path, *abilities: str) -> Any:
    """Return the model; raise a ``ValueError`` unless it is a network or has all of these attributes."""
    able = bool(abilities) and all(hasattr(model, name) for name in abilities)
    if not able and not isinstance(model, bnplug.BayesianNetworkClassifier):
        raise ValueError(f"{path}: {described(model)}, which is not a Bayesian network; use predict or evaluate")
    return model


def described(model: Any) -> str:
    """Describe a model: the size of a network, or the class and the plugin of another classifier."""
    from bnplug.hooks import registry
    from bnplug.show.summary import headline

    if isinstance(model, bnplug.BayesianNetworkClassifier):
        return headline(model)
    return f"{' '.join(repr(model).split())}, {registry.origin(model)}"


def write_output(output: Path, text: str) -> None:
    """Write text to a file and report its size, or print it to standard output."""
    from bnplug.files import write_atomically

    if output == STANDARD:
        click.echo(text, nl=False)
        return
    write_atomically(output, text)
    is_stdout = False
    with suppress(OSError):
        is_stdout = os.path.samestat(output.stat(), os.fstat(sys.stdout.fileno()))
    if output.is_file() and not is_stdout:
        click.echo(f"{output}: {output.stat().st_size:,} bytes")


def complete_methods(*kinds: str, listed: bool = False) -> Complete:
    """Return a completer of the names of methods, of all or of some kinds; `listed` names are separated by commas."""

    def names() -> Iterable[str]:
        from bnplug.hooks import registry

        return [str(registry.name_of(one)) for one in registry.methods() if not kinds or one.kind.value in kinds]

    return _completing(names, listed)


def complete_datasets(listed: bool = False) -> Complete:
    """Return a completer of the names of data sets."""

    def names() -> Iterable[str]:
        from bnplug import datasets

        return datasets.names()

    return _completing(names, listed)


def _completing(names: Callable[[], Iterable[str]], listed: bool) -> Complete:
    def complete(_context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[str]:
        before, comma, begun = incomplete.rpartition(",") if listed else ("", "", incomplete)
        taken = before.split(",")
        try:
            known = list(names())
        except Exception:  # no error may appear while a word is typed
            return []
        return [f"{before}{comma}{name}" for name in known if name.startswith(begun) and name not in taken]

    return complete
