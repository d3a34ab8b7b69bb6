"""XDSL: every awkward name and label survives, GeNIe's files and those of others are read, and others read ours."""

from __future__ import annotations

import html
import re
from functools import partial

import numpy as np
import pyagrum
import pytest
from awkward import (
    GENIE,
    assert_same_posteriors,
    awkward_labels,
    awkward_names,
    pyagrum_arrays,
    random_tables,
)
from bnplug_deploy.xdsl import format_xdsl

from bnplug import LogTables, ModelFileError
from bnplug.io.network_files import parse_tables, read_tables, write_network

parse_xdsl = partial(parse_tables, format_name="xdsl")


@pytest.mark.parametrize("make", [awkward_names, awkward_labels])
def test_every_identifier_is_one_of_genie(make):
    identifiers = re.findall(r'<(?:cpt|state) id="([^"]*)"', format_xdsl(make()))
    assert all(re.fullmatch("[A-Za-z][A-Za-z0-9_]{0,199}", own) for own in identifiers)


def test_pyagrum_answers_the_same_where_no_node_has_two_parents(tmp_path):
    tables = awkward_labels()
    names = [name for name in tables.names if len(tables[name].parents) < 2]
    naive = LogTables(names, {n: tables.states[n] for n in names}, {n: tables.tables[n] for n in names})
    write_network(naive, tmp_path / "nb.xdsl", "xdsl")
    network = pyagrum.loadBN(str(tmp_path / "nb.xdsl"))
    # It takes the names that GeNIe shows.
    assert network.names() == set(names)
    assert_same_posteriors(pyagrum_arrays(network, {name: name for name in names}, naive), naive, 1e-12)


def test_pyagrum_reads_awkward_names(tmp_path):
    tables = awkward_names()
    naive = random_tables(tables.names, tables.states, dict.fromkeys(tables.names[1:], ("class",)))
    write_network(naive, tmp_path / "nb.xdsl", "xdsl")
    network = pyagrum.loadBN(str(tmp_path / "nb.xdsl"))
    shown = re.findall("<name>([^<]*)</name>", format_xdsl(naive))
    own = dict(zip(naive.names, map(html.unescape, shown), strict=True))
    assert_same_posteriors(pyagrum_arrays(network, own, naive), naive, 1e-12)


def test_pyagrum_has_the_states_of_parents_in_the_other_order(tmp_path):
    """It is not ours alone that it misreads, but pgmpy's and GeNIe's too; a version that mends it fails here."""
    tables = random_tables("abc", dict.fromkeys("abc", "xy"), {"c": ("a", "b")})
    write_network(tables, tmp_path / "ours.xdsl", "xdsl")
    network = pyagrum.loadBN(str(tmp_path / "ours.xdsl"))
    expected = np.exp(tables["c"].values)
    theirs = pyagrum_arrays(network, {v: v for v in "abc"}, tables)[2]
    np.testing.assert_allclose(theirs, expected.transpose(0, 2, 1), rtol=1e-12)
    assert np.abs(theirs - expected).max() > 1e-3


def test_the_last_parents_state_changes_fastest():
    tables = LogTables(
        "abc", {"a": "uv", "b": "rst", "c": "xy"},
        {"a": ((), np.log([0.5, 0.5])), "b": ((), np.log([0.25, 0.25, 0.5])),
         "c": (("a", "b"), np.log([[[0.1, 0.2, 0.3], [0.4, 0.5, 0.6]], [[0.9, 0.8, 0.7], [0.6, 0.5, 0.4]]]))},
    )  # fmt: skip
    text = format_xdsl(tables)
    assert "<parents>a b</parents>" in text
    found = [float(number) for number in re.findall(r"<probabilities>([^<]*)<", text)[2].split()]
    np.testing.assert_allclose(found, [0.1, 0.9, 0.2, 0.8, 0.3, 0.7, 0.4, 0.6, 0.5, 0.5, 0.6, 0.4])


def test_what_genie_takes_is_written_as_it_is_and_the_true_name_is_shown():
    text = format_xdsl(random_tables(["Smoker", "größe & <"], {"Smoker": ["no", "Yes_1"], "größe & <": ["a", "b"]}, {}))
    assert '<cpt id="Smoker">' in text
    assert '<state id="Yes_1" />' in text
    assert "<name>größe &amp; &lt;</name>" in text
    assert text.count("<property") == 1


def test_the_class_says_what_the_network_says():
    tables = random_tables(["a", "b c"], {"a": "xy", "b c": "xy"}, {}, target="b c")
    text = format_xdsl(tables)
    assert text.index('id="b_c"') < text.index('<property id="bnplug_target">b%20c</property>')
    assert parse_xdsl(text).target == "b c"
    assert "bnplug_target" not in format_xdsl(tables.with_target(None))


def test_reads_what_genie_writes():
    tables = parse_xdsl(GENIE)
    assert tables.names == ("Smoking", "Sex", "Cancer", "Either")
    assert tables.target is None
    cancer = np.exp(tables["Cancer"].values)
    assert tables["Cancer"].parents == ("Smoking", "Sex")
    np.testing.assert_allclose(cancer[:, 0, 1], [0.05, 0.95], rtol=1e-12)
    np.testing.assert_allclose(cancer[:, 1, 0], [0.01, 0.99], rtol=1e-12)
    either = np.exp(tables["Either"].values)
    np.testing.assert_array_equal(either[0], [[1, 1], [1, 0], [0, 0]])


def network(*nodes):
    return '<smile version="1.0" id="n">\n<nodes>\n' + "\n".join(nodes) + "\n</nodes>\n</smile>"


A = '<cpt id="a"><state id="x"/><state id="y"/><probabilities>0.25 0.75</probabilities></cpt>'
D = '<deterministic id="d"><state id="x"/><state id="y"/><parents>a</parents><resultingstates>x y</resultingstates>'
D += "</deterministic>"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "line 1: no element found"),
        ("<BIF></BIF>", "line 1: expected the element smile, found 'BIF'"),
        ("<smile></smile>", "no variables"),
        (network(A, A), "line 4: node 'a' is declared twice"),
        (network(A.replace(' id="a"', "")), "line 3: a node without an id"),
        (network(A.replace(' id="x"', "")), "line 3: node 'a' has a state without an id"),
        (network(A.replace("0.25", "0.35")), "line 3: the probabilities of 'a' are not .* 0.35 0.75"),
        (network(A.replace("0.25", "")), "line 3: expected the 2 numbers of the table of 'a', found 1"),
        (network(A.replace("0.25", "inf")), "line 3: expected the 2 numbers"),
        (network(re.sub("<prob.*</prob.*?>", "", A)), "line 3: node 'a' has no probabilities"),
        (network(A.replace("<prob", "<parents>b</parents><prob")), "line 3: 'b' in the table of 'a' is not a declared"),
        (network(A.replace("<prob", "<parents>a</parents><prob")), "names a variable twice"),
        (network(A.replace('"y"', '"x"')), "node 'a' has a state twice"),
        (network(A, D.replace(">x y<", ">x<")), "line 4: expected the 2 resulting states of 'd', found 1"),
        (network(A, D.replace(">x y<", ">x z<")), "line 4: 'z' is not a state of 'd'"),
        (network(A.replace("cpt", "decision")), "line 3: node 'a' is of the kind 'decision'; only discrete chance"),
        (network('<utility id="u"></utility>'), "node 'u' is of the kind 'utility'"),
        (network('<equation id="e"></equation>'), "node 'e' is of the kind 'equation'"),
        (network('<noisymax id="m"></noisymax>'), "'noisymax'; .* let GeNIe turn it into a general chance node"),
        (network(A).replace("</smile>", "<dynamic numslices='3'/></smile>"), "line 5: a dynamic network"),
        (network(A)[:-20], "line 3: "),
        ("<smile>" + "<a>" * 100_000, "nested too deep"),
        ('<!DOCTYPE smile [<!ENTITY e "ha">]>' + network(A), "line 1: entity 'e': an XDSL file may not define"),
    ],
)  # fmt: skip
def test_errors_say_what_and_where(text, message):
    with pytest.raises(ModelFileError, match=message):
        parse_xdsl(text)


def test_a_small_file_does_not_stand_for_much_memory():
    states = "".join(f'<state id="s{i}"/>' for i in range(1100))
    wide = f'<cpt id="p">{states}<probabilities>1{" 0" * 1099}</probabilities></cpt>'
    certain = f'<deterministic id="d">{states}<parents>p</parents>'
    certain += f"<resultingstates>{'s0 ' * 1100}</resultingstates></deterministic>"
    with pytest.raises(ModelFileError, match="line 4: 'd' stands for 1,210,000 numbers"):
        parse_xdsl(network(wide, certain))


@pytest.mark.parametrize("encoding", ["latin-1", "utf-16", "utf-8"])
def test_encodings_are_read(encoding, tmp_path):
    text = network(A.replace('"x"', '"é"'))
    (tmp_path / "a.xdsl").write_bytes(f'<?xml version="1.0" encoding="{encoding}"?>{text}'.encode(encoding))
    assert read_tables(tmp_path / "a.xdsl", "xdsl").states == {"a": ("é", "y")}
