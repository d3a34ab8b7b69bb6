"""The blocks of a NET file: headers, attributes, lines; quotes and comments within each other."""

import pytest

from bnplug.exchange._net_blocks import scan, unquoted, words


def test_blocks_in_their_order_with_their_lines():
    node = 'node x { states = (u v); label = ""; }'
    found = scan('net\n{\n a = "b";\n}\n' + node + "\n\npotential ( x | y ) { data = (1 2); }")
    assert found.attributes == {"a": '"b"'}
    assert [(block.header, block.line) for block in found.nodes] == [("x", 5)]
    assert found.nodes[0].attributes == {"states": "(u v)", "label": '""'}
    assert [(block.header, block.line) for block in found.potentials] == [("x | y", 7)]


def test_a_class_is_a_net_whose_nodes_are_inside():
    found = scan("class C { inputs = (); node x { } node y { } } % class C")
    assert [block.header for block in found.nodes] == ["x", "y"]
    assert found.attributes == {"inputs": "()"}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('a = "100% {;}";', '"100% {;}"'),
        ("a = 1; % a = 2;", "1"),
        ('a = "say \\"%\\"; \\\\"; % "', '"say \\"%\\"; \\\\"'),
        ('a = "two\nlines";', '"two\nlines"'),
    ],
)
def test_quotes_and_comments(text, value):
    assert scan(f"net {{ {text}\n}}").attributes == {"a": value}


def test_words_of_a_list():
    assert words('("a b" c,"" "say \\"d\\"" 1.5)') == ["a b", "c", "", 'say "d"', "1.5"]
    assert [unquoted('"a\\\\b"'), unquoted("bare")] == ["a\\b", "bare"]
