"""The C1 test, and Wettig's normalisation of log parameters (Peharz et al. 2013, Algorithm 1).

On a C1 structure any log parameters, normalised or not, have a Bayesian network with the same posterior
of the class; on any other structure some have none. Structures come as a mapping from each node to its
parents: ``tables.parents``, a DAG's ``dag.pred``, or ``dict(enumerate(parents))`` for numbers.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence
from graphlib import TopologicalSorter
from itertools import combinations
from typing import TypeVar

import numpy as np

from bnplug.arrays import FloatArray
from bnplug.errors import NotRepresentableError, did_you_mean
from bnplug.model.log_tables import LogTables

_Node = TypeVar("_Node", bound=Hashable)
_Parents = Mapping[_Node, Collection[_Node]]


def is_c1(parents: _Parents[_Node], target: _Node) -> bool:
    """Return whether every class child has a covering parent (Condition 1 of Peharz et al. 2013).

    The same as: the parents of every class child are pairwise adjacent, pairs of class parents excepted.

    Parameters
    ----------
    parents : mapping of node to its parents
        For every node of an acyclic graph.
    target : node
        The class.

    Examples
    --------
    Two feature parents must be adjacent, unless both are parents of the class:

    >>> is_c1({"c": [], "a": ["c"], "b": ["c"], "x": ["a", "b", "c"]}, "c")
    False
    >>> is_c1({"c": [], "a": ["c"], "b": ["a", "c"], "x": ["a", "b", "c"]}, "c")
    True
    >>> is_c1({"a": [], "b": [], "c": ["a", "b"], "x": ["a", "b", "c"]}, "c")
    True
    """
    return violation(parents, target) is None


def violation(parents: _Parents[_Node], target: _Node) -> tuple[_Node, tuple[_Node, _Node]] | None:
    """Return the first class child without a covering parent and two of its parents that are the reason.

    The two are not adjacent, and not both parents of the class.

    Examples
    --------
    >>> violation({"c": [], "a": ["c"], "b": ["c"], "x": ["a", "b", "c"]}, "c")
    ('x', ('a', 'b'))
    """
    if target not in parents:
        hint = did_you_mean(str(target), map(str, parents))
        raise ValueError(f"the class {target!r} is not among the {len(parents)} nodes.{hint}")
    class_parents = set(parents[target])
    for node, own in parents.items():
        if target in own and not _covering(parents, node):
            return node, next(
                (a, b)
                for a, b in combinations(own, 2)
                if a not in parents[b] and b not in parents[a] and not {a, b} <= class_parents
            )
    return None


def covering_parents(parents: _Parents[_Node], target: _Node) -> dict[_Node, _Node]:
    """Return the covering parent Y of every class child X: Y in Pa(X), and Pa(X) within Pa(Y) + {Y}.

    Raises
    ------
    NotRepresentableError
        If a class child has none; the message names it and two parents that are not adjacent.

    Examples
    --------
    >>> covering_parents({"c": [], "a": ["c"], "b": ["a", "c"], "z": ["b"]}, "c")
    {'a': 'c', 'b': 'a'}
    """
    found = violation(parents, target)
    if found is not None:
        node, (a, b) = found
        raise NotRepresentableError(
            f"the structure is not C1: the class child {node!r} has no covering parent, since its parents "
            f"{a!r} and {b!r} are not adjacent, nor both parents of the class {target!r}. Normalisation "
            "could not keep the posterior of the class; join the two by an edge, or take one of them from "
            f"{node!r}"
        )
    return {node: cover for node, own in parents.items() if target in own for cover in _covering(parents, node)}


def normalize(tables: LogTables, target: str) -> LogTables:
    """Return normalised tables with the same posterior of the class for all values of the features.

    From children to parents, each column gives up its log-sum-exp. That of a class child goes to the
    entries of its covering parent's table that agree with the column; that of the class, and of nodes
    whose terms are the same for all classes, drops out of the posterior.

    The likelihood of complete rows does not fall where no column sums to more than one, nor does any
    weighted sum of the parameters whose weights are consistent counts (Lemma 1): those of every class
    child, summed over its states, equal those of its covering parent's table, summed over the parents
    that the covering parent has on its own. Where tables were counted on different rows, it can fall.

    Parameters
    ----------
    tables : LogTables
        Log parameters on a C1 structure; they are left as they are. A column of a class child that is
        ``-inf`` throughout becomes uniform, and what it made impossible stays so, except where that
        leaves no possible class at all: for values of the class parents under which no row has a posterior.
    target : str
        The class.

    Returns
    -------
    LogTables
        On the same structure; what is normalised already comes back equal, but for rounding.

    Raises
    ------
    NotRepresentableError
        If the structure is not C1, whatever the parameters; the message names the node.

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
    """Normalised tables, as :func:`normalize` returns them, and derivatives by the tables that they come from.

    Parameters
    ----------
    tables, target
        As for :func:`normalize`; what it raises is raised here.

    Attributes
    ----------
    tables : LogTables
        Normalised, with the same posterior of the class.
    """

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
        changed = {name: (parents[name], values[name]) for name in parents}
        self.tables = LogTables(tables.names, tables.states, changed, tables.target)

    def chain(self, derivatives: Mapping[str, FloatArray]) -> dict[str, FloatArray]:
        """Return the derivatives of a number by the tables as they were, from those by the normalised ones.

        Parameters
        ----------
        derivatives : mapping of str to float64 array
            For every node, of the shape of its table.
        """
        parents = self.tables.parents
        result: dict[str, FloatArray] = {}
        # What a column gave to its covering parent, which comes before it, it gets back by the share of each entry.
        for node in self._order:
            given = derivatives[node].sum(axis=0)
            if node in self._covers:
                cover = self._covers[node]
                given = given - _gather(result[cover], (cover, *parents[cover]), parents[node])
            result[node] = derivatives[node] - np.exp(self.tables[node].values) * given
        return result


def _covering(parents: _Parents[_Node], node: _Node) -> list[_Node]:
    """Return the covering parents of `node`: one, of which all its other parents are parents, or none."""
    own = set(parents[node])
    return [parent for parent in own if own <= {parent, *parents[parent]}]


def _normalize_columns(values: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the columns (along the first axis) normalised, and the log of their former sums.

    A column that is ``-inf`` throughout becomes uniform. The largest entry is taken off first and apart
    from the rest of the log-sum-exp, so that columns of large numbers sum to one just as exactly.
    """
    largest = values.max(axis=0)
    empty = np.isneginf(largest)
    shifted = np.where(empty, 0.0, values - np.where(empty, 0.0, largest))
    rest = np.log(np.exp(shifted).sum(axis=0))
    return shifted - rest, largest + rest


def _align(array: FloatArray, axes: Sequence[str], family: Sequence[str]) -> FloatArray:
    """Return `array` with its axes in the order of `family`, of length 1 for variables it does not have."""
    present = [variable for variable in family if variable in axes]
    absent = tuple(axis for axis, variable in enumerate(family) if variable not in axes)
    ordered = array.transpose([axes.index(variable) for variable in present])
    return np.expand_dims(ordered, absent)


def _gather(array: FloatArray, family: Sequence[str], axes: Sequence[str]) -> FloatArray:
    """Return the sums of `array` over the variables that `axes` does not have: :func:`_align` the other way."""
    absent = tuple(axis for axis, variable in enumerate(family) if variable not in axes)
    present = [variable for variable in family if variable in axes]
    summed: FloatArray = array.sum(axis=absent).transpose([present.index(variable) for variable in axes])
    return summed
