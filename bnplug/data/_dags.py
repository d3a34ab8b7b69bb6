"""A DAG that becomes one of pgmpy when somebody looks at it.

Learners work with numbers, and importing pgmpy takes longer than a small fit. So the graph that goes from a structure
learner to a parameter learner knows the numbers that it was made from. Whoever asks it for anything else has a graph of
pgmpy before them: the object turns into one, with its class, its methods and its nodes.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Sequence
from graphlib import CycleError, TopologicalSorter
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from bnplug.typing import DAG

__all__ = ["check_acyclic", "lazy_dag", "parents_by_number"]

#: Two threads that look at one graph for the first time turn it once.
_turning = threading.RLock()


def lazy_dag(names: Sequence[str], parents: Sequence[Iterable[int]]) -> DAG:
    """Return the DAG in which ``parents[v]`` are the parents of ``names[v]``; a cycle is a ``ValueError``.

    Examples
    --------
    >>> dag = lazy_dag(["c", "x"], [[], [0]])
    >>> list(dag.edges)
    [('c', 'x')]
    >>> type(dag).__module__.split(".")[0]
    'pgmpy'
    """
    numbers = tuple(tuple(sorted(set(own))) for own in parents)
    check_acyclic(names, numbers)
    return cast("DAG", _UnmadeDAG(tuple(names), numbers))


def check_acyclic(names: Sequence[str], parents: Sequence[Iterable[int]]) -> None:
    """Raise a ``ValueError`` that names a cycle, if the parents make one."""
    try:
        TopologicalSorter(dict(enumerate(parents))).prepare()
    except CycleError as error:
        # The cycle is listed from parent to child.
        cycle = " -> ".join(str(names[v]) for v in error.args[1])
        raise ValueError(f"the edges make a cycle: {cycle}") from None


def parents_by_number(dag: Any, names: tuple[str, ...]) -> list[list[int]] | None:
    """Return the parents from which a graph over `names` was made, or None if it is one of pgmpy, or none of ours."""
    if type(dag) is not _UnmadeDAG:
        return None
    with _turning:
        if type(dag) is not _UnmadeDAG:
            return None
        own_names, parents = object.__getattribute__(dag, "made_of")
    return [list(own) for own in parents] if own_names == names else None


class _UnmadeDAG:
    """Turns into a pgmpy DAG, in place, as soon as it is asked for anything at all.

    Its class changes, as a module's does that :class:`importlib.util.LazyLoader` loads. What Python asks of a class and
    not of the object, such as its length, needs a method here that asks again after the turn.
    """

    def __init__(self, names: tuple[str, ...], parents: tuple[tuple[int, ...], ...]) -> None:
        object.__setattr__(self, "made_of", (names, parents))

    def __getattribute__(self, name: str) -> Any:
        if name == "__class__":
            # `isinstance` believes this only while it is another class than the object's own.
            from bnplug.model.pgmpy import DAG

            return DAG
        return getattr(_turned(self), name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(_turned(self), name, value)

    def __delattr__(self, name: str) -> None:
        delattr(_turned(self), name)

    def __len__(self) -> int:
        return len(_turned(self))

    def __iter__(self) -> Iterator[Any]:
        return iter(_turned(self))

    def __contains__(self, node: object) -> bool:
        return node in _turned(self)

    def __getitem__(self, node: Any) -> Any:
        return _turned(self)[node]

    def __eq__(self, other: object) -> bool:
        return bool(_turned(self) == other)

    def __hash__(self) -> int:
        return hash(_turned(self))

    def __repr__(self) -> str:
        return repr(_turned(self))

    def __str__(self) -> str:
        return str(_turned(self))

    def __reduce_ex__(self, protocol: Any) -> Any:
        return _turned(self).__reduce_ex__(protocol)


def _turned(dag: Any) -> Any:
    """Return the graph itself, which is one of pgmpy from now on."""
    from bnplug.model.pgmpy import make_dag

    with _turning:
        if type(dag) is _UnmadeDAG:
            names, parents = object.__getattribute__(dag, "made_of")
            made = make_dag(names, [(names[p], names[v]) for v, own in enumerate(parents) for p in own])
            inside = object.__getattribute__(dag, "__dict__")
            inside.clear()
            inside.update(made.__dict__)
            object.__setattr__(dag, "__class__", type(made))
    return dag
