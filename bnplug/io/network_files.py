"""Network files of every format: BIF, XMLBIF and the formats of plugins (hook ``bnplug_formats``)."""

from __future__ import annotations

import errno
import os
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, cast

import numpy as np

from bnplug._json import parse_json
from bnplug.errors import ContractError, ModelFileError, PluginError, article, did_you_mean
from bnplug.files import MAX_TEXT, naming_file, read_plain, write_atomically
from bnplug.hooks import registry
from bnplug.hooks.descriptors import Kind, NetworkFormat
from bnplug.io import networks
from bnplug.io.networks import _CALIBRATION, _NAME, _STATES, _TARGET, FileFamily, FileVariable, NetworkParts
from bnplug.model.log_tables import NORMALIZED, LogTable, LogTables
from bnplug.table.coding import State, checked_labels
from bnplug.table.encoder import ColumnEncoder
from bnplug.typing import FloatArray

_Path = str | os.PathLike[str]

# Number of bytes in which the signature of a format is searched: comments or a grammar may precede it.
_BEGINNING = 20_000

# Largest difference from 1 of a column's sum in a file. Other programs round: three times a third to 0.999.
_ROUNDED = 1e-3 + NORMALIZED

# Maximum length of a message, which may quote long names from a damaged file.
_MESSAGE_LENGTH = 500


# Formats


def formats(part: str | None = None) -> list[NetworkFormat]:
    """Return the installed formats, or those that ``"read"`` or ``"write"`` files; the built-in ones come first."""
    known = cast(list[NetworkFormat], registry.methods(Kind.FORMAT))
    return [each for each in known if part is None or getattr(each, part) is not None]


def format_names(part: str) -> str:
    """Return the names of the formats that ``"read"`` or ``"write"`` files, for messages."""
    return ", ".join(str(registry.name_of(known)) for known in formats(part))


def format_of(path: _Path, part: str = "read") -> str:
    """Return the name of the format that a file has by its ending; raise a ``ValueError`` if there is none.

    A format that can ``"read"`` or ``"write"``, as `part` says, has precedence.
    """
    ending = os.path.splitext(path)[1].lower()
    for known in (*formats(part), *formats()):
        if ending in known.endings:
            return str(registry.name_of(known))
    listed = ", ".join(f"{registry.name_of(known)} ({', '.join(known.endings)})" for known in formats(part))
    raise ValueError(
        f"{os.fspath(path)}: no installed format can {part} files with the ending {ending!r}. Installed: {listed}. "
        "Plugins such as bnplug-deploy add formats; `bnplug formats` lists them"
    )


def format_of_content(content: bytes) -> str | None:
    """Return the name of the format whose signature a file begins with; None if there is none."""
    beginning = content[:_BEGINNING].decode("latin-1")
    for known in formats():
        if known.signature and re.search(known.signature, beginning, re.MULTILINE | re.ASCII):
            return str(registry.name_of(known))
    return None


# Writing


def format_network(tables: LogTables, format_name: str, encoder: ColumnEncoder | None = None) -> str | bytes:
    """Return the content of a network file; see :func:`write_network`."""
    known: Any = registry.network_format(format_name)
    if known.write is None:
        raise ValueError(f"the format {format_name!r} can be read only")
    for name, labels in tables.states.items() if not known.graph else ():
        checked_labels(name, labels)
    content = _call(format_name, "write", known.write, tables, encoder)
    if not isinstance(content, str | bytes):
        raise ContractError(
            f"format {format_name!r}: write returned {article(type(content).__name__)}, not text or bytes"
        )
    return content


def _call(format_name: str, part: str, function: Callable[..., Any], *args: Any) -> Any:
    """Call a function of a format; an unexpected error becomes a ``PluginError`` that names the format."""
    try:
        return function(*args)
    except (ValueError, OSError, MemoryError, ImportError, ContractError, PluginError):
        raise
    except Exception as error:
        cause = f"{type(error).__name__}: {str(error)[:_MESSAGE_LENGTH]}"
        raise PluginError(f"format {format_name!r} failed: {part}: {cause}") from error


def write_network(
    tables: LogTables, path: _Path, format_name: str | None = None, encoder: ColumnEncoder | None = None
) -> None:
    """Write a network with normalized tables to a file; properties store the `encoder` of raw rows.

    Without the name of a format, such as ``"bif"``, the ending of `path` decides.
    """
    write_atomically(path, format_network(tables, format_name or format_of(path, "write"), encoder))


# Reading


def read_tables(path: _Path, format_name: str | None = None) -> LogTables:
    """Read a network without its encoder, as :func:`read_network`; the file need not name a class."""
    name = format_name or format_of(path)
    return parse_tables(_content_of(path), name, path)


def parse_tables(content: str | bytes, format_name: str, path: _Path = "the network") -> LogTables:
    """Return the network in the content of a file, as :func:`read_tables`; messages call it `path`."""
    with _naming(path):
        return _assemble(_parse(content, format_name))


def read_network(
    path: _Path, format_name: str | None = None, target: str | None = None
) -> tuple[LogTables, ColumnEncoder]:
    """Read a network, with the class as the target, and its encoder of raw rows from a file.

    The class, `target`, is by default the one that the file names; `format_name` is as in :func:`write_network`. In a
    file of another program, raw values are states, and labels are text. A damaged file is a ``ModelFileError``.
    """
    name = format_name or format_of(path)
    return parse_network(_content_of(path), name, target, path)


def parse_network(
    content: str | bytes, format_name: str, target: str | None = None, path: _Path = "the network"
) -> tuple[LogTables, ColumnEncoder]:
    """Return the network in the content of a file, as :func:`read_network`; messages call it `path`."""
    with _naming(path):
        parts = _parse(content, format_name)
        tables = _with_target(_assemble(parts), target, path)
        assert tables.target is not None
        variables = {_true_name(variable): variable.properties for variable in parts.variables.values()}
        return tables, networks._read_encoder(tables, variables, parts.properties, tables.target)


def _parse(content: str | bytes, format_name: str) -> NetworkParts:
    read: Any = registry.network_format(format_name).read
    if read is None:
        raise ValueError(f"the format {format_name!r} can be written only")
    parts = _call(format_name, "read", read, content)
    if not isinstance(parts, NetworkParts):
        raise ContractError(f"format {format_name!r}: read returned {article(type(parts).__name__)}, not NetworkParts")
    return parts


def _content_of(path: _Path) -> bytes:
    """Return the content of a file or pipe, unless it is too long to be a network."""
    with _naming(path):
        return read_plain(path, pipes=True, limit=MAX_TEXT)


@contextmanager
def _naming(path: _Path) -> Iterator[None]:
    """Add the path to a ``ModelFileError``, and limit its length; turn the error about a long file into one."""
    try:
        with naming_file(path):
            yield
    except OSError as error:
        if error.errno != errno.EFBIG:
            raise
        raise ModelFileError(f"{os.fspath(path)} cannot be read: {error}") from None
    except ModelFileError as error:
        raise ModelFileError(f"{os.fspath(path)}: {str(error)[:_MESSAGE_LENGTH]}") from None


def _with_target(tables: LogTables, target: str | None, path: _Path) -> LogTables:
    """Return tables with the requested class, or the one that the file names."""
    chosen = tables.target if target is None else target
    if chosen is None:
        raise ValueError(
            f"{path} does not say which variable is the class; name the target, one of {list(tables.names)}"
        )
    if chosen not in tables.names:
        raise ValueError(f"{path}: there is no variable {chosen!r}.{did_you_mean(chosen, tables.names)}")
    return tables.with_target(chosen)


# From the parts of a file to tables


def _assemble(parts: NetworkParts) -> LogTables:
    """Return the tables of a network with true names and labels; raise if the parts are not a network."""
    variables, families, properties = parts
    missing = [name for name in variables if name not in families]
    if missing:
        raise ModelFileError(f"there is no table for {missing[0]!r}")
    if not variables:
        raise ModelFileError("there are no variables")
    names = {file_name: _true_name(variable) for file_name, variable in variables.items()}
    if len(set(names.values())) != len(names):
        twice = next(name for name, times in Counter(names.values()).items() if times > 1)
        raise ModelFileError(f"two variables have one name, {twice!r}")
    states = {names[file_name]: _true_labels(variable) for file_name, variable in variables.items()}
    position = {file_name: i for i, file_name in enumerate(variables)}
    tables = {}
    for file_name, family in families.items():
        # Without the impossible second state of variables that have only one.
        kept = tuple(slice(len(states[names[variable]])) for variable in (*family.parents, family.node))
        family = family._replace(probabilities=family.probabilities[kept])
        _check_columns(family, variables)
        places = [position[parent] for parent in family.parents]
        order = sorted(range(len(places)), key=places.__getitem__)
        values = np.ascontiguousarray(family.probabilities.transpose([len(order), *order]))
        tables[names[file_name]] = ([names[family.parents[axis]] for axis in order], _log_normalized(values))
    target = _decoded(properties[_TARGET], "the network") if _TARGET in properties else None
    try:
        network = LogTables(list(names.values()), states, tables, target)
        return network.with_calibration(_calibration(properties))
    except ValueError as error:
        raise ModelFileError(str(error)) from None


def _calibration(properties: Mapping[str, str]) -> list[float]:
    """Return the factors of evidence in the properties of a network; 1 without."""
    if _CALIBRATION not in properties:
        return [1.0, 1.0]
    factors = parse_json(_decoded(properties[_CALIBRATION], "the network"))
    if not isinstance(factors, list):
        raise ValueError(f"the property {_CALIBRATION} is damaged: {str(factors)[:60]!r}")
    return factors


def _true_name(variable: FileVariable) -> str:
    if _NAME not in variable.properties:
        return variable.name
    return _decoded(variable.properties[_NAME], f"variable {variable.name!r}")


def _decoded(text: str, where: str) -> str:
    try:
        return networks._decode(text.strip())
    except ValueError:
        raise ModelFileError(f"{where} has a damaged bnplug property: {text[:60]!r}") from None


def _true_labels(variable: FileVariable) -> tuple[State, ...]:
    labels: list[State] = list(variable.labels)
    if _STATES in variable.properties:
        text = variable.properties[_STATES]
        try:
            labels = networks._decode_labels(text)
        except ValueError:
            raise ModelFileError(
                f"variable {variable.name!r} has a damaged property {_STATES}: {text[:60]!r}"
            ) from None
        # A variable with one state has a second, impossible one in some formats.
        if len(labels) != len(variable.labels) and (len(labels), len(variable.labels)) != (1, 2):
            raise ModelFileError(
                f"variable {variable.name!r} has {len(variable.labels)} states, but its property {_STATES} "
                f"holds {len(labels)}"
            )
    if not labels:
        raise ModelFileError(f"variable {variable.name!r} has no states")
    if len({repr(label) for label in labels}) != len(labels):
        raise ModelFileError(f"variable {variable.name!r} has a state twice")
    return tuple(labels)


def _check_columns(family: FileFamily, variables: Mapping[str, FileVariable]) -> None:
    """Raise if a column is not a distribution."""
    values = family.probabilities
    possible = (values >= 0.0) & (values <= 1.0 + _ROUNDED)
    sums = np.asarray(np.where(possible, values, np.nan).sum(axis=-1))
    wrong = np.argwhere(~(np.abs(sums - 1.0) <= _ROUNDED))
    if len(wrong):
        at = tuple(wrong[0])
        labels = [variables[parent].labels[i] for parent, i in zip(family.parents, at, strict=True)]
        column = ", ".join(f"{parent}={label}" for parent, label in zip(family.parents, labels, strict=True))
        raise ModelFileError(
            f"line {family.line}: the probabilities of {family.node!r}{column and ' given '}{column} are not "
            f"between 0 and 1 with the sum 1: {' '.join(f'{value:.6g}' for value in values[at][:6])}"
        )


def _log_normalized(probabilities: FloatArray) -> FloatArray:
    """Return the logs of a table; columns that another program rounded are normalized again."""
    logs = _log(probabilities)
    sums = probabilities.sum(axis=0)
    # LogTable decides what is normalized; its test is slower, and only needed in close cases.
    if np.abs(sums - 1.0).max() > NORMALIZED / 2:
        rounded = np.abs(LogTable((), logs).log_sums) > NORMALIZED
        logs = _log(probabilities / np.where(rounded, sums, 1.0))
    return logs


def _log(probabilities: FloatArray) -> FloatArray:
    """Return logs whose ``exp`` is exactly the given probability, as there are for all files written here."""
    with np.errstate(divide="ignore"):
        logs = np.log(probabilities)
    wrong = np.nonzero(np.exp(logs) != probabilities)
    wanted = probabilities[wrong]
    for direction in (-np.inf, np.inf):
        nearby = np.log(wanted)
        for _ in range(4):
            nearby = np.nextafter(nearby, direction)
            logs[wrong] = np.where(np.exp(nearby) == wanted, nearby, logs[wrong])
    return logs
