"""Discriminative parameters by gradients of a loss of the log joint."""

from __future__ import annotations

from bnplug.gradient._rows import CompactRows, add_gradient, fill_log_joint
from bnplug.gradient.lbfgs import minimize, two_loop
from bnplug.gradient.losses import Loss, classified, conditional_nll, exponential, temperature
from bnplug.gradient.objective import Objective
from bnplug.gradient.problem import Columns, Problem, folds, held_out
from bnplug.inference.complete import with_values

__all__ = [
    "Columns",
    "CompactRows",
    "Loss",
    "Objective",
    "Problem",
    "add_gradient",
    "classified",
    "conditional_nll",
    "exponential",
    "fill_log_joint",
    "folds",
    "held_out",
    "minimize",
    "temperature",
    "two_loop",
    "with_values",
]
