"""The methods of the core come through the hooks, each from a file of its own."""

from __future__ import annotations

import pytest

from bnplug import builtin

METHODS = [
    method
    for hook in (
        builtin.bnplug_structure_learners, builtin.bnplug_score_functions, builtin.bnplug_parameter_learners,
    )
    for method in hook()
]  # fmt: skip


def test_what_the_core_brings():
    assert {method.name for method in METHODS} >= {
        "nb", "tan", "kdb", "hill-climb", "ll", "mdl", "k2", "bdeu", "cr", "cll", "cmdl", "ml",
    }  # fmt: skip


@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.name)
def test_a_method_is_one_class_of_one_file(method):
    module, _, name = method.factory.partition(":")
    assert module.startswith("bnplug.builtin.")
    assert name
    assert [other.name for other in METHODS if other.factory.startswith(f"{module}:")] == [method.name]
