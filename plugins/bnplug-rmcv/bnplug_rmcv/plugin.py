"""What this plugin brings; the methods' own modules are imported when one is created."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from bnplug import Recipe, ScoreFunctionMethod, StructureLearnerMethod, hookimpl
from bnplug.hooks.descriptors import Component

_PAPER = "Kelner, Lerner: Learning Bayesian network classifiers by risk minimization (2012)"
_FRIEDMAN = "Friedman, Geiger, Goldszmidt: Bayesian network classifiers (1997)"
_GROSSMAN = "Grossman, Domingos: Learning Bayesian network classifiers by maximizing conditional likelihood (2004)"
_REQUIRES = ("bnplug-rmcv",)

# The paper's parameters are plain maximum likelihood (section 4), in the scores as in the end.
_PLAIN = {"alpha": 0.0}
# A conditional likelihood needs probabilities above zero while it is searched for.
_LIFTED = {"alpha": 0.0, "floor": 1e-5}


@hookimpl
def bnplug_score_functions() -> Iterable[ScoreFunctionMethod]:
    """Name the risks on held-out rows."""
    scores = {
        "rmcv": ("CrossValidatedHitRate", "The share of rows whose class is predicted from the other folds."),
        "rmho": ("RedrawnHoldOutHitRate", "The share of held-out rows whose class is predicted, drawn at each step."),
        "rmho-f": ("HoldOutHitRate", "The share of held-out rows whose class is predicted, the same in all steps."),
    }
    for name, (factory, summary) in scores.items():
        yield ScoreFunctionMethod(
            name=name,
            factory=f"bnplug_rmcv.scores:{factory}",
            summary=summary,
            reference=_PAPER,
            stochastic=True,
        )


@hookimpl
def bnplug_structure_learners() -> Iterable[StructureLearnerMethod]:
    """Name the searches by risk."""
    learners = {
        "rmcv": ("RiskMinimization", "Any graph, by the error in cross validation."),
        "rmho": ("RedrawnHoldOutRiskMinimization", "Any graph, by the error on rows that each step holds out anew."),
        "rmho-f": ("HoldOutRiskMinimization", "Any graph, by the error on one set of held-out rows."),
        "rmho-ar": ("AdditiveHoldOutRiskMinimization", "As rmho-f, without reversing edges."),
    }
    for name, (factory, summary) in learners.items():
        yield StructureLearnerMethod(
            name=name,
            factory=f"bnplug_rmcv.learners:{factory}",
            summary=summary,
            reference=_PAPER,
            stochastic=True,
            constraints=True,
        )


@hookimpl
def bnplug_recipes() -> Iterable[Recipe]:
    """Name the paper's classifiers, its rivals included."""
    recipes: dict[str, tuple[Component, str, str]] = {
        "RMCV": (("rmcv", _PLAIN), "Any graph by the error in cross validation, from naive Bayes.", _PAPER),
        "RMCV-empty": (("rmcv", {**_PLAIN, "start": "empty"}), "The same, from the empty graph.", _PAPER),
        "RMHO": (("rmho", _PLAIN), "By the error on rows that each step holds out anew.", _PAPER),
        "RMHO-f": (("rmho-f", _PLAIN), "By the error on one set of held-out rows.", _PAPER),
        "RMHO-ar": (("rmho-ar", _PLAIN), "As RMHO-f, without reversing edges.", _PAPER),
        "MDL": (_climb("mdl", "nb"), "Any graph by description length, from naive Bayes.", _FRIEDMAN),
        "MDL-empty": (_climb("mdl", "empty"), "Any graph by description length, from the empty graph.", _FRIEDMAN),
        "K2": (_climb("k2", "nb"), "Any graph by marginal likelihood, from naive Bayes.", _PAPER),
        "K2-empty": (_climb("k2", "empty"), "Any graph by marginal likelihood, from the empty graph.", _PAPER),
        "BNC-MDL": (_climb(("cmdl", _LIFTED), "empty"), "Any graph by conditional description length.", _GROSSMAN),
        "BNC-2P": (
            _climb(("cll", _LIFTED), "empty", max_parents=2),
            "At most two parents, by conditional likelihood.",
            _GROSSMAN,
        ),
    }
    for name, (structure, summary, reference) in recipes.items():
        yield Recipe(
            name=name,
            structure=structure,
            parameters=("ml", _PLAIN),
            summary=summary,
            reference=reference,
            requires=_REQUIRES,
            featured=name == "RMCV",
        )


def _climb(score: Component, start: str, **options: Any) -> Component:
    """Name one plain climb, which is what the paper's rivals are."""
    return "hill-climb", {"score": score, "start": start, "shake": False, **options}
