"""Tables that somebody knows: of a whole network, as a prior, or of single nodes, as they are.

A network is `LogTables` or one of pgmpy. A table by itself is written in plain Python: ``{state: probability}``, or
``(parents, {states of the parents: {state: probability}})``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from bnplug.arrays import FloatArray
from bnplug.data.coding import State, as_label
from bnplug.errors import did_you_mean
from bnplug.inference.queries import query
from bnplug.model.log_tables import LogTables

if TYPE_CHECKING:
    from bnplug.data.table import Table

# How far the sum of given probabilities may be from 1: they are written by hand.
_ROUNDED = 1e-6


class Family(NamedTuple):
    """The table of a node.

    Attributes
    ----------
    names : tuple of str
        The node, then its parents.
    states : list of lists
        The states of each, in the order of `values`.
    values : float64 array
        Probabilities, with an axis for each of `names`.
    """

    names: tuple[str, ...]
    states: list[list[State]]
    values: FloatArray


class Prior:
    """The network that virtual rows come from.

    A variable that it does not have is uniform and depends on nothing; one that the data do not have is summed out.

    Parameters
    ----------
    given : LogTables, pgmpy network or mapping of str to tables
    table : Table
        The variables of the data.
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
        """Return P(node, parents), with axes in this order and states as the data have them."""
        names = [self.table.names[u] for u in (v, *parents)]
        known = [name for name in names if name in self.network]
        joint = query(self.network, known) if known else np.ones(())
        for axis, name in enumerate(known):
            joint = joint.take(_places(self.table, name, self.network.states[name], "the prior"), axis)
        shape = [len(self.table.states[name]) for name in names]
        own = [size if name in self.network else 1 for name, size in zip(names, shape, strict=True)]
        uniform = np.prod([size for name, size in zip(names, shape, strict=True) if name not in self.network])
        return np.array(np.broadcast_to(joint.reshape(own) / uniform, shape))


def fixed_tables(given: Any, table: Table, parents: Sequence[Sequence[int]]) -> dict[int, FloatArray]:
    """Return the log probabilities of the nodes whose tables are given, with axes as in the structure.

    Raises
    ------
    ValueError
        If a node is not in the data, has other parents in the structure than in its table, or other states.
    """
    found: dict[int, FloatArray] = {}
    for name, family in families(given, "fixed").items():
        if name in table.left_out:
            continue
        if name not in table.names:
            raise ValueError(
                f"fixed has a table of {name!r}, which is no variable; there are {list(table.names)}."
                f"{did_you_mean(name, table.names)}"
            )
        v = table.index(name)
        values = _as_in_structure(family, [table.names[u] for u in parents[v]])
        for axis, variable in enumerate((name, *(table.names[u] for u in parents[v]))):
            states = family.states[family.names.index(variable)]
            values = values.take(_places(table, variable, states, f"the table of {name!r}", whole=axis == 0), axis)
        with np.errstate(divide="ignore"):
            found[v] = np.log(values)
    return found


def _as_in_structure(family: Family, parents: Sequence[str]) -> FloatArray:
    """Return a table with its parents' axes as the structure has them."""
    name, *own = family.names
    if set(own) != set(parents):
        raise ValueError(
            f"fixed: the table of {name!r} has the parents {own}, the structure {list(parents)}; give a structure that "
            f"has them: edges, or a learner with required={[(parent, name) for parent in own]}"
        )
    return family.values.transpose([family.names.index(variable) for variable in (name, *parents)])


def families(given: Any, what: str) -> dict[str, Family]:
    """Return the tables of a network, or those of a mapping, by node.

    Parameters
    ----------
    given : LogTables, pgmpy network or mapping
        Of a mapping, a value is a table, or a network that has the node.
    what : str
        What messages call it.

    Examples
    --------
    >>> found = families({"wet": ("rain", {"yes": {1: 0.9, 0: 0.1}, "no": {1: 0.2, 0: 0.8}})}, "fixed")
    >>> found["wet"].names, found["wet"].states, found["wet"].values.tolist()
    (('wet', 'rain'), [[1, 0], ['yes', 'no']], [[0.9, 0.2], [0.1, 0.8]])
    """
    if not isinstance(given, Mapping):
        tables = _tables(given, what)
        return {name: _of_network(tables, name) for name in tables.names}
    found = {}
    for name, table in given.items():
        if isinstance(table, LogTables) or hasattr(table, "get_cpds"):
            tables = _tables(table, what)
            if name not in tables:
                raise ValueError(f"{what}: the network for {name!r} has no such variable, but {list(tables.names)}")
            found[str(name)] = _of_network(tables, name)
        else:
            found[str(name)] = _written(str(name), table, what)
    return found


def _tables(given: Any, what: str) -> LogTables:
    if isinstance(given, LogTables):
        return given
    if hasattr(given, "get_cpds"):
        return LogTables.from_network(given)
    advice = "; of a classifier, give its tables_" if hasattr(given, "tables_") else ""
    raise ValueError(
        f"{what} is LogTables, a pgmpy network or a dict of tables by node, not a {type(given).__name__}{advice}"
    )


def _of_network(tables: LogTables, name: str) -> Family:
    names = (name, *tables[name].parents)
    return Family(names, [list(tables.states[own]) for own in names], tables.probabilities()[name])


def _written(name: str, table: Any, what: str) -> Family:
    """Return a table that is written in plain Python."""
    where = f"{what}: the table of {name!r}"
    parents, rows = table if isinstance(table, tuple | list) and len(table) == 2 else ((), table)
    parents = (parents,) if isinstance(parents, str) else parents
    if not isinstance(parents, tuple | list) or not isinstance(rows, Mapping) or not rows:
        raise ValueError(f"{where} is {{state: probability}}, or (parents, {{their states: {{state: probability}}}})")
    columns: dict[tuple[State, ...], Any] = {(): rows}
    if parents:
        columns = {_configuration(key, parents, where): own for key, own in rows.items()}
    if not all(isinstance(own, Mapping) for own in columns.values()):
        raise ValueError(f"{where} has {{state: probability}} for each configuration of its parents")
    states = [_distinct(own for column in columns.values() for own in column)]
    states += [_distinct(key[place] for key in columns) for place in range(len(parents))]
    values = np.zeros([len(own) for own in states])
    for place in product(*(range(len(own)) for own in states[1:])):
        key = tuple(own[i] for own, i in zip(states[1:], place, strict=True))
        if key not in columns:
            raise ValueError(f"{where} says nothing of the parents' states {key}")
        at: tuple[Any, ...] = (slice(None), *place)
        values[at] = _column(columns[key], states[0], f"{where}, parents in {key}" if key else where)
    return Family((name, *parents), states, values)


def _configuration(key: Any, parents: Sequence[str], where: str) -> tuple[State, ...]:
    """Return the states of the parents, of which one alone need not be in a tuple."""
    states = key if isinstance(key, tuple) else (key,)
    if len(states) != len(parents):
        raise ValueError(f"{where} has the parents {list(parents)}; {key!r} is not one state of each")
    return tuple(as_label(state) for state in states)


def _column(column: Mapping[Any, Any], states: Sequence[State], where: str) -> FloatArray:
    given = {as_label(state): share for state, share in column.items()}
    try:
        values = np.array([given.get(state, 0.0) for state in states], dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"{where}: {dict(column)} are no probabilities") from None
    if not (values >= 0).all() or not abs(values.sum() - 1) <= _ROUNDED:
        raise ValueError(f"{where}: {dict(column)} are no probabilities that sum to one")
    return np.asarray(values / values.sum())


def _network(found: Mapping[str, Family]) -> LogTables:
    """Return the network of tables by node; every parent needs one."""
    names = list(found)
    tables = {}
    for name, family in found.items():
        for parent in family.names[1:]:
            if parent not in found:
                raise ValueError(f"prior: {name!r} has the parent {parent!r}, of which there is no table; give one")
        order = sorted(family.names[1:], key=names.index)
        values = family.values.transpose([family.names.index(own) for own in (name, *order)])
        for axis, parent in enumerate(order, 1):
            there, wanted = family.states[family.names.index(parent)], found[parent].states[0]
            if set(there) != set(wanted):
                raise ValueError(f"prior: the table of {name!r} has the states {there} of {parent!r}, its own {wanted}")
            values = values.take([there.index(state) for state in wanted], axis)
        with np.errstate(divide="ignore"):
            tables[name] = (order, np.log(values))
    return LogTables(names, {name: found[name].states[0] for name in names}, tables)


def _places(table: Table, name: str, states: Sequence[State], where: str, whole: bool = False) -> list[int]:
    """Return where the data's states of a variable are among others; `whole`: there may be no more of those."""
    own = table.states[name]
    lacking = [state for state in own if state not in states]
    if lacking:
        raise ValueError(
            f"{where} does not know the states {lacking} of {name!r}, only {list(states)}; the states of a numeric "
            "column are its bins"
        )
    more = [state for state in states if state not in own]
    if whole and more:
        raise ValueError(
            f"{where} has the states {more} of {name!r}, which the data do not; give the column as a pandas "
            f"categorical with the categories {list(states)}"
        )
    return [list(states).index(state) for state in own]


def _distinct(states: Iterable[Any]) -> list[State]:
    return list(dict.fromkeys(as_label(state) for state in states))
