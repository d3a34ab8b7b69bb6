"""Prior knowledge about edges: required ones, forbidden ones, and tiers, which order groups of variables.

Learners that satisfy such constraints have the parameters ``required``, ``forbidden`` and ``tiers``. Constraints that
contradict each other, or that a learner cannot satisfy, are an error before anything is counted.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from bnplug.errors import did_you_mean
from bnplug.structure import Structure, check_acyclic
from bnplug.typing import BoolArray

if TYPE_CHECKING:
    from bnplug.table.table import Table

#: A pair (parent, child) of positions in ``table.names``.
_Edge = tuple[int, int]


class Constraints:
    """Required and forbidden edges of a graph over the variables of a table.

    Names of columns that were left out of the table (``table.left_out``) are ignored.

    Parameters
    ----------
    table : Table
        The variables.
    required : Structure or list of edges, optional
        Pairs ``(parent, child)`` of names that the graph must have.
    forbidden : Structure or list of edges, optional
        Pairs that it must not have; the opposite direction remains allowed.
    tiers : list of lists of str, optional
        Groups of variables, for example by time. No edge goes from a later group to an earlier one. Edges within a
        group, and those of variables in no group, are allowed.

    Raises
    ------
    ValueError
        For unknown names, edges that are both required and forbidden (also by the tiers), required edges that make a
        cycle, or a variable in two tiers.

    Examples
    --------
    >>> import pandas as pd
    >>> from bnplug import Table
    >>> frame = pd.DataFrame({"age": [0, 1, 1], "smoker": [0, 0, 1], "ill": [0, 0, 1]})
    >>> table = Table.from_frame(frame, "ill")
    >>> constraints = Constraints(table, required=[("age", "smoker")], tiers=[["age"], ["smoker", "ill"]])
    >>> constraints.allowed.astype(int).tolist()
    [[0, 1, 1], [0, 0, 1], [0, 1, 0]]
    >>> Constraints(table, required=[("smoker", "age")], tiers=[["age"], ["smoker"]])
    Traceback (most recent call last):
    ValueError: the edge 'smoker' -> 'age' is required, and the tiers forbid it
    """

    def __init__(
        self, table: Table, required: Any = None, forbidden: Any = None, tiers: Iterable[Iterable[str]] | None = None
    ) -> None:
        self.table = table
        self._required = _edges(table, required, "required")
        self._forbidden = _edges(table, forbidden, "forbidden")
        self._tier = _tiers(table, tiers)
        self._parents = _parents_in(self._required)
        names = table.names
        for u, v in sorted(self._required):
            why = "is forbidden too" if (u, v) in self._forbidden else "the tiers forbid it"
            if (u, v) in self._forbidden or self._against_tiers(u, v):
                raise ValueError(f"the edge {names[u]!r} -> {names[v]!r} is required, and {why}")
        try:
            check_acyclic(names, [self.required_parents(v) for v in range(len(names))])
        except ValueError as error:
            raise ValueError(f"required: {error}") from None

    @classmethod
    def of(cls, learner: Any, table: Table) -> Constraints:
        """Return the constraints in a learner's parameters ``required``, ``forbidden`` and ``tiers``."""
        return cls(table, learner.required, learner.forbidden, learner.tiers)

    def _against_tiers(self, u: int, v: int) -> bool:
        return u in self._tier and v in self._tier and self._tier[u] > self._tier[v]

    @property
    def free(self) -> bool:
        """Whether nothing is required, and everything allowed."""
        return not (self._required or self._forbidden or len(set(self._tier.values())) > 1)

    @cached_property
    def required(self) -> BoolArray:
        """A matrix: ``required[u, v]`` if the graph must have the edge from u to v."""
        return _matrix(len(self.table.names), self._required)

    @cached_property
    def allowed(self) -> BoolArray:
        """A matrix: ``allowed[u, v]`` if the graph may have the edge from u to v."""
        size = len(self.table.names)
        tier = np.array([self._tier.get(v, -1) for v in range(size)])
        too_late = (tier[:, None] > tier[None, :]) & (tier >= 0)[None, :]
        allowed: BoolArray = ~(_matrix(size, self._forbidden) | too_late | np.eye(size, dtype=bool))
        return allowed

    def required_parents(self, v: int) -> list[int]:
        """Return the parents that a variable must have."""
        return self._parents.get(v, [])

    def allowed_parents(self, v: int, among: Sequence[int]) -> list[int]:
        """Return the variables among `among` that may be parents of `v`."""
        return list(among) if self.free else [u for u in among if self.allowed[u, v]]

    def ready(self, left: Sequence[int]) -> list[int]:
        """Return which of the remaining variables `left` may come next in an order in which parents come first.

        Their required parents are not among `left`; variables of the earliest remaining tier take precedence.
        """
        waiting = set(left)
        after_parents = [v for v in left if waiting.isdisjoint(self.required_parents(v))]
        earliest = min((self._tier[v] for v in left if v in self._tier), default=None)
        return [v for v in after_parents if self._tier.get(v, earliest) == earliest] or after_parents

    def augmented(self, label: str, most: int | None = None) -> list[list[int]]:
        """Return naive Bayes with the required edges: the start of learners that make the class a parent of all.

        A ``ValueError`` that calls the learner `label` if the class must have parents, cannot be a parent of every
        feature, or a feature must have more than `most` feature parents.
        """
        names, target = self.table.names, self.table.target_index
        for u in self.required_parents(target):
            raise ValueError(
                f"{label} gives the class no parents, and the edge {names[u]!r} -> {names[target]!r} is required; "
                "hill-climb supports that"
            )
        parents = [sorted({*family, *self.required_parents(v)}) for v, family in enumerate(self.table.naive_bayes())]
        for v in self.table.features:
            if not self.allowed_parents(v, [target]):
                raise ValueError(
                    f"{label} makes the class a parent of every feature, and the edge {names[target]!r} -> "
                    f"{names[v]!r} is forbidden, or violates the tiers; hill-climb supports that"
                )
            feature_parents = [names[u] for u in parents[v] if u != target]
            if most is not None and len(feature_parents) > most:
                raise ValueError(
                    f"{label} gives a feature at most {most} feature parent(s), and {feature_parents} are required of "
                    f"{names[v]!r}; hill-climb supports that"
                )
        return parents

    def start(self, start: Any) -> list[list[int]]:
        """Return the parents of every variable in a graph to start from, with the required edges.

        `start` is "nb" or "empty", from which forbidden edges are omitted, a DAG or a list of edges. Anything else, an
        edge that is not allowed, or a cycle with required edges is a ``ValueError``.
        """
        edges = self._named_start(start) if isinstance(start, str) else _edges(self.table, start, "start")
        edges |= self._required
        names = self.table.names
        for u, v in sorted(edges):
            if (u, v) in self._forbidden or self._against_tiers(u, v):
                raise ValueError(
                    f"the edge {names[u]!r} -> {names[v]!r} of the start is forbidden, or violates the tiers"
                )
        by_child = _parents_in(edges)
        parents = [by_child.get(v, []) for v in range(len(names))]
        # Names the cycle, if there is one.
        Structure(self.table.names, parents)
        return parents

    def _named_start(self, start: str) -> set[_Edge]:
        if start not in ("nb", "empty"):
            raise ValueError(f"start={start!r} is not 'nb', 'empty', a DAG or a list of edges")
        target = self.table.target_index
        if start == "empty" or target is None:
            return set()
        # Required edges may lead to the class, whose ancestors cannot be its children.
        ancestors, waiting = {target}, [target]
        while waiting:
            new = [u for u in self.required_parents(waiting.pop()) if u not in ancestors]
            ancestors.update(new)
            waiting += new
        return {(target, v) for v in self.table.features if v not in ancestors and self.allowed_parents(v, [target])}


def _edges(table: Table, edges: Any, what: str) -> set[_Edge]:
    """Return named edges as pairs of positions."""
    edges = getattr(edges, "edges", edges)
    if edges is None:
        return set()
    if isinstance(edges, str) or not isinstance(edges, Iterable):
        raise ValueError(f"{what}={edges!r} is not a list of edges, pairs (parent, child) of names")
    pairs = set()
    for edge in edges:
        if isinstance(edge, str) or not isinstance(edge, Sequence) or len(edge) != 2:
            raise ValueError(f"{what}: an edge is a pair (parent, child) of names, not {edge!r}")
        parent, child = (_position(table, end, what) for end in edge)
        if edge[0] == edge[1]:
            raise ValueError(f"{what}: {edge!r} is not an edge between two variables")
        if parent is not None and child is not None:
            pairs.add((parent, child))
    return pairs


def _tiers(table: Table, tiers: Iterable[Iterable[str]] | None) -> dict[int, int]:
    """Return the number of each variable's tier, for those that are in one."""
    if isinstance(tiers, str) or not isinstance(tiers, Iterable | None):
        raise ValueError(f"tiers={tiers!r} is not a list of tiers, each a list of names")
    tier_of: dict[int, int] = {}
    for number, tier in enumerate(tiers or ()):
        if isinstance(tier, str) or not isinstance(tier, Iterable):
            raise ValueError(f"tiers: a tier is a list of names, not {tier!r}")
        for name in tier:
            v = _position(table, name, "tiers")
            if v is not None and tier_of.setdefault(v, number) != number:
                raise ValueError(f"tiers: {name!r} is in two of them")
    return tier_of


def _position(table: Table, name: Any, what: str) -> int | None:
    """Return a variable's position; None for a column that was left out of the table."""
    if name in table.names:
        return table.index(name)
    if name in table.left_out:
        return None
    hint = did_you_mean(name, table.names) if isinstance(name, str) else ""
    raise ValueError(f"{what} names {name!r}, which is not a variable; variables: {list(table.names)}.{hint}")


def _parents_in(edges: Iterable[_Edge]) -> dict[int, list[int]]:
    """Return the parents of each variable that has some."""
    parents: dict[int, list[int]] = {}
    for u, v in sorted(edges):
        parents.setdefault(v, []).append(u)
    return parents


def _matrix(size: int, edges: Iterable[_Edge]) -> BoolArray:
    matrix = np.zeros((size, size), dtype=bool)
    for u, v in edges:
        matrix[u, v] = True
    return matrix
