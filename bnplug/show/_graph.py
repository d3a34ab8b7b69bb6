"""The graph that is drawn, by numbers: names that are distinct, edges between them, no cycle."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from graphlib import CycleError, TopologicalSorter

#: An edge, as (parent, child).
Link = tuple[int, int]


@dataclass(frozen=True)
class CheckedGraph:
    """A checked graph; nodes are positions in ``names``, and ``order`` has parents before children."""

    names: tuple[str, ...]
    edges: tuple[Link, ...]
    target: int
    marked: frozenset[int]
    order: tuple[int, ...]

    @cached_property
    def parents(self) -> list[list[int]]:
        """The parents of every node."""
        parents: list[list[int]] = [[] for _ in self.names]
        for parent, child in self.edges:
            parents[child].append(parent)
        return parents

    @cached_property
    def children(self) -> list[list[int]]:
        """The children of every node."""
        children: list[list[int]] = [[] for _ in self.names]
        for parent, child in self.edges:
            children[parent].append(child)
        return children


def checked_graph(
    names: Sequence[str], edges: Iterable[tuple[str, str]], target: str, marked: Collection[str] = ()
) -> CheckedGraph:
    """Return the graph of these names and edges; an error names what is wrong with them."""
    number = {name: node for node, name in enumerate(names)}
    if len(number) < len(names):
        twice = next(name for node, name in enumerate(names) if number[name] != node)
        raise ValueError(f"two nodes are named {twice!r}: rename one of them")
    edges = list(edges)
    for role, used in (("target", [target]), ("edges", [end for edge in edges for end in edge]), ("marked", marked)):
        for name in used:
            if name not in number:
                raise ValueError(f"{role}: {name!r} is not one of the nodes {list(names)}")
    links = tuple(sorted({(number[parent], number[child]) for parent, child in edges}))
    sorter = TopologicalSorter[int](dict.fromkeys(range(len(names)), ()))
    for parent, child in links:
        sorter.add(child, parent)
    try:
        order = tuple(sorter.static_order())
    except CycleError as error:
        cycle = " -> ".join(names[node] for node in error.args[1])
        raise ValueError(f"a Bayesian network has no cycle, but the edges have one: {cycle}") from None
    return CheckedGraph(tuple(names), links, number[target], frozenset(number[name] for name in marked), order)
