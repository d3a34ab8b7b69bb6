"""Steps up the conditional likelihood of a network, in the ways that a gradient can be followed.

The paper names gradient descent of twenty steps and no step size; how far it comes depends on that.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.optimize import minimize

from bnplug import Structure
from bnplug.gradient import Columns, Objective, conditional_nll, with_values
from bnplug.inference.complete import terms
from bnplug.model.log_tables import LogTables
from bnplug.table.table import Table
from bnplug.typing import FloatArray

_Function = Callable[[FloatArray], tuple[float, FloatArray]]

# How much of the promised gain a step must bring, and how a step that does not is shortened.
_ARMIJO, _SHORTER = 1e-4, 0.5


def descend(
    table: Table, structure: Structure, start: LogTables, way: str, steps: int
) -> tuple[list[float], LogTables]:
    """Go so many steps from estimates, with theta = softmax(beta) per CPT column.

    Parameters
    ----------
    table : Table
    structure : Structure
    start : LogTables
    way : {"fixed steps 1/M", "backtracking gradient", "conjugate gradient"}
    steps : int

    Returns
    -------
    path : list of float
        The negative conditional log-likelihood of a row, at the start and after each step.
    tables : LogTables
    """
    log_terms = terms(start, table.target)
    columns, objective = Columns.of(log_terms, start, table.target), Objective(log_terms, table)

    def function(beta: FloatArray) -> tuple[float, FloatArray]:
        log_theta = columns.log_softmax(beta)
        value, gradient = objective(log_theta, conditional_nll)
        return value / table.n_rows, columns.chain(gradient, log_theta) / table.n_rows

    path, beta = WAYS[way](function, log_terms.values.copy(), steps)
    return path, with_values(start, table.target, log_terms, columns.log_softmax(beta))


def _fixed(function: _Function, beta: FloatArray, steps: int) -> tuple[list[float], FloatArray]:
    """Go along the gradient of the mean over rows, that is of the sum with steps of 1/M."""
    path = []
    for _ in range(steps):
        value, gradient = function(beta)
        path.append(value)
        beta = beta - gradient
    return [*path, function(beta)[0]], beta


def _backtracking(function: _Function, beta: FloatArray, steps: int) -> tuple[list[float], FloatArray]:
    """Go along the gradient, each step twice as long as the last one, and half as long again until it gains enough."""
    value, gradient = function(beta)
    path, length = [value], 1.0
    for _ in range(steps):
        length *= 2
        slope = float(gradient @ gradient)
        while function(beta - length * gradient)[0] > value - _ARMIJO * length * slope:
            length *= _SHORTER
        beta = beta - length * gradient
        value, gradient = function(beta)
        path.append(value)
    return path, beta


def _conjugate(function: _Function, beta: FloatArray, steps: int) -> tuple[list[float], FloatArray]:
    path = [function(beta)[0]]

    def note(at: Any) -> None:
        path.append(function(np.asarray(at))[0])

    settings: Any = {"method": "CG", "callback": note, "options": {"maxiter": steps}}
    return path, np.asarray(minimize(function, beta, jac=True, **settings).x)


#: The ways to go, by name.
WAYS = {"fixed steps 1/M": _fixed, "backtracking gradient": _backtracking, "conjugate gradient": _conjugate}
