"""What this plugin brings; the learner's own module is imported when one is created."""

from __future__ import annotations

from collections.abc import Iterable

from bnplug import ParameterLearnerMethod, hookimpl


@hookimpl
def bnplug_parameter_learners() -> Iterable[ParameterLearnerMethod]:
    """Name the learner."""
    yield ParameterLearnerMethod(
        name="my-parameters",
        factory="bnplug_my_parameters.learner:MyParameters",
        summary="Relative frequencies, shrunk to those that the variable has whatever its parents are.",
        reference="Friedman, Geiger, Goldszmidt: Bayesian network classifiers (1997)",
        api=1,
    )
