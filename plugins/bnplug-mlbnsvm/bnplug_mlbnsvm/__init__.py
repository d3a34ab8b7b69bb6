"""The maximum-likelihood BN-SVM (Peharz, Tschiatschek, Pernkopf 2013)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bnplug_mlbnsvm.paths import draw_missing, draw_path, missing_path, path

__all__ = ["draw_missing", "draw_path", "missing_path", "path"]


def __getattr__(name: str) -> Any:
    # Kernels and pandas wait until they are needed: finding this plugin must not load them.
    if name in __all__:
        from bnplug_mlbnsvm import paths

        return getattr(paths, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
