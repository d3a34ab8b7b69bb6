"""Likelihood weighting, compiled: draws of what is missing, each weighted by how likely it makes what is known.

A draw goes through the nodes parents first. A missing feature gets a state by its table, given the states of its
parents; any other node multiplies the weight by its parameter. The class is held at each of its states in turn. Random
numbers depend on the seed, on what the row knows and on the class alone: equal rows get equal answers.

Numbers are drawn by SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014).
"""

from __future__ import annotations

import numpy as np

from bnplug.compiling import inner_kernel, kernel
from bnplug.inference._missing_part import mark, mark_all

_STEP, _FIRST, _SECOND = (np.uint64(n) for n in (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB))
_30, _27, _31, _11 = (np.uint64(n) for n in (30, 27, 31, 11))


@inner_kernel(allocates=False)
def _mixed(z):  # type: ignore[no-untyped-def]
    z = (z ^ (z >> _30)) * _FIRST
    z = (z ^ (z >> _27)) * _SECOND
    return z ^ (z >> _31)


@inner_kernel(allocates=False)
def _begin(seed, nodes, target, variables, stream):  # type: ignore[no-untyped-def]
    """Begin the random numbers of the current row and class."""
    stream[0] = seed
    for v in range(nodes.shape[0]):
        if v == target or not variables[v].relevant:
            stream[0] = _mixed((stream[0] ^ np.uint64(variables[v].state + 1)) + _STEP)
        else:
            stream[0] = _mixed(stream[0] + _STEP)


@inner_kernel(allocates=False)
def _read(codes, m, missing, target, variables):  # type: ignore[no-untyped-def]
    for v in range(codes.shape[0]):
        variables[v].state = -1 if codes[v, m] == missing else np.int64(codes[v, m])
    variables[target].state = 0


@inner_kernel(allocates=False)
def _cell(v, nodes, axes, target, variables):  # type: ignore[no-untyped-def]
    """Where the states of v's parents are in its table, at the first state of v."""
    cell = nodes[v].start
    for i in range(nodes[v].axes, nodes[v].axes_end):
        if axes[i].variable != v:
            cell += variables[axes[i].variable].state * axes[i].stride
    return cell + variables[target].state if nodes[v].with_class and v != target else cell


@inner_kernel(allocates=False)
def _draw(nodes, axes, parents_first, target, own, variables, tables, stream):  # type: ignore[no-untyped-def]
    """Draw the relevant features; return the logarithm of the weight.

    own: the stride of each node along its own axis; tables: float64 (3, cells), the sums of probabilities up to each
    state, log parameters, and the logarithms of the sums of whole columns.
    """
    weight = 0.0
    for v in parents_first:
        if not variables[v].touched:
            continue
        cell = _cell(v, nodes, axes, target, variables)
        if v != target and variables[v].relevant:
            stream[0] += _STEP
            uniform = np.float64(_mixed(stream[0]) >> _11) * 2.0**-53
            state = np.int64(0)
            while uniform >= tables[0, cell + state * own[v]]:
                state += 1
            variables[v].state = state
            weight += tables[2, cell]
        else:
            weight += tables[1, cell + variables[v].state * own[v]]
    return weight


@kernel(allocates=False)
def estimate(network, axes, own, tables, codes, missing, rows, seed, n, variables, stream, joint, errors):  # type: ignore[no-untyped-def]
    """Add to log joints what tables with a missing feature contribute, from n draws for each class.

    network: the first fields of FlatTables; rows: those to do; stream: uint64 (1,), room for the random numbers.
    errors[m, c]: the logarithm of the standard error of what was added to the joint, relative to that.
    """
    nodes, both_ways, _, target, _ = network
    parents_first = both_ways[nodes.shape[0] :]
    for i in range(rows.shape[0]):
        m = rows[i]
        _read(codes, m, missing, target, variables)
        if not mark(nodes, axes, both_ways, variables):
            continue
        for c in range(joint.shape[1]):
            variables[target].state = c
            _begin(seed, nodes, target, variables, stream)
            largest, total, squares = -np.inf, 0.0, 0.0
            for _ in range(n):
                weight = _draw(nodes, axes, parents_first, target, own, variables, tables, stream)
                if weight > largest:
                    shrunk = np.exp(largest - weight)
                    total, squares, largest = total * shrunk + 1.0, squares * shrunk * shrunk + 1.0, weight
                elif weight > -np.inf:
                    share = np.exp(weight - largest)
                    total += share
                    squares += share * share
            errors[m, c] = _log_error(largest, total, squares, n, _most(nodes, variables)) + joint[m, c]
            joint[m, c] += largest + np.log(total / n)


@inner_kernel(allocates=False)
def _most(nodes, variables):  # type: ignore[no-untyped-def]
    """A bound of the logarithm of any weight."""
    most = 0.0
    for v in range(nodes.shape[0]):
        if variables[v].touched and not nodes[v].proper:
            most += nodes[v].high + nodes[v].log_card
    return most


@inner_kernel(allocates=False)
def _log_error(largest, total, squares, n, most):  # type: ignore[no-untyped-def]
    """The logarithm of the standard error of a mean weight.

    One more draw of the largest weight is counted in: of what is rare the draws may have missed as much.
    """
    if total == 0.0:
        return most - np.log(n)
    mean = (total + 1.0) / (n + 1)
    return largest + 0.5 * np.log(((squares + 1.0) / (n + 1) - mean * mean) / n)


@kernel(allocates=False)
def add_counts(network, axes, own, tables, codes, missing, seed, n, variables, stream, weights, counts):  # type: ignore[no-untyped-def]
    """Add the expected counts of every row to `counts`: float64 (cells,), where the tables' cells are."""
    nodes, both_ways, _, target, _ = network
    parents_first = both_ways[nodes.shape[0] :]
    for m in range(weights.shape[0]):
        _read(codes, m, missing, target, variables)
        mark_all(nodes, axes, target, variables)
        for v in range(nodes.shape[0]):
            variables[v].touched = True
        for c in range(weights.shape[1]):
            if weights[m, c] == 0.0:
                continue
            variables[target].state = c
            _begin(seed, nodes, target, variables, stream)
            start, largest, total = stream[0], -np.inf, 0.0
            for _ in range(n):
                weight = _draw(nodes, axes, parents_first, target, own, variables, tables, stream)
                if weight > largest:
                    total, largest = total * np.exp(largest - weight) + 1.0, weight
                elif weight > -np.inf:
                    total += np.exp(weight - largest)
            if total == 0.0:
                continue
            # The same draws again, now that the sum of their weights is known.
            stream[0] = start
            for _ in range(n):
                weight = _draw(nodes, axes, parents_first, target, own, variables, tables, stream)
                share = weights[m, c] * np.exp(weight - largest) / total
                for v in range(nodes.shape[0]):
                    counts[_cell(v, nodes, axes, target, variables) + variables[v].state * own[v]] += share


@kernel(allocates=False)
def tally(network, axes, own, tables, states, soft, strides, seed, n, variables, stream, largest, sums):  # type: ignore[no-untyped-def]
    """Add up the weights of n draws for each class, and their squares, by the states of what is asked about.

    states: int64, -1 where not known; soft: float64 (variables, states), logarithms of likelihoods; strides: int64, of
    each variable in the answer; sums: float64 (2, cells of the answer), of weights divided by e**largest, or (2, 0).
    Returns the logarithm of the largest weight.
    """
    nodes, both_ways, _, target, _ = network
    parents_first = both_ways[nodes.shape[0] :]
    for v in range(nodes.shape[0]):
        variables[v].state = states[v]
    mark_all(nodes, axes, target, variables)
    found = -np.inf
    for c in range(nodes[target].card):
        variables[target].state = c
        if soft[target, c] == -np.inf:
            continue
        for v in range(nodes.shape[0]):
            variables[v].touched = True
        _begin(seed, nodes, target, variables, stream)
        for _ in range(n):
            weight = _draw(nodes, axes, parents_first, target, own, variables, tables, stream)
            cell = np.int64(0)
            for v in range(nodes.shape[0]):
                weight += soft[v, variables[v].state]
                cell += strides[v] * variables[v].state
            found = max(found, weight)
            if sums.shape[1] > 0:
                share = np.exp(weight - largest)
                sums[0, cell] += share
                sums[1, cell] += share * share
    return found
