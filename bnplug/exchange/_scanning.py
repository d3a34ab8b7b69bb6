"""A text that is read from pattern to pattern, for formats that are no XML; an error gives the line."""

from __future__ import annotations

import re

from bnplug.errors import ModelFileError

_BLANKS = re.compile(r"\s*+")


class Scanner:
    """Goes through a text from pattern to pattern, and knows the line where it stands.

    Each pattern takes the blanks after it too, and is possessive, so that no input makes it backtrack.

    Examples
    --------
    >>> scanner = Scanner("  net { }")
    >>> scanner.expect(re.compile(r"(net|class)\\s*+"), "'net'")[1], scanner.at_end(), scanner.line()
    ('net', False, 1)
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self._position = 0
        self._counted = 0
        self._line = 1
        self.take(_BLANKS)

    def at_end(self) -> bool:
        """Whether nothing is left."""
        return self._position == len(self._text)

    def take(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        """Go on behind what `pattern` finds here; None where it finds nothing."""
        match = pattern.match(self._text, self._position)
        if match:
            self._position = match.end()
        return match

    def expect(self, pattern: re.Pattern[str], what: str) -> re.Match[str]:
        """Go on behind what `pattern` finds here, which must be something."""
        match = self.take(pattern)
        if match is None:
            raise self.expected(what)
        return match

    def expected(self, what: str) -> ModelFileError:
        """Return the error for what stands here instead of `what`."""
        return self.error(f"expected {what}, found {self._text[self._position :][:40]!r}")

    def line(self) -> int:
        """Return the line where the text goes on."""
        self._line += self._text.count("\n", self._counted, self._position)
        self._counted = self._position
        return self._line

    def error(self, message: str) -> ModelFileError:
        """Return an error that gives the line."""
        return ModelFileError(f"line {self.line()}: {message}")
