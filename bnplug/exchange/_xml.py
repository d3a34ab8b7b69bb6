"""What the readers of XML formats share: a walk through the elements that trusts nothing in the file."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar
from xml.parsers import expat

from bnplug.errors import ModelFileError

_MAX_DEPTH = 16


def comes_back(text: str) -> bool:
    """Whether every reader of XML gives `text` back: printable, and no blanks that some would collapse."""
    return text.isprintable() and text == text.strip() != "" and "  " not in text


class XmlReader(ABC):
    """Goes through a file element by element; entities, other roots and great depths are refused with the line."""

    #: What the format is called, and its outermost element.
    format_name: ClassVar[str]
    root: ClassVar[str]
    #: The elements whose text is kept.
    text_elements: ClassVar[frozenset[str]]

    def __init__(self) -> None:
        self._path: list[str] = []
        self._text: list[str] = []

    @abstractmethod
    def started(self, where: list[str], attributes: dict[str, str]) -> None:
        """Take an element that begins; `where` are the elements from below the root down to it."""

    @abstractmethod
    def ended(self, where: list[str], text: str) -> None:
        """Take an element that ends, with its own text."""

    def read(self, text: str | bytes) -> None:
        """Go through a file.

        Raises
        ------
        ModelFileError
            Where it is no XML, or not of this format; the message gives the line.
        """
        # A str is always fed as UTF-8: what its declaration says of an encoding no longer holds.
        parser = expat.ParserCreate("UTF-8" if isinstance(text, str) else None)
        self._attach(parser)
        try:
            parser.Parse(text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text, True)
        except expat.ExpatError as error:
            raise ModelFileError(f"line {error.lineno}: {expat.ErrorString(error.code)}") from None
        except ModelFileError:
            raise
        except (LookupError, ValueError) as error:
            raise ModelFileError(f"line 1: its encoding cannot be read: {error}") from None

    def line(self) -> int:
        """Return the line that is read."""
        return self._parser.CurrentLineNumber

    def error(self, message: str) -> ModelFileError:
        """Return an error that gives the line."""
        return ModelFileError(f"line {self.line()}: {message}")

    def _attach(self, parser: expat.XMLParserType) -> None:
        self._parser = parser
        parser.buffer_text = True
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._text_found
        parser.EntityDeclHandler = self._refuse_entity
        parser.SkippedEntityHandler = self._refuse_entity

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
