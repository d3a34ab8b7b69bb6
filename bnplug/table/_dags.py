"""A DAG that keeps the numbers of parents, and turns into a pgmpy DAG on first use: importing pgmpy takes long."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from graphlib import CycleError, TopologicalSorter
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from bnplug.typing import DAG

# Two threads that access a graph for the first time turn it once.
_turning = threading.RLock()


def lazy_dag(names: Sequence[str], parents: Sequence[Iterable[int]]) -> DAG:
    """Return the DAG in which ``parents[v]`` are the parents of ``names[v]``; a cycle is a ``ValueError``."""
    numbers = tuple(tuple(sorted(set(family))) for family in parents)
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
    """Return the parents of each variable of a lazy graph over `names`; None for any other graph."""
    if type(dag) is not _UnmadeDAG:
        return None
    with _turning:
        if type(dag) is not _UnmadeDAG:
            return None
        graph_names, parents = object.__getattribute__(dag, "made_of")
    return [list(family) for family in parents] if graph_names == names else None


class _UnmadeDAG:
    """A graph that changes its class to pgmpy's DAG on the first access, as :class:`importlib.util.LazyLoader` does."""

    def __init__(self, names: tuple[str, ...], parents: tuple[tuple[int, ...], ...]) -> None:
        object.__setattr__(self, "made_of", (names, parents))

    def __getattribute__(self, name: str) -> Any:
        if name == "__class__":
            # `isinstance` uses this only while it differs from the type of the object.
            from bnplug.model.pgmpy import DAG

            return DAG
        return getattr(_turned(self), name)


def _forward(name: str) -> None:
    """Define a special method, which Python looks up on the class, that calls the same method of the pgmpy DAG."""
    setattr(_UnmadeDAG, name, lambda self, *args: getattr(_turned(self), name)(*args))


for _name in ["len", "getitem", "repr", "str", "reduce_ex", "iter", "contains", "eq", "hash", "setattr", "delattr"]:
    _forward(f"__{_name}__")


def _turned(dag: Any) -> Any:
    """Turn a graph into a pgmpy DAG in place, and return it."""
    from bnplug.model.pgmpy import make_dag

    with _turning:
        if type(dag) is _UnmadeDAG:
            names, parents = object.__getattribute__(dag, "made_of")
            made = make_dag(names, [(names[p], names[v]) for v, family in enumerate(parents) for p in family])
            inside = object.__getattribute__(dag, "__dict__")
            inside.clear()
            inside.update(made.__dict__)
            object.__setattr__(dag, "__class__", type(made))
    return dag
