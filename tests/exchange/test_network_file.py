"""What the readers of BIF and XMLBIF share: parts become a model, or an error that names the node."""

import numpy as np
import pytest

from bnplug import LogTables, ModelFileError
from bnplug.exchange._network_file import FileFamily, assemble, choose_target, naming, table_shape
from bnplug.exchange.names import NAME, STATES, TARGET, SafeVariable

CARDS = {"a": 2, "b": 3}


def variable(name, labels, **properties):
    return SafeVariable(name, labels, properties)


A, B = variable("a", ["u", "v"]), variable("b", ["r", "s", "t"])
PRIOR = FileFamily("a", [], np.array([0.25, 0.75]), 1)
GIVEN_A = FileFamily("b", ["a"], np.array([[0.5, 0.5, 0.0], [0.2, 0.3, 0.5]]), 2)


def test_parts_make_a_model_with_the_node_on_the_first_axis():
    tables = assemble({"a": A, "b": B}, {"a": PRIOR, "b": GIVEN_A}, {TARGET: "b"})
    assert (tables.names, tables.target) == (("a", "b"), "b")
    assert tables["b"].parents == ("a",)
    np.testing.assert_array_equal(np.exp(tables["b"].values), GIVEN_A.probabilities.T)


def test_properties_restore_names_and_labels():
    safe = variable("a_", ["u", "v"], **{NAME: "a%20b", STATES: "int:1,bool:True"})
    tables = assemble({"a_": safe}, {"a_": PRIOR._replace(node="a_")}, {})
    assert tables.states == {"a b": (1, True)}
    assert tables.target is None


@pytest.mark.parametrize(
    ("variables", "families", "message"),
    [
        ({"a": A, "b": B}, {"a": PRIOR}, "no table for 'b'"),
        ({}, {}, "there are no variables"),
        ({"a": A}, {"a": PRIOR._replace(probabilities=np.array([0.2, 0.2]))}, "line 1: the probabilities of 'a'"),
        ({"a": A, "x": variable("x", ["u", "v"], **{NAME: "a"})}, {"a": PRIOR, "x": PRIOR}, "two variables .* 'a'"),
        ({"a": variable("a", ["u", "v"], **{STATES: "int:1"})}, {"a": PRIOR._replace(line=9)}, "not between|sum"),
        ({"a": variable("a", ["u", "v"], **{STATES: "word:1,int:2"})}, {"a": PRIOR}, "damaged property"),
    ],
    ids=["no table", "empty", "no distribution", "one name", "cut states", "labels"],
)
def test_parts_that_make_no_network(variables, families, message):
    with pytest.raises(ModelFileError, match=message):
        assemble(variables, families, {})


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
    with pytest.raises(ModelFileError) as caught, naming("m.bif"):
        raise ModelFileError("x" * 10_000)
    assert str(caught.value) == "m.bif: " + "x" * 500


def test_the_class_is_the_one_asked_for_or_the_files_own():
    tables = LogTables("ab", {"a": "uv", "b": "uv"}, {n: ((), np.log([0.5, 0.5])) for n in "ab"}, target="a")
    assert choose_target(tables, None, "m.bif").target == "a"
    assert choose_target(tables, "b", "m.bif").target == "b"
    with pytest.raises(ValueError, match=r"m\.bif: there is no variable 'c'"):
        choose_target(tables, "c", "m.bif")
    with pytest.raises(ValueError, match=r"m\.bif does not say .* one of \['a', 'b'\]"):
        choose_target(tables.with_target(None), None, "m.bif")
