"""What commands print: errors in one line, tables, progress lines.

Tables have colors and lines by rich on a terminal, and are plain text elsewhere. rich is imported only to draw, so
output to a file or a pipe costs nothing.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
import time
import traceback
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from textwrap import wrap
from typing import TYPE_CHECKING, Any, Self

import click

import bnplug
from bnplug.errors import one_line, printable

if TYPE_CHECKING:
    from bnplug.experiments._tables import TextTable

_TEXT_WIDTH = 100

# Seconds between two updates of a line that counts rows.
_PAUSE = 0.5

# Errors whose message is enough; for any other, the type says more than the text.
_EXPECTED = (ValueError, TypeError, LookupError, RuntimeError, ImportError, MemoryError)


class CommandError(click.ClickException):
    """What went wrong, in one line."""

    def show(self, file: Any = None) -> None:
        """Print it to standard error."""
        click.echo(f"bnplug: {printable(_as_options(self.format_message()))}", file=file, err=True)


@contextmanager
def one_line_errors() -> Iterator[None]:
    """Turn an exception into one line, and warnings into lines of their own."""
    with warnings.catch_warnings():
        warnings.simplefilter("always", bnplug.BnplugWarning)
        warnings.showwarning = _show_warning
        try:
            yield
        except (click.ClickException, click.exceptions.Exit, click.Abort, BrokenPipeError):
            raise
        except OSError as error:
            said = f"standard output: {error.strerror}" if _is_of_output(error) else one_line(error)
            raise CommandError(said or type(error).__name__) from error
        except _EXPECTED as error:
            raise CommandError(one_line(error) or type(error).__name__) from error
        except Exception as error:  # a plugin's learner may raise anything
            raise CommandError(f"{type(error).__name__}: {one_line(error)}") from error


def _is_of_output(error: OSError) -> bool:
    """Whether what a command prints could not be written, such as to a full disk; such an error names no file."""
    frames = traceback.walk_tb(error.__traceback__)
    return error.filename is None and any(frame.f_code is click.echo.__code__ for frame, _ in frames)


def _show_warning(message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
    kind = "" if issubclass(category, bnplug.BnplugWarning) else f"{category.__name__}: "
    click.echo(f"bnplug: warning: {kind}{printable(_as_options(one_line(message)))}", err=True)


# Advice for Python, and for the command line: parameters that are options, other parameters, rows without a class.
_ADVICE = [
    (r"""\b(missing|structure|parameters|discretizer)=(["'])([\w-]+)\2""", r"--\1 \3"),
    (r"""\b(unlabeled|engine|calibrate|on_useless|unseen|dates)=("[^"]*"|'[^']*'|-?\d+)""", r"--set \1=\2"),
    (r"\bin categorical_features\b", "in --set categorical_features=\"['NAME']\""),
    (r"\b([Dd])rop these rows\b", r"\1rop these rows with --drop-unlabeled"),
]


def _as_options(message: str) -> str:
    """Write advice on parameters of Python as advice on options: missing="em" as --missing em."""
    for advice, option in _ADVICE:
        message = re.sub(advice, option, message)
    return message


def is_drawn() -> bool:
    """Whether tables are drawn: standard output is a terminal that can do more than lines, and rich is installed."""
    plain = os.environ.get("TERM") == "dumb" or bool(os.environ.get("NO_COLOR"))
    return _is_terminal() and not plain and find_spec("rich") is not None


def print_title(text: str) -> None:
    """Print a line that begins something."""
    click.echo(click.style(text, bold=True) if is_drawn() else text)


def print_columns(rows: Iterable[Sequence[str]], heads: Sequence[str] | None = None) -> None:
    """Print rows in columns that are aligned; heads are for the terminal alone."""
    listed = [list(row) for row in rows]
    if not listed:
        return
    if is_drawn():
        _draw(listed, heads)
        return
    widths = [max(len(row[j]) for row in listed) for j in range(len(listed[0]))]
    for row in listed:
        click.echo("  ".join([f"{cell:<{width}}" for cell, width in zip(row[:-1], widths, strict=False)] + row[-1:]))


def print_paragraph(text: str, indent: str) -> None:
    """Print a text in lines that a person reads."""
    width = min(_TEXT_WIDTH, shutil.get_terminal_size().columns) if _is_terminal() else _TEXT_WIDTH
    for line in wrap(text, max(width - len(indent), 20), break_long_words=False, break_on_hyphens=False):
        click.echo(f"{indent}{line}")


def _is_terminal() -> bool:
    return sys.stdout.isatty()


def draw_table(table: TextTable) -> None:
    """Draw a table of figures: the best cells of a row stand out, and a line separates the summary."""
    _draw(table.rows, table.columns, table)


def _draw(rows: Sequence[Sequence[str]], heads: Sequence[str] | None, figures: TextTable | None = None) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    drawn = Table(box=SIMPLE_HEAD if heads else None, show_header=bool(heads), pad_edge=False, header_style="bold")
    for j, head in enumerate(heads or [""] * len(rows[0])):
        justify: Any = "right" if figures and j else "left"
        drawn.add_column(Text(printable(head)), justify=justify, style="" if j else "cyan", no_wrap=not (figures or j))
    for i, row in enumerate(rows):
        if figures and i == len(rows) - figures.n_summary:
            drawn.add_section()
        styles = ["bold green" if figures and (i, j) in figures.best else "" for j in range(len(row))]
        # Text, not markup: a name may contain brackets.
        drawn.add_row(*(Text(printable(cell), style) for cell, style in zip(row, styles, strict=True)))
    Console(file=sys.stdout, highlight=False).print(drawn)


class ProgressLine:
    """Counts to `total`; while it is open, one line of the terminal shows the count, the last item and the time."""

    def __init__(self, total: int) -> None:
        self.total = total
        self.count = 0
        self.last = "starting"
        self._started = self._drawn = time.monotonic()

    def __enter__(self) -> Self:
        self._write(self.text())
        return self

    def __exit__(self, *_: object) -> None:
        self._write("")

    def advance(self, what: str) -> None:
        """Count one more item."""
        self.count += 1
        self.last = what
        self._write(self.text())

    def aside(self, say: Callable[[str], Any]) -> Callable[[str], None]:
        """Wrap `say` so that its text does not run into the line."""

        def said(text: str) -> None:
            self._write("")
            say(text)
            self._write(self.text())

        return said

    def text(self) -> str:
        """Return the line."""
        return f"{self.count} of {self.total} done in {time.monotonic() - self._started:.0f} s ({self.last})"

    def _write(self, line: str) -> None:
        """Replace the current line of the terminal."""
        if sys.stderr.isatty():
            self._drawn = time.monotonic()
            sys.stderr.write(f"\r\x1b[K{line[:78]}")
            sys.stderr.flush()


class RowsLine(ProgressLine):
    """Shows the number of rows that were read, and how many per second."""

    def __init__(self) -> None:
        super().__init__(0)

    def tell(self, what: str, done: int, total: int) -> None:
        """Set the number of rows that are done, and their total."""
        if what != self.last or done < self.count:
            self._started = time.monotonic()
        self.last, self.count, self.total = what, done, total
        if time.monotonic() - self._drawn >= _PAUSE:
            self._write(self.text())

    def text(self) -> str:
        """Return the line."""
        rate = self.count / max(time.monotonic() - self._started, 1e-3)
        share = 100 * self.count // max(self.total, 1)
        return f"{self.last}: {self.count:,} of {self.total:,} rows ({share}%), {rate:,.0f} rows a second"
