"""Kernels of random walks over structures: draw candidates, accept one of them, record it.

Whatever scores candidates calls `go_on` after each stretch of them, which determines what comes next.

Random numbers are those of numpy's generators, drawn inside kernels through the addresses that numpy documents for
extensions (``BitGenerator.ctypes``). Exponential numbers come from uniform ones by the ziggurat of 256 layers of
Marsaglia and Tsang (2000), as in numpy.
"""

from __future__ import annotations

import ctypes
from math import exp, log1p
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from llvmlite import ir
from numba import config, types
from numba.extending import intrinsic
from numba.np.random._constants import fe_double, ke_double, we_double, ziggurat_exp_r

from bnplug.compiling import inner_kernel, kernel
from bnplug.compiling._addresses import called_by_address
from bnplug.scoring._bundles import LEAP, MOVE_MADE, PASSED_OVER, SCORE, TOO_WIDE
from bnplug.typing import FloatArray, IntArray

#: Positions in `numbers` of Steps: the addresses of `go_on` and of the generator; progress and limits of the walk; the
#: batch: its size, how many of it were counted as tried, the candidates to be scored next; the number of path searches;
#: whether moving and then measuring costs less than scoring and then moving; whether no candidate is legal.
(
    GO_ON, NEXT_DOUBLE, NEXT_UINT64, GENERATOR, PHASE, TRIES, SUCCESSES, N_ACCEPTED, CHANGED, UNTIL, MAX_TRY,
    MAX_SUCCESS, MAX_BATCH, TARGET, K, UNTIL_MOVES, SIZE, DONE, FIRST, STOP, SEARCHES, LEAPS, STUCK, N_NUMBERS,
) = range(24)  # fmt: skip

#: Positions in `reals`: the score of the current graph, the scale of accepted losses, the relative tie of scores, and
#: the largest change of the score so far, as far as it is known, or nan.
VALUE, SCALE, TIE, LARGEST = range(4)

#: Phases: draw a new batch, or end; look at the scores; record a move.
DRAWING, TRYING, MOVING = range(3)

#: The columns of `accepted`: the tries so far, the feature, whether the score rose, the number of parents, the parents.
AT, CHILD, BETTER, N_PARENTS, PARENTS = range(5)


class Steps(NamedTuple):
    """A random walk as arrays."""

    numbers: IntArray
    reals: FloatArray
    features: IntArray
    pairs: IntArray  # (pairs, 2): a feature and a parent that it may get; empty if all pairs are allowed
    required: npt.NDArray[np.bool_]  # [v, u]: whether v must keep the parent u; (0, 0) if nothing is required
    paths: IntArray  # (2, variables + 1): the last path search that reached each variable, and a stack
    accepted: IntArray  # (most moves, 4 + most parents)
    values: FloatArray  # (most moves,): the score after each
    layers: FloatArray  # LAYERS


#: For candidates that are not part of a walk.
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
    n_parents, parents, nodes, bounds, given, at_least, scores, tasks, status, last,
):  # fmt: skip
    """Return whether the walk continues with candidates ``numbers[FIRST]:numbers[STOP]`` of the batch.

    The arrays are those of Steps, of a FlatGraph, of a Batch (`given` are its parents), and of a Scratch: ``last[0]``
    is the last candidate that was scored, and ``last[1]`` the one that compiled code can move to. If the walk does not
    continue, the phase says why. DRAWING: it ends. TRYING: it waits for the score of that candidate, or the score is
    nan. MOVING: it waits for the move there.
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
            if tasks[tried] != LEAP:
                tasks[tried] = MOVE_MADE
                numbers[FIRST], numbers[STOP] = tried, tried + 1
                return last[1] == tried and numbers[N_ACCEPTED] + 1 < numbers[UNTIL_MOVES]
        elif tried + 1 < numbers[SIZE]:
            return True
    if numbers[PHASE] == MOVING:
        child, low, row = nodes[tried], bounds[tried], accepted[numbers[N_ACCEPTED]]
        n_new = bounds[tried + 1] - low
        n_parents[child] = n_new
        for p in range(n_new):
            row[PARENTS + p] = parents[child, p] = given[low + p]
        row[AT], row[CHILD], row[N_PARENTS] = numbers[TRIES], child, n_new
        row[BETTER] = scores[tried] > value + tied
        value = values[numbers[N_ACCEPTED]] = reals[VALUE] = scores[tried] + 0.0  # never -0.0
        tied = _tie(reals, value)
        numbers[N_ACCEPTED] += 1
        numbers[SUCCESSES] += 1
    numbers[PHASE] = DRAWING
    tries, left = numbers[TRIES], numbers[MAX_TRY] - numbers[TRIES]
    numbers[STUCK] = _is_stuck(numbers, features, pairs, paths, n_parents, parents)
    if left <= 0 or tries >= numbers[UNTIL] or numbers[SUCCESSES] >= numbers[MAX_SUCCESS] or numbers[STUCK] != 0:
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
        if numbers[TARGET] == n_parents.shape[0] and bounds[i + 1] - bounds[i] == n_parents[nodes[i]]:
            at_least[i] = np.inf  # nothing changes
        # A candidate that may lower the score by more than any change so far will most likely be accepted.
        leaps = numbers[LEAPS] != 0 and numbers[N_ACCEPTED] + 1 < numbers[UNTIL_MOVES]
        status[i] = PASSED_OVER
        tasks[i] = LEAP if leaps and reals[SCALE] * e > reals[LARGEST] else SCORE
    numbers[PHASE] = TRYING
    numbers[SIZE], numbers[DONE], numbers[FIRST], numbers[STOP] = size, 0, 0, size
    return True


_WHOLE, _REAL, _MATRIX = types.int64[::1], types.float64[::1], types.int64[:, ::1]
_SIGNATURE = types.boolean(
    _WHOLE, _REAL, _WHOLE, _MATRIX, types.boolean[:, ::1], _MATRIX, _MATRIX, _REAL, types.float64[:, ::1],
    _WHOLE, _MATRIX, _WHOLE, _WHOLE, _WHOLE, _REAL, _REAL, types.uint8[::1],
    types.uint8[::1], _WHOLE,
)  # fmt: skip

#: `go_on` is called by its address: it is compiled only for walks.
go_on_at, go_on_address = called_by_address(go_on, _SIGNATURE)


@inner_kernel(allocates=False, called_once=True)
def advance(steps, graph, batch, last):  # type: ignore[no-untyped-def]
    """Call `go_on` with the arrays of bundles."""
    going = go_on_at(steps.numbers[GO_ON])(
        steps.numbers, steps.reals, steps.features, steps.pairs, steps.required, steps.paths, steps.accepted,
        steps.values, steps.layers, graph.n_parents, graph.parents, batch.nodes, batch.bounds, batch.parents,
        batch.at_least, batch.scores, batch.tasks, batch.status, last,
    )  # fmt: skip
    return bool(going)


@kernel(allocates=False)
def advance_once(steps, graph, batch, last):  # type: ignore[no-untyped-def]
    """Call `go_on` from Python."""
    advance(steps, graph, batch, last)


@kernel(allocates=False)
def draw_batch(steps, graph, batch, size):  # type: ignore[no-untyped-def]
    """Draw the first `size` candidates of a batch; return how many were drawn: none if no candidate is legal."""
    numbers, pairs, paths = steps.numbers, steps.pairs, steps.paths
    if _is_stuck(numbers, steps.features, pairs, paths, graph.n_parents, graph.parents):
        return 0
    for i in range(size):
        _draw(
            numbers, steps.features, pairs, steps.required, paths, graph.n_parents, graph.parents, batch.nodes,
            batch.bounds, batch.parents, i,
        )  # fmt: skip
    return size


@inner_kernel(allocates=False)
def _tie(reals, value):  # type: ignore[no-untyped-def]
    """Return how far a score may differ from `value` and still tie with it."""
    size = abs(value)
    return reals[TIE] * (size if size > 1.0 else 1.0) if size < np.inf else 0.0


@inner_kernel(allocates=False)
def _is_stuck(numbers, features, pairs, paths, n_parents, parents):  # type: ignore[no-untyped-def]
    """Whether no candidate is legal; without rules, only if every two features are joined."""
    if numbers[TARGET] == n_parents.shape[0]:
        return features.shape[0] < 2
    for i in range(pairs.shape[0]):
        if _is_new(numbers, paths, n_parents, parents, pairs[i, 0], pairs[i, 1]):
            return False
    # The class is a parent of each.
    n, n_edges = features.shape[0], -features.shape[0]
    for i in range(n):
        n_edges += n_parents[features[i]]
    return pairs.shape[0] > 0 or n_edges == n * (n - 1) // 2


@inner_kernel(allocates=False)
def _draw(numbers, features, pairs, required, paths, n_parents, parents, nodes, bounds, given, i):  # type: ignore[no-untyped-def]
    """Draw a feature and its new parents, ascending. Pairs that are joined already or close a cycle are drawn again.

    Without a class, a pair is not drawn again: a parent is deleted, and where nothing is legal the parents stay.
    """
    next_double, generator, target = numbers[NEXT_DOUBLE], numbers[GENERATOR], numbers[TARGET]
    new, toggles = False, target == n_parents.shape[0]
    child = parent = lost = np.int64(-1)
    while not new:
        if pairs.shape[0] > 0:
            pair = np.int64(uniform(next_double, generator) * pairs.shape[0])
            child, parent = pairs[pair, 0], pairs[pair, 1]
        else:
            child = features[np.int64(uniform(next_double, generator) * features.shape[0])]
            parent = features[np.int64(uniform(next_double, generator) * features.shape[0])]
        new = _is_new(numbers, paths, n_parents, parents, child, parent)
        if toggles:
            break
    current = parents[child, : n_parents[child]]
    adds, n = new, bounds[i]
    if toggles:
        adds = new and current.shape[0] < numbers[K]
        lost = np.int64(-1) if required.shape[0] > 0 and required[child, parent] else parent
    elif current.shape[0] > numbers[K]:
        n_loose = 0
        for p in range(current.shape[0]):
            n_loose += current[p] != target and not (required.shape[0] > 0 and required[child, current[p]])
        left = np.int64(uniform(next_double, generator) * n_loose)
        for p in range(current.shape[0]):
            if current[p] != target and not (required.shape[0] > 0 and required[child, current[p]]):
                lost = current[p] if left == 0 else lost
                left -= 1
    waits = adds
    for p in range(current.shape[0] + 1):
        if waits and (p == current.shape[0] or parent < current[p]):
            given[n] = parent
            n += 1
            waits = False
        if p < current.shape[0] and current[p] != lost:
            given[n] = current[p]
            n += 1
    nodes[i], bounds[i + 1] = child, n


@inner_kernel(allocates=False)
def _is_new(numbers, paths, n_parents, parents, child, parent):  # type: ignore[no-untyped-def]
    """Whether a parent is new and closes no cycle: its ancestors do not include the child."""
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


# Without compilation, a generator is known by its id.
_generators: dict[int, np.random.Generator] = {}


def addresses(generator: np.random.Generator) -> tuple[int, int, int]:
    """Return the addresses of a generator's functions for doubles and 64-bit integers, and of its state."""
    if config.DISABLE_JIT:
        _generators[id(generator)] = generator
        return 0, 0, id(generator)
    interface: Any = generator.bit_generator.ctypes
    functions = interface.next_double, interface.next_uint64
    double, whole = (int(ctypes.cast(function, ctypes.c_void_p).value or 0) for function in functions)
    return double, whole, int(interface.state_address)


#: The ziggurat of numpy, (3, 256): the integers below which a point of a layer is under the curve for certain, the
#: factor from integers to numbers, and the curve at the end of the layer.
LAYERS: FloatArray = np.array([ke_double, we_double, fe_double], dtype=np.float64)


def _call(result: Any) -> Any:
    """Return an intrinsic that calls a function of the state by its address."""

    def call(typing_context, address, state):  # type: ignore[no-untyped-def]
        def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
            kind = ir.FunctionType(context.get_value_type(result), [ir.IntType(64)])
            function = builder.inttoptr(arguments[0], kind.as_pointer())
            return builder.call(function, [arguments[1]])

        return result(types.int64, types.int64), generate

    return intrinsic(call)


#: Inside a kernel, the next number of ``Generator.random``; arguments are the addresses of next_double and the state.
uniform = _call(types.float64)
_bits = _call(types.uint64)


@inner_kernel(allocates=False)
def exponential(next_double, next_uint64, state, layers):  # type: ignore[no-untyped-def]
    """Return the next number of ``Generator.standard_exponential``."""
    while True:
        bits = _bits(next_uint64, state) >> np.uint64(3)
        layer = bits & np.uint64(255)
        number = np.float64(bits >> np.uint64(8))
        x = number * layers[1, layer]
        if number < layers[0, layer]:
            return x
        if layer == 0:
            return ziggurat_exp_r - np.float64(log1p(-uniform(next_double, state)))
        below, above = layers[2, layer], layers[2, layer - np.uint64(1)]
        if (above - below) * uniform(next_double, state) + below < exp(-x):
            return x


if config.DISABLE_JIT:

    def uniform(next_double, state):  # type: ignore[no-untyped-def]
        """Return the next number of ``Generator.random``."""
        return _generators[state].random()

    def exponential(next_double, next_uint64, state, layers):  # type: ignore[no-untyped-def]
        """Return the next number of ``Generator.standard_exponential``."""
        return _generators[state].standard_exponential()
