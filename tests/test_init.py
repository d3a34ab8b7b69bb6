"""The package itself: its public names, which are loaded when they are first used."""

import ast
from pathlib import Path

import pytest

import bnplug


def test_every_public_name_is_there_and_declared_to_type_checkers():
    tree = ast.parse(Path(bnplug.__file__).read_text())
    guarded = next(node for node in tree.body if isinstance(node, ast.If))
    declared = {alias.name: node.module for node in guarded.body for alias in node.names}
    public = {name for name in bnplug.__all__ if name != "__version__"}
    assert set(declared) == public
    for name, module in declared.items():
        assert module.startswith("bnplug.")
        assert getattr(bnplug, name) is not None
    assert public <= set(dir(bnplug))


def test_a_name_that_is_not_there_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'Classifier'"):
        bnplug.Classifier  # noqa: B018
