"""Graphs over named variables, which learners, scores and models exchange."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from graphlib import CycleError, TopologicalSorter
from itertools import combinations
from operator import index as as_number
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from bnplug.errors import NotRepresentableError, article, did_you_mean

if TYPE_CHECKING:
    from bnplug.typing import DAG, PDAG

_Node = TypeVar("_Node", bound=Hashable)
_Parents = Mapping[_Node, Collection[_Node]]

#: An edge (parent, child), by the names of its ends.
Edge = tuple[str, str]


class HasNames(Protocol):
    """An object with named variables: a :class:`~bnplug.Table` or a :class:`Structure`."""

    @property
    def names(self) -> tuple[str, ...]:
        """The variables."""


@dataclass(frozen=True)
class Structure:
    """A directed acyclic graph: for each variable the positions of its parents.

    Parameters
    ----------
    names : sequence of str
        The variables, in the order of ``table.names``.
    parents : sequence of iterables of int
        ``parents[v]`` has the positions of the parents of ``names[v]``. Afterwards it is a tuple of ascending tuples.

    Raises
    ------
    ValueError
        If names are equal, positions are out of range, or the edges make a cycle.

    Examples
    --------
    >>> chain = Structure(["a", "b", "c"], [[], [0], [1]])
    >>> chain.parents, chain.children, chain.edges
    (((), (0,), (1,)), ((1,), (2,), ()), (('a', 'b'), ('b', 'c')))
    """

    names: tuple[str, ...]
    parents: tuple[tuple[int, ...], ...]

    def __init__(self, names: Sequence[str], parents: Sequence[Iterable[int]]) -> None:
        families = tuple(tuple(sorted({as_number(p) for p in family})) for family in parents)
        numbers = range(len(names))
        if len(families) != len(numbers) or any(p not in numbers for family in families for p in family):
            raise ValueError(
                f"parents must list, for each of the {len(numbers)} variables, numbers from 0 to {len(numbers) - 1}; "
                f"got {[list(family) for family in families]}"
            )
        if len(set(names)) < len(names):
            raise ValueError(f"names are not distinct: {list(names)}")
        # Frozen instances are filled here only.
        object.__setattr__(self, "names", tuple(names))
        object.__setattr__(self, "parents", families)
        check_acyclic(self.names, families)

    @cached_property
    def children(self) -> tuple[tuple[int, ...], ...]:
        """The children of every variable, ascending."""
        children: list[list[int]] = [[] for _ in self.names]
        for v, family in enumerate(self.parents):
            for p in family:
                children[p].append(v)
        return tuple(map(tuple, children))

    @cached_property
    def order(self) -> tuple[int, ...]:
        """All variables, parents before their children."""
        return tuple(TopologicalSorter(dict(enumerate(self.parents))).static_order())

    @property
    def by_name(self) -> dict[str, tuple[str, ...]]:
        """The names of the parents of every variable, by its name."""
        return {name: tuple(self.names[p] for p in of) for name, of in zip(self.names, self.parents, strict=True)}

    @property
    def edges(self) -> tuple[Edge, ...]:
        """The edges (parent, child) by name, ordered by child."""
        return tuple((self.names[p], self.names[v]) for v, family in enumerate(self.parents) for p in family)

    def is_c1(self, target: str) -> bool:
        """Return whether every child of the class `target` has a covering parent; see :func:`is_c1`."""
        return is_c1(self.by_name, target)

    def to_dag(self) -> DAG:
        """Return the graph as a pgmpy DAG, its nodes in the order of the names; imports pgmpy."""
        from bnplug.model.pgmpy import make_dag

        return make_dag(self.names, self.edges)

    def cpdag(self) -> PartialGraph:
        """Return the equivalence class: an edge is directed if it has the same direction in all equivalent graphs.

        Examples
        --------
        >>> Structure(["a", "b", "c", "d"], [[], [], [0, 1], [2]]).cpdag().directed
        (('a', 'c'), ('b', 'c'), ('c', 'd'))
        >>> Structure(["a", "b", "c"], [[], [0], [1]]).cpdag().undirected
        (('a', 'b'), ('b', 'c'))
        """
        # Order and label edges (Chickering 1995).
        place = {v: i for i, v in enumerate(self.order)}
        # compelled[y] has those parents of y whose edge to y is compelled; the others are reversible.
        compelled: list[set[int]] = [set() for _ in self.names]
        for y in self.order:
            family = set(self.parents[y])
            if not family:
                continue
            x = max(family, key=place.__getitem__)
            # An edge w -> x or a collider at y compels all edges into y; otherwise only those from a compelled w.
            all_compelled = not compelled[x] <= family or not family <= {x, *self.parents[x]}
            compelled[y] = family if all_compelled else compelled[x]
        arrows = [(p, v) for v, family in enumerate(compelled) for p in family]
        lines = [(p, v) for v, family in enumerate(self.parents) for p in family if p not in compelled[v]]
        return PartialGraph(self.names, arrows, lines)

    @classmethod
    def of(cls, graph: Any, table: HasNames) -> Structure:
        """Return a graph over the variables of `table`.

        Parameters
        ----------
        graph : Structure, Learned, pgmpy DAG, networkx DiGraph, sequence of edges, or sequence of parents
            An edge is a pair (parent, child) of names. Parents are positions, listed for every variable. Edges of
            columns that the table omits (``table.left_out``) are ignored. Variables without edges may be absent.
        table : Table or Structure

        Raises
        ------
        ValueError
            If the graph has a cycle, undirected edges or names that are not variables.
        TypeError
            If `graph` is something else.

        Examples
        --------
        >>> chain = Structure(["a", "b", "c"], [[], [0], [1]])
        >>> Structure.of([("a", "b"), ("b", "c")], chain) == Structure.of([[], [0], [1]], chain) == chain
        True
        """
        if isinstance(graph, Learned):
            graph = graph.structure
        if isinstance(graph, Structure):
            if graph.names == table.names:
                return graph
            if set(graph.names) != set(table.names):
                raise ValueError(f"the structure is over {list(graph.names)}; the variables are {list(table.names)}")
        if _lists_parents(graph, table):
            return cls(table.names, graph)
        edges = _edges_by_name(graph, table)
        position = {name: i for i, name in enumerate(table.names)}
        parents: list[list[int]] = [[] for _ in table.names]
        for parent, child in edges:
            parents[position[child]].append(position[parent])
        return cls(table.names, parents)


def check_acyclic(names: Sequence[str], parents: Sequence[Iterable[int]]) -> None:
    """Raise a ``ValueError`` that names a cycle, if the parents make one."""
    try:
        TopologicalSorter(dict(enumerate(parents))).prepare()
    except CycleError as error:
        # The cycle is listed from parent to child.
        cycle = " -> ".join(str(names[v]) for v in error.args[1])
        raise ValueError(f"the edges make a cycle: {cycle}") from None


def _lists_parents(graph: Any, table: HasNames) -> bool:
    """Return whether a graph is given by the positions of parents: one iterable of integers for each variable."""
    if isinstance(graph, str) or not isinstance(graph, Sequence) or len(graph) != len(table.names):
        return False
    # Pairs of whole numbers are edges if the variables have such names.
    known = set(table.names)
    if graph and all(isinstance(edge, tuple) and len(edge) == 2 and {*map(str, edge)} <= known for edge in graph):
        return False
    try:
        for family in graph:
            for parent in family:
                as_number(parent)
    except TypeError:
        return False
    return True


def _edges_by_name(graph: Any, table: HasNames) -> list[Edge]:
    """Return the edges of a graph object or of a list of edges, without those of columns that the table omits."""
    if hasattr(graph, "is_directed") and not graph.is_directed():
        raise ValueError("the graph is undirected; give directed edges, from parent to child")
    nodes, edges = getattr(graph, "nodes", ()), getattr(graph, "edges", graph)
    if isinstance(edges, str) or not isinstance(edges, Iterable):
        raise TypeError(
            f"expected a Structure, a DAG, edges (parent, child) by name, or the positions of the parents of each "
            f"variable; got {article(type(graph).__name__)}: {graph!r}"
        )
    pairs = []
    for edge in edges:
        if hasattr(edge, "edges"):
            raise ValueError("expected one graph, not several; a learner may return Learned(best, alternatives=others)")
        if isinstance(edge, str) or not isinstance(edge, Sequence) or len(edge) != 2:
            listed = isinstance(edge, list | tuple)
            hint = f"; positions of parents are listed for all {len(table.names)} variables" if listed else ""
            raise ValueError(f"an edge is a pair (parent, child) of names, not {edge!r}{hint}")
        pairs.append((str(edge[0]), str(edge[1])))
    omitted = set(getattr(table, "left_out", ()))
    known = {*table.names, *omitted}
    for name in sorted({*map(str, nodes), *(name for pair in pairs for name in pair)} - known):
        raise ValueError(
            f"the graph has the node {name!r}, which is not a variable.{did_you_mean(name, table.names)} "
            f"The variables are {list(table.names)}"
        )
    return [pair for pair in pairs if not omitted & {*pair}]


@dataclass(frozen=True)
class PartialGraph:
    """A graph with directed and undirected edges, such as the equivalence class of a structure.

    Parameters
    ----------
    names : sequence of str
        The variables.
    directed : iterable of (parent, child)
        Pairs of names or positions. Afterwards a tuple of pairs of names, sorted by position.
    undirected : iterable of pairs
        Likewise; the end with the lower position comes first.

    Examples
    --------
    >>> graph = PartialGraph(["a", "b", "c"], directed=[("c", "b")], undirected=[("b", "a")])
    >>> graph.directed, graph.undirected
    ((('c', 'b'),), (('a', 'b'),))
    """

    names: tuple[str, ...]
    directed: tuple[Edge, ...] = ()
    undirected: tuple[Edge, ...] = ()

    def __init__(
        self, names: Sequence[str], directed: Iterable[Sequence[Any]] = (), undirected: Iterable[Sequence[Any]] = ()
    ) -> None:
        names = tuple(names)
        arrows = {_positions(edge, names) for edge in directed}
        lines = {tuple(sorted(_positions(edge, names))) for edge in undirected}
        for u, v in sorted({*arrows, *lines}):
            if u == v or ((u, v) in arrows) + ((v, u) in arrows) + ((min(u, v), max(u, v)) in lines) > 1:
                raise ValueError(f"an edge joins two variables, and at most one joins {names[u]!r} and {names[v]!r}")
        object.__setattr__(self, "names", names)
        object.__setattr__(self, "directed", tuple((names[u], names[v]) for u, v in sorted(arrows)))
        object.__setattr__(self, "undirected", tuple((names[u], names[v]) for u, v in sorted(lines)))

    def to_pdag(self) -> PDAG:
        """Return the graph as a pgmpy PDAG; imports pgmpy."""
        from bnplug.model.pgmpy import make_pdag

        return make_pdag(self.names, self.directed, self.undirected)


def _positions(edge: Sequence[Any], names: tuple[str, ...]) -> tuple[int, int]:
    """Return the positions of the ends of an edge, which is given by names or by positions."""
    if isinstance(edge, str) or len(edge) != 2:
        raise ValueError(f"an edge is a pair of variables, not {edge!r}")
    for end in edge:
        if end not in names and not (not isinstance(end, str) and as_number(end) in range(len(names))):
            raise ValueError(f"{end!r} is not a variable; the variables are {list(names)}")
    u, v = (names.index(end) if isinstance(end, str) else as_number(end) for end in edge)
    return u, v


@dataclass(frozen=True)
class Learned:
    """A structure, and other results of a structure learner; the classifier keeps it as ``learned_``.

    Parameters
    ----------
    structure : Structure
        The structure for the parameters, or anything that :meth:`Structure.of` accepts.
    pdag : PartialGraph, optional
        The equivalence class.
    edge_probabilities : mapping of (parent, child) to float, optional
        Probabilities of directed edges, by pairs of names; edges that it does not have are impossible.
    alternatives : sequence of Structure
        Other structures, the best first.
    details : mapping of str to anything that JSON can hold
        Whatever else is worth keeping, such as scores or counts of tests. Arrays and numbers of numpy become plain
        lists and numbers.

    Examples
    --------
    >>> chain = Structure(["a", "b"], [[], [0]])
    >>> Learned(chain, pdag=chain.cpdag(), details={"score": -12.5}).details
    {'score': -12.5}
    """

    structure: Any
    pdag: PartialGraph | None = None
    edge_probabilities: Mapping[Edge, float] | None = None
    alternatives: Sequence[Any] = ()
    details: Mapping[str, Any] = field(default_factory=dict)

    @property
    def has_more(self) -> bool:
        """Whether the learner found more than a structure."""
        return bool(self.pdag or self.edge_probabilities is not None or self.alternatives or self.details)

    @classmethod
    def of(cls, result: Any, table: HasNames) -> Learned:
        """Return what a structure learner returned, over the variables of `table`, with all parts checked.

        Raises
        ------
        ValueError or TypeError
            If a part is not over these variables, a probability is not between 0 and 1, or a graph has a cycle.
        """
        if not isinstance(result, Learned):
            return cls(Structure.of(result, table))
        if result.pdag is not None and not isinstance(result.pdag, PartialGraph):
            raise TypeError(f"pdag must be a PartialGraph, not a {type(result.pdag).__name__}")
        if result.pdag is not None and sorted(result.pdag.names) != sorted(table.names):
            raise ValueError(f"pdag is over {list(result.pdag.names)}; the variables are {list(table.names)}")
        kinds: dict[str, type] = {"alternatives": Iterable, "details": Mapping}
        if result.edge_probabilities is not None:
            kinds["edge_probabilities"] = Mapping
        for part, kind in kinds.items():
            if not isinstance(value := getattr(result, part), kind):
                raise TypeError(f"{part} must be {article(kind.__name__.lower())}, not {article(type(value).__name__)}")
        probabilities = None
        if result.edge_probabilities is not None:
            probabilities = {}
            for edge, probability in result.edge_probabilities.items():
                u, v = _positions(edge, tuple(table.names))
                if u == v or not 0 <= probability <= 1:
                    raise ValueError(f"the edge {edge!r} has the probability {probability!r}; it must be from 0 to 1")
                probabilities[table.names[u], table.names[v]] = float(probability)
        others = tuple(Structure.of(other, table) for other in result.alternatives)
        return cls(
            Structure.of(result.structure, table), result.pdag, probabilities, others, _plain(result.details, "details")
        )


def _plain(value: Any, place: str) -> Any:
    """Return a value as JSON preserves it: sequences and arrays as lists, and numbers of numpy as plain ones."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, Mapping):
        for key in value:
            if not isinstance(key, str):
                raise TypeError(f"{place} has the key {key!r}; its keys must be text")
        return {str(key): _plain(item, f"{place}[{key!r}]") for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item, f"{place}[{i}]") for i, item in enumerate(value)]
    if value is not None and type(value) not in (bool, int, float, str):
        raise TypeError(f"{place} is {article(type(value).__name__)}, which JSON cannot hold; convert or omit it")
    return value


def is_c1(parents: _Parents[_Node], target: _Node) -> bool:
    """Return whether every class child has a covering parent (Condition 1 of Peharz et al. 2013).

    Equivalently, the parents of every class child are pairwise adjacent, except for pairs of class parents.

    `parents` maps every node of an acyclic graph to its parents, such as ``LogTables.parents``; `target` is the class.

    Examples
    --------
    Two feature parents must be adjacent, unless both are parents of the class:

    >>> is_c1({"c": [], "a": ["c"], "b": ["c"], "x": ["a", "b", "c"]}, "c")
    False
    >>> is_c1({"a": [], "b": [], "c": ["a", "b"], "x": ["a", "b", "c"]}, "c")
    True
    """
    return violation(parents, target) is None


def violation(parents: _Parents[_Node], target: _Node) -> tuple[_Node, tuple[_Node, _Node]] | None:
    """Return the first class child without a covering parent, and the two of its parents that are the reason.

    The two are not adjacent, and not both parents of the class.
    """
    if target not in parents:
        hint = did_you_mean(str(target), map(str, parents))
        raise ValueError(f"the class {target!r} is not among the {len(parents)} nodes.{hint}")
    class_parents = set(parents[target])
    for node, of_node in parents.items():
        if target in of_node and not _covering(parents, node):
            return node, next(
                (a, b)
                for a, b in combinations(of_node, 2)
                if a not in parents[b] and b not in parents[a] and not {a, b} <= class_parents
            )
    return None


def covering_parents(parents: _Parents[_Node], target: _Node) -> dict[_Node, _Node]:
    """Return the covering parent Y of every class child X: Y in Pa(X), and Pa(X) within Pa(Y) + {Y}."""
    violated = violation(parents, target)
    if violated is not None:
        node, (a, b) = violated
        raise NotRepresentableError(
            f"the structure is not C1: the class child {node!r} has no covering parent, since its parents "
            f"{a!r} and {b!r} are not adjacent, nor both parents of the class {target!r}. Normalization "
            "could not keep the posterior of the class; join the two by an edge, or take one of them from "
            f"{node!r}"
        )
    return {node: cover for node, of_node in parents.items() if target in of_node for cover in _covering(parents, node)}


def markov_blanket(parents: _Parents[_Node], node: _Node) -> list[_Node]:
    """Return the parents, children and co-parents of a node, in the order of `parents`, such as ``LogTables.parents``.

    Examples
    --------
    >>> markov_blanket({"a": [], "b": [], "c": ["a"], "d": ["c", "b"], "e": ["d"]}, "c")
    ['a', 'b', 'd']
    """
    blanket = set(parents[node])
    for child, of_child in parents.items():
        if node in of_child:
            blanket |= {child, *of_child}
    return [other for other in parents if other in blanket and other != node]


def _covering(parents: _Parents[_Node], node: _Node) -> list[_Node]:
    """Return the covering parent of `node`, which has all its other parents as parents, if there is one."""
    of_node = set(parents[node])
    return [parent for parent in of_node if of_node <= {parent, *parents[parent]}]
