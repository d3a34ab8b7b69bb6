"""What a candidate changes in the log joint: one table, counted in one pass over the rows.

A candidate takes some families out of the graph and puts others in. The features of all these families
together have one *configuration* in each row; what the candidate adds to the row's log joint depends on the
row's fold, on that configuration and on the class alone.

Missing cells: a family counts the training rows in which all its variables are known, and adds nothing
to the log joint of a row in which one of them is missing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from bnplug.arrays import FloatArray, IntArray
from bnplug.compiling import inner_kernel, kernel
from bnplug.counts._numbering import number_occurring
from bnplug.scoring._rows import FoldedRows

_BLOCK = 4096


class CandidateFamilies(NamedTuple):
    """The families of candidates, flat: those that each takes out (sign -1) and puts in (sign +1).

    Attributes
    ----------
    starts : int64 array of shape (candidates + 1,)
        Candidate i has the families ``starts[i]:starts[i + 1]``.
    nodes, signs : int64 arrays of shape (families,)
    bounds : int64 array of shape (families + 1,)
        Family j has the parents ``parents[bounds[j]:bounds[j + 1]]``.
    parents : int64 array
    """

    starts: IntArray
    nodes: IntArray
    signs: IntArray
    bounds: IntArray
    parents: IntArray


class JointDelta(NamedTuple):
    """What a candidate adds to the log joint.

    Attributes
    ----------
    configuration : uint32 array of shape (rows,)
        That of each row.
    counts : int64 array of shape (n_folds + 1, configurations, classes)
        The weight of the rows of each fold.
    terms : float64 array of shape (n_folds, configurations, classes)
        The sum of the finite log parameters put in, minus those taken out. It has no meaning for a
        configuration that no tested row of the fold has.
    zeros : int16 array of the same shape, or (0, configurations, classes) where no probability can be zero
        How many zero probabilities are put in, minus those taken out.
    """

    configuration: npt.NDArray[np.uint32]
    counts: IntArray
    terms: FloatArray
    zeros: npt.NDArray[np.int16]


def flatten_families(candidates: Iterable[Iterable[tuple[int, Iterable[int]]]]) -> CandidateFamilies:
    """The families that candidates put in: pairs (node, parents)."""
    starts, bounds = [0], [0]
    nodes: list[int] = []
    parents: list[int] = []
    for candidate in candidates:
        for node, own in candidate:
            nodes.append(node)
            parents.extend(own)
            bounds.append(len(parents))
        starts.append(len(nodes))
    signs = [1] * len(nodes)
    return CandidateFamilies(
        *[np.array(numbers, dtype=np.int64) for numbers in (starts, nodes, signs, bounds, parents)]
    )


class FlatGraph(NamedTuple):
    """The families of the current graph.

    Attributes
    ----------
    n_parents : int64 array of shape (variables,)
    parents : int64 array of shape (variables, most parents)
        Those of v are ``parents[v, :n_parents[v]]``.
    """

    n_parents: IntArray
    parents: IntArray

    @classmethod
    def of(cls, parents: Sequence[Sequence[int]]) -> FlatGraph:
        """Return the graph in which ``parents[v]`` are those of v."""
        graph = cls(np.zeros(len(parents), np.int64), np.zeros((len(parents), 1), np.int64))
        for v, own in enumerate(parents):
            graph = graph.replace(v, own)
        return graph

    def parents_of(self, v: int) -> tuple[int, ...]:
        """Return the parents of v."""
        return tuple(self.parents[v, : self.n_parents[v]].tolist())

    def replace(self, v: int, parents: Sequence[int]) -> FlatGraph:
        """Return the graph in which v has these parents; the arrays of this one are changed."""
        lacking = len(parents) - self.parents.shape[1]
        graph = self if lacking <= 0 else self._replace(parents=np.pad(self.parents, ((0, 0), (0, lacking))))
        graph.n_parents[v] = len(parents)
        graph.parents[v, : len(parents)] = parents
        return graph


def with_replaced(new: CandidateFamilies, graph: FlatGraph, target: int) -> CandidateFamilies:
    """Return the families that candidates put in, together with those that they replace in a graph.

    Parameters
    ----------
    new : CandidateFamilies
        What candidates put in. A family that neither is the class's nor has it as a parent drops out: its terms are
        the same for all classes. So does one that is in the graph already.
    graph : FlatGraph
    target : int
        The class.

    Returns
    -------
    CandidateFamilies
        Its arrays may be longer than their families need.
    """
    most = 2 * len(new.nodes)
    most_parents = len(new.parents) + len(new.nodes) * graph.parents.shape[1]
    sizes = (len(new.starts), most, most, most + 1, most_parents)
    families = CandidateFamilies(*[np.empty(size, np.int64) for size in sizes])
    _replace(new, graph, target, families)
    return families


@kernel
def _replace(new, graph, target, families):  # type: ignore[no-untyped-def]
    """Fill `families` as with_replaced describes it."""
    starts, nodes, signs, bounds, parents = families
    size = starts[0] = bounds[0] = 0
    for i in range(starts.shape[0] - 1):
        for j in range(new.starts[i], new.starts[i + 1]):
            v = new.nodes[j]
            before, after = graph.parents[v, : graph.n_parents[v]], new.parents[new.bounds[j] : new.bounds[j + 1]]
            common = 0
            for p in after:
                for other in before:
                    common += p == other
            if common == before.shape[0] == after.shape[0]:
                continue
            for sign in (-1, 1):
                own = before if sign < 0 else after
                matters, end = v == target, bounds[size]
                for k in range(own.shape[0]):
                    matters |= own[k] == target
                    parents[end + k] = own[k]
                if matters:
                    nodes[size], signs[size] = v, sign
                    bounds[size + 1] = end + own.shape[0]
                    size += 1
        starts[i + 1] = size


@inner_kernel
def find_features(rows, families, candidate, features):  # type: ignore[no-untyped-def]
    """Put all features of a candidate's families, each once, into `features` (variables,); return their number."""
    n = 0
    for j in range(families.starts[candidate], families.starts[candidate + 1]):
        for i in range(families.bounds[j] - 1, families.bounds[j + 1]):
            v = families.nodes[j] if i < families.bounds[j] else families.parents[i]
            new = v != rows.target
            for seen in range(n):
                new = new and features[seen] != v
            if new:
                features[n] = v
                n += 1
    return n


@inner_kernel
def n_configurations(rows, features):  # type: ignore[no-untyped-def]
    """How many configurations features have, missing included: a float, which does not overflow."""
    size = 1.0
    for v in features:
        size *= rows.sizes[v]
    return size


def new_delta(rows: FoldedRows, configuration: npt.NDArray[np.uint32], size: int) -> JointDelta:
    """Return a JointDelta of `size` configurations, for these of the rows; only they are filled."""
    shape = (rows.n_folds, size, rows.n_classes)
    return JointDelta(
        configuration,
        counts=np.empty((shape[0] + 1, *shape[1:]), np.int64),
        terms=np.empty(shape),
        zeros=np.empty((0 if rows.finite else shape[0], *shape[1:]), np.int16),
    )


@inner_kernel
def fill_dense(rows, families, candidate, features, known, logs, delta):  # type: ignore[no-untyped-def]
    """Fill the JointDelta of a candidate, all configurations of its features being numbered in C order.

    features: as from find_features; known, logs: as in Scratch. The log parameters of families that are taken out are
    kept there: other candidates take out the same ones.
    """
    _number_rows(rows.codes, rows.sizes, features, delta.configuration)
    count(rows, delta)
    place = np.empty(delta.counts.shape[1], np.int64)
    for j in range(families.starts[candidate], families.starts[candidate + 1]):
        node, sign = families.nodes[j], families.signs[j]
        parents = families.parents[families.bounds[j] : families.bounds[j + 1]]
        columns = _place_family(rows, features, node, parents, place)
        if sign < 0 and known[node]:
            add_logs(logs[node], place, sign, delta)
            continue
        own = np.empty((rows.n_folds, n_own(rows, node, columns)))
        find_logs(rows, delta.counts, node, parents, place, columns, own)
        add_logs(own, place, sign, delta)
        if sign < 0 and own.shape[1] <= logs.shape[2]:
            for f in range(own.shape[0]):
                for i in range(own.shape[1]):
                    logs[node, f, i] = own[f, i]
            known[node] = True


@inner_kernel
def count(rows, delta):  # type: ignore[no-untyped-def]
    """Fill the counts of a JointDelta by its configurations; it adds nothing yet."""
    bounds, weights, n_classes = rows.bounds, rows.weights, rows.cards[rows.target]
    configuration, counts = delta.configuration, delta.counts
    _clear(counts)
    _clear(delta.terms)
    _clear(delta.zeros)
    for s in range(bounds.shape[0] - 1):
        fold, c = s // n_classes, s % n_classes
        segment = configuration[bounds[s] : bounds[s + 1]]
        if weights.shape[0] == 0:
            for m in range(segment.shape[0]):
                counts[fold, segment[m], c] += 1
        else:
            weight = weights[bounds[s] : bounds[s + 1]]
            for m in range(segment.shape[0]):
                counts[fold, segment[m], c] += weight[m]


@inner_kernel
def _clear(cells):  # type: ignore[no-untyped-def]
    for i in range(cells.shape[0]):
        for j in range(cells.shape[1]):
            for k in range(cells.shape[2]):
                cells[i, j, k] = 0


@inner_kernel
def n_own(rows, node, columns):  # type: ignore[no-untyped-def]
    """How many log parameters of a family find_logs makes for each fold."""
    return (columns if node == rows.target else rows.cards[node] * columns) * rows.cards[rows.target]


@inner_kernel
def find_logs(rows, counts, node, parents, place, columns, logs):  # type: ignore[no-untyped-def]
    """Fill the log parameters (folds, n_own) of a family, from the counts of a delta.

    place: int64 (configurations,), the family's own configuration in each, -1 where a cell is missing:
    ``state of the node * columns + parent configuration``, the class left out of both.
    columns: how many parent configurations are numbered.
    """
    n_classes, states, n_folds = rows.cards[rows.target], rows.cards[node], rows.n_folds
    cells = float(states)
    for p in parents:
        cells *= rows.cards[p]
    size = logs.shape[1]
    # Filled by hand: numba takes longest to compile where it has np.zeros of a new kind.
    own = np.empty((n_folds + 1, size), np.int64)
    for f in range(n_folds + 1):
        for i in range(size):
            own[f, i] = 0
        for k in range(place.shape[0]):
            w = place[k] * n_classes
            if w >= 0:
                for c in range(n_classes):
                    own[f, w + c] += counts[f, k, c]
    for f in range(n_folds):
        for i in range(size):
            own[n_folds, i] += own[f, i]
    for f in range(n_folds):
        for i in range(size):
            left_out = 0 if rows.resubstitution else own[f, i]
            logs[f, i] = (own[n_folds, i] - left_out) * rows.unit + rows.alpha / cells
    _take_logs(logs, np.empty(columns * n_classes), n_classes, states, rows.floor, node == rows.target)


@inner_kernel
def add_logs(logs, place, sign, delta):  # type: ignore[no-untyped-def]
    """Add `sign` times the log parameters of a family to a change; -inf is counted in its zeros instead."""
    terms, zeros = delta.terms, delta.zeros
    n_folds, _, n_classes = terms.shape
    for f in range(n_folds):
        for k in range(place.shape[0]):
            w = place[k] * n_classes
            if w >= 0:
                for c in range(n_classes):
                    if zeros.shape[0] > 0 and logs[f, w + c] == -np.inf:
                        zeros[f, k, c] += sign
                    else:
                        terms[f, k, c] += sign * logs[f, w + c]


@inner_kernel
def _number_rows(codes, sizes, features, configuration):  # type: ignore[no-untyped-def]
    """configuration[m] = that of the features in row m, in C order; blocks of rows stay in cache."""
    for low in range(0, configuration.shape[0], _BLOCK):
        block = configuration[low : low + _BLOCK]
        for m in range(block.shape[0]):
            block[m] = 0
        stride = np.uint32(1)
        for i in range(features.shape[0] - 1, -1, -1):
            column = codes[features[i], low : low + _BLOCK]
            for m in range(block.shape[0]):
                block[m] += np.uint32(column[m]) * stride
            stride *= np.uint32(sizes[features[i]])


@inner_kernel
def _place_family(rows, features, node, parents, place):  # type: ignore[no-untyped-def]
    """Fill `place` of find_logs, for configurations of `features` numbered in C order; return `columns`."""
    place[0] = 0
    columns = 1
    n = 1
    # Feature by feature, the numbers so far are spread over the feature's codes, from the last backwards.
    for v in features:
        columns = 1
        stride = 0
        for p in parents:
            stride = columns if p == v else stride
            columns *= rows.cards[p] if p != rows.target else 1
        stride = columns if v == node else stride
        codes, known = rows.sizes[v], rows.cards[v]
        for k in range(n - 1, -1, -1):
            base = place[k]
            for code in range(codes - 1, -1, -1):
                lost = base < 0 or (stride > 0 and code >= known)
                place[k * codes + code] = -1 if lost else base + code * stride
        n *= codes
    return columns


@inner_kernel
def _take_logs(theta, sums, n_classes, states, floor, over_classes):  # type: ignore[no-untyped-def]
    """Turn training counts into log parameters.

    theta: (folds, width * classes); sums: (columns * classes,), scratch. One distribution is over the classes of a
    column if `over_classes` (the node is the class), else over every columns-th row of one class.
    """
    n_folds, size = theta.shape
    stride = sums.shape[0]
    for f in range(n_folds):
        _add_states(theta, f, n_classes, over_classes, sums)
        for j in range(stride):
            if sums[j] <= 0:  # a parent configuration never seen: uniform
                sums[j] = states
                for i in range(j, size, stride):
                    theta[f, i] = 1.0
        if floor > 0:
            for first in range(0, size, stride):
                for j in range(stride):
                    theta[f, first + j] = max(theta[f, first + j] / sums[j], floor)
            _add_states(theta, f, n_classes, over_classes, sums)
        for j in range(stride):
            sums[j] = np.log(sums[j])
        for i in range(size):
            theta[f, i] = np.log(theta[f, i])
        for first in range(0, size, stride):
            for j in range(stride):
                theta[f, first + j] -= sums[j]


@inner_kernel
def _add_states(theta, fold, n_classes, over_classes, sums):  # type: ignore[no-untyped-def]
    """sums[j] = the total of the distribution that column and class j belong to."""
    stride = sums.shape[0]
    for j in range(stride):
        sums[j] = 0.0
    for first in range(0, theta.shape[1], stride):
        for j in range(stride):
            sums[j] += theta[fold, first + j]
    if over_classes:
        for column in range(0, stride, n_classes):
            total = 0.0
            for j in range(column, column + n_classes):
                total += sums[j]
            for j in range(column, column + n_classes):
                sums[j] = total


def wide_delta(rows: FoldedRows, families: CandidateFamilies, candidate: int) -> JointDelta:
    """The JointDelta of a candidate, only the configurations that occur being numbered."""
    own = range(families.starts[candidate], families.starts[candidate + 1])
    parents = [families.parents[families.bounds[j] : families.bounds[j + 1]] for j in own]
    features = np.unique(np.concatenate([families.nodes[own.start : own.stop], *parents]))
    features = features[features != rows.target]
    numbers, examples = number_occurring(rows.codes, rows.sizes, features)
    codes = rows.codes[features][:, examples].astype(np.int64)
    delta = new_delta(rows, numbers.astype(np.uint32), len(examples))
    placed = [
        _place_occurring(rows, features, codes, int(families.nodes[j]), given)
        for j, given in zip(own, parents, strict=True)
    ]
    places, columns = np.array([place for place, _ in placed]), np.array([n for _, n in placed])
    _fill_wide(rows, families, candidate, places.reshape(len(placed), len(examples)), columns, delta)
    return delta


@kernel
def _fill_wide(rows, families, candidate, places, columns, delta):  # type: ignore[no-untyped-def]
    """Fill the JointDelta of a candidate; places, columns: `place` and `columns` of find_logs for each family."""
    count(rows, delta)
    first = families.starts[candidate]
    for j in range(first, families.starts[candidate + 1]):
        node, place, n_columns = families.nodes[j], places[j - first], columns[j - first]
        parents = families.parents[families.bounds[j] : families.bounds[j + 1]]
        logs = np.empty((rows.n_folds, n_own(rows, node, n_columns)))
        find_logs(rows, delta.counts, node, parents, place, n_columns, logs)
        add_logs(logs, place, families.signs[j], delta)


def _place_occurring(
    rows: FoldedRows, features: IntArray, codes: IntArray, node: int, parents: IntArray
) -> tuple[IntArray, int]:
    """`place` and `columns` of find_logs, for configurations with the given codes (features, size)."""
    own = np.isin(features, parents)
    known = (codes < rows.cards[features][:, None])[own | (features == node)].all(axis=0)
    numbers, examples = number_occurring(codes[:, known], rows.cards[features], np.flatnonzero(own))
    columns = max(1, len(examples))
    place = np.full(codes.shape[1], -1, dtype=np.int64)
    state = 0 if node == rows.target else codes[features == node][0, known]
    place[known] = state * columns + numbers
    return place, columns


def no_delta(rows: FoldedRows) -> JointDelta:
    """The JointDelta that leaves the log joint as it is."""
    delta = new_delta(rows, np.zeros(rows.codes.shape[1], dtype=np.uint32), 1)
    weights = rows.weights if len(rows.weights) else np.ones(rows.codes.shape[1], dtype=np.int64)
    ends = np.append(0, np.cumsum(weights))[rows.bounds]
    delta.counts.ravel()[:] = np.diff(ends)
    delta.terms[:] = 0.0
    delta.zeros[:] = 0
    return delta
