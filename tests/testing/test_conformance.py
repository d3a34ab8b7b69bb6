"""Every built-in method, and every method of every installed plugin, holds what the contracts promise."""

import bnplug
from bnplug.testing import parametrize_with_checks


@parametrize_with_checks(sorted({info.distribution for info in bnplug.plugins()}))
def test_conformance(check):
    check()
