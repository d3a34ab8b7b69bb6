"""The log joint of rows with missing cells: all that is not known is summed out, exactly.

Of a row and a class, the missing variables fall into *groups* that share families; each group is summed over its joint
states, and the log joint is the sum over the groups and the families that are known. A missing variable without a
descendant that is known adds nothing. A family that neither has the class nor a missing variable is the same for all
classes, and is left out, as is a group that has nothing to do with the class.

What a candidate changes is found from the groups that the families concerned belong to, before and after.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bnplug.arrays import BoolArray, FloatArray, IntArray
from bnplug.compiling import inner_kernel, kernel
from bnplug.inference._groups import (
    MOST_STATES,
    advance,
    count_states,
    find_group,
    has_member,
    lay_out,
    number_at,
    place_of,
    reads_open,
    stride_of,
)


class Scratch(NamedTuple):
    """What the sum over one row writes to; n is the number of variables.

    Attributes
    ----------
    open_yet : bool array of shape (n,)
        The missing variables that are to be summed out.
    concerned : bool array of shape (n,)
        The variables whose families are part of the sum.
    stack, group, places, by_class : int64 arrays of shape (n,)
        The variables that are looked at, and those of a group; where the log parameters of each family of the group
        are, and by how much the class moves them.
    moves : int64 array of shape (n, n)
        By how much a state of each variable of the group moves them.
    states : int64 array of shape (n,)
    sums, largest : float64 arrays of shape (classes,)
    before, after : float64 arrays of shape (classes,)
    """

    open_yet: BoolArray
    concerned: BoolArray
    stack: IntArray
    group: IntArray
    places: IntArray
    by_class: IntArray
    moves: IntArray
    states: IntArray
    sums: FloatArray
    largest: FloatArray
    before: FloatArray
    after: FloatArray


def make_scratch(n: int, n_classes: int) -> Scratch:
    """Return a Scratch for networks of n variables."""
    stack, group, places, by_class, states = np.zeros((5, n), np.int64)
    sums, largest, before, after = np.zeros((4, n_classes))
    flags, moves = np.zeros((2, n), np.bool_), np.zeros((n, n), np.int64)
    return Scratch(flags[0], flags[1], stack, group, places, by_class, moves, states, sums, largest, before, after)


@kernel(allocates=False)
def fill_whole(codes, missing, folds, cards, target, network, values, scratch, joint, wide):  # type: ignore[no-untyped-def]
    """joint[m, c] = the log joint of each row, up to what is the same for all classes.

    codes: (rows, variables). wide[m]: whether a group of the row had too many joint states, so that it is not found.
    """
    n = cards.shape[0]
    for m in range(codes.shape[0]):
        for v in range(n):
            scratch.open_yet[v] = v != target and codes[m, v] == missing
            scratch.concerned[v] = True
        wide[m] = not _sum_row(codes[m], folds[m], cards, target, network, values, values, scratch, joint[m])


@kernel(allocates=False)
def fill_changed(codes, missing, folds, cards, target, now, values, new, added, nodes, scratch, before, joint, wide):  # type: ignore[no-untyped-def]
    """Do the same for a network that differs from that of the log joints `before` in the families of `nodes`.

    now, values: that one, and its log parameters; new: the other, the log parameters of whose new families are in
    `added`, as if that came behind `values`.
    """
    n_classes = before.shape[1]
    for m in range(codes.shape[0]):
        row = codes[m]
        if _find_concerned(row, missing, target, now, new, nodes, scratch):
            wide[m] = not _sum_row(row, folds[m], cards, target, new, values, added, scratch, joint[m])
            continue
        wide[m] = not _sum_row(row, folds[m], cards, target, now, values, added, scratch, scratch.before)
        if not wide[m]:
            # The sum clears what was open.
            _find_concerned(row, missing, target, now, new, nodes, scratch)
            wide[m] = not _sum_row(row, folds[m], cards, target, new, values, added, scratch, scratch.after)
        for c in range(n_classes):
            joint[m, c] = before[m, c] + (scratch.after[c] - scratch.before[c])


@inner_kernel(allocates=False)
def _find_concerned(row, missing, target, now, new, nodes, scratch):  # type: ignore[no-untyped-def]
    """Open the missing variables that hang together with the families of `nodes` in either network.

    Returns whether that is all that the row lacks: then all families are concerned, and the sum is the log joint.
    """
    n, opened, concerned, stack = row.shape[0], scratch.open_yet, scratch.concerned, scratch.stack
    for v in range(n):
        opened[v], concerned[v] = False, False
    n_stack = 0
    for i in range(nodes.shape[0]):
        concerned[nodes[i]] = True
        n_stack = _open_family(row, missing, target, now, nodes[i], opened, stack, n_stack)
        n_stack = _open_family(row, missing, target, new, nodes[i], opened, stack, n_stack)
    while n_stack > 0:
        n_stack -= 1
        u = stack[n_stack]
        for v in range(n):
            if not concerned[v] and (has_member(now, v, u) or has_member(new, v, u)):
                concerned[v] = True
                n_stack = _open_family(row, missing, target, now, v, opened, stack, n_stack)
                n_stack = _open_family(row, missing, target, new, v, opened, stack, n_stack)
    any_missing = False
    for v in range(n):
        if v != target and row[v] == missing:
            any_missing = True
            if not opened[v]:
                return False
    for v in range(n):
        concerned[v] = concerned[v] or any_missing
    return any_missing


@inner_kernel(allocates=False)
def _open_family(row, missing, target, network, v, opened, stack, n_stack):  # type: ignore[no-untyped-def]
    """Put the missing variables of a family that are not open yet on the stack; return its height."""
    for i in range(network.n_parents[v] + 1):
        u = v if i == network.n_parents[v] else network.parents[v, i]
        if u != target and row[u] == missing and not opened[u]:
            opened[u] = True
            stack[n_stack] = u
            n_stack += 1
    return n_stack


@inner_kernel(allocates=False)
def _sum_row(row, fold, cards, target, network, values, added, scratch, joint):  # type: ignore[no-untyped-def]
    """joint[c] = the sum of the families concerned, what is open summed out; return whether it could be found."""
    n, n_classes = row.shape[0], joint.shape[0]
    opened, concerned, group = scratch.open_yet, scratch.concerned, scratch.group
    for c in range(n_classes):
        joint[c] = 0.0
    _drop_barren(network, opened, concerned, scratch.states)
    for v in range(n):
        if concerned[v] and not reads_open(network, v, opened) and has_member(network, v, target):
            place, step = place_of(row, fold, target, network, opened, v), stride_of(network, v, target)
            for c in range(n_classes):
                joint[c] += number_at(values, added, place + c * step)
    for v in range(n):
        if opened[v]:
            n_group = find_group(network, v, opened, concerned, group)
            if not _add_group(row, fold, cards, target, network, values, added, n_group, scratch, joint):
                return False
            for i in range(n_group):
                opened[group[i]] = False
    return True


@inner_kernel(allocates=False)
def _drop_barren(network, opened, concerned, marked):  # type: ignore[no-untyped-def]
    """Leave out the open variables without a descendant that is known, and their families."""
    n = opened.shape[0]
    for v in range(n):
        marked[v] = 0
    for i in range(n - 1, -1, -1):
        v = network.order[i]
        if concerned[v] and opened[v] and marked[v] == 0:
            opened[v], concerned[v] = False, False
        elif concerned[v]:
            for p in range(network.n_parents[v]):
                marked[network.parents[v, p]] = 1


@inner_kernel(allocates=False)
def _add_group(row, fold, cards, target, network, values, added, n_group, scratch, joint):  # type: ignore[no-untyped-def]
    """Add the sum over the joint states of a group; return whether there were few enough."""
    n_classes, group, states, places = joint.shape[0], scratch.group, scratch.states, scratch.places
    n_families, of_class = lay_out(row, fold, target, network, n_group, scratch), np.int64(0)
    for k in range(n_families):
        of_class += scratch.by_class[k]
    if of_class == 0:
        return True
    n_states = count_states(cards, group, n_group, states)
    if n_states > MOST_STATES:
        return False
    sums, largest = scratch.sums, scratch.largest
    for c in range(n_classes):
        sums[c], largest[c] = 0.0, -np.inf
    for _ in range(np.int64(n_states)):
        for c in range(n_classes):
            term = 0.0
            for k in range(n_families):
                term += number_at(values, added, places[k] + c * scratch.by_class[k])
            if term > largest[c]:
                sums[c] = sums[c] * np.exp(largest[c] - term) + 1.0
                largest[c] = term
            elif term > -np.inf:
                sums[c] += np.exp(term - largest[c])
        advance(cards, group, n_group, states, places, scratch.moves, n_families)
    for c in range(n_classes):
        joint[c] += largest[c] + np.log(sums[c]) if sums[c] > 0.0 else -np.inf
    return True
