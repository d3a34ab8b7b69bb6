"""Discriminative parameters by gradients of a loss of the log joint."""

from __future__ import annotations

from bnplug.gradient.columns import Columns
from bnplug.gradient.lbfgs import minimize
from bnplug.gradient.losses import Loss, classified, conditional_nll
from bnplug.gradient.objective import Objective
from bnplug.gradient.problem import HeldOut, Problem, folds, held_out
from bnplug.gradient.softmax import SoftmaxMinimum, SoftmaxProblem
from bnplug.gradient.tempering import temperature
from bnplug.inference.complete import with_values

__all__ = [
    "Columns",
    "HeldOut",
    "Loss",
    "Objective",
    "Problem",
    "SoftmaxMinimum",
    "SoftmaxProblem",
    "classified",
    "conditional_nll",
    "folds",
    "held_out",
    "minimize",
    "temperature",
    "with_values",
]
