"""What this plugin brings; the learner's own module is imported when one is created."""

from __future__ import annotations

from collections.abc import Iterable

from bnplug import ParameterLearnerMethod, Recipe, hookimpl

_PAPER = "Friedman, Geiger, Goldszmidt: Bayesian network classifiers (1997)"


@hookimpl
def bnplug_parameter_learners() -> Iterable[ParameterLearnerMethod]:
    """Name the learner."""
    yield ParameterLearnerMethod(
        name="my-parameters",
        factory="bnplug_my_parameters.learner:MyParameters",
        summary="Relative frequencies, shrunk to those that the variable has whatever its parents are.",
        reference=_PAPER,
    )


@hookimpl
def bnplug_recipes() -> Iterable[Recipe]:
    """Name a whole classifier: a tree of features, with these parameters."""
    yield Recipe(
        name="my-parameters-recipe",
        structure="tan",
        parameters="my-parameters",
        summary="TAN with frequencies that are shrunk to those of each variable alone.",
        reference=_PAPER,
    )
