"""Greedy equivalence search (Chickering 2002) with a turning phase (Hauser and Bühlmann 2012)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

import bnplug
from bnplug import Learned, Structure, StructureLearner
from bnplug.hooks.registry import method_of
from bnplug.search import Constraints, score_tie
from bnplug_structures.classes import DELETE, INSERT, TURN, apply_operator, extend, fill_class, list_operators
from bnplug_structures.local_scores import LocalScores, check_limits, evaluator_of
from bnplug_structures.orienting import constrained_class

if TYPE_CHECKING:
    from bnplug import Table
    from bnplug.typing import BoolArray, FloatArray, IntArray

_PHASES = {"forward": INSERT, "backward": DELETE, "turning": TURN}


@dataclass(eq=False, repr=False)
class GES(StructureLearner):
    """`ges`: greedy search over equivalence classes: inserts, deletes and turns edges until nothing improves.

    The result is the equivalence class of the graph, as ``pdag`` of :class:`~bnplug.Learned`, and a graph of it. With
    enough data, it is the class of the distribution's graph, if there is one. If there is a class variable, it is a
    variable like the others.

    With constraints, each class that is visited has a graph that satisfies them, and the result is one. ``pdag`` then
    has directed edges where the constraints leave one direction.

    Parameters
    ----------
    score : str or DecomposableScore
        What to maximize: a score that is the same for equivalent graphs, such as ``"mdl"`` or ``"bdeu"``. A registered
        score that is not is refused.
    phases : sequence of {"forward", "backward", "turning"}
        What to do, in this order, repeatedly until no phase improves the score.
    max_parents : int, optional
        The largest number of parents of a variable. The time grows exponentially with the largest clique of undirected
        edges; set a limit for scores that do not penalize edges, such as ``"ll"``.
    n_jobs : int, optional
        Threads that score families. The result does not depend on it.
    random_state : int or RandomState, optional
        Passed to a score without one.
    required, forbidden : list of edges, optional
        Edges ``(parent, child)`` by name that the graph must have, and must not have.
    tiers : list of lists of str, optional
        No edge goes from a later tier to an earlier one; see :class:`~bnplug.search.Constraints`.

    Attributes
    ----------
    trace_ : list of float
        The score of the start, and after each step.
    moves_ : list of str
        The steps, such as ``"insert rain -> wet"``.

    References
    ----------
    Chickering: Optimal structure identification with greedy search (2002).
    Hauser, Bühlmann: Characterization and greedy learning of interventional Markov equivalence classes of directed
    acyclic graphs (2012).

    Examples
    --------
    >>> import pandas as pd
    >>> from bnplug import Table
    >>> frame = pd.DataFrame({"a": [0, 0, 1, 1] * 9, "b": [0, 1, 0, 1] * 9, "c": [0, 1, 1, 1] * 9})
    >>> GES().learn(Table.from_frame(frame, target="c")).pdag.directed
    (('a', 'c'), ('b', 'c'))
    """

    score: Any = "mdl"
    phases: Any = ("forward", "backward", "turning")
    max_parents: int | None = None
    n_jobs: int | None = None
    random_state: Any = None
    required: Any = None
    forbidden: Any = None
    tiers: Any = None

    def learn(self, table: Table) -> Learned:
        """Return the class at which the search ends, and a graph of it."""
        check_limits(self, "max_parents")
        if isinstance(self.phases, str) or not set(self.phases) <= set(_PHASES):
            raise ValueError(f"phases={self.phases!r} is not a sequence of {', '.join(map(repr, _PHASES))}")
        evaluator, local_scores = evaluator_of(self, table)
        _refuse_unequal(evaluator.score if hasattr(evaluator, "score") else self.score)
        constraints = Constraints.of(self, table)
        state = _Classes(constraints, local_scores, self.max_parents)
        improved = True
        while improved:
            before = len(state.moves)
            for phase in self.phases:
                state.climb(_PHASES[phase])
            improved = len(state.moves) > before and len(self.phases) > 1
        self.trace_, self.moves_ = state.trace, state.moves
        structure = Structure(table.names, [np.flatnonzero(column).tolist() for column in state.member().T])
        allowed = None if constraints.free else constraints.allowed & ~constraints.required.T
        return Learned(structure, pdag=constrained_class(structure, allowed))


def _refuse_unequal(score: Any) -> None:
    method = method_of(score)
    if method is not None and not getattr(method, "score_equivalent", True):
        others = bnplug.methods("score", score_equivalent=True, decomposable=True)
        names = ", ".join(sorted(repr(other.name) for other in others))
        raise ValueError(
            f"ges needs a score that is the same for equivalent graphs; {method.name!r} is not. Use {names}."
        )


class _Operators(NamedTuple):
    """Operators on the edges of one y that improve the score: each x, the clique, and the gain."""

    xs: IntArray
    cliques: list[list[int]]
    gains: FloatArray


class _Classes:
    """The current equivalence class, and the operators on it."""

    def __init__(self, constraints: Constraints, local_scores: LocalScores, max_parents: int | None) -> None:
        names = constraints.table.names
        self.names, self.local_scores = names, local_scores
        self.most = len(names) if max_parents is None else max_parents
        self.allowed: BoolArray | None = None
        allowed = constraints.allowed & ~constraints.required.T
        self.dag: BoolArray = constraints.required.copy()
        for v in np.flatnonzero(self.dag.sum(axis=0) > self.most).tolist():
            parents = [names[u] for u in constraints.required_parents(v)]
            raise ValueError(f"the parents {parents} of {names[v]!r} are required; max_parents={max_parents}")
        if not constraints.free:
            self.allowed = allowed
        possible, fixed = allowed | allowed.T, constraints.required | constraints.required.T
        # By kind: which pairs an operator may change.
        self._changeable = [possible, ~fixed, allowed & allowed.T & ~fixed]
        self.graph: BoolArray = np.empty_like(self.dag)
        fill_class(self.dag, self.graph)
        families = [(v, *np.flatnonzero(column).tolist()) for v, column in enumerate(self.dag.T)]
        self.trace, self.moves = [float(local_scores(families).sum())], list[str]()
        self._visited = {self.graph.tobytes()}
        self._room = np.empty(1 << 12, np.int64), np.empty((1 << 12) + 1, np.int64), np.empty(1 << 14, np.int64)

    def climb(self, kind: int) -> None:
        """Make the best valid operator of a kind until none improves the score."""
        operators: dict[int, _Operators] = {}
        changed = set(range(len(self.names)))
        while changed:
            operators.update(self._operators(kind, sorted(changed)))
            changed = self._step(kind, operators)

    def member(self) -> BoolArray:
        """Return a graph of the class that satisfies the constraints."""
        dag = np.empty_like(self.graph)
        assert self._extend(self.graph, dag)
        return dag

    def _step(self, kind: int, operators: dict[int, _Operators]) -> set[int]:
        """Make the best valid operator; return the variables whose operators may have changed, none without one."""
        nodes = [y for y in sorted(operators) if len(operators[y].xs)]
        places = [(y, i) for y in nodes for i in range(len(operators[y].xs))]
        gains = np.concatenate([operators[y].gains for y in nodes]) if nodes else np.empty(0)
        dag, graph = np.empty_like(self.graph), np.empty_like(self.graph)
        for place in np.argsort(-gains, kind="stable").tolist():
            y, i = places[place]
            x, clique = int(operators[y].xs[i]), operators[y].cliques[i]
            if apply_operator(self.graph, kind, x, y, np.array(clique, dtype=np.int64), dag):
                fill_class(dag, graph)
                if graph.tobytes() not in self._visited and self._accepts(dag, graph):
                    return self._move(kind, x, y, gains[place], graph)
        return set()

    def _accepts(self, dag: BoolArray, graph: BoolArray) -> bool:
        """Return whether a class keeps to the limit of parents and to the constraints."""
        if dag.sum(axis=0).max() > self.most:
            return False
        return self.allowed is None or self._extend(graph, np.empty_like(dag))

    def _extend(self, graph: BoolArray, dag: BoolArray) -> bool:
        """Fill `dag` with a graph of a class that satisfies the constraints; return False if there is none."""
        if self.allowed is None:
            return bool(extend(graph, dag))
        directed = graph & (self.allowed | ~graph.T)
        if (directed & ~self.allowed).any() or ((directed | directed.T) != (graph | graph.T)).any():
            return False
        again = np.empty_like(graph)
        if not extend(directed, dag):
            return False
        fill_class(dag, again)
        return bool((again == graph).all())

    def _move(self, kind: int, x: int, y: int, gain: float, graph: BoolArray) -> set[int]:
        """Make `graph` the current class; return the variables whose operators may have changed."""
        edges = np.argwhere(graph != self.graph)
        changed = set(edges.ravel().tolist())
        near = self.graph | graph
        # Their cliques depend on which of their neighbors are adjacent to each other, and to x.
        around = [x, y] if kind != TURN else sorted(changed)
        changed |= set(np.flatnonzero((near | near.T)[around].any(axis=0)).tolist())
        self.graph = graph.copy()
        self._visited.add(graph.tobytes())
        self.trace.append(self.trace[-1] + float(gain))
        self.moves.append(f"{('insert', 'delete', 'turn')[kind]} {self.names[x]} -> {self.names[y]}")
        return changed

    def _operators(self, kind: int, nodes: list[int]) -> Iterator[tuple[int, _Operators]]:
        """Yield some variables y and the operators on their edges that improve the score."""
        listed = [(y, *self._listed(kind, y)) for y in nodes]
        parents = [np.flatnonzero(column).tolist() for column in (self.graph & ~self.graph.T).T]
        near = self.graph | self.graph.T
        families: list[tuple[int, ...]] = []
        for y, xs, cliques in listed:
            for x, clique in zip(xs.tolist(), cliques, strict=True):
                families += self._families(kind, x, y, clique, parents, near)
        terms = self.local_scores(families)
        n_terms = 4 if kind == TURN else 2
        gains = (terms.reshape(-1, n_terms // 2, 2) @ np.array([1.0, -1.0])).sum(axis=1)
        tie, first = score_tie(self.trace[-1]), 0
        for y, xs, cliques in listed:
            of_node = gains[first : first + len(xs)]
            first += len(xs)
            kept = np.flatnonzero(of_node > tie)
            yield y, _Operators(xs[kept], [cliques[i] for i in kept.tolist()], of_node[kept])

    def _listed(self, kind: int, y: int) -> tuple[IntArray, list[list[int]]]:
        """Return the x and the clique of each operator on the edges of y."""
        while True:
            xs, bounds, members = self._room
            size = list_operators(self.graph, kind, y, self._changeable[kind], self.most, xs, bounds, members)
            if size >= 0:
                break
            self._room = (
                np.empty(2 * len(xs), np.int64),
                np.empty(2 * len(xs) + 1, np.int64),
                np.empty(2 * len(members), np.int64),
            )
        all_members, ends = members[: bounds[size]].tolist(), bounds[: size + 1].tolist()
        return xs[:size].copy(), [all_members[low:high] for low, high in pairwise(ends)]

    def _families(
        self, kind: int, x: int, y: int, clique: list[int], parents: list[list[int]], near: BoolArray
    ) -> list[tuple[int, ...]]:
        """Return pairs of families: those after an operator, and before it."""
        of_y = [u for u in parents[y] if u != x] + clique
        with_x, without_x = (y, *of_y, x), (y, *of_y)
        if kind == INSERT:
            return [with_x, without_x]
        if kind == DELETE:
            return [without_x, with_x]
        of_x = [u for u in parents[x] if u != y]
        if self.graph[x, y]:
            of_x += [u for u in clique if near[u, x]]
        return [with_x, without_x, (x, *of_x), (x, *of_x, y)]
