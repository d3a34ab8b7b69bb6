"""Every built-in method holds what the contracts promise; each plugin of the repository has this test of its own."""

from pathlib import Path

import pytest

from bnplug.testing import parametrize_with_checks

PLUGINS = sorted((Path(__file__).parents[2] / "plugins").glob("bnplug-*"))


@parametrize_with_checks("builtin")
def test_conformance(check):
    check()


@pytest.mark.parametrize("folder", PLUGINS, ids=lambda folder: folder.name)
def test_each_plugin_carries_the_conformance_test(folder):
    name = folder.name.removeprefix("bnplug-")
    (test,) = folder.glob("tests/test_*_conformance.py")
    assert f'@parametrize_with_checks("{name}")\ndef test_conformance(check):\n    check()\n' in test.read_text()
