"""Data checks before training, and drift reports and prior adjustment afterwards."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bnplug_inspect.checking import check as check
    from bnplug_inspect.findings import KINDS as KINDS
    from bnplug_inspect.findings import Finding as Finding
    from bnplug_inspect.findings import Fix as Fix
    from bnplug_inspect.report import CheckReport as CheckReport

# The module of each name: looking for plugins imports this package, and should load nothing heavy.
_MODULES = {"check": "checking", "KINDS": "findings", "Finding": "findings", "Fix": "findings", "CheckReport": "report"}


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_MODULES])
