"""What this plugin brings; the learner's own module is imported when one is created."""

from __future__ import annotations

from collections.abc import Iterable

from bnplug import Recipe, StructureLearnerMethod, hookimpl

_PAPER = "Keogh, Pazzani: Learning augmented Bayesian classifiers (1999)"


@hookimpl
def bnplug_structure_learners() -> Iterable[StructureLearnerMethod]:
    """Name the learner."""
    yield StructureLearnerMethod(
        name="my-structure",
        factory="bnplug_my_structure.learner:MyStructure",
        summary="A tree of features, grown from super parents.",
        reference=_PAPER,
        needs_score=True,
    )


@hookimpl
def bnplug_recipes() -> Iterable[Recipe]:
    """Name a whole classifier: the structure by cross-validated accuracy, then frequencies."""
    yield Recipe(
        name="my-structure-recipe",
        structure=("my-structure", {"score": ("cr", {"cv": 5})}),
        parameters="ml",
        summary="The tree with the best cross-validated classification rate.",
        reference=_PAPER,
    )
