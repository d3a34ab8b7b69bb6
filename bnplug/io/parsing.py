"""Parsers for network files that are not trusted: a scanner of text, and a reader of XML."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from typing import ClassVar
from xml.parsers import expat

from bnplug.errors import ModelFileError

_BLANKS = re.compile(r"\s*+")
_MAX_DEPTH = 16


class Scanner:
    """Reads a text pattern by pattern, and counts lines for error messages.

    Each pattern must consume the white space after it, and be possessive, which rules out backtracking.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self._position = 0
        self._counted = 0
        self._line = 1
        self.take(_BLANKS)

    def at_end(self) -> bool:
        """Return whether the whole text is consumed."""
        return self._position == len(self._text)

    def take(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        """Consume `pattern`; return None if it does not match here."""
        match = pattern.match(self._text, self._position)
        if match:
            self._position = match.end()
        return match

    def expect(self, pattern: re.Pattern[str], what: str) -> re.Match[str]:
        """Consume `pattern`; raise a ``ModelFileError`` if it does not match here."""
        match = self.take(pattern)
        if match is None:
            raise self.expected(what)
        return match

    def expected(self, what: str) -> ModelFileError:
        """Return the error for a text that is not `what`."""
        return self.error(f"expected {what}, found {self._text[self._position :][:40]!r}")

    def line(self) -> int:
        """Return the number of the current line."""
        self._line += self._text.count("\n", self._counted, self._position)
        self._counted = self._position
        return self._line

    def error(self, message: str) -> ModelFileError:
        """Return an error that gives the line."""
        return ModelFileError(f"line {self.line()}: {message}")


def comes_back(text: str) -> bool:
    """Return whether every XML reader preserves `text`: it is printable, and has no white space to collapse."""
    return text.isprintable() and text == text.strip() != "" and "  " not in text


class XmlReader(ABC):
    """Base class of XML readers; refuses entities, other root elements and deep nesting, with the line."""

    #: The name of the format, and its root element.
    format_name: ClassVar[str]
    root: ClassVar[str]
    #: Elements whose text is passed to :meth:`ended`.
    text_elements: ClassVar[frozenset[str]]

    def __init__(self) -> None:
        self._path: list[str] = []
        self._text: list[str] = []

    @abstractmethod
    def started(self, where: list[str], attributes: dict[str, str]) -> None:
        """Handle the start of an element; `where` is its path below the root."""

    @abstractmethod
    def ended(self, where: list[str], text: str) -> None:
        """Handle the end of an element, with its text."""

    def read(self, text: str | bytes) -> None:
        """Parse the content of a file; raise a ``ModelFileError`` with the line if it is not of this format."""
        # The encoding that a str declares does not apply to it.
        self._parser = parser = expat.ParserCreate("UTF-8" if isinstance(text, str) else None)
        parser.buffer_text = True
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._text_found
        parser.EntityDeclHandler = parser.SkippedEntityHandler = self._refuse_entity
        try:
            parser.Parse(text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text, True)
        except expat.ExpatError as error:
            raise ModelFileError(f"line {error.lineno}: {expat.ErrorString(error.code)}") from None
        except ModelFileError:
            raise
        except (LookupError, ValueError) as error:
            raise ModelFileError(f"line 1: its encoding cannot be read: {error}") from None

    def line(self) -> int:
        """Return the number of the current line."""
        return self._parser.CurrentLineNumber

    def error(self, message: str) -> ModelFileError:
        """Return an error that gives the line."""
        return ModelFileError(f"line {self.line()}: {message}")

    def _refuse_entity(self, name: str, *_: object) -> None:
        raise self.error(f"entity {name!r}: an {self.format_name} file may not define entities")

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        self._path.append(tag)
        if len(self._path) > _MAX_DEPTH:
            raise self.error("elements are nested too deep")
        if self._path[0] != self.root:
            raise self.error(f"expected the element {self.root}, found {tag[:40]!r}")
        self._text = []
        self.started(self._path[1:], attributes)

    def _text_found(self, text: str) -> None:
        if self._path[-1] in self.text_elements:
            self._text.append(text)

    def _end(self, tag: str) -> None:
        where = self._path[1:]
        self._path.pop()
        text = "".join(self._text).strip()
        self._text = []
        self.ended(where, text)
