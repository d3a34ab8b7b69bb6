"""One factor for all log joints, so that probabilities are as sure as they may be: a temperature."""

from __future__ import annotations

from collections.abc import Callable
from math import exp, log

# A temperature is no further from 1 than by this factor; the width of the interval is halved so often.
_FURTHEST, _HALVINGS = 32.0, 18


def temperature(slope: Callable[[float], float]) -> float:
    """Return the factor of all log joints at which a loss is least.

    The NLL of the class is convex in it, so that the sign of its slope is enough.

    Parameters
    ----------
    slope : function
        Given a factor, returns the derivative of the loss there, or anything of its sign.

    Returns
    -------
    float
        Between 1/32 and 32.

    Examples
    --------
    >>> round(temperature(lambda factor: factor - 0.5), 3)
    0.5
    """
    low, high = -log(_FURTHEST), log(_FURTHEST)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if slope(exp(middle)) > 0:
            high = middle
        else:
            low = middle
    return exp((low + high) / 2)
