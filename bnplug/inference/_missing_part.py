"""The missing part of a row: which nodes matter for it, in which order to sum them out, and their tables.

A network's tables lie flat in arrays of records. For each row they are instantiated with what it observes, so that
what is left of them, its factors, is about missing features and the class alone.
"""

from __future__ import annotations

import numpy as np

from bnplug.compiling import inner_kernel
from bnplug.inference._flat_tables import record

# A variable in the current row: its state, -1 where missing; whether it is needed and relevant; its rank, which
# is its place in the order of elimination; the first factor in its bucket, or -1; its place among the
# relevant features, and later in the separator of the open bucket.
VARIABLE = record("state rank bucket place", flags="needed relevant")

# A factor, an instantiated table or a message: the next one in its bucket; where its numbers are; its axes,
# ascending by rank; bounds of its finite logarithms and 0. In the open bucket: the last axis of the
# separator that it has, or -1, and the offset of its current numbers.
FACTOR = record("following kind start axes axes_end depth offset", flags="with_class", numbers="low high")

# The numbers of a factor are in the network's tables, or in a message, plain or as logarithms.
TABLE, PLAIN, LOG = 0, 1, 2


@inner_kernel
def mark_needed(nodes, axes, leaves_first, target, variables):  # type: ignore[no-untyped-def]
    """Leave out barren nodes: missing, without a needed child, and with columns that sum to one."""
    for v in range(nodes.shape[0]):
        variables[v].needed = v == target or variables[v].state >= 0 or not nodes[v].proper
    for v in leaves_first:
        if variables[v].needed:
            for i in range(nodes[v].axes, nodes[v].axes_end):
                variables[axes[i].variable].needed = True


@inner_kernel
def mark_relevant(nodes, axes, children, leaves_first, variables, found):  # type: ignore[no-untyped-def]
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


@inner_kernel
def _add_missing_of(node, axes, variables, found, n):  # type: ignore[no-untyped-def]
    for i in range(node.axes, node.axes_end):
        v = axes[i].variable
        if variables[v].state < 0 and not variables[v].relevant:
            variables[v].relevant = True
            found[n] = v
            n += 1
    return n


@inner_kernel
def link(nodes, axes, variables, found, n, linked):  # type: ignore[no-untyped-def]
    """Link the found features that share a table, by their places in `found`; count the axes of all tables.

    Place n is that of the class, to which features are linked too.
    """
    for i in range(n):
        variables[found[i]].place = i
        for j in range(n + 1):
            linked[i, j] = False
    n_axes = 0
    for node in range(nodes.shape[0]):
        if not variables[node].needed:
            continue
        for i in range(nodes[node].axes, nodes[node].axes_end):
            a = variables[axes[i].variable]
            if not a.relevant:
                continue
            n_axes += 1
            linked[a.place, n] |= nodes[node].with_class
            for j in range(nodes[node].axes, i):
                b = variables[axes[j].variable]
                if b.relevant:
                    linked[a.place, b.place] = linked[b.place, a.place] = True
    return n_axes


@inner_kernel
def rank_features(nodes, target, variables, found, n, linked, sizes, order):  # type: ignore[no-untyped-def]
    """Put the found features in the order of their elimination; count the axes of all messages.

    sizes: the logarithm of the cells of each one's clique. The smallest is next (of equal ones, the first found),
    and what is linked with it is then linked among itself.
    """
    n_axes = 0
    for i in range(n):
        sizes[i] = nodes[found[i]].log_card + _linked_size(nodes, target, found, n, linked[i])
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
                for j in range(n + 1):
                    linked[i, j] |= linked[best, j]
                linked[i, i] = linked[i, best] = False
                sizes[i] = nodes[found[i]].log_card + _linked_size(nodes, target, found, n, linked[i])
    return n_axes


@inner_kernel
def _linked_size(nodes, target, found, n, linked):  # type: ignore[no-untyped-def]
    size = nodes[target].log_card if linked[n] else 0.0
    for j in range(n):
        if linked[j]:
            size += nodes[found[j]].log_card
    return size


@inner_kernel
def collect(nodes, axes, variables, factors, factor_axes):  # type: ignore[no-untyped-def]
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
            factor.axes_end, factor.kind, factor.with_class = end, TABLE, node.with_class
            factor.low, factor.high = node.low, node.high
            first = variables[factor_axes[factor.axes].variable]
            factor.following, first.bucket = first.bucket, n
            n += 1
    return n
