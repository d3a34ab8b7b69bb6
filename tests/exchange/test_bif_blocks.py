"""The text of a BIF file as blocks."""

import pytest

from bnplug.errors import ModelFileError
from bnplug.exchange._bif_blocks import scan, split_list, words

TEXT = """network n { property a = 1 ; property long = he ; property long = llo ; }
// a comment with { braces
variable "the sky" { type discrete [ 2 ] { "sun, mostly" rain }; property note = x ; }
probability ( "the sky" ) {
    table 0.25, 0.75;
}
"""


def test_blocks_keep_names_labels_properties_and_lines():
    found = scan(TEXT)
    assert found.properties == {"a": "1", "long": "hello"}
    (variable,) = found.variables.values()
    assert (variable.name, variable.labels) == ("the sky", ["sun, mostly", "rain"])
    assert variable.properties == {"note": "x"}
    (table,) = found.tables
    assert (table.header.strip(), table.body.strip(), table.line) == ('"the sky"', "table 0.25, 0.75;", 5)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("network n { }\nnode x { }", "line 2: expected 'network', 'variable' or 'probability', found 'node x"),
        ("variable x { type discrete [2] { a }; }", "variable 'x' has not 2 states, but"),
        ("variable x { type discrete [2] { a, a }; }", "variable 'x' has a state twice"),
        ("variable x { type discrete [1] { a }; }\n" * 2, "variable 'x' is declared twice"),
        ("network n { }\n/* and", "line 2: this comment is never closed"),
        ("probability x { }", "line 1: expected .\\( node"),
    ],
)
def test_what_is_no_block_is_said_with_its_line(text, message):
    with pytest.raises(ModelFileError, match=message):
        scan(text)


def test_lists_have_commas_or_blanks():
    assert words('"a b" c, "d"') == ["a b", "c", "d"]
    assert split_list("a b, c", 2) == ["a b", "c"]
    assert split_list("a b c", 3) == ["a", "b", "c"]
    assert split_list("a, b", 3) is None
