"""NET: every awkward name and label survives, Hugin's files and those of others are read, and others read ours."""

from __future__ import annotations

import re
from functools import partial

import numpy as np
import pyagrum
import pytest
from awkward import (
    HUGIN,
    assert_identical,
    assert_same_posteriors,
    awkward_labels,
    awkward_names,
    pgmpy_arrays,
    pyagrum_arrays,
    random_tables,
    unpadded,
)
from bnplug_deploy.net import _scan, _unquoted, _words, format_net
from pgmpy.readwrite import NETReader
from strategies import some

from bnplug import ModelFileError
from bnplug.io.network_files import parse_tables, write_network

parse_net = partial(parse_tables, format_name="net")

HEAD = 'net\n{\n}\nnode a { states = ("x" "y"); }\nnode b { states = (u v w); }\n'
ROOT = "potential (a) { data = (0.25 0.75); }\n"
OTHER = "potential (b) { }\n"


@pytest.mark.parametrize("make", [awkward_names, awkward_labels])
def test_awkward_file_is_read_by_pyagrum(make, tmp_path):
    tables = make()
    path = tmp_path / "awkward.net"
    write_network(tables, path, "net")
    network = pyagrum.loadBN(str(path))
    names = dict(zip(tables.names, re.findall(r"^node (\S+)$", path.read_text(), re.M), strict=True))
    assert set(names.values()) == network.names()
    assert_same_posteriors(unpadded(pyagrum_arrays(network, names, tables), tables), tables, 1e-6)


@pytest.mark.parametrize("make", [awkward_names, awkward_labels])
@pytest.mark.parametrize("part", some([2, 3, 4, 5, 6, 7, 0, 1], 8))
def test_awkward_file_is_read_by_pgmpy(make, part):
    """Its reader takes time with the square of the nodes, so that it gets them in parts."""
    whole = make()
    names = [whole.names[0], *whole.names[1 + part :: 8]]
    tables = random_tables(names, {n: whole.states[n] for n in names}, dict.fromkeys(names[1:], (names[0],)))
    network = NETReader(string=format_net(tables)).get_model()
    assert network.check_model()
    assert_same_posteriors(unpadded(pgmpy_arrays(network, tables), tables), tables, 1e-12)


def test_plain_names_and_the_labels_of_bins_are_written_as_they_are():
    text = format_net(
        random_tables(["c", "petal_length"], {"c": ["no", "yes"], "petal_length": ["<=2.45", ">2.45"]}, {})
    )
    assert 'states = ("<=2.45" ">2.45");' in text
    assert "bnplug" not in text


def test_words_of_the_language_are_no_names():
    tables = random_tables(["node", "data", "net", "node_"], dict.fromkeys(["node", "data", "net", "node_"], "xy"), {})
    text = format_net(tables)
    assert re.findall(r"^node (\S+)$", text, re.M) == ["node__2", "data_", "net_", "node_"]
    assert_identical(parse_net(text), tables)


def test_tables_are_nested_by_parent():
    tables = random_tables("abc", {"a": "xy", "b": "uvw", "c": "rs"}, {"c": ("a", "b")})
    data = re.findall(r"data = ([^;]*);", format_net(tables))[2]
    assert re.sub(r"[0-9.]+ [0-9.]+", "", data).replace("\n        ", "") == "((()()())(()()()))"


def test_one_state_variable_gets_an_impossible_second_state():
    tables = random_tables(["c", "x"], {"c": ["all"], "x": [0, 1]}, {"x": ("c",)})
    text = format_net(tables)
    assert 'states = ("all" "unused");' in text
    assert "data = (1.0 0.0);" in text
    assert_identical(parse_net(text), tables)


def test_long_attributes_go_into_pieces():
    tables = random_tables(["c"], {"c": ["y" * 25_000, "n"]}, {})
    text = format_net(tables)
    assert "bnplug_states_3 = " in text
    assert max(map(len, text.split('"'))) <= 10_000
    assert_identical(parse_net(text), tables)


def test_reads_what_hugin_writes():
    tables = parse_net(HUGIN)
    assert tables.names == ("Season", "Depth", "Seen", "Lights")
    assert tables.states["Depth"] == ("0..10", "10..60")
    assert tables.states["Season"] == ("From spring", 'the "end"')
    assert tables.states["Lights"] == ("0", "1.5")
    # Weights: each column is divided by its sum.
    np.testing.assert_allclose(np.exp(tables["Season"].values), [0.5, 0.5], rtol=1e-12)
    seen = np.exp(tables["Seen"].values)
    np.testing.assert_allclose(seen[:, 0, 0], [0.05 / 1.15, 0.5 / 1.15, 0.6 / 1.15], rtol=1e-12)
    np.testing.assert_allclose(seen[:, 0, 1], [0.2, 0.3, 0.5], rtol=1e-12)
    np.testing.assert_allclose(seen[:, 1, 0], [0.0, 0.0, 1.0], rtol=1e-12)
    # Without data all weights are the same.
    np.testing.assert_allclose(np.exp(tables["Lights"].values), 0.5, rtol=1e-12)


@pytest.mark.parametrize(
    "potential",
    [
        "potential (b | a) { data = ((0.5 0.25 0.25)(0.1 0.1 0.8)); }",
        "potential(b|a){data=((0.5 0.25 0.25)\n(0.1 0.1 0.8));}",
        "potential ( b | a ) { data = (0.5 0.25 0.25 0.1 0.1 0.8); }",
        "potential (b | a) { % of b; a=x {\n data = ((5e-1 .25 0.25) % a=x\n (1 1 8)); % a=y\n }",
        'potential (b | a) { model_nodes = (); HR_Desc = "some; } \\" text"; data = ((2 1 1)(1 1 8)); }',
    ],
)
def test_dialects(potential):
    tables = parse_net(HEAD + ROOT + potential)
    np.testing.assert_allclose(np.exp(tables["b"].values).T, [[0.5, 0.25, 0.25], [0.1, 0.1, 0.8]], rtol=1e-12)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no variables"),
        (HEAD + ROOT, "no table for 'b'"),
        ("network {", "line 1: expected 'net', 'class', 'node' or 'potential', found 'network {'"),
        (HEAD + "}", "line 6: expected 'net'"),
        (HEAD + "node a { states = (x y); }", "line 6: node 'a' is declared twice"),
        (HEAD + ROOT + ROOT, "line 7: a second table for 'a'"),
        (HEAD + ROOT.replace("0.25", ""), "line 6: expected the 2 numbers of the table of 'a', found 1"),
        (HEAD + ROOT.replace("0.25", "-0.25") + OTHER, "line 6: the probabilities of 'a' are not .* -0.25 0.75"),
        (HEAD + ROOT.replace("0.25 0.75", "0 0") + OTHER, "line 6: the probabilities of 'a' are not .* 0 0"),
        (HEAD + ROOT.replace("0.25", "inf"), "line 6: expected the 2 numbers"),
        (HEAD + ROOT.replace("0.25", "1e999") + OTHER, "line 6: the probabilities of 'a' are not"),
        (HEAD + ROOT.replace("(0.25", "((0.25"), "line 6: the parentheses of the data of 'a' do not match"),
        (HEAD + ROOT.replace("(0.25 0.75)", "0.25 0.75"), "line 6: the parentheses"),
        (HEAD + "potential (a | c) { }", "line 6: 'c' in the table of 'a' is not a declared variable"),
        (HEAD + "potential (a b) { }", r"line 6: expected 'potential \(node | parents\)', found 'a b'"),
        (HEAD + "potential (a | a) { }", "names a variable twice"),
        (HEAD + "potential (a) { model_data = (1); }", "line 6: the table of 'a' is an expression"),
        (HEAD + "potential (a) { data", "line 6: expected 'name = value;' or '}', found 'data'"),
        (HEAD.replace('"y"', '"x"') + ROOT, "line 4: node 'a' has a state twice"),
        ("net { }\nnode a { }\npotential (a) { }", "'a' has no states"),
        (HEAD + "decision d { states = (x y); }", "line 6: 'd' is of the kind 'decision'; only discrete chance nodes"),
        (HEAD + "utility u { }", "line 6: 'u' is of the kind 'utility'"),
        (HEAD + "continuous node x { }", "line 6: 'x' is of the kind 'continuous node'"),
        (HEAD + "instance i : C (a = b) { }", "line 6: 'i' is of the kind 'instance'"),
        ("class A { }\nclass B { }", "line 2: a second class"),
        ('net { }\nnode a { label = "b; }', "line 2: this quote is never closed"),
    ],
)  # fmt: skip
def test_errors_say_what_and_where(text, message):
    with pytest.raises(ModelFileError, match=message):
        parse_net(text)


def test_potentials_without_data_do_not_stand_for_much_memory():
    nodes = "".join(f"node v{i} {{ states = (a b); }}\n" for i in range(60))
    parents = [" ".join(f"v{j}" for j in range(max(0, i - 18), i)) for i in range(60)]
    text = "net { }\n" + nodes + "".join(f"potential (v{i} | {own}) {{ }}\n" for i, own in enumerate(parents))
    with pytest.raises(ModelFileError, match="potentials without data stand for"):
        parse_net(text)
    with pytest.raises(ModelFileError, match="has no data for its 2,097,152 numbers"):
        parse_net("net { }\n" + nodes + f"potential (v20 | {' '.join(f'v{i}' for i in range(20))}) {{ }}")


def test_blocks_in_their_order_with_their_lines():
    node = 'node x { states = (u v); label = ""; }'
    blocks = _scan('net\n{\n a = "b";\n}\n' + node + "\n\npotential ( x | y ) { data = (1 2); }")
    assert blocks.attributes == {"a": '"b"'}
    assert [(block.header, block.line) for block in blocks.nodes] == [("x", 5)]
    assert blocks.nodes[0].attributes == {"states": "(u v)", "label": '""'}
    assert [(block.header, block.line) for block in blocks.potentials] == [("x | y", 7)]


def test_a_class_is_a_net_whose_nodes_are_inside():
    blocks = _scan("class C { inputs = (); node x { } node y { } } % class C")
    assert [block.header for block in blocks.nodes] == ["x", "y"]
    assert blocks.attributes == {"inputs": "()"}


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
    assert _scan(f"net {{ {text}\n}}").attributes == {"a": value}


def test_words_of_a_list():
    assert _words('("a b" c,"" "say \\"d\\"" 1.5)') == ["a b", "c", "", 'say "d"', "1.5"]
    assert [_unquoted('"a\\\\b"'), _unquoted("bare")] == ["a\\b", "bare"]
