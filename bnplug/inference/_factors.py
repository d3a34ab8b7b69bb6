"""Factors of a product, and variables summed out of it one by one: always the one with the smallest clique."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import numpy as np

from bnplug.arrays import CodeArray, FloatArray
from bnplug.inference._cliques import MAX_CLIQUE_SIZE, MoralGraph
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
    mentions: dict[str, list[tuple[str, ...]]] = {}
    for scope, _ in factors:
        for u in scope:
            mentions.setdefault(u, []).append(scope)
    reached, pending = {name}, [name]
    while pending:
        new = {u for scope in mentions.get(pending.pop(), ()) for u in scope} - reached
        reached |= new
        pending += new
    return [(scope, values) for scope, values in factors if not reached.isdisjoint(scope)]


class Factors:
    """The factors that are left, and which of them mention each variable that is to be summed out.

    The order of elimination is found first, from the scopes alone, so a clique that is too large is refused before any
    table is computed.

    Parameters
    ----------
    tables : LogTables
    factors : sequence of Factor
    kept : set of str
        The variables that are not summed out.
    max_clique_size : int
        The number of cells that the largest table may have.
    reduce : callable
        How a variable is summed out.

    Attributes
    ----------
    by_number : dict of int to Factor
    hidden : dict of str to list of int
        For each variable that is yet to be summed out, the numbers of its factors, ascending. For the cheapest
        variable the list is up to date; for others, it may include factors that were summed out since.

    Raises
    ------
    ValueError
        If a clique is too large; the message names its variables.
    """

    def __init__(
        self,
        tables: LogTables,
        factors: Sequence[Factor],
        kept: set[str],
        max_clique_size: float = MAX_CLIQUE_SIZE,
        reduce: Reduce = log_sum,
    ) -> None:
        self._order = iter(MoralGraph(tables, (scope for scope, _ in factors), kept).take_all(max_clique_size))
        self._reduce = reduce
        self.by_number = dict(enumerate(factors))
        self._next = len(factors)
        self.hidden: dict[str, list[int]] = {}
        for number, (scope, _) in self.by_number.items():
            for v in scope:
                if v not in kept:
                    self.hidden.setdefault(v, []).append(number)

    def cheapest(self) -> tuple[str, tuple[str, ...]]:
        """Return the variable with the smallest clique, the first of equal ones, and that clique."""
        v = next(self._order)
        self.hidden[v] = [number for number in self.hidden[v] if number in self.by_number]
        return v, tuple(dict.fromkeys(u for number in self.hidden[v] for u in self.by_number[number][0]))

    def sum_out(self, v: str, clique: tuple[str, ...]) -> None:
        """Replace the factors of a variable by their product, summed over it."""
        whole = product([self.by_number.pop(number) for number in self.hidden.pop(v)], clique)
        rest = tuple(u for u in clique if u != v)
        self.by_number[self._next] = rest, self._reduce(whole, clique.index(v))
        for u in rest:
            if u in self.hidden:
                self.hidden[u].append(self._next)
        self._next += 1


def product(factors: Sequence[Factor], scope: tuple[str, ...]) -> FloatArray:
    """Return the sum of logarithmic factors, with the axes of `scope`, which holds all of theirs."""
    total = np.zeros(())
    for own, values in factors:
        ordered = values.transpose([own.index(v) for v in scope if v in own])
        total = total + ordered[tuple(slice(None) if v in own else None for v in scope)]
    return total
