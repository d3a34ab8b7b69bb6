"""Descriptors: data that cannot change, each field of which is checked at the door."""

from dataclasses import FrozenInstanceError, replace

import pytest

from bnplug import (
    ClassifierMethod,
    ContractError,
    DiscretizerMethod,
    EngineMethod,
    NetworkFormat,
    ParameterLearnerMethod,
    PluginCommand,
    Recipe,
    Reproduction,
    ScoreFunctionMethod,
    StructureLearnerMethod,
)
from bnplug.hooks.descriptors import Kind, as_written, check_descriptor, is_component, name_and_parameters

WORDS = {"summary": "It does.", "reference": "Me (2026)"}
GOOD = [
    StructureLearnerMethod("a", "m:A", needs_score=True, **WORDS),
    ScoreFunctionMethod("b", "m:B", decomposable=True, **WORDS),
    ParameterLearnerMethod("c", "m:C", stochastic=True, **WORDS),
    EngineMethod("f", "m:F", **WORDS),
    ClassifierMethod("g", "m:G", featured=True, aliases=("old-g",), parameter_aliases={"n": "size"}, **WORDS),
    DiscretizerMethod("h", "m:H", supervised=True, **WORDS),
    Recipe("D", ("a", {"score": "b"}), **WORDS),
    Reproduction("e", "m:run", **WORDS),
    NetworkFormat("i", (".i", ".ii"), "m:write", None, "It is."),
    PluginCommand("j", "m:j", "It does."),
]


@pytest.mark.parametrize("descriptor", GOOD, ids=lambda descriptor: descriptor.kind)
def test_a_descriptor_is_frozen_and_passes(descriptor):
    check_descriptor(descriptor)
    with pytest.raises(FrozenInstanceError):
        descriptor.name = "other"


def test_each_descriptor_has_a_kind_of_its_own():
    assert [descriptor.kind for descriptor in GOOD] == list(Kind)


def test_capabilities_are_the_flags():
    assert [descriptor.capabilities() for descriptor in GOOD[:6]] == [
        {"stochastic": False, "needs_score": True, "constraints": False, "needs_target": True,
         "needs_decomposable": False},
        {"stochastic": False, "decomposable": True, "score_equivalent": False, "needs_target": True},
        {"stochastic": True, "needs_target": True},
        {"stochastic": False, "exact": True},
        {"stochastic": False},
        {"stochastic": False, "supervised": True},
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("place", "changes", "message"),
    [
        (8, {"summary": ""}, "^format 'i': its summary must be a non-empty string"),
        (8, {"endings": ("i",)}, r"^format 'i': its endings must be a tuple of endings such as '\.bif', not "),
        (8, {"endings": (".I",)}, "^format 'i': its endings must be"),
        (8, {"signature": "("}, "^format 'i': its signature must be a regular expression"),
        (8, {"write": None}, "^format 'i': it must have write, read or both"),
        (8, {"read": "m"}, "^format 'i': its read must be a function, 'module:function' or None, not 'm'"),
        (0, {"name": " "}, "^the name of a structure learner must be a non-empty string"),
        (1, {"factory": "module.Class"}, "^score function 'b': its factory must be a class or 'module:Class', not "),
        (2, {"reference": ""}, "^parameter learner 'c': its reference must be a non-empty string, not ''"),
        (2, {"api": 99}, "^parameter learner 'c' is written for hook api 99; bnplug .* accepts 1"),
        (6, {"structure": ("kdb", 2)}, r"^recipe 'D': its structure must be a name or \(name, parameters\)"),
        (6, {"requires": ["bnplug-x"]}, "^recipe 'D': its requires must be a tuple of distribution names"),
        (7, {"run": 3}, "^reproduction 'e': its run must be a function or 'module:function', not 3"),
        (7, {"aliases": "old"}, "^reproduction 'e': its aliases must be a tuple of names, not 'old'"),
        (5, {"parameter_aliases": ["k"]}, "^discretizer 'h': its parameter_aliases must be a mapping of old names to "),
    ],
)
def test_a_field_that_holds_something_else_is_named(place, changes, message):
    with pytest.raises(ContractError, match=message):
        check_descriptor(replace(GOOD[place], **changes))


@pytest.mark.parametrize(
    ("value", "is_one"),
    [
        ("tan", True),
        (("kdb", {}), True),
        (("kdb", {"k": 2}), True),
        (" ", False),
        (("kdb",), False),
        (("kdb", [("k", 2)]), False),
        (("kdb", {2: "k"}), False),
        (["kdb", {}], False),
        (None, False),
    ],
)
def test_a_component_is_a_name_or_a_name_with_parameters(value, is_one):
    assert is_component(value) is is_one


def test_a_component_is_taken_apart():
    assert name_and_parameters("tan") == ("tan", {})
    assert name_and_parameters(("kdb", {"k": 2})) == ("kdb", {"k": 2})


def test_a_component_is_shown_as_a_user_would_write_it():
    assert as_written("tan") == "tan"
    assert as_written(("kdb", {"k": 2, "score": "cr"})) == "kdb(k=2, score='cr')"
    assert as_written(("kdb", {})) == "kdb()"
    assert as_written(GOOD[7]).startswith("Reproduction(name='e', ")
