"""The conformance kit for plugin authors: one check for each thing that every method must do.

A plugin's whole conformance test is::

    from bnplug.testing import parametrize_with_checks

    @parametrize_with_checks("my-plugin")
    def test_conformance(check):
        check()
"""

from __future__ import annotations

from bnplug.testing._running import (
    CHECKS,
    BoundCheck,
    Outcome,
    Report,
    check_plugin,
    checks_of,
    parametrize_with_checks,
)
from bnplug.testing._subjects import subject_of

__all__ = [
    "CHECKS",
    "BoundCheck",
    "Outcome",
    "Report",
    "check_plugin",
    "checks_of",
    "parametrize_with_checks",
    "subject_of",
]
