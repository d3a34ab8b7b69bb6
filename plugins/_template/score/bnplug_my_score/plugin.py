"""What this plugin brings; the score's own module is imported when one is created."""

from __future__ import annotations

from collections.abc import Iterable

from bnplug import ScoreFunctionMethod, hookimpl


@hookimpl
def bnplug_score_functions() -> Iterable[ScoreFunctionMethod]:
    """Name the score."""
    yield ScoreFunctionMethod(
        name="my-score",
        factory="bnplug_my_score.score:MyScore",
        summary="The Brier score: how far the posterior is from the truth, negated.",
        reference="Brier: Verification of forecasts expressed in terms of probability (1950)",
        api=1,
        stochastic=True,  # with `cv`, the folds are drawn by `random_state`
    )
