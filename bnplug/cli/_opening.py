"""How the commands of ``bnplug`` find their model: a folder, or a network in a file of another program."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import click

import bnplug

#: What stands for standard input or standard output.
STANDARD = Path("-")

model_argument = click.argument("model_path", metavar="MODEL", type=click.Path(path_type=Path))
target_option = click.option("--target", help="The column that holds the class.  [default: what the model says]")


def open_model(path: Path, target: str | None = None) -> Any:
    """Load the model in a folder, or the network in a file of another program, of which `target` is the class."""
    return exchange_format(path)[0](path, target) if path.is_file() else bnplug.load(path)


def open_network(path: Path, target: str | None = None) -> Any:
    """Load a model that is a Bayesian network; of any other, say what can be done with it."""
    return open_with(path, target)


def open_with(path: Path, target: str | None = None, *abilities: str) -> Any:
    """Load a network, or a classifier of a plugin that has these of a network's methods and attributes."""
    model = open_model(path, target)
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


def exchange_format(file: Path) -> tuple[Any, Any]:
    """Return the reader and the writer of the format that the name of `file` ends with."""
    from bnplug.exchange.bif import write_bif
    from bnplug.exchange.net import write_net
    from bnplug.exchange.xdsl import write_xdsl
    from bnplug.exchange.xmlbif import write_xmlbif

    formats: dict[str, tuple[Any, Any]] = {".bif": (bnplug.read_bif, write_bif)}
    formats |= dict.fromkeys((".xml", ".xmlbif", ".bifxml"), (bnplug.read_xmlbif, write_xmlbif))
    formats |= {".xdsl": (bnplug.read_xdsl, write_xdsl), ".net": (bnplug.read_net, write_net)}
    if file.suffix.lower() not in formats:
        raise ValueError(f"{file}: the name of a network file ends in one of {', '.join(formats)}")
    return formats[file.suffix.lower()]


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
