"""Information measures with some noise, for structures that differ a little."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from bnplug.arrays import FloatArray
from bnplug.hooks.components import check_numbers


def jittered(between: FloatArray, to_class: FloatArray, learner: Any) -> tuple[FloatArray, FloatArray]:
    """Return both information measures times exp(jitter z), as the learner's ``jitter`` and ``random_state`` say.

    Parameters
    ----------
    between : float64 array of shape (variables, variables)
        Symmetric, and so is what is returned.
    to_class : float64 array of shape (variables,)
    """
    check_numbers(learner, "jitter")
    if learner.jitter == 0:
        return between, to_class
    random = check_random_state(learner.random_state)
    to_class = to_class * np.exp(learner.jitter * random.standard_normal(len(to_class)))
    below = np.tril(random.standard_normal(between.shape), -1)
    return between * np.exp(learner.jitter * (below + below.T)), to_class
