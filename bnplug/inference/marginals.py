"""Exact marginals: the class with any features missing, and any variables given any evidence.

The tables of a network are taken as one measure, their product, and what is missing is summed out of
it. For a network whose columns sum to one that measure is its joint distribution. Discriminative
parameters that are not normalised define a measure too, with the posterior they were fitted for on
complete rows; its marginals are what a missing feature then means, and no table is left out of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from graphlib import TopologicalSorter
from itertools import accumulate, chain
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt
from joblib import Parallel, delayed, effective_n_jobs
from scipy.special import logsumexp

from bnplug.arrays import CodeArray, FloatArray, IntArray
from bnplug.errors import did_you_mean
from bnplug.inference._missing_part import AXIS, NODE, Network
from bnplug.inference.complete import log_joint, terms
from bnplug.inference.elimination import add_missing
from bnplug.model.log_tables import NORMALIZED, LogTables

Factor = tuple[tuple[str, ...], FloatArray]

#: Cells of the largest table that marginalising may need, unless told otherwise.
MAX_CLIQUE_SIZE = 10_000_000

# Rows that a thread takes at a time.
_BLOCK = 1024


class Marginalizer:
    """Log joints of rows with any pattern of missing features.

    Each row is instantiated with what is observed, so that it costs what its missing part costs: naive
    Bayes skips a missing feature, a tree sends messages along missing features only, and any other DAG
    is summed clique by clique. Two kinds of node are left out first: barren ones (missing, with nothing
    observed below them), where their columns sum to one, and those that the observed features separate
    from the class. The latter are the same for every class, even where they are impossible.

    Parameters
    ----------
    tables : LogTables
        The log parameters. A node whose columns do not sum to one is never barren.
    target : str
        The class.
    max_clique_size : int
        The number of cells that the largest table may have.

    Examples
    --------
    >>> tables = LogTables(
    ...     ["c", "x", "y"], {"c": ["n", "p"], "x": [0, 1], "y": [0, 1]},
    ...     {"c": ((), np.log([0.5, 0.5])),
    ...      "x": (("c",), np.log([[0.9, 0.2], [0.1, 0.8]])),
    ...      "y": (("c", "x"), np.log([[[0.3, 0.6], [0.5, 0.1]], [[0.7, 0.4], [0.5, 0.9]]]))})
    >>> codes = np.array([[255], [255], [1]], dtype=np.uint8)  # x is missing, y is 1
    >>> np.exp(Marginalizer(tables, "c").log_joint(codes)).round(3)
    array([[0.335, 0.41 ]])
    """

    def __init__(self, tables: LogTables, target: str, max_clique_size: int = MAX_CLIQUE_SIZE) -> None:
        self.tables = tables
        self.target = target
        self.max_clique_size = max_clique_size
        self._terms = terms(tables, target)

    def log_joint(self, codes: CodeArray, n_jobs: int | None = None) -> FloatArray:
        """Return L[m, c] = log P(c, what row m observes), up to what is the same for all classes.

        Parameters
        ----------
        codes : unsigned array of shape (variables, rows)
            In the order of the tables' names; the dtype's largest value is missing. What it says about
            the class is not read.
        n_jobs : int, optional
            Threads, as joblib counts them. The result does not depend on it.

        Returns
        -------
        float64 array of shape (rows, classes)
            A row that is impossible under every class is all ``-inf``.

        Raises
        ------
        ValueError
            If a row needs a table of more than `max_clique_size` cells; the message names its variables.
        """
        joint = log_joint(self._terms, codes)
        features = np.arange(len(codes)) != self.tables.names.index(self.target)
        rows = np.flatnonzero((codes[features] == np.iinfo(codes.dtype).max).any(axis=0))
        if len(rows) > 0 and not self._skipping_is_exact:
            self._add_missing(codes, rows, joint, n_jobs)
        return joint

    def _add_missing(self, codes: CodeArray, rows: IntArray, joint: FloatArray, n_jobs: int | None) -> None:
        """Add what tables with missing features give to the rows of `joint`; the others are in it."""
        network, missing = tuple(self._network), np.iinfo(codes.dtype).max
        blocks = [rows[start : start + _BLOCK] for start in range(0, len(rows), _BLOCK)]
        cliques = np.full((len(blocks), len(codes)), -1, dtype=np.int64)

        def add(i: int) -> int:
            return int(add_missing(network, codes, missing, blocks[i], self.max_clique_size, joint, cliques[i]))

        workers = min(effective_n_jobs(n_jobs), len(blocks))
        if workers == 1:
            # One row alone should not wait for joblib.
            failures = [add(i) for i in range(len(blocks))]
        else:
            failures = Parallel(workers, require="sharedmem")(delayed(add)(i) for i in range(len(blocks)))
        for row, clique in zip(failures, cliques, strict=True):
            if row >= 0:
                names = [self.tables.names[v] for v in clique if v >= 0]
                raise _too_large(self.tables, names, self.max_clique_size, f"row {row}: ")

    @cached_property
    def _network(self) -> Network:
        return flatten(self.tables, self.target)

    @cached_property
    def _skipping_is_exact(self) -> bool:
        """Whether to skip a missing feature, as the posterior does, is all: on naive Bayes, normalised."""
        return all(
            table.parents == (() if name == self.target else (self.target,)) and _sums_to_one(table.values)
            for name, table in self.tables.tables.items()
        )


def flatten(tables: LogTables, target: str) -> Network:
    """Return the tables as the compiled pass takes them."""
    position = {name: v for v, name in enumerate(tables.names)}
    children: list[list[int]] = [[] for _ in tables.names]
    scopes, arrays = [], []
    for node, (name, (parents, array)) in enumerate(tables.tables.items()):
        family = (name, *parents)
        scopes.append([position[u] for u in family if u != target])
        arrays.append(np.moveaxis(array, family.index(target), -1) if target in family else array)
        for v in scopes[-1]:
            if v != node:
                children[v].append(node)
    log_values = np.concatenate([array.ravel() for array in arrays])
    with np.errstate(over="ignore"):
        values = np.exp(log_values)
    parents_first = TopologicalSorter({name: table.parents for name, table in tables.tables.items()})
    return Network(
        nodes=_nodes(tables, target, arrays, scopes, children),
        axes=_axes(arrays, scopes),
        children=np.array([*chain(*children)], dtype=np.int64),
        leaves_first=np.array([position[name] for name in [*parents_first.static_order()][::-1]]),
        values=values,
        log_values=log_values,
        target=position[target],
        n_classes=len(tables.states[target]),
    )


def _nodes(
    tables: LogTables,
    target: str,
    arrays: Sequence[FloatArray],
    scopes: Sequence[Sequence[int]],
    children: Sequence[Sequence[int]],
) -> npt.NDArray[Any]:
    nodes = np.zeros(len(arrays), NODE)
    nodes["card"] = [len(tables.states[name]) for name in tables.names]
    nodes["log_card"] = np.log(nodes["card"])
    nodes["axes"], nodes["axes_end"] = _bounds([len(scope) for scope in scopes])
    nodes["children"], nodes["children_end"] = _bounds([len(own) for own in children])
    nodes["start"], _ = _bounds([array.size for array in arrays])
    nodes["with_class"] = [target in (name, *table.parents) for name, table in tables.tables.items()]
    nodes["proper"] = [_sums_to_one(table.values) for table in tables.tables.values()]
    nodes["low"] = [array.min(initial=0.0, where=np.isfinite(array)) for array in arrays]
    nodes["high"] = [array.max(initial=0.0) for array in arrays]
    return nodes


def _bounds(sizes: Sequence[int]) -> tuple[list[int], list[int]]:
    """Return where parts of these sizes begin and end when they lie behind one another."""
    ends = [0, *accumulate(sizes)]
    return ends[:-1], ends[1:]


def _axes(arrays: Sequence[FloatArray], scopes: Sequence[Sequence[int]]) -> npt.NDArray[Any]:
    """Return the axes of arrays that have those of their scopes, and then perhaps the class."""
    axes = [
        (v, prod(array.shape[i + 1 :]))
        for array, scope in zip(arrays, scopes, strict=True)
        for i, v in enumerate(scope)
    ]
    return np.array(axes, dtype=AXIS)


def query(
    tables: LogTables,
    variables: Sequence[str],
    evidence: Mapping[str, int] | None = None,
    max_clique_size: int = MAX_CLIQUE_SIZE,
) -> FloatArray:
    """Return P(variables | evidence), the class and features alike.

    Parameters
    ----------
    tables : LogTables
    variables : sequence of str
        What is asked about, jointly.
    evidence : mapping of str to int, optional
        What is known: the position of each known variable's state in ``tables.states``.
    max_clique_size : int
        The number of cells that the largest table may have.

    Returns
    -------
    float64 array
        One axis for each of `variables`; it sums to one.

    Raises
    ------
    ValueError
        For an unknown or repeated variable, evidence that is impossible or no state, or a table of more
        than `max_clique_size` cells.

    Examples
    --------
    >>> tables = LogTables(
    ...     ["c", "x"], {"c": ["n", "p"], "x": [0, 1]},
    ...     {"c": ((), np.log([0.5, 0.5])), "x": (("c",), np.log([[0.9, 0.2], [0.1, 0.8]]))})
    >>> query(tables, ["x"]), query(tables, ["c"], {"x": 1}).round(3)
    (array([0.55, 0.45]), array([0.111, 0.889]))
    """
    known = dict(evidence or {})
    _check_query(tables, variables, known)
    factors = _instantiated(tables, {*variables, *known}, known)
    hidden = {v for scope, _ in factors for v in scope} - {*variables}
    while hidden:
        cliques = {v: _union(f for f in factors if v in f[0]) for v in tables.names if v in hidden}
        v = min(cliques, key=lambda u: _size(tables, cliques[u]))
        _check_clique(tables, cliques[v], max_clique_size)
        product = _product([f for f in factors if v in f[0]], cliques[v])
        rest = tuple(u for u in cliques[v] if u != v)
        summed = np.asarray(logsumexp(product, axis=cliques[v].index(v)))
        factors = [f for f in factors if v not in f[0]] + [(rest, summed)]
        hidden.remove(v)
    _check_clique(tables, tuple(variables), max_clique_size)
    joint = _product(factors, tuple(variables))
    total = logsumexp(joint)
    if np.isneginf(total):
        raise ValueError(f"the evidence {known} is impossible: it has probability 0")
    return np.asarray(np.exp(joint - total))


def _check_query(tables: LogTables, variables: Sequence[str], known: Mapping[str, int]) -> None:
    for name in (*variables, *known):
        if name not in tables.states:
            raise ValueError(f"no variable {name!r} in the network.{did_you_mean(name, tables.names)}")
    if not variables or len({*variables, *known}) < len(variables) + len(known):
        raise ValueError(
            f"variables {list(variables)} and evidence {list(known)}: ask about at least one variable, "
            "each once, and not about what is known"
        )
    for name, state in known.items():
        if not 0 <= state < len(tables.states[name]):
            raise ValueError(f"evidence {name!r}: {state} is no state of its {len(tables.states[name])}")


def _instantiated(tables: LogTables, names: set[str], known: Mapping[str, int]) -> list[Factor]:
    """Return the tables that `names` depend on, with what is known filled in."""
    needed = names | {name for name, table in tables.tables.items() if not _sums_to_one(table.values)}
    pending = list(needed)
    while pending:
        new = {*tables.tables[pending.pop()].parents} - needed
        needed |= new
        pending += new
    factors = []
    for name in tables.names:
        if name in needed:
            family = (name, *tables.tables[name].parents)
            index = tuple(known.get(u, slice(None)) for u in family)
            factors.append((tuple(u for u in family if u not in known), tables.tables[name].values[index]))
    return factors


def _union(factors: Iterable[Factor]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(v for scope, _ in factors for v in scope))


def _product(factors: Sequence[Factor], scope: tuple[str, ...]) -> FloatArray:
    """Return the sum of logarithmic factors, with the axes of `scope`, which holds all of theirs."""
    total = np.zeros(())
    for own, values in factors:
        ordered = values.transpose([own.index(v) for v in scope if v in own])
        total = total + np.expand_dims(ordered, [axis for axis, v in enumerate(scope) if v not in own])
    return total


def _size(tables: LogTables, names: Iterable[str]) -> int:
    return prod(len(tables.states[name]) for name in names)


def _check_clique(tables: LogTables, names: Sequence[str], limit: int) -> None:
    if _size(tables, names) > limit:
        raise _too_large(tables, names, limit)


def _too_large(tables: LogTables, names: Sequence[str], limit: int, where: str = "") -> ValueError:
    return ValueError(
        f"{where}summing the missing variables out takes a table over {list(names)}, {_size(tables, names):,} "
        f"cells, above max_clique_size={limit:,}. Raise it if memory allows, or use a structure with fewer "
        "parents or features with fewer states"
    )


def _sums_to_one(values: FloatArray) -> bool:
    return bool(np.abs(logsumexp(values, axis=0)).max(initial=0.0) <= NORMALIZED)
