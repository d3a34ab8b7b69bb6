"""The marginal likelihood of counts under Dirichlet priors."""

from __future__ import annotations

from collections.abc import Sequence
from math import lgamma
from typing import Any

import numpy as np

from bnplug.compiling import inner_kernel, kernel
from bnplug.counts.counting import BatchCounts
from bnplug.scoring import DecomposableScore, n_configurations
from bnplug.table.table import Table
from bnplug.typing import FloatArray

# Whole counts below this are looked up: most cells of a large family have few rows.
_TABULATED = 64


class MarginalLikelihood(DecomposableScore):
    """Base of scores that are log marginal likelihoods, under Dirichlet priors that are the same for every cell."""

    def _column_prior(self, n_states: int, n_configurations: Any) -> Any:
        """Return the sum of the priors of a configuration: of one family, or of many, as an array."""
        raise NotImplementedError

    def local(self, table: Table, child: int, parents: tuple[int, ...], counts: FloatArray) -> float:
        """Return sum_j [lgamma(a) - lgamma(N_ij + a) + sum_k lgamma(N_ijk + a / r) - lgamma(a / r)] for a prior a."""
        column = float(self._column_prior(counts.shape[0], n_configurations(table, parents)))
        return log_marginal(counts, column / counts.shape[0], column)

    def local_batch(
        self, table: Table, child: int, parent_sets: Sequence[tuple[int, ...]], counts: BatchCounts
    ) -> FloatArray:
        """Return the local terms of `child` with many sets of parents, in one call."""
        n_states, terms = int(table.cards[child]), np.empty(len(parent_sets))
        columns = np.full(len(terms), self._column_prior(n_states, counts.n_configurations), dtype=np.float64)
        room = np.empty((2, _TABULATED))
        _log_marginals(counts.cells, counts.starts, counts.stops, n_states, columns / n_states, columns, room, terms)
        return terms


def log_marginal(counts: FloatArray, cell: float, column: float) -> float:
    """Return the log marginal likelihood of counts (states, configurations); `column` is the sum of r priors `cell`.

    A configuration that never occurs adds nothing, and may be omitted.
    """
    return float(_log_marginal(counts, cell, column, np.empty((2, _TABULATED))))


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
