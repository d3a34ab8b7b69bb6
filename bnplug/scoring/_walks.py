"""Random walks inside kernels: which candidates come next, which of them is accepted, and what is kept of that.

A walk goes from batch to batch: candidates are drawn, tried in turn, and the first that is good enough is moved to.
Whoever scores them calls `go_on` after each stretch of candidates, which says what to do next.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numba import types

from bnplug.arrays import FloatArray, IntArray
from bnplug.compiling import inner_kernel, interrupts_held_back
from bnplug.compiling._addresses import compile_at, function_at
from bnplug.scoring._drawing import exponential, uniform

#: What `numbers` of Steps hold. Where `go_on` and the generator are; how far the walk is; its limits; the batch: how
#: many candidates it has, how many were counted as tried, and those that are to be scored next; how many searches for a
#: path there were; and whether a move and what it leads to take less than a score and then the move.
(
    GO_ON, NEXT_DOUBLE, NEXT_UINT64, GENERATOR, PHASE, TRIES, SUCCESSES, N_ACCEPTED, CHANGED, UNTIL, MAX_TRY,
    MAX_SUCCESS, MAX_BATCH, TARGET, K, UNTIL_MOVES, SIZE, DONE, FIRST, STOP, SEARCHES, LEAPS, N_NUMBERS,
) = range(23)  # fmt: skip

#: What `reals` hold: the score of the current graph, what a score may fall by, and the relative tie of scores; and the
#: largest change of the score so far, as far as it is known, or nan.
VALUE, SCALE, TIE, LARGEST = range(4)

#: What comes next: a new batch, or the end; to look at what was scored; to take note of a move that was made.
DRAWING, TRYING, MOVING = range(3)

#: The columns of `accepted`: the tries so far, the feature, whether the score rose, how many parents; and then those.
AT, CHILD, BETTER, N_OWN, OWN = range(5)

#: What became of a candidate: it changes no gain, or was not come to; it was scored; it has more configurations than
#: the scratch has room for. What is asked for, if not a score of what can change one: that of the graph as it is; to
#: move there, which is no score; to move there by the table that is in the scratch; to move there, to score it then and
#: to go back where it is below what it must be; and to go back, which is no score.
PASSED_OVER, SCORED, TOO_WIDE, MEASURED, MOVED, MADE, LEAPT, BACK = range(8)


class Steps(NamedTuple):
    """A random walk as arrays.

    Attributes
    ----------
    numbers : int64 array
    reals : float64 array
    features : int64 array
    pairs : int64 array of shape (pairs, 2)
        A feature and what it may get as a new parent; empty where all pairs of features are allowed.
    required : bool array of shape (variables, variables), or (0, 0) where nothing is
        Whether the first must keep the second as a parent.
    paths : int64 array of shape (2, variables)
        The last search for a path that met a variable; those that it is still to go back from.
    accepted : int64 array of shape (most moves, 4 + most parents)
    values : float64 array of shape (most moves,)
        The score after each.
    layers : float64 array of shape (3, 256)
        See `bnplug.scoring._drawing`.
    """

    numbers: IntArray
    reals: FloatArray
    features: IntArray
    pairs: IntArray
    required: npt.NDArray[np.bool_]
    paths: IntArray
    accepted: IntArray
    values: FloatArray
    layers: FloatArray


#: What goes with candidates that are no part of a walk.
NO_STEPS = Steps(
    numbers=np.zeros(N_NUMBERS, dtype=np.int64),
    reals=np.empty(0),
    features=np.empty(0, dtype=np.int64),
    pairs=np.empty((0, 2), dtype=np.int64),
    required=np.empty((0, 0), dtype=np.bool_),
    paths=np.empty((2, 0), dtype=np.int64),
    accepted=np.empty((0, 0), dtype=np.int64),
    values=np.empty(0),
    layers=np.empty((3, 0)),
)


@inner_kernel(allocates=False)
def go_on(  # type: ignore[no-untyped-def]
    numbers, reals, features, pairs, required, paths, accepted, values, layers,
    n_parents, parents, nodes, bounds, given, at_least, scores, status, last,
):  # fmt: skip
    """Say whether the walk goes on by candidates ``numbers[FIRST]:numbers[STOP]`` of the batch.

    The arrays are those of Steps, of a FlatGraph, of a Batch (`given` are its parents), and of a Scratch: candidate
    ``last[0]`` is the last that was looked at, and ``last[1]`` the one that compiled code can move to. If the walk does
    not go on, it ends where the phase is DRAWING; TRYING waits for the score of that candidate, or has found one that
    is nan; MOVING waits for the move there.
    """
    tried, value = last[0], reals[VALUE]
    tied = _tie(reals, value)
    if numbers[PHASE] == TRYING:
        for i in range(numbers[DONE], tried + 1):
            if status[i] == TOO_WIDE or scores[i] != scores[i]:
                return False
            if scores[i] > value + tied or scores[i] < value - tied:
                numbers[CHANGED] = 1
            change = abs(scores[i] - value) if scores[i] > -np.inf else value - at_least[i]
            reals[LARGEST] = reals[LARGEST] if reals[LARGEST] >= change else change
        numbers[TRIES] += tried + 1 - numbers[DONE]
        numbers[DONE] = tried + 1
        numbers[FIRST], numbers[STOP] = tried + 1, numbers[SIZE]
        if scores[tried] >= at_least[tried]:
            numbers[PHASE] = MOVING
            if status[tried] != LEAPT:
                status[tried] = MADE
                numbers[FIRST], numbers[STOP] = tried, tried + 1
                return last[1] == tried and numbers[N_ACCEPTED] + 1 < numbers[UNTIL_MOVES]
        elif tried + 1 < numbers[SIZE]:
            return True
    if numbers[PHASE] == MOVING:
        child, low, row = nodes[tried], bounds[tried], accepted[numbers[N_ACCEPTED]]
        n_own = bounds[tried + 1] - low
        n_parents[child] = n_own
        for p in range(n_own):
            row[OWN + p] = parents[child, p] = given[low + p]
        row[AT], row[CHILD], row[N_OWN] = numbers[TRIES], child, n_own
        row[BETTER] = scores[tried] > value + tied
        value = values[numbers[N_ACCEPTED]] = reals[VALUE] = scores[tried] + 0.0  # never -0.0
        tied = _tie(reals, value)
        numbers[N_ACCEPTED] += 1
        numbers[SUCCESSES] += 1
    numbers[PHASE] = DRAWING
    tries, left = numbers[TRIES], numbers[MAX_TRY] - numbers[TRIES]
    if left <= 0 or tries >= numbers[UNTIL] or numbers[SUCCESSES] >= numbers[MAX_SUCCESS]:
        return False
    if _is_stuck(numbers, features, pairs, paths, n_parents, parents):
        return False
    size = (tries + 1) // (numbers[SUCCESSES] + 1)
    size = left if left < size else size
    size = numbers[MAX_BATCH] if numbers[MAX_BATCH] < size else size
    for i in range(size):
        _draw(numbers, features, pairs, required, paths, n_parents, parents, nodes, bounds, given, i)
        scores[i] = value
    for i in range(size):
        # u < exp(change / scale) with u uniform is -change < scale e with e exponential.
        e = exponential(numbers[NEXT_DOUBLE], numbers[NEXT_UINT64], numbers[GENERATOR], layers)
        at_least[i] = value - (reals[SCALE] * e if reals[SCALE] * e > tied else tied)
        # What may lower the score by more than any change so far will most likely be accepted.
        leaps = numbers[LEAPS] != 0 and numbers[N_ACCEPTED] + 1 < numbers[UNTIL_MOVES]
        status[i] = LEAPT if leaps and reals[SCALE] * e > reals[LARGEST] else PASSED_OVER
    numbers[PHASE] = TRYING
    numbers[SIZE], numbers[DONE], numbers[FIRST], numbers[STOP] = size, 0, 0, size
    return True


_WHOLE, _REAL, _MATRIX = types.int64[::1], types.float64[::1], types.int64[:, ::1]
_SIGNATURE = types.boolean(
    _WHOLE, _REAL, _WHOLE, _MATRIX, types.boolean[:, ::1], _MATRIX, _MATRIX, _REAL, types.float64[:, ::1],
    _WHOLE, _MATRIX, _WHOLE, _WHOLE, _WHOLE, _REAL, _REAL, types.uint8[::1], _WHOLE,
)  # fmt: skip

#: Returns `go_on`, inside a kernel that most who use it never need to go on a walk.
go_on_at = function_at(_SIGNATURE)


@cache
def go_on_address() -> int:
    """Return where `go_on` is; it is compiled when a walk first needs it."""
    with interrupts_held_back():
        return int(compile_at(go_on.py_func, _SIGNATURE, allocates=False).address)


@inner_kernel(allocates=False)
def _tie(reals, value):  # type: ignore[no-untyped-def]
    """By how much a score may differ from `value` and tie with it."""
    size = abs(value)
    return reals[TIE] * (size if size > 1.0 else 1.0) if size < np.inf else 0.0


@inner_kernel(allocates=False)
def _is_stuck(numbers, features, pairs, paths, n_parents, parents):  # type: ignore[no-untyped-def]
    """Whether no candidate is legal; without rules, only where every two features are joined."""
    for i in range(pairs.shape[0]):
        if _is_new(numbers, paths, n_parents, parents, pairs[i, 0], pairs[i, 1]):
            return False
    # Each has the class as a parent, too.
    n, n_edges = features.shape[0], -features.shape[0]
    for i in range(n):
        n_edges += n_parents[features[i]]
    return pairs.shape[0] > 0 or n_edges == n * (n - 1) // 2


@inner_kernel(allocates=False)
def _draw(numbers, features, pairs, required, paths, n_parents, parents, nodes, bounds, given, i):  # type: ignore[no-untyped-def]
    """Draw a feature and its new parents, ascending. Pairs that close a cycle, or are there, are drawn again."""
    next_double, generator, target = numbers[NEXT_DOUBLE], numbers[GENERATOR], numbers[TARGET]
    new = False
    child = parent = lost = np.int64(-1)
    while not new:
        if pairs.shape[0] > 0:
            pair = np.int64(uniform(next_double, generator) * pairs.shape[0])
            child, parent = pairs[pair, 0], pairs[pair, 1]
        else:
            child = features[np.int64(uniform(next_double, generator) * features.shape[0])]
            parent = features[np.int64(uniform(next_double, generator) * features.shape[0])]
        new = _is_new(numbers, paths, n_parents, parents, child, parent)
    own = parents[child, : n_parents[child]]
    if own.shape[0] > numbers[K]:
        n_loose = 0
        for p in range(own.shape[0]):
            n_loose += own[p] != target and not (required.shape[0] > 0 and required[child, own[p]])
        left = np.int64(uniform(next_double, generator) * n_loose)
        for p in range(own.shape[0]):
            if own[p] != target and not (required.shape[0] > 0 and required[child, own[p]]):
                lost = own[p] if left == 0 else lost
                left -= 1
    n, waits = bounds[i], True
    for p in range(own.shape[0] + 1):
        if waits and (p == own.shape[0] or parent < own[p]):
            given[n] = parent
            n += 1
            waits = False
        if p < own.shape[0] and own[p] != lost:
            given[n] = own[p]
            n += 1
    nodes[i], bounds[i + 1] = child, n


@inner_kernel(allocates=False)
def _is_new(numbers, paths, n_parents, parents, child, parent):  # type: ignore[no-untyped-def]
    """Whether a parent is not there yet, and closes no cycle: going back from it never comes to the child."""
    met, waiting, target = paths[0], paths[1], numbers[TARGET]
    for p in range(n_parents[child]):
        if parents[child, p] == parent:
            return False
    numbers[SEARCHES] += 1
    search = numbers[SEARCHES]
    met[target] = met[parent] = search
    waiting[0] = parent
    n = 1
    while n > 0:
        n -= 1
        v = waiting[n]
        if v == child:
            return False
        for p in range(n_parents[v]):
            u = parents[v, p]
            if met[u] != search:
                met[u] = search
                waiting[n] = u
                n += 1
    return True
