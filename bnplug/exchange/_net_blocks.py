"""The text of a NET file of Hugin as blocks: its nodes, its potentials, the attributes of the network.

Each pattern takes the blanks after it too. Quoted text may hold any character, a quote behind a backslash. Everything
is possessive, so that no input makes a pattern backtrack.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from bnplug.errors import ModelFileError
from bnplug.exchange._scanning import Scanner

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


class Block(NamedTuple):
    """A node or a potential: its name, or what is in its parentheses, its attributes, and the line where it begins."""

    header: str
    attributes: dict[str, str]
    line: int


class Blocks(NamedTuple):
    """All of a file, in its order, with the attributes of the network."""

    nodes: list[Block]
    potentials: list[Block]
    attributes: dict[str, str]


def scan(text: str) -> Blocks:
    """Return the blocks of a file.

    Raises
    ------
    ModelFileError
        Where something else stands, such as a decision; the message gives the line.

    Examples
    --------
    >>> found = scan('net { } node x { states = ("a b" c); } potential (x) { data = (0.5 0.5); } % the end')
    >>> words(found.nodes[0].attributes["states"]), found.potentials[0].header, found.potentials[0].attributes
    (['a b', 'c'], 'x', {'data': '(0.5 0.5)'})
    """
    scanner = _Scanner(_without_comments(text))
    found = Blocks([], [], {})
    classes = 0
    while not scanner.at_end():
        line = scanner.line()
        if match := scanner.take(_NODE):
            found.nodes.append(scanner.block(match[1], line))
        elif match := scanner.take(_POTENTIAL):
            found.potentials.append(scanner.block(match[1], line))
        elif scanner.take(_NET):
            found.attributes.update(scanner.block("", line).attributes)
        elif scanner.take(_CLASS):
            classes += 1
            if classes > 1:
                raise scanner.error("a second class: of an object-oriented network only one class can be read")
            found.attributes.update(scanner.attributes())
        elif not (classes and scanner.take(_CLOSE)):
            raise scanner.unknown()
    return found


def words(text: str) -> list[str]:
    """Return the words of a list in parentheses, some of them quoted."""
    return [unquoted(quoted) if quoted else bare for quoted, bare in _WORD.findall(text)]


def unquoted(text: str) -> str:
    """Return a text without its quotes."""
    return _ESCAPED.sub(r"\1", text[1:-1]) if text[:1] == '"' else text


class _Scanner(Scanner):
    def attributes(self) -> dict[str, str]:
        """Take attributes as long as there are any; of two of one name the last one holds."""
        found = {}
        while match := self.take(_ATTRIBUTE):
            found[match[1]] = match[2].strip()
        return found

    def block(self, header: str, line: int) -> Block:
        """Take what is in the braces of a block."""
        attributes = self.attributes()
        self.expect(_CLOSE, "'name = value;' or '}'")
        return Block(header.strip(), attributes, line)

    def unknown(self) -> ModelFileError:
        """Return the error for what is no block that a Bayesian network has."""
        if match := self.take(_OTHER):
            return self.error(
                f"{match[2][:60]!r} is of the kind {' '.join(match[1].split())!r}; only discrete chance nodes are in a "
                "Bayesian network: leave it out, or make it discrete"
            )
        return self.expected("'net', 'class', 'node' or 'potential'")


def _without_comments(text: str) -> str:
    """Keep quoted text; a quote that is never closed is an error here, before anything is read by it."""
    if "%" not in text and '"' not in text:
        return text
    return _COMMENT.sub(_blank_comment, text)


def _blank_comment(match: re.Match[str]) -> str:
    if match[0] == '"':
        line = match.string.count("\n", 0, match.start()) + 1
        raise ModelFileError(f"line {line}: this quote is never closed")
    return match[0] if match[0][0] == '"' else " "
