"""Likelihood weighting, compiled: draws of what is missing, each weighted by how likely it makes what is known.

A draw goes through the nodes parents first. A missing feature gets a state by its table, given the states of its
parents; any other node multiplies the weight by its parameter. The class is held at each of its states in turn. Equal
rows get equal answers. SplitMix64 draws the numbers (Steele, Lea, Flood: Fast splittable pseudorandom number
generators, 2014).
"""

from __future__ import annotations

import numpy as np

from bnplug.compiling import inner_kernel, kernel
from bnplug.inference._flat_tables import mark, mark_all, mark_complete, read_row, record

#: Progress of sampling: the current row and class, and the number of their draws so far; whether these are the repeated
#: draws of `add_counts`; the largest log weight so far, and the sums of weights and of their squares relative to it.
PROGRESS = record("row label draws", flags="again", numbers="largest total squares")

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
def _cell(v, nodes, axes, target, variables):  # type: ignore[no-untyped-def]
    """Where the states of v's parents are in its table, at the first state of v."""
    cell = nodes[v].start
    for i in range(nodes[v].axes, nodes[v].axes_end):
        if axes[i].variable != v:
            cell += variables[axes[i].variable].state * axes[i].stride
    return cell + variables[target].state if nodes[v].with_class and v != target else cell


@inner_kernel(allocates=False)
def _draw(nodes, axes, parents_first, target, steps, variables, tables, stream):  # type: ignore[no-untyped-def]
    """Draw the relevant features; return the logarithm of the weight.

    steps: the stride of each node along its own axis; tables: float64 (3, cells), the sums of probabilities up to each
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
            while uniform >= tables[0, cell + state * steps[v]]:
                state += 1
            variables[v].state = state
            weight += tables[2, cell]
        else:
            weight += tables[1, cell + variables[v].state * steps[v]]
    return weight


@inner_kernel(allocates=False)
def _add_weights(nodes, axes, parents_first, target, steps, variables, tables, stream, at, end):  # type: ignore[no-untyped-def]
    """Draw until the current row and class have `end` draws, and sum their weights."""
    largest, total, squares = at.largest, at.total, at.squares
    for _ in range(at.draws, end):
        weight = _draw(nodes, axes, parents_first, target, steps, variables, tables, stream)
        if weight > largest:
            shrunk = np.exp(largest - weight)
            total, squares, largest = total * shrunk + 1.0, squares * shrunk * shrunk + 1.0, weight
        elif weight > -np.inf:
            share = np.exp(weight - largest)
            total += share
            squares += share * share
    at.largest, at.total, at.squares, at.draws = largest, total, squares, end


@inner_kernel(allocates=False)
def _begin_class(seed, nodes, target, variables, stream, at):  # type: ignore[no-untyped-def]
    """Initialize the random numbers and sums of the current row and class, unless it has draws already."""
    variables[target].state = at.label
    if at.draws == 0:
        _begin(seed, nodes, target, variables, stream)
        stream[1] = stream[0]
        at.largest, at.total, at.squares = -np.inf, 0.0, 0.0


@kernel(allocates=False)
def estimate(network, codes, missing, rows, complete, drawing, joint, errors):  # type: ignore[no-untyped-def]
    """Add to log joints what tables with a missing feature contribute, from n draws for each class.

    network: the first fields of FlatTables, its axes, and the strides and tables of `_draw`; drawing: the seed, n, the
    number of draws to make in this call, VARIABLE (n,), the state of the random numbers, uint64 (2,), and PROGRESS
    (1,), initially zeros; complete: whether to include tables that are the same for all classes. Returns whether all
    `rows` are done; if not, the next call continues. errors[m, c]: the logarithm of the standard error of the joint.
    """
    (nodes, both_ways, _, target, _), axes, steps, tables = network
    seed, n, most, variables, stream, progress = drawing
    parents_first = both_ways[nodes.shape[0] :]
    at = progress[0]
    while at.row < rows.shape[0]:
        m = rows[at.row]
        read_row(codes, m, missing, target, variables)
        if complete:
            any_relevant = mark_complete(nodes, axes, both_ways, target, variables)
        else:
            any_relevant = mark(nodes, axes, both_ways, variables)
        if not any_relevant:
            at.row += 1
            continue
        while at.label < joint.shape[1]:
            _begin_class(seed, nodes, target, variables, stream, at)
            end = min(n, at.draws + most)
            most -= end - at.draws
            _add_weights(nodes, axes, parents_first, target, steps, variables, tables, stream, at, end)
            if end < n:
                return False
            c = at.label
            errors[m, c] = _log_error(at.largest, at.total, at.squares, n, _most(nodes, variables)) + joint[m, c]
            joint[m, c] += at.largest + np.log(at.total / n)
            at.draws = 0
            at.label += 1
        at.label = 0
        at.row += 1
    return True


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
    """Return the logarithm of the standard error of a mean weight."""
    if total == 0.0:
        return most - np.log(n)
    # One more draw of the largest weight is included, because the draws may have missed a rare one.
    mean = (total + 1.0) / (n + 1)
    return largest + 0.5 * np.log(((squares + 1.0) / (n + 1) - mean * mean) / n)


@kernel(allocates=False)
def add_counts(network, codes, missing, drawing, weights, counts):  # type: ignore[no-untyped-def]
    """Add the expected counts of every row to `counts`, float64 (cells,), by up to `most` draws, as `estimate`."""
    (nodes, both_ways, _, target, _), axes, steps, tables = network
    seed, n, most, variables, stream, progress = drawing
    parents_first = both_ways[nodes.shape[0] :]
    at = progress[0]
    while at.row < weights.shape[0]:
        read_row(codes, at.row, missing, target, variables)
        _mark_each(nodes, axes, target, variables)
        while at.label < weights.shape[1]:
            weight = weights[at.row, at.label]
            possible = weight != 0.0
            if possible and not at.again:
                _begin_class(seed, nodes, target, variables, stream, at)
                end = min(n, at.draws + most)
                most -= end - at.draws
                _add_weights(nodes, axes, parents_first, target, steps, variables, tables, stream, at, end)
                if end < n:
                    return False
                # Repeat the same draws, now that the sum of their weights is known.
                at.again, at.draws, stream[0] = True, 0, stream[1]
            if possible and at.total > 0.0:
                variables[target].state = at.label
                end = min(n, at.draws + most)
                most -= end - at.draws
                largest, total = at.largest, at.total
                for _ in range(at.draws, end):
                    log_weight = _draw(nodes, axes, parents_first, target, steps, variables, tables, stream)
                    share = weight * np.exp(log_weight - largest) / total
                    _count(nodes, axes, target, steps, variables, share, counts)
                at.draws = end
                if end < n:
                    return False
            at.again, at.draws = False, 0
            at.label += 1
        at.label = 0
        at.row += 1
    return True


@inner_kernel(allocates=False)
def _mark_each(nodes, axes, target, variables):  # type: ignore[no-untyped-def]
    """Mark all missing features as relevant, and all tables as touched."""
    mark_all(nodes, axes, target, variables)
    for v in range(nodes.shape[0]):
        variables[v].touched = True


@inner_kernel(allocates=False)
def _count(nodes, axes, target, steps, variables, share, counts):  # type: ignore[no-untyped-def]
    """Add `share` to the current draw's cell of every family."""
    for v in range(nodes.shape[0]):
        counts[_cell(v, nodes, axes, target, variables) + variables[v].state * steps[v]] += share


@kernel(allocates=False)
def tally(network, states, soft, strides, drawing, largest, sums):  # type: ignore[no-untyped-def]
    """Add up the weights of n draws for each class, and their squares, by the states of what is asked about.

    states: int64, -1 where not known; soft: float64 (variables, states), logarithms of likelihoods; strides: int64, of
    each variable in the answer; sums: float64 (2, cells of the answer), of weights divided by e**largest, or (2, 0).
    ``progress[0].largest``, initially -inf, is the logarithm of the largest weight. The rest is as in `estimate`.
    """
    (nodes, both_ways, _, target, _), axes, steps, tables = network
    seed, n, most, variables, stream, progress = drawing
    parents_first = both_ways[nodes.shape[0] :]
    at = progress[0]
    for v in range(nodes.shape[0]):
        variables[v].state = states[v]
    _mark_each(nodes, axes, target, variables)
    while at.label < nodes[target].card:
        if soft[target, at.label] > -np.inf:
            variables[target].state = at.label
            if at.draws == 0:
                _begin(seed, nodes, target, variables, stream)
            end = min(n, at.draws + most)
            most -= end - at.draws
            for _ in range(at.draws, end):
                weight = _draw(nodes, axes, parents_first, target, steps, variables, tables, stream)
                cell = np.int64(0)
                for v in range(nodes.shape[0]):
                    weight += soft[v, variables[v].state]
                    cell += strides[v] * variables[v].state
                if weight > at.largest:
                    at.largest = weight
                if sums.shape[1] > 0:
                    share = np.exp(weight - largest)
                    sums[0, cell] += share
                    sums[1, cell] += share * share
            at.draws = end
            if end < n:
                return False
        at.draws = 0
        at.label += 1
    return True
