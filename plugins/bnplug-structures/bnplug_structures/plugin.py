"""The methods of this plugin; a method's module is imported when an instance is created."""

from __future__ import annotations

from collections.abc import Iterable

from bnplug import StructureLearnerMethod, hookimpl


@hookimpl
def bnplug_structure_learners() -> Iterable[StructureLearnerMethod]:
    """Yield the structure learners."""
    yield StructureLearnerMethod(
        name="chow-liu",
        factory="bnplug_structures.chow_liu:ChowLiu",
        summary="The tree with the largest mutual information.",
        reference="Chow, Liu: Approximating discrete probability distributions with dependence trees (1968)",
        constraints=True,
        needs_target=False,
    )
    yield StructureLearnerMethod(
        name="pc",
        factory="bnplug_structures.pc:PC",
        summary="The equivalence class by tests of conditional independence (PC-stable), and one of its graphs.",
        reference="Colombo, Maathuis: Order-independent constraint-based causal structure learning (2014)",
        constraints=True,
        needs_target=False,
    )
