"""The methods of this plugin; a method's module is imported when an instance is created."""

from __future__ import annotations

from collections.abc import Iterable

from bnplug import StructureLearnerMethod, hookimpl


@hookimpl
def bnplug_structure_learners() -> Iterable[StructureLearnerMethod]:
    """Yield the structure learners."""
    yield from ()
