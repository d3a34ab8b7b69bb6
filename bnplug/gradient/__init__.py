"""Discriminative parameters by gradients of a loss of the log joint."""

from __future__ import annotations

from bnplug.gradient.objective import (
    Columns,
    Loss,
    Objective,
    classified,
    conditional_nll,
    exponential,
    minimize,
    with_values,
)

__all__ = ["Columns", "Loss", "Objective", "classified", "conditional_nll", "exponential", "minimize", "with_values"]
