"""The most probable states of what rows lack, for many rows at once: one class after the other, group by group.

What ties, or has too many joint states, is left to :func:`bnplug.inference.most_probable.most_probable`, whose rule for
ties holds here too.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bnplug.arrays import BoolArray, CodeArray, IntArray
from bnplug.compiling import inner_kernel, kernel
from bnplug.inference._groups import (
    MOST_STATES,
    advance,
    count_states,
    find_group,
    lay_out,
    network_of,
    number_at,
    place_of,
    reads_open,
    stride_of,
)
from bnplug.inference.complete import TIE
from bnplug.model.log_tables import LogTables


class Scratch(NamedTuple):
    """What the search in one row writes to; see `lay_out` of :mod:`bnplug.inference._groups`.

    Attributes
    ----------
    tried, best : int64 arrays of shape (variables,)
        The states of the row with the class that is tried, and with the best so far.
    """

    open_yet: BoolArray
    concerned: BoolArray
    group: IntArray
    places: IntArray
    by_class: IntArray
    moves: IntArray
    states: IntArray
    tried: IntArray
    best: IntArray


def best_states(tables: LogTables, codes: CodeArray) -> tuple[CodeArray, BoolArray]:
    """Return rows with what they lack in its most probable states, and which rows could not be decided here.

    Parameters
    ----------
    tables : LogTables
    codes : unsigned array of shape (variables, rows)
        In the order of ``tables.names``; the largest value of the type is missing.

    Returns
    -------
    filled : unsigned array of shape (variables, rows)
    open_yet : bool array of shape (rows,)
        Rows that are impossible, that have joint states whose log probabilities differ by about 1e-9 and not by
        rounding alone, or too many joint states. They are not filled.
    """
    n, position = len(tables.names), {name: v for v, name in enumerate(tables.names)}
    cards = np.array([len(tables.states[name]) for name in tables.names], dtype=np.int64)
    parents = [tuple(position[p] for p in tables.tables[name].parents) for name in tables.names]
    logs = [tables.tables[name].values.ravel() for name in tables.names]
    network = network_of(parents, cards, np.cumsum([0, *map(len, logs[:-1])]).tolist())
    target = 0 if tables.target is None else position[tables.target]
    group, places, by_class, states, tried, best = np.zeros((6, n), np.int64)
    flags, moves = np.array([[False], [True]]).repeat(n, axis=1), np.zeros((n, n), np.int64)
    scratch = Scratch(flags[0], flags[1], group, places, by_class, moves, states, tried, best)
    filled = np.array(codes.T, order="C")
    undecided = np.zeros(codes.shape[1], dtype=np.bool_)
    missing = np.iinfo(codes.dtype).max
    _fill(filled, missing, cards, target, network, np.concatenate(logs), TIE / (4 * n), scratch, undecided)
    return np.ascontiguousarray(filled.T), undecided


@kernel(allocates=False)
def _fill(codes, missing, cards, target, network, values, rounding, scratch, undecided):  # type: ignore[no-untyped-def]
    """Fill codes (rows, variables); rounding: log probabilities so close are the same."""
    n, tried, best = cards.shape[0], scratch.tried, scratch.best
    for m in range(codes.shape[0]):
        row, largest = codes[m], -np.inf
        every = row[target] == missing
        for c in range(cards[target]):
            if not every and c != row[target]:
                continue
            for v in range(n):
                scratch.open_yet[v] = v != target and row[v] == missing
                tried[v] = row[v]
            tried[target] = c
            value = _try(row, cards, target, network, values, c, rounding, scratch)
            # Not decided within the class, or between two: no comparison with nan is true.
            undecided[m] = undecided[m] or not (value == -np.inf or abs(value - largest) > 2.0 * TIE)
            if value > largest:
                largest = value
                for v in range(n):
                    best[v] = tried[v]
        undecided[m] = undecided[m] or largest == -np.inf
        if not undecided[m]:
            for v in range(n):
                row[v] = best[v]


@inner_kernel(allocates=False)
def _try(row, cards, target, network, values, c, rounding, scratch):  # type: ignore[no-untyped-def]
    """Put the best states with class c into `tried`; return their log probability, nan where that is not decided."""
    n, opened, group = row.shape[0], scratch.open_yet, scratch.group
    total = 0.0
    for v in range(n):
        if not reads_open(network, v, opened):
            place = place_of(row, np.int64(0), target, network, opened, v)
            total += values[place + c * stride_of(network, v, target)]
    for v in range(n):
        if opened[v]:
            n_group = find_group(network, v, opened, scratch.concerned, group)
            _sort(group, n_group)
            total += _best_of_group(row, cards, target, network, values, c, rounding, n_group, scratch)
            for j in range(n_group):
                opened[group[j]] = False
    return total


@inner_kernel(allocates=False)
def _sort(group, n_group):  # type: ignore[no-untyped-def]
    """Put the variables of a group in ascending order, in which the first of tied states is told."""
    for i in range(1, n_group):
        v, j = group[i], i
        while j > 0 and group[j - 1] > v:
            group[j] = group[j - 1]
            j -= 1
        group[j] = v


@inner_kernel(allocates=False)
def _best_of_group(row, cards, target, network, values, c, rounding, n_group, scratch):  # type: ignore[no-untyped-def]
    """Put the first of the best states of a group into `tried`; return their log, nan where they are not decided."""
    group, states, places, moves = scratch.group, scratch.states, scratch.places, scratch.moves
    n_families = lay_out(row, np.int64(0), target, network, n_group, scratch)
    n_states = count_states(cards, group, n_group, states)
    if n_states > MOST_STATES:
        return np.nan
    largest, found = -np.inf, False
    for again in range(2):
        for _ in range(np.int64(n_states)):
            term = 0.0
            for k in range(n_families):
                term += number_at(values, values, places[k] + c * scratch.by_class[k])
            if again == 0:
                largest = max(largest, term)
            elif term >= largest - rounding:
                for j in range(n_group):
                    scratch.tried[group[j]] = scratch.tried[group[j]] if found else states[j]
                found = True
            elif term > largest - 2.0 * TIE:
                return np.nan
            advance(cards, group, n_group, states, places, moves, n_families)
        if largest == -np.inf:
            return largest
    return largest
