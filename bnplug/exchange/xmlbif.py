"""XMLBIF 0.3, the interchange format of Weka, pgmpy, pyAgrum and JavaBayes: a reader and a writer.

What we write, pgmpy and pyAgrum (as ``.bifxml``) read too; our own reader also gives back the true names,
labels and types, from properties, and the probabilities to the last bit. A file that defines entities is
refused.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from math import prod
from xml.parsers import expat
from xml.sax.saxutils import escape

import numpy as np

from bnplug.arrays import FloatArray
from bnplug.data.intake import Intake
from bnplug.errors import ModelFileError
from bnplug.exchange._network_file import (
    FileFamily,
    NetworkParts,
    assemble,
    assemble_with_intake,
    naming,
    table_shape,
)
from bnplug.exchange._raw_columns import network_properties, with_raw_columns
from bnplug.exchange.files import MAX_TEXT, read_plain, write_atomically
from bnplug.exchange.names import TARGET, SafeText, SafeVariable, encode, safe_variables
from bnplug.model.log_tables import LogTables

_MAX_DEPTH = 16
_NUMBERS = re.compile(r"[0-9eE+.\s-]*+")
_TEXT_ELEMENTS = {"NAME", "OUTCOME", "PROPERTY", "FOR", "GIVEN", "TABLE"}


def write_xmlbif(tables: LogTables, path: str | os.PathLike[str], intake: Intake | None = None) -> None:
    """Write a model as an XMLBIF file, which pgmpy and, under the ending ``.bifxml``, pyAgrum read too.

    Parameters
    ----------
    tables : LogTables
        Names and labels that the format has no room for get a safe stand-in, and the true one a property.
    path : path-like
    intake : Intake, optional
        What made the states: its cuts go along as properties, so that what is read takes raw rows.

    Raises
    ------
    NotRepresentableError
        If a table is not normalised.
    """
    write_atomically(path, format_xmlbif(tables, intake))


def read_xmlbif_tables(path: str | os.PathLike[str]) -> LogTables:
    """Read a model from an XMLBIF file, ours or another program's.

    Parameters
    ----------
    path : path-like

    Returns
    -------
    LogTables
        With the class as its target, where the file is ours and says so. The labels of other programs'
        files are text.

    Raises
    ------
    ModelFileError
        If the file is damaged or holds no Bayesian network; the message gives the line or the node.
    """
    with naming(path):
        return assemble(*_parse(read_plain(path, pipes=True, limit=MAX_TEXT)))


def read_xmlbif_network(path: str | os.PathLike[str], target: str | None = None) -> tuple[LogTables, Intake]:
    """Read a model from XMLBIF, and how raw rows become its states: :func:`~bnplug.exchange.bif.read_bif_network`."""
    with naming(path):
        return assemble_with_intake(_parse(read_plain(path, pipes=True, limit=MAX_TEXT)), target, path)


def format_xmlbif(tables: LogTables, intake: Intake | None = None) -> str:
    """Return a model as the text of an XMLBIF file, as :func:`write_xmlbif` writes it.

    Examples
    --------
    >>> tables = LogTables(["c"], {"c": [0, 1]}, {"c": ((), np.log([0.5, 0.5]))}, target="c")
    >>> print(format_xmlbif(tables))
    <?xml version="1.0" encoding="UTF-8"?>
    <BIF VERSION="0.3">
    <NETWORK>
    <NAME>bnplug</NAME>
    <PROPERTY>bnplug_target = c</PROPERTY>
    <VARIABLE TYPE="nature">
        <NAME>c</NAME>
        <OUTCOME>0</OUTCOME>
        <OUTCOME>1</OUTCOME>
        <PROPERTY>bnplug_states = int:0,int:1</PROPERTY>
    </VARIABLE>
    <DEFINITION>
        <FOR>c</FOR>
        <TABLE>
            0.5 0.5
        </TABLE>
    </DEFINITION>
    </NETWORK>
    </BIF>
    """
    probabilities = tables.probabilities()
    variables = with_raw_columns(safe_variables(tables.names, tables.states, _SAFE), intake)
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        '<BIF VERSION="0.3">',
        "<NETWORK>",
        "<NAME>bnplug</NAME>",
    ]
    own = {} if tables.target is None else {TARGET: encode(tables.target)}
    lines += [f"<PROPERTY>{key} = {value}</PROPERTY>" for key, value in (own | network_properties(intake)).items()]
    for variable in variables.values():
        lines += _format_variable(variable)
    for name, table in tables.tables.items():
        lines += _format_family(variables[name], [variables[p] for p in table.parents], probabilities[name])
    return "\n".join([*lines, "</NETWORK>", "</BIF>", ""])


def parse_xmlbif(text: str | bytes) -> LogTables:
    """Return the model that the text of an XMLBIF file holds; see :func:`read_xmlbif_tables`.

    Examples
    --------
    >>> tables = parse_xmlbif('''<BIF VERSION="0.3"><NETWORK><NAME>coin</NAME>
    ... <VARIABLE TYPE="nature"><NAME>side</NAME><OUTCOME>heads</OUTCOME><OUTCOME>tails</OUTCOME></VARIABLE>
    ... <DEFINITION><FOR>side</FOR><TABLE>0.5 0.5</TABLE></DEFINITION></NETWORK></BIF>''')
    >>> tables.states
    {'side': ('heads', 'tails')}
    """
    return assemble(*_parse(text))


def _parse(text: str | bytes) -> NetworkParts:
    handler = _Handler()
    # A str is always fed as UTF-8: what its declaration says of an encoding no longer holds.
    parser = expat.ParserCreate("UTF-8" if isinstance(text, str) else None)
    handler.attach(parser)
    try:
        parser.Parse(text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text, True)
    except expat.ExpatError as error:
        raise ModelFileError(f"line {error.lineno}: {expat.ErrorString(error.code)}") from None
    except ModelFileError:
        raise
    except (LookupError, ValueError) as error:
        raise ModelFileError(f"line 1: its encoding cannot be read: {error}") from None
    cards = {name: len(variable.labels) for name, variable in handler.variables.items()}
    families = {}
    for node, parents, table, line in handler.definitions:
        if node in families:
            raise ModelFileError(f"line {line}: a second table for {node!r}")
        families[node] = _family(node, parents, table, cards, line)
    return NetworkParts(handler.variables, families, handler.properties)


# Writing


def _takes(text: str) -> bool:
    """Whether both readers give `text` back: printable, and no blanks that pyAgrum would collapse."""
    return text.isprintable() and text == text.strip() != "" and "  " not in text


_SAFE = SafeText(_takes, _takes, str)


def _format_variable(variable: SafeVariable) -> list[str]:
    return [
        '<VARIABLE TYPE="nature">',
        f"    <NAME>{escape(variable.name)}</NAME>",
        *(f"    <OUTCOME>{escape(label)}</OUTCOME>" for label in variable.labels),
        *(f"    <PROPERTY>{key} = {value}</PROPERTY>" for key, value in variable.properties.items()),
        "</VARIABLE>",
    ]


def _format_family(node: SafeVariable, parents: list[SafeVariable], values: FloatArray) -> list[str]:
    columns = values.reshape(len(node.labels), -1).T.tolist()
    return [
        "<DEFINITION>",
        f"    <FOR>{escape(node.name)}</FOR>",
        *(f"    <GIVEN>{escape(parent.name)}</GIVEN>" for parent in parents),
        "    <TABLE>",
        *(f"        {' '.join(map(repr, column))}" for column in columns),
        "    </TABLE>",
        "</DEFINITION>",
    ]


# Reading


class _Handler:
    """Collects variables, definitions and the network's properties while expat goes through the file."""

    def __init__(self) -> None:
        self.variables: dict[str, SafeVariable] = {}
        self.definitions: list[tuple[str, list[str], str, int]] = []
        self.properties: dict[str, str] = {}
        self._path: list[str] = []
        self._text: list[str] = []
        self._parts: dict[str, list[str]] = {}

    def attach(self, parser: expat.XMLParserType) -> None:
        self._parser = parser
        parser.buffer_text = True
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._text_found
        parser.EntityDeclHandler = self._refuse_entity
        parser.SkippedEntityHandler = self._refuse_entity

    def _error(self, message: str) -> ModelFileError:
        return ModelFileError(f"line {self._parser.CurrentLineNumber}: {message}")

    def _refuse_entity(self, name: str, *_: object) -> None:
        raise self._error(f"entity {name!r}: an XMLBIF file may not define entities")

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        self._path.append(tag)
        if len(self._path) > _MAX_DEPTH:
            raise self._error("elements are nested too deep")
        if self._path[0] != "BIF":
            raise self._error(f"expected the element BIF, found {tag[:40]!r}")
        self._text = []
        if self._path[1:] in (["NETWORK", "VARIABLE"], ["NETWORK", "DEFINITION"]):
            self._parts = {element: [] for element in _TEXT_ELEMENTS}
            kind = attributes.get("TYPE", "nature")
            if kind != "nature":
                raise self._error(f"a variable of type {kind[:40]!r}; only 'nature' is in a Bayesian network")

    def _text_found(self, text: str) -> None:
        if self._path[-1] in _TEXT_ELEMENTS:
            self._text.append(text)

    def _end(self, tag: str) -> None:
        where = self._path[1:]
        self._path.pop()
        text = "".join(self._text).strip()
        self._text = []
        if where == ["NETWORK", "PROPERTY"]:
            self.properties |= _properties([text])
        elif where == ["NETWORK", "VARIABLE"]:
            self._end_variable()
        elif where == ["NETWORK", "DEFINITION"]:
            self._end_definition()
        elif len(where) == 3 and tag in _TEXT_ELEMENTS:
            self._parts.setdefault(tag, []).append(text)

    def _end_variable(self) -> None:
        name = self._only("NAME", "variable")
        labels = self._parts["OUTCOME"]
        if name in self.variables:
            raise self._error(f"variable {name!r} is declared twice")
        if len(set(labels)) != len(labels):
            raise self._error(f"variable {name!r} has an outcome twice")
        self.variables[name] = SafeVariable(name, labels, _properties(self._parts["PROPERTY"]))

    def _end_definition(self) -> None:
        node, table = self._only("FOR", "definition"), self._only("TABLE", "definition")
        self.definitions.append((node, self._parts["GIVEN"], table, self._parser.CurrentLineNumber))

    def _only(self, element: str, parent: str) -> str:
        found = self._parts[element]
        if len(found) != 1:
            raise self._error(f"a {parent} with {len(found)} elements {element} instead of one")
        return found[0]


def _properties(texts: list[str]) -> dict[str, str]:
    pairs = [text.partition("=") for text in texts]
    return {key.strip(): value.strip() for key, equals, value in pairs if equals}


def _family(node: str, parents: list[str], table: str, cards: Mapping[str, int], line: int) -> FileFamily:
    """Return a definition's table: the node's state changes fastest, then the last parent's."""
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
