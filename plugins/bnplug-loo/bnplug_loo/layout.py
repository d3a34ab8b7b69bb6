"""How the tables of the class and its children are made of free numbers.

A table is ``w log p + delta_0 + delta_1 + ...``: the generative estimates, weighted, and corrections by the value and
the class, by one parent more, and so on. Missing cells are one more state here: an entry of a missing value is zero,
and one with a missing parent is that of the longest known prefix of the parents.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

import numpy as np

from bnplug.builtin.parameters.backoff import BackoffLevel
from bnplug.compiling import kernel
from bnplug.inference.complete import Terms
from bnplug.table.table import Table
from bnplug.typing import BoolArray, FloatArray, IntArray

# How much stronger the penalty of a correction is with each parent more.
_STRONGER = 4.0


@dataclass(frozen=True)
class Node:
    """The class or one of its children.

    Attributes
    ----------
    number : int
        Its position in the table.
    variables : tuple of int
        What its table reads: the node itself unless it is the class, then its feature parents in the levels' order.
    cards : tuple of int
        Their numbers of states.
    log_p, log_loo : list of float64 arrays
        By how many feature parents are known: the estimates, with axes (\\*variables known, class).
    """

    number: int
    variables: tuple[int, ...]
    cards: tuple[int, ...]
    log_p: list[FloatArray]
    log_loo: list[FloatArray]

    @classmethod
    def of(cls, table: Table, v: int, levels: tuple[BackoffLevel, ...], single: BoolArray) -> Node:
        """Return a node whose table has these levels.

        Classes with a single row (`single`) use unconditional estimates, because without that row nothing is known
        about the class.
        """
        target = table.target
        is_class = table.names[v] == target
        parents = [table.index(name) for name in levels[-1].parents if name != target]
        variables = (*(() if is_class else (v,)), *parents)
        # Below the class as a parent there is one level more, without any condition.
        used = levels if is_class else levels[1:]
        log_p = [np.moveaxis(level.log_p, 0 if is_class else 1, -1) for level in used]
        log_loo = [np.moveaxis(level.log_loo, 0 if is_class else 1, -1) for level in used]
        if single.any() and not is_class:
            log_p, log_loo = ([_unconditional(log, levels[0], single) for log in logs] for logs in (log_p, log_loo))
        return cls(v, variables, tuple(int(table.cards[u]) for u in variables), log_p, log_loo)

    @property
    def own(self) -> int:
        """How many variables are no parents: 0 for the class, else 1."""
        return len(self.variables) + 1 - len(self.log_p)


def _unconditional(logs: FloatArray, first: BackoffLevel, single: BoolArray) -> FloatArray:
    """Make log estimates, with axes (node, \\*parents, class), unconditional for classes with a single row."""
    wide = first.log_p.reshape(-1, *[1] * (logs.ndim - 1))
    return np.where(single, wide, logs)


class Layout:
    """Where the free numbers of a structure are, and of what each entry of a table is made.

    The free numbers are b (one for each class), w (one for each node) and the corrections. An entry is of one
    configuration of its node, missing being the last state of a variable that has it, and of one class.

    Parameters
    ----------
    nodes : list of Node
    sizes : int64 array of shape (variables,)
        The number of states of every variable, with missing where that occurs.
    prior : float64 array of shape (classes,)
        Where b starts.
    n_rows : int
        Corrections of a level with more cells than that are left out, but for the first.

    Attributes
    ----------
    terms : Terms
        What :class:`bnplug.gradient.Objective` reads; the first is b's.
    base, shift : float64 arrays of shape (configurations, classes)
        log p, and what log p- is above that.
    weight : int64 array of shape (configurations,)
        The free number that the estimates of a configuration are multiplied by; -1 for that of b.
    bounds, members : int64 arrays
        Configuration k has the corrections that begin at ``members[bounds[k]:bounds[k + 1]]``, one for each class.
    first_correction : int
        The free numbers before it are b and w.
    strength : float64 array
        The share of each free number in the penalty.
    start : float64 array
        b = `prior`, w = 1, no corrections.
    """

    def __init__(self, nodes: list[Node], sizes: IntArray, prior: FloatArray, n_rows: int) -> None:
        self.nodes = nodes
        self.n_classes = len(prior)
        self.first_correction = self._n_free = self.n_classes + len(nodes)
        self._strength = [np.zeros(self.n_classes), np.ones(len(nodes))]
        self._shapes = [tuple(int(sizes[v]) for v in node.variables) for node in nodes]
        none = np.zeros((1, self.n_classes))
        bases, shifts, corrections = [none], [none], [np.zeros((1, 1), dtype=np.int64)]
        for node, shape in zip(nodes, self._shapes, strict=True):
            base, shift, of_node = self._node(node, shape, n_rows)
            bases.append(base)
            shifts.append(shift)
            corrections.append(of_node)
        self.base, self.shift = np.concatenate(bases), np.concatenate(shifts)
        weights = [np.full(prod(shape), self.n_classes + j) for j, shape in enumerate(self._shapes)]
        self.weight = np.concatenate([[-1], *weights]).astype(np.int64)
        counts = np.concatenate([(of_node >= 0).sum(axis=1) for of_node in corrections])
        self.bounds = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        self.members = np.concatenate([of_node[of_node >= 0] for of_node in corrections]).astype(np.int64)
        self.strength = np.concatenate(self._strength)
        self.start = np.concatenate([prior, np.ones(len(nodes)), np.zeros(self._n_free - self.first_correction)])
        self.terms = self._terms()

    def _node(self, node: Node, shape: tuple[int, ...], n_rows: int) -> tuple[FloatArray, FloatArray, IntArray]:
        """Return log p, the shift and the corrections of every configuration of a node."""
        base, shift = np.zeros((*shape, self.n_classes)), np.zeros((*shape, self.n_classes))
        corrections = np.full((*shape, len(node.log_p)), -1, dtype=np.int64)
        for length, (log_p, log_loo) in enumerate(zip(node.log_p, node.log_loo, strict=True)):
            known = node.cards[: node.own + length]
            # What more parents say overwrites what fewer do.
            inside = tuple(slice(card) for card in known)
            wide = (*known, *[1] * (len(shape) - len(known)), self.n_classes)
            base[inside], shift[inside] = log_p.reshape(wide), (log_loo - log_p).reshape(wide)
            if known and (length == 0 or prod(known) * self.n_classes <= n_rows):
                corrections[inside][..., length] = self._add(known, length).reshape(wide[:-1])
        flat = (-1, self.n_classes)
        return base.reshape(flat), shift.reshape(flat), corrections.reshape(len(base.reshape(flat)), -1)

    def _add(self, known: tuple[int, ...], length: int) -> IntArray:
        """Make room for the corrections of a level; return where those of each configuration begin."""
        first, size = self._n_free, prod(known) * self.n_classes
        self._n_free += size
        self._strength.append(np.full(size, _STRONGER**length))
        return np.arange(first, first + size, self.n_classes)

    def _terms(self) -> Terms:
        strides = [prod(shape[i + 1 :]) * self.n_classes for shape in self._shapes for i in range(len(shape))]
        ends = np.cumsum([self.n_classes, *(prod(shape) * self.n_classes for shape in self._shapes)])
        return Terms(
            variables=np.array([v for node in self.nodes for v in node.variables], dtype=np.int64),
            strides=np.array(strides, dtype=np.int64),
            bounds=np.cumsum([0, 0, *map(len, self._shapes)], dtype=np.int64),
            starts=np.concatenate([[0], ends[:-1]]).astype(np.int64),
            values=self.base.reshape(-1),
            n_classes=self.n_classes,
            nodes=(-1, *(node.number for node in self.nodes)),
        )

    def fold(self, free: FloatArray, estimates: FloatArray, corrected: bool, chosen: IntArray) -> FloatArray:
        """Return entries of the tables, flat as the terms': w times `estimates`, and the corrections if asked for.

        Parameters
        ----------
        free : float64 array
        estimates : float64 array of shape (configurations, classes)
            :attr:`base` or :attr:`shift`.
        corrected : bool
        chosen : int64 array
            The configurations to look at; others are left 0.
        """
        values = np.zeros(estimates.shape)
        _fold(free, estimates, corrected, self.weight, self.bounds, self.members, chosen, values)
        return values.reshape(-1)

    def chain(self, gradient: FloatArray, of_shift: FloatArray, chosen: IntArray) -> FloatArray:
        """Return the derivative by the free numbers from those by both folded tables."""
        result = np.zeros(len(self.start))
        shape = self.base.shape
        _unfold(
            gradient.reshape(shape), of_shift.reshape(shape), self.base, self.shift,
            self.weight, self.bounds, self.members, chosen, result,
        )  # fmt: skip
        return result

    def tables(self, free: FloatArray) -> tuple[FloatArray, list[FloatArray]]:
        """Return b, and for each node its table with axes (\\*variables, class), without missing as a state."""
        values = self.fold(free, self.base, True, np.arange(len(self.base)))
        edges = [*self.terms.starts[1:], values.size]
        tables = []
        for node, shape, start, end in zip(self.nodes, self._shapes, edges[:-1], edges[1:], strict=True):
            inside = tuple(slice(card) for card in node.cards)
            tables.append(values[start:end].reshape(*shape, self.n_classes)[inside])
        return values[: self.n_classes], tables


@kernel
def _fold(free, estimates, corrected, weight, bounds, members, chosen, values):  # type: ignore[no-untyped-def]
    """values[k, :] = w estimates[k, :] and the corrections of k, for each k of `chosen`; arrays as in Layout."""
    n_classes = values.shape[1]
    for k in chosen:
        w = free[weight[k]] if weight[k] >= 0 else 0.0
        for c in range(n_classes):
            values[k, c] = w * estimates[k, c]
        if corrected:
            for i in range(bounds[k], bounds[k + 1]):
                for c in range(n_classes):
                    values[k, c] += free[members[i] + c]


@kernel
def _unfold(gradient, of_shift, base, shift, weight, bounds, members, chosen, result):  # type: ignore[no-untyped-def]
    """Add what each configuration of `chosen` has to its weight and to its corrections; arrays as in Layout."""
    n_classes = gradient.shape[1]
    for k in chosen:
        if weight[k] >= 0:
            total = 0.0
            for c in range(n_classes):
                total += gradient[k, c] * base[k, c] + of_shift[k, c] * shift[k, c]
            result[weight[k]] += total
        for i in range(bounds[k], bounds[k + 1]):
            for c in range(n_classes):
                result[members[i] + c] += gradient[k, c]
