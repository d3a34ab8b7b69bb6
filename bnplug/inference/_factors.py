"""Factors of a product, and variables summed out of it one by one: always the one with the smallest clique."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import numpy as np

from bnplug.arrays import CodeArray, FloatArray
from bnplug.inference._cliques import n_cells
from bnplug.model.log_tables import LogTables

#: A scope and the logarithms over it, an axis for each of its variables.
Factor = tuple[tuple[str, ...], FloatArray]

#: What takes an axis out of logarithms: a sum, or the largest.
Reduce = Callable[[FloatArray, int], FloatArray]


def log_sum(values: FloatArray, axis: int) -> FloatArray:
    """Return the logarithm of the sum of exponentials along an axis; scipy's takes longer than a small table."""
    largest = values.max(axis=axis, keepdims=True)
    largest[np.isneginf(largest)] = 0.0
    with np.errstate(divide="ignore", under="ignore"):
        sums = np.log(np.exp(values - largest).sum(axis=axis))
    return np.asarray(sums + largest.squeeze(axis))


def known_states(tables: LogTables, target: str, row: CodeArray) -> dict[str, int]:
    """Return the features that a row knows, by name, and their states."""
    missing = np.iinfo(row.dtype).max
    return {u: int(code) for u, code in zip(tables.names, row, strict=True) if u != target and code != missing}


@contextmanager
def naming_row(m: int) -> Iterator[None]:
    """Say in a ``ValueError`` which row it is about."""
    try:
        yield
    except ValueError as error:
        raise ValueError(f"row {m}: {error}") from None


def connected(factors: Sequence[Factor], name: str) -> list[Factor]:
    """Return the factors that a variable is in, those that share a variable with them, and so on."""
    found, before = {name}, 0
    while len(found) > before:
        before = len(found)
        found |= {u for scope, _ in factors if found & {*scope} for u in scope}
    return [(scope, values) for scope, values in factors if found & {*scope}]


class Factors:
    """The factors that are left, and which of them mention each variable that is to be summed out.

    A variable's clique changes only when a neighbour is summed out: a chain costs a step for each of its nodes.

    Parameters
    ----------
    tables : LogTables
    factors : sequence of Factor
    kept : set of str
        The variables that are not summed out.
    reduce : callable
        How a variable is summed out.

    Attributes
    ----------
    by_number : dict of int to Factor
    hidden : dict of str to list of int
        For each variable that is yet to be summed out, its factors in ascending order.
    """

    def __init__(self, tables: LogTables, factors: Sequence[Factor], kept: set[str], reduce: Reduce = log_sum) -> None:
        self._tables = tables
        self._reduce = reduce
        self._rank = {name: rank for rank, name in enumerate(tables.names)}
        self.by_number = dict(enumerate(factors))
        self._next = len(factors)
        self.hidden: dict[str, list[int]] = {}
        for number, (scope, _) in self.by_number.items():
            for v in scope:
                if v not in kept:
                    self.hidden.setdefault(v, []).append(number)
        # Entries of the heap whose size is not the variable's own any more are passed over.
        self._size: dict[str, int] = {}
        self._heap: list[tuple[int, int, str]] = []
        for v in self.hidden:
            self._push(v)

    def _push(self, v: str) -> None:
        self._size[v] = size = n_cells(self._tables, self._clique(v))
        heapq.heappush(self._heap, (size, self._rank[v], v))

    def _clique(self, v: str) -> tuple[str, ...]:
        return tuple(dict.fromkeys(u for number in self.hidden[v] for u in self.by_number[number][0]))

    def cheapest(self) -> tuple[str, tuple[str, ...]]:
        """Return the variable with the smallest clique, the first of equal ones, and that clique."""
        while True:
            size, _, v = heapq.heappop(self._heap)
            if v in self.hidden and self._size[v] == size:
                return v, self._clique(v)

    def sum_out(self, v: str, clique: tuple[str, ...]) -> None:
        """Replace the factors of a variable by their product, summed over it."""
        whole = product([self.by_number.pop(number) for number in self.hidden.pop(v)], clique)
        rest = tuple(u for u in clique if u != v)
        self.by_number[self._next] = rest, self._reduce(whole, clique.index(v))
        for u in rest:
            if u in self.hidden:
                self.hidden[u] = [number for number in self.hidden[u] if number in self.by_number] + [self._next]
        self._next += 1
        for u in rest:
            if u in self.hidden:
                self._push(u)


def product(factors: Sequence[Factor], scope: tuple[str, ...]) -> FloatArray:
    """Return the sum of logarithmic factors, with the axes of `scope`, which holds all of theirs."""
    total = np.zeros(())
    for own, values in factors:
        ordered = values.transpose([own.index(v) for v in scope if v in own])
        total = total + ordered[tuple(slice(None) if v in own else None for v in scope)]
    return total
