"""The columns of conditional probability tables, which sum to one in a network, as a softmax of free numbers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bnplug.arrays import FloatArray, IntArray
from bnplug.compiling import kernel
from bnplug.inference.complete import Terms
from bnplug.model.log_tables import LogTables


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
        _less_largest(beta, self.starts, self.outer, self.states, self.inner, result)
        # numpy takes many exponentials and logarithms at once, which a compiled loop does not.
        with np.errstate(under="ignore"):
            sums = self._sums(np.exp(result))
        result -= np.log(sums, out=sums)
        return result

    def chain(self, gradient: FloatArray, log_theta: FloatArray) -> FloatArray:
        """Return the derivative by beta from that by log theta: g - theta x (column sum of g)."""
        result = self._sums(gradient)
        with np.errstate(under="ignore"):
            result *= np.exp(log_theta)
        return np.subtract(gradient, result, out=result)

    def _sums(self, values: FloatArray) -> FloatArray:
        """Return for each entry the sum of its column."""
        result = np.empty_like(values)
        _add_up(values, self.starts, self.outer, self.states, self.inner, result)
        return result


@kernel(allocates=False)
def _add_up(values, starts, outer, states, inner, result):  # type: ignore[no-untyped-def]
    """result[e] = the sum of e's column; shapes as in Columns. Columns side by side go as one."""
    for t in range(starts.shape[0]):
        r, q = states[t], inner[t]
        for start in range(starts[t], starts[t] + outer[t] * r * q, r * q):
            for i in range(start, start + q):
                result[i] = values[i]
            for j in range(q, r * q, q):
                for i in range(start, start + q):
                    result[i] += values[j + i]
            for j in range(q, r * q, q):
                for i in range(start, start + q):
                    result[j + i] = result[i]


@kernel(allocates=False)
def _less_largest(values, starts, outer, states, inner, result):  # type: ignore[no-untyped-def]
    """result[e] = values[e] less the largest of e's column."""
    for t in range(starts.shape[0]):
        r, q = states[t], inner[t]
        for start in range(starts[t], starts[t] + outer[t] * r * q, r * q):
            for i in range(start, start + q):
                result[i] = values[i]
            for j in range(q, r * q, q):
                for i in range(start, start + q):
                    result[i] = values[j + i] if values[j + i] > result[i] else result[i]
            # The first row holds the largest, and is the last that is overwritten.
            for j in range((r - 1) * q, -1, -q):
                for i in range(start, start + q):
                    result[j + i] = values[j + i] - result[i]
