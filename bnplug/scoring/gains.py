"""Gains: what a row's log joints are worth, given its class. Higher is better: the negative of a loss.

A gain is a function of a module, ``gain(L, y, params, out)``, in plain Python: ``L`` holds the log joints of a
block of rows (rows x classes), ``y`` their classes, ``params`` numbers of the gain's own; it fills ``out``,
one value per row. It is compiled when it is first used, and the compiled form is kept on disk until the file
that the gain is written in changes. So every number it needs travels in ``params``, and it calls nothing but
numpy, :mod:`math`, :func:`winner` and functions of its own file that :data:`bnplug.compiling.kernel` decorates.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numba import njit

from bnplug.arrays import FloatArray, IntArray
from bnplug.inference.complete import TIE

Gain = Callable[[FloatArray, IntArray, FloatArray, FloatArray], None]


@dataclass(frozen=True)
class Bounds:
    """What is known of a gain from a row's *gap* alone: L of its true class minus the largest L of another.

    A gain that declares this is evaluated faster: rows on a plateau need no log joint, and a candidate that
    can no longer win is dropped in the middle of its pass. What is declared is believed: if it is false, so are
    the scores; ``check_bounds_are_true`` of :mod:`bnplug.testing` tries it.

    Parameters
    ----------
    maximum : float
        No row's value is larger.
    high_gap : float, optional
        The value is `maximum` wherever the gap is at least this.
    low_gap, low_value : float, optional
        The value is `low_value` wherever the gap is at most `low_gap`.
    slope : float, optional
        Of a hinge: the value is ``maximum - slope * (high_gap - gap)`` wherever the gap is below `high_gap`.
    whole : bool, optional
        Whether every value is a whole number. Their sums are then exact in any order, and a random walk over structures
        may move to a graph before it scores it, and back, which may change the last bit of a log joint: the value
        should not jump where classes tie exactly, but beyond a small tolerance, as that of ``cr`` does.

    Examples
    --------
    A margin gain ``min(1, 0.5 * gap)``:

    >>> Bounds(maximum=1.0, high_gap=2.0, slope=0.5)
    Bounds(maximum=1.0, high_gap=2.0, low_gap=nan, low_value=0.0, slope=0.5, whole=False)

    A gain that depends on the decision alone, at most 0, and 0 where it is right. :func:`winner` takes log joints
    within 1e-9 for tied, and the first of tied classes wins; so a gap of 0 does not tell who does:

    >>> Bounds(maximum=0.0, high_gap=1e-8)
    Bounds(maximum=0.0, high_gap=1e-08, low_gap=nan, low_value=0.0, slope=nan, whole=False)
    """

    maximum: float
    high_gap: float = np.nan
    low_gap: float = np.nan
    low_value: float = 0.0
    slope: float = np.nan
    whole: bool = False


# Inlined, because a call for each row would take longer than what it does.
@njit(inline="always")
def winner(L, m):  # type: ignore[no-untyped-def]
    """Return the class that wins row `m`: the first whose log joint is within 1e-9 of the largest."""
    if L.shape[1] == 2:
        return 1 if L[m, 1] > L[m, 0] + TIE else 0
    largest = L[m, 0]
    for c in range(1, L.shape[1]):
        largest = L[m, c] if L[m, c] > largest else largest
    least = largest - TIE
    first = 0
    while L[m, first] < least:
        first += 1
    return first
