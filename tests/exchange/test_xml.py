"""The walk through XML: where elements are, their own text, and what is refused."""

import pytest

from bnplug import ModelFileError
from bnplug.exchange._xml import XmlReader, comes_back


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
