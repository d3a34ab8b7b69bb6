"""What a candidate changes in the log joint: one table, counted in one pass over the rows.

A candidate takes some families out of the graph and puts others in. The features of all these families together have
one *configuration* in each row; what the candidate adds to the row's log joint depends on the row's fold, on that
configuration and on the class alone. The table is flat, ``[fold, configuration, class]``.

A *slot* is a family of a candidate: ``2 j`` is what its j-th changed variable has now, ``2 j + 1`` what it gets.

Missing cells: a family counts the training rows in which all its variables are known, and adds nothing to the log joint
of a row in which one of them is missing.
"""

from __future__ import annotations

import numpy as np

from bnplug.compiling import inner_kernel

_BLOCK = 4096

# The logarithm of numbers from sqrt(1/2) to sqrt(2), as fdlibm takes it.
_ROOT_OF_HALF = 0x3FE6A09E667F3BCD
_LN2_HIGH, _LN2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10
_L1, _L2, _L3 = 6.666666666666735130e-01, 3.999999999940941908e-01, 2.857142874366239149e-01
_L4, _L5, _L6 = 2.222219843214978396e-01, 1.818357216161805012e-01, 1.531383769920937332e-01
_L7 = 1.479819860511658591e-01
_SMALLEST = np.finfo(np.float64).tiny


@inner_kernel(allocates=False)
def find_slots(nodes, bounds, given, low, high, n_parents, parents, target, slots):  # type: ignore[no-untyped-def]
    """Put the slots of the changes low <= j < high that can change a gain into `slots`; return their number.

    A family that neither is the class's nor has it as a parent does not: its terms are the same for all classes. Nor
    does one that stays.
    """
    n = 0
    for j in range(low, high):
        v, n_before = nodes[j], n_parents[nodes[j]]
        before, after = v == target and n_before >= 0, v == target
        common = 0
        for i in range(n_before):
            before |= parents[v, i] == target
        for a in range(bounds[j], bounds[j + 1]):
            after |= given[a] == target
            for i in range(n_before):
                common += parents[v, i] == given[a]
        if common == n_before and common == bounds[j + 1] - bounds[j]:
            continue
        if before:
            slots[n] = 2 * j
            n += 1
        if after:
            slots[n] = 2 * j + 1
            n += 1
    return n


@inner_kernel(allocates=False)
def find_parents(slot, nodes, bounds, given, n_parents, parents, own):  # type: ignore[no-untyped-def]
    """Put the parents of a slot into `own`; return their number."""
    j = slot // 2
    v, first = nodes[j], bounds[j]
    n = bounds[j + 1] - first if slot % 2 == 1 else n_parents[v]
    for i in range(n):
        own[i] = given[first + i] if slot % 2 == 1 else parents[v, i]
    return n


@inner_kernel(allocates=False)
def add_features(node, own, n_own, target, features, n):  # type: ignore[no-untyped-def]
    """Add the features of a family that are not among the n `features` so far; return how many there are then."""
    for i in range(n_own + 1):
        v = node if i == n_own else own[i]
        new = v != target
        for seen in range(n):
            new = new and features[seen] != v
        if new:
            features[n] = v
            n += 1
    return n


@inner_kernel(allocates=False)
def number_rows(codes, sizes, features, n, configuration):  # type: ignore[no-untyped-def]
    """configuration[m] = that of the n features in row m, in C order; blocks of rows stay in cache."""
    n_rows, low = np.uint64(configuration.shape[0]), np.uint64(0)
    while low < n_rows:
        high = low + np.uint64(_BLOCK) if n_rows - low > np.uint64(_BLOCK) else n_rows
        column = codes[features[n - 1] if n > 0 else 0]
        for m in range(low, high):
            configuration[m] = column[m] if n > 0 else 0
        stride, i = np.uint32(1), n - 2
        while i >= 0:
            stride *= np.uint32(sizes[features[i + 1]])
            column = codes[features[i]]
            for m in range(low, high):
                configuration[m] += np.uint32(column[m]) * stride
            i -= 1
        low = high


@inner_kernel(allocates=False)
def count(configuration, bounds, weights, n_classes, size, counts):  # type: ignore[no-untyped-def]
    """counts[fold, configuration, class] = the weight of such rows."""
    n_cells = (bounds.shape[0] - 1) * size
    for i in range(n_cells):
        counts[i] = 0
    stride, one, four = np.uint64(n_classes), np.uint64(1), np.uint64(4)
    for s in range(bounds.shape[0] - 1):
        cell = np.uint64(s // n_classes * size * n_classes + s % n_classes)
        low, high = np.uint64(bounds[s]), np.uint64(bounds[s + 1])
        if weights.shape[0] > 0:
            for m in range(low, high):
                counts[cell + np.uint64(configuration[m]) * stride] += weights[m]
        else:
            # Four cells are found before any is added to.
            whole = high - (high - low) % four
            for m in range(low, whole, four):
                a, b = np.uint64(configuration[m]), np.uint64(configuration[m + one])
                c, d = np.uint64(configuration[m + one + one]), np.uint64(configuration[m + one + one + one])
                counts[cell + a * stride] += 1
                counts[cell + b * stride] += 1
                counts[cell + c * stride] += 1
                counts[cell + d * stride] += 1
            for m in range(whole, high):
                counts[cell + np.uint64(configuration[m]) * stride] += 1


@inner_kernel(allocates=False)
def place_family(features, n, node, own, n_own, cards, sizes, target, place):  # type: ignore[no-untyped-def]
    """Fill `place` of find_logs, for configurations of n features numbered in C order; return the number of columns."""
    place[0] = 0
    columns = 1
    for i in range(n_own):
        columns *= cards[own[i]] if own[i] != target else 1
    total = 1
    # Feature by feature, the class last, the numbers so far are spread over its codes, from the last backwards.
    for f in range(n + 1):
        v = features[f] if f < n else target
        stride = columns if v == node else 0
        before = 1
        for i in range(n_own):
            if own[i] == v:
                stride = before
            before *= cards[own[i]] if own[i] != target else 1
        codes, known, scale = sizes[v], cards[v], 1
        if v == target:
            stride, scale = 1, codes
        for k in range(total - 1, -1, -1):
            base = place[k] * scale
            for code in range(codes - 1, -1, -1):
                lost = base < 0 or (stride > 0 and code >= known)
                place[k * codes + code] = -1 if lost else base + code * stride
        total *= codes
    return columns


@inner_kernel(allocates=False)
def find_logs(counts, place, cells, width, n_folds, resubstitution, unit, prior, own, logs):  # type: ignore[no-untyped-def]
    """Fill logs[fold, own configuration, class] with the training counts of a family, its prior for a cell added.

    place: int64 [configuration, class], the family's own number of each cell of a table, -1 where one of its variables
    is missing: ``(state of the node * columns + parent configuration) * classes + class``, the class left out of both.
    cells, width: how many numbers a table and a family have for each fold. own: int64 [n_folds + 1, width].
    """
    width, cells, rest = np.uint64(width), np.uint64(cells), np.uint64(n_folds * width)
    for i in range(rest + width):
        own[i] = 0
    for f in range(np.uint64(n_folds + 1)):
        for i in range(cells):
            if place[i] >= 0:
                own[f * width + np.uint64(place[i])] += counts[f * cells + i]
    for low in range(np.uint64(0), rest, width):
        for i in range(width):
            own[rest + i] += own[low + i]
    for low in range(np.uint64(0), rest, width):
        for i in range(width):
            left_out = 0 if resubstitution else own[low + i]
            logs[low + i] = (own[rest + i] - left_out) * unit + prior


@inner_kernel(allocates=False)
def take_logs(theta, n_folds, width, stride, n_classes, states, floor, over_classes, sums):  # type: ignore[no-untyped-def]
    """Turn training counts into log parameters.

    theta: [fold, own configuration, class]; sums: (folds, stride), scratch, stride being columns * classes. One
    distribution is over the classes of a column if `over_classes` (the node is the class), else over every columns-th
    row of one class. Logarithms are taken of all folds together: the end of a short loop is not vectorised.
    """
    n_folds, width, stride, n_classes = np.uint64(n_folds), np.uint64(width), np.uint64(stride), np.uint64(n_classes)
    for f in range(n_folds):
        first, last, own = f * width, f * width + width, f * stride
        _add_states(theta, first, last, stride, n_classes, over_classes, sums, own)
        for j in range(stride):
            if sums[own + j] <= 0:  # a parent configuration never seen: uniform
                sums[own + j] = states
                for i in range(first + j, last, stride):
                    theta[i] = 1.0
        if floor > 0:
            for low in range(first, last, stride):
                for j in range(stride):
                    share = theta[low + j] / sums[own + j]
                    theta[low + j] = share if share > floor else floor
            _add_states(theta, first, last, stride, n_classes, over_classes, sums, own)
    _log(sums, n_folds * stride)
    _log(theta, n_folds * width)
    for f in range(n_folds):
        for low in range(f * width, f * width + width, stride):
            for j in range(stride):
                theta[low + j] -= sums[f * stride + j]


@inner_kernel(allocates=False)
def _add_states(theta, first, last, stride, n_classes, over_classes, sums, own):  # type: ignore[no-untyped-def]
    """sums[own + j] = the total of the distribution that column and class j of theta[first:last] belong to."""
    for j in range(own, own + stride):
        sums[j] = 0.0
    for low in range(first, last, stride):
        for j in range(stride):
            sums[own + j] += theta[low + j]
    if over_classes:
        for column in range(own, own + stride, n_classes):
            total = 0.0
            for j in range(column, column + n_classes):
                total += sums[j]
            for j in range(column, column + n_classes):
                sums[j] = total


@inner_kernel(allocates=False)
def _log(values, n):  # type: ignore[no-untyped-def]
    """Replace the first n values by their logarithms, to within an ulp; -inf for 0.

    A loop that vectorises, which takes a fifth of the time of calls to the library's.
    """
    for i in range(n):
        x = values[i]
        tiny = x < _SMALLEST
        scaled = x * 18014398509481984.0 if tiny else x  # 2 ** 54
        bits = np.float64(scaled).view(np.int64)
        power = (bits - _ROOT_OF_HALF) >> 52
        f = np.int64(bits - (power << 52)).view(np.float64) - 1.0
        k = np.float64(power - 54 if tiny else power)
        s = f / (2.0 + f)
        z = s * s
        w = z * z
        odd = z * (_L1 + w * (_L3 + w * (_L5 + w * _L7)))
        even = w * (_L2 + w * (_L4 + w * _L6))
        half = 0.5 * f * f
        found = k * _LN2_HIGH - ((half - (s * (half + odd + even) + k * _LN2_LOW)) - f)
        values[i] = found if x > 0 else -np.inf


@inner_kernel(allocates=False)
def add_logs(logs, width, place, cells, n_folds, sign, terms, zeros):  # type: ignore[no-untyped-def]
    """Add `sign` times the log parameters of a family to a change; -inf is counted in its zeros instead."""
    counted, width, cells = zeros.shape[0] > 0, np.uint64(width), np.uint64(cells)
    for f in range(np.uint64(n_folds)):
        first, row = f * width, f * cells
        for i in range(cells):
            own = place[i]
            if own >= 0:
                log = logs[first + np.uint64(own)]
                if counted and log == -np.inf:
                    zeros[row + i] += sign
                else:
                    terms[row + i] += sign * log
