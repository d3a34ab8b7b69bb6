"""Scores: how good a graph is for a table, whole or by small changes; higher is better."""

from __future__ import annotations

from bnplug.scoring.decomposable import K2, MDL, BDeu, DecomposableScore, LogLikelihood
from bnplug.scoring.losses import Bounds, winner
from bnplug.scoring.predictive import (
    ClassificationRate,
    ConditionalLogLikelihood,
    ConditionalMDL,
    PredictiveScore,
)

__all__ = [
    "K2",
    "MDL",
    "BDeu",
    "Bounds",
    "ClassificationRate",
    "ConditionalLogLikelihood",
    "ConditionalMDL",
    "DecomposableScore",
    "LogLikelihood",
    "PredictiveScore",
    "winner",
]
