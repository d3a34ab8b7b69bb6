"""Building blocks of network file formats; BIF, XMLBIF and the formats of plugins use them.

A format (:class:`bnplug.NetworkFormat`) has two functions. ``write(tables, encoder)`` returns the content of a file;
it starts with :func:`file_variables`, which replaces names and labels that the format cannot represent.
``read(content)`` returns :class:`NetworkParts`, which bnplug checks and turns into tables with the true names.

Properties keep the true names and labels, and how raw columns become states; those of the network name the class.
Values are percent-encoded, because readers of other programs must be able to skip them.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from math import prod
from typing import Any, NamedTuple
from urllib.parse import quote, unquote

import numpy as np
import numpy.typing as npt

from bnplug._json import parse_json
from bnplug.errors import ModelFileError, NotRepresentableError
from bnplug.model.log_tables import _MAX_PARENTS, Calibration, LogTables
from bnplug.table._encoder_state import read_columns
from bnplug.table.bins import bin_labels
from bnplug.table.coding import State, as_array, checked_label, checked_labels
from bnplug.table.discretizer import discretizer_from_json
from bnplug.table.encoder import ColumnEncoder
from bnplug.typing import FloatArray

_NAME, _STATES, _CUTS, _KIND, _MISSING = "bnplug_name", "bnplug_states", "bnplug_cuts", "bnplug_kind", "bnplug_missing"
_TARGET, _COLUMNS, _CALIBRATION = "bnplug_target", "bnplug_columns", "bnplug_calibration"

#: The keywords of BIF.
_KEYWORDS = ("default", "discrete", "network", "probability", "property", "table", "type", "variable")
_KEYWORD = re.compile("|".join(_KEYWORDS))

# The attributes of an encoder that describe columns without variables.
_RULES = ("columns", "left_out", "dates", "zones")

# The cuts of a numeric variable with a single bin.
_NO_CUTS = "none"

#: The names of the properties that belong to the network, for formats in which only nodes have properties.
NETWORK_PROPERTIES = (_TARGET, _COLUMNS, _CALIBRATION)

#: Maximum number of cells that a file may imply without listing them, such as by a default.
MAX_IMPLIED_CELLS = 1_000_000

# Maximum size of all tables to which second states were added.
_MAX_PADDED_CELLS = 1_000_000

# What a table of plain numbers consists of: neither "inf" nor "1_0", which Python would accept.
_NUMBERS = re.compile(r"[0-9eE+.\s-]*+")

_STEM_LENGTH = 40
# The beginnings of labels of bins, which would otherwise become alike.
_COMPARISONS = {"<": "lt", "<=": "le", ">": "gt", ">=": "ge"}


class FileVariable(NamedTuple):
    """A variable in a file: name and labels as the file has them, and properties that restore the true ones."""

    name: str
    labels: list[str]
    properties: dict[str, str]


class FileFamily(NamedTuple):
    """A table in a file: names as the file has them, probabilities with axes ``(*parents, node)``, and the line."""

    node: str
    parents: list[str]
    probabilities: FloatArray
    line: int


class NetworkParts(NamedTuple):
    """The content of a file: variables and tables by their names in the file, and the properties of the network."""

    variables: Mapping[str, FileVariable]
    families: Mapping[str, FileFamily]
    properties: Mapping[str, str]


class SafeText(NamedTuple):
    """The names and labels that a format can represent, and the stand-ins for others.

    Names must differ after ``fold``, such as ``str.lower``. Stand-ins contain letters, digits, ``_`` and ``marks``,
    get the prefix ``lead`` if they do not begin with a letter, and are no ``reserved`` words.
    """

    takes_name: Callable[[str], bool]
    takes_label: Callable[[str], bool]
    fold: Callable[[str], str]
    marks: str = ".-"
    lead: str = "_"
    reserved: tuple[str, ...] = ()


# Encoding


def _encode(text: str) -> str:
    """Return `text` as ASCII letters, digits, ``_.-~`` and ``%XX``, without any keyword of BIF."""
    quoted = quote(text, safe="", errors="surrogatepass")
    return _KEYWORD.sub(lambda match: f"%{ord(match[0][0]):02X}{match[0][1:]}", quoted)


def _decode(text: str) -> str:
    """Undo :func:`_encode`; raise a ``ValueError`` if the bytes are not UTF-8."""
    return unquote(text, errors="surrogatepass")


def _encode_labels(labels: Iterable[State]) -> str:
    """Return labels with their types, separated by commas, such as ``int:1,str:a%2C%20b``."""
    plain = (checked_label(label) for label in labels)
    return ",".join(
        f"str:{_encode(label)}" if isinstance(label, str) else f"{type(label).__name__}:{label!r}" for label in plain
    )


def _decode_labels(text: str) -> list[State]:
    """Undo :func:`_encode_labels`; raise a ``ValueError`` if `text` is damaged."""
    return [_decode_label(part) for part in text.split(",")]


def _decode_label(text: str) -> State:
    kind, _, value = text.partition(":")
    if kind == "bool" and value in ("True", "False"):
        return value == "True"
    readers: dict[str, Callable[[str], State]] = {"str": _decode, "int": int, "float": float}
    if kind in readers:
        return readers[kind](value)
    raise ValueError(f"{text!r} is not a state label with its type")


# Writing


def file_variables(tables: LogTables, safe: SafeText, encoder: ColumnEncoder | None = None) -> dict[str, FileVariable]:
    """Return the variables of a network, by true name, as a file represents them.

    Properties keep the `encoder` of raw rows, and names and labels that are replaced by a stand-in.
    """
    cuts = {} if encoder is None else encoder.cut_points
    variables = {}
    for name, safe_name in zip(tables.names, _stand_ins(tables.names, safe.takes_name, safe.fold, safe), strict=True):
        true_labels = checked_labels(name, tables.states[name])
        labels = _stand_ins([str(label) for label in true_labels], safe.takes_label, str, safe)
        properties = {}
        if safe_name != name:
            properties[_NAME] = _encode(name)
        # Labels of other types never equal their text: 1 is not "1".
        if labels != true_labels:
            properties[_STATES] = _encode_labels(true_labels)
        if encoder is not None:
            properties |= _column_properties(name, encoder, cuts.get(name))
        variables[name] = FileVariable(safe_name, labels, properties)
    return variables


def _stand_ins(
    texts: Sequence[str], accepts: Callable[[str], bool], fold: Callable[[str], str], safe: SafeText
) -> list[str]:
    """Return distinct safe texts that resemble `texts`; texts that are safe themselves have precedence."""
    chosen: dict[int, str] = {}
    taken: set[str] = set()
    for i, text in enumerate(texts):
        if accepts(text) and fold(text) not in taken:
            chosen[i] = text
            taken.add(fold(text))
    numbers: dict[str, int] = {}
    for i, text in enumerate(texts):
        if i in chosen:
            continue
        stem = candidate = _stem(text, safe)
        while fold(candidate) in taken:
            numbers[stem] = numbers.get(stem, 1) + 1
            candidate = f"{stem}_{numbers[stem]}"
        chosen[i] = candidate
        taken.add(fold(candidate))
    return [chosen[i] for i in range(len(texts))]


def _stem(text: str, safe: SafeText) -> str:
    """Return an identifier that resembles `text`: letters without accents, keywords capitalized."""
    compared = re.match("[<>]=?", text)
    if compared is not None:
        text = f"{_COMPARISONS[compared[0]]}_{text[compared.end() :].strip()}"
    ascii_text = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()
    stem = re.sub(rf"[^A-Za-z0-9_{re.escape(safe.marks)}]+", "_", ascii_text)[:_STEM_LENGTH].strip("_") or "x"
    stem = _KEYWORD.sub(lambda match: match[0].capitalize(), stem)
    stem = stem if re.match(r"[A-Za-z]", stem) else f"{safe.lead}{stem}"
    return f"{stem}_" if stem in safe.reserved else stem


def padded(
    tables: LogTables, variables: Mapping[str, FileVariable], format_name: str
) -> tuple[dict[str, FileVariable], dict[str, FloatArray]]:
    """Return variables and probabilities with a second, impossible state for each variable that has only one.

    For formats whose readers demand two states; bnplug drops the second states when it reads the file. Tables that
    become too large raise a ``NotRepresentableError``, which names the format.
    """
    probabilities = tables.probabilities()
    single = {name for name in tables.names if len(tables.states[name]) == 1}
    # Refuse tables that second states would make too large, before any of them is made.
    numbers = {name: len(single.intersection((name, *table.parents))) for name, table in tables.tables.items()}
    sizes = {name: tables.tables[name].values.size << number for name, number in numbers.items() if number}
    if sum(sizes.values()) > _MAX_PADDED_CELLS:
        name = max(sizes, key=sizes.__getitem__)
        raise NotRepresentableError(
            f"{name!r} and its parents have {numbers[name]} variables of one state, and each needs a second state in "
            f"{format_name}: a table of 2^{numbers[name]} x {tables.tables[name].values.size:,} numbers; "
            f"the limit for all these tables is {_MAX_PADDED_CELLS:,}. Omit columns of one state, or write XMLBIF"
        )
    all_variables = dict(variables)
    for name in single:
        variable = variables[name]
        unused = "unused" if variable.labels != ["unused"] else "unused_2"
        properties = variable.properties | {_STATES: _encode_labels(tables.states[name])}
        all_variables[name] = FileVariable(variable.name, [*variable.labels, unused], properties)
    for name, table in tables.tables.items():
        for axis, member in enumerate((name, *table.parents)):
            if member in single:
                values = np.repeat(probabilities[name], 2, axis=axis)
                if axis == 0:
                    values[1] = 0.0
                probabilities[name] = values
    return all_variables, probabilities


def _column_properties(name: str, encoder: ColumnEncoder, cuts: npt.ArrayLike | None) -> dict[str, str]:
    """Return the properties of a variable that describe the raw values its states stand for."""
    properties = {}
    if cuts is not None:
        properties[_CUTS] = ",".join(map(repr, np.asarray(cuts, dtype=np.float64).tolist())) or _NO_CUTS
    for kind, names in (("whole", encoder.whole), ("pooled", encoder.pooled)):
        if name in names:
            properties[_KIND] = kind
    if name in encoder.missing_states:
        properties[_MISSING] = _encode(encoder.missing_states[name])
    return properties


def network_properties(tables: LogTables, encoder: ColumnEncoder | None = None) -> dict[str, str]:
    """Return the properties of a network: its class, columns that are not variables, and factors of evidence."""
    properties = {} if tables.target is None else {_TARGET: _encode(tables.target)}
    if encoder is not None and encoder.columns != encoder.names:
        properties[_COLUMNS] = _encode(json.dumps({key: getattr(encoder, key) for key in _RULES}))
    if tables.calibration != Calibration():
        properties[_CALIBRATION] = _encode(json.dumps(tables.calibration))
    return properties


# Reading


def plain_text(content: str | bytes) -> str:
    """Return the text of a file; raise a ``ModelFileError`` if it is not UTF-8."""
    if isinstance(content, str):
        return content
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ModelFileError(f"byte {error.start} is not UTF-8 text") from None


def table_shape(node: str, parents: Sequence[str], cards: Mapping[str, int], line: int) -> tuple[int, ...]:
    """Return the shape ``(*parents, node)`` of a table; raise a ``ModelFileError`` if the family is invalid."""
    unknown = [variable for variable in (node, *parents) if variable not in cards]
    if unknown:
        raise ModelFileError(f"line {line}: {unknown[0]!r} in the table of {node!r} is not a declared variable")
    if len({node, *parents}) != len(parents) + 1:
        raise ModelFileError(f"line {line}: the table of {node!r} names a variable twice")
    if len(parents) > _MAX_PARENTS:
        raise ModelFileError(f"line {line}: {node!r} has {len(parents)} parents, more than {_MAX_PARENTS}")
    return tuple(cards[variable] for variable in (*parents, node))


def table_of_numbers(node: str, parents: list[str], table: str, cards: Mapping[str, int], line: int) -> FileFamily:
    """Return a table that a file lists as plain numbers: the node's state changes fastest, then the last parent's."""
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


def collect_families(families: Iterable[FileFamily], length: int, what: str = "the tables") -> dict[str, FileFamily]:
    """Return tables by node, and refuse a second table of a node.

    A short file may imply large tables. They may have at most `MAX_IMPLIED_CELLS` more cells than the file has
    characters, `length`; `what` implies cells in this format, for the message.
    """
    by_node: dict[str, FileFamily] = {}
    cells = 0
    for family in families:
        if family.node in by_node:
            raise ModelFileError(f"line {family.line}: a second table for {family.node!r}")
        by_node[family.node] = family
        cells += family.probabilities.size
        if cells > length + MAX_IMPLIED_CELLS:
            raise ModelFileError(f"line {family.line}: {what} stand for {cells:,} numbers")
    return by_node


def _read_encoder(
    tables: LogTables, variables: Mapping[str, Mapping[str, str]], network: Mapping[str, str], target: str
) -> ColumnEncoder:
    """Return the encoder of raw rows, from the properties of variables by their true names and of the network."""
    features = tuple(name for name in tables.names if name != target)
    missing = {name: _missing_state(name, variables[name], tables.states[name]) for name in features}
    missing_states = {name: label for name, label in missing.items() if label is not None}
    values = {
        name: tuple(label for label in tables.states[name] if label != missing_states.get(name)) for name in features
    }
    cuts = {name: _cuts(name, variables[name], values[name]) for name in features}
    numeric = tuple(name for name in features if cuts[name] is not None)
    bins: dict[str, Any] = {"name": None, "params": {}, "cut_points": [cuts[name] for name in numeric]}
    kinds = {name: variables[name].get(_KIND) for name in features}
    rules: dict[str, Any] = {"names": features, **_columns(network, target)}
    rules |= {kind: [name for name in features if kinds[name] == kind] for kind in ("whole", "pooled")}
    try:
        columns = read_columns(rules, values)
        discretizer = discretizer_from_json(bins if numeric else None, numeric)
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise ModelFileError(f"the bnplug properties of its columns are damaged: {error}") from None
    return ColumnEncoder(features, numeric, discretizer, missing_states, as_array(tables.states[target]), **columns)


def _missing_state(name: str, properties: Mapping[str, str], states: Sequence[State]) -> str | None:
    if _MISSING not in properties:
        return None
    text = properties[_MISSING]
    with suppress(ValueError):
        label = _decode(text)
        if label in states:
            return label
    raise ModelFileError(f"variable {name!r} has a damaged property {_MISSING}, not a state: {text[:60]!r}")


def _cuts(name: str, properties: Mapping[str, str], labels: Sequence[State]) -> list[float] | None:
    """Return the cuts of a numeric variable; None for any other."""
    if _CUTS not in properties:
        return None
    text = properties[_CUTS]
    with suppress(ValueError):
        cuts = [] if text == _NO_CUTS else [float(cut) for cut in text.split(",")]
        if bin_labels(cuts) == list(labels):
            return cuts
    raise ModelFileError(f"variable {name!r} has a damaged property {_CUTS}: {text[:60]!r}")


def _columns(network: Mapping[str, str], target: str) -> dict[str, Any]:
    """Return the network's rules about columns, if its class is still the same."""
    if _COLUMNS not in network or network.get(_TARGET) != _encode(target):
        return {}
    try:
        rules = parse_json(_decode(network[_COLUMNS]))
        return {key: rules[key] for key in _RULES}
    except (ValueError, TypeError, KeyError, RecursionError):
        raise ModelFileError(f"the network has a damaged property {_COLUMNS}: {network[_COLUMNS][:60]!r}") from None
