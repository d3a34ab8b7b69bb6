"""XMLBIF 0.3, the interchange format of Weka, pgmpy, pyAgrum and JavaBayes: a reader and a writer.

What we write, pgmpy and pyAgrum (as ``.bifxml``) read too; our own reader also gives back the true names,
labels and types, from properties, and the probabilities to the last bit. A file that defines entities is
refused.
"""

from __future__ import annotations

from xml.sax.saxutils import escape

from bnplug.arrays import FloatArray
from bnplug.data.intake import Intake
from bnplug.errors import ModelFileError
from bnplug.exchange._network_file import NetworkParts, assemble, table_of_numbers
from bnplug.exchange._raw_columns import network_properties, with_raw_columns
from bnplug.exchange._xml import XmlReader, comes_back
from bnplug.exchange.names import SafeText, SafeVariable, safe_variables
from bnplug.model.log_tables import LogTables


def format_xmlbif(tables: LogTables, intake: Intake | None = None) -> str:
    """Return a model as the text of an XMLBIF file; see :func:`~bnplug.exchange.network_files.write_network`.

    Examples
    --------
    >>> import numpy as np
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
    said = network_properties(tables, intake)
    lines += [f"<PROPERTY>{key} = {value}</PROPERTY>" for key, value in said.items()]
    for variable in variables.values():
        lines += _format_variable(variable)
    for name, table in tables.tables.items():
        lines += _format_family(variables[name], [variables[p] for p in table.parents], probabilities[name])
    return "\n".join([*lines, "</NETWORK>", "</BIF>", ""])


def parse_xmlbif(text: str | bytes) -> LogTables:
    """Return the model that the text of an XMLBIF file holds; see :func:`~bnplug.exchange.network_files.read_tables`.

    Examples
    --------
    >>> tables = parse_xmlbif('''<BIF VERSION="0.3"><NETWORK><NAME>coin</NAME>
    ... <VARIABLE TYPE="nature"><NAME>side</NAME><OUTCOME>heads</OUTCOME><OUTCOME>tails</OUTCOME></VARIABLE>
    ... <DEFINITION><FOR>side</FOR><TABLE>0.5 0.5</TABLE></DEFINITION></NETWORK></BIF>''')
    >>> tables.states
    {'side': ('heads', 'tails')}
    """
    return assemble(*_parts_of(text))


def _parts_of(content: str | bytes) -> NetworkParts:
    """Return what the content of an XMLBIF file holds, by the names that it has there."""
    reader = _Reader()
    reader.read(content)
    return reader.parts()


# Writing


_SAFE = SafeText(comes_back, comes_back, str)


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


class _Reader(XmlReader):
    """Collects variables, definitions and the network's properties."""

    format_name, root = "XMLBIF", "BIF"
    text_elements = frozenset({"NAME", "OUTCOME", "PROPERTY", "FOR", "GIVEN", "TABLE"})

    def __init__(self) -> None:
        super().__init__()
        self._variables: dict[str, SafeVariable] = {}
        self._definitions: list[tuple[str, list[str], str, int]] = []
        self._properties: dict[str, str] = {}
        self._parts: dict[str, list[str]] = {}

    def parts(self) -> NetworkParts:
        cards = {name: len(variable.labels) for name, variable in self._variables.items()}
        families = {}
        for node, parents, table, line in self._definitions:
            if node in families:
                raise ModelFileError(f"line {line}: a second table for {node!r}")
            families[node] = table_of_numbers(node, parents, table, cards, line)
        return NetworkParts(self._variables, families, self._properties)

    def started(self, where: list[str], attributes: dict[str, str]) -> None:
        if where in (["NETWORK", "VARIABLE"], ["NETWORK", "DEFINITION"]):
            self._parts = {element: [] for element in self.text_elements}
            kind = attributes.get("TYPE", "nature")
            if kind != "nature":
                raise self.error(f"a variable of type {kind[:40]!r}; only 'nature' is in a Bayesian network")

    def ended(self, where: list[str], text: str) -> None:
        if where == ["NETWORK", "PROPERTY"]:
            self._properties |= _properties([text])
        elif where == ["NETWORK", "VARIABLE"]:
            self._end_variable()
        elif where == ["NETWORK", "DEFINITION"]:
            node, table = self._only("FOR", "definition"), self._only("TABLE", "definition")
            self._definitions.append((node, self._parts["GIVEN"], table, self.line()))
        elif len(where) == 3 and where[-1] in self.text_elements:
            self._parts.setdefault(where[-1], []).append(text)

    def _end_variable(self) -> None:
        name = self._only("NAME", "variable")
        labels = self._parts["OUTCOME"]
        if name in self._variables:
            raise self.error(f"variable {name!r} is declared twice")
        if len(set(labels)) != len(labels):
            raise self.error(f"variable {name!r} has an outcome twice")
        self._variables[name] = SafeVariable(name, labels, _properties(self._parts["PROPERTY"]))

    def _only(self, element: str, parent: str) -> str:
        found = self._parts[element]
        if len(found) != 1:
            raise self.error(f"a {parent} with {len(found)} elements {element} instead of one")
        return found[0]


def _properties(texts: list[str]) -> dict[str, str]:
    pairs = [text.partition("=") for text in texts]
    return {key.strip(): value.strip() for key, equals, value in pairs if equals}
