"""Scores: how good a graph is for a table, whole or by small changes; higher is better.

Here are the two kinds that are fast, and what they are made of; the scores themselves are in
:mod:`bnplug.builtin.scores` and in plugins.
"""

from __future__ import annotations

from bnplug.scoring._candidates import Candidates
from bnplug.scoring.decomposable import (
    DecomposableEvaluator,
    DecomposableScore,
    dimension,
    log_likelihood,
    log_likelihood_with_each,
    n_configurations,
)
from bnplug.scoring.evaluating import PredictiveEvaluator
from bnplug.scoring.gains import Bounds, winner
from bnplug.scoring.predictive import PredictiveScore
from bnplug.scoring.resampling import Splitter, draw_folds
from bnplug.scoring.walking import Accepted, Walk

__all__ = [
    "Accepted",
    "Bounds",
    "Candidates",
    "DecomposableEvaluator",
    "DecomposableScore",
    "PredictiveEvaluator",
    "PredictiveScore",
    "Splitter",
    "Walk",
    "dimension",
    "draw_folds",
    "log_likelihood",
    "log_likelihood_with_each",
    "n_configurations",
    "winner",
]
