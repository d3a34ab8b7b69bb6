"""Data checks before training, and drift reports and prior adjustment afterwards."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bnplug_inspect.checking import check as check
    from bnplug_inspect.drifting import DriftReport as DriftReport
    from bnplug_inspect.drifting import drift as drift
    from bnplug_inspect.findings import KINDS as KINDS
    from bnplug_inspect.findings import Finding as Finding
    from bnplug_inspect.findings import Fix as Fix
    from bnplug_inspect.prevalence import adjust_prior as adjust_prior
    from bnplug_inspect.prevalence import estimate_prevalence as estimate_prevalence
    from bnplug_inspect.report import CheckReport as CheckReport

# The module of each public name; the block above says the same to type checkers.
_MODULES = {
    "CheckReport": "report",
    "DriftReport": "drifting",
    "Finding": "findings",
    "Fix": "findings",
    "KINDS": "findings",
    "adjust_prior": "prevalence",
    "check": "checking",
    "drift": "drifting",
    "estimate_prevalence": "prevalence",
}

__all__ = [
    "KINDS",
    "CheckReport",
    "DriftReport",
    "Finding",
    "Fix",
    "adjust_prior",
    "check",
    "drift",
    "estimate_prevalence",
]


def __getattr__(name: str) -> Any:
    """Load a public name when it is first used: the plugin's entry point imports this package (PEP 562)."""
    if name not in _MODULES:
        raise AttributeError(f"module 'bnplug_inspect' has no attribute {name!r}")
    return getattr(import_module(f"bnplug_inspect.{_MODULES[name]}"), name)
