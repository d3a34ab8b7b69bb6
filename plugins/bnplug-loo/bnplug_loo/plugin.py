"""What this plugin brings; the methods' own modules are imported when one is created."""

from __future__ import annotations

from collections.abc import Iterable

from bnplug import ParameterLearnerMethod, Recipe, StructureLearnerMethod, hookimpl
from bnplug.hooks.descriptors import Component

_MARTINEZ = "Martinez, Webb, Chen, Zaidi: Scalable learning of Bayesian network classifiers (2016)"
_ZAIDI = (
    "Zaidi, Webb, Carman, Petitjean, Buntine, Hynes, De Sterck: Efficient parameter learning of Bayesian network "
    "classifiers (2017), whose weights these are; leaving rows out and the corrections are ours"
)


@hookimpl
def bnplug_parameter_learners() -> Iterable[ParameterLearnerMethod]:
    """Conditional likelihood of rows left out."""
    yield ParameterLearnerMethod(
        name="ccbn-loo",
        factory="bnplug_loo.learner:LeaveOneOutConditional",
        summary="Back-off estimates, weighted and corrected so that the class of rows left out of them is likely.",
        reference=_ZAIDI,
        stochastic=True,
    )


@hookimpl
def bnplug_structure_learners() -> Iterable[StructureLearnerMethod]:
    """Selective KDB."""
    yield StructureLearnerMethod(
        name="skdb",
        factory="bnplug_loo.skdb:SelectiveKDependence",
        summary="KDB with as many features and parents as are best for rows left out.",
        reference=_MARTINEZ,
    )


@hookimpl
def bnplug_recipes() -> Iterable[Recipe]:
    """Name single networks that answer as well as boosting does."""
    structures: dict[str, Component] = {"TAN": "tan", "KDB-2": ("kdb", {"k": 2})}
    for title, structure in structures.items():
        yield Recipe(
            name=f"{title}-LOO",
            structure=structure,
            parameters="ccbn-loo",
            discretizer="log2-quantile",
            summary=f"{title} over fine bins, with parameters that make the class of rows left out likely.",
            reference=_ZAIDI,
            featured=title == "TAN",
        )
