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
        _take_off_largest(beta, self.starts, self.outer, self.states, self.inner, result)
        # numpy takes many exponentials at once, which a compiled loop does not.
        _take_off_log_sum(np.exp(result), self.starts, self.outer, self.states, self.inner, result)
        return result

    def chain(self, gradient: FloatArray, log_theta: FloatArray) -> FloatArray:
        """Return the derivative by beta from that by log theta: g - theta x (column sum of g)."""
        result = np.exp(log_theta)
        _chain_softmax(gradient, self.starts, self.outer, self.states, self.inner, result)
        return result


@kernel
def _take_off_largest(beta, starts, outer, states, inner, result):  # type: ignore[no-untyped-def]
    """Subtract from every column its largest value; shapes as in Columns. Columns side by side are taken at once."""
    for t in range(starts.shape[0]):
        r, q = states[t], inner[t]
        largest = np.empty(q)
        for start in range(starts[t], starts[t] + outer[t] * r * q, r * q):
            for i in range(q):
                largest[i] = beta[start + i]
            for j in range(start + q, start + r * q, q):
                for i in range(q):
                    largest[i] = max(largest[i], beta[j + i])
            for j in range(start, start + r * q, q):
                for i in range(q):
                    result[j + i] = beta[j + i] - largest[i]


@kernel
def _take_off_log_sum(power, starts, outer, states, inner, result):  # type: ignore[no-untyped-def]
    """Subtract from every column the logarithm of the sum of `power`; shapes as in Columns."""
    for t in range(starts.shape[0]):
        r, q = states[t], inner[t]
        total = np.empty(q)
        for start in range(starts[t], starts[t] + outer[t] * r * q, r * q):
            for i in range(q):
                total[i] = 0.0
            for j in range(start, start + r * q, q):
                for i in range(q):
                    total[i] += power[j + i]
            for i in range(q):
                total[i] = np.log(total[i])
            for j in range(start, start + r * q, q):
                for i in range(q):
                    result[j + i] -= total[i]


@kernel
def _chain_softmax(gradient, starts, outer, states, inner, result):  # type: ignore[no-untyped-def]
    """From theta, in `result`, make g - theta x (column sum of g); shapes as in Columns."""
    for t in range(starts.shape[0]):
        r, q = states[t], inner[t]
        total = np.empty(q)
        for start in range(starts[t], starts[t] + outer[t] * r * q, r * q):
            for i in range(q):
                total[i] = 0.0
            for j in range(start, start + r * q, q):
                for i in range(q):
                    total[i] += gradient[j + i]
            for j in range(start, start + r * q, q):
                for i in range(q):
                    result[j + i] = gradient[j + i] - result[j + i] * total[i]
