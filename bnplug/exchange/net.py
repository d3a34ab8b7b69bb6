"""NET, the format of Hugin: a reader and a writer.

What we write, pgmpy and pyAgrum read too; our own reader also gives back the true names, labels and types, from
attributes of ours, and the probabilities to the last bit. The reader takes what Hugin, pgmpy and pyAgrum write: a net
or one class, tables nested by parent or flat, and columns of weights, which need not sum to one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import pairwise
from math import prod

import numpy as np

from bnplug.arrays import FloatArray
from bnplug.data.intake import Intake
from bnplug.errors import ModelFileError
from bnplug.exchange._net_blocks import Block, Blocks, scan, unquoted, words
from bnplug.exchange._network_file import (
    MAX_IMPLIED_CELLS,
    FileFamily,
    NetworkParts,
    assemble,
    plain_text,
    table_of_numbers,
    table_shape,
)
from bnplug.exchange._padding import padded
from bnplug.exchange._positions import HEIGHT, WIDTH, positions
from bnplug.exchange._raw_columns import network_properties, with_raw_columns
from bnplug.exchange.names import SafeText, SafeVariable, safe_variables
from bnplug.model.log_tables import LogTables

# Words that begin a block or name an attribute.
_RESERVED = (
    *("class", "continuous", "data", "decision", "discrete", "function", "instance", "label", "model_data"),
    *("model_nodes", "net", "node", "position", "potential", "state_values", "states", "subtype", "utility"),
)

# pyAgrum takes ASCII alone and ends the process at a token of more than 16,383 characters, so that long names get a
# stand-in, and long attributes go into pieces. pgmpy splits states at blanks, commas and parentheses, and takes what
# looks like a comment, or like the beginning of a block, for one wherever it stands.
_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,199}+")
_LABEL = re.compile(r"[A-Za-z0-9_.<>=+:-]{1,200}+")
_SHOWN = re.compile(r"[A-Za-z0-9_.,<>=+:#$&'*?@^`~() -]{1,200}+")
_PIECE = 10_000
_MISREAD = re.compile(r"node|potential|states|data")

_PIECE_NAME = re.compile(r"(bnplug_[a-z]++)_([0-9]{1,9}+)")

# How far from one the sum of a column may be before it is one of weights.
_PROBABILITIES = 1e-3


def format_net(tables: LogTables, intake: Intake | None = None) -> str:
    """Return a model as the text of a NET file; see :func:`~bnplug.exchange.network_files.write_network`.

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
    variables = with_raw_columns(safe_variables(tables.names, tables.states, _SAFE), intake)
    # pyAgrum demands two states.
    variables, probabilities = padded(tables, variables, "NET")
    own = _attribute_lines(network_properties(tables, intake))
    parts = [f"net\n{{\n    node_size = ({WIDTH} {HEIGHT});\n", *own, "}\n"]
    for name, place in positions(tables).items():
        parts += _format_node(variables[name], name, place)
    for name, table in tables.tables.items():
        parts += _format_potential(variables[name], [variables[p] for p in table.parents], probabilities[name])
    return "".join(parts)


def parse_net(text: str | bytes) -> LogTables:
    """Return the model that the text of a NET file holds; see :func:`~bnplug.exchange.network_files.read_tables`.

    Examples
    --------
    >>> tables = parse_net('''net { }
    ... node rain { states = ("yes" "no"); }
    ... node grass { label = "the grass"; states = (wet dry); }
    ... potential (rain) { data = (1 3); }  % weights
    ... potential (grass | rain) { data = ((1 0)(0.5 0.5)); }''')
    >>> tables.states["grass"], np.exp(tables.tables["rain"].values).tolist()
    (('wet', 'dry'), [0.25, 0.75])
    """
    return assemble(*_parts_of(text))


def _parts_of(content: str | bytes) -> NetworkParts:
    """Return what the content of a NET file holds, by the names that it has there."""
    text = plain_text(content)
    blocks = scan(text)
    variables: dict[str, SafeVariable] = {}
    for block in blocks.nodes:
        if block.header in variables:
            raise ModelFileError(f"line {block.line}: node {block.header!r} is declared twice")
        variables[block.header] = SafeVariable(block.header, _labels(block), _properties(block.attributes))
    return NetworkParts(variables, _families(blocks, variables, len(text)), _properties(blocks.attributes))


# Writing


def _takes_name(text: str) -> bool:
    return bool(_IDENTIFIER.fullmatch(text)) and text not in _RESERVED


def _takes_label(text: str) -> bool:
    return bool(_LABEL.fullmatch(text))


_SAFE = SafeText(_takes_name, _takes_label, str, marks="", reserved=_RESERVED)


def _attribute_lines(attributes: Mapping[str, str]) -> list[str]:
    """Return the lines of attributes of ours: of a long one in numbered pieces."""
    lines = []
    for key, value in attributes.items():
        for number, start in enumerate(range(0, len(value) or 1, _PIECE), 1):
            name = key if number == 1 else f"{key}_{number}"
            lines.append(f'    {name} = "{value[start : start + _PIECE]}";\n')
    return lines


def _format_node(node: SafeVariable, name: str, place: tuple[int, int]) -> list[str]:
    shown = name if _SHOWN.fullmatch(name) and not _MISREAD.search(name) else node.name
    quoted = " ".join(f'"{label}"' for label in node.labels)
    return [
        f'node {node.name}\n{{\n    label = "{shown}";\n    position = ({place[0]} {place[1]});\n',
        f"    states = ({quoted});\n",
        *_attribute_lines(node.properties),
        "}\n",
    ]


def _format_potential(node: SafeVariable, parents: list[SafeVariable], values: FloatArray) -> list[str]:
    columns = [" ".join(map(repr, column)) for column in values.reshape(len(node.labels), -1).T.tolist()]
    header = f"{node.name} | {' '.join(parent.name for parent in parents)}" if parents else node.name
    return [f"potential ({header})\n{{\n    data = {_nested(columns, values.shape[1:])};\n}}\n"]


def _nested(columns: Sequence[str], shape: tuple[int, ...]) -> str:
    """Return columns, a line each, in parentheses of their own and in those of each parent's states."""
    inner = [prod(shape[axis:]) for axis in range(len(shape))]
    lines = []
    for i, column in enumerate(columns):
        # A column opens the parentheses of the parents that begin again with it, and closes those that end.
        opened = sum(i % size == 0 for size in inner)
        closed = sum((i + 1) % size == 0 for size in inner)
        lines.append(f"{'(' * opened}({column}){')' * closed}")
    return "\n        ".join(lines)


# Reading


def _properties(attributes: Mapping[str, str]) -> dict[str, str]:
    """Return the attributes that are ours, those in pieces put together."""
    pieces: dict[str, list[str]] = {}
    for key, value in attributes.items():
        if key.startswith("bnplug_"):
            match = _PIECE_NAME.fullmatch(key)
            pieces.setdefault(match[1] if match else key, []).append(unquoted(value))
    return {key: "".join(own) for key, own in pieces.items()}


def _labels(block: Block) -> list[str]:
    """Return a node's states; of intervals and numbers without labels what they stand for."""
    labels = words(block.attributes.get("states", ""))
    values = words(block.attributes.get("state_values", ""))
    if not any(labels):
        if block.attributes.get("subtype") == "interval" and len(values) == len(labels) + 1:
            labels = [f"{low}..{high}" for low, high in pairwise(values)]
        elif block.attributes.get("subtype") == "number" and len(values) == len(labels):
            labels = values
    if len(set(labels)) != len(labels):
        raise ModelFileError(f"line {block.line}: node {block.header!r} has a state twice")
    return labels


def _families(blocks: Blocks, variables: Mapping[str, SafeVariable], length: int) -> dict[str, FileFamily]:
    """Return the table of each node; together they hold few more numbers than a text of this length can."""
    cards = {name: len(variable.labels) for name, variable in variables.items()}
    families: dict[str, FileFamily] = {}
    cells = 0
    for block in blocks.potentials:
        family = _family(block, cards)
        if family.node in families:
            raise ModelFileError(f"line {block.line}: a second table for {family.node!r}")
        families[family.node] = family
        cells += family.probabilities.size
        if cells > length + MAX_IMPLIED_CELLS:
            raise ModelFileError(f"line {block.line}: potentials without data stand for {cells:,} numbers")
    return families


def _family(block: Block, cards: Mapping[str, int]) -> FileFamily:
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


def _even(node: str, parents: list[str], block: Block, cards: Mapping[str, int]) -> FileFamily:
    """Return the table of a potential without data, which for Hugin is one of equal weights."""
    if "model_data" in block.attributes:
        raise ModelFileError(
            f"line {block.line}: the table of {node!r} is an expression ('model_data'): let Hugin write its numbers"
        )
    shape = table_shape(node, parents, cards, block.line)
    if prod(shape) > MAX_IMPLIED_CELLS:
        raise ModelFileError(f"line {block.line}: the table of {node!r} has no data for its {prod(shape):,} numbers")
    return FileFamily(node, parents, np.full(shape, 1.0 / (shape[-1] or 1)), block.line)


def _normalized(values: FloatArray) -> FloatArray:
    """Return the distributions of columns of weights; columns that are distributions, or cannot be any, stay."""
    with np.errstate(over="ignore", invalid="ignore"):
        sums = values.sum(axis=-1, keepdims=True)
        weights = (np.abs(sums - 1.0) > _PROBABILITIES) & np.isfinite(sums) & (sums > 0.0)
        return np.where(weights & (values.min(axis=-1, initial=0.0, keepdims=True) >= 0.0), values / sums, values)
