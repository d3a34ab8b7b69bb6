"""JSON from files: every number fits into a float."""

from __future__ import annotations

import json

import pytest

from bnplug._json import parse_json


@pytest.mark.parametrize("value", [0, -1, 2**63, 10**300, 1.5, -1e308, 5e-324, "1e999", None, True, [1, {"a": [2.0]}]])
def test_values_are_those_of_json(value):
    found = parse_json(json.dumps(value))
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize("text", ["1" + "0" * 400, "-1" + "0" * 400, "1e400", "[-2.5e999]", "9" * 5000, "{"])
def test_numbers_out_of_range_and_other_text_are_value_errors(text):
    with pytest.raises(ValueError, match=r"out of range|Expecting"):
        parse_json(text)
