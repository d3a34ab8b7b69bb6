"""Every question about a network is a sum of products, and numpy finds an order in which to take it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from bnplug import CompiledNetwork, Engine, LogTables
from bnplug.hooks.components import check_numbers

if TYPE_CHECKING:
    from bnplug.typing import CodeArray, FloatArray

# einsum has a letter for each axis: one for each variable, and one for the rows.
_LETTERS = 52


class MyEngine(Engine):
    """Exact answers of networks with up to 51 variables.

    Parameters
    ----------
    rows : int
        How many rows are answered at once: more take more memory.

    Examples
    --------
    >>> tables = LogTables(
    ...     ["c", "x"], {"c": ["n", "y"], "x": [0, 1]},
    ...     {"c": ((), np.log([0.5, 0.5])), "x": (("c",), np.log([[0.9, 0.2], [0.1, 0.8]]))}, "c")
    >>> MyEngine().compile(tables, "c").query(["c"], {"x": 1}).round(4)
    array([0.1111, 0.8889])
    """

    def __init__(self, rows: int = 1000) -> None:
        self.rows = rows

    def compile(self, tables: LogTables, target: str | None = None) -> EinsumNetwork:
        """Compile the network `tables`, with or without a class."""
        check_numbers(self, "rows", positive=True)
        if len(tables.names) >= _LETTERS:
            raise ValueError(
                f"my-engine answers about networks of at most {_LETTERS - 1} variables, and this one has "
                f"{len(tables.names)}; use engine='elimination'"
            )
        return EinsumNetwork(tables, target, self.rows)


class EinsumNetwork(CompiledNetwork):
    """A network as the factors of its joint distribution.

    Variables are numbers, positions in ``tables.names``, and so is one axis more: that of the rows.
    """

    def __init__(self, tables: LogTables, target: str | None, rows: int) -> None:
        self.names, self.rows = tables.names, rows
        # The axes of a log joint: the rows, and the class if the network has one.
        self.target = [] if target is None else [tables.names.index(target)]
        self.axes = [[self.names.index(u) for u in (name, *tables[name].parents)] for name in self.names]
        # Parameters need not be probabilities: the largest of a table becomes 1, and `scale` remembers the difference.
        largest = [max(float(tables[name].values.max()), -1e300) for name in self.names]
        self.scale = sum(largest)
        self.factors = [np.exp(tables[name].values - top) for name, top in zip(self.names, largest, strict=True)]

    def log_joint(
        self, codes: CodeArray, shares: FloatArray | None = None, complete: bool = False, *, n_jobs: int | None = None
    ) -> FloatArray:
        """Return log P(c, known cells of row m), of shape (rows, classes); without a class, one column."""
        self.refuse_shares(shares)
        parts = [codes[:, start : start + self.rows] for start in range(0, codes.shape[1], self.rows)]
        with np.errstate(divide="ignore"):
            joint: FloatArray = np.log(np.concatenate([self._joint(part) for part in parts])) + self.scale
        return joint.reshape(codes.shape[1], -1)

    def query(self, variables: Sequence[str], evidence: Mapping[str, Any]) -> FloatArray:
        """Return P(variables | evidence), one axis for each of `variables`."""
        known: list[Any] = []
        for name, given in evidence.items():
            v = self.names.index(name)
            likelihood = np.eye(self._card(v))[given] if np.ndim(given) == 0 else np.asarray(given, dtype=np.float64)
            known += [likelihood, [v]]
        answer = self._sum(known, [self.names.index(name) for name in variables])
        if not answer.sum() > 0:
            raise ValueError(f"the evidence {dict(evidence)} is impossible in this network; leave some of it out")
        normalized: FloatArray = answer / answer.sum()
        return normalized

    def expected_counts(self, codes: CodeArray, weights: FloatArray) -> list[FloatArray]:
        """Return for each family the sum over rows m and classes c of ``weights[m, c] P(cell | c, row m)``."""
        counts = [np.zeros(factor.shape) for factor in self.factors]
        for start in range(0, codes.shape[1], self.rows):
            part = codes[:, start : start + self.rows]
            joint = self._joint(part)
            of_part = weights[start : start + self.rows].reshape(joint.shape)
            share = np.divide(of_part, joint, out=np.zeros(joint.shape), where=joint > 0)
            known = [*self._known(part), share, [len(self.names), *self.target]]
            for total, axes in zip(counts, self.axes, strict=True):
                total += self._sum(known, axes)
        return counts

    def _joint(self, codes: CodeArray) -> FloatArray:
        """Return P(c, known cells of row m), one axis for the rows and one for the classes, up to a factor."""
        return self._sum(self._known(codes), [len(self.names), *self.target])

    def _known(self, codes: CodeArray) -> list[Any]:
        """Return what rows know, with its axes: for each feature and row the states that it may be in."""
        known: list[Any] = []
        for v, column in enumerate(codes):
            if v not in self.target:
                possible = (column[:, None] == np.arange(self._card(v))) | (column == np.iinfo(column.dtype).max)[
                    :, None
                ]
                known += [possible.astype(np.float64), [len(self.names), v]]
        # A class that no row knows anything about needs the axis of the rows all the same.
        return [*known, np.ones(codes.shape[1]), [len(self.names)]]

    def _sum(self, known: list[Any], axes: list[int]) -> FloatArray:
        """Return the product of all factors with what is known, summed over all axes but the given ones."""
        factors = [part for pair in zip(self.factors, self.axes, strict=True) for part in pair]
        summed: FloatArray = np.einsum(*factors, *known, axes, optimize="greedy")
        return summed

    def _card(self, v: int) -> int:
        return int(self.factors[v].shape[0])
