"""Check given structures and the results of learners; errors name the learner."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any

from bnplug.errors import ConstantPredictionWarning, ContractError, warn_outside
from bnplug.hooks.registry import origin
from bnplug.model.log_tables import LogTables
from bnplug.model.wettig import is_c1
from bnplug.table._dags import check_acyclic, parents_by_number
from bnplug.table.table import Table

if TYPE_CHECKING:
    from bnplug.model.pgmpy import DAG


def given_dag(structure: Any, table: Table) -> DAG:
    """Return a given graph, or list of edges by name, as a DAG over the table's variables.

    Edges of omitted columns (``table.left_out``) are ignored.
    """
    if hasattr(structure, "is_directed") and not structure.is_directed():
        raise ValueError("structure is an undirected graph; a DAG says which end of an edge is the parent")
    nodes, edges = getattr(structure, "nodes", ()), getattr(structure, "edges", structure)
    if not isinstance(edges, Iterable):
        raise TypeError(f"structure is a name, a learner, a DAG or a list of edges (parent, child), not {structure!r}")
    edges = list(edges)
    for edge in edges:
        if isinstance(edge, str) or len(edge) != 2:
            raise ValueError(f"structure: an edge is a pair (parent, child) of names, not {edge!r}")
    unknown = sorted({str(name) for name in chain(nodes, *edges)} - {*table.names, *table.left_out})
    if unknown:
        raise ValueError(f"structure names {unknown}; the variables are {list(table.names)}")
    parents: list[list[int]] = [[] for _ in table.names]
    for parent, child in edges:
        if not {str(parent), str(child)} & set(table.left_out):
            parents[table.index(str(child))].append(table.index(str(parent)))
    return table.dag(parents)


def warn_of_constant_prediction(table: Table, parents: Sequence[Sequence[int]]) -> None:
    """Warn if the class has neither parents nor children in a learned structure."""
    target = table.target_index
    if parents[target] or any(target in of_node for of_node in parents):
        return
    warn_outside(
        f"No feature affects the prediction: in the learned structure, the class {table.target!r} has neither parents "
        "nor children, so every row is predicted by the class prior. Start the search from naive Bayes (start='nb'), "
        "choose another score, or use structure='nb' or 'tan'",
        ConstantPredictionWarning,
    )


def check_dag(learned: Any, table: Table, learner: object) -> DAG:
    """Return what ``learn`` returned, a DAG or the parents of every variable as numbers, as a DAG of the table.

    Anything else, other nodes than the table's variables, or a cycle is a ``ContractError`` that names the learner.
    """
    if parents_by_number(learned, table.names) is not None:
        return learned
    if isinstance(learned, Sequence) and not isinstance(learned, str):
        try:
            return table.dag(learned)
        except (TypeError, ValueError) as error:
            raise ContractError(f"{origin(learner)}: learn returned numbers that make no DAG: {error}") from error
    from bnplug.model.pgmpy import is_dag

    if not is_dag(learned):
        what = type(learned).__name__
        raise ContractError(f"{origin(learner)}: learn returned a {what}, not a pgmpy DAG, nor parents as numbers")
    if set(learned.nodes) != set(table.names):
        odd = sorted(set(learned.nodes) ^ set(table.names), key=str)
        raise ContractError(f"{origin(learner)}: the DAG's nodes are not the table's variables; they differ in {odd}")
    try:
        check_acyclic(table.names, table.parents(learned))
    except ValueError as error:
        raise ContractError(f"{origin(learner)}: the graph has a cycle: {error}") from None
    return learned


def check_tables(tables: Any, table: Table, parents: list[list[int]], learner: object) -> LogTables:
    """Return learned parameters, normalized where the structure allows it; else a ``ContractError``.

    Parameters that do not sum to one define no Bayesian network. On a C1 structure, the network with the same posterior
    is returned instead.
    """
    if not isinstance(tables, LogTables):
        raise ContractError(f"{origin(learner)}: fit returned a {type(tables).__name__}, not LogTables")
    if tables.names != table.names or tables.states != table.states:
        raise ContractError(f"{origin(learner)}: the parameters' variables or states are not the table's")
    for v, name in enumerate(table.names):
        expected = tuple(table.names[p] for p in parents[v])
        if tables.tables[name].parents != expected:
            raise ContractError(
                f"{origin(learner)}: {name!r} has parents {tables.tables[name].parents}, in the DAG {expected}"
            )
    checked = tables.with_target(table.target)
    if not checked.normalized and is_c1(checked.parents, table.target):
        return checked.normalize()
    return checked
