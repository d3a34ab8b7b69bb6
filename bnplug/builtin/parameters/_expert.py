"""Expert knowledge: a network as a prior, or fixed tables of single nodes.

A network is `LogTables` or a pgmpy network. A single table is written in plain Python: ``{state: probability}``, or
``(parents, {states of the parents: {state: probability}})``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from bnplug.errors import article, did_you_mean
from bnplug.inference.queries import query
from bnplug.model.log_tables import LogTables
from bnplug.table.coding import State, as_label
from bnplug.table.table import Table
from bnplug.typing import FloatArray

# Tolerance for the sum of probabilities that are written by hand.
_ROUNDED = 1e-6


class Family(NamedTuple):
    """The probabilities of a node: names are the node and its parents, with their states and an axis for each."""

    names: tuple[str, ...]
    states: list[list[State]]
    values: FloatArray


class Prior:
    """The network of the virtual rows.

    Variables that it does not have are uniform and independent; variables that the data do not have are summed out.
    """

    def __init__(self, given: Any, table: Table) -> None:
        self.network = _network(families(given, "prior"))
        self.table = table
        if not set(self.network.names) & set(table.names):
            raise ValueError(
                f"the prior has the variables {list(self.network.names)}, none of which is in the data, "
                f"{list(table.names)}"
            )

    def joint(self, v: int, parents: Sequence[int]) -> FloatArray:
        """Return P(node, parents), with axes in this order and the states of the data."""
        names = [self.table.names[u] for u in (v, *parents)]
        known = [name for name in names if name in self.network]
        joint = query(self.network, known) if known else np.ones(())
        for axis, name in enumerate(known):
            joint = joint.take(_places(self.table, name, self.network.states[name], "the prior"), axis)
        sizes = {name: len(self.table.states[name]) for name in names}
        shape = [size if name in self.network else 1 for name, size in sizes.items()]
        uniform = np.prod([size for name, size in sizes.items() if name not in self.network])
        return np.array(np.broadcast_to(joint.reshape(shape) / uniform, list(sizes.values())))


def fixed_tables(given: Any, table: Table, parents: Sequence[Sequence[int]]) -> dict[int, FloatArray]:
    """Return the log probabilities of the nodes whose tables are given, with axes as in the structure."""
    tables: dict[int, FloatArray] = {}
    for name, family in families(given, "fixed").items():
        if name in table.left_out:
            continue
        if name not in table.names:
            raise ValueError(
                f"fixed has a table of {name!r}, which is not a variable; the variables are {list(table.names)}."
                f"{did_you_mean(name, table.names)}"
            )
        v = table.index(name)
        values = _as_in_structure(family, [table.names[u] for u in parents[v]])
        for axis, variable in enumerate((name, *(table.names[u] for u in parents[v]))):
            states = family.states[family.names.index(variable)]
            values = values.take(_places(table, variable, states, f"the table of {name!r}", whole=axis == 0), axis)
        with np.errstate(divide="ignore"):
            tables[v] = np.log(values)
    return tables


def _as_in_structure(family: Family, parents: Sequence[str]) -> FloatArray:
    """Return a table with the parents' axes in the order of the structure."""
    name, *given = family.names
    if set(given) != set(parents):
        raise ValueError(
            f"fixed: the table of {name!r} has the parents {given}, the structure has {list(parents)}; use a structure "
            f"with the same parents: edges, or a learner with required={[(parent, name) for parent in given]}"
        )
    return family.values.transpose([family.names.index(variable) for variable in (name, *parents)])


def families(given: Any, what: str) -> dict[str, Family]:
    """Return the tables of a network or a mapping, by node; in a mapping, a network gives the table of its node."""
    if not isinstance(given, Mapping):
        tables = _tables(given, what)
        return {name: _of_network(tables, name) for name in tables.names}
    tables_by_node = {}
    for name, table in given.items():
        if isinstance(table, LogTables) or hasattr(table, "get_cpds"):
            tables = _tables(table, what)
            if name not in tables:
                raise ValueError(f"{what}: the network for {name!r} has no such variable, but {list(tables.names)}")
            tables_by_node[str(name)] = _of_network(tables, name)
        else:
            tables_by_node[str(name)] = _written(str(name), table, what)
    return tables_by_node


def _tables(given: Any, what: str) -> LogTables:
    if isinstance(given, LogTables):
        return given
    if hasattr(given, "get_cpds"):
        return LogTables.from_network(given)
    advice = "; pass the classifier's tables_" if hasattr(given, "tables_") else ""
    raise ValueError(
        f"{what} must be LogTables, a pgmpy network or a dict of tables, not {article(type(given).__name__)}{advice}"
    )


def _of_network(tables: LogTables, name: str) -> Family:
    names = (name, *tables[name].parents)
    return Family(names, [list(tables.states[variable]) for variable in names], tables.probabilities()[name])


def _written(name: str, table: Any, what: str) -> Family:
    """Return a table that is written in plain Python."""
    where = f"{what}: the table of {name!r}"
    parents, rows = table if isinstance(table, tuple | list) and len(table) == 2 else ((), table)
    parents = (parents,) if isinstance(parents, str) else parents
    if not isinstance(parents, tuple | list) or not isinstance(rows, Mapping) or not rows:
        raise ValueError(f"{where} is {{state: probability}}, or (parents, {{their states: {{state: probability}}}})")
    columns: dict[tuple[State, ...], Any] = {(): rows}
    if parents:
        columns = {_configuration(key, parents, where): column for key, column in rows.items()}
    if not all(isinstance(column, Mapping) for column in columns.values()):
        raise ValueError(f"{where} has {{state: probability}} for each configuration of its parents")
    states = [_distinct(state for column in columns.values() for state in column)]
    states += [_distinct(key[place] for key in columns) for place in range(len(parents))]
    values = np.zeros([len(labels) for labels in states])
    for place in product(*(range(len(labels)) for labels in states[1:])):
        key = tuple(labels[i] for labels, i in zip(states[1:], place, strict=True))
        if key not in columns:
            raise ValueError(f"{where} says nothing of the parents' states {key}")
        at: tuple[Any, ...] = (slice(None), *place)
        values[at] = _column(columns[key], states[0], f"{where}, parents in {key}" if key else where)
    return Family((name, *parents), states, values)


def _configuration(key: Any, parents: Sequence[str], where: str) -> tuple[State, ...]:
    """Return the states of the parents; the state of a single parent need not be in a tuple."""
    states = key if isinstance(key, tuple) else (key,)
    if len(states) != len(parents):
        raise ValueError(f"{where} has the parents {list(parents)}; {key!r} is not one state of each")
    return tuple(as_label(state) for state in states)


def _column(column: Mapping[Any, Any], states: Sequence[State], where: str) -> FloatArray:
    given = {as_label(state): share for state, share in column.items()}
    try:
        values = np.array([given.get(state, 0.0) for state in states], dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"{where}: {dict(column)} are not probabilities") from None
    if not (values >= 0).all() or not abs(values.sum() - 1) <= _ROUNDED:
        raise ValueError(f"{where}: {dict(column)} must be probabilities that sum to one")
    return np.asarray(values / values.sum())


def _network(nodes: Mapping[str, Family]) -> LogTables:
    """Return the network of tables by node; every parent needs a table."""
    names = list(nodes)
    tables = {}
    for name, family in nodes.items():
        for parent in family.names[1:]:
            if parent not in nodes:
                raise ValueError(f"prior: {name!r} has the parent {parent!r}, which has no table; add one")
        order = sorted(family.names[1:], key=names.index)
        values = family.values.transpose([family.names.index(variable) for variable in (name, *order)])
        for axis, parent in enumerate(order, 1):
            given, wanted = family.states[family.names.index(parent)], nodes[parent].states[0]
            if set(given) != set(wanted):
                raise ValueError(f"prior: the table of {name!r} has {parent!r} with states {given}, not {wanted}")
            values = values.take([given.index(state) for state in wanted], axis)
        with np.errstate(divide="ignore"):
            tables[name] = (order, np.log(values))
    return LogTables(names, {name: nodes[name].states[0] for name in names}, tables)


def _places(table: Table, name: str, states: Sequence[State], where: str, whole: bool = False) -> list[int]:
    """Return the positions of the data's states of a variable among `states`; `whole` forbids other states."""
    known = table.states[name]
    lacking = [state for state in known if state not in states]
    if lacking:
        raise ValueError(
            f"{where} does not know the states {lacking} of {name!r}, only {list(states)}; the states of a numeric "
            "column are its bins"
        )
    more = [state for state in states if state not in known]
    if whole and more:
        raise ValueError(
            f"{where} has the states {more} of {name!r}, which the data do not; give the column as a pandas "
            f"categorical with the categories {list(states)}"
        )
    return [list(states).index(state) for state in known]


def _distinct(states: Iterable[Any]) -> list[State]:
    return list(dict.fromkeys(as_label(state) for state in states))
