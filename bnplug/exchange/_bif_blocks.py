"""The text of a BIF file as blocks: its variables, its tables, its properties.

Each pattern takes the blanks after it too. Quoted text may hold any character. Everything is possessive, so that no
input makes a pattern backtrack.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from bnplug.errors import ModelFileError
from bnplug.exchange._scanning import Scanner
from bnplug.exchange.names import SafeVariable

_BLOCK = re.compile(r"(network|variable|probability)\b\s*+")
_OPEN = re.compile(r'((?:[^{}"]++|"[^"]*+")*+)\{\s*+')
_CLOSE = re.compile(r"\}\s*+")
_BODY = re.compile(r'((?:[^{}"]++|"[^"]*+")*+)\}\s*+')
_PROPERTY = re.compile(r'property\b((?:[^;"]++|"[^"]*+")*+);\s*+')
_TYPE = re.compile(r'type\s++discrete\s*+\[\s*+([0-9]{1,9})\s*+\]\s*+\{((?:[^{}"]++|"[^"]*+")*+)\}\s*+;\s*+')
_COMMENT = re.compile(r'"[^"\n]*+"|//[^\n]*+|/\*.*?(?:\*/|\Z)', re.DOTALL)
_WORD = re.compile(r'"([^"]*+)"|([^\s,|"]++)')


class TableBlock(NamedTuple):
    """A probability block: what is in its parentheses, what is in its braces, and the line where the latter begin."""

    header: str
    body: str
    line: int


class Blocks(NamedTuple):
    """All of a file: the variables by name, the probability blocks, and the properties of the network."""

    variables: dict[str, SafeVariable]
    tables: list[TableBlock]
    properties: dict[str, str]


def scan(text: str) -> Blocks:
    """Return the blocks of a file.

    Raises
    ------
    ModelFileError
        Where something else stands; the message gives the line.

    Examples
    --------
    >>> found = scan('network n { } variable x { type discrete [2] { a, b }; } probability ( x ) { table 0.5, 0.5; }')
    >>> found.variables["x"].labels, found.tables[0].header.strip(), found.tables[0].body.strip()
    (['a', 'b'], 'x', 'table 0.5, 0.5;')
    """
    scanner = _Scanner(_without_comments(text))
    found = Blocks({}, [], {})
    while not scanner.at_end():
        keyword = scanner.expect(_BLOCK, "'network', 'variable' or 'probability'")[1]
        if keyword == "network":
            scanner.expect(_OPEN, "the network's name and '{'")
            found.properties.update(scanner.properties())
            scanner.expect(_CLOSE, "'property' or '}'")
        elif keyword == "variable":
            variable = _scan_variable(scanner)
            if variable.name in found.variables:
                raise scanner.error(f"variable {variable.name!r} is declared twice")
            found.variables[variable.name] = variable
        else:
            found.tables.append(_scan_table(scanner))
    return found


def words(text: str) -> list[str]:
    """Return the words of a list, some of them quoted."""
    return [quoted or bare for quoted, bare in _WORD.findall(text)]


def split_list(text: str, count: int) -> list[str] | None:
    """Return the `count` items of a list with commas, or with blanks alone; None where it has not as many.

    Examples
    --------
    >>> split_list("a b, c", 2), split_list("a b c", 3), split_list("a, b", 3)
    (['a b', 'c'], ['a', 'b', 'c'], None)
    """
    if '"' in text:
        items = words(text)
    else:
        items = [item.strip() for item in text.split(",")]
        if len(items) != count:
            items = text.replace(",", " ").split()
    return items if len(items) == count else None


class _Scanner(Scanner):
    def properties(self) -> dict[str, str]:
        """Take properties as long as there are any, and put the pieces of one together."""
        found: dict[str, list[str]] = {}
        while match := self.take(_PROPERTY):
            key, equals, value = match[1].partition("=")
            if equals:
                found.setdefault(key.strip(), []).append(value.strip())
        return {key: "".join(pieces) for key, pieces in found.items()}


def _without_comments(text: str) -> str:
    return _COMMENT.sub(_blank_comment, text) if "/" in text else text


def _blank_comment(match: re.Match[str]) -> str:
    """Keep quoted text; of a comment keep the line ends, so that lines are still counted right."""
    text = match[0]
    if text.startswith('"'):
        return text
    if text.startswith("/*") and (len(text) < 4 or not text.endswith("*/")):
        line = match.string.count("\n", 0, match.start()) + 1
        raise ModelFileError(f"line {line}: this comment is never closed")
    return " " + "\n" * text.count("\n")


def _scan_variable(scanner: _Scanner) -> SafeVariable:
    name = _unquoted(scanner.expect(_OPEN, "the variable's name and '{'")[1])
    properties = scanner.properties()
    declared = scanner.expect(_TYPE, f"'type discrete [ n ] {{ ... }};' of variable {name!r}")
    labels = split_list(declared[2], int(declared[1]))
    if labels is None:
        raise scanner.error(f"variable {name!r} has not {declared[1]} states, but {declared[2][:60]!r}")
    if len(set(labels)) != len(labels):
        raise scanner.error(f"variable {name!r} has a state twice")
    properties |= scanner.properties()
    scanner.expect(_CLOSE, "'property' or '}'")
    return SafeVariable(name, labels, properties)


def _scan_table(scanner: _Scanner) -> TableBlock:
    header = scanner.expect(_OPEN, "'( node | parents ) {'")[1].strip()
    line = scanner.line()
    if not (header.startswith("(") and header.endswith(")")):
        raise ModelFileError(f"line {line}: expected '( node | parents ) {{', found {header[:40]!r}")
    return TableBlock(header[1:-1], scanner.expect(_BODY, "lines of probabilities and '}'")[1], line)


def _unquoted(text: str) -> str:
    text = text.strip()
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] == '"' else text
