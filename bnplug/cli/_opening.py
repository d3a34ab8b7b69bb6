"""How the commands of ``bnplug`` find their model: a folder, or a network in a file of another program."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

import bnplug
from bnplug.exchange.network_files import FORMATS

_Command = TypeVar("_Command", bound=Callable[..., Any])

#: What stands for standard input or standard output.
STANDARD = Path("-")

model_argument = click.argument("model_path", metavar="MODEL", type=click.Path(path_type=Path))
target_option = click.option("--target", help="The column that holds the class.  [default: what the model says]")


def rows_option(which: str) -> Callable[[_Command], _Command]:
    """Return the option ``--rows`` of a command that writes a page; `which` says which rows of DATA it contains."""
    text = f"Number of rows of DATA in the page, {which}. Anyone with the page can read them.  [default: none]"
    return click.option("--rows", type=click.IntRange(min=0), default=0, help=text)


def check_rows_option(rows: int, data: Path | None) -> None:
    """Raise a ``UsageError`` if ``--rows`` is given without data."""
    if rows and data is None:
        raise click.UsageError("--rows needs DATA: pass the file to take the rows from")


def open_model(path: Path, target: str | None = None) -> Any:
    """Load the model in a folder, or the network in a file of another program, of which `target` is the class.

    A network may come through standard input, too: what it begins with says which program wrote it.
    """
    if path == STANDARD or path.is_file():
        return read_file(path, target)
    return bnplug.load(path)


def read_file(path: Path, target: str | None = None, format_name: str | None = None) -> Any:
    """Read the network in a file of another program, by default in the format of its ending, or in standard input."""
    from bnplug.exchange.network_files import format_of, format_of_content, parse_network, read_network

    if path == STANDARD:
        content = sys.stdin.buffer.read()
        name = format_name or format_of_content(content)
        if name is None:
            raise ValueError(f"- is no network: its beginning is that of none of {', '.join(FORMATS)}")
        network = parse_network(content, name, target, "standard input")
    else:
        name = format_name or format_of(path)
        if not path.exists():
            raise ValueError(f"{path}: there is no such file")
        network = read_network(path, name, target)
    return bnplug.BayesianNetworkClassifier.from_tables(*network)


def open_network(path: Path, target: str | None = None) -> Any:
    """Load a model that is a Bayesian network; of any other, say what can be done with it."""
    return open_with(path, target)


def open_with(path: Path, target: str | None = None, *abilities: str) -> Any:
    """Load a network, or a classifier of a plugin that has these of a network's methods and attributes."""
    return check_able(open_model(path, target), path, *abilities)


def check_able(model: Any, path: Path, *abilities: str) -> Any:
    """Return a model that is a network or has all of these; of any other, say what can be done with it."""
    able = bool(abilities) and all(hasattr(model, name) for name in abilities)
    if not able and not isinstance(model, bnplug.BayesianNetworkClassifier):
        raise ValueError(f"{path}: {described(model)}, which is no Bayesian network; predict and evaluate take it")
    return model


def described(model: Any) -> str:
    """Return the size of a network, or what a classifier of a plugin is."""
    from bnplug.hooks import registry
    from bnplug.show.summary import headline

    if isinstance(model, bnplug.BayesianNetworkClassifier):
        return headline(model)
    return f"{' '.join(repr(model).split())}, {registry.origin(model)}"


def write_output(output: Path, text: str) -> None:
    """Write text to a file, and say how large that is; to standard output, the text alone."""
    from bnplug.exchange.files import write_atomically

    if output == STANDARD:
        click.echo(text, nl=False)
        return
    write_atomically(output, text)
    if _is_apart(output):
        click.echo(f"{output}: {output.stat().st_size:,} bytes")


def _is_apart(output: Path) -> bool:
    """Whether what was written is a file, and not where these commands write what they say."""
    if not output.is_file():
        return False
    try:
        return not os.path.samestat(output.stat(), os.fstat(sys.stdout.fileno()))
    except OSError:
        return True
