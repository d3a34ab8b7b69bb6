"""BIF: every awkward name and label survives, other programs read our files, and we read theirs."""

from __future__ import annotations

import gzip
import re
from functools import partial
from pathlib import Path

import numpy as np
import pgmpy
import pyagrum
import pytest
from awkward import (
    assert_identical,
    assert_same_posteriors,
    awkward_labels,
    awkward_names,
    pyagrum_arrays,
    random_tables,
    unpadded,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from pgmpy.readwrite import BIFReader

from bnplug import LogTables, ModelFileError
from bnplug.io.bif import _scan, _split_list, _words, format_bif
from bnplug.io.network_files import parse_tables, read_tables, write_network

parse_bif = partial(parse_tables, format_name="bif")

BUNDLED = Path(pgmpy.__file__).parent / "utils" / "example_models"

HEAD = """network test {
}
variable a { type discrete [2] { x, y }; }
variable b { type discrete [3] { u, v, w }; }
"""
ROOT = "probability ( a ) { table 0.25, 0.75; }\n"
B_GIVEN_A = [[0.5, 0.1], [0.25, 0.1], [0.25, 0.8]]


def probabilities(tables, name):
    return np.exp(tables.tables[name].values)


@pytest.mark.parametrize("make", [awkward_names, awkward_labels])
def test_awkward_file_is_read_by_pyagrum_and_has_names_that_pgmpy_tells_apart(make, tmp_path):
    tables = make()
    path = tmp_path / "awkward.bif"
    write_network(tables, path, "bif")
    network = pyagrum.loadBN(str(path))
    names = dict(zip(tables.names, re.findall(r"^variable (\S+) \{$", path.read_text(), re.M), strict=True))
    assert set(names.values()) == network.names()
    assert len({name.lower() for name in names.values()}) == len(names)
    assert_same_posteriors(unpadded(pyagrum_arrays(network, names, tables), tables), tables, 1e-6)


WRITTEN = """network bnplug {
    property bnplug_target = c ;
}
variable c {
    type discrete [ 2 ] { n, y };
}
variable x_1 {
    type discrete [ 2 ] { 0, 1 };
    property bnplug_name = x%201 ;
    property bnplug_states = int:0,int:1 ;
}
probability ( c ) {
    table 0.5, 0.5;
}
probability ( x_1 | c ) {
    ( n ) 0.25, 0.75;
    ( y ) 0.5, 0.5;
}
"""


def test_a_small_network_is_written_as_expected():
    values = {"c": ((), np.log([0.5, 0.5])), "x 1": (("c",), np.log([[0.25, 0.5], [0.75, 0.5]]))}
    assert format_bif(LogTables(["c", "x 1"], {"c": ["n", "y"], "x 1": [0, 1]}, values, target="c")) == WRITTEN


def test_plain_file_has_no_properties():
    tables = random_tables(["c", "sepal.length"], {"c": ["a", "B-2"], "sepal.length": ["0", "-1"]}, {})
    text = format_bif(tables)
    assert "property" not in text
    assert "variable sepal.length" in text
    assert "{ 0, -1 }" in text


def test_label_that_pyagrum_refuses_has_a_stand_in_and_a_property():
    tables = random_tables(["c"], {"c": [1.5, -1.5]}, {})
    assert "{ _1.5, _-1.5 };\n    property bnplug_states = float:1.5,float:-1.5 ;" in format_bif(tables)


def test_labels_of_bins_stay_readable():
    """The first and the last bin have stand-ins that say which they are."""
    text = format_bif(random_tables(["c", "age"], {"c": ["no", "yes"], "age": ["<=23", "23..69", ">69"]}, {}))
    assert "{ le_23, _23..69, gt_69 };" in text
    assert parse_tables(text, "bif").states["age"] == ("<=23", "23..69", ">69")


def test_one_state_variable_gets_an_impossible_second_state():
    tables = random_tables(["c", "x"], {"c": ["all"], "x": [0, 1]}, {"x": ("c",)})
    text = format_bif(tables)
    assert "{ all, unused }" in text
    assert "table 1.0, 0.0;" in text
    assert_identical(parse_bif(text), tables)


def test_same_label_as_number_and_as_text_are_two_models():
    number, text = (random_tables(["c"], {"c": labels}, {}) for labels in ([0, 1], ["0", "1"]))
    assert parse_bif(format_bif(number)).states["c"] == (0, 1)
    assert parse_bif(format_bif(text)).states["c"] == ("0", "1")


def test_numpy_labels_are_written_as_python_values():
    tables = random_tables(["c"], {"c": [np.int64(3), np.float64(0.5), np.bool_(True), np.str_("a")]}, {})
    assert repr(parse_bif(format_bif(tables)).states["c"]) == "(3, 0.5, True, 'a')"
    single = random_tables(["c"], {"c": [np.int64(3)]}, {})
    assert repr(parse_bif(format_bif(single)).states["c"]) == "(3,)"


def test_label_of_another_type_is_refused():
    with pytest.raises(TypeError, match="is of type tuple"):
        format_bif(random_tables(["c"], {"c": [(1, 2), "a"]}, {}))


LOG = st.floats(-740, 0) | st.floats(-1e-12, 0) | st.just(-np.inf)


@settings(max_examples=100, deadline=None)
@given(st.lists(LOG, min_size=1, max_size=6), st.lists(st.text(), min_size=7, max_size=7, unique=True), st.text())
def test_probabilities_survive_to_the_last_bit(logs, labels, name):
    """The last state takes what is left, so that the column sums to one as nearly as floats allow."""
    values = np.exp(logs) / len(logs)
    with np.errstate(divide="ignore"):
        column = np.log(np.append(values, max(1.0 - values.sum(), 1e-300)))
    tables = LogTables([name], {name: labels[: len(column)]}, {name: ((), column)})
    text = format_bif(tables)
    again = parse_bif(text)
    assert_identical(again, tables)
    assert format_bif(again) == text


@pytest.mark.parametrize("name", ["asia", "insurance"])
def test_bundled_networks_read_as_pgmpy_reads_them(name):
    text = gzip.decompress((BUNDLED / f"{name}.bif.gz").read_bytes()).decode()
    ours, theirs = parse_bif(text), LogTables.from_network(BIFReader(string=text).get_model())
    assert set(ours.edges) == set(theirs.edges)
    assert ours.states == theirs.states
    assert ours.normalized
    for node, table in ours.tables.items():
        other = theirs.tables[node]
        axes = [0, *(1 + other.parents.index(parent) for parent in table.parents)]
        np.testing.assert_allclose(np.exp(table.values), np.exp(other.values.transpose(axes)), atol=1e-6)


# The larger ones hold nothing that these do not.
SMALL = [path for path in sorted(BUNDLED.glob("*.bif.gz")) if path.stat().st_size < 60_000]


@pytest.mark.parametrize("path", SMALL, ids=lambda path: path.name)
def test_bundled_networks_read(path):
    text = gzip.decompress(path.read_bytes()).decode()
    tables = parse_bif(text)
    assert tables.normalized
    assert len(tables.names) == text.count("variable ")
    assert_identical(parse_bif(format_bif(tables)), tables)


@pytest.mark.parametrize(
    "block",
    [
        "probability ( b | a ) { (x) 0.5, 0.25, 0.25; (y) 0.1, 0.1, 0.8; }",
        "probability(b|a){(y)0.1 0.1 0.8;(x)0.5 0.25 0.25;}",
        "probability ( b | a ) { table 0.5, 0.1, 0.25, 0.1, 0.25, 0.8; }",
        "probability ( b | a ) { default 0.1 0.1 0.8; (x) 5e-1 2.5E-1 .25; }",
        "probability ( b a ) { ( x ) 0.5, 0.25, 0.25; ( y ) 0.1, 0.1, 0.8; }",
        'probability ( "b" "a" ) { ("x") 0.5 0.25 0.25; ("y") 0.1 0.1 0.8; }',
        "probability ( b | a ) { // of b\n (x) 0.5, 0.25, /* a\n comment */ 0.25; (y) 0.1, 0.1, 0.8;\n }",
        'probability ( b | a ) { property "some; } text"; (x) 1 0 0; property k = v;\n (y) 0.1, 0.1, 0.8; }',
    ],
)
def test_dialects(block):
    tables = parse_bif(HEAD + ROOT + block)
    expected = np.array(B_GIVEN_A)
    if "1 0 0" in block:
        expected[:, 0] = [1, 0, 0]
    np.testing.assert_allclose(probabilities(tables, "b"), expected, rtol=1e-15)


def test_two_parents_in_a_table_line_and_in_lines_agree():
    head = HEAD + ROOT + "probability ( b ) { table 0.2 0.3 0.5; }\nvariable c { type discrete [2] {p, q}; }\n"
    by_line = (
        head
        + "probability ( c | b, a ) {"
        + "".join(f"({b}, {a}) 0.{i}, 0.{10 - i};" for i, (b, a) in enumerate([(b, a) for b in "uvw" for a in "xy"], 1))
    )
    first = ", ".join(f"0.{i}" for i in range(1, 7))
    second = ", ".join(f"0.{10 - i}" for i in range(1, 7))
    in_table = head + f"probability ( c | b, a ) {{ table {first}, {second};"
    lines, table = parse_bif(by_line + "}"), parse_bif(in_table + "}")
    assert lines.tables["c"].parents == ("a", "b")
    np.testing.assert_array_equal(probabilities(lines, "c"), probabilities(table, "c"))
    np.testing.assert_allclose(probabilities(lines, "c")[0], [[0.1, 0.3, 0.5], [0.2, 0.4, 0.6]], rtol=1e-15)


def test_variables_with_quotes_blanks_and_properties():
    tables = parse_bif(
        '// JavaBayes\nnetwork "My network" { property "credal-set constant"; property author me; }\n'
        'variable "light bulb" { property "position = (1, 2)"; type discrete[2] { "on" "off; {broken}" }; }\n'
        "variable petal length { type discrete [ 2 ] { short enough, long }; }\n"
        'probability ( "light bulb" ) { table 0.5 0.5; }\n'
        'probability ( petal length | light bulb ) { (on) 0.5 0.5; ("off; {broken}") 0.5 0.5; }\n'
    )
    assert tables.states == {"light bulb": ("on", "off; {broken}"), "petal length": ("short enough", "long")}
    assert tables.edges == [("light bulb", "petal length")]


def test_rounded_columns_are_renormalised():
    text = HEAD.replace("[3] { u, v, w }", "[2] { u, v }") + ROOT
    tables = parse_bif(text + "probability ( b | a ) { (x) 0.333 0.666; (y) 0.5 0.5; }")
    assert tables.normalized
    np.testing.assert_allclose(probabilities(tables, "b"), [[1 / 3, 0.5], [2 / 3, 0.5]], rtol=1e-12)


B = "probability ( b | a ) {\n (x) 0.5 0.25 0.25;\n (y) 0.1 0.1 0.8;\n}\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no variables"),
        ("hello", "line 1: expected 'network', 'variable' or 'probability', found 'hello'"),
        (HEAD + ROOT, "no table for 'b'"),
        (HEAD + ROOT + B.replace("0.8", "0.9"), "line 7: the probabilities of 'b' given a=y .* 0.1 0.1 0.9"),
        (HEAD + ROOT + B.replace("0.8", "nan"), "given a=y"),
        (HEAD + ROOT + B.replace("0.1 0.1 0.8", "-0.1 0.3 0.8"), "given a=y"),
        (HEAD + ROOT + B.replace("0.1 0.1 0.8", "1e999 0.1 0.8"), "given a=y"),
        (HEAD + ROOT + B.replace("0.8", ""), "line 8: expected 3 numbers, found 2"),
        (HEAD + ROOT + B.replace("0.8", "zero"), "line 8: could not convert string to float: 'zero'"),
        (HEAD + ROOT + B.replace(" (y) 0.1 0.1 0.8;\n", ""), "line 7: the table of 'b' has 1 columns instead of 2"),
        (HEAD + ROOT + B.replace("(y)", "(x)"), "a column twice"),
        (HEAD + ROOT + B.replace("(y)", "(z)"), "line 8: 'z' is not a state of 'a'"),
        (HEAD + ROOT + B.replace("(y)", "(y, y)"), r"line 8: expected a state of each of \['a'\]"),
        (HEAD + ROOT + B.replace("0.8;", "0.8"), "line 8: there is no ';'"),
        (HEAD + ROOT + B.replace("| a", "| c"), "line 7: 'c' in the table of 'b' is not a declared variable"),
        (HEAD + ROOT + B.replace("| a", "| b"), "names a variable twice"),
        (HEAD + ROOT + B + B, "line 11: a second table for 'b'"),
        (HEAD + ROOT + B + "probability ( b", "line 10: expected"),
        (HEAD + HEAD, "variable 'a' is declared twice"),
        (HEAD.replace("[3]", "[4]"), "variable 'b' has not 4 states"),
        (HEAD.replace("[3]", "[999999999]"), "variable 'b' has not 999999999 states"),
        (HEAD.replace("[3]", f"[{'9' * 5000}]"), "line 4: expected 'type discrete"),
        (HEAD.replace("v, w", "v, v"), "variable 'b' has a state twice"),
        (HEAD.replace("type discrete [2]", "type continuous"), "line 3: expected 'type discrete"),
        (HEAD + "/* " + ROOT + B, "line 5: this comment is never closed"),
        (
            HEAD + B + "probability ( a | b ) { (u) 0.5 0.5; (v) 0.5 0.5; (w) 0.5 0.5; }",
            "cycle: (a -> b -> a|b -> a -> b)",
        ),
    ],
)  # fmt: skip
def test_errors_say_what_and_where(text, message):
    with pytest.raises(ModelFileError, match=message):
        parse_bif(text)


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("bnplug_states", "int:1,int:2,int:3", "has 2 states, but its property bnplug_states holds 3"),
        ("bnplug_states", "int:1,int:one", "damaged property bnplug_states"),
        ("bnplug_states", "int:1,eval:2", "damaged property bnplug_states"),
        ("bnplug_states", "int:1,int:1", "a state twice"),
        ("bnplug_states", "str:%FF,str:b", "damaged property"),
        ("bnplug_name", "%C3", "damaged bnplug property"),
        ("bnplug_name", "a", "two variables have one name, 'a'"),
    ],
)
def test_damaged_properties(key, value, message):
    text = format_bif(random_tables(["a", "b 1"], {"a": ["x", "y"], "b 1": [0, 1]}, {}))
    old = {"bnplug_states": "int:0,int:1", "bnplug_name": "b%201"}[key]
    with pytest.raises(ModelFileError, match=message):
        parse_bif(text.replace(old, value))


def test_impossible_state_with_a_probability_is_an_error():
    text = format_bif(random_tables(["a"], {"a": ["x"]}, {}))
    with pytest.raises(ModelFileError, match="sum 1"):
        parse_bif(text.replace("1.0, 0.0", "0.5, 0.5"))


def test_target_that_is_no_variable():
    with pytest.raises(ModelFileError, match="target 'z'"):
        parse_bif(HEAD.replace("{\n", "{ property bnplug_target = z ;\n", 1) + ROOT + B)


def test_errors_of_a_file_name_it(tmp_path):
    path = tmp_path / "a.bif"
    path.write_bytes(b"\xef\xbb\xbf" + (HEAD + ROOT).encode())
    with pytest.raises(ModelFileError, match=r"a\.bif: there is no table for 'b'"):
        read_tables(path, "bif")


TEXT = """network n { property a = 1 ; property long = he ; property long = llo ; }
// a comment with { braces
variable "the sky" { type discrete [ 2 ] { "sun, mostly" rain }; property note = x ; }
probability ( "the sky" ) {
    table 0.25, 0.75;
}
"""


def test_blocks_keep_names_labels_properties_and_lines():
    variables, tables, properties = _scan(TEXT)
    assert properties == {"a": "1", "long": "hello"}
    (variable,) = variables.values()
    assert (variable.name, variable.labels) == ("the sky", ["sun, mostly", "rain"])
    assert variable.properties == {"note": "x"}
    ((header, body, line),) = tables
    assert (header.strip(), body.strip(), line) == ('"the sky"', "table 0.25, 0.75;", 5)


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
        _scan(text)


def test_lists_have_commas_or_blanks():
    assert _words('"a b" c, "d"') == ["a b", "c", "d"]
    assert _split_list("a b, c", 2) == ["a b", "c"]
    assert _split_list("a b c", 3) == ["a", "b", "c"]
    assert _split_list("a, b", 3) is None
