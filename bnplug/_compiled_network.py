"""Compiled networks, which engines return; plugins import these from `bnplug` and :mod:`bnplug.contracts`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from bnplug.typing import CodeArray, FloatArray

#: Returns weights of rows, of the shape (rows, classes), from their log joint, and the slice that says which they are.
Weigh = Callable[[FloatArray, slice], FloatArray]


class CompiledNetwork(ABC):
    """A compiled network, which returns probabilities given evidence.

    Subclasses implement :meth:`log_joint` and :meth:`query`. A subclass that also has `expected_counts` is a
    :class:`CountingNetwork`, and EM uses it. Codes are an unsigned array of shape (variables, rows), variables in the
    order of ``tables.names``; the largest value of its type means missing.
    """

    @abstractmethod
    def log_joint(
        self, codes: CodeArray, shares: FloatArray | None = None, complete: bool = False, *, n_jobs: int | None = None
    ) -> FloatArray:
        """Return L[m, c] = log P(c, known cells of row m), of shape (rows, classes).

        The class is not read from `codes`. A row that is impossible under every class is all ``-inf``.

        Parameters
        ----------
        codes : unsigned array of shape (variables, rows)
        shares : float64 array, optional
            Positions of the values of interpolated features between two states, as in ``Table.shares``. Engines without
            support for them call :meth:`refuse_shares`.
        complete : bool
            Whether to return the full log joint. By default, factors that are the same for all classes of a row may be
            omitted. If the tables do not sum to one, the full log joint is the logarithm of the sum of their products.
        n_jobs : int, optional
            Threads, as joblib counts them. The result does not depend on it.
        """

    @abstractmethod
    def query(self, variables: Sequence[str], evidence: Mapping[str, int | npt.ArrayLike]) -> FloatArray:
        """Return P(variables | evidence), one axis for each of `variables`.

        Evidence is the code of a state, or a likelihood for each state of the variable (soft evidence).
        """

    def log_probability(self, evidence: Mapping[str, int | npt.ArrayLike]) -> float:
        """Return log P(evidence), ``-inf`` if it is impossible; evidence is as for :meth:`query`.

        If the tables do not sum to one, the result is relative to no evidence. The probability of soft evidence is its
        mean likelihood. This default multiplies answers of :meth:`query`, one for each finding; a finding whose
        probability is below the range of floats counts as impossible. Engines that compute with logarithms should
        override it.
        """
        total = 0.0
        before: dict[str, int | npt.ArrayLike] = {}
        for name, finding in evidence.items():
            posterior, weights = self.query([name], before), np.asarray(finding)
            share = float(posterior[weights] if weights.ndim == 0 else posterior @ weights)
            if share == 0:
                return -np.inf
            total += float(np.log(share))
            before[name] = finding
        return total

    def expectation(self, codes: CodeArray, weigh: Weigh, n_jobs: int | None = None) -> list[FloatArray]:
        """Return the expected counts of rows whose weights depend on their full log joint, as in a step of EM.

        ``weigh(joint, rows)`` gets the full log joint of the rows of a slice, and returns their weights, of the same
        shape. Each row is passed once, in any order and thread. This default needs a :class:`CountingNetwork`. Engines
        may override it to pass through the rows once, as `elimination` does.
        """
        if not isinstance(self, CountingNetwork):
            raise NotImplementedError(f"{type(self).__name__} has no expected_counts; use engine='elimination'")
        joint = self.log_joint(codes, complete=True, n_jobs=n_jobs)
        return self.expected_counts(codes, weigh(joint, slice(0, len(joint))))

    @staticmethod
    def refuse_shares(shares: object) -> None:
        """Raise a ``ValueError`` if `shares` are given; for engines that do not support interpolated features."""
        if shares is not None:
            raise ValueError("interpolated features are not supported by this engine")


@runtime_checkable
class CountingNetwork(Protocol):
    """A :class:`CompiledNetwork` with expected counts, which EM uses; without them, EM uses `elimination`.

    This is a protocol: a compiled network with this method need not derive from it.

    Examples
    --------
    >>> from bnplug import LogTables, engine
    >>> tables = LogTables(["c"], {"c": ["n", "p"]}, {"c": ((), np.log([0.2, 0.8]))})
    >>> isinstance(engine("elimination").compile(tables, "c"), CountingNetwork)
    True
    """

    def expected_counts(self, codes: CodeArray, weights: FloatArray) -> list[FloatArray]:
        """Return for each family the sum over rows m and classes c of ``weights[m, c] P(cell | c, row m)``.

        The arrays have the shapes of the tables, and the order of ``tables.names``. The class is not read from `codes`.
        Weights may be negative, and a class that is impossible for a row adds nothing.
        """
