"""All cliques at once: messages up and down again, so that every table sees what all others say of its variables.

The way up sums variables out, always the one with the smallest clique. On the way down each clique is told what the
rest of the network says of the variables that they share. Summing gives marginals, taking the largest max-marginals
(Shafer and Shenoy 1990). What one factor says is taken out by subtraction, or left out where it has zeros: that is
exact for zeros too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np

from bnplug.arrays import FloatArray
from bnplug.inference._factors import Factor, Factors, Reduce, product
from bnplug.inference.queries import instantiated
from bnplug.model.log_tables import LogTables


class Bucket(NamedTuple):
    """A variable that is summed out, its clique, and the factors in it by their numbers."""

    variable: str
    clique: tuple[str, ...]
    parts: dict[int, Factor]


class Calibrated:
    """A product of factors with every variable of it summed out, up and down.

    Parameters
    ----------
    tables : LogTables
        What says how many states variables have.
    factors : sequence of Factor
    reduce : callable
        How a variable is summed out.
    max_clique_size : int
        The number of cells that the largest table may have.

    Attributes
    ----------
    total : float
        The logarithm of the sum over all variables.
    """

    def __init__(self, tables: LogTables, factors: Sequence[Factor], reduce: Reduce, max_clique_size: int) -> None:
        self._factors, self._reduce = factors, reduce
        self._buckets: list[Bucket] = []
        self._homes: dict[int, int] = {}
        self._sent: list[int] = []
        left = Factors(tables, factors, set(), max_clique_size, reduce)
        while left.hidden:
            v, clique = left.cheapest()
            self._homes |= dict.fromkeys(left.hidden[v], len(self._buckets))
            self._buckets.append(Bucket(v, clique, {number: left.by_number[number] for number in left.hidden[v]}))
            left.sum_out(v, clique)
            self._sent.append(next(reversed(left.by_number)))
        self._constants = {number: float(values) for number, (_, values) in left.by_number.items()}
        self.total = sum(self._constants.values())

    @cached_property
    def _down(self) -> list[Factor]:
        """What the rest of the network says of what each clique shares with it."""
        down: list[Factor] = [((), np.zeros(()))] * len(self._buckets)
        for k in range(len(self._buckets) - 1, -1, -1):
            bucket, sent = self._buckets[k], self._sent[k]
            rest = tuple(u for u in bucket.clique if u != bucket.variable)
            down[k] = rest, self._without(sent, rest, down)
        return down

    def _without(self, number: int, scope: tuple[str, ...], down: Sequence[Factor]) -> FloatArray:
        """Return what all other factors say of the variables of one, with the axes of `scope`."""
        if number in self._constants:
            return np.asarray(sum(value for other, value in self._constants.items() if other != number))
        k = self._homes[number]
        parts = self._buckets[k].parts
        own = product([parts[number]], scope)
        if np.isfinite(own).all():
            return np.asarray(self._reduced(k, [*parts.values(), down[k]], scope) - own)
        return self._reduced(k, [*(part for other, part in parts.items() if other != number), down[k]], scope)

    def _reduced(self, k: int, parts: Sequence[Factor], scope: tuple[str, ...]) -> FloatArray:
        clique = self._buckets[k].clique
        # In this order, so that what is taken out comes last.
        axes = (*scope, *(u for u in clique if u not in scope))
        whole = product(parts, axes)
        for axis in range(len(axes) - 1, len(scope) - 1, -1):
            whole = self._reduce(whole, axis)
        return whole

    def outside(self, number: int) -> FloatArray:
        """Return what all factors but one say of its variables: the derivative of the sum by its entries, as a log."""
        return self._without(number, self._factors[number][0], self._down)

    def marginals(self) -> dict[str, FloatArray]:
        """Return for each variable the logarithm of the sum over all others."""
        return {
            bucket.variable: self._reduced(k, [*bucket.parts.values(), self._down[k]], (bucket.variable,))
            for k, bucket in enumerate(self._buckets)
        }


def evidence_factors(
    tables: LogTables, names: Sequence[str], known: Mapping[str, int], soft: Mapping[str, FloatArray]
) -> list[Factor]:
    """Return the tables of `names`, with what is known filled in, and behind them the likelihoods."""
    factors = [instantiated(tables, name, known) for name in names]
    for name, likelihood in soft.items():
        factors.append(((), np.asarray(likelihood[known[name]])) if name in known else ((name,), likelihood))
    return factors
