"""L-BFGS, as all discriminative learners call it."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from scipy import optimize
from threadpoolctl import ThreadpoolController

from bnplug.arrays import FloatArray


def minimize(
    objective: Callable[[FloatArray], tuple[float, FloatArray]],
    start: FloatArray,
    tol: float,
    max_iter: int,
    callback: Callable[[FloatArray, float], Any] | None = None,
) -> tuple[FloatArray, int]:
    """Minimise by L-BFGS until the relative improvement of a step is at most `tol`.

    Parameters
    ----------
    objective : function
        Returns a value and its gradient.
    start : float64 array
    tol : float
        Stop where (f - f_next) / max(abs(f), abs(f_next), 1) is at most this.
    max_iter : int
        The largest number of steps.
    callback : function, optional
        Is given the point and its value after every step.

    Returns
    -------
    point : float64 array
        The minimum, or the last point.
    n_iter : int
        The number of steps.

    Examples
    --------
    >>> point, n_iter = minimize(lambda x: (float((x - 3) @ (x - 3)), 2 * (x - 3)), np.zeros(2), 1e-12, 100)
    >>> point.round(6).tolist()
    [3.0, 3.0]
    """

    def step(intermediate_result: Any) -> None:
        if callback is not None:
            callback(intermediate_result.x, float(intermediate_result.fun))

    if start.size == 0 or max_iter == 0:
        return start, 0
    with _thread_pools().limit(limits=1):
        found = optimize.minimize(
            objective,
            start,
            jac=True,
            method="L-BFGS-B",
            callback=step,
            options={"ftol": tol, "gtol": 0.0, "maxiter": max_iter, "maxfun": 20 * max_iter, "maxcor": 20},
        )
    return np.asarray(found.x), int(found.nit)


@cache
def _thread_pools() -> ThreadpoolController:
    """Find the process's thread pools, once: that takes longer than learning from a small table."""
    return ThreadpoolController()
