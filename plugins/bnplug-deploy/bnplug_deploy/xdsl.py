"""XDSL, the format of GeNIe and SMILE: a reader and a writer.

pgmpy reads the files written here. From these, the reader restores the true names, labels and types, which are stored
as properties, and the exact probabilities. As in GeNIe, the state of a node's last parent changes faster than that of
its first. pyAgrum 3.3 uses the opposite order: its files are recognized and read correctly, but it misreads files
written here in which a node has two parents.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import NamedTuple
from xml.sax.saxutils import escape, quoteattr

import numpy as np

from bnplug import LogTables, ModelFileError
from bnplug.io.networks import (
    MAX_IMPLIED_CELLS,
    NETWORK_PROPERTIES,
    FileFamily,
    FileVariable,
    NetworkParts,
    SafeText,
    collect_families,
    file_variables,
    network_properties,
    table_of_numbers,
    table_shape,
)
from bnplug.io.parsing import XmlReader, comes_back
from bnplug.table.encoder import ColumnEncoder
from bnplug.typing import FloatArray
from bnplug_deploy.positions import HEIGHT, WIDTH, positions

_MAX_IDENTIFIER = 200
# The name of pyAgrum in its files.
_AGRUM = "aGrUM"


def format_xdsl(tables: LogTables, encoder: ColumnEncoder | None = None) -> str:
    """Return the text of an XDSL file; the ``write`` function of the format.

    Examples
    --------
    >>> tables = LogTables(["c"], {"c": ["no", "yes"]}, {"c": ((), np.log([0.5, 0.5]))}, target="c")
    >>> print(format_xdsl(tables))
    <?xml version="1.0" encoding="UTF-8"?>
    <smile version="1.0" id="bnplug" numsamples="10000" discsamples="10000">
        <nodes>
            <cpt id="c">
                <state id="no" />
                <state id="yes" />
                <probabilities>0.5 0.5</probabilities>
                <property id="bnplug_target">c</property>
            </cpt>
        </nodes>
        <extensions>
            <genie version="1.0" app="bnplug" name="bnplug">
                <node id="c">
                    <name>c</name>
                    <position>80 70 180 110</position>
                </node>
            </genie>
        </extensions>
    </smile>
    """
    probabilities = tables.probabilities()
    variables = file_variables(tables, _SAFE, encoder)
    # Only nodes have properties: those of the network go to its class, or to the first node.
    holder = tables.names[0] if tables.target is None else tables.target
    properties = {**variables[holder].properties, **network_properties(tables, encoder)}
    variables[holder] = variables[holder]._replace(properties=properties)
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        '<smile version="1.0" id="bnplug" numsamples="10000" discsamples="10000">',
        "    <nodes>",
    ]
    for name in tables.names:
        parents = [variables[parent] for parent in tables.tables[name].parents]
        lines += _format_node(variables[name], parents, probabilities[name])
    lines += ["    </nodes>", "    <extensions>", '        <genie version="1.0" app="bnplug" name="bnplug">']
    for name, place in positions(tables).items():
        lines += _format_drawing(variables[name].name, name, place)
    return "\n".join([*lines, "        </genie>", "    </extensions>", "</smile>", ""])


def parse_xdsl(content: str | bytes) -> NetworkParts:
    """Return the variables and tables of an XDSL file; the ``read`` function of the format.

    Examples
    --------
    >>> parts = parse_xdsl('''<smile version="1.0" id="coin"><nodes>
    ... <cpt id="side"><state id="heads"/><state id="tails"/><probabilities>0.5 0.5</probabilities></cpt>
    ... <deterministic id="won"><state id="no"/><state id="yes"/><parents>side</parents>
    ... <resultingstates>yes no</resultingstates></deterministic></nodes></smile>''')
    >>> parts.variables["side"].labels, parts.families["won"].probabilities.tolist()
    (['heads', 'tails'], [[0.0, 1.0], [1.0, 0.0]])
    """
    reader = _Reader()
    reader.read(content)
    return reader.parts(len(content))


# Writing


def _takes(text: str) -> bool:
    """Return whether `text` is an identifier of GeNIe: a letter, then letters, digits and ``_``."""
    plain = text.isascii() and text.isidentifier() and text[0] != "_"
    return plain and len(text) <= _MAX_IDENTIFIER


_SAFE = SafeText(_takes, _takes, str, marks="", lead="x")


def _format_node(node: FileVariable, parents: list[FileVariable], values: FloatArray) -> list[str]:
    # pgmpy splits at single spaces.
    numbers = " ".join(map(repr, values.reshape(len(node.labels), -1).T.ravel().tolist()))
    given = " ".join(parent.name for parent in parents)
    return [
        f'        <cpt id="{node.name}">',
        *(f'            <state id="{label}" />' for label in node.labels),
        *([f"            <parents>{given}</parents>"] if parents else []),
        f"            <probabilities>{numbers}</probabilities>",
        *(f'            <property id="{key}">{value}</property>' for key, value in node.properties.items()),
        "        </cpt>",
    ]


def _format_drawing(safe_name: str, name: str, place: tuple[int, int]) -> list[str]:
    left, top = place[0] - WIDTH // 2, place[1] - HEIGHT // 2
    # pyAgrum uses the displayed text as the name.
    shown = name if comes_back(name) else safe_name
    return [
        f"            <node id={quoteattr(safe_name)}>",
        f"                <name>{escape(shown)}</name>",
        f"                <position>{left} {top} {left + WIDTH} {top + HEIGHT}</position>",
        "            </node>",
    ]


# Reading


class _Node(NamedTuple):
    """A node of a file; its texts are interpreted when the whole file is read."""

    name: str
    texts: dict[str, str]
    line: int


class _Reader(XmlReader):
    """Collects the nodes, and whether pyAgrum wrote them."""

    format_name, root = "XDSL", "smile"
    text_elements = frozenset({"parents", "probabilities", "resultingstates", "property"})

    def __init__(self) -> None:
        super().__init__()
        self._variables: dict[str, FileVariable] = {}
        self._nodes: list[_Node] = []
        self._network: dict[str, str] = {}
        self._first_parent_fastest = False
        self._begin({})

    def _begin(self, attributes: Mapping[str, str]) -> None:
        self._name = attributes.get("id")
        self._labels: list[str] = []
        self._texts: dict[str, str] = {}
        self._properties: dict[str, str] = {}
        self._property = ""

    def started(self, where: list[str], attributes: dict[str, str]) -> None:
        if where == ["dynamic"]:
            raise self.error("a dynamic network: only one whose nodes stand for one point in time can be read")
        if where == ["extensions", "genie"]:
            self._first_parent_fastest = attributes.get("app", "").startswith(_AGRUM)
        if where[:1] != ["nodes"]:
            return
        if len(where) == 2:
            self._begin(attributes)
            self._check_kind(where[1])
        elif len(where) == 3 and where[2] == "state":
            if "id" not in attributes:
                raise self.error(f"node {self._name!r} has a state without an id")
            self._labels.append(attributes["id"])
        elif len(where) == 3:
            self._property = attributes.get("id", "")

    def _check_kind(self, kind: str) -> None:
        if kind not in ("cpt", "deterministic"):
            raise self.error(
                f"node {self._name!r} is of the kind {kind[:40]!r}; only discrete chance nodes ('cpt', "
                "'deterministic') are in a Bayesian network: let GeNIe turn it into a general chance node, or leave "
                "it out"
            )

    def ended(self, where: list[str], text: str) -> None:
        if len(where) == 3 and where[0] == "nodes":
            if where[2] == "property":
                properties = self._network if self._property in NETWORK_PROPERTIES else self._properties
                properties[self._property] = text
            elif where[2] in self.text_elements:
                self._texts[where[2]] = text
        elif len(where) == 2 and where[0] == "nodes":
            self._end_node()

    def _end_node(self) -> None:
        if self._name is None:
            raise self.error("a node without an id")
        if self._name in self._variables:
            raise self.error(f"node {self._name!r} is declared twice")
        if len(set(self._labels)) != len(self._labels):
            raise self.error(f"node {self._name!r} has a state twice")
        self._variables[self._name] = FileVariable(self._name, self._labels, self._properties)
        self._nodes.append(_Node(self._name, self._texts, self.line()))

    def parts(self, length: int) -> NetworkParts:
        """Return the parts of a file of this length."""
        cards = {name: len(variable.labels) for name, variable in self._variables.items()}
        families = (self._family(node, cards) for node in self._nodes)
        return NetworkParts(self._variables, collect_families(families, length), self._network)

    def _family(self, node: _Node, cards: Mapping[str, int]) -> FileFamily:
        parents = node.texts.get("parents", "").split()
        if self._first_parent_fastest:
            parents.reverse()
        if "resultingstates" in node.texts:
            return _deterministic(node, parents, self._variables[node.name].labels, cards)
        if "probabilities" not in node.texts:
            raise ModelFileError(f"line {node.line}: node {node.name!r} has no probabilities")
        return table_of_numbers(node.name, parents, node.texts["probabilities"], cards, node.line)


def _deterministic(node: _Node, parents: list[str], labels: list[str], cards: Mapping[str, int]) -> FileFamily:
    """Return the table of a node whose state is a function of its parents' states."""
    *given, card = table_shape(node.name, parents, cards, node.line)
    states = node.texts["resultingstates"].split()
    if len(states) != prod(given):
        raise ModelFileError(
            f"line {node.line}: expected the {prod(given)} resulting states of {node.name!r}, found {len(states)}"
        )
    if len(states) * card > MAX_IMPLIED_CELLS:
        raise ModelFileError(f"line {node.line}: {node.name!r} stands for {len(states) * card:,} numbers")
    codes = {label: code for code, label in enumerate(labels)}
    unknown = [state for state in states if state not in codes]
    if unknown:
        raise ModelFileError(f"line {node.line}: {unknown[0][:60]!r} is not a state of {node.name!r}")
    certain = np.zeros((len(states), card))
    certain[np.arange(len(states)), [codes[state] for state in states]] = 1.0
    return FileFamily(node.name, parents, certain.reshape(*given, card), node.line)
