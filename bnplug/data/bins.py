"""Bins between ascending cuts: which one a number is in, and what it is called."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from bnplug.arrays import FloatArray
from bnplug.data.coding import MISSING, Coded, State

#: Significant digits of a bin label; more only where labels would coincide.
_DIGITS = 10


def in_bins(values: FloatArray, cuts: npt.ArrayLike) -> Coded:
    """Return the bins of values between ascending cuts, with their labels; a value is at most its upper cut.

    Examples
    --------
    >>> in_bins(np.array([0.3, 0.5, 7.0, np.nan]), [0.5])
    Coded(codes=array([ 0,  0,  1, -1]), states=('<=0.5', '>0.5'))
    """
    codes = np.searchsorted(np.asarray(cuts, dtype=np.float64), values, side="left")
    codes[np.isnan(values)] = MISSING
    return Coded(codes, tuple(bin_labels(cuts)))


def nearest(values: FloatArray, states: Sequence[State]) -> Coded:
    """Return, for each value, which of ascending numbers is nearest; the lower of two that are equally near.

    Examples
    --------
    >>> nearest(np.array([0.0, 2.0, 2.5, 9.0, np.nan]), (1, 2, 3))
    Coded(codes=array([ 0,  1,  1,  2, -1]), states=(1, 2, 3))
    """
    codes = np.searchsorted(middles(states), values, side="left")
    codes[np.isnan(values)] = MISSING
    return Coded(codes, tuple(states))


def middles(states: Sequence[State]) -> FloatArray:
    """Return what lies halfway between each of ascending numbers and the next.

    Examples
    --------
    >>> middles((1, 2, 5))
    array([1.5, 3.5])
    """
    numbers = np.asarray(states, dtype=np.float64)
    return (numbers[:-1] + numbers[1:]) / 2


def bin_labels(cuts: npt.ArrayLike) -> list[str]:
    """Name the bins between ascending cuts; the labels are distinct, and free of commas and brackets.

    Examples
    --------
    >>> bin_labels([5.45, 6.15])
    ['<=5.45', '5.45..6.15', '>6.15']
    >>> bin_labels([])
    ['all']
    """
    # Adding zero makes -0.0 plain.
    values = [float(cut) + 0.0 for cut in np.asarray(cuts, dtype=np.float64)]
    if not values:
        return ["all"]
    texts = [f"{value:.{_DIGITS}g}" for value in values]
    if len(set(texts)) < len(texts):
        texts = [repr(value) for value in values]
    inner = [f"{low}..{high}" for low, high in pairwise(texts)]
    return [f"<={texts[0]}", *inner, f">{texts[-1]}"]
