"""What a short command loads, and what it is spared."""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import Any

_STATS = "scipy.stats"


def load_scikit_learn() -> None:
    """Import the base of scikit-learn without ``scipy.stats``, which takes a third of what a short command does.

    scikit-learn imports it for a function that our commands do not call. An empty module stands in for it meanwhile,
    and becomes the real one when something is asked of it; afterwards scipy gives it to whoever asks, as always.
    """
    if _STATS in sys.modules:
        return
    sys.modules[_STATS] = stand_in = _StandIn(_STATS)
    try:
        import_module("sklearn.base")
    finally:
        stand_in.leave()


class _StandIn(ModuleType):
    """A module that is loaded when something is asked of it."""

    def leave(self) -> None:
        """Let the next import find the module itself."""
        if sys.modules.get(self.__name__) is self:
            del sys.modules[self.__name__]

    def __getattr__(self, name: str) -> Any:
        self.leave()
        return getattr(import_module(self.__name__), name)
