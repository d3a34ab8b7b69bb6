"""The compiled pass that sums a row's missing features out, bucket by bucket.

Observed features are instantiated first, so that every table shrinks to the row's missing part. The
missing features are then eliminated one by one, next always the one with the smallest clique: each collects
the tables that still mention it in its bucket, a clique of the junction tree which that order defines, and
sends their product, summed over itself, to the bucket of the next missing feature in it. The class is kept
to the end, as the last axis of every table that has it.

Products are taken of plain numbers as long as known bounds rule out underflow and overflow, else of
logarithms, with the largest value of each class moved out of the message: that is exact for any number
of features.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from bnplug.arrays import FloatArray, IntArray
from bnplug.compiling import kernel


def _record(integers: str, flags: str = "", numbers: str = "") -> np.dtype[Any]:
    kinds = {np.int64: integers, np.bool_: flags, np.float64: numbers}
    return np.dtype([(name, kind) for kind, names in kinds.items() for name in names.split()], align=True)


#: A node: its states; where its axes, children and table are; whether the class is in its family; whether its
#: columns sum to one; the logarithm of its number of states; bounds of its finite log parameters and 0.
NODE = _record("card axes axes_end children children_end start", flags="with_class proper", numbers="log_card low high")

#: An axis of a table. Strides count floats. The class, always last, is not listed.
AXIS = _record("variable stride")

# A variable in the current row: its state, -1 where missing; whether it is needed and relevant; its rank, which
# is its place in the order of elimination; the first factor in its bucket, or -1; its place among the
# relevant features, and later in the separator of the open bucket.
_VARIABLE = _record("state rank bucket place", flags="needed relevant")

# A factor, an instantiated table or a message: the next one in its bucket; where its numbers are; its axes,
# ascending by rank; bounds of its finite logarithms and 0. In the open bucket: the last axis of the
# separator that it has, or -1, and the offset of its current numbers.
_FACTOR = _record("following kind start axes axes_end depth offset", flags="with_class", numbers="low high")

# The numbers of a factor are in the network's tables, or in a message, plain or as logarithms.
_TABLE, _PLAIN, _LOG = 0, 1, 2

# An axis of the separator, which is what the factors of the open bucket mention besides its variable and
# the class, and the state at which an odometer over it stands.
_SEPARATOR = _record("variable size state")

# The open bucket: how many factors it has, and how many of its variable alone; how many axes its separator
# has; whether the class is in it; bounds of the product's logarithms. Its message: where it is, its numbers,
# the last axis (the class, or 1), and whether it is plain. `block`: the variable's states times `width`.
_BUCKET = _record("n_members n_single n_axes start size width block", flags="with_class plain", numbers="low high")

# Numbers within e**-600 .. e**600 are multiplied as they are: float64 ends at about e**-708 and e**709.
_RANGE = 600.0


class Network(NamedTuple):
    """A network as the pass takes it. Variables are positions in its names.

    Attributes
    ----------
    nodes : array of NODE
    axes : array of AXIS
        The axes of each node's table.
    children, leaves_first : int64 arrays
        The children of each node; all nodes, children before parents.
    values, log_values : float64 arrays
        The tables, one behind the other, and their logarithms.
    target, n_classes : int
    """

    nodes: npt.NDArray[Any]
    axes: npt.NDArray[Any]
    children: IntArray
    leaves_first: IntArray
    values: FloatArray
    log_values: FloatArray
    target: int
    n_classes: int


@kernel
def add_missing(network, codes, missing, rows, max_cells, result, clique):  # type: ignore[no-untyped-def]
    """result[m, c] += log of the sum, over row m's missing features, of the tables that mention one of them.

    network: the fields of Network, as a plain tuple; codes: (variables, all rows); rows: those to do. Returns the
    first that needs a table of more than `max_cells` cells, whose variables are then in `clique`, else -1.
    """
    nodes, axes, children, leaves_first, values, log_values, target, n_classes = network
    n = nodes.shape[0]
    variables = np.zeros(n, _VARIABLE)
    found = np.empty(n, np.int64)
    order = np.empty(n, np.int64)
    linked = np.zeros((n, n), np.bool_)
    sizes = np.empty(n, np.float64)
    factors = np.zeros(2 * n, _FACTOR)
    members = np.empty(2 * n, np.int64)
    separator = np.zeros(n, _SEPARATOR)
    buckets = np.zeros(1, _BUCKET)
    messages = np.empty(1024, np.float64)
    for m in rows:
        for v in range(n):
            variables[v].state = -1 if codes[v, m] == missing else np.int64(codes[v, m])
        variables[target].state = 0
        _mark_needed(nodes, axes, leaves_first, target, variables)
        n_found = _mark_relevant(nodes, axes, children, leaves_first, variables, found)
        if n_found == 0:
            continue
        n_axes = _link(nodes, axes, variables, found, n_found, linked)
        n_axes += _rank(nodes, variables, found, n_found, linked, sizes, order)
        factor_axes = np.empty(n_axes, AXIS)
        n_factors = _collect(nodes, axes, variables, factors, factor_axes)
        # Taken anew for each row: a record does not keep its array alive, a use inside the loop does.
        bucket = buckets[0]
        bucket.start = 0
        for v in order[:n_found]:
            _open_bucket(nodes, variables, v, factors, factor_axes, members, separator, bucket)
            if not _measure(nodes[v], n_classes, separator, bucket, max_cells):
                _name_clique(v, target, separator, bucket, clique)
                return m
            strides = _lay_strides(variables, factors, factor_axes, members, separator, bucket)
            room = bucket.start + bucket.size + bucket.block * (bucket.n_members - bucket.n_single + 1)
            if room > messages.shape[0]:
                messages = _larger(messages, bucket.start, 2 * room)
            tables = values if bucket.plain else log_values
            _sum_out(tables, messages, factors, factor_axes, members, strides, separator, bucket)
            if bucket.n_axes == 0:
                for c in range(n_classes):
                    message = messages[bucket.start + c]
                    result[m, c] += np.log(message) if bucket.plain else message
                continue
            if not bucket.plain:
                _rescale(messages, bucket, result[m])
            _send(variables, factors, n_factors, factor_axes, separator, bucket)
            n_factors += 1
            bucket.start += bucket.size
    return -1


@kernel
def _mark_needed(nodes, axes, leaves_first, target, variables):  # type: ignore[no-untyped-def]
    """Leave out barren nodes: missing, without a needed child, and with columns that sum to one."""
    for v in range(nodes.shape[0]):
        variables[v].needed = v == target or variables[v].state >= 0 or not nodes[v].proper
    for v in leaves_first:
        if variables[v].needed:
            for i in range(nodes[v].axes, nodes[v].axes_end):
                variables[axes[i].variable].needed = True


@kernel
def _mark_relevant(nodes, axes, children, leaves_first, variables, found):  # type: ignore[no-untyped-def]
    """Find the missing features that tables connect with the class; all else is the same for every class.

    They are `found` children first; the function returns their number.
    """
    for v in range(nodes.shape[0]):
        variables[v].relevant = False
    # A literal 0 would have the function that takes it compiled twice.
    n = np.int64(0)
    for v in range(nodes.shape[0]):
        if variables[v].needed and nodes[v].with_class:
            n = _add_missing_of(nodes[v], axes, variables, found, n)
    done = 0
    while done < n:
        v = found[done]
        done += 1
        n = _add_missing_of(nodes[v], axes, variables, found, n)
        for i in range(nodes[v].children, nodes[v].children_end):
            if variables[children[i]].needed:
                n = _add_missing_of(nodes[children[i]], axes, variables, found, n)
    place = 0
    for v in leaves_first:
        if variables[v].relevant:
            found[place] = v
            place += 1
    return n


@kernel
def _add_missing_of(node, axes, variables, found, n):  # type: ignore[no-untyped-def]
    for i in range(node.axes, node.axes_end):
        v = axes[i].variable
        if variables[v].state < 0 and not variables[v].relevant:
            variables[v].relevant = True
            found[n] = v
            n += 1
    return n


@kernel
def _link(nodes, axes, variables, found, n, linked):  # type: ignore[no-untyped-def]
    """Link the found features that share a table, by their places in `found`; count the axes of all tables."""
    for i in range(n):
        variables[found[i]].place = i
        for j in range(n):
            linked[i, j] = False
    n_axes = 0
    for node in range(nodes.shape[0]):
        if not variables[node].needed:
            continue
        for i in range(nodes[node].axes, nodes[node].axes_end):
            a = variables[axes[i].variable]
            if not (a.state < 0 and a.relevant):
                continue
            n_axes += 1
            for j in range(nodes[node].axes, i):
                b = variables[axes[j].variable]
                if b.state < 0 and b.relevant:
                    linked[a.place, b.place] = linked[b.place, a.place] = True
    return n_axes


@kernel
def _rank(nodes, variables, found, n, linked, sizes, order):  # type: ignore[no-untyped-def]
    """Put the found features in the order of their elimination; count the axes of all messages.

    sizes: the logarithm of the cells of each one's clique. The smallest is next, and what is linked with it
    is then linked among itself.
    """
    n_axes = 0
    for i in range(n):
        sizes[i] = _clique_size(nodes, found, n, linked, i)
    for rank in range(n):
        best = 0
        for i in range(1, n):
            if sizes[i] < sizes[best] - 1e-9:
                best = i
        order[rank] = found[best]
        variables[found[best]].rank = rank
        sizes[best] = np.inf
        for i in range(n):
            if linked[best, i]:
                n_axes += 1
                for j in range(n):
                    linked[i, j] |= linked[best, j]
                linked[i, i] = linked[i, best] = False
                sizes[i] = _clique_size(nodes, found, n, linked, i)
    return n_axes


@kernel
def _clique_size(nodes, found, n, linked, i):  # type: ignore[no-untyped-def]
    size = nodes[found[i]].log_card
    for j in range(n):
        if linked[i, j]:
            size += nodes[found[j]].log_card
    return size


@kernel
def _collect(nodes, axes, variables, factors, factor_axes):  # type: ignore[no-untyped-def]
    """Instantiate each needed table that mentions a relevant feature, and put it in its bucket; count them."""
    for v in range(nodes.shape[0]):
        variables[v].bucket = -1
    n = end = np.int64(0)
    for v in range(nodes.shape[0]):
        if not variables[v].needed:
            continue
        node, factor = nodes[v], factors[n]
        factor.axes, factor.start = end, node.start
        for i in range(node.axes, node.axes_end):
            variable = variables[axes[i].variable]
            if variable.state >= 0:
                factor.start += variable.state * axes[i].stride
            elif variable.relevant:
                k = end
                while k > factor.axes and variables[factor_axes[k - 1].variable].rank > variable.rank:
                    factor_axes[k] = factor_axes[k - 1]
                    k -= 1
                factor_axes[k] = axes[i]
                end += 1
        if end > factor.axes:
            factor.axes_end, factor.kind, factor.with_class = end, _TABLE, node.with_class
            factor.low, factor.high = node.low, node.high
            first = variables[factor_axes[factor.axes].variable]
            factor.following, first.bucket = first.bucket, n
            n += 1
    return n


@kernel
def _open_bucket(nodes, variables, v, factors, factor_axes, members, separator, bucket):  # type: ignore[no-untyped-def]
    """List the factors in v's bucket and the axes of its separator.

    These are descending by rank: the one eliminated next lies beside the class, where its numbers are contiguous.
    """
    bucket.n_members = bucket.n_axes = 0
    bucket.with_class = False
    bucket.low = bucket.high = 0.0
    f = variables[v].bucket
    while f >= 0:
        factor = factors[f]
        bucket.low += factor.low
        bucket.high += factor.high
        bucket.with_class |= factor.with_class
        members[bucket.n_members] = f
        bucket.n_members += 1
        for i in range(factor.axes + 1, factor.axes_end):
            _insert_axis(nodes, variables, factor_axes[i].variable, separator, bucket)
        f = factor.following


@kernel
def _insert_axis(nodes, variables, v, separator, bucket):  # type: ignore[no-untyped-def]
    """Insert v in the separator, unless it is there."""
    i = bucket.n_axes
    while i > 0 and variables[separator[i - 1].variable].rank < variables[v].rank:
        i -= 1
    if i > 0 and separator[i - 1].variable == v:
        return
    for k in range(bucket.n_axes, i, -1):
        separator[k] = separator[k - 1]
    separator[i].variable, separator[i].size = v, nodes[v].card
    bucket.n_axes += 1


@kernel
def _measure(node, n_classes, separator, bucket, max_cells):  # type: ignore[no-untyped-def]
    """Find the size of the message; return whether its clique has at most `max_cells` cells."""
    bucket.width = n_classes if bucket.with_class else 1
    bucket.block = node.card * bucket.width
    cells = float(bucket.width)
    for i in range(bucket.n_axes):
        cells *= separator[i].size
    if cells * node.card > max_cells:
        return False
    bucket.size = np.int64(cells)
    bucket.plain = bucket.low > -_RANGE and bucket.high < _RANGE
    # The sum has at most as many terms as the variable has states.
    bucket.high += node.log_card
    return True


@kernel
def _name_clique(v, target, separator, bucket, clique):  # type: ignore[no-untyped-def]
    clique[0] = v
    for i in range(bucket.n_axes):
        clique[i + 1] = separator[i].variable
    if bucket.with_class:
        clique[bucket.n_axes + 1] = target


@kernel
def _lay_strides(variables, factors, factor_axes, members, separator, bucket):  # type: ignore[no-untyped-def]
    """Sort the members by the last axis of the separator that they have; find their strides along its axes."""
    for i in range(bucket.n_axes):
        variables[separator[i].variable].place = i
    bucket.n_single = 0
    for b in range(bucket.n_members):
        f = members[b]
        factor = factors[f]
        factor.offset, factor.depth = factor.start, -1
        if factor.axes_end > factor.axes + 1:
            factor.depth = variables[factor_axes[factor.axes + 1].variable].place
        bucket.n_single += factor.depth < 0
        i = b
        while i > 0 and factors[members[i - 1]].depth > factor.depth:
            members[i] = members[i - 1]
            i -= 1
        members[i] = f
    strides = np.zeros((bucket.n_members, bucket.n_axes), np.int64)
    for b in range(bucket.n_single, bucket.n_members):
        factor = factors[members[b]]
        for i in range(factor.axes + 1, factor.axes_end):
            strides[b, variables[factor_axes[i].variable].place] = factor_axes[i].stride
    return strides


@kernel
def _larger(messages, used, size):  # type: ignore[no-untyped-def]
    result = np.empty(size, np.float64)
    for i in range(used):
        result[i] = messages[i]
    return result


@kernel
def _sum_out(tables, messages, factors, factor_axes, members, strides, separator, bucket):  # type: ignore[no-untyped-def]
    """Fill the bucket's message: the product, summed over its variable, axes (separator, class); its log if not plain.

    Behind the message come blocks with axes (variable, class). The first is the product of the factors of the
    variable alone; each other factor makes one more. Most blocks stay as they are from one configuration of
    the separator to the next.
    """
    block, width, plain, n_members = bucket.block, bucket.width, bucket.plain, bucket.n_members
    blocks = bucket.start + bucket.size
    for i in range(blocks, blocks + block):
        messages[i] = 1.0 if plain else 0.0
    for i in range(bucket.n_axes):
        separator[i].state = 0
    changed = np.int64(-1)
    for cell in range(bucket.start, blocks, width):
        source = blocks
        for b in range(n_members):
            factor = factors[members[b]]
            to = source if factor.depth < 0 else source + block
            last = plain and b == n_members - 1
            if factor.depth >= changed or last:
                numbers = tables if factor.kind == _TABLE else messages
                step = factor_axes[factor.axes].stride
                if last:
                    _multiply_sum(numbers, factor, step, messages, source, block, cell, width)
                else:
                    _multiply(numbers, factor, step, plain, messages, source, to, block, width)
            source = to
        if not plain:
            _log_sum(messages, source, block, cell, width)
        changed = _advance(factors, members, strides, separator, bucket)


@kernel
def _advance(factors, members, strides, separator, bucket):  # type: ignore[no-untyped-def]
    """Go to the next configuration of the separator, in C order; return the first axis that changed."""
    for i in range(bucket.n_axes - 1, -1, -1):
        axis = separator[i]
        axis.state += 1
        carry = axis.state == axis.size
        if carry:
            axis.state = 0
        for b in range(bucket.n_single, bucket.n_members):
            factors[members[b]].offset += strides[b, i] * (1 - axis.size if carry else 1)
        if not carry:
            return i
    return 0


@kernel
def _multiply(numbers, factor, step, plain, messages, source, to, block, width):  # type: ignore[no-untyped-def]
    """Block `to` of messages = block `source` times the factor's numbers, `step` apart; axes (variable, class).

    Where not `plain`, all are logarithms, but for the numbers of a plain message.
    """
    offset = factor.offset
    for i in range(0, block, width):
        given, product = messages[source + i : source + i + width], messages[to + i : to + i + width]
        if not plain:
            for c in range(width):
                number = numbers[offset + c] if factor.with_class else numbers[offset]
                product[c] = given[c] + (np.log(number) if factor.kind == _PLAIN else number)
        elif factor.with_class:
            own = numbers[offset : offset + width]
            for c in range(width):
                product[c] = given[c] * own[c]
        else:
            number = numbers[offset]
            for c in range(width):
                product[c] = given[c] * number
        offset += step


@kernel
def _multiply_sum(numbers, factor, step, messages, source, block, cell, width):  # type: ignore[no-untyped-def]
    """Put what _multiply gives for plain numbers, summed over the variable, in the message's numbers at `cell`."""
    offset = factor.offset
    total = messages[cell : cell + width]
    for c in range(width):
        total[c] = 0.0
    for i in range(source, source + block, width):
        given = messages[i : i + width]
        if factor.with_class:
            own = numbers[offset : offset + width]
            for c in range(width):
                total[c] += given[c] * own[c]
        else:
            number = numbers[offset]
            for c in range(width):
                total[c] += given[c] * number
        offset += step


@kernel
def _log_sum(messages, source, block, cell, width):  # type: ignore[no-untyped-def]
    """Put the logarithm of the sum over the variable of exp(block `source`) in the message's numbers at `cell`."""
    for c in range(width):
        largest = -np.inf
        for i in range(source + c, source + block, width):
            largest = max(largest, messages[i])
        total = 0.0
        if largest > -np.inf:
            for i in range(source + c, source + block, width):
                total += np.exp(messages[i] - largest)
        messages[cell + c] = largest + np.log(total)


@kernel
def _rescale(messages, bucket, result):  # type: ignore[no-untyped-def]
    """Move each class's largest logarithm from the message to `result`; make the rest plain if its range allows.

    Without a class axis the largest is that of every class.
    """
    bucket.low = bucket.high = 0.0
    end = bucket.start + bucket.size
    for c in range(bucket.width):
        largest = -np.inf
        for i in range(bucket.start + c, end, bucket.width):
            largest = max(largest, messages[i])
        for other in range(c, c + 1 if bucket.with_class else result.shape[0]):
            result[other] += largest
        if largest > -np.inf:
            for i in range(bucket.start + c, end, bucket.width):
                messages[i] -= largest
                if messages[i] > -np.inf:
                    bucket.low = min(bucket.low, messages[i])
    if bucket.low > -_RANGE:
        bucket.plain = True
        for i in range(bucket.start, end):
            messages[i] = np.exp(messages[i])


@kernel
def _send(variables, factors, f, factor_axes, separator, bucket):  # type: ignore[no-untyped-def]
    """Make the message factor f, and put it in the bucket of the feature in it that is eliminated next."""
    factor = factors[f]
    end = factors[f - 1].axes_end
    factor.axes = end
    stride = bucket.width
    for i in range(bucket.n_axes - 1, -1, -1):
        factor_axes[end].variable, factor_axes[end].stride = separator[i].variable, stride
        stride *= separator[i].size
        end += 1
    factor.axes_end = end
    factor.kind, factor.start = _PLAIN if bucket.plain else _LOG, bucket.start
    factor.with_class, factor.low, factor.high = bucket.with_class, bucket.low, bucket.high
    first = variables[factor_axes[factor.axes].variable]
    factor.following, first.bucket = first.bucket, f
