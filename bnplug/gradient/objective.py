"""Sums of a loss of the log joint over the rows, with their gradient: what discriminative parameters are learned by.

A parameter learner writes its log parameters as the flat values of :class:`~bnplug.inference.complete.Terms`, and a
loss as a compiled function over a block of rows; :class:`Objective` does the rest. Two things make a pass fast. Rows
that agree in the class and in all variables that matter are one row of a larger weight. And terms with few
configurations share a table, over the joint configurations that occur: a row looks up the sum of several terms at once.

Missing cells: a term adds nothing to the log joint of a row in which one of its variables is missing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from math import factorial
from typing import Any

import numpy as np
from scipy import optimize
from threadpoolctl import ThreadpoolController

from bnplug.arrays import FloatArray, IntArray
from bnplug.compiling import kernel, run_in_threads
from bnplug.data.table import Table
from bnplug.gradient._shared_tables import distinct_rows, gather, merge, scatter, share_tables, unmerge
from bnplug.inference.complete import TIE, Terms
from bnplug.model.log_tables import LogTables

#: ``loss(L, y, weights, params, dL)`` returns the weighted sum of the losses of a block of rows and fills `dL` with
#: its derivative by the log joint `L`, weights included. `L` and `dL` have shape (rows, classes), `y` (int64) and
#: `weights` shape (rows,); `params` is a float64 array of the loss's own. Meant to be compiled with
#: :data:`bnplug.compiling.kernel`; nothing in it may depend on which rows share a block.
Loss = Callable[[FloatArray, IntArray, FloatArray, FloatArray, FloatArray], float]

# A block of log joints and one of derivatives stay in a second-level cache.
_BLOCK_CELLS = 1 << 14
_MAX_PARTS = 16
_NO_PARAMS: FloatArray = np.empty(0)
_LOG2_E = 1.4426950408889634
# log 2 in two parts; the first has so few digits that its product with n is exact.
_LOG_2_HIGH, _LOG_2_LOW = 0.693147180369123816490, 1.90821492927058770002e-10
_SHIFT = 1.5 * 2.0**52
_F2, _F3, _F4, _F5, _F6, _F7, _F8, _F9, _F10, _F11, _F12, _F13 = (1.0 / factorial(k) for k in range(2, 14))


class Objective:
    """The sum over the rows of a table of a loss of their log joint, and its gradient.

    Parameters
    ----------
    terms : Terms
        The nodes that matter, as :func:`bnplug.inference.complete.terms` gives them; their values are not looked at.
    table : Table
        The training rows. A row of weight 2 is the row twice.
    n_jobs : int, optional
        Threads. The result does not depend on it, bit for bit.

    Attributes
    ----------
    n_rows : int
        The number of distinct rows, over which a pass goes.

    Examples
    --------
    >>> import pandas as pd
    >>> from bnplug import parameter_learner
    >>> from bnplug.inference.complete import terms
    >>> table = Table.from_frame(pd.DataFrame({"x": [0, 0, 1], "c": ["n", "n", "y"]}), "c")
    >>> own = terms(parameter_learner("ml").fit(table, table.dag([[1], []])), "c")
    >>> nll, gradient = Objective(own, table)(np.zeros(own.values.size), conditional_nll)
    >>> print(round(nll / np.log(2), 6))
    3.0
    >>> gradient.tolist()
    [-1.0, 1.0, 0.5, -0.5, -0.5, 0.5]
    """

    def __init__(self, terms: Terms, table: Table, n_jobs: int | None = None) -> None:
        self.n_jobs = n_jobs
        self._size = terms.values.size
        rows = distinct_rows(table, np.unique(terms.variables))
        self._y, self._weights = rows.y, rows.weights
        self.n_rows = len(rows.y)
        self._shared = share_tables(terms, rows)
        self._parts = self._part_bounds(terms.n_classes)
        self._block = max(1, _BLOCK_CELLS // terms.n_classes)
        self._merged = np.empty((self._shared.size, terms.n_classes))
        self._gradients = [np.empty_like(self._merged) for _ in self._parts]
        # For each part, a block of log joints and one of derivatives.
        self._blocks = [np.empty((2, min(self._block, last - first), terms.n_classes)) for first, last in self._parts]

    def _part_bounds(self, n_classes: int) -> list[tuple[int, int]]:
        """Return the parts of rows that threads take: they follow from the data alone, and so does every sum.

        Each part has a gradient of its own, so parts are large against the tables.
        """
        parts = min(_MAX_PARTS, self.n_rows * n_classes // max(2 * self._shared.size * n_classes, _BLOCK_CELLS))
        edges = np.linspace(0, self.n_rows, max(1, parts) + 1).astype(int)
        return list(zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True))

    def __call__(self, values: FloatArray, loss: Loss, params: FloatArray = _NO_PARAMS) -> tuple[float, FloatArray]:
        """Return the sum of `loss` over the rows, and its derivative by every entry of `values`.

        Parameters
        ----------
        values : float64 array
            Log parameters in the layout of ``terms.values``.
        loss : Loss
            Such as :func:`conditional_nll`.
        params : float64 array, optional
            What the loss is given as its parameters.
        """
        shared = self._shared
        merge(values, shared.members, shared.bounds, self._merged)
        run_part = partial(self._run_part, loss=loss, params=params)
        sums = run_in_threads(run_part, range(len(self._parts)), n_jobs=self.n_jobs)
        total = self._gradients[0]
        for more in self._gradients[1:]:
            total += more
        gradient = np.zeros(self._size)
        unmerge(total, shared.members, shared.bounds, gradient)
        return float(sum(sums)), gradient

    def _run_part(self, part: int, loss: Loss, params: FloatArray) -> float:
        """Add up one part of the rows, block by block; its gradient goes to ``self._gradients[part]``."""
        first, last = self._parts[part]
        gradient = self._gradients[part]
        gradient[:] = 0.0
        joint, derivative = self._blocks[part]
        total = 0.0
        for low in range(first, last, self._block):
            high = min(low + self._block, last)
            L, dL, index = joint[: high - low], derivative[: high - low], self._shared.index[low:high]
            gather(index, self._merged, L)
            total += loss(L, self._y[low:high], self._weights[low:high], params, dL)
            scatter(index, dL, gradient)
        return total


@kernel
def conditional_nll(L, y, weights, params, dL):  # type: ignore[no-untyped-def]
    """The negative conditional log-likelihood, -log P(class | features): a :data:`Loss` without parameters."""
    n_rows, n_classes = L.shape
    largest = np.empty(n_rows)
    for m in range(n_rows):
        largest[m] = L[m, 0]
        for c in range(1, n_classes):
            largest[m] = L[m, c] if L[m, c] > largest[m] else largest[m]
        for c in range(n_classes):
            dL[m, c] = L[m, c] - largest[m]
    exponential(dL.reshape(-1))
    total = 0.0
    for m in range(n_rows):
        normalizer = 0.0
        for c in range(n_classes):
            normalizer += dL[m, c]
        scale = weights[m] / normalizer
        for c in range(n_classes):
            dL[m, c] *= scale
        dL[m, y[m]] -= weights[m]
        total += weights[m] * (np.log(normalizer) + largest[m] - L[m, y[m]])
    return total


@kernel
def classified(L, y, weights, params, dL):  # type: ignore[no-untyped-def]
    """The weight of the rows whose class has the largest log joint; of tied ones the lowest counts. No derivative."""
    dL[:] = 0.0
    total = 0.0
    for m in range(L.shape[0]):
        largest = L[m, 0]
        for value in L[m]:
            largest = max(largest, value)
        winner = 0
        while L[m, winner] < largest - TIE:
            winner += 1
        if winner == y[m]:
            total += weights[m]
    return total


@kernel
def exponential(x):  # type: ignore[no-untyped-def]
    """Replace each x <= 700 by exp(x), but for the last two bits; what is below -708 by exp(-708).

    Unlike calls of the library's function, these loops are vectorised. With x = n log 2 + r for a whole number n,
    exp(x) = 2^n exp(r), and abs(r) is so small that 14 terms of the series of exp(r) are enough. Adding _SHIFT rounds
    to a whole number and leaves it in the lowest bits of the sum, from where it is moved to those of the exponent.
    """
    power = np.empty(x.shape[0])
    for i in range(x.shape[0]):
        above = x[i] if x[i] > -708.0 else -708.0
        power[i] = above * _LOG2_E + _SHIFT
        n = power[i] - _SHIFT
        r = above - n * _LOG_2_HIGH - n * _LOG_2_LOW
        q = r * r
        first = (1.0 + r) + q * (_F2 + _F3 * r)
        second = (_F4 + _F5 * r) + q * (_F6 + _F7 * r)
        third = (_F8 + _F9 * r) + q * (_F10 + _F11 * r)
        x[i] = first + q * q * (second + q * q * (third + q * q * (_F12 + _F13 * r)))
    bits = power.view(np.int64)
    for i in range(x.shape[0]):
        bits[i] = (bits[i] + 1023) << 52
    for i in range(x.shape[0]):
        x[i] *= power[i]


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


def with_values(tables: LogTables, target: str, terms: Terms, values: FloatArray) -> LogTables:
    """Return `tables` with the tables of the class and its children taken from flat `values`.

    The inverse of :func:`bnplug.inference.complete.terms`, which `terms` comes from.
    """
    changed = {name: (table.parents, table.values) for name, table in tables.tables.items()}
    ends = [*terms.starts[1:], values.size]
    for node, start, end in zip(terms.nodes, terms.starts, ends, strict=True):
        name = tables.names[node]
        family = (name, *tables.tables[name].parents)
        cards = [len(tables.states[variable]) for variable in family if variable != target]
        own = values[start:end].reshape(*cards, terms.n_classes)
        changed[name] = (tables.tables[name].parents, np.moveaxis(own, -1, family.index(target)))
    return LogTables(tables.names, tables.states, changed, tables.target)


@dataclass(frozen=True)
class Columns:
    """The CPT columns, each of which sums to one in a network, within the flat values of terms.

    Term t is an array of shape ``(outer[t], states[t], inner[t])`` that begins at ``starts[t]``; its columns run
    along the middle axis.

    Attributes
    ----------
    starts, outer, states, inner : int64 arrays of shape (terms,)
    """

    starts: IntArray
    outer: IntArray
    states: IntArray
    inner: IntArray

    @classmethod
    def of(cls, terms: Terms, tables: LogTables, target: str) -> Columns:
        """Return the columns of the terms of `tables`."""
        sizes = np.diff([*terms.starts, terms.values.size])
        states = np.array([len(tables.states[tables.names[node]]) for node in terms.nodes], dtype=np.int64)
        is_class = np.array([tables.names[node] == target for node in terms.nodes])
        outer = np.where(is_class, sizes // states, 1)
        return cls(terms.starts, outer, states, sizes // states // outer)

    def log_softmax(self, beta: FloatArray) -> FloatArray:
        """Return log theta, where theta is the softmax of every column of `beta`."""
        result = np.empty_like(beta)
        _log_softmax(beta, self.starts, self.outer, self.states, self.inner, result)
        return result

    def chain(self, gradient: FloatArray, log_theta: FloatArray) -> FloatArray:
        """Return the derivative by beta from that by log theta: g - theta x (column sum of g)."""
        result = np.empty_like(gradient)
        _chain_softmax(gradient, log_theta, self.starts, self.outer, self.states, self.inner, result)
        return result


@kernel
def _log_softmax(beta, starts, outer, states, inner, result):  # type: ignore[no-untyped-def]
    """Subtract from every column its log-sum-exp; shapes as in Columns."""
    for t in range(starts.shape[0]):
        r, q = states[t], inner[t]
        largest, total = np.empty(q), np.empty(q)
        for o in range(outer[t]):
            start = starts[t] + o * r * q
            own, new = beta[start : start + r * q].reshape(r, q), result[start : start + r * q].reshape(r, q)
            largest[:] = own[0]
            for j in range(1, r):
                for i in range(q):
                    largest[i] = max(largest[i], own[j, i])
            total[:] = 0.0
            for j in range(r):
                for i in range(q):
                    new[j, i] = own[j, i] - largest[i]
                    total[i] += np.exp(new[j, i])
            total[:] = np.log(total)
            for j in range(r):
                new[j] -= total


@kernel
def _chain_softmax(gradient, log_theta, starts, outer, states, inner, result):  # type: ignore[no-untyped-def]
    """g - theta x (column sum of g); shapes as in Columns."""
    for t in range(starts.shape[0]):
        r, q = states[t], inner[t]
        total = np.empty(q)
        for o in range(outer[t]):
            start = starts[t] + o * r * q
            total[:] = 0.0
            for j in range(r):
                for i in range(q):
                    total[i] += gradient[start + j * q + i]
            for j in range(r):
                for i in range(q):
                    at = start + j * q + i
                    result[at] = gradient[at] - np.exp(log_theta[at]) * total[i]
