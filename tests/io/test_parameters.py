"""Parameters as JSON come back as they were, or say why not; what a file says is never a path to code."""

import copy
import json
import math
import pickle
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone

import bnplug
from bnplug.hooks.descriptors import Kind
from bnplug.io._parameters import Unavailable, check_complete, components, from_json, to_json

plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner) | st.lists(inner).map(tuple) | st.dictionaries(st.integers() | st.text("ab"), inner),
)


def there_and_back(value, kind=None):
    return from_json(json.loads(json.dumps(to_json(value, kind))))


@given(plain)
def test_plain_values_come_back_with_their_types(value):
    # Also tells 1 from True and 1.0, -0.0 from 0.0, a tuple from a list.
    assert repr(there_and_back(value)) == repr(value)


@pytest.mark.parametrize(
    "array",
    [
        np.array([0.1, np.nan, -np.inf]),
        np.arange(6, dtype=np.int16).reshape(2, 3),
        np.array([True, False]),
        np.array(["a", "grün"]),
        np.empty((0, 3)),
        np.array(7.5),
    ],
    ids=str,
)
def test_arrays_come_back_to_the_last_bit(array):
    back = there_and_back(array)
    assert (back.dtype, back.shape, back.tobytes()) == (array.dtype, array.shape, array.tobytes())


@pytest.mark.parametrize("scalar", [np.float32(0.1), np.int64(3), np.bool_(True), np.str_("x"), np.float64("nan")])
def test_scalars_of_numpy_keep_their_type(scalar):
    back = there_and_back(scalar)
    assert type(back) is type(scalar)
    assert back.tobytes() == scalar.tobytes()


def test_what_has_no_form_is_noted_and_stays_so():
    lost = there_and_back({"cv": [object]})["cv"][0]
    assert lost == Unavailable("\"<class 'object'>\"", lost.reason, None)
    assert there_and_back(lost) == lost
    with pytest.raises(ValueError, match=r"score__cv: <a splitter: not saved>"):
        check_complete(
            bnplug.structure_learner(
                "hill-climb", score=bnplug.score_function("cr", cv=Unavailable("a splitter", "not saved", None))
            )
        )


def test_components_are_found_inside_of_others():
    climb = ("hill-climb", {"score": ("cr", {"cv": 3})})
    for value in (climb, bnplug.structure_learner("hill-climb", score="cr")):
        found = [(own["kind"], own["name"], own["distribution"]) for own in components(value, Kind.STRUCTURE_LEARNER)]
        assert found == [("structure learner", "hill-climb", "bnplug"), ("score function", "cr", "bnplug")]


HOSTILE = [
    {"is": "code", "text": "1"},
    {"is": "array", "dtype": "|O", "shape": [1], "bytes": "AAAAAAAAAAA="},
    {"is": "array", "dtype": "<f8", "shape": [10**15], "bytes": ""},
    {"is": "array", "dtype": "<f8", "shape": [-1], "bytes": ""},
    {"is": "float", "text": "1"},
    {"is": "dict", "items": [[[], 1]]},
    {},
    {"is": "component", "form": "module", "kind": "x", "name": "x", "params": {}},
]


@pytest.mark.parametrize("data", HOSTILE, ids=str)
def test_what_nobody_wrote_is_an_error(data):
    with pytest.raises((ValueError, TypeError, KeyError)):
        from_json(data)


@pytest.mark.parametrize("name", ["os:system", "bnplug.builtin.parameters.ml:MaximumLikelihood", "ml "])
def test_only_registered_names_are_found(name):
    data = to_json(bnplug.parameter_learner("ml"))
    for changed in ({"name": name}, {"distribution": name}):
        assert isinstance(from_json({**data, **changed}), Unavailable)


def test_a_parameter_that_the_installed_version_has_not_is_said():
    data = to_json(bnplug.parameter_learner("ml"))
    lost = from_json({**data, "params": {**data["params"], "alpa": 1.0}})
    assert isinstance(lost, Unavailable)
    assert "has no parameter 'alpa'. Did you mean 'alpha'" in lost.reason


def test_nothing_warns():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert math.isnan(there_and_back(math.nan))


@pytest.mark.parametrize(
    "use",
    [
        lambda lost: lost.split([1, 2]), lambda lost: lost(3), list, len, bool, float, int, abs, np.asarray,
        lambda lost: lost + 1, lambda lost: 1 - lost, lambda lost: lost > 0, lambda lost: lost[0],
        range, lambda lost: 2**lost, lambda lost: np.ones(2) * lost, lambda lost: "a" in lost,
    ],
)  # fmt: skip
def test_what_is_unavailable_says_so_to_whoever_uses_it(use):
    lost = Unavailable("a splitter", "not saved", None)
    with pytest.raises(ValueError, match="is unavailable: <a splitter: not saved>"):
        use(lost)
    for harmless in (repr, copy.deepcopy, pickle.dumps, clone_of):
        harmless(lost)


def clone_of(value):
    return clone(bnplug.structure_learner("kdb", k=value)).get_params()
