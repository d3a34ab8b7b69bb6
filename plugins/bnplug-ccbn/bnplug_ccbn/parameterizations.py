"""The three ways to write log parameters as free numbers (Zaidi et al. 2017, sections 3 to 5).

Each turns a vector of free numbers into the flat values of the terms, and a gradient by those values into one by
the free numbers.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from bnplug.counts.counting import count
from bnplug.gradient import Columns
from bnplug.inference.complete import Terms
from bnplug.model.log_tables import LogTables, estimate
from bnplug.table.table import Table
from bnplug.typing import FloatArray, IntArray


class Parameterization(ABC):
    """Log parameters as a function of free numbers."""

    #: Where the free numbers are the generative estimates, and where they are drawn to by ``l2``.
    generative: FloatArray
    center: float = 0.0

    @property
    def scale(self) -> FloatArray | None:
        """The derivative of each log parameter by its free number; None if they are not one to one."""
        return None

    @abstractmethod
    def values(self, free: FloatArray) -> FloatArray:
        """Return the terms' values."""

    @abstractmethod
    def chain(self, gradient: FloatArray, values: FloatArray) -> FloatArray:
        """Return the derivative by the free numbers from that by the terms' values."""


class Free(Parameterization):
    """The log parameters themselves (eq. 8)."""

    def __init__(self, log_theta: FloatArray) -> None:
        self.generative = log_theta

    @property
    def scale(self) -> FloatArray:
        """One, for each."""
        return np.ones_like(self.generative)

    def values(self, free: FloatArray) -> FloatArray:
        """Return them."""
        return free

    def chain(self, gradient: FloatArray, values: FloatArray) -> FloatArray:
        """Return the gradient as it is (eqs. 10, 11)."""
        return gradient


class Softmax(Parameterization):
    """theta = softmax(beta) in each column (eq. 13): always a network."""

    def __init__(self, log_theta: FloatArray, columns: Columns) -> None:
        self.generative = log_theta
        self.columns = columns

    def values(self, free: FloatArray) -> FloatArray:
        """Return log theta."""
        return self.columns.log_softmax(free)

    def chain(self, gradient: FloatArray, values: FloatArray) -> FloatArray:
        """Take off what the column's sum demands (eq. 14)."""
        return self.columns.chain(gradient, values)


@dataclass(frozen=True)
class Weights:
    """Weights of a table of fixed numbers: entry i is ``base[i]`` times weight ``number[i]``."""

    base: FloatArray
    number: IntArray
    size: int


class Rescaled(Parameterization):
    """Weights of fixed log parameters (eq. 16): of one table, or of several that are added up."""

    def __init__(self, weights: list[Weights], center: float) -> None:
        self.weights = weights
        self.center = center
        self.generative = np.ones(sum(table.size for table in weights))

    @property
    def scale(self) -> FloatArray | None:
        """The fixed log parameters, if each has its own weight."""
        table = self.weights[0]
        return table.base if len(self.weights) == 1 and table.size == len(table.base) else None

    def split(self, free: FloatArray) -> Iterator[tuple[Weights, FloatArray]]:
        """Yield each table with its own weights."""
        start = 0
        for table in self.weights:
            yield table, free[start : start + table.size]
            start += table.size

    def values(self, free: FloatArray) -> FloatArray:
        """Return the sum of the weighted tables."""
        result = np.zeros(len(self.weights[0].base))
        for table, weights in self.split(free):
            result += table.base * weights[table.number]
        return result

    def chain(self, gradient: FloatArray, values: FloatArray) -> FloatArray:
        """Add up the gradient of the entries that a weight belongs to, each times its fixed number (eqs. 17 to 21)."""
        return np.concatenate(
            [np.bincount(table.number, gradient * table.base, minlength=table.size) for table in self.weights]
        )


@dataclass(frozen=True)
class Entries:
    """The layout of the terms' values: for each entry its term, and the states of the term's node and of the class."""

    term: IntArray
    value: IntArray
    label: IntArray
    n_classes: int

    @classmethod
    def of(cls, terms: Terms, table: Table) -> Entries:
        """Return the layout of `terms`, which come from tables over the variables of `table`."""
        sizes = np.diff([*terms.starts, terms.values.size])
        term = np.repeat(np.arange(len(sizes)), sizes)
        label = np.concatenate([np.arange(size) % terms.n_classes for size in sizes])
        value = np.concatenate(
            [
                # The states of a feature are the slowest axis of its term, those of the class the fastest.
                np.zeros(size, dtype=np.int64)
                if node == table.target_index
                else np.arange(size) // (size // int(table.cards[node]))
                for node, size in zip(terms.nodes, sizes, strict=True)
            ]
        )
        return cls(term, value, label, terms.n_classes)

    def number(self, level: int) -> tuple[IntArray, int]:
        """Number the weights: which one each entry has, and how many there are.

        They are one for each attribute (level 1), for each value (2), for each value and class (3), and for each
        value, class and parent value (4). The class has a single one at levels 1 and 2, one for each of its
        states at 3, and for each of its states and parent values at 4.
        """
        if level == 4:
            return np.arange(len(self.term)), len(self.term)
        keys = self.term
        if level >= 2:
            keys = keys * (self.value.max() + 1) + self.value
        if level == 3:
            keys = keys * self.n_classes + self.label
        occurring, number = np.unique(keys, return_inverse=True)
        return number, len(occurring)


def weighted(generative: Terms, table: Table, level: int, center: float) -> Rescaled:
    """Return weights of the generative estimates at a level of nesting (section 5.4)."""
    return Rescaled([Weights(generative.values, *Entries.of(generative, table).number(level))], center)


def backing_off(
    generative: Terms, tables: LogTables, table: Table, level: int, center: float, alpha: float, floor: float
) -> Rescaled:
    """Return weights that back off where a value and parent value never occur together in `table`.

    There, log P(value | class) takes the place of log P(value | class, parent value). At level 4 the table
    is w3 log P(value | class) + w4 (log P(value | class, parent value) - log P(value | class)), the second part only
    for pairs that occur: with weights of one the generative estimates again, and where a pair is unseen, a weight for
    the value and class that all pairs of this value have trained.
    """
    entries = Entries.of(generative, table)
    alone, seen = _without_parents(generative, tables, table, alpha, floor)
    if level < 4:
        return Rescaled([Weights(np.where(seen, generative.values, alone), *entries.number(level))], center)
    further = np.where(seen, generative.values - alone, 0.0)
    return Rescaled([Weights(further, *entries.number(4)), Weights(alone, *entries.number(3))], center)


def _without_parents(
    generative: Terms, tables: LogTables, table: Table, alpha: float, floor: float
) -> tuple[FloatArray, np.ndarray]:
    """Return log P(value | class) for every entry, and whether the value occurs with the entry's parent value."""
    alone, seen = [], []
    c = table.target_index
    for node in generative.nodes:
        name = tables.names[node]
        parents = [table.index(parent) for parent in tables.tables[name].parents]
        family = (node, *parents)
        counts = count(table, node, parents)
        kept = tuple(axis for axis, v in enumerate(family) if v not in (node, c))
        narrow = estimate(counts.sum(axis=kept), alpha, floor)
        wide = np.broadcast_to(np.expand_dims(narrow, kept), counts.shape)
        occurs = np.broadcast_to(counts.sum(axis=family.index(c), keepdims=True) > 0, counts.shape)
        alone.append(np.moveaxis(wide, family.index(c), -1).ravel())
        seen.append(np.moveaxis(occurs, family.index(c), -1).ravel())
    return np.concatenate(alone), np.concatenate(seen)
