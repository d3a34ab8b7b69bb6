"""Data checks before training, and drift reports and prior adjustment afterwards."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bnplug_inspect.drifting import DriftReport as DriftReport
    from bnplug_inspect.drifting import drift as drift
    from bnplug_inspect.prevalence import adjust_prior as adjust_prior
    from bnplug_inspect.prevalence import estimate_prevalence as estimate_prevalence

# The module of each public name; the block above says the same to type checkers.
_HOME_OF = {
    "DriftReport": "drifting",
    "adjust_prior": "prevalence",
    "drift": "drifting",
    "estimate_prevalence": "prevalence",
}

__all__ = ["DriftReport", "adjust_prior", "drift", "estimate_prevalence"]


def __getattr__(name: str) -> Any:
    """Load a public name when it is first used: the plugin's entry point imports this package (PEP 562)."""
    if name not in _HOME_OF:
        raise AttributeError(f"module 'bnplug_inspect' has no attribute {name!r}")
    return getattr(import_module(f"bnplug_inspect.{_HOME_OF[name]}"), name)
