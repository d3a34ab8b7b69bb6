"""What holds for every structure learner."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import networkx as nx

from bnplug.data.table import Table
from bnplug.search import Constraints
from bnplug.testing import _common_checks, data
from bnplug.testing._common_checks import Check, essential, only_if
from bnplug.testing._probes import FewEdges, Taste
from bnplug.testing._subjects import StructureSubject, require


@essential
def check_returns_a_dag(subject: StructureSubject) -> None:
    """``learn`` returns a pgmpy DAG, or the parents of every variable as numbers, of which ``table.dag`` makes one."""
    from bnplug.model.pgmpy import is_dag

    require(is_dag(subject.result), f"learn returned a {type(subject.result).__name__}; table.dag(parents) makes a DAG")


@essential
def check_nodes_are_the_columns(subject: StructureSubject) -> None:
    """The nodes are the variables of the table, all of them and nothing else."""
    nodes, names = set(subject.result.nodes), set(data.NAMES)
    require(nodes == names, f"nodes and variables differ in {sorted(nodes ^ names, key=str)}")


@essential
def check_acyclic(subject: StructureSubject) -> None:
    """The graph has no cycle."""
    graph = nx.DiGraph(subject.result.edges)
    require(nx.is_directed_acyclic_graph(graph), "the graph has a cycle")


def check_class_present(subject: StructureSubject) -> None:
    """The class has an edge where a feature tells it; without one, every row would be predicted alike."""
    table = data.told_by_a_feature()
    edges = list(subject.run(table).edges)
    require(any(table.target in edge for edge in edges), f"a feature tells the class, and yet the edges are {edges}")


def check_limits_respected(subject: StructureSubject) -> None:
    """``max_parents``, ``k`` and ``max_iter`` are kept to, where it has them."""
    for parameter, (value, is_kept) in _LIMITS.items():
        if subject.has(parameter):
            table = data.standard()
            learner = subject.make(**{parameter: value})
            dag = subject.call(learner, table)
            require(is_kept(table, dag, learner), f"{parameter}={value!r} and yet the edges are {list(dag.edges)}")


@only_if(lambda method: method.constraints)
def check_constraints_respected(subject: StructureSubject) -> None:
    """A learner that declares ``constraints`` keeps to ``required``, ``forbidden`` and ``tiers``."""
    lacking = [name for name in ("required", "forbidden", "tiers") if not subject.has(name)]
    require(not lacking, f"constraints=True is declared, and there is no parameter {', '.join(lacking)}")
    table = data.standard()
    for known in _KNOWN:
        dag = subject.run(table, **known)
        constraints = Constraints(table, **known)
        broken = [(u, v) for u, v in dag.edges if not constraints.allowed[table.index(u), table.index(v)]]
        require(not broken, f"{known} and yet there are the edges {broken}")
        absent = [edge for edge in known.get("required", ()) if edge not in dag.edges]
        require(not absent, f"{known} and yet the edges are {list(dag.edges)}")


@only_if(lambda method: method.constraints)
def check_contradictions_refused(subject: StructureSubject) -> None:
    """What is known and contradicts itself, or names no variable, is a ``ValueError``."""
    for known in (each for each in _CONTRADICTIONS if all(map(subject.has, each))):
        try:
            dag = subject.run(data.standard(), **known)
        except ValueError:
            continue
        require(
            False,
            f"{known} cannot be, and yet the edges are {list(dag.edges)}; Constraints.of(self, table) tells",
        )


@only_if(lambda method: method.needs_score)
def check_any_score_goes(subject: StructureSubject) -> None:
    """A learner that needs a score takes any, given as an instance, even one that has ``score`` and nothing else."""
    table = data.standard()
    subject.require_usable(subject.run(table, score=FewEdges()), table)


@only_if(lambda method: method.needs_score)
def check_score_decides(subject: StructureSubject) -> None:
    """Scores that like other graphs do not all lead to the same one."""
    table = data.standard()
    first, *others = (set(subject.run(table, score=Taste(taste)).edges) for taste in range(_N_TASTES))
    require(
        any(edges != first for edges in others),
        f"{_N_TASTES} scores that like different graphs all lead to {sorted(first)}; let the candidates be compared by "
        "component('score function', self.score, self), or declare needs_score=False",
    )


@only_if(lambda method: method.needs_score)
def check_random_state_is_handed_down(subject: StructureSubject) -> None:
    """A score that has no ``random_state`` of its own is asked with the learner's, or a seed made from it."""
    if subject.has("random_state"):
        with Taste.asked() as seeds:
            subject.run(data.standard(), score=Taste(random_state=None))
        require(
            None not in seeds,
            "random_state is set, and yet the score is asked with random_state=None, so that folds that it draws are "
            "others each time; make it with component('score function', self.score, self)",
        )


def _few_parents(table: Table, dag: Any, learner: Any) -> bool:
    return all(dag.in_degree(name) <= 1 for name in table.names)


def _few_feature_parents(table: Table, dag: Any, learner: Any) -> bool:
    features = [name for name in table.names if name != table.target]
    return all(len(set(dag.predecessors(name)) - {table.target}) <= 1 for name in features)


def _few_moves(table: Table, dag: Any, learner: Any) -> bool:
    return len(getattr(learner, "trace_", ())) <= 2 and getattr(learner, "n_iter_", 0) <= 1


_EDGE = ("x1", "x2")

#: What a learner with constraints keeps to: trees over three features can have or lack each of these.
_KNOWN: tuple[dict[str, Any], ...] = (
    {"required": [_EDGE]},
    {"required": [_EDGE[::-1]]},
    {"forbidden": [_EDGE, _EDGE[::-1]]},
    {"tiers": [["x3"], ["x1", "x2"]]},
    {"tiers": [["x2"], ["x1"]], "required": [("x3", "x1")], "forbidden": [("x3", "x2")]},
)
_CONTRADICTIONS: tuple[dict[str, Any], ...] = (
    {"required": [_EDGE], "forbidden": [_EDGE]},
    {"required": [_EDGE], "tiers": [["x2"], ["x1"]]},
    {"required": [_EDGE, _EDGE[::-1]]},
    {"required": [("x1", "nobody")]},
    {"tiers": [["nobody"], ["x1"]]},
)

# A learner that has no more than two graphs to choose from takes the same of them once in a hundred and twenty-eight.
_N_TASTES = 8

#: For each parameter that names a limit, a value, and whether table, graph and learner keep to it.
_LIMITS: dict[str, tuple[Any, Callable[[Table, Any, Any], bool]]] = {
    "max_parents": (1, _few_parents),
    "k": (1, _few_feature_parents),
    "max_iter": (1, _few_moves),
}

#: In the order in which they are made.
CHECKS: tuple[Check, ...] = (
    *_common_checks.CHECKS,
    check_returns_a_dag,
    check_nodes_are_the_columns,
    check_acyclic,
    check_class_present,
    check_limits_respected,
    check_constraints_respected,
    check_contradictions_refused,
    check_any_score_goes,
    check_score_decides,
    check_random_state_is_handed_down,
)
