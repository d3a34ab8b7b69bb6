"""Scores of graphs, and evaluators that score small changes of a graph; higher is better.

This package has the two fast kinds of scores, decomposable and predictive ones. The scores themselves are in
:mod:`bnplug.builtin.scores` and in plugins.
"""

from __future__ import annotations

from bnplug.scoring._evaluating import PredictiveEvaluator
from bnplug.scoring._gains import Bounds, Gain, winner
from bnplug.scoring._layout import Candidates, Toggles
from bnplug.scoring.decomposable import (
    DecomposableEvaluator,
    DecomposableScore,
    dimension,
    log_likelihood,
    log_likelihood_batch,
    n_configurations,
)
from bnplug.scoring.predictive import PredictiveScore
from bnplug.scoring.walking import Accepted, Walk

__all__ = [
    "Accepted",
    "Bounds",
    "Candidates",
    "DecomposableEvaluator",
    "DecomposableScore",
    "Gain",
    "PredictiveEvaluator",
    "PredictiveScore",
    "Toggles",
    "Walk",
    "dimension",
    "log_likelihood",
    "log_likelihood_batch",
    "n_configurations",
    "winner",
]
