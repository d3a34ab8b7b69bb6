"""Stand-ins are distinct and safe, and encoded texts come back."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bnplug.exchange.names import SafeText, decode, decode_labels, encode, encode_labels, safe_variables

SAFE = SafeText(str.isidentifier, str.isidentifier, str.lower)


@given(st.text(st.characters()) | st.sampled_from(["\ud800", "a variable", "property", "table1"]))
def test_encoded_text_is_plain_and_comes_back(text):
    encoded = encode(text)
    assert re.fullmatch(r"[A-Za-z0-9_.~%-]*", encoded)
    assert not re.search("variable|probability|property|table|default|type|network|discrete", encoded)
    assert decode(encoded) == text


@given(st.lists(st.text() | st.integers() | st.floats() | st.booleans(), min_size=1))
def test_encoded_labels_come_back_with_their_types(labels):
    assert repr(decode_labels(encode_labels(labels))) == repr(labels)


@pytest.mark.parametrize("text", ["", "a", "int:", "int:1.5", "float:x", "bool:1", "list:[]", "str:%80"])
def test_damaged_labels(text):
    with pytest.raises(ValueError, match=r"not a state label|could not convert|invalid literal|can't decode"):
        decode_labels(text)


def test_names_that_differ_in_case_get_distinct_stand_ins():
    names = ["a", "A", "A_2", "b c", "B_C", "", "1"]
    variables = safe_variables(names, dict.fromkeys(names, ("x",)), SAFE)
    assert [v.name for v in variables.values()] == ["a", "A_3", "A_2", "b_c_2", "B_C", "x", "_1"]


def test_thousands_of_labels_with_one_stem_stay_distinct():
    labels = [chr(0x4E00 + i) + "!" for i in range(5_000)]
    (variable,) = safe_variables(["v"], {"v": labels}, SAFE).values()
    assert len(set(variable.labels)) == len(labels)
    assert variable.labels[:2] == ["x", "x_2"]
