"""A change of variables that makes the conditional likelihood rounder and saves L-BFGS passes.

For each class there is a block of the Hessian: the second derivatives by its own log parameters. With its Cholesky
factor R, steps in z = R' x have a Hessian whose blocks are the identity, at the point where they were computed.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bnplug.compiling import kernel
from bnplug.inference.complete import Terms, posterior
from bnplug.table.table import Table
from bnplug.typing import FloatArray

# Blocks are kept this small (cells, all classes together), and computed on at most so many rows.
_CELLS = 1 << 22
_ROWS = 8_000
# Added to the diagonal for each row; directions without data stay unchanged.
_RIDGE = 1e-4


@dataclass(frozen=True)
class Preconditioner:
    """Free numbers x = `inverse`' z, class by class.

    Attributes
    ----------
    inverse : float64 array of shape (classes, configurations, configurations)
        The inverse of the Cholesky factor of each class's block.
    """

    inverse: FloatArray

    @classmethod
    def of(cls, terms: Terms, table: Table, scale: FloatArray, l2: float) -> Preconditioner | None:
        """Return the preconditioner at the point `terms`, or None where its blocks would be too large.

        Parameters
        ----------
        terms : Terms
            With the log parameters of the point as its values.
        table : Table
            The training rows.
        scale : float64 array
            The derivative of each log parameter by its free number.
        l2 : float
            The strength of the penalty.
        """
        size = terms.values.size // terms.n_classes
        if size * size * terms.n_classes > _CELLS:
            return None
        chosen = table.take(np.linspace(0, table.n_rows - 1, min(_ROWS, table.n_rows)).astype(np.int64)).gather()
        # The number of a configuration; -1 stays what it is.
        cells = terms.cells(chosen.codes) // terms.n_classes
        joint = np.zeros((chosen.n_rows, terms.n_classes))
        _add_rows(cells, terms.values.reshape(size, -1), joint)
        probabilities = posterior(joint)
        weights = np.ones(chosen.n_rows) if chosen.weights is None else chosen.weights
        share = weights * (table.total_weight / weights.sum())
        blocks = np.zeros((size, size, terms.n_classes))
        _add_blocks(cells, probabilities * (1.0 - probabilities) * share[:, None], blocks)
        factor = scale.reshape(size, -1).T
        blocks = np.moveaxis(blocks, -1, 0) * factor[:, :, None] * factor[:, None, :]
        blocks[:, np.arange(size), np.arange(size)] += _RIDGE * table.total_weight + l2
        return cls(np.linalg.inv(np.linalg.cholesky(blocks)))

    def to_free(self, z: FloatArray) -> FloatArray:
        """Return the free numbers x of z."""
        columns = z.reshape(self.inverse.shape[1], -1).T[:, None, :] @ self.inverse
        return columns[:, 0, :].T.ravel()

    def from_free(self, x: FloatArray) -> FloatArray:
        """Return the z of free numbers x."""
        columns = x.reshape(self.inverse.shape[1], -1).T[:, :, None]
        z = np.linalg.solve(np.swapaxes(self.inverse, 1, 2), columns)[:, :, 0]
        return np.asarray(z.T.ravel(), dtype=np.float64)

    def chain(self, gradient: FloatArray) -> FloatArray:
        """Return the derivative by z from that by x."""
        columns = self.inverse @ gradient.reshape(self.inverse.shape[1], -1).T[:, :, None]
        return columns[:, :, 0].T.ravel()


@kernel
def _add_rows(cells, values, joint):  # type: ignore[no-untyped-def]
    """joint[m, :] += values[cells[t, m], :] for every term t."""
    for t in range(cells.shape[0]):
        for m in range(joint.shape[0]):
            if cells[t, m] >= 0:
                for c in range(joint.shape[1]):
                    joint[m, c] += values[cells[t, m], c]


@kernel
def _add_blocks(cells, curvature, blocks):  # type: ignore[no-untyped-def]
    """blocks[a, b, :] += curvature[m, :] for every row m and two configurations a >= b that it finds.

    Later terms have later configurations: this fills the lower triangle, which is all that a Cholesky factor needs.
    """
    n_terms = cells.shape[0]
    for m in range(curvature.shape[0]):
        for i in range(n_terms):
            for j in range(i + 1):
                a, b = cells[i, m], cells[j, m]
                if a >= 0 and b >= 0:
                    for c in range(curvature.shape[1]):
                        blocks[a, b, c] += curvature[m, c]
