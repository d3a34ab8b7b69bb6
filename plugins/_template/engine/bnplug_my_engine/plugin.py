"""What this plugin brings; the engine's own module is imported when one is created."""

from __future__ import annotations

from collections.abc import Iterable

from bnplug import InferenceEngineMethod, hookimpl


@hookimpl
def bnplug_inference_engines() -> Iterable[InferenceEngineMethod]:
    """Name the engine."""
    yield InferenceEngineMethod(
        name="my-engine",
        factory="bnplug_my_engine.engine:MyEngine",
        summary="Exact answers of small networks, by numpy's einsum.",
        reference="Dechter: Bucket elimination: a unifying framework for reasoning (1999)",
        api=2,
        exact=True,  # its answers are those of enumeration
    )
