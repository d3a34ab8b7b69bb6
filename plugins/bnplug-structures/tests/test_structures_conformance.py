"""The plugin does what every plugin must: one test for each check of bnplug's kit."""

from bnplug.testing import parametrize_with_checks


@parametrize_with_checks("structures")
def test_conformance(check):
    check()
