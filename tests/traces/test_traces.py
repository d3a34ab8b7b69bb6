"""Every search and every learner finds what ``traces.json`` says; see ``record.py`` for how exactly."""

from __future__ import annotations

from functools import cache
from math import isclose
from typing import Any

import pytest
from traces.record import cases, entry, recorded

from bnplug.hooks import registry

_RECORDED = recorded()
_all_cases = cache(cases)


def differences(expected: Any, seen: Any, tolerance: float, where: str = "") -> list[str]:
    """Return where two entries differ by more than is allowed, and what stands there."""
    if isinstance(expected, dict) and isinstance(seen, dict) and expected.keys() == seen.keys():
        below = [(f"{where} {key}".strip(), expected[key], seen[key]) for key in expected]
    elif isinstance(expected, list) and isinstance(seen, list) and len(expected) == len(seen):
        below = [(f"{where}[{place}]", *pair) for place, pair in enumerate(zip(expected, seen, strict=True))]
    else:
        return [] if _same(expected, seen, tolerance, where) else [f"{where}: {expected!r} was recorded, now {seen!r}"]
    return [line for name, old, new in below for line in differences(old, new, tolerance, name)]


def _same(expected: Any, seen: Any, tolerance: float, where: str) -> bool:
    if type(expected) is not type(seen):
        return False
    if isinstance(expected, float):
        # Zero allows nothing: equal to the last bit.
        return expected == seen or isclose(expected, seen, rel_tol=tolerance, abs_tol=tolerance)
    if where == "steps":
        return abs(expected - seen) <= max(2, expected // 10)
    return bool(expected == seen)


@pytest.mark.parametrize("key", list(_RECORDED))
def test_finds_what_is_recorded(key):
    expected = _RECORDED[key]
    found = differences(expected, entry(_all_cases()[key]), expected["tolerance"])
    assert not found, f"{key}: {'; '.join(found)} (python tests/traces/record.py --show {key!r} prints all it finds)"


def test_every_case_is_recorded():
    assert list(_RECORDED) == list(_all_cases())


def test_no_registered_method_is_left_out():
    kinds = {"search": "structure learner", "score": "score function", "parameters": "parameter learner"}
    kinds |= {"cuts": "discretizer", "answers": "engine"}
    there = {(kinds.get(case.what, case.what), case.method[0]) for case in _all_cases().values()}
    wanted = {
        (str(method.kind), method.name)
        for method in registry.methods()
        if method.kind not in ("reproduction", "format", "command")
    }
    assert wanted - there == set()


def test_every_kind_of_tolerance_is_recorded():
    assert {found["tolerance"] for found in _RECORDED.values()} == {0.0, 1e-12, 1e-6}


@pytest.mark.parametrize(
    ("changed", "where"),
    [
        ({"parents": "2 2,0 -"}, "parents"),
        ({"evaluations": 13}, "evaluations"),
        ({"evaluations": 12.0}, "evaluations"),
        ({"trace": {"length": 9, "last": 0.75, "sha256": "ab"}}, "trace length"),
        ({"trace": {"length": 8, "last": 0.75, "sha256": "ac"}}, "trace sha256"),
        ({"score": [-20.0, -10.0 - 2e-11]}, "score[1]"),
        ({"score": [-20.0]}, "score"),
        ({"steps": 17}, "steps"),
        ({"other": 1}, ""),
    ],
)
def test_what_differs_is_told(changed, where):
    expected = {
        "parents": "2 2 -",
        "evaluations": 12,
        "trace": {"length": 8, "last": 0.75, "sha256": "ab"},
        "score": [-20.0, -10.0],
        "steps": 20,
    }
    (line,) = differences(expected, {**expected, **changed}, 1e-12)
    assert line.startswith(f"{where}: ")


def test_what_may_differ_does():
    assert not differences({"score": -10.0, "steps": 20}, {"score": -10.0 - 1e-12, "steps": 22}, 1e-12)
    assert differences(0.75, 0.7500000000000001, 0.0)
    assert not differences(0.75, 0.75, 0.0)
    assert not differences(float("-inf"), float("-inf"), 0.0)
