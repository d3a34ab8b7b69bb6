"""What this plugin brings; the score's own module is imported when one is created."""

from __future__ import annotations

from collections.abc import Iterable

from bnplug import Recipe, ScoreFunctionMethod, hookimpl

_PAPER = "Brier: Verification of forecasts expressed in terms of probability (1950)"


@hookimpl
def bnplug_score_functions() -> Iterable[ScoreFunctionMethod]:
    """Name the score."""
    yield ScoreFunctionMethod(
        name="my-score",
        factory="bnplug_my_score.score:MyScore",
        summary="The Brier score: how far the posterior is from the truth, negated.",
        reference=_PAPER,
        stochastic=True,  # with `cv`, the folds are drawn by `random_state`
    )


@hookimpl
def bnplug_recipes() -> Iterable[Recipe]:
    """Name a whole classifier: the structure that the score likes best, then frequencies."""
    yield Recipe(
        name="my-score-recipe",
        structure=("hill-climb", {"score": ("my-score", {"cv": 5})}),
        parameters="ml",
        summary="The structure with the best cross-validated Brier score.",
        reference=_PAPER,
    )
