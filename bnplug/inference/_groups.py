"""What a row lacks, in groups of variables that share families: each can be summed out, or maximised, on its own.

For rows with few missing cells that is all there is to it, and takes no cliques: the joint states of a group are gone
through one by one.
"""

from __future__ import annotations

from collections.abc import Sequence
from graphlib import TopologicalSorter
from typing import NamedTuple

import numpy as np

from bnplug.arrays import IntArray
from bnplug.compiling import inner_kernel

#: The joint states of a group are gone through if there are no more than so many.
MOST_STATES = 4096


class Network(NamedTuple):
    """A graph, and where the log parameters of its families are.

    Attributes
    ----------
    n_parents : int64 array of shape (variables,)
    parents : int64 array of shape (variables, most parents)
        Those of v are ``parents[v, :n_parents[v]]``.
    starts, widths : int64 arrays of shape (variables,)
        The log parameters ``[fold, state, *parents]`` of v begin at ``starts[v]``, and are so many for each fold.
    strides : int64 array of shape (variables, most parents + 1)
        By how much a state of each parent moves them; the last is of the variable's own.
    order : int64 array of shape (variables,)
        The variables, parents first.
    """

    n_parents: IntArray
    parents: IntArray
    starts: IntArray
    widths: IntArray
    strides: IntArray
    order: IntArray


def network_of(parents: Sequence[tuple[int, ...]], cards: IntArray, starts: Sequence[int]) -> Network:
    """Return a network by its parents, ascending, and by where the log parameters of each family begin."""
    n, most = len(parents), max(map(len, parents))
    filled, strides, widths = np.zeros((n, most), np.int64), np.zeros((n, most + 1), np.int64), np.ones(n, np.int64)
    for v, own in enumerate(parents):
        filled[v, : len(own)] = own
        for i in range(len(own) - 1, -1, -1):
            strides[v, i] = widths[v]
            widths[v] *= cards[own[i]]
        strides[v, most] = widths[v]
        widths[v] *= cards[v]
    n_parents = np.array([len(own) for own in parents], dtype=np.int64)
    order = np.array([*TopologicalSorter(dict(enumerate(parents))).static_order()], dtype=np.int64)
    return Network(n_parents, filled, np.array(starts, dtype=np.int64), widths, strides, order)


@inner_kernel(allocates=False)
def has_member(network, v, u):  # type: ignore[no-untyped-def]
    """Say whether u is in the family of v."""
    found = u == v
    for i in range(network.n_parents[v]):
        found = found or network.parents[v, i] == u
    return found


@inner_kernel(allocates=False)
def reads_open(network, v, opened):  # type: ignore[no-untyped-def]
    """Say whether a variable of the family of v is open."""
    found = opened[v]
    for i in range(network.n_parents[v]):
        found = found or opened[network.parents[v, i]]
    return found


@inner_kernel(allocates=False)
def stride_of(network, v, u):  # type: ignore[no-untyped-def]
    """By how much a state of u moves the numbers of the family of v; 0 where u is not in it."""
    stride = network.strides[v, network.strides.shape[1] - 1] if u == v else np.int64(0)
    for i in range(network.n_parents[v]):
        stride = network.strides[v, i] if network.parents[v, i] == u else stride
    return stride


@inner_kernel(allocates=False)
def place_of(row, fold, target, network, opened, v):  # type: ignore[no-untyped-def]
    """Where the numbers of the family of v are, for what a row knows, the first class, and what is open."""
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
    """Find the families of a group; return their number.

    scratch: has `open_yet` and `concerned`, which variables are open and whose families count, and the `group`; where
    each family's numbers are, of the first joint state, goes to `places`, what a state of each variable of the group
    moves that by to `moves`, and what the class does to `by_class`.
    """
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
    """Go to the first joint state of a group; return how many there are, as a real number."""
    n_states = 1.0
    for j in range(n_group):
        n_states *= cards[group[j]]
        states[j] = 0
    return n_states


@inner_kernel(allocates=False)
def advance(cards, group, n_group, states, places, moves, n_families):  # type: ignore[no-untyped-def]
    """Go to the next joint state of a group, whose last variable changes fastest; after the last comes the first."""
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
    """Return number i of two arrays, the one behind the other."""
    return values[i] if i < values.shape[0] else added[i - values.shape[0]]
