"""A scanner goes from pattern to pattern, and its errors give the line."""

import re

import pytest

from bnplug import ModelFileError
from bnplug.exchange._scanning import Scanner

WORD = re.compile(r"(\w++)\s*+")


def test_it_goes_on_behind_what_is_found_and_counts_lines():
    scanner = Scanner("\n a\n\nb c")
    assert [scanner.expect(WORD, "a word")[1], scanner.line()] == ["a", 4]
    assert scanner.take(re.compile("x")) is None
    assert [scanner.expect(WORD, "a word")[1] for _ in range(2)] == ["b", "c"]
    assert scanner.at_end()


def test_an_error_says_what_stands_where():
    scanner = Scanner("a\n;" + "x" * 100)
    scanner.take(WORD)
    with pytest.raises(ModelFileError, match=r"^line 2: expected a word, found ';x{39}'$"):
        scanner.expect(WORD, "a word")
