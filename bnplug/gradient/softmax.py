"""Descents over networks: every column of every table is the softmax of free numbers.

For structures or rows where log parameters cannot be moved freely. On a small table in memory the whole descent is one
compiled loop, so that descents in several threads do not wait for each other; elsewhere it is
:func:`~bnplug.gradient.minimize` of the same objective.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numba import types
from numba.extending import is_jitted

from bnplug.arrays import FloatArray
from bnplug.compiling import inner_kernel, interrupts_held_back, kernel
from bnplug.compiling._addresses import compile_at, function_at
from bnplug.gradient._compiled_lbfgs import (
    AT,
    AT_GRADIENT,
    BEGUN,
    ENDED,
    GRADIENT,
    N_ITER,
    PHASE,
    PLACE,
    STEPPED,
    VALUE,
    WANTED,
    Progress,
    advance,
)
from bnplug.gradient._shared_tables import gather, merge, scatter, unmerge
from bnplug.gradient.columns import Columns, _add_up, _less_largest
from bnplug.gradient.lbfgs import minimize
from bnplug.gradient.losses import Loss, _exponential
from bnplug.gradient.objective import Objective

_LOSS = types.float64(
    types.float64[:, ::1], types.int64[::1], types.float64[::1], types.float64[::1], types.float64[:, ::1]
)
_loss_at = function_at(_LOSS)
# Between so many steps Python has its turn, for Ctrl-C.
_STEPS_AT_ONCE = 100


class SoftmaxMinimum(NamedTuple):
    """Where a descent over softmax columns ended.

    Attributes
    ----------
    values : float64 array
        The log parameters; every column is normalised.
    path : list of float
        The objective at the start and after each step.
    steepest : float
        The largest absolute derivative at the end, by the numbers that were moved.
    """

    values: FloatArray
    path: list[float]
    steepest: float


class SoftmaxProblem(NamedTuple):
    """Minimise ``factor * (the sum of a loss) - counts @ log theta``, theta being the softmax of every column of beta.

    Attributes
    ----------
    objective : Objective
    loss : Loss
    params : float64 array
        Of the loss.
    counts : float64 array
        One for each entry of the terms' values.
    columns : Columns
    scale : float64 array
        Positive. What is moved is beta times this; the square roots of counts let each entry bend the objective about
        as much.
    factor : float

    Examples
    --------
    Without a loss, maximum likelihood: 1 and 3 rows give probabilities of a quarter and three quarters.

    >>> import pandas as pd
    >>> from bnplug.data.table import Table
    >>> from bnplug.gradient import Problem, conditional_nll
    >>> table = Table.from_frame(pd.DataFrame({"x": [0, 0, 0, 1], "c": ["n", "y", "y", "y"]}), "c")
    >>> own = Problem(table, table.dag([[], []]))  # the class alone has a table that it depends on
    >>> counts = np.array([1.0, 3.0])
    >>> problem = SoftmaxProblem(own.objective, conditional_nll, np.empty(0), counts, own.columns, np.sqrt(counts), 0.0)
    >>> np.exp(problem.minimize(np.log([0.5, 0.5]), tol=1e-12, max_iter=50).values).round(4).tolist()
    [0.25, 0.75]
    """

    objective: Objective
    loss: Loss
    params: FloatArray
    counts: FloatArray
    columns: Columns
    scale: FloatArray
    factor: float = 1.0

    def minimize(
        self, start: FloatArray, tol: float, max_iter: int, callback: Callable[[int, float], None] | None = None
    ) -> SoftmaxMinimum:
        """Descend by L-BFGS until the relative improvement of a step is at most `tol`.

        Parameters
        ----------
        start : float64 array
            Log parameters.
        tol : float
            As for :func:`minimize`.
        max_iter : int
            The largest number of steps.
        callback : function, optional
            Is given the number of each step and the objective after it.
        """
        rows = self.objective.few_rows
        compiled = rows is not None and is_jitted(self.loss) and start.size > 0 and max_iter > 0
        return (self._minimize_compiled if compiled else self._minimize)(start, tol, max_iter, callback)

    def _minimize(
        self, start: FloatArray, tol: float, max_iter: int, callback: Callable[[int, float], None] | None
    ) -> SoftmaxMinimum:
        scale = self.scale

        def objective(scaled: FloatArray) -> tuple[float, FloatArray]:
            log_theta = self.columns.log_softmax(scaled / scale)
            value, gradient = self.objective(log_theta, self.loss, self.params)
            gradient *= self.factor
            gradient -= self.counts
            gradient = self.columns.chain(gradient, log_theta)
            gradient /= scale
            return self.factor * value - float(np.einsum("i,i", self.counts, log_theta)), gradient

        path = [objective(start * scale)[0]]

        def note(_: FloatArray, value: float) -> None:
            path.append(value)
            if callback is not None:
                callback(len(path) - 1, value)

        scaled, _ = minimize(objective, start * scale, tol, max_iter, note)
        steepest = float(np.abs(objective(scaled)[1]).max(initial=0.0))
        return SoftmaxMinimum(self.columns.log_softmax(scaled / scale), path, steepest)

    def _minimize_compiled(
        self, start: FloatArray, tol: float, max_iter: int, callback: Callable[[int, float], None] | None
    ) -> SoftmaxMinimum:
        scale, path = self.scale, np.empty(max_iter + 1)
        progress, room = Progress(start * scale), np.empty((3, start.size))
        columns = (self.columns.starts, self.columns.outer, self.columns.states, self.columns.inner)
        rows: Any = self.objective.few_rows
        rest = (*columns, scale, self.counts, float(self.factor), room, *rows.arrays(), _address(self.loss))
        at_once, ended, told = _STEPS_AT_ONCE if callback is None else 1, False, 0
        while not ended:
            ended = _descend(at_once, tol, max_iter, path, *progress.arrays, *rest, self.params)
            n_iter = int(progress.whole[N_ITER])
            if callback is not None and n_iter > told:
                callback(n_iter, float(path[n_iter]))
                told = n_iter
        values = self.columns.log_softmax(progress.vectors[AT] / scale)
        steepest = float(np.abs(progress.vectors[AT_GRADIENT]).max())
        return SoftmaxMinimum(values, path[: n_iter + 1].tolist(), steepest)


@cache
def _compiled(loss: Any) -> Any:
    with interrupts_held_back():
        return compile_at(loss.py_func, _LOSS)


def _address(loss: Loss) -> int:
    """Return where compiled code finds a loss; it is compiled once more for that."""
    return int(_compiled(loss).address)


@kernel
def _descend(  # type: ignore[no-untyped-def]
    n_steps, tol, max_iter, path, vectors, products, shares, lanes, numbers, whole, starts, outer, states, inner, scale,
    counts, factor, room, members, bounds, index, y, weights, merged, of_merged, joint, derivative, address, params,
):  # fmt: skip
    """Make at most `n_steps` steps; return whether the descent has ended. ``path[k]`` is the objective after k.

    vectors to whole : those of Progress. starts to inner : of Columns. scale, counts : (entries,). room : (3, entries).
    members to derivative : those of the rows. address : of the loss.
    """
    found = WANTED if whole[PHASE] == BEGUN else STEPPED
    until, value = whole[N_ITER] + n_steps, 0.0
    others = np.empty(derivative.shape[1], np.int64)
    while found != ENDED:
        if found == WANTED:
            log_theta, theta, gradient = room[0], room[1], vectors[GRADIENT]
            _softmax(vectors[PLACE], scale, starts, outer, states, inner, log_theta, theta, room[2])
            merge(log_theta, members, bounds, merged)
            gather(index, merged, joint)
            value = factor * _loss_at(address)(joint, y, weights, params, derivative)
            for k in range(of_merged.shape[0]):
                for c in range(of_merged.shape[1]):
                    of_merged[k, c] = 0.0
            scatter(index, derivative, others, of_merged)
            for e in range(counts.shape[0]):
                gradient[e] = 0.0
            unmerge(of_merged, members, bounds, gradient)
            for e in range(counts.shape[0]):
                gradient[e] = factor * gradient[e] - counts[e]
                value -= counts[e] * log_theta[e]
            _add_up(gradient, starts, outer, states, inner, room[2])
            for e in range(counts.shape[0]):
                gradient[e] = (gradient[e] - theta[e] * room[2, e]) / scale[e]
            if whole[PHASE] == BEGUN:
                path[0] = value
        found = advance(value, tol, max_iter, vectors, products, shares, lanes, numbers, whole)
        if found == STEPPED:
            path[whole[N_ITER]] = numbers[VALUE]
            if whole[N_ITER] >= until:
                return False
    return True


@inner_kernel
def _softmax(scaled, scale, starts, outer, states, inner, log_theta, theta, sums):  # type: ignore[no-untyped-def]
    """Fill `theta` with the softmax of every column of scaled / scale, and `log_theta` with its logarithm."""
    for e in range(scale.shape[0]):
        theta[e] = scaled[e] / scale[e]
    _less_largest(theta, starts, outer, states, inner, log_theta)
    for e in range(scale.shape[0]):
        theta[e] = log_theta[e]
    _exponential(theta)
    _add_up(theta, starts, outer, states, inner, sums)
    for t in range(starts.shape[0]):
        size, q = states[t] * inner[t], inner[t]
        for start in range(starts[t], starts[t] + outer[t] * size, size):
            # The entries of a column have its sum each: one logarithm is enough.
            for i in range(start, start + q):
                log_sum = np.log(sums[i])
                for e in range(i, start + size, q):
                    log_theta[e] -= log_sum
                    theta[e] /= sums[i]
