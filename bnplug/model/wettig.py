"""Wettig's normalization of log parameters (Peharz et al. 2013, Algorithm 1)."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from graphlib import TopologicalSorter
from typing import TypeVar

import numpy as np

from bnplug.model.log_tables import LogTables
from bnplug.structure import covering_parents, markov_blanket
from bnplug.typing import FloatArray

_Node = TypeVar("_Node", bound=Hashable)


def normalize(tables: LogTables, target: str) -> LogTables:
    """Return normalized tables with the same posterior of the class for all values of the features.

    From children to parents, each column is divided by its sum. The sum of a class child moves to the entries of its
    covering parent's table that agree with the column. The sums of the class, and of nodes whose terms are the same for
    all classes, drop out of the posterior.

    The likelihood of complete rows does not fall if no column sums to more than one, nor does any weighted sum of the
    parameters whose weights are consistent counts (Lemma 1): those of every class child, summed over its states, equal
    those of its covering parent's table, summed over the other parents of that parent. It can fall if tables were
    counted on different rows.

    A structure that is not C1 is a ``NotRepresentableError`` that names the node. A column of a class child that is
    ``-inf`` throughout becomes uniform, and what it made impossible stays so, unless no class would be possible: for
    values of the class parents under which no row has a posterior. Normalized tables come back equal, up to rounding.

    References
    ----------
    Wettig, Grünwald, Roos, Myllymäki, Tirri: When discriminative learning of Bayesian network parameters is easy
    (2003). Peharz, Tschiatschek, Pernkopf: The most generative maximum margin Bayesian networks (2013).

    Examples
    --------
    Weights 3 : 1 and 1 : 1 of x leave sums of 4 and 2, which are the odds of the class:

    >>> tables = LogTables(
    ...     ["c", "x"], {"c": ["n", "y"], "x": [0, 1]},
    ...     {"c": ((), np.log([1, 1])), "x": (("c",), np.log([[3, 1], [1, 1]]))})
    >>> network = normalize(tables, "c")
    >>> for name in "cx":
    ...     print(name, np.exp(network.tables[name].values).round(3).tolist())
    c [0.667, 0.333]
    x [[0.75, 0.5], [0.25, 0.5]]
    """
    return _Normalization(tables, target).tables


class _Normalization:
    """The normalized tables of :func:`normalize`, and the chain rule to the original ones."""

    def __init__(self, tables: LogTables, target: str) -> None:
        parents = tables.parents
        self._covers = covering_parents(parents, target)
        self._order = [*TopologicalSorter(parents).static_order()]
        values = {name: table.values for name, table in tables.tables.items()}
        for node in reversed(self._order):
            values[node], sums = _normalize_columns(values[node])
            if node in self._covers:
                cover = self._covers[node]
                values[cover] = values[cover] + _align(sums, parents[node], (cover, *parents[cover]))
        self.tables = tables._with_arrays(values)

    def chain(self, derivatives: Mapping[str, FloatArray]) -> dict[str, FloatArray]:
        """Return the derivatives by the original tables from those by the normalized ones, by node."""
        parents = self.tables.parents
        result: dict[str, FloatArray] = {}
        # A column gets back what it gave to its covering parent, which comes first, by the share of each entry.
        for node in self._order:
            given = derivatives[node].sum(axis=0)
            if node in self._covers:
                cover = self._covers[node]
                given = given - _gather(result[cover], (cover, *parents[cover]), parents[node])
            result[node] = derivatives[node] - np.exp(self.tables[node].values) * given
        return result


def _normalize_columns(values: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return normalized columns, uniform ones where all entries are ``-inf``, and the log of their former sums."""
    # The largest entry is subtracted first, apart from the rest: columns of large numbers then sum to one as exactly.
    largest = values.max(axis=0)
    empty = np.isneginf(largest)
    shifted = np.where(empty, 0.0, values - np.where(empty, 0.0, largest))
    rest = np.log(np.exp(shifted).sum(axis=0))
    return shifted - rest, largest + rest


def _align(values: FloatArray, axes: Sequence[_Node], family: Sequence[_Node]) -> FloatArray:
    """Return `values` with its axes in the order of `family`, of length 1 for variables it does not have."""
    ordered = values.transpose([axes.index(variable) for variable in family if variable in axes])
    return ordered[tuple(slice(None) if variable in axes else None for variable in family)]


def _log_sum(values: FloatArray, axis: int | tuple[int, ...]) -> FloatArray:
    """Return the logarithm of the sum of exponentials along axes; scipy's takes longer than a small table."""
    largest = values.max(axis=axis, keepdims=True)
    largest[np.isneginf(largest)] = 0.0
    with np.errstate(divide="ignore", under="ignore"):
        sums = np.log(np.exp(values - largest).sum(axis=axis))
    return np.asarray(sums + largest.squeeze(axis))


def _gather(array: FloatArray, family: Sequence[str], axes: Sequence[str]) -> FloatArray:
    """Return the sums of `array` over the variables not in `axes`: the transpose of :func:`_align`."""
    absent = tuple(axis for axis, variable in enumerate(family) if variable not in axes)
    present = [variable for variable in family if variable in axes]
    summed: FloatArray = array.sum(axis=absent).transpose([present.index(variable) for variable in axes])
    return summed


def blanket_of(tables: LogTables) -> list[str]:
    """Return the Markov blanket of the class without features that have a single state; they determine nothing."""
    if tables.target is None:
        return []
    varying = {name for name, labels in tables.states.items() if len(labels) > 1 or name == tables.target}
    parents = {v: varying & set(family) for v, family in tables.parents.items() if v in varying}
    return markov_blanket(parents, tables.target)
