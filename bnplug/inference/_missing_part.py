"""The missing part of a row: which nodes matter for it, and what is left of their tables.

A network's tables lie flat in arrays of records. For each row they are instantiated with what it observes, so that
what is left of them, its factors, is about missing features and the class alone.
"""

from __future__ import annotations

import numpy as np

from bnplug.compiling import inner_kernel
from bnplug.inference._flat_tables import record

# A variable in the current row: its state, -1 where missing; whether it is needed and relevant, and whether its table
# has a relevant feature; the first factor in its bucket, or -1; the number of the last bucket whose factors had it, and
# its place among the axes of the message.
VARIABLE = record("state bucket stamp place", flags="needed relevant touched")

# A factor, an instantiated table or a message: its number, the same in every row; the next one in its bucket; where
# its numbers are; its axes, in the order in which they are summed out; bounds of its finite logarithms and 0.
# As a part of a message: its strides along the axes of that; the first of these, but the very first, that it has (if
# none, their number); where its current numbers are, how far apart along the variable and along the very first axis.
# As a message: the variable that was summed out and the next; its parts; how many numbers it has, whether their sums
# were taken of plain numbers, and the logarithm of what they are to be multiplied by; the message that was computed
# before it, or 0.
FACTOR = record(
    "unit following kind start axes axes_end strides depth offset step inner variable next parts parts_end size "
    "previous",
    flags="plain",
    numbers="low high scale",
)

# The numbers of a factor are in the network's tables, or in a message, plain or as logarithms.
TABLE, PLAIN, LOG = 0, 1, 2


@inner_kernel(allocates=False)
def mark(nodes, axes, both_ways, variables):  # type: ignore[no-untyped-def]
    """Find the missing features that matter; return whether there are any.

    Barren nodes do not: missing, without a needed child, and with columns that sum to one. Of the others, those that
    tables connect with the class are relevant; all else is the same for every class.
    """
    for v in range(nodes.shape[0]):
        variables[v].needed = variables[v].state >= 0 or not nodes[v].proper
        variables[v].relevant = variables[v].touched = False
        variables[v].bucket = -1
    for v in both_ways[: nodes.shape[0]]:
        if variables[v].needed:
            for i in range(nodes[v].axes, nodes[v].axes_end):
                variables[axes[i].variable].needed = True
    # The tables one way, then the other, until no more is found.
    found, spread, start = False, True, 0
    while spread:
        spread = False
        for v in both_ways[start : start + nodes.shape[0]]:
            if not variables[v].needed:
                continue
            touched, new = False, False
            for i in range(nodes[v].axes, nodes[v].axes_end):
                variable = variables[axes[i].variable]
                touched |= variable.relevant
                new |= variable.state < 0 and not variable.relevant
            if new and (touched or nodes[v].with_class):
                found = spread = touched = True
                for i in range(nodes[v].axes, nodes[v].axes_end):
                    variable = variables[axes[i].variable]
                    variable.relevant = variable.state < 0
            variables[v].touched = touched
        start = nodes.shape[0] - start
    return found


@inner_kernel(allocates=False)
def mark_all(nodes, axes, target, variables):  # type: ignore[no-untyped-def]
    """Take all missing features as relevant: each is counted, whether the class depends on it or not."""
    for v in range(nodes.shape[0]):
        variables[v].relevant = v != target and variables[v].state < 0
        variables[v].bucket = -1
    for v in range(nodes.shape[0]):
        variables[v].touched = False
        for i in range(nodes[v].axes, nodes[v].axes_end):
            variables[v].touched |= variables[axes[i].variable].relevant


@inner_kernel(allocates=False)
def collect(nodes, target, variables, axes, factors, end):  # type: ignore[no-untyped-def]
    """Instantiate each table that has a relevant feature, and put it in its bucket; count them.

    end: from where on there is room for their axes.
    """
    n = np.int64(0)
    for v in range(nodes.shape[0]):
        if not variables[v].touched:
            continue
        node, factor = nodes[v], factors[n]
        factor.axes, factor.start, factor.unit = end, node.start, node.unit
        first = target
        if node.with_class:
            axes[end].variable, axes[end].stride = target, 1
            end += 1
        for i in range(node.axes, node.axes_end):
            variable = variables[axes[i].variable]
            if variable.relevant:
                axes[end] = axes[i]
                end += 1
                if first == target:
                    first = axes[i].variable
            else:
                factor.start += variable.state * axes[i].stride
                factor.unit += (variable.state + 1) * axes[i].unit
        factor.axes_end, factor.kind = end, TABLE
        factor.low, factor.high = node.low, node.high
        factor.following, variables[first].bucket = variables[first].bucket, n
        n += 1
    return n
