"""What this plugin brings; the methods' own modules are imported when one is created."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from bnplug import Recipe, StructureLearnerMethod, hookimpl
from bnplug.hooks.descriptors import Component

_PAPER = "Pernkopf, Wohlmayr: Stochastic margin-based structure learning of Bayesian network classifiers (2013)"
_MARGIN = "bnplug-margin"

# Zero probabilities become a small value (section 5 of the paper, which does not say which), in the scores as in the
# parameters; scores are cross-validated.
_SMOOTHING: dict[str, Any] = {"alpha": 0.0, "floor": 1e-5}
_CR: Component = ("cr", {**_SMOOTHING, "cv": 5})
_MM: Component = ("mm", {**_SMOOTHING, "cv": 5, "lam": "cv"})


@hookimpl
def bnplug_structure_learners() -> Iterable[StructureLearnerMethod]:
    """Name the learner."""
    yield StructureLearnerMethod(
        name="sa",
        factory="bnplug_annealing.learner:SimulatedAnnealing",
        summary="The best structure of a random walk that cools down, from naive Bayes, by any score.",
        reference=_PAPER,
        stochastic=True,
        constraints=True,
        needs_score=True,
        needs_target=False,
    )


@hookimpl
def bnplug_recipes() -> Iterable[Recipe]:
    """Name the paper's classifiers whose structure is annealed."""
    scores: dict[str, tuple[Component, str]] = {"CR": (_CR, "classification rate"), "MM": (_MM, "margin")}
    parameters: dict[str, tuple[Component, str]] = {
        "ML": (("ml", _SMOOTHING), ""),
        "MM": (("mm", {**_SMOOTHING, "lam": "cv", "early_stopping": True}), ", with the parameters of largest margin"),
    }
    for learned, (learner, with_them) in parameters.items():
        for name, (score, words) in scores.items():
            yield Recipe(
                name=f"TAN-SA-{name}-{learned}",
                structure=("sa", {"score": score}),
                parameters=learner,
                summary=f"A tree annealed by cross-validated {words}{with_them}.",
                reference=_PAPER,
                requires=("bnplug-annealing", _MARGIN) if "MM" in (name, learned) else ("bnplug-annealing",),
                featured=(name, learned) == ("MM", "MM"),
            )
