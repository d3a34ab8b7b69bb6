"""Building blocks of formats: safe names, padding, tables; and the way from the parts of a file to a network."""

from __future__ import annotations

import re

import numpy as np
import pytest
from awkward import random_tables
from hypothesis import given
from hypothesis import strategies as st

from bnplug import LogTables, ModelFileError, NotRepresentableError
from bnplug.io.network_files import _assemble, _naming, _with_target
from bnplug.io.networks import (
    _NAME,
    _STATES,
    _TARGET,
    FileFamily,
    FileVariable,
    NetworkParts,
    SafeText,
    _decode,
    _decode_labels,
    _encode,
    _encode_labels,
    collect_families,
    file_variables,
    padded,
    table_shape,
)

SAFE = SafeText(str.isidentifier, str.isidentifier, str.lower)


@given(st.text(st.characters()) | st.sampled_from(["\ud800", "a variable", "property", "table1"]))
def test_encoded_text_is_plain_and_comes_back(text):
    encoded = _encode(text)
    assert re.fullmatch(r"[A-Za-z0-9_.~%-]*", encoded)
    assert not re.search("variable|probability|property|table|default|type|network|discrete", encoded)
    assert _decode(encoded) == text


@given(st.lists(st.text() | st.integers() | st.floats() | st.booleans(), min_size=1))
def test_encoded_labels_come_back_with_their_types(labels):
    assert repr(_decode_labels(_encode_labels(labels))) == repr(labels)


@pytest.mark.parametrize("text", ["", "a", "int:", "int:1.5", "float:x", "bool:1", "list:[]", "str:%80"])
def test_damaged_labels(text):
    with pytest.raises(ValueError, match=r"not a state label|could not convert|invalid literal|can't decode"):
        _decode_labels(text)


def test_names_that_differ_in_case_get_distinct_stand_ins():
    names = ["a", "A", "A_2", "b c", "B_C", "", "1"]
    variables = file_variables(random_tables(names, dict.fromkeys(names, ("x",)), {}), SAFE)
    assert [v.name for v in variables.values()] == ["a", "A_3", "A_2", "b_c_2", "B_C", "x", "_1"]


def test_thousands_of_labels_with_one_stem_stay_distinct():
    labels = [chr(0x4E00 + i) + "!" for i in range(5_000)]
    (variable,) = file_variables(random_tables(["v"], {"v": labels}, {}), SAFE).values()
    assert len(set(variable.labels)) == len(labels)
    assert variable.labels[:2] == ["x", "x_2"]


def variables(tables):
    return {name: FileVariable(name, list(map(str, tables.states[name])), {}) for name in tables.names}


def test_a_second_state_has_no_probability_and_any_distribution_below_it():
    tables = random_tables(["c", "x"], {"c": [7], "x": ["a", "b"]}, {"x": ("c",)})
    own, probabilities = padded(tables, variables(tables), "BIF")
    assert own["c"] == FileVariable("c", ["7", "unused"], {_STATES: "int:7"})
    assert own["x"].labels == ["a", "b"]
    np.testing.assert_array_equal(probabilities["c"], [1.0, 0.0])
    assert probabilities["x"].shape == (2, 2)
    np.testing.assert_allclose(probabilities["x"].sum(axis=0), 1.0)
    np.testing.assert_array_equal(probabilities["x"][:, 0], np.exp(tables["x"].values[:, 0]))


def test_the_second_label_is_another_one():
    tables = random_tables(["c"], {"c": ["unused"]}, {})
    assert padded(tables, variables(tables), "NET")[0]["c"].labels == ["unused", "unused_2"]


def test_tables_that_would_be_too_large_are_refused_before_they_are_made():
    names = [f"v{i}" for i in range(30)]
    tables = random_tables(names, dict.fromkeys(names, ("one",)), {"v29": tuple(names[:29])})
    with pytest.raises(
        NotRepresentableError, match=r"'v29' .* 30 variables of one state, and each needs a second state in NET"
    ):
        padded(tables, variables(tables), "NET")


CARDS = {"a": 2, "b": 3}


def variable(name, labels, **properties):
    return FileVariable(name, labels, properties)


A, B = variable("a", ["u", "v"]), variable("b", ["r", "s", "t"])
PRIOR = FileFamily("a", [], np.array([0.25, 0.75]), 1)
GIVEN_A = FileFamily("b", ["a"], np.array([[0.5, 0.5, 0.0], [0.2, 0.3, 0.5]]), 2)


def test_parts_make_a_model_with_the_node_on_the_first_axis():
    tables = _assemble(NetworkParts({"a": A, "b": B}, {"a": PRIOR, "b": GIVEN_A}, {_TARGET: "b"}))
    assert (tables.names, tables.target) == (("a", "b"), "b")
    assert tables["b"].parents == ("a",)
    np.testing.assert_array_equal(np.exp(tables["b"].values), GIVEN_A.probabilities.T)


def test_properties_restore_names_and_labels():
    safe = variable("a_", ["u", "v"], **{_NAME: "a%20b", _STATES: "int:1,bool:True"})
    tables = _assemble(NetworkParts({"a_": safe}, {"a_": PRIOR._replace(node="a_")}, {}))
    assert tables.states == {"a b": (1, True)}
    assert tables.target is None


@pytest.mark.parametrize(
    ("variables", "families", "message"),
    [
        ({"a": A, "b": B}, {"a": PRIOR}, "no table for 'b'"),
        ({}, {}, "there are no variables"),
        ({"a": A}, {"a": PRIOR._replace(probabilities=np.array([0.2, 0.2]))}, "line 1: the probabilities of 'a'"),
        ({"a": A, "x": variable("x", ["u", "v"], **{_NAME: "a"})}, {"a": PRIOR, "x": PRIOR}, "two variables .* 'a'"),
        ({"a": variable("a", ["u", "v"], **{_STATES: "int:1"})}, {"a": PRIOR._replace(line=9)}, "not between|sum"),
        ({"a": variable("a", ["u", "v"], **{_STATES: "word:1,int:2"})}, {"a": PRIOR}, "damaged property"),
    ],
    ids=["no table", "empty", "no distribution", "one name", "cut states", "labels"],
)
def test_parts_that_make_no_network(variables, families, message):
    with pytest.raises(ModelFileError, match=message):
        _assemble(NetworkParts(variables, families, {}))


@pytest.mark.parametrize(
    ("parents", "message"),
    [(["x"], "line 7: 'x' in the table of 'a'"), (["a"], "names a variable twice"), (["b", "b"], "twice")],
)
def test_families_that_cannot_be(parents, message):
    with pytest.raises(ModelFileError, match=message):
        table_shape("a", parents, CARDS, 7)


def test_the_shape_of_a_table():
    assert table_shape("a", ["b"], CARDS, 1) == (3, 2)


def test_errors_name_the_file_and_end():
    with pytest.raises(ModelFileError) as caught, _naming("m.bif"):
        raise ModelFileError("x" * 10_000)
    assert str(caught.value) == "m.bif: " + "x" * 500


def test_the_class_is_the_one_asked_for_or_the_files_own():
    tables = LogTables("ab", {"a": "uv", "b": "uv"}, {n: ((), np.log([0.5, 0.5])) for n in "ab"}, target="a")
    assert _with_target(tables, None, "m.bif").target == "a"
    assert _with_target(tables, "b", "m.bif").target == "b"
    with pytest.raises(ValueError, match=r"m\.bif: there is no variable 'c'"):
        _with_target(tables, "c", "m.bif")
    with pytest.raises(ValueError, match=r"m\.bif does not say .* one of \['a', 'b'\]"):
        _with_target(tables.with_target(None), None, "m.bif")


def test_a_second_table_and_many_implied_cells_are_refused():
    assert collect_families([PRIOR, GIVEN_A], 0) == {"a": PRIOR, "b": GIVEN_A}
    with pytest.raises(ModelFileError, match="line 1: a second table for 'a'"):
        collect_families([PRIOR, PRIOR], 0)
    large = FileFamily("c", [], np.zeros(1_000_001), 3)
    with pytest.raises(ModelFileError, match="line 3: defaults stand for 1,000,001 numbers"):
        collect_families([large], 0, "defaults")
    collect_families([large], 1)
