"""What this plugin brings; the methods' own modules are imported when one is created."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from bnplug import ParameterLearnerMethod, Recipe, ScoreFunctionMethod, hookimpl
from bnplug.hooks.descriptors import Component

_PAPER = "Pernkopf, Wohlmayr: Stochastic margin-based structure learning of Bayesian network classifiers (2013)"

# Zero probabilities are replaced by a small value, which the paper does not state: that of its authors' earlier work.
_SMOOTHING: dict[str, Any] = {"alpha": 0.0, "floor": 1e-5}
_CR: Component = ("cr", {**_SMOOTHING, "cv": 5})
_MM: Component = ("mm", {**_SMOOTHING, "lam": "cv", "cv": 5})
_STRUCTURES: dict[str, tuple[Component, str]] = {
    "NB": ("nb", "Naive Bayes"),
    "TAN-ST-CMI": (("tan", {"correction": None}), "The generative tree, largest I(Xi; Xj | C)"),
    "TAN-HC-CR": (
        ("hill-climb", {"score": _CR, "tree": True, "complete": True}),
        "A tree by hill climbing on the classification rate",
    ),
    "TAN-HC-MM": (
        ("hill-climb", {"score": _MM, "tree": True, "complete": True}),
        "A tree by hill climbing on the margin",
    ),
}
_PARAMETERS: dict[str, tuple[Component, str]] = {
    "ML": (("ml", _SMOOTHING), "maximum-likelihood"),
    "MM": (("mm", {**_SMOOTHING, "lam": "cv", "early_stopping": True}), "maximum-margin"),
}


@hookimpl
def bnplug_score_functions() -> Iterable[ScoreFunctionMethod]:
    """Name the score."""
    yield ScoreFunctionMethod(
        name="mm",
        factory="bnplug_margin.score:MaximumMargin",
        summary="The sum of the rows' margins, each cut off at 1.",
        reference=_PAPER,
        stochastic=True,
    )


@hookimpl
def bnplug_parameter_learners() -> Iterable[ParameterLearnerMethod]:
    """Name the parameters."""
    yield ParameterLearnerMethod(
        name="mm",
        factory="bnplug_margin.parameters:MaximumMarginParameters",
        summary="The parameters of largest soft margin, by L-BFGS from the maximum-likelihood ones.",
        reference=_PAPER,
    )


@hookimpl
def bnplug_recipes() -> Iterable[Recipe]:
    """Name the paper's classifiers without simulated annealing; its NB-ML is that of Pernkopf and Bilmes (2008)."""
    for title, (structure, what) in _STRUCTURES.items():
        for letters, (parameters, kind) in _PARAMETERS.items():
            if (title, letters) != ("NB", "ML"):
                yield Recipe(
                    name=f"{title}-{letters}",
                    structure=structure,
                    parameters=parameters,
                    summary=f"{what}, with {kind} parameters.",
                    reference=_PAPER,
                    requires=("bnplug-margin",),
                    featured=(title, letters) == ("TAN-HC-MM", "MM"),
                )
