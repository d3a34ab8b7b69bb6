"""Conjugate gradients, called and stopped as L-BFGS is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.optimize

from bnplug.typing import FloatArray


def minimize_by_conjugate_gradients(
    objective: Callable[[FloatArray], tuple[float, FloatArray]],
    start: FloatArray,
    tol: float,
    max_iter: int,
    callback: Callable[[FloatArray, float], Any] | None = None,
) -> tuple[FloatArray, int]:
    """Minimise by scipy's conjugate gradients; parameters and returns are those of :func:`bnplug.gradient.minimize`.

    Examples
    --------
    >>> square = lambda x: (float((x - 3) @ (x - 3)), 2 * (x - 3))
    >>> point, n_iter = minimize_by_conjugate_gradients(square, np.zeros(2), 1e-12, 100)
    >>> point.round(6).tolist()
    [3.0, 3.0]
    """
    if start.size == 0 or max_iter == 0:
        return start, 0
    path = [(start, objective(start)[0])]

    def note(intermediate_result: Any) -> None:
        place, value = np.array(intermediate_result.x), float(intermediate_result.fun)
        if not np.isfinite(value):
            raise StopIteration
        before = path[-1][1]
        path.append((place, value))
        if callback is not None:
            callback(place, value)
        if (before - value) / max(abs(before), abs(value), 1.0) <= tol:
            raise StopIteration

    settings: Any = {"method": "CG", "callback": note, "options": {"maxiter": max_iter, "gtol": 0.0}}
    # Where the gradient is zero, the next direction is not a number.
    with np.errstate(invalid="ignore", divide="ignore"):
        scipy.optimize.minimize(objective, start, jac=True, **settings)
    return path[-1][0], len(path) - 1
