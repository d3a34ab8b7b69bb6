"""Groups of missing variables that share families: each group can be summed out, or maximized, separately.

The joint states of a group are enumerated. Ties, and groups with too many joint states, are left to
:func:`bnplug.inference.most_probable.most_probable`, which uses the same rule for ties.
"""

from __future__ import annotations

from collections.abc import Sequence
from graphlib import TopologicalSorter
from typing import NamedTuple

import numpy as np

from bnplug.compiling import inner_kernel, kernel
from bnplug.inference.complete import TIE
from bnplug.model.log_tables import LogTables
from bnplug.typing import BoolArray, CodeArray, FloatArray, IntArray

#: Groups with more joint states than this are not enumerated.
MOST_STATES = 4096


class Network(NamedTuple):
    """A graph, and the positions of its log parameters.

    The parents of v are ``parents[v, :n_parents[v]]``. Its log parameters ``[fold, state, *parents]`` begin at
    ``starts[v]``, ``widths[v]`` for each fold; ``strides[v]`` are the strides of the parents and, last, of v itself.
    `order` lists the variables, parents first.
    """

    n_parents: IntArray
    parents: IntArray
    starts: IntArray
    widths: IntArray
    strides: IntArray
    order: IntArray


def network_of(parents: Sequence[tuple[int, ...]], cards: IntArray, starts: Sequence[int]) -> Network:
    """Return a network, given ascending parents and the positions of the log parameters of each family."""
    n, most = len(parents), max(map(len, parents))
    filled, strides, widths = np.zeros((n, most), np.int64), np.zeros((n, most + 1), np.int64), np.ones(n, np.int64)
    for v, of_v in enumerate(parents):
        filled[v, : len(of_v)] = of_v
        for i in range(len(of_v) - 1, -1, -1):
            strides[v, i] = widths[v]
            widths[v] *= cards[of_v[i]]
        strides[v, most] = widths[v]
        widths[v] *= cards[v]
    n_parents = np.array(list(map(len, parents)), dtype=np.int64)
    order = np.array([*TopologicalSorter(dict(enumerate(parents))).static_order()], dtype=np.int64)
    return Network(n_parents, filled, np.array(starts, dtype=np.int64), widths, strides, order)


@inner_kernel(allocates=False)
def has_member(network, v, u):  # type: ignore[no-untyped-def]
    """Return whether u is in the family of v."""
    return stride_of(network, v, u) > 0


@inner_kernel(allocates=False)
def reads_open(network, v, opened):  # type: ignore[no-untyped-def]
    """Return whether a variable of the family of v is open."""
    reads = opened[v]
    for i in range(network.n_parents[v]):
        reads = reads or opened[network.parents[v, i]]
    return reads


@inner_kernel(allocates=False)
def stride_of(network, v, u):  # type: ignore[no-untyped-def]
    """Return the stride of u in the numbers of the family of v; 0 if u is not in it."""
    stride = network.strides[v, network.strides.shape[1] - 1] if u == v else np.int64(0)
    for i in range(network.n_parents[v]):
        stride = network.strides[v, i] if network.parents[v, i] == u else stride
    return stride


@inner_kernel(allocates=False)
def place_of(row, fold, target, network, opened, v):  # type: ignore[no-untyped-def]
    """Return the position of the numbers of the family of v, given a row, for the first class and open states."""
    place = network.starts[v] + fold * network.widths[v]
    for i in range(network.n_parents[v] + 1):
        u = v if i == network.n_parents[v] else network.parents[v, i]
        if u != target and not opened[u]:
            place += stride_of(network, v, u) * np.int64(row[u])
    return place


@inner_kernel(allocates=False)
def find_group(network, first, opened, concerned, group):  # type: ignore[no-untyped-def]
    """Put the open variables that share families with `first`, directly or not, into `group`; return their number."""
    n = opened.shape[0]
    group[0], n_group, done = first, 1, 0
    while done < n_group:
        u = group[done]
        done += 1
        for v in range(n):
            if concerned[v] and has_member(network, v, u):
                for i in range(network.n_parents[v] + 1):
                    w = v if i == network.n_parents[v] else network.parents[v, i]
                    new = opened[w]
                    for j in range(n_group):
                        new = new and group[j] != w
                    if new:
                        group[n_group] = w
                        n_group += 1
    return n_group


@inner_kernel(allocates=False)
def lay_out(row, fold, target, network, n_group, scratch):  # type: ignore[no-untyped-def]
    """Find the families of a group: fill `places`, `moves` and `by_class` of the Scratch; return their number."""
    group, moves, n_families = scratch.group, scratch.moves, 0
    for v in range(row.shape[0]):
        if not scratch.concerned[v] or not reads_open(network, v, scratch.open_yet):
            continue
        of_group = np.int64(0)
        for j in range(n_group):
            moves[n_families, j] = stride_of(network, v, group[j])
            of_group += moves[n_families, j]
        if of_group > 0:
            scratch.places[n_families] = place_of(row, fold, target, network, scratch.open_yet, v)
            scratch.by_class[n_families] = stride_of(network, v, target)
            n_families += 1
    return n_families


@inner_kernel(allocates=False)
def count_states(cards, group, n_group, states):  # type: ignore[no-untyped-def]
    """Go to the first joint state of a group; return the number of joint states, as a float."""
    n_states = 1.0
    for j in range(n_group):
        n_states *= cards[group[j]]
        states[j] = 0
    return n_states


@inner_kernel(allocates=False)
def advance(cards, group, n_group, states, places, moves, n_families):  # type: ignore[no-untyped-def]
    """Go to the next joint state of a group, cyclically; the last variable changes fastest."""
    j = n_group - 1
    while j >= 0:
        wraps = states[j] + 1 == cards[group[j]]
        step = -states[j] if wraps else 1
        states[j] += step
        for k in range(n_families):
            places[k] += step * moves[k, j]
        j = j - 1 if wraps else -1


@inner_kernel(allocates=False)
def number_at(values, added, i):  # type: ignore[no-untyped-def]
    """Return number i of the concatenation of two arrays."""
    return values[i] if i < values.shape[0] else added[i - values.shape[0]]


class Scratch(NamedTuple):
    """Buffers for one row of n variables; unless noted, of shape (n,)."""

    open_yet: BoolArray  # the missing variables that are yet to be summed out, or maximized
    concerned: BoolArray  # the variables whose families count
    stack: IntArray  # variables to visit
    group: IntArray  # the variables of a group
    places: IntArray  # the position of the log parameters of each family of the group
    by_class: IntArray  # their stride for the class
    moves: IntArray  # (n, n): their stride for each variable of the group
    states: IntArray
    tried: IntArray  # the states with the current class
    best: IntArray  # the states with the best class
    sums: FloatArray  # (classes,), as the following
    largest: FloatArray
    before: FloatArray
    after: FloatArray


def make_scratch(n: int, n_classes: int) -> Scratch:
    """Return scratch space for networks of n variables."""
    stack, group, places, by_class, states, tried, best = np.zeros((7, n), np.int64)
    (open_yet, concerned), moves = np.zeros((2, n), np.bool_), np.zeros((n, n), np.int64)
    by_variable = open_yet, concerned, stack, group, places, by_class, moves, states, tried, best
    return Scratch(*by_variable, *np.zeros((4, n_classes)))


def best_states(tables: LogTables, codes: CodeArray) -> tuple[CodeArray, BoolArray]:
    """Return rows with missing cells in their most probable states, and which rows could not be decided here.

    Undecided rows are not filled: impossible ones, rows with too many joint states, and rows with joint states whose
    log probabilities differ by about 1e-9 and not by rounding alone.
    """
    n, position = len(tables.names), {name: v for v, name in enumerate(tables.names)}
    cards = np.array([len(tables.states[name]) for name in tables.names], dtype=np.int64)
    parents = [tuple(position[p] for p in tables.tables[name].parents) for name in tables.names]
    logs = [tables.tables[name].values.ravel() for name in tables.names]
    network = network_of(parents, cards, np.cumsum([0, *map(len, logs[:-1])]).tolist())
    target = 0 if tables.target is None else position[tables.target]
    scratch = make_scratch(n, int(cards[target]))
    scratch.concerned[:] = True
    filled = np.array(codes.T, order="C")
    undecided = np.zeros(codes.shape[1], dtype=np.bool_)
    missing = np.iinfo(codes.dtype).max
    _fill(filled, missing, cards, target, network, np.concatenate(logs), TIE / (4 * n), scratch, undecided)
    return np.ascontiguousarray(filled.T), undecided


@kernel(allocates=False)
def _fill(codes, missing, cards, target, network, values, rounding, scratch, undecided):  # type: ignore[no-untyped-def]
    """Fill codes (rows, variables); log probabilities closer than `rounding` are equal."""
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
            # Undecided within the class or between two classes: comparisons with nan are False.
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
    """Put the best states with class c into `tried`; return their log probability, nan if undecided."""
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
    """Sort the variables of a group, the order that breaks ties."""
    for i in range(1, n_group):
        v, j = group[i], i
        while j > 0 and group[j - 1] > v:
            group[j] = group[j - 1]
            j -= 1
        group[j] = v


@inner_kernel(allocates=False)
def _best_of_group(row, cards, target, network, values, c, rounding, n_group, scratch):  # type: ignore[no-untyped-def]
    """Put the first of the best states of a group into `tried`; return their log, nan if undecided."""
    group, states, places, moves = scratch.group, scratch.states, scratch.places, scratch.moves
    n_families = lay_out(row, np.int64(0), target, network, n_group, scratch)
    n_states = count_states(cards, group, n_group, states)
    if n_states > MOST_STATES:
        return np.nan
    largest, chosen = -np.inf, False
    for again in range(2):
        for _ in range(np.int64(n_states)):
            term = 0.0
            for k in range(n_families):
                term += values[places[k] + c * scratch.by_class[k]]
            if again == 0:
                largest = max(largest, term)
            elif term >= largest - rounding:
                for j in range(n_group):
                    scratch.tried[group[j]] = scratch.tried[group[j]] if chosen else states[j]
                chosen = True
            elif term > largest - 2.0 * TIE:
                return np.nan
            advance(cards, group, n_group, states, places, moves, n_families)
        if largest == -np.inf:
            return largest
    return largest
