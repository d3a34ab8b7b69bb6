"""The most probable explanation: the best joint state of all unknown variables given the evidence.

Elimination with the maximum in place of the sum (Dechter 1999), in a calibrated clique tree: messages go up and down
again, until every clique has the marginals, or max-marginals, of its variables (Shafer and Shenoy 1990). Joint states
whose log probabilities are within `TIE` of the largest are tied, and the first is taken: the lowest state of the first
variable, then of the second.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from bnplug.inference._cliques import MAX_CLIQUE_SIZE, Factor, Factors, Reduce, product
from bnplug.inference.complete import TIE
from bnplug.inference.queries import _evidence_factors, impossible, split_evidence
from bnplug.model.log_tables import LogTables
from bnplug.typing import FloatArray


class _Bucket(NamedTuple):
    """A variable that is summed out, its clique, the factors in it by number, and the number of its message."""

    variable: str
    clique: tuple[str, ...]
    parts: dict[int, Factor]
    sent: int


class _Calibrated:
    """A calibrated clique tree of factors, which `reduce` sums or maximizes; `total` is the log over all variables."""

    def __init__(self, tables: LogTables, factors: Sequence[Factor], reduce: Reduce, max_clique_size: int) -> None:
        self._factors, self._reduce = factors, reduce
        self._buckets: list[_Bucket] = []
        self._homes: dict[int, int] = {}
        left = Factors(tables, factors, set(), max_clique_size, reduce)
        while left.hidden:
            v, clique = left.cheapest()
            parts = {number: left.by_number[number] for number in left.hidden[v]}
            self._homes |= dict.fromkeys(parts, len(self._buckets))
            left.sum_out(v, clique)
            self._buckets.append(_Bucket(v, clique, parts, next(reversed(left.by_number))))
        self._constants = {number: float(values) for number, (_, values) in left.by_number.items()}
        self.total = sum(self._constants.values())

    @cached_property
    def _down(self) -> list[Factor]:
        """The message from the rest of the network to each clique."""
        down: list[Factor] = [((), np.zeros(()))] * len(self._buckets)
        for k, bucket in reversed([*enumerate(self._buckets)]):
            rest = tuple(u for u in bucket.clique if u != bucket.variable)
            down[k] = rest, self._without(bucket.sent, rest, down)
        return down

    def _without(self, number: int, scope: tuple[str, ...], down: Sequence[Factor]) -> FloatArray:
        """Return the product of all other factors, reduced to the variables of one, with the axes of `scope`."""
        if number in self._constants:
            return np.asarray(sum(value for other, value in self._constants.items() if other != number))
        k = self._homes[number]
        parts = self._buckets[k].parts
        part = product([parts[number]], scope)
        # A factor is removed from the product by subtraction, or left out if it has zeros.
        if np.isfinite(part).all():
            return np.asarray(self._reduced(k, [*parts.values(), down[k]], scope) - part)
        return self._reduced(k, [*(parts[other] for other in parts if other != number), down[k]], scope)

    def _reduced(self, k: int, parts: Sequence[Factor], scope: tuple[str, ...]) -> FloatArray:
        # The axes to be reduced come last.
        axes = (*scope, *(u for u in self._buckets[k].clique if u not in scope))
        whole = product(parts, axes)
        for axis in range(len(axes) - 1, len(scope) - 1, -1):
            whole = self._reduce(whole, axis)
        return whole

    def outside(self, number: int) -> FloatArray:
        """Return the log of the derivative of the sum by the entries of one factor."""
        return self._without(number, self._factors[number][0], self._down)

    def marginals(self) -> dict[str, FloatArray]:
        """Return for each variable the logarithm of the sum over all others."""
        return {
            bucket.variable: self._reduced(k, [*bucket.parts.values(), self._down[k]], (bucket.variable,))
            for k, bucket in enumerate(self._buckets)
        }


def most_probable(
    tables: LogTables, evidence: Mapping[str, int | npt.ArrayLike] | None = None, max_clique_size: int = MAX_CLIQUE_SIZE
) -> dict[str, int]:
    """Return the jointly most probable states of all unknown variables, as positions, in the order of ``tables.names``.

    A variable with soft evidence is unknown. Parameters are as in :func:`bnplug.inference.queries.query`.

    Examples
    --------
    >>> tables = LogTables(
    ...     ["c", "x"], {"c": ["n", "p"], "x": [0, 1]},
    ...     {"c": ((), np.log([0.6, 0.4])), "x": (("c",), np.log([[0.5, 0.1], [0.5, 0.9]]))})
    >>> most_probable(tables), most_probable(tables, {"c": 0})
    ({'c': 1, 'x': 1}, {'x': 0})
    """
    known, soft = split_evidence(tables, evidence)
    states: dict[str, int] = {}
    largest = None
    while len(known) + len(states) < len(tables.names):
        factors = _evidence_factors(tables, tables.names, {**known, **states}, soft)
        calibrated = _Calibrated(tables, factors, np.max, max_clique_size)
        if largest is None:
            largest = calibrated.total
            if np.isneginf(largest):
                raise impossible(evidence)
        states |= _decided(tables, calibrated.marginals(), largest)
    return {name: states[name] for name in tables.names if name in states}


def _decided(tables: LogTables, maxima: Mapping[str, FloatArray], largest: float) -> dict[str, int]:
    """Return the states shared by all tied joint states, and the lowest state of the first variable that differs."""
    decided, open_yet = {}, True
    for name in tables.names:
        if name in maxima:
            tied = np.flatnonzero(maxima[name] >= largest - TIE)
            if len(tied) == 1 or open_yet:
                decided[name] = int(tied[0])
            open_yet &= len(tied) == 1
    return decided
