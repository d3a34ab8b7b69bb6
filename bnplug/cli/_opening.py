"""How the commands of ``bnplug`` find their model: a folder, or a network in a file of another program."""

from __future__ import annotations

import os
import re
import sys
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import click

import bnplug

#: What stands for standard input or standard output.
STANDARD = Path("-")

model_argument = click.argument("model_path", metavar="MODEL", type=click.Path(path_type=Path))
target_option = click.option("--target", help="The column that holds the class.  [default: what the model says]")


def open_model(path: Path, target: str | None = None) -> Any:
    """Load the model in a folder, or the network in a file of another program, of which `target` is the class.

    A network may come through standard input, too: what it begins with says which program wrote it.
    """
    if path == STANDARD:
        content = sys.stdin.buffer.read()
        name = next((own for own, sign in _SIGNS.items() if sign.search(content[:_BEGINNING])), None)
        if name is None:
            raise ValueError(f"- is no network: its beginning is that of none of {', '.join(FORMATS)}")
        return read_bytes(content, exchange_format(path, name)[0], target)
    return exchange_format(path)[0](path, target) if path.is_file() else bnplug.load(path)


def read_bytes(content: bytes, read: Any, target: str | None) -> Any:
    """Read a network that came through a pipe, by way of a file."""
    with TemporaryDirectory(prefix="bnplug-") as folder:
        path = Path(folder, "standard input")
        path.write_bytes(content)
        return read(path, target)


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


#: The formats of network files, and the endings of their names.
FORMATS = {
    "bif": (".bif",),
    "xmlbif": (".xml", ".xmlbif", ".bifxml"),
    "xdsl": (".xdsl",),
    "net": (".net",),
}

# How a file of each begins: comments may come first, and XMLBIF has its grammar there.
_SIGNS = {
    "xdsl": re.compile(rb"<smile\b"),
    "xmlbif": re.compile(rb"<BIF\b"),
    "net": re.compile(rb"^\s*(net|class\s+\w+)\s*\{", re.MULTILINE),
    "bif": re.compile(rb"^\s*network\b", re.MULTILINE),
}
_BEGINNING = 20_000

format_option = click.option(
    "--format", "format_name", type=click.Choice(list(FORMATS)), help="The format.  [default: by the ending of FILE]"
)


def exchange_format(file: Path, format_name: str | None = None) -> tuple[Any, Any]:
    """Return the reader and the formatter of a format: the one asked for, or else by what the name of `file` ends with.

    The reader is that of :mod:`bnplug`; the formatter takes tables and an intake, and returns the text of a file.
    """
    name = format_name or next((own for own, endings in FORMATS.items() if file.suffix.lower() in endings), None)
    if name is None and file == STANDARD:
        raise ValueError(f"- has no ending that says what it is: add --format, one of {', '.join(FORMATS)}")
    if name is None:
        endings = ", ".join(ending for own in FORMATS.values() for ending in own)
        raise ValueError(f"{file}: the name of a network file ends in one of {endings}")
    module = import_module(f"bnplug.exchange.{name}")
    return getattr(bnplug, f"read_{name}"), getattr(module, f"format_{name}")


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
