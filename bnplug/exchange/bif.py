"""BIF, the interchange format of bnlearn, pgmpy, pyAgrum and JavaBayes: a reader and a writer.

What we write, pgmpy and pyAgrum read too; our own reader also gives back the true names, labels and types,
from properties, and the probabilities to the last bit. The reader takes the dialects of the others.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import product
from math import prod

import numpy as np

from bnplug.arrays import FloatArray
from bnplug.data.intake import Intake
from bnplug.errors import ModelFileError
from bnplug.exchange._bif_blocks import Blocks, TableBlock, scan, split_list, words
from bnplug.exchange._network_file import (
    MAX_IMPLIED_CELLS,
    FileFamily,
    NetworkParts,
    assemble,
    plain_text,
    table_shape,
)
from bnplug.exchange._padding import padded
from bnplug.exchange._raw_columns import network_properties, with_raw_columns
from bnplug.exchange.names import KEYWORDS, SafeText, SafeVariable, safe_variables
from bnplug.model.log_tables import LogTables

# pyAgrum takes identifiers and, as labels, whole numbers; it ends the process at a token of more than 16,383
# characters, so that long names get a stand-in, and long properties go into pieces.
_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,199}+")
_WHOLE_NUMBER = re.compile(r"[+-]?[0-9]{1,200}+")
_PIECE = 10_000
# Inside a name, pgmpy takes "property" for a property, and "table" or "default" before what could begin a number
# for a line of a table.
_MISREAD = re.compile(r"property|(?:table|default)[0-9eE.+-]")

# A line of a table, with the blanks after it. Like the patterns of blocks, it never backtracks.
_STATEMENT = re.compile(r'((?:[^;"]++|"[^"]*+")*+)(;|\Z)\s*+')


def format_bif(tables: LogTables, intake: Intake | None = None) -> str:
    """Return a model as the text of a BIF file; see :func:`~bnplug.exchange.network_files.write_network`.

    Examples
    --------
    >>> tables = LogTables(["c", "x 1"], {"c": ["n", "y"], "x 1": [0, 1]},
    ...     {"c": ((), np.log([0.5, 0.5])), "x 1": (("c",), np.log([[0.25, 0.5], [0.75, 0.5]]))}, target="c")
    >>> print(format_bif(tables))
    network bnplug {
        property bnplug_target = c ;
    }
    variable c {
        type discrete [ 2 ] { n, y };
    }
    variable x_1 {
        type discrete [ 2 ] { 0, 1 };
        property bnplug_name = x%201 ;
        property bnplug_states = int:0,int:1 ;
    }
    probability ( c ) {
        table 0.5, 0.5;
    }
    probability ( x_1 | c ) {
        ( n ) 0.25, 0.75;
        ( y ) 0.5, 0.5;
    }
    """
    variables = with_raw_columns(safe_variables(tables.names, tables.states, _SAFE), intake)
    # pyAgrum demands two states.
    variables, probabilities = padded(tables, variables, "BIF")
    parts = ["network bnplug {\n", *_property_lines(network_properties(tables, intake)), "}\n"]
    parts += [_format_variable(variable) for variable in variables.values()]
    for name, table in tables.tables.items():
        parts += _format_family(variables[name], [variables[parent] for parent in table.parents], probabilities[name])
    return "".join(parts)


def parse_bif(text: str | bytes) -> LogTables:
    """Return the model that the text of a BIF file holds; see :func:`~bnplug.exchange.network_files.read_tables`.

    Examples
    --------
    >>> tables = parse_bif('''network rain { }
    ... variable rain { type discrete [2] {"yes" "no"}; }
    ... variable grass { type discrete [2] {wet, dry}; }
    ... probability ( rain ) { table 0.25 0.75; }
    ... probability ( grass | rain ) { default 0.5, 0.5; (yes) 1.0, 0.0; }''')
    >>> tables.states["grass"], np.exp(tables.tables["grass"].values).tolist()
    (('wet', 'dry'), [[1.0, 0.5], [0.0, 0.5]])
    """
    return assemble(*_parts_of(text))


def _parts_of(content: str | bytes) -> NetworkParts:
    """Return what the content of a BIF file holds, by the names that it has there."""
    text = plain_text(content)
    blocks = scan(text)
    return NetworkParts(blocks.variables, _families(blocks, len(text)), blocks.properties)


# Writing


def _takes_name(text: str) -> bool:
    return bool(_IDENTIFIER.fullmatch(text)) and text not in KEYWORDS and not _MISREAD.search(text)


def _takes_label(text: str) -> bool:
    return _takes_name(text) or bool(_WHOLE_NUMBER.fullmatch(text))


# pgmpy takes names that differ in case for one.
_SAFE = SafeText(_takes_name, _takes_label, str.lower)


def _property_lines(properties: Mapping[str, str]) -> list[str]:
    return [
        f"    property {key} = {value[start : start + _PIECE]} ;\n"
        for key, value in properties.items()
        for start in range(0, len(value) or 1, _PIECE)
    ]


def _format_variable(variable: SafeVariable) -> str:
    return (
        f"variable {variable.name} {{\n"
        f"    type discrete [ {len(variable.labels)} ] {{ {', '.join(variable.labels)} }};\n"
        f"{''.join(_property_lines(variable.properties))}}}\n"
    )


def _format_family(node: SafeVariable, parents: list[SafeVariable], values: FloatArray) -> list[str]:
    columns = [", ".join(map(repr, column)) for column in values.reshape(len(node.labels), -1).T.tolist()]
    if not parents:
        return [f"probability ( {node.name} ) {{\n    table {columns[0]};\n}}\n"]
    configurations = product(*(parent.labels for parent in parents))
    return [
        f"probability ( {node.name} | {', '.join(parent.name for parent in parents)} ) {{\n",
        *(f"    ( {', '.join(labels)} ) {column};\n" for labels, column in zip(configurations, columns, strict=True)),
        "}\n",
    ]


# Reading


def _families(blocks: Blocks, length: int) -> dict[str, FileFamily]:
    """Return the table of each node; together they hold few more numbers than a text of this length can."""
    cards = {name: len(variable.labels) for name, variable in blocks.variables.items()}
    families: dict[str, FileFamily] = {}
    cells = 0
    for block in blocks.tables:
        family = _family(block, blocks.variables, cards)
        if family.node in families:
            raise ModelFileError(f"line {block.line}: a second table for {family.node!r}")
        families[family.node] = family
        cells += family.probabilities.size
        if cells > length + MAX_IMPLIED_CELLS:
            raise ModelFileError(f"line {block.line}: 'default' lines stand for {cells:,} numbers")
    return families


def _family(block: TableBlock, variables: Mapping[str, SafeVariable], cards: Mapping[str, int]) -> FileFamily:
    node, *parents = _members(block.header, cards)
    *shape, card = table_shape(node, parents, cards, block.line)
    reader = _TableReader(parents, [variables[parent].labels for parent in parents], card)
    for match in _STATEMENT.finditer(block.body):
        try:
            reader.read(match[1], ended=match[2] == ";")
        except ModelFileError as error:
            line = block.line + block.body.count("\n", 0, match.start())
            raise ModelFileError(f"line {line}: {error}") from None
    try:
        values = reader.columns()
    except ModelFileError as error:
        raise ModelFileError(f"line {block.line}: the table of {node!r} {error}") from None
    return FileFamily(node, parents, values.reshape(*shape, card), block.line)


def _members(header: str, known: Mapping[str, int]) -> list[str]:
    """Return the node and its parents: ``x | y, z``, or ``"x" "y" "z"`` as JavaBayes has it."""
    if '"' in header:
        return words(header) or [""]
    node, bar, rest = (part.strip() for part in header.partition("|"))
    if bar and rest:
        parents = [parent.strip() for parent in rest.split(",")]
        return [node, *(parents if parents[0] in known else rest.replace(",", " ").split())]
    return [node] if node in known else node.replace(",", " ").split() or [node]


class _TableReader:
    """Collects the columns of a node's table from the lines of its block."""

    def __init__(self, parents: list[str], labels: list[list[str]], card: int) -> None:
        self._parents = parents
        self._codes = [{label: code for code, label in enumerate(own)} for own in labels]
        self._card = card
        self._n_columns = prod(map(len, labels))
        self._given: list[int] = []
        self._numbers: list[float] = []
        self._default: list[float] | None = None

    def read(self, statement: str, ended: bool) -> None:
        if not ended:
            if statement:
                raise ModelFileError(f"there is no ';' after {statement[:40]!r}")
        elif statement.startswith("("):
            labels, _, numbers = statement[1:].rpartition(")")
            self._given.append(self._column(labels))
            self._numbers += _numbers(numbers, self._card)
        elif statement.startswith("table"):
            # In such a line the last parent's state changes fastest, the node's slowest.
            table = _numbers(statement[5:], self._n_columns * self._card)
            self._given += range(self._n_columns)
            self._numbers += [n for i in range(self._n_columns) for n in table[i :: self._n_columns]]
        elif statement.startswith("default"):
            self._default = _numbers(statement[7:], self._card)
        elif not statement.startswith("property"):
            raise ModelFileError(f"expected '(states) numbers', 'table' or 'default', found {statement[:40]!r}")

    def _column(self, text: str) -> int:
        labels = split_list(text, len(self._parents))
        if labels is None:
            raise ModelFileError(f"expected a state of each of {self._parents}, found {text[:60]!r}")
        column = 0
        for parent, label, codes in zip(self._parents, labels, self._codes, strict=True):
            if label not in codes:
                raise ModelFileError(f"{label!r} is no state of {parent!r}")
            column = column * len(codes) + codes[label]
        return column

    def columns(self) -> FloatArray:
        """Return the table, one column a row; sizes are checked before anything is allocated."""
        if len(set(self._given)) != len(self._given):
            raise ModelFileError("has a column twice")
        if self._default is None and len(self._given) != self._n_columns:
            raise ModelFileError(f"has {len(self._given)} columns instead of {self._n_columns:,}")
        if self._default is not None and self._n_columns * self._card > MAX_IMPLIED_CELLS:
            raise ModelFileError(f"has a 'default' for {self._n_columns * self._card:,} numbers")
        values = np.empty((self._n_columns, self._card))
        if self._default is not None:
            values[:] = self._default
        values[self._given] = np.array(self._numbers).reshape(-1, self._card)
        return values


def _numbers(text: str, count: int) -> list[float]:
    words = text.split(",")
    try:
        numbers = list(map(float, words if len(words) == count else text.replace(",", " ").split()))
    except ValueError as error:
        raise ModelFileError(str(error)) from None
    if len(numbers) != count:
        raise ModelFileError(f"expected {count:,} numbers, found {len(numbers):,}")
    return numbers
