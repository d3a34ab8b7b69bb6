"""Network files of every format: one table of what there is, and one function to write and to read each."""

from __future__ import annotations

import os
import re
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from bnplug.data.intake import Intake
    from bnplug.model.log_tables import LogTables

# What a file begins with is looked for in this many bytes: comments may come first, and XMLBIF has its grammar there.
_BEGINNING = 20_000


class NetworkFormat(NamedTuple):
    """How a file of a format is known."""

    #: The endings of its name.
    endings: tuple[str, ...]
    #: What it begins with.
    sign: re.Pattern[bytes]


#: The formats of network files by name: each is a module of :mod:`bnplug.exchange`.
FORMATS = {
    "bif": NetworkFormat((".bif",), re.compile(rb"^\s*network\b", re.MULTILINE)),
    "xmlbif": NetworkFormat((".xml", ".xmlbif", ".bifxml"), re.compile(rb"<BIF\b")),
    "xdsl": NetworkFormat((".xdsl",), re.compile(rb"<smile\b")),
    "net": NetworkFormat((".net",), re.compile(rb"^\s*(net|class\s+\w+)\s*\{", re.MULTILINE)),
}


def format_of(path: str | os.PathLike[str]) -> str:
    """Return the name of the format that the ending of a file stands for.

    Raises
    ------
    ValueError
        If it stands for none; the message lists the endings.

    Examples
    --------
    >>> format_of("asia.bif"), format_of("Cancer.XDSL")
    ('bif', 'xdsl')
    """
    ending = os.path.splitext(path)[1].lower()
    for name, known in FORMATS.items():
        if ending in known.endings:
            return name
    endings = ", ".join(own for known in FORMATS.values() for own in known.endings)
    raise ValueError(f"{os.fspath(path)}: the name of a network file ends in one of {endings}")


def format_of_content(content: bytes) -> str | None:
    """Return the name of the format that a file of this content has, by what it begins with; None where it is none.

    Examples
    --------
    >>> format_of_content(b"// by hand\\nnetwork sky { }"), format_of_content(b"rain,grass")
    ('bif', None)
    """
    beginning = content[:_BEGINNING]
    return next((name for name, known in FORMATS.items() if known.sign.search(beginning)), None)


def format_network(tables: LogTables, format_name: str, intake: Intake | None = None) -> str:
    """Return the text of a network file, as :func:`write_network` writes it."""
    return str(getattr(_module(format_name), f"format_{format_name}")(tables, intake))


def write_network(
    tables: LogTables, path: str | os.PathLike[str], format_name: str, intake: Intake | None = None
) -> None:
    """Write a model as a file that other programs read too.

    Parameters
    ----------
    tables : LogTables
        Names and labels that the format has no room for get a safe stand-in, and the true one a property.
    path : path-like
    format_name : {"bif", "xmlbif", "xdsl", "net"}
    intake : Intake, optional
        What made the states: its cuts go along as properties, so that what is read takes raw rows.

    Raises
    ------
    NotRepresentableError
        If a table is not normalised.
    """
    from bnplug.exchange.files import write_atomically

    write_atomically(path, format_network(tables, format_name, intake))


def read_tables(path: str | os.PathLike[str], format_name: str) -> LogTables:
    """Read a model from a network file, ours or another program's.

    Parameters
    ----------
    path : path-like
    format_name : {"bif", "xmlbif", "xdsl", "net"}

    Returns
    -------
    LogTables
        With the class as its target, where the file is ours and says so. The labels of other programs' files are text.

    Raises
    ------
    ModelFileError
        If the file is damaged or holds no Bayesian network of discrete nodes; the message gives the line or the node.
    """
    from bnplug.exchange._network_file import assemble, content_of, naming

    with naming(path):
        return assemble(*_module(format_name)._parts_of(content_of(path)))


def read_network(path: str | os.PathLike[str], format_name: str, target: str | None = None) -> tuple[LogTables, Intake]:
    """Read a model from a network file, and how raw rows become its states.

    Parameters
    ----------
    path : path-like
    format_name : {"bif", "xmlbif", "xdsl", "net"}
    target : str, optional
        The class; by default the one that the file names.

    Returns
    -------
    tables : LogTables
        With the class as its target.
    intake : Intake
        Of a file of ours: numbers are put into the bins that it carries the cuts of. Of another: states are states.

    Raises
    ------
    ModelFileError
        As :func:`read_tables`, and where what the file says of its columns is damaged.
    ValueError
        If there is no such class, or none is named.
    """
    from bnplug.exchange._network_file import content_of, naming

    with naming(path):
        content = content_of(path)
    return parse_network(content, format_name, target, path)


def parse_network(
    content: bytes, format_name: str, target: str | None = None, path: str | os.PathLike[str] = "the network"
) -> tuple[LogTables, Intake]:
    """Return what :func:`read_network` reads, from the content of a file; messages name it `path`."""
    from bnplug.exchange._network_file import assemble_with_intake, naming

    with naming(path):
        return assemble_with_intake(_module(format_name)._parts_of(content), target, path)


def _module(format_name: str) -> Any:
    """Return the module of a format, which is imported when a file of it is asked for."""
    if format_name not in FORMATS:
        raise ValueError(f"there is no format {format_name!r}; there are {', '.join(FORMATS)}")
    return import_module(f"bnplug.exchange.{format_name}")
