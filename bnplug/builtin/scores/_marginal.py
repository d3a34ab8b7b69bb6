"""The marginal likelihood of counts under Dirichlet priors."""

from __future__ import annotations

from math import lgamma

import numpy as np

from bnplug.compiling import inner_kernel, kernel
from bnplug.counts.counting import BatchCounts
from bnplug.typing import FloatArray

# Whole counts below this are looked up: most cells of a large family have few rows.
_TABULATED = 64


def log_marginal(counts: FloatArray, cell: float, column: float) -> float:
    """Return the log marginal likelihood of counts (states, configurations); `column` is the sum of r priors `cell`.

    A configuration that never occurs adds nothing, and may be omitted.
    """
    return float(_log_marginal(counts, cell, column, np.empty((2, _TABULATED))))


def log_marginal_batch(n_states: int, counts: BatchCounts, cells: FloatArray, columns: FloatArray) -> FloatArray:
    """Return the log marginal likelihoods of many tables of a child with `n_states` states, each with its priors."""
    terms = np.empty(len(counts.starts))
    room = np.empty((2, _TABULATED))
    _log_marginals(counts.cells, counts.starts, counts.stops, n_states, cells, columns, room, terms)
    return terms


@inner_kernel(allocates=False)
def _log_rising(prior, base, n, known):  # type: ignore[no-untyped-def]
    """Return log Gamma(prior + n) - log Gamma(prior), and keep it in known[n] for whole n up to known[0]."""
    whole = np.int64(n)
    if n != whole or whole >= known.shape[0]:
        return lgamma(prior + n) - base
    while known[0] < whole:
        last = np.int64(known[0])
        known[last + 1] = (known[last] if last > 0 else 0.0) + np.log(prior + last)
        known[0] = last + 1
    return known[whole]


@kernel(allocates=False)
def _log_marginal(counts, cell, column, room):  # type: ignore[no-untyped-def]
    """room: work space of shape (2, any), for the sums of whole counts."""
    room[:, 0] = 0.0
    cell_base, column_base, total = lgamma(cell), lgamma(column), 0.0
    for j in range(counts.shape[1]):
        rows = 0.0
        for k in range(counts.shape[0]):
            if counts[k, j] > 0:
                rows += counts[k, j]
                total += _log_rising(cell, cell_base, counts[k, j], room[0])
        if rows > 0:
            total -= _log_rising(column, column_base, rows, room[1])
    return total


@kernel(allocates=False)
def _log_marginals(cells, starts, stops, n_states, cell_priors, column_priors, room, terms):  # type: ignore[no-untyped-def]
    for i in range(terms.shape[0]):
        table = cells[starts[i] : stops[i]].reshape(n_states, (stops[i] - starts[i]) // n_states)
        terms[i] = _log_marginal(table, cell_priors[i], column_priors[i], room)
