"""Losses: what a row's log joints are worth, given its class. Higher is better.

A loss is a function of a module, ``loss(L, y, params, out)``, in plain Python: ``L`` holds the log joints of a
block of rows (rows x classes), ``y`` their classes, ``params`` numbers of the loss's own; it fills ``out``,
one value per row. It is compiled when it is first used, and the compiled form is kept on disk. So everything
it needs travels in ``params``, and it calls nothing but numpy, :mod:`math` and :func:`winner`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numba import cfunc, njit, typeof, types
from numba.core.errors import NumbaError

from bnplug.arrays import FloatArray, IntArray
from bnplug.errors import ContractError
from bnplug.posterior import TIE

Loss = Callable[[FloatArray, IntArray, FloatArray, FloatArray], None]

_SIGNATURE = types.void(types.float64[:, ::1], types.int64[::1], types.float64[::1], types.float64[::1])


@dataclass(frozen=True)
class Bounds:
    """What is known of a loss from a row's *gap* alone: L of its class minus the largest L of another.

    A loss that declares this is evaluated faster: rows on a plateau need no log joint, and a candidate that
    can no longer win is dropped in the middle of its pass.

    Parameters
    ----------
    maximum : float
        No row's value is larger.
    high_gap : float, optional
        The value is `maximum` wherever the gap is at least this.
    low_gap, low_value : float, optional
        The value is `low_value` wherever the gap is at most `low_gap`.

    Examples
    --------
    A margin loss ``min(1, 0.5 * gap)``:

    >>> Bounds(maximum=1.0, high_gap=2.0)
    Bounds(maximum=1.0, high_gap=2.0, low_gap=nan, low_value=0.0)
    """

    maximum: float
    high_gap: float = np.nan
    low_gap: float = np.nan
    low_value: float = 0.0


# Inlined, because a call for each row would take longer than what it does.
@njit(inline="always")
def winner(L, m):  # type: ignore[no-untyped-def]
    """Return the class that wins row `m`: the first whose log joint is within 1e-9 of the largest."""
    if L.shape[1] == 2:
        return 1 if L[m, 1] > L[m, 0] + TIE else 0
    largest = L[m, 0]
    for c in range(1, L.shape[1]):
        largest = max(largest, L[m, c])
    first = 0
    for c in range(L.shape[1] - 1, -1, -1):
        first = c if L[m, c] >= largest - TIE else first
    return first


def correct(L: FloatArray, y: IntArray, params: FloatArray, out: FloatArray) -> None:
    """1 where the winner is the row's class, else 0."""
    for m in range(L.shape[0]):
        out[m] = winner(L, m) == y[m]


#: Of :func:`correct`. Beyond twice the tolerance for ties, the sign of the gap says who wins.
CORRECT_BOUNDS = Bounds(maximum=1.0, high_gap=2 * TIE, low_gap=-2 * TIE, low_value=0.0)


def log_posterior(L: FloatArray, y: IntArray, params: FloatArray, out: FloatArray) -> None:
    """The logarithm of the posterior of the row's class."""
    for m in range(L.shape[0]):
        largest = L[m, 0]
        for c in range(1, L.shape[1]):
            largest = max(largest, L[m, c])
        total = 0.0
        for c in range(L.shape[1]):
            total += np.exp(L[m, c] - largest)
        out[m] = L[m, y[m]] - largest - np.log(total)


#: Of :func:`log_posterior`.
LOG_POSTERIOR_BOUNDS = Bounds(maximum=0.0)


@cache
def compile_loss(loss: Loss) -> Any:
    """Compile a loss to something that kernels can call, from the disk where it was compiled before.

    Raises
    ------
    ContractError
        If it is not a function of a module, or cannot be compiled; the message says why.
    """
    name = getattr(loss, "__qualname__", repr(loss))
    if getattr(loss, "__closure__", None) is not None:
        raise ContractError(
            f"the loss {name!r} is made inside another function and uses its variables; "
            "define it at the top of a module, and pass it numbers in params"
        )
    try:
        compiled = _compile(loss)
    except NumbaError as error:
        raise ContractError(f"the loss {name!r} cannot be compiled: {error}") from error
    # Otherwise numba looks for the type at every call, which takes longer than a small candidate.
    compiled._numba_type_ = typeof(compiled)
    return compiled


def _compile(loss: Loss) -> Any:
    try:
        return cfunc(_SIGNATURE, cache=True)(loss)
    except RuntimeError as error:
        # A function typed at a prompt has no file next to which its compiled form could be kept.
        if "cannot cache" not in str(error):
            raise
        return cfunc(_SIGNATURE)(loss)
