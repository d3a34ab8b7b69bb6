"""What this plugin brings; the engine's own module is imported when one is created."""

from __future__ import annotations

from collections.abc import Iterable

from bnplug import EngineMethod, hookimpl


@hookimpl
def bnplug_engines() -> Iterable[EngineMethod]:
    """Name the engine."""
    yield EngineMethod(
        name="my-engine",
        factory="bnplug_my_engine.engine:MyEngine",
        summary="Exact answers of small networks, by numpy's einsum.",
        reference="Dechter: Bucket elimination: a unifying framework for reasoning (1999)",
        exact=True,  # its answers are those of enumeration
    )
