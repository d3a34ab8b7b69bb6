"""BIF, the interchange format of bnlearn, pgmpy, pyAgrum and JavaBayes: a reader and a writer.

pgmpy and pyAgrum read the files written here. The reader accepts the dialects of other programs; from files written
here it restores the true names, labels and types, which are stored as properties, and the exact probabilities.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import product
from math import prod

import numpy as np

from bnplug.errors import ModelFileError
from bnplug.io import networks
from bnplug.io.networks import FileFamily, FileVariable, NetworkParts
from bnplug.io.parsing import Scanner
from bnplug.model.log_tables import LogTables
from bnplug.table.encoder import ColumnEncoder
from bnplug.typing import FloatArray

# pyAgrum accepts identifiers and, as labels, integers. It ends the process at a token of more than 16,383 characters:
# long names are replaced, and long properties are split.
_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,199}+")
_WHOLE_NUMBER = re.compile(r"[+-]?[0-9]{1,200}+")
_PIECE = 10_000
# pgmpy mistakes these for keywords inside a name: "property", and "table" or "default" before a possible number.
_MISREAD = re.compile(r"property|(?:table|default)[0-9eE.+-]")

# Each pattern consumes the white space after it, and is possessive: no input makes it backtrack. Quoted text may
# contain any character.
_BLOCK = re.compile(r"(network|variable|probability)\b\s*+")
_OPEN = re.compile(r'((?:[^{}"]++|"[^"]*+")*+)\{\s*+')
_CLOSE = re.compile(r"\}\s*+")
_BODY = re.compile(r'((?:[^{}"]++|"[^"]*+")*+)\}\s*+')
_PROPERTY = re.compile(r'property\b((?:[^;"]++|"[^"]*+")*+);\s*+')
_TYPE = re.compile(r'type\s++discrete\s*+\[\s*+([0-9]{1,9})\s*+\]\s*+\{((?:[^{}"]++|"[^"]*+")*+)\}\s*+;\s*+')
_COMMENT = re.compile(r'"[^"\n]*+"|//[^\n]*+|/\*.*?(?:\*/|\Z)', re.DOTALL)
_WORD = re.compile(r'"([^"]*+)"|([^\s,|"]++)')
_STATEMENT = re.compile(r'((?:[^;"]++|"[^"]*+")*+)(;|\Z)\s*+')


def format_bif(tables: LogTables, encoder: ColumnEncoder | None = None) -> str:
    """Return the text of a BIF file; the ``write`` function of the format."""
    # pyAgrum demands two states.
    variables, probabilities = networks.padded(tables, networks.file_variables(tables, _SAFE, encoder), "BIF")
    parts = ["network bnplug {\n", *_property_lines(networks.network_properties(tables, encoder)), "}\n"]
    parts += [_format_variable(variable) for variable in variables.values()]
    for name, table in tables.tables.items():
        parts += _format_family(variables[name], [variables[parent] for parent in table.parents], probabilities[name])
    return "".join(parts)


def parse_bif(content: str | bytes) -> NetworkParts:
    """Return the variables and tables of a BIF file; the ``read`` function of the format."""
    text = networks.plain_text(content)
    variables, tables, properties = _scan(text)
    cards = {name: len(variable.labels) for name, variable in variables.items()}
    families = (_family(*block, variables, cards) for block in tables)
    return NetworkParts(variables, networks.collect_families(families, len(text), "'default' lines"), properties)


# Writing


def _takes_name(text: str) -> bool:
    return bool(_IDENTIFIER.fullmatch(text)) and text not in networks._KEYWORDS and not _MISREAD.search(text)


# pgmpy does not distinguish names by case.
_SAFE = networks.SafeText(_takes_name, lambda text: _takes_name(text) or bool(_WHOLE_NUMBER.fullmatch(text)), str.lower)


def _property_lines(properties: Mapping[str, str]) -> list[str]:
    return [
        f"    property {key} = {value[start : start + _PIECE]} ;\n"
        for key, value in properties.items()
        for start in range(0, len(value) or 1, _PIECE)
    ]


def _format_variable(variable: FileVariable) -> str:
    return (
        f"variable {variable.name} {{\n"
        f"    type discrete [ {len(variable.labels)} ] {{ {', '.join(variable.labels)} }};\n"
        f"{''.join(_property_lines(variable.properties))}}}\n"
    )


def _format_family(node: FileVariable, parents: list[FileVariable], values: FloatArray) -> list[str]:
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


# A probability block: the texts in parentheses and in braces, and the line of the braces.
_TableBlock = tuple[str, str, int]


def _scan(text: str) -> tuple[dict[str, FileVariable], list[_TableBlock], dict[str, str]]:
    """Return variables by name, probability blocks, and the properties of the network."""
    scanner = Scanner(_COMMENT.sub(_blank_comment, text) if "/" in text else text)
    variables: dict[str, FileVariable] = {}
    tables: list[_TableBlock] = []
    properties: dict[str, str] = {}
    while not scanner.at_end():
        keyword = scanner.expect(_BLOCK, "'network', 'variable' or 'probability'")[1]
        if keyword == "network":
            scanner.expect(_OPEN, "the network's name and '{'")
            properties |= _scan_properties(scanner)
            scanner.expect(_CLOSE, "'property' or '}'")
        elif keyword == "variable":
            variable = _scan_variable(scanner)
            if variable.name in variables:
                raise scanner.error(f"variable {variable.name!r} is declared twice")
            variables[variable.name] = variable
        else:
            tables.append(_scan_table(scanner))
    return variables, tables, properties


def _scan_properties(scanner: Scanner) -> dict[str, str]:
    """Consume properties, and join the pieces of each."""
    pieces: dict[str, list[str]] = {}
    while match := scanner.take(_PROPERTY):
        key, equals, value = match[1].partition("=")
        if equals:
            pieces.setdefault(key.strip(), []).append(value.strip())
    return {key: "".join(values) for key, values in pieces.items()}


def _blank_comment(match: re.Match[str]) -> str:
    """Keep quoted text; replace a comment by its line ends, which keeps line numbers correct."""
    text = match[0]
    if text.startswith('"'):
        return text
    if text.startswith("/*") and (len(text) < 4 or not text.endswith("*/")):
        line = match.string.count("\n", 0, match.start()) + 1
        raise ModelFileError(f"line {line}: this comment is never closed")
    return " " + "\n" * text.count("\n")


def _words(text: str) -> list[str]:
    """Return the words of a list, some of them quoted."""
    return [quoted or bare for quoted, bare in _WORD.findall(text)]


def _split_list(text: str, count: int) -> list[str] | None:
    """Return the `count` items of a list separated by commas, or by white space alone; None if the number differs."""
    if '"' in text:
        items = _words(text)
    else:
        items = [item.strip() for item in text.split(",")]
        if len(items) != count:
            items = text.replace(",", " ").split()
    return items if len(items) == count else None


def _scan_variable(scanner: Scanner) -> FileVariable:
    name = _unquoted(scanner.expect(_OPEN, "the variable's name and '{'")[1])
    properties = _scan_properties(scanner)
    declared = scanner.expect(_TYPE, f"'type discrete [ n ] {{ ... }};' of variable {name!r}")
    labels = _split_list(declared[2], int(declared[1]))
    if labels is None:
        raise scanner.error(f"variable {name!r} has not {declared[1]} states, but {declared[2][:60]!r}")
    if len(set(labels)) != len(labels):
        raise scanner.error(f"variable {name!r} has a state twice")
    properties |= _scan_properties(scanner)
    scanner.expect(_CLOSE, "'property' or '}'")
    return FileVariable(name, labels, properties)


def _scan_table(scanner: Scanner) -> _TableBlock:
    header = scanner.expect(_OPEN, "'( node | parents ) {'")[1].strip()
    line = scanner.line()
    if not (header.startswith("(") and header.endswith(")")):
        raise ModelFileError(f"line {line}: expected '( node | parents ) {{', found {header[:40]!r}")
    return header[1:-1], scanner.expect(_BODY, "lines of probabilities and '}'")[1], line


def _unquoted(text: str) -> str:
    text = text.strip()
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] == '"' else text


def _family(
    header: str, body: str, line: int, variables: Mapping[str, FileVariable], cards: Mapping[str, int]
) -> FileFamily:
    node, *parents = _members(header, cards)
    *shape, card = networks.table_shape(node, parents, cards, line)
    codes = [{label: code for code, label in enumerate(variables[parent].labels)} for parent in parents]
    n_columns, given, numbers = prod(shape), list[int](), list[float]()
    default: list[float] | None = None
    for match in _STATEMENT.finditer(body):
        statement = match[1]
        try:
            if match[2] != ";":
                if statement:
                    raise ModelFileError(f"there is no ';' after {statement[:40]!r}")
            elif statement.startswith("("):
                labels, _, column = statement[1:].rpartition(")")
                given.append(_column(labels, parents, codes))
                numbers += _numbers(column, card)
            elif statement.startswith("table"):
                # The last parent's state changes fastest here, the node's slowest.
                table = _numbers(statement[5:], n_columns * card)
                given += range(n_columns)
                numbers += [n for i in range(n_columns) for n in table[i::n_columns]]
            elif statement.startswith("default"):
                default = _numbers(statement[7:], card)
            elif not statement.startswith("property"):
                raise ModelFileError(f"expected '(states) numbers', 'table' or 'default', found {statement[:40]!r}")
        except ModelFileError as error:
            n_before = body.count("\n", 0, match.start())
            raise ModelFileError(f"line {line + n_before}: {error}") from None
    # Sizes are checked before anything is allocated.
    problem = ""
    if len(set(given)) != len(given):
        problem = "has a column twice"
    elif default is None and len(given) != n_columns:
        problem = f"has {len(given)} columns instead of {n_columns:,}"
    elif default is not None and n_columns * card > networks.MAX_IMPLIED_CELLS:
        problem = f"has a 'default' for {n_columns * card:,} numbers"
    if problem:
        raise ModelFileError(f"line {line}: the table of {node!r} {problem}")
    values = np.empty((n_columns, card))
    if default is not None:
        values[:] = default
    values[given] = np.array(numbers).reshape(-1, card)
    return FileFamily(node, parents, values.reshape(*shape, card), line)


def _column(text: str, parents: list[str], codes: list[dict[str, int]]) -> int:
    """Return the number of the column for the states of the parents."""
    labels = _split_list(text, len(parents))
    if labels is None:
        raise ModelFileError(f"expected a state of each of {parents}, found {text[:60]!r}")
    column = 0
    for parent, label, known in zip(parents, labels, codes, strict=True):
        if label not in known:
            raise ModelFileError(f"{label!r} is not a state of {parent!r}")
        column = column * len(known) + known[label]
    return column


def _members(header: str, known: Mapping[str, int]) -> list[str]:
    """Return the node and its parents: ``x | y, z``, or ``"x" "y" "z"`` as in JavaBayes."""
    if '"' in header:
        return _words(header) or [""]
    node, bar, rest = (part.strip() for part in header.partition("|"))
    if bar and rest:
        parents = [parent.strip() for parent in rest.split(",")]
        return [node, *(parents if parents[0] in known else rest.replace(",", " ").split())]
    return [node] if node in known else node.replace(",", " ").split() or [node]


def _numbers(text: str, count: int) -> list[float]:
    words = text.split(",")
    try:
        numbers = list(map(float, words if len(words) == count else text.replace(",", " ").split()))
    except ValueError as error:
        raise ModelFileError(str(error)) from None
    if len(numbers) != count:
        raise ModelFileError(f"expected {count:,} numbers, found {len(numbers):,}")
    return numbers
