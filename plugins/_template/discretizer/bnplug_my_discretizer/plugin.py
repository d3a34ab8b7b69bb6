"""What this plugin brings; the discretiser's own module is imported when one is created."""

from __future__ import annotations

from collections.abc import Iterable

from bnplug import DiscretizerMethod, Recipe, hookimpl

_PAPER = "Yang, Webb: Discretization for naive-Bayes learning: managing discretization bias and variance (2009)"


@hookimpl
def bnplug_discretizers() -> Iterable[DiscretizerMethod]:
    """Name the discretiser."""
    yield DiscretizerMethod(
        name="my-discretizer",
        factory="bnplug_my_discretizer.discretizer:MyDiscretizer",
        summary="Bins of a fixed number of rows, as many as that makes.",
        reference=_PAPER,
        supervised=False,  # the cuts do not depend on the class
    )


@hookimpl
def bnplug_recipes() -> Iterable[Recipe]:
    """Name a whole classifier: naive Bayes on these bins."""
    yield Recipe(
        name="my-discretizer-recipe",
        structure="nb",
        discretizer="my-discretizer",
        summary="Naive Bayes on bins of a fixed number of rows.",
        reference=_PAPER,
    )
