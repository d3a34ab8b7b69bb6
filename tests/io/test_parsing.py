"""A scanner reads pattern by pattern; the XML reader gives paths and text; errors give the line."""

import re

import pytest

from bnplug import ModelFileError
from bnplug.io.parsing import Scanner, XmlReader, comes_back

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


class Seen(XmlReader):
    format_name, root = "test", "r"
    text_elements = frozenset({"t"})

    def __init__(self):
        super().__init__()
        self.found = []

    def started(self, where, attributes):
        self.found.append(("start", ".".join(where), attributes))

    def ended(self, where, text):
        self.found.append(("end", ".".join(where), text))


def test_elements_come_with_their_place_and_the_text_that_is_kept():
    reader = Seen()
    reader.read("<r>not kept<a k='v'><t> some &lt; text </t></a></r>")
    assert reader.found == [
        *(("start", "", {}), ("start", "a", {"k": "v"}), ("start", "a.t", {})),
        *(("end", "a.t", "some < text"), ("end", "a", ""), ("end", "", "")),
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("<x/>", "line 1: expected the element r, found 'x'"),
        ("<r>\n<a></r>", "line 2: mismatched tag"),
        ("<r>" + "<a>" * 20, "line 1: elements are nested too deep"),
        ('<!DOCTYPE r [<!ENTITY e "x">]><r/>', "line 1: entity 'e': an test file may not define entities"),
        (b"<?xml version='1.0' encoding='rot13'?><r/>", "line 1: its encoding cannot be read"),
    ],
)
def test_what_is_refused(text, message):
    with pytest.raises(ModelFileError, match=message):
        Seen().read(text)


def test_what_comes_back():
    assert [text for text in ("a b", "a  b", " a", "", "é<&", "a\n", "\ud800") if comes_back(text)] == ["a b", "é<&"]
