"""What commands print in columns: with colours and lines by rich on a terminal that has it, plain text elsewhere.

rich is imported only where it draws, so that what goes to a file or a pipe costs nothing, and is text that other
programs read.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterable, Sequence
from importlib.util import find_spec
from textwrap import wrap
from typing import TYPE_CHECKING

import click

from bnplug.errors import printable

if TYPE_CHECKING:
    from bnplug.experiments._tables import TextTable

_TEXT_WIDTH = 100


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
    width = min(_TEXT_WIDTH, _terminal_width()) if _is_terminal() else _TEXT_WIDTH
    for line in wrap(text, max(width - len(indent), 20), break_long_words=False, break_on_hyphens=False):
        click.echo(f"{indent}{line}")


def _is_terminal() -> bool:
    return sys.stdout.isatty()


def _terminal_width() -> int:
    return shutil.get_terminal_size().columns


def _draw(rows: list[list[str]], heads: Sequence[str] | None) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=SIMPLE_HEAD if heads else None, show_header=bool(heads), pad_edge=False, header_style="bold")
    for j in range(len(rows[0])):
        table.add_column(heads[j] if heads else "", style="cyan" if j == 0 else "", no_wrap=j == 0)
    for row in rows:
        # Text, not markup: a name may hold brackets.
        table.add_row(*(Text(printable(cell)) for cell in row))
    Console(file=sys.stdout, highlight=False).print(table)


def draw_table(table: TextTable) -> None:
    """Draw a table of figures: the best of a row stand out, and what sums up stands apart."""
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    drawn = Table(box=SIMPLE_HEAD, pad_edge=False, header_style="bold")
    for j, head in enumerate(table.columns):
        drawn.add_column(Text(printable(head)), justify="right" if j else "left", style="" if j else "cyan")
    for i, row in enumerate(table.rows):
        if i == len(table.rows) - table.n_summary:
            drawn.add_section()
        cells = [
            Text(printable(cell), style="bold green" if (i, j) in table.best else "") for j, cell in enumerate(row)
        ]
        drawn.add_row(*cells)
    Console(file=sys.stdout, highlight=False).print(drawn)
