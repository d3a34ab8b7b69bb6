"""NET, the format of Hugin: a reader and a writer.

pgmpy and pyAgrum read the files written here. The reader accepts the files of Hugin, pgmpy and pyAgrum: a net or one
class, tables nested by parent or flat, and columns of weights that do not sum to one. From files written here it
restores the true names, labels and types, which are stored as attributes, and the exact probabilities.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import pairwise
from math import prod
from typing import NamedTuple

import numpy as np

from bnplug import LogTables, ModelFileError
from bnplug.io.networks import (
    MAX_IMPLIED_CELLS,
    FileFamily,
    FileVariable,
    NetworkParts,
    SafeText,
    collect_families,
    file_variables,
    network_properties,
    padded,
    plain_text,
    table_of_numbers,
    table_shape,
)
from bnplug.io.parsing import Scanner
from bnplug.table.encoder import ColumnEncoder
from bnplug.typing import FloatArray
from bnplug_deploy.positions import HEIGHT, WIDTH, positions

# Words that begin a block or name an attribute.
_RESERVED = (
    *("class", "continuous", "data", "decision", "discrete", "function", "instance", "label", "model_data"),
    *("model_nodes", "net", "node", "position", "potential", "state_values", "states", "subtype", "utility"),
)

# pyAgrum accepts ASCII alone, and ends the process at a token of more than 16,383 characters: long names are replaced,
# and long attributes are split. pgmpy splits states at white space, commas and parentheses, and mistakes text that
# looks like a comment or the beginning of a block for one.
_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,199}+")
_LABEL = re.compile(r"[A-Za-z0-9_.<>=+:-]{1,200}+")
_SHOWN = re.compile(r"[A-Za-z0-9_.,<>=+:#$&'*?@^`~() -]{1,200}+")
_PIECE = 10_000
_MISREAD = re.compile(r"node|potential|states|data")

_PIECE_NAME = re.compile(r"(bnplug_[a-z]++)_([0-9]{1,9}+)")

# A column whose sum differs more from one has weights.
_PROBABILITIES = 1e-3

# Each pattern consumes the white space after it, and is possessive: no input makes it backtrack. Quoted text may
# contain any character, a quote after a backslash.
_QUOTED = r'"(?:[^"\\]++|\\.)*+"'
_NAME = r'[^\s{}()|;="%,:]++'
_COMMENT = re.compile(rf'{_QUOTED}|%[^\n]*+|"', re.DOTALL)
_NET = re.compile(r"net\s*+\{\s*+")
_CLASS = re.compile(rf"class\s++({_NAME})\s*+\{{\s*+")
_NODE = re.compile(rf"(?:discrete\s++)?+node\s++({_NAME})\s*+\{{\s*+")
_POTENTIAL = re.compile(r"potential\s*+\(([^(){}]*+)\)\s*+\{\s*+")
_OTHER = re.compile(rf"((?:continuous\s++|discrete\s++)?+(?:node|decision|utility|function|instance))\s++({_NAME})")
_ATTRIBUTE = re.compile(rf'([A-Za-z_]\w*+)\s*+=\s*+((?:[^;{{}}"]++|{_QUOTED})*+);\s*+', re.DOTALL)
_CLOSE = re.compile(r"\}\s*+")
_WORD = re.compile(rf'({_QUOTED})|([^\s()",]++)', re.DOTALL)
_ESCAPED = re.compile(r'\\(["\\])')


def format_net(tables: LogTables, encoder: ColumnEncoder | None = None) -> str:
    """Return the text of a NET file; the ``write`` function of the format.

    Examples
    --------
    >>> tables = LogTables(["c", "x 1"], {"c": ["n", "y"], "x 1": [0, 1]},
    ...     {"c": ((), np.log([0.5, 0.5])), "x 1": (("c",), np.log([[0.25, 0.5], [0.75, 0.5]]))}, target="c")
    >>> print(format_net(tables))
    net
    {
        node_size = (100 40);
        bnplug_target = "c";
    }
    node c
    {
        label = "c";
        position = (130 90);
        states = ("n" "y");
    }
    node x_1
    {
        label = "x 1";
        position = (130 180);
        states = ("0" "1");
        bnplug_name = "x%201";
        bnplug_states = "int:0,int:1";
    }
    potential (c)
    {
        data = (0.5 0.5);
    }
    potential (x_1 | c)
    {
        data = ((0.25 0.75)
            (0.5 0.5));
    }
    """
    # pyAgrum demands two states.
    variables, probabilities = padded(tables, file_variables(tables, _SAFE, encoder), "NET")
    attributes = _attribute_lines(network_properties(tables, encoder))
    parts = [f"net\n{{\n    node_size = ({WIDTH} {HEIGHT});\n", *attributes, "}\n"]
    for name, place in positions(tables).items():
        parts += _format_node(variables[name], name, place)
    for name, table in tables.tables.items():
        parts += _format_potential(variables[name], [variables[p] for p in table.parents], probabilities[name])
    return "".join(parts)


def parse_net(content: str | bytes) -> NetworkParts:
    """Return the variables and tables of a NET file; the ``read`` function of the format."""
    text = plain_text(content)
    blocks = _scan(text)
    variables: dict[str, FileVariable] = {}
    for block in blocks.nodes:
        if block.header in variables:
            raise ModelFileError(f"line {block.line}: node {block.header!r} is declared twice")
        variables[block.header] = FileVariable(block.header, _labels(block), _properties(block.attributes))
    cards = {name: len(variable.labels) for name, variable in variables.items()}
    families = (_family(block, cards) for block in blocks.potentials)
    tables = collect_families(families, len(text), "potentials without data")
    return NetworkParts(variables, tables, _properties(blocks.attributes))


# Writing


def _takes_name(text: str) -> bool:
    return bool(_IDENTIFIER.fullmatch(text)) and text not in _RESERVED


_SAFE = SafeText(_takes_name, lambda text: bool(_LABEL.fullmatch(text)), str, marks="", reserved=_RESERVED)


def _attribute_lines(attributes: Mapping[str, str]) -> list[str]:
    """Return the lines of attributes; long ones are split into numbered pieces."""
    lines = []
    for key, value in attributes.items():
        for number, start in enumerate(range(0, len(value) or 1, _PIECE), 1):
            name = key if number == 1 else f"{key}_{number}"
            lines.append(f'    {name} = "{value[start : start + _PIECE]}";\n')
    return lines


def _format_node(node: FileVariable, name: str, place: tuple[int, int]) -> list[str]:
    shown = name if _SHOWN.fullmatch(name) and not _MISREAD.search(name) else node.name
    quoted = " ".join(f'"{label}"' for label in node.labels)
    return [
        f'node {node.name}\n{{\n    label = "{shown}";\n    position = ({place[0]} {place[1]});\n',
        f"    states = ({quoted});\n",
        *_attribute_lines(node.properties),
        "}\n",
    ]


def _format_potential(node: FileVariable, parents: list[FileVariable], values: FloatArray) -> list[str]:
    columns = [" ".join(map(repr, column)) for column in values.reshape(len(node.labels), -1).T.tolist()]
    header = f"{node.name} | {' '.join(parent.name for parent in parents)}" if parents else node.name
    return [f"potential ({header})\n{{\n    data = {_nested(columns, values.shape[1:])};\n}}\n"]


def _nested(columns: Sequence[str], shape: tuple[int, ...]) -> str:
    """Return columns, one per line, with parentheses around them and around the states of each parent."""
    inner = [prod(shape[axis:]) for axis in range(len(shape))]
    lines = []
    for i, column in enumerate(columns):
        # A column opens and closes the parentheses of parents whose states start and end with it.
        opened = sum(i % size == 0 for size in inner)
        closed = sum((i + 1) % size == 0 for size in inner)
        lines.append(f"{'(' * opened}({column}){')' * closed}")
    return "\n        ".join(lines)


# Reading


class _Block(NamedTuple):
    """A node or a potential: its name, or the text in its parentheses, its attributes, and its first line."""

    header: str
    attributes: dict[str, str]
    line: int


class _Blocks(NamedTuple):
    """The blocks of a file in order, and the attributes of the network."""

    nodes: list[_Block]
    potentials: list[_Block]
    attributes: dict[str, str]


def _scan(text: str) -> _Blocks:
    """Return the blocks of a file; raise a ``ModelFileError`` that gives the line of anything else."""
    scanner = _Scanner(_COMMENT.sub(_blank_comment, text) if "%" in text or '"' in text else text)
    blocks = _Blocks([], [], {})
    classes = 0
    while not scanner.at_end():
        line = scanner.line()
        if match := scanner.take(_NODE):
            blocks.nodes.append(scanner.block(match[1], line))
        elif match := scanner.take(_POTENTIAL):
            blocks.potentials.append(scanner.block(match[1], line))
        elif scanner.take(_NET):
            blocks.attributes.update(scanner.block("", line).attributes)
        elif scanner.take(_CLASS):
            classes += 1
            if classes > 1:
                raise scanner.error("a second class: of an object-oriented network only one class can be read")
            blocks.attributes.update(scanner.attributes())
        elif not (classes and scanner.take(_CLOSE)):
            raise scanner.unknown()
    return blocks


def _words(text: str) -> list[str]:
    """Return the words of a list in parentheses, some of them quoted."""
    return [_unquoted(quoted) if quoted else bare for quoted, bare in _WORD.findall(text)]


def _unquoted(text: str) -> str:
    """Return a text without its quotes."""
    return _ESCAPED.sub(r"\1", text[1:-1]) if text[:1] == '"' else text


class _Scanner(Scanner):
    def attributes(self) -> dict[str, str]:
        """Consume attributes; the last of two with the same name counts."""
        attributes = {}
        while match := self.take(_ATTRIBUTE):
            attributes[match[1]] = match[2].strip()
        return attributes

    def block(self, header: str, line: int) -> _Block:
        """Consume the content of a block."""
        attributes = self.attributes()
        self.expect(_CLOSE, "'name = value;' or '}'")
        return _Block(header.strip(), attributes, line)

    def unknown(self) -> ModelFileError:
        """Return the error for a block that Bayesian networks do not have."""
        if match := self.take(_OTHER):
            return self.error(
                f"{match[2][:60]!r} is of the kind {' '.join(match[1].split())!r}; only discrete chance nodes are in a "
                "Bayesian network: leave it out, or make it discrete"
            )
        return self.expected("'net', 'class', 'node' or 'potential'")


def _blank_comment(match: re.Match[str]) -> str:
    """Keep quoted text, and blank a comment; raise if a quote is never closed."""
    if match[0] == '"':
        line = match.string.count("\n", 0, match.start()) + 1
        raise ModelFileError(f"line {line}: this quote is never closed")
    return match[0] if match[0][0] == '"' else " "


def _properties(attributes: Mapping[str, str]) -> dict[str, str]:
    """Return the attributes of bnplug, with pieces joined."""
    pieces: dict[str, list[str]] = {}
    for key, value in attributes.items():
        if key.startswith("bnplug_"):
            match = _PIECE_NAME.fullmatch(key)
            pieces.setdefault(match[1] if match else key, []).append(_unquoted(value))
    return {key: "".join(values) for key, values in pieces.items()}


def _labels(block: _Block) -> list[str]:
    """Return a node's states; intervals and numbers without labels are named by their values."""
    labels = _words(block.attributes.get("states", ""))
    values = _words(block.attributes.get("state_values", ""))
    if not any(labels):
        if block.attributes.get("subtype") == "interval" and len(values) == len(labels) + 1:
            labels = [f"{low}..{high}" for low, high in pairwise(values)]
        elif block.attributes.get("subtype") == "number" and len(values) == len(labels):
            labels = values
    if len(set(labels)) != len(labels):
        raise ModelFileError(f"line {block.line}: node {block.header!r} has a state twice")
    return labels


def _family(block: _Block, cards: Mapping[str, int]) -> FileFamily:
    node, _, given = block.header.partition("|")
    children, parents = node.split(), given.split()
    if len(children) != 1:
        raise ModelFileError(f"line {block.line}: expected 'potential (node | parents)', found {block.header[:60]!r}")
    data = block.attributes.get("data")
    if data is None:
        return _even(children[0], parents, block, cards)
    if not data.startswith("(") or data.count("(") != data.count(")"):
        raise ModelFileError(f"line {block.line}: the parentheses of the data of {children[0]!r} do not match")
    plain = data.replace("(", " ").replace(")", " ").replace(",", " ")
    family = table_of_numbers(children[0], parents, plain, cards, block.line)
    return family._replace(probabilities=_normalized(family.probabilities))


def _even(node: str, parents: list[str], block: _Block, cards: Mapping[str, int]) -> FileFamily:
    """Return the table of a potential without data: in Hugin, weights are equal by default."""
    if "model_data" in block.attributes:
        raise ModelFileError(
            f"line {block.line}: the table of {node!r} is an expression ('model_data'): let Hugin write its numbers"
        )
    shape = table_shape(node, parents, cards, block.line)
    if prod(shape) > MAX_IMPLIED_CELLS:
        raise ModelFileError(f"line {block.line}: the table of {node!r} has no data for its {prod(shape):,} numbers")
    return FileFamily(node, parents, np.full(shape, 1.0 / (shape[-1] or 1)), block.line)


def _normalized(values: FloatArray) -> FloatArray:
    """Normalize columns of weights; leave distributions and invalid columns as they are."""
    with np.errstate(over="ignore", invalid="ignore"):
        sums = values.sum(axis=-1, keepdims=True)
        weights = (np.abs(sums - 1.0) > _PROBABILITIES) & np.isfinite(sums) & (sums > 0.0)
        return np.where(weights & (values.min(axis=-1, initial=0.0, keepdims=True) >= 0.0), values / sums, values)
