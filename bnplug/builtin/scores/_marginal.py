"""The marginal likelihood of a family's counts under a Dirichlet prior, which `k2` and `bdeu` share."""

from __future__ import annotations

from scipy.special import gammaln

from bnplug.arrays import FloatArray


def log_marginal(counts: FloatArray, cell: float, column: float) -> float:
    """The log marginal likelihood of counts (states, configurations); `column` is the sum of r priors `cell`.

    A configuration that never occurs adds nothing, so those that do are enough.
    """
    columns = counts.sum(axis=0)
    return float((gammaln(column) - gammaln(columns + column)).sum() + (gammaln(counts + cell) - gammaln(cell)).sum())
