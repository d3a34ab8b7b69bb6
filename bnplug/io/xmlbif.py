"""XMLBIF 0.3, the interchange format of Weka, pgmpy, pyAgrum and JavaBayes: a reader and a writer.

pgmpy and pyAgrum (as ``.bifxml``) read the files written here. From these, the reader restores the true names, labels
and types, which are stored as properties, and the exact probabilities. Files that define entities are refused.
"""

from __future__ import annotations

from xml.sax.saxutils import escape

from bnplug.io import networks
from bnplug.io.networks import FileVariable, NetworkParts
from bnplug.io.parsing import XmlReader, comes_back
from bnplug.model.log_tables import LogTables
from bnplug.table.encoder import ColumnEncoder
from bnplug.typing import FloatArray


def format_xmlbif(tables: LogTables, encoder: ColumnEncoder | None = None) -> str:
    """Return the text of an XMLBIF file; the ``write`` function of the format."""
    probabilities = tables.probabilities()
    variables = networks.file_variables(tables, _SAFE, encoder)
    lines = ['<?xml version="1.0" encoding="UTF-8"?>', '<BIF VERSION="0.3">', "<NETWORK>", "<NAME>bnplug</NAME>"]
    properties = networks.network_properties(tables, encoder)
    lines += [f"<PROPERTY>{key} = {value}</PROPERTY>" for key, value in properties.items()]
    for variable in variables.values():
        lines += _format_variable(variable)
    for name, table in tables.tables.items():
        lines += _format_family(variables[name], [variables[p] for p in table.parents], probabilities[name])
    return "\n".join([*lines, "</NETWORK>", "</BIF>", ""])


def parse_xmlbif(content: str | bytes) -> NetworkParts:
    """Return the variables and tables of an XMLBIF file; the ``read`` function of the format."""
    reader = _Reader()
    reader.read(content)
    cards = {name: len(variable.labels) for name, variable in reader.variables.items()}
    families = (
        networks.table_of_numbers(node, parents, table, cards, line)
        for node, parents, table, line in reader.definitions
    )
    return NetworkParts(reader.variables, networks.collect_families(families, len(content)), reader.properties)


# Writing


_SAFE = networks.SafeText(comes_back, comes_back, str)


def _format_variable(variable: FileVariable) -> list[str]:
    return [
        '<VARIABLE TYPE="nature">',
        f"    <NAME>{escape(variable.name)}</NAME>",
        *(f"    <OUTCOME>{escape(label)}</OUTCOME>" for label in variable.labels),
        *(f"    <PROPERTY>{key} = {value}</PROPERTY>" for key, value in variable.properties.items()),
        "</VARIABLE>",
    ]


def _format_family(node: FileVariable, parents: list[FileVariable], values: FloatArray) -> list[str]:
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


class _Reader(XmlReader):
    """Collects variables, definitions and the network's properties."""

    format_name, root = "XMLBIF", "BIF"
    text_elements = frozenset({"NAME", "OUTCOME", "PROPERTY", "FOR", "GIVEN", "TABLE"})

    def __init__(self) -> None:
        super().__init__()
        self.variables: dict[str, FileVariable] = {}
        self.definitions: list[tuple[str, list[str], str, int]] = []
        self.properties: dict[str, str] = {}
        self._parts: dict[str, list[str]] = {}

    def started(self, where: list[str], attributes: dict[str, str]) -> None:
        if where in (["NETWORK", "VARIABLE"], ["NETWORK", "DEFINITION"]):
            self._parts = {element: [] for element in self.text_elements}
            kind = attributes.get("TYPE", "nature")
            if kind != "nature":
                raise self.error(f"a variable of type {kind[:40]!r}; only 'nature' is in a Bayesian network")

    def ended(self, where: list[str], text: str) -> None:
        if where == ["NETWORK", "PROPERTY"]:
            self.properties |= _properties([text])
        elif where == ["NETWORK", "VARIABLE"]:
            self._end_variable()
        elif where == ["NETWORK", "DEFINITION"]:
            node, table = self._only("FOR", "definition"), self._only("TABLE", "definition")
            self.definitions.append((node, self._parts["GIVEN"], table, self.line()))
        elif len(where) == 3 and where[-1] in self.text_elements:
            self._parts.setdefault(where[-1], []).append(text)

    def _end_variable(self) -> None:
        name = self._only("NAME", "variable")
        labels = self._parts["OUTCOME"]
        if name in self.variables:
            raise self.error(f"variable {name!r} is declared twice")
        if len(set(labels)) != len(labels):
            raise self.error(f"variable {name!r} has an outcome twice")
        self.variables[name] = FileVariable(name, labels, _properties(self._parts["PROPERTY"]))

    def _only(self, element: str, parent: str) -> str:
        texts = self._parts[element]
        if len(texts) != 1:
            raise self.error(f"a {parent} with {len(texts)} elements {element} instead of one")
        return texts[0]


def _properties(texts: list[str]) -> dict[str, str]:
    pairs = [text.partition("=") for text in texts]
    return {key.strip(): value.strip() for key, equals, value in pairs if equals}
