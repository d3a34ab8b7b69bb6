"""LogTables, the log parameters of a network, and their estimation from counts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from math import prod
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from bnplug.errors import NotRepresentableError, did_you_mean
from bnplug.html import _kit as html
from bnplug.html._kit import with_display
from bnplug.structure import Structure, check_acyclic, violation
from bnplug.table.coding import State, label_index
from bnplug.table.table import Table
from bnplug.typing import FloatArray

if TYPE_CHECKING:
    from bnplug.typing import DAG, DiscreteBayesianNetwork

# The most states, configurations, nodes and labels that a notebook shows.
_MOST_STATES, _MOST_CONFIGURATIONS, _MOST_NODES, _MOST_LISTED = 30, 16, 40, 6


def _cpt_display(cpt: pd.DataFrame) -> str:
    """Return P(node | parents) with its name: a row per state, a column per configuration of the parents."""
    parents = [] if list(cpt.columns) == ["probability"] else list(map(str, cpt.columns.names))
    given = f" | {', '.join(parents)}" if parents else ""
    return html.display(html.title(f"P({cpt.index.name}{given})"), *_table(cpt))


def _table(cpt: pd.DataFrame) -> list[html.Safe]:
    """Return the first part of the table, each cell shaded by its probability, and a note if more is left."""
    values = cpt.to_numpy(dtype=np.float64)[:_MOST_STATES, :_MOST_CONFIGURATIONS]
    columns = cpt.columns[:_MOST_CONFIGURATIONS]
    head = [
        ["" if name is None else name, *columns.get_level_values(level)] for level, name in enumerate(columns.names)
    ]
    rows = [
        [state, *(html.Cell(html.number(value), shade=value) for value in row)]
        for state, row in zip(cpt.index, values, strict=False)
    ]
    if values.shape == cpt.shape:
        return [html.table(head, rows)]
    n_states, n_configurations = cpt.shape
    left = f"The first part of {n_states:,} states x {n_configurations:,} configurations."
    return [html.table(head, rows), html.note(left)]


#: The largest absolute log of a column's sum for the column to count as normalized.
NORMALIZED = 1e-9

#: The largest absolute value of a finite log parameter, chosen so that sums over all nodes and rows stay finite.
_MAX_LOG_PARAMETER = 1e100

#: The range of the factors of evidence.
LOWEST, HIGHEST = 0.02, 3.0

# numpy's arrays have at most 64 axes.
_MAX_PARENTS = 63


class LogTable(NamedTuple):
    """One node's `parents`, ascending by position in the tables' names, and log parameters, ``(node, *parents)``."""

    parents: tuple[str, ...]
    values: FloatArray

    @property
    def normalized(self) -> bool:
        """Whether every column sums to one."""
        return bool(np.abs(self.log_sums).max(initial=0.0) <= NORMALIZED)

    @property
    def log_sums(self) -> FloatArray:
        """The log of the sum of each column; infinite if it overflows."""
        with np.errstate(over="ignore", divide="ignore"):
            # scipy's logsumexp takes ten times as long, for precision that matters only far from one.
            log_sums: FloatArray = np.log(np.exp(self.values).sum(axis=0))
        return log_sums


class Calibration(NamedTuple):
    """Factors of evidence on the class: `observed` if all features that matter are known, `missing` if none is.

    See :mod:`bnplug.inference.calibration`. Both are 1 for the posterior of the network itself.
    """

    observed: float = 1.0
    missing: float = 1.0


class LogTables:
    """The log parameters of every node of a network.

    The result of a parameter learner. A table need not be normalized: only the posterior P(class | features) of a
    discriminative learner matters, and :meth:`normalize` finds a network with the same posterior.

    Parameters
    ----------
    names : sequence of str
        The variables, in the order of ``table.names``.
    states : mapping of str to sequence
        The state labels of each variable.
    tables : mapping of str to (parents, array)
        For each variable the names of its parents, ascending by position in `names`, and its log
        parameters, with axes ``(node, *parents)``: numbers from -1e100 to 1e100, or ``-inf``.
    target : str, optional
        The class, which :meth:`normalize` needs.

    Attributes
    ----------
    calibration : Calibration
        The factors of :meth:`with_calibration`.

    Examples
    --------
    >>> tables = LogTables(
    ...     ["c", "x"], {"c": ["n", "y"], "x": [0, 1]},
    ...     {"c": ((), np.log([0.5, 0.5])), "x": (("c",), np.log([[0.9, 0.2], [0.1, 0.8]]))})
    >>> tables.normalized, tables.edges
    (True, [('c', 'x')])
    >>> parents, values = tables["x"]
    >>> parents, np.exp(values).round(1).tolist()
    (('c',), [[0.9, 0.2], [0.1, 0.8]])
    """

    def __init__(
        self,
        names: Sequence[str],
        states: Mapping[str, Sequence[State]],
        tables: Mapping[str, tuple[Sequence[str], npt.ArrayLike]],
        target: str | None = None,
    ) -> None:
        self.names = tuple(names)
        self.target = target
        self.calibration = Calibration()
        if len(set(names)) != len(names):
            raise ValueError(f"names are not distinct: {list(names)}")
        for what, mapping in (("states", states), ("tables", tables)):
            if set(mapping) != set(names):
                raise ValueError(f"{what} and names disagree about {sorted(set(mapping) ^ set(names))}")
        _check_target(target, self.names)
        self.states: dict[str, tuple[State, ...]] = {name: tuple(states[name]) for name in self.names}
        self.tables = {
            name: LogTable(tuple(tables[name][0]), np.ascontiguousarray(tables[name][1], dtype=np.float64))
            for name in self.names
        }
        position = {name: i for i, name in enumerate(self.names)}
        for name, table in self.tables.items():
            self._check_table(name, table, position)
        check_acyclic(self.names, [[position[parent] for parent in table.parents] for table in self.tables.values()])

    def _check_table(self, name: str, table: LogTable, position: Mapping[str, int]) -> None:
        labels = self.states[name]
        # By type and text: 1 and True, or 0.0 and -0.0, are equal but distinct labels.
        if not labels or len({(type(label), repr(label)) for label in labels}) < len(labels):
            raise ValueError(f"node {name!r}: its states must be one or more distinct labels, not {list(labels)}")
        unknown = [parent for parent in table.parents if parent not in position]
        if unknown:
            raise ValueError(f"node {name!r} has parents {unknown}, which are not among the variables")
        order = [position[parent] for parent in table.parents]
        if order != sorted(set(order)):
            raise ValueError(f"node {name!r}: parents {table.parents} are not ascending by position in names")
        shape = tuple(len(self.states[variable]) for variable in (name, *table.parents))
        if table.values.shape != shape:
            raise ValueError(
                f"node {name!r}: the table has shape {table.values.shape}; its states and those of its "
                f"parents {table.parents} make {shape}"
            )
        values = table.values
        # Comparisons with NaN are False.
        in_range = (values <= _MAX_LOG_PARAMETER) & ((values >= -_MAX_LOG_PARAMETER) | np.isneginf(values))
        if not in_range.all():
            raise ValueError(
                f"node {name!r}: log parameters must be finite numbers from {-_MAX_LOG_PARAMETER:g} to "
                f"{_MAX_LOG_PARAMETER:g}, or -inf"
            )

    def __getitem__(self, name: str) -> LogTable:
        """Return a node's parents and log parameters."""
        if name not in self.tables:
            raise KeyError(f"there is no variable {name!r} among {list(self.names)}.{did_you_mean(name, self.names)}")
        return self.tables[name]

    def __contains__(self, name: object) -> bool:
        return name in self.tables

    def with_target(self, target: str | None) -> LogTables:
        """Return the same parameters with `target` as the class."""
        _check_target(target, self.names)
        other = copy(self)
        other.target = target
        other.calibration = self.calibration if target == self.target else Calibration()
        return other

    def with_calibration(self, calibration: Sequence[float]) -> LogTables:
        """Return the same parameters with factors of evidence for posteriors of the class.

        `calibration` holds two numbers from 0.02 to 3: see :class:`Calibration`.
        """
        is_valid = [
            isinstance(factor, int | float | np.number) and LOWEST <= factor <= HIGHEST for factor in calibration
        ]
        if is_valid != [True, True]:
            raise ValueError(
                f"the factors of evidence must be two numbers from {LOWEST} to {HIGHEST}, not {tuple(calibration)}"
            )
        other = copy(self)
        other.calibration = Calibration(*map(float, calibration))
        return other

    def _with_arrays(self, arrays: Mapping[str, npt.ArrayLike]) -> LogTables:
        """Return the same network with other log parameters for some of its nodes."""
        tables = {name: (parents, arrays.get(name, values)) for name, (parents, values) in self.tables.items()}
        other = LogTables(self.names, self.states, tables, self.target)
        other.calibration = self.calibration
        return other

    @property
    def parents(self) -> dict[str, tuple[str, ...]]:
        """The parents of every node, by name."""
        return {name: table.parents for name, table in self.tables.items()}

    @property
    def structure(self) -> Structure:
        """The structure: the positions of the parents of every node."""
        position = {name: v for v, name in enumerate(self.names)}
        return Structure(self.names, [[position[parent] for parent in table.parents] for table in self.tables.values()])

    @property
    def edges(self) -> list[tuple[str, str]]:
        """The edges (parent, child), by child in the order of names."""
        return [(parent, name) for name, table in self.tables.items() for parent in table.parents]

    @property
    def n_parameters(self) -> int:
        """Dim(G): the number of free parameters, (states - 1) x parent configurations over all nodes."""
        return sum((t.values.shape[0] - 1) * prod(t.values.shape[1:]) for t in self.tables.values())

    @property
    def normalized(self) -> bool:
        """Whether every column of every node's table sums to one."""
        return self.unnormalized_node() is None

    def unnormalized_node(self) -> str | None:
        """Return the first node with a column that does not sum to one, if there is one."""
        return next((name for name, table in self.tables.items() if not table.normalized), None)

    def probabilities(self) -> dict[str, FloatArray]:
        """Return the probabilities of every node; a table not normalized is a ``NotRepresentableError``."""
        name = self.unnormalized_node()
        if name is not None:
            raise NotRepresentableError(
                f"node {name!r} has columns that do not sum to one, so this is no Bayesian network; {self._way_out()}"
            )
        return {name: np.exp(table.values) for name, table in self.tables.items()}

    def _way_out(self) -> str:
        """Explain whether a network with the same posterior of the class exists."""
        violated = None if self.target is None else violation(self.parents, self.target)
        if violated is None:
            return "normalize() gives one with the same posterior where the structure allows it"
        node, (a, b) = violated
        return (
            f"nor need any on this structure have the same posterior, since it is not C1: the parents {a!r} and {b!r} "
            f"of {node!r} are not adjacent"
        )

    def normalize(self, target: str | None = None) -> LogTables:
        """Return tables with the same posterior of the class; see :func:`bnplug.model.wettig.normalize`."""
        from bnplug.model.wettig import normalize

        chosen = target if target is not None else self.target
        if chosen is None:
            raise ValueError("normalize needs the class: normalize(target), or LogTables(..., target=...)")
        return normalize(self, chosen)

    def cpt(self, name: str) -> pd.DataFrame:
        """Return a node's probabilities: a row for each state, a column for each configuration of the parents."""
        parents, values = self[name]
        rows = pd.Index(self.states[name], dtype=object, name=name)
        if not parents:
            return with_display(pd.DataFrame({"probability": np.exp(values)}, index=rows), _cpt_display)
        columns = pd.MultiIndex.from_product([label_index(self.states[p]) for p in parents], names=parents)
        frame = pd.DataFrame(np.exp(values).reshape(len(rows), -1), index=rows, columns=columns)
        return with_display(frame, _cpt_display)

    def to_dag(self) -> DAG:
        """Return the structure as a pgmpy DAG, its nodes in the order of the names."""
        return self.structure.to_dag()

    def to_network(self) -> DiscreteBayesianNetwork:
        """Return the pgmpy network; a ``NotRepresentableError`` if pgmpy cannot represent a table."""
        from bnplug.model.pgmpy import make_network

        values = self.probabilities()
        return make_network(self.names, self.states, {n: (self.tables[n].parents, values[n]) for n in self.names})

    @classmethod
    def from_network(cls, network: DiscreteBayesianNetwork, target: str | None = None) -> LogTables:
        """Return the log parameters of a pgmpy network, its nodes in their own order."""
        from bnplug.model.pgmpy import read_network

        names, states, families = read_network(network)
        with np.errstate(divide="ignore"):
            tables = {name: (parents, np.log(values)) for name, (parents, values) in families.items()}
        return cls(names, states, tables, target)

    def log_likelihood(self, table: Table, incomplete: bool = False) -> float:
        """Return the weighted log-likelihood of rows; if `incomplete`, each family uses the rows that know it."""
        if set(table.names) != set(self.names) or any(table.states[n] != self.states[n] for n in self.names):
            raise ValueError("the table's variables or states differ from those of these parameters")
        holes = [name for name, lacking in zip(table.names, table.has_missing, strict=True) if lacking]
        if holes and not incomplete:
            raise ValueError(f"columns {holes} have missing cells; give complete rows, or incomplete=True")
        families = [[table.index(n) for n in (name, *parents)] for name, (parents, _) in self.tables.items()]
        total = 0.0
        for counts, (_, values) in zip(table.counts(families), self.tables.values(), strict=True):
            seen = counts > 0
            total += float((counts[seen] * values[seen]).sum())
        return total

    def __repr__(self) -> str:
        return f"LogTables({len(self.names)} nodes, {len(self.edges)} edges, {self.n_parameters} parameters)"

    def _repr_html_(self) -> str:
        """Return the nodes with their states and parents; each node expands to its table."""
        names = self.names[:_MOST_NODES]
        nodes = [
            {
                "name": name,
                "states": html.listing(self.states[name], _MOST_LISTED),
                "parents": html.listing(self.tables[name].parents, _MOST_LISTED),
                "tables": _table(self.cpt(name)),
            }
            for name in names
        ]
        n_left = len(self.names) - len(names)
        return html.render("nodes.html", network=self, summary=repr(self), nodes=nodes, n_left=n_left)


def estimate(counts: FloatArray, alpha: float = 1.0, floor: float = 0.0) -> FloatArray:
    """Return log probabilities from counts with axes ``(node, *parents)``.

    ``theta = (n[j|h] + alpha / (r q)) / (n[h] + alpha / q)`` for r states and q parent configurations
    (Peharz et al. 2013, eq. 4): virtual counts that are consistent between tables. `alpha` is the virtual sample size;
    with 0, a configuration never seen is uniform. Probabilities below `floor` are lifted to it, and the column
    renormalized.
    """
    states = counts.shape[0]
    smoothed = counts + alpha / counts.size
    totals = smoothed.sum(axis=0)
    unseen = totals <= 0
    theta = np.where(unseen, 1.0 / states, smoothed / np.where(unseen, 1.0, totals))
    if floor > 0:
        theta = np.maximum(theta, floor)
        theta /= theta.sum(axis=0)
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(theta))


def check_size(table: Table, parents: Sequence[Sequence[int]], max_parameters: int) -> None:
    """Raise a ``ValueError`` if tables would have more than `max_parameters` cells, or a node too many parents."""
    for node, of_node in enumerate(parents):
        if len(of_node) > _MAX_PARENTS:
            raise ValueError(
                f"{table.names[node]!r} has {len(of_node)} parents, more than {_MAX_PARENTS}; use fewer parents"
            )
    sizes = [prod(int(table.cards[v]) for v in (node, *of_node)) for node, of_node in enumerate(parents)]
    if sum(sizes) <= max_parameters:
        return
    node = int(np.argmax(sizes))
    names = [table.names[p] for p in parents[node]]
    raise ValueError(
        f"the tables of this structure would hold {sum(sizes):,} parameters, more than max_parameters="
        f"{max_parameters:,}; the largest is that of {table.names[node]!r} with parents {names}: "
        f"{sizes[node]:,}. Use fewer parents, fewer states, or a larger max_parameters"
    )


def _check_target(target: str | None, names: tuple[str, ...]) -> None:
    if target is not None and target not in names:
        raise ValueError(f"target {target!r} is not among the variables {list(names)}.{did_you_mean(target, names)}")
