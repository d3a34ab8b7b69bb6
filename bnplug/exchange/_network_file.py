"""What the readers of network files share: from the parts of a file to LogTables, checked on the way."""

from __future__ import annotations

import errno
import os
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from math import prod
from typing import NamedTuple

import numpy as np

from bnplug.arrays import FloatArray
from bnplug.data.coding import State
from bnplug.data.intake import Intake
from bnplug.errors import ModelFileError, did_you_mean
from bnplug.exchange._raw_columns import raw_columns
from bnplug.exchange.files import MAX_TEXT, naming_file, read_plain
from bnplug.exchange.names import NAME, STATES, TARGET, SafeVariable, decode, decode_labels
from bnplug.model.log_tables import NORMALIZED, LogTable, LogTables

# How far from one a column may sum in a file: others round, three times a third to 0.999. It is renormalised.
_ROUNDED = 1e-3 + NORMALIZED

# A damaged file's names may be very long, and a cycle may go through all of them.
_MESSAGE_LENGTH = 500

#: Cells that a file may stand for without holding them, such as by a default: a short one must not ask for much memory.
MAX_IMPLIED_CELLS = 1_000_000

# What a table of plain numbers holds: neither "inf" nor "1_0", which Python reads too.
_NUMBERS = re.compile(r"[0-9eE+.\s-]*+")

# numpy's arrays have at most 64 axes.
_MAX_PARENTS = 63


class FileFamily(NamedTuple):
    """A node's table in a file: names as the file holds them, probabilities with axes (*parents, node)."""

    node: str
    parents: list[str]
    probabilities: FloatArray
    line: int


class NetworkParts(NamedTuple):
    """What a file holds: variables and tables by the names that it has for them, and properties of the network."""

    variables: Mapping[str, SafeVariable]
    families: Mapping[str, FileFamily]
    properties: Mapping[str, str]


@contextmanager
def naming(path: str | os.PathLike[str]) -> Iterator[None]:
    """Let a ``ModelFileError`` name the file, with a message of a length that a person reads; a long file is one."""
    try:
        with naming_file(path):
            yield
    except OSError as error:
        if error.errno != errno.EFBIG:
            raise
        raise ModelFileError(f"{os.fspath(path)} cannot be read: {error}") from None
    except ModelFileError as error:
        raise ModelFileError(f"{os.fspath(path)}: {str(error)[:_MESSAGE_LENGTH]}") from None


def content_of(path: str | os.PathLike[str]) -> bytes:
    """Return what a file holds, or a pipe; one that is too long to be a network is not read."""
    return read_plain(path, pipes=True, limit=MAX_TEXT)


def plain_text(content: str | bytes) -> str:
    """Return the text of a file; a ``ModelFileError`` where it is not UTF-8."""
    if isinstance(content, str):
        return content
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ModelFileError(f"byte {error.start} is not UTF-8 text") from None


def choose_target(tables: LogTables, target: str | None, path: str | os.PathLike[str]) -> LogTables:
    """Return the model of a file with the class that was asked for, or else the one that the file names.

    Raises
    ------
    ValueError
        If neither names one, or there is no such variable; the message names the file.
    """
    chosen = tables.target if target is None else target
    if chosen is None:
        raise ValueError(
            f"{path} does not say which variable is the class; name the target, one of {list(tables.names)}"
        )
    if chosen not in tables.names:
        raise ValueError(f"{path}: there is no variable {chosen!r}.{did_you_mean(chosen, tables.names)}")
    return tables.with_target(chosen)


def assemble_with_intake(
    parts: NetworkParts, target: str | None, path: str | os.PathLike[str]
) -> tuple[LogTables, Intake]:
    """Return the model of a file with its class, as :func:`choose_target` has it, and how raw rows become its states.

    Raises
    ------
    ModelFileError
        As :func:`assemble`, and where a property of the columns is damaged.
    ValueError
        As :func:`choose_target`.
    """
    tables = choose_target(assemble(*parts), target, path)
    assert tables.target is not None
    variables = {_true_name(variable): variable.properties for variable in parts.variables.values()}
    return tables, raw_columns(tables, variables, parts.properties, tables.target)


def table_shape(node: str, parents: Sequence[str], cards: Mapping[str, int], line: int) -> tuple[int, ...]:
    """Return the shape (*parents, node) of a table; a ``ModelFileError`` where the family cannot be."""
    unknown = [variable for variable in (node, *parents) if variable not in cards]
    if unknown:
        raise ModelFileError(f"line {line}: {unknown[0]!r} in the table of {node!r} is no declared variable")
    if len({node, *parents}) != len(parents) + 1:
        raise ModelFileError(f"line {line}: the table of {node!r} names a variable twice")
    if len(parents) > _MAX_PARENTS:
        raise ModelFileError(f"line {line}: {node!r} has {len(parents)} parents, over {_MAX_PARENTS}")
    return tuple(cards[variable] for variable in (*parents, node))


def table_of_numbers(node: str, parents: list[str], table: str, cards: Mapping[str, int], line: int) -> FileFamily:
    """Return a table that a file holds as plain numbers: the node's state changes fastest, then the last parent's."""
    shape = table_shape(node, parents, cards, line)
    try:
        numbers = list(map(float, table.split())) if _NUMBERS.fullmatch(table) else []
    except ValueError:
        numbers = []
    if len(numbers) != prod(shape):
        raise ModelFileError(
            f"line {line}: expected the {prod(shape)} numbers of the table of {node!r}, "
            f"found {len(numbers) or repr(table[:60])}"
        )
    return FileFamily(node, parents, np.array(numbers, dtype=np.float64).reshape(shape), line)


def assemble(
    variables: Mapping[str, SafeVariable], families: Mapping[str, FileFamily], properties: Mapping[str, str]
) -> LogTables:
    """Return the model of a file's parts, under its true names and labels.

    Raises
    ------
    ModelFileError
        If the parts do not make a Bayesian network; the message names the node.
    """
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
        own = _without_padding(family, names, states)
        _check_columns(own, variables)
        order = sorted(range(len(family.parents)), key=lambda axis: position[own.parents[axis]])
        values = np.ascontiguousarray(own.probabilities.transpose([len(order), *order]))
        tables[names[file_name]] = ([names[own.parents[axis]] for axis in order], _log_normalized(values))
    target = _decoded(properties[TARGET], "the network") if TARGET in properties else None
    try:
        return LogTables(list(names.values()), states, tables, target)
    except ValueError as error:
        raise ModelFileError(str(error)) from None


def _true_name(variable: SafeVariable) -> str:
    if NAME not in variable.properties:
        return variable.name
    return _decoded(variable.properties[NAME], f"variable {variable.name!r}")


def _decoded(text: str, where: str) -> str:
    try:
        return decode(text.strip())
    except ValueError:
        raise ModelFileError(f"{where} has a damaged bnplug property: {text[:60]!r}") from None


def _true_labels(variable: SafeVariable) -> tuple[State, ...]:
    labels: list[State] = list(variable.labels)
    if STATES in variable.properties:
        text = variable.properties[STATES]
        try:
            labels = decode_labels(text)
        except ValueError:
            raise ModelFileError(f"variable {variable.name!r} has a damaged property {STATES}: {text[:60]!r}") from None
        # A variable with one state has a second, impossible one in some formats.
        if len(labels) != len(variable.labels) and (len(labels), len(variable.labels)) != (1, 2):
            raise ModelFileError(
                f"variable {variable.name!r} has {len(variable.labels)} states, but its property {STATES} "
                f"holds {len(labels)}"
            )
    if not labels:
        raise ModelFileError(f"variable {variable.name!r} has no states")
    if len({repr(label) for label in labels}) != len(labels):
        raise ModelFileError(f"variable {variable.name!r} has a state twice")
    return tuple(labels)


def _without_padding(family: FileFamily, names: Mapping[str, str], states: Mapping[str, Sequence[State]]) -> FileFamily:
    """Return the table without the impossible second state of variables that have but one."""
    kept = tuple(slice(len(states[names[variable]])) for variable in (*family.parents, family.node))
    return family._replace(probabilities=family.probabilities[kept])


def _check_columns(family: FileFamily, variables: Mapping[str, SafeVariable]) -> None:
    """Raise where a column is no distribution."""
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
    """Return the logs of a table; a column that others have rounded is renormalised, ours never is."""
    logs = _log(probabilities)
    sums = probabilities.sum(axis=0)
    # A table's own test decides what is normalised; it is slower, and needed only where this one is close.
    if np.abs(sums - 1.0).max() > NORMALIZED / 2:
        rounded = np.abs(LogTable((), logs).log_sums) > NORMALIZED
        logs = _log(probabilities / np.where(rounded, sums, 1.0))
    return logs


def _log(probabilities: FloatArray) -> FloatArray:
    """Return logs whose ``exp`` is the given probability to the last bit, wherever such a log exists.

    It does for every probability that is the ``exp`` of a float, so for all that we write; the plain log
    can be a few units in the last place away from it.
    """
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
