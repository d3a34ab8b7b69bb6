"""Tables of candidates: what each adds to the log joint, counted in one pass over the rows.

A candidate removes families from the graph and adds others. The features of all these families together have one
*configuration* in each row. What the candidate adds to the row's log joint depends only on the row's fold, that
configuration and the class. The table is flat, ``[fold, configuration, class]``.

A *slot* is a family of a candidate: ``2 j`` is the current family of its j-th changed variable, ``2 j + 1`` its new
one.

Missing cells: a family counts the training rows in which all its variables are known, and adds nothing to the log joint
of a row in which one of them is missing.
"""

from __future__ import annotations

import numpy as np

from bnplug.compiling import inner_kernel, kernel

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
    """Put the slots of the changes low <= j < high into `slots`, without those that change no gain; return how many."""
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
def find_parents(slot, nodes, bounds, given, n_parents, parents, family):  # type: ignore[no-untyped-def]
    """Put the parents of a slot into `family`; return their number."""
    j = slot // 2
    v, first = nodes[j], bounds[j]
    n = bounds[j + 1] - first if slot % 2 == 1 else n_parents[v]
    for i in range(n):
        family[i] = given[first + i] if slot % 2 == 1 else parents[v, i]
    return n


@inner_kernel(allocates=False)
def add_features(node, family, n_parents, target, features, n):  # type: ignore[no-untyped-def]
    """Add the features of a family to the n `features` so far, each once; return their new number."""
    for i in range(n_parents + 1):
        v = node if i == n_parents else family[i]
        new = v != target
        for seen in range(n):
            new = new and features[seen] != v
        if new:
            features[n] = v
            n += 1
    return n


@inner_kernel(allocates=False)
def number_rows(codes, sizes, features, n, configuration):  # type: ignore[no-untyped-def]
    """configuration[m] = the number of the states of n features in row m, in C order; blocks of rows stay in cache."""
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
    """counts[fold, configuration, class] = the total weight of these rows."""
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
            # Four cells are located before any is incremented.
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
def place_family(features, n, node, family, n_parents, cards, sizes, target, place):  # type: ignore[no-untyped-def]
    """Fill `place` of find_logs, for configurations of n features numbered in C order; return the number of columns."""
    place[0] = 0
    columns = 1
    for i in range(n_parents):
        columns *= cards[family[i]] if family[i] != target else 1
    total = 1
    # Feature by feature, the class last, the numbers so far are spread over its codes, from the last backwards.
    for f in range(n + 1):
        v = features[f] if f < n else target
        stride = columns if v == node else 0
        before = 1
        for i in range(n_parents):
            if family[i] == v:
                stride = before
            before *= cards[family[i]] if family[i] != target else 1
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
def find_logs(counts, place, cells, width, n_folds, resubstitution, unit, prior, family_counts, logs):  # type: ignore[no-untyped-def]
    """Fill logs[fold, family cell] with the training counts of a family, plus its prior for a cell.

    place: int64 [configuration, class], the family's cell for each cell of a table, -1 if one of its variables is
    missing: ``(state of the node * columns + parent configuration) * classes + class``, the class left out of both.
    cells, width: the number of cells of a table and of a family, per fold. family_counts: int64 [n_folds + 1, width].
    """
    width, cells, rest = np.uint64(width), np.uint64(cells), np.uint64(n_folds * width)
    for i in range(rest + width):
        family_counts[i] = 0
    for f in range(np.uint64(n_folds + 1)):
        for i in range(cells):
            if place[i] >= 0:
                family_counts[f * width + np.uint64(place[i])] += counts[f * cells + i]
    for low in range(np.uint64(0), rest, width):
        for i in range(width):
            family_counts[rest + i] += family_counts[low + i]
    for low in range(np.uint64(0), rest, width):
        for i in range(width):
            left_out = 0 if resubstitution else family_counts[low + i]
            logs[low + i] = (family_counts[rest + i] - left_out) * unit + prior


@inner_kernel(allocates=False)
def take_logs(theta, n_folds, width, stride, n_classes, states, floor, over_classes, sums):  # type: ignore[no-untyped-def]
    """Turn training counts into log parameters, of all folds together: the end of a short loop is not vectorized.

    theta: [fold, family cell]; sums: (folds, stride), scratch; stride: columns * classes. One distribution is over the
    classes of a column if `over_classes` (the node is the class), else over every columns-th row of one class.
    """
    n_folds, width, stride, n_classes = np.uint64(n_folds), np.uint64(width), np.uint64(stride), np.uint64(n_classes)
    for f in range(n_folds):
        first, last, offset = f * width, f * width + width, f * stride
        _add_states(theta, first, last, stride, n_classes, over_classes, sums, offset)
        for j in range(stride):
            if sums[offset + j] <= 0:  # a parent configuration never seen: uniform
                sums[offset + j] = states
                for i in range(first + j, last, stride):
                    theta[i] = 1.0
        if floor > 0:
            for low in range(first, last, stride):
                for j in range(stride):
                    share = theta[low + j] / sums[offset + j]
                    theta[low + j] = share if share > floor else floor
            _add_states(theta, first, last, stride, n_classes, over_classes, sums, offset)
    _log(sums, n_folds * stride)
    _log(theta, n_folds * width)
    for f in range(n_folds):
        for low in range(f * width, f * width + width, stride):
            for j in range(stride):
                theta[low + j] -= sums[f * stride + j]


@inner_kernel(allocates=False)
def _add_states(theta, first, last, stride, n_classes, over_classes, sums, offset):  # type: ignore[no-untyped-def]
    """sums[offset + j] = the total of the distribution that column and class j of theta[first:last] belong to."""
    for j in range(offset, offset + stride):
        sums[j] = 0.0
    for low in range(first, last, stride):
        for j in range(stride):
            sums[offset + j] += theta[low + j]
    if over_classes:
        for column in range(offset, offset + stride, n_classes):
            total = 0.0
            for j in range(column, column + n_classes):
                total += sums[j]
            for j in range(column, column + n_classes):
                sums[j] = total


@inner_kernel(allocates=False)
def _log(values, n):  # type: ignore[no-untyped-def]
    """Replace the first n values by their logarithms, to within an ulp, in a fifth of the time of library calls."""
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
        log = k * _LN2_HIGH - ((half - (s * (half + odd + even) + k * _LN2_LOW)) - f)
        values[i] = log if x > 0 else -np.inf


@inner_kernel(allocates=False)
def add_logs(logs, width, place, cells, n_folds, sign, terms, zeros):  # type: ignore[no-untyped-def]
    """Add `sign` times the log parameters of a family to a table; -inf is counted in its zeros instead."""
    counted, width, cells = zeros.shape[0] > 0, np.uint64(width), np.uint64(cells)
    for f in range(np.uint64(n_folds)):
        first, row = f * width, f * cells
        for i in range(cells):
            number = place[i]
            if number >= 0:
                log = logs[first + np.uint64(number)]
                if counted and log == -np.inf:
                    zeros[row + i] += sign
                else:
                    terms[row + i] += sign * log


@inner_kernel(allocates=False)
def find_features(  # type: ignore[no-untyped-def]
    sizes, target, n_parents, parents, nodes, bounds, given, n_slots, slots, family, features, last
):
    """Put a candidate's features into `features`, ascending, and their number into last[3]; return the table's size."""
    n = 0
    for i in range(n_slots):
        n_own = find_parents(slots[i], nodes, bounds, given, n_parents, parents, family)
        n = add_features(nodes[slots[i] // 2], family, n_own, target, features, n)
    for i in range(1, n):
        feature, j = features[i], i
        while j > 0 and features[j - 1] > feature:
            features[j] = features[j - 1]
            j -= 1
        features[j] = feature
    last[3] = n
    width = 1.0
    for i in range(n):
        width *= sizes[features[i]]
    return width


@inner_kernel(allocates=False, called_once=True)
def make_table(rows, graph, batch, number, n_slots, scratch):  # type: ignore[no-untyped-def]
    """Make the table of candidate `number`; return its number of configurations, 0 if the scratch has no room."""
    nodes, bounds, given = batch.nodes, batch.bounds, batch.parents
    slots, family, features = scratch.slots, scratch.family, scratch.features
    cards, sizes, target, n_folds = rows.cards, rows.sizes, rows.target, rows.n_folds
    n_classes = cards[target]
    placed = scratch.columns.shape[0] > 0
    width = 1.0
    if not placed:
        width = find_features(
            sizes, target, graph.n_parents, graph.parents, nodes, bounds, given, n_slots, slots, family, features,
            scratch.last,
        )  # fmt: skip
        if width > scratch.limit:
            return 0
        number_rows(rows.codes, sizes, features, scratch.last[3], scratch.configuration)
    size, n = scratch.last[2] if placed else np.int64(width), scratch.last[3]
    terms, zeros = scratch.terms, scratch.zeros
    if batch.counts.shape[0] > 0:
        first = batch.places[number]
        for i in range((n_folds + 1) * size * n_classes):
            scratch.counts[i] = batch.counts[first + i]
    elif n_slots > 0:
        count(scratch.configuration, rows.bounds, rows.weights, n_classes, size, scratch.counts)
    else:  # without features, the only configuration occurs
        for i in range((n_folds + 1) * n_classes):
            scratch.counts[i] = 1
    cells = size * n_classes
    for i in range(n_folds * cells):
        terms[i] = 0.0
        if zeros.shape[0] > 0:
            zeros[i] = 0
    for i in range(n_slots):
        node, put_in = nodes[slots[i] // 2], slots[i] % 2 == 1
        n_own = find_parents(slots[i], nodes, bounds, given, graph.n_parents, graph.parents, family)
        first = i * cells if placed else 0
        place = scratch.place[first : first + cells]
        if placed:
            columns = scratch.columns[i]
        else:
            columns = place_family(features, n, node, family, n_own, cards, sizes, target, place)
        wide = (columns if node == target else cards[node] * columns) * n_classes
        # If only occurring configurations are numbered, the numbers differ between candidates.
        keeps = not put_in and not placed and n_folds * wide <= scratch.kept.shape[1]
        logs = scratch.kept[node] if keeps else scratch.logs
        if not (keeps and scratch.known[node]):
            numbers = np.float64(cards[node])
            for p in range(n_own):
                numbers *= cards[family[p]]
            find_logs(
                scratch.counts, place, cells, wide, n_folds, rows.resubstitution, rows.unit, rows.alpha / numbers,
                scratch.family_counts, logs,
            )  # fmt: skip
            take_logs(
                logs, n_folds, wide, columns * n_classes, n_classes, cards[node], rows.floor, node == target,
                scratch.sums,
            )  # fmt: skip
            if keeps:
                scratch.known[node] = True
        add_logs(logs, wide, place, cells, n_folds, 1 if put_in else -1, terms, zeros)
    return size


@kernel(allocates=False)
def lay_out(rows, graph, starts, nodes, bounds, parents, scratch, sizes, features, ends):  # type: ignore[no-untyped-def]
    """Fill a Layout with the sizes and features of the tables of candidates."""
    for i in range(sizes.shape[0]):
        n = 0
        n_slots = find_slots(
            nodes, bounds, parents, starts[i], starts[i + 1], graph.n_parents, graph.parents, rows.target, scratch.slots
        )
        if n_slots > 0:
            sizes[i] = find_features(
                rows.sizes, rows.target, graph.n_parents, graph.parents, nodes, bounds, parents, n_slots,
                scratch.slots, scratch.family, scratch.features, scratch.last,
            )  # fmt: skip
            n = scratch.last[3]
        for j in range(n):
            features[ends[i] + j] = scratch.features[j]
        ends[i + 1] = ends[i] + n


@kernel(allocates=False)
def count_tables(rows, features, ends, places, counts, first, stop, configuration, numbered):  # type: ignore[no-untyped-def]
    """Fill `counts` with the Tables first <= i < stop, except for those without room.

    configuration: scratch, or the configurations of the rows if they are `numbered`.
    """
    n_classes, width = rows.cards[rows.target], rows.bounds.shape[0] - 1
    for i in range(first, stop):
        columns, table = features[ends[i] : ends[i + 1]], counts[places[i] : places[i + 1]]
        if table.shape[0] == 0:
            continue
        if not numbered:
            number_rows(rows.codes, rows.sizes, columns, columns.shape[0], configuration)
        count(configuration, rows.bounds, rows.weights, n_classes, table.shape[0] // width, table)
