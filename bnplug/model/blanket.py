"""The Markov blanket: what a variable depends on where everything else is known."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping
from typing import TypeVar

_Node = TypeVar("_Node", bound=Hashable)


def markov_blanket(parents: Mapping[_Node, Collection[_Node]], node: _Node) -> list[_Node]:
    """Return the parents, children and co-parents of a node, in the order of `parents`.

    Parameters
    ----------
    parents : mapping of node to collection of nodes
        The parents of every node, such as ``LogTables.parents``.
    node : hashable

    Examples
    --------
    >>> markov_blanket({"a": [], "b": [], "c": ["a"], "d": ["c", "b"], "e": ["d"]}, "c")
    ['a', 'b', 'd']
    """
    blanket = set(parents[node])
    for other, own in parents.items():
        if node in own:
            blanket |= {other, *own}
    return [other for other in parents if other in blanket and other != node]
