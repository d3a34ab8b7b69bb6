"""Single questions about a network: the relevant part, an order of elimination, and compiled messages.

A question keeps some variables, sums others out, and may maximize over the rest. Evidence is a state, or a weight for
each state of a variable. Tables that the evidence separates from the question are omitted, unless their zeros could
make the evidence impossible. Messages are kept: a question that shares findings with an earlier one shares messages.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from functools import cached_property
from math import prod
from typing import Any, NamedTuple

import numpy as np

from bnplug.compiling import inner_kernel, kernel
from bnplug.inference._cliques import MAX_CLIQUE_SIZE, NO_LIMIT, check_clique
from bnplug.inference._flat_tables import AXIS, LOG, NODE, PLAIN, TABLE, FlatTables, collect
from bnplug.inference._messages import DONE, MAX_ANY_ORDER, RANGE, SUM_ANY_ORDER, Memo, send_messages
from bnplug.inference._orders import (
    GIVEN,
    MIN_FILL,
    MIN_SIZE,
    WEIGHTED_MIN_FILL,
    clear_graph,
    eliminate,
    link,
    make_graph,
)
from bnplug.model.log_tables import NORMALIZED, LogTables
from bnplug.typing import BoolArray, FloatArray, IntArray

# Bits of a variable's role in a question: its state or its weights are known, one of these weights is zero, it is kept,
# or maximized.
_HARD, _SOFT, _ZERO, _KEPT, _MAX = 1, 2, 4, 8, 16

# From this cost on, an order is compared with the last one, whose messages may be used again; and with other ones.
_WORTH_SHARING, _WORTH_SEARCHING = 2.0**13, 2.0**18

# The noise of random restarts, the cells that pay for the search at each vertex, and the most restarts.
_NOISE, _CELLS_PER_VERTEX, _MOST_RESTARTS = 0.3, 400.0, 40.0

# The most numbers that are kept between questions.
_KEPT_NUMBERS = 2**24


class Question(NamedTuple):
    """A question, and room for what is planned: arrays with an entry for each variable, unless noted.

    `weights` are the logarithms of soft evidence of all variables, one behind the other, from ``starts[v]`` on.
    `strides` are those of the kept variables in the answer. `vertices` are the relevant variables, `order` those that
    are eliminated; `last` is the last order that was worth sharing. `summary` has: the cells of the largest clique, its
    vertex, the state of the random numbers, how many variables are summed out and maximized, the cost, the length of
    `last`.
    """

    states: IntArray
    roles: IntArray
    starts: IntArray
    weights: FloatArray
    strides: IntArray
    stack: IntArray
    vertices: IntArray
    sizes: FloatArray
    order: IntArray
    last: IntArray
    summary: FloatArray


class Relations(NamedTuple):
    """The children of each node, ``children[starts[v]:starts[v + 1]]``, and which tables have zeros."""

    starts: IntArray
    children: IntArray
    has_zeros: BoolArray


def question_tables(tables: LogTables) -> tuple[FlatTables, Relations, IntArray]:
    """Return the tables as they are, with a last node that has no table, in the part of the class."""
    n, position = len(tables.names), {name: v for v, name in enumerate(tables.names)}
    arrays = [table.values for table in tables.tables.values()]
    parents = [[position[u] for u in table.parents] for table in tables.tables.values()]
    families = [v for node, of_node in enumerate(parents) for v in (node, *of_node)]
    counts = np.array([array.ndim for array in arrays], dtype=np.int64)
    cells = np.array([array.size for array in arrays], dtype=np.int64)
    logs = np.concatenate([array.ravel() for array in arrays])
    nodes, axes = np.zeros(n + 1, NODE), np.zeros(len(families), AXIS)
    ends, cell_ends = np.cumsum(counts), np.cumsum(cells)
    cards = np.array([len(array) for array in arrays], dtype=np.int64)
    nodes["card"][:n], nodes["card"][n] = cards, 1
    nodes["log_card"] = np.log(nodes["card"])
    nodes["axes"][:n], nodes["axes_end"][:n] = ends - counts, ends
    nodes["axes"][n] = nodes["axes_end"][n] = ends[-1]
    nodes["start"][:n], nodes["rank"] = cell_ends - cells, -1
    axes["variable"], axes["size"] = families, cards[families]
    is_parent = np.ones(len(families), np.bool_)
    is_parent[ends - counts] = False
    nodes_of = np.repeat(np.arange(n), counts)[is_parent]
    of_parents = np.array(families, dtype=np.int64)[is_parent]
    places = np.argsort(of_parents, kind="stable")
    relations = Relations(
        np.searchsorted(of_parents[places], np.arange(n + 1)).astype(np.int64),
        nodes_of[places].astype(np.int64),
        np.zeros(n, np.bool_),
    )
    both_ways, values = np.empty(n, np.int64), np.empty(2 * len(logs))
    with np.errstate(over="ignore", under="ignore"):
        np.exp(logs, out=values[: len(logs)])
    values[len(logs) :] = logs
    n_units = _lay_out(nodes, axes, relations, both_ways)
    _describe(nodes, cell_ends, values, relations.has_zeros)
    return FlatTables(nodes, both_ways, both_ways, n, n_units, axes, values, []), relations, cards


@kernel(allocates=False)
def _describe(nodes, ends, values, has_zeros):  # type: ignore[no-untyped-def]
    """Fill the bounds of tables, and find which are normalized, and which have zeros."""
    logs = values[values.shape[0] // 2 :]
    for v in range(ends.shape[0]):
        start, low, high = nodes[v].start, 0.0, 0.0
        for i in range(start, ends[v]):
            high = max(high, logs[i])
            if logs[i] == -np.inf:
                has_zeros[v] = True
            else:
                low = min(low, logs[i])
        nodes[v].low, nodes[v].high, nodes[v].proper = low, high, True
        width = (ends[v] - start) // nodes[v].card
        for column in range(start, start + width):
            total = 0.0
            for i in range(nodes[v].card):
                total += values[column + i * width]
            nodes[v].proper &= abs(np.log(total)) <= NORMALIZED


@kernel(allocates=False)
def _lay_out(nodes, axes, relations, order):  # type: ignore[no-untyped-def]
    """Fill the strides and units of all axes, and the units of nodes; list the nodes, parents first."""
    n = nodes.shape[0] - 1
    units = np.int64(0)
    end = np.int64(0)
    for v in range(n):
        stride, unit = np.int64(1), np.int64(1)
        for i in range(nodes[v].axes_end - 1, nodes[v].axes - 1, -1):
            axes[i].stride, axes[i].unit = stride, unit
            stride *= axes[i].size
            unit *= axes[i].size + 1
        nodes[v].unit = units
        units += unit
        # The number of parents that are not listed yet.
        nodes[v].rank = nodes[v].axes_end - nodes[v].axes - 1
        if nodes[v].rank == 0:
            order[end] = v
            end += 1
    k = 0
    while k < end:
        v = order[k]
        k += 1
        for i in range(relations.starts[v], relations.starts[v + 1]):
            child = relations.children[i]
            nodes[child].rank -= 1
            if nodes[child].rank == 0:
                order[end] = child
                end += 1
    for v in range(n):
        nodes[v].rank = -1
    return units


@inner_kernel(allocates=False)
def _find_relevant(nodes, axes, parents_first, relations, question, variables, connected):  # type: ignore[no-untyped-def]
    """Find the tables that matter, `touched`, and their unknown variables, `relevant`; return how many these are."""
    n, roles = nodes.shape[0] - 1, question.roles
    for v in range(n):
        variables[v].state = question.states[v]
        variables[v].relevant = variables[v].touched = False
        variables[v].needed = roles[v] != 0 or not nodes[v].proper
        variables[v].bucket = nodes[v].rank = -1
    variables[n].bucket, variables[n].touched, variables[n].state = -1, False, 0
    for k in range(n - 1, -1, -1):
        v = parents_first[k]
        if variables[v].needed:
            for i in range(nodes[v].axes, nodes[v].axes_end):
                variables[axes[i].variable].needed = True
    n_relevant, done = 0, 0
    for v in range(n):
        if (roles[v] & (_KEPT | _MAX)) != 0 and (roles[v] & _HARD) == 0:
            variables[v].relevant = True
            question.vertices[n_relevant] = v
            n_relevant += 1
    for step in range(n + 1):
        while done < n_relevant:
            v = question.vertices[done]
            done += 1
            n_relevant = _touch(nodes, axes, v, question, variables, n_relevant)
            for i in range(relations.starts[v], relations.starts[v + 1]):
                n_relevant = _touch(nodes, axes, relations.children[i], question, variables, n_relevant)
        if step < n and not variables[step].touched and variables[step].needed:
            zero = relations.has_zeros[step] or (roles[step] & _ZERO) != 0
            if not connected or zero or not nodes[step].proper:
                n_relevant = _touch(nodes, axes, step, question, variables, n_relevant)
    return n_relevant


@inner_kernel(allocates=False)
def _touch(nodes, axes, v, question, variables, n_relevant):  # type: ignore[no-untyped-def]
    """Take a needed table, and list its unknown variables."""
    if variables[v].needed and not variables[v].touched:
        variables[v].touched = True
        for i in range(nodes[v].axes, nodes[v].axes_end):
            u = axes[i].variable
            if variables[u].state < 0 and not variables[u].relevant:
                variables[u].relevant = True
                question.vertices[n_relevant] = u
                n_relevant += 1
    return n_relevant


@inner_kernel(allocates=False)
def _build(nodes, axes, question, variables, graph, n_relevant):  # type: ignore[no-untyped-def]
    """Link the relevant variables that a table mentions."""
    clear_graph(graph, n_relevant)
    for k in range(n_relevant):
        v = question.vertices[k]
        variables[v].place = k
        question.sizes[k] = nodes[v].card
    for v in range(nodes.shape[0] - 1):
        if variables[v].touched:
            for i in range(nodes[v].axes, nodes[v].axes_end):
                a = axes[i].variable
                if variables[a].relevant:
                    for j in range(i + 1, nodes[v].axes_end):
                        b = axes[j].variable
                        if variables[b].relevant:
                            link(graph, n_relevant, variables[a].place, variables[b].place)


@inner_kernel(allocates=False)
def _try(nodes, axes, question, variables, graph, n_relevant, heuristic, noise, limit):  # type: ignore[no-untyped-def]
    """Make an order by a heuristic: sums, then maxima; keep it in `best` if its cost is below the limit; return it."""
    _build(nodes, axes, question, variables, graph, n_relevant)
    summary, total, n_before = question.summary, 0.0, 0
    largest = vertex = 0.0
    for maximized in range(2):
        n_left = 0
        if heuristic == GIVEN:
            for k in range(np.int64(summary[6])):
                v = question.last[k]
                if variables[v].relevant and _phase(question.roles[v]) == maximized:
                    graph.left[n_left] = variables[v].place
                    n_left += 1
        else:
            for k in range(n_relevant):
                if _phase(question.roles[question.vertices[k]]) == maximized:
                    graph.left[n_left] = k
                    n_left += 1
        if heuristic == GIVEN and n_left < np.int64(summary[3 + maximized]):
            return np.inf  # the last order lacks a variable
        summary[3 + maximized] = n_left
        if n_left > 0:
            for k in range(n_before):
                question.stack[k] = graph.order[k]
            total += eliminate(graph, n_relevant, n_left, question.sizes, heuristic, noise, limit - total, summary)
            for k in range(n_left - 1, -1, -1):
                graph.order[n_before + k] = graph.order[k]
            for k in range(n_before):
                graph.order[k] = question.stack[k]
            if summary[0] > largest:
                largest, vertex = summary[0], summary[1]
        n_before += n_left
        if total > limit:
            return total
    summary[0], summary[1] = largest, vertex
    for k in range(n_before):
        graph.best[k] = graph.order[k]
    return total


@inner_kernel(allocates=False)
def _phase(role):  # type: ignore[no-untyped-def]
    """Return 0 for a variable that is summed out, 1 for one that is maximized, and 2 for one that is kept."""
    return 2 if (role & _KEPT) != 0 else 1 if (role & _MAX) != 0 else 0


@inner_kernel(allocates=False)
def _plan(nodes, axes, question, variables, graph, n_relevant):  # type: ignore[no-untyped-def]
    """Choose an order of elimination, and fill `order` and the ranks."""
    summary = question.summary
    summary[2] = 12345.0
    cost = _try(nodes, axes, question, variables, graph, n_relevant, MIN_SIZE, 0.0, np.inf)
    largest, vertex = summary[0], summary[1]
    if cost > _WORTH_SHARING and summary[6] > 0.0:
        again = _try(nodes, axes, question, variables, graph, n_relevant, GIVEN, 0.0, 1.5 * cost)
        if again <= 1.5 * cost:
            cost, largest, vertex = again, summary[0], summary[1]
    if cost > _WORTH_SEARCHING:
        n_attempts = np.int64(min(cost / (_CELLS_PER_VERTEX * n_relevant), _MOST_RESTARTS))
        for attempt in range(n_attempts):
            heuristic = MIN_FILL if attempt % 3 == 0 else WEIGHTED_MIN_FILL if attempt % 3 == 1 else MIN_SIZE
            noise = 0.0 if attempt < 2 else _NOISE
            better = 0.98 * cost
            found = _try(nodes, axes, question, variables, graph, n_relevant, heuristic, noise, better)
            if found <= better:
                cost, largest, vertex = found, summary[0], summary[1]
    n_order = np.int64(summary[3] + summary[4])
    for k in range(n_order):
        v = question.vertices[graph.best[k]]
        question.order[k] = v
        nodes[v].rank = k
    summary[0], summary[1], summary[5] = largest, vertex, cost
    if cost > _WORTH_SHARING:
        for k in range(n_order):
            question.last[k] = question.order[k]
        summary[6] = n_order
    return n_order


# What becomes of a question, besides DONE and FULL: the clique is too large; the messages need more room.
_TOO_LARGE, _NEEDS_ROOM = 3, 4


@kernel(allocates=False)
def _ask(network, relations, question, graph, memo, connected, max_cells, result, best):  # type: ignore[no-untyped-def]
    """Fill `result` with the log measure of the kept variables and the evidence; return what became of the question.

    If variables are maximized, `best` is filled with their states in a maximum.
    """
    nodes, parents_first, _, target, _ = network
    variables, axes, factors, _, _, numbers, counters = memo
    used, summary = counters[0], question.summary
    n_relevant = _find_relevant(nodes, axes, parents_first, relations, question, variables, connected)
    n_order = _plan(nodes, axes, question, variables, graph, n_relevant)
    if summary[0] > max_cells:
        return _TOO_LARGE
    if summary[5] > _WORTH_SHARING and summary[5] > numbers.shape[0] - used.numbers:
        return _NEEDS_ROOM
    n = collect(nodes, target, variables, axes, factors, nodes[target].axes_end)
    n = _add_weights(nodes, target, question, variables, axes, factors, numbers, used, n_relevant, n)
    n_sums = np.int64(summary[3])
    outcome = send_messages(nodes, question.order[:n_sums], target, max_cells, memo, n, SUM_ANY_ORDER)
    if outcome == DONE and n_order > n_sums:
        n, scale = n + n_sums, used.scale
        outcome = send_messages(nodes, question.order[n_sums:n_order], target, max_cells, memo, n, MAX_ANY_ORDER)
        used.scale += scale
    if outcome == DONE:
        used.rows += 1
        _gather(nodes, target, question, variables, axes, factors, numbers, used, result)
        for k in range(n_order - n_sums - 1, -1, -1):
            message = factors[factors[n + k].parts - 1]
            _decide(nodes[message.variable].card, message, axes, factors, memo[3], numbers, used.logs, best)
    used.outcome = outcome
    return outcome


@inner_kernel(allocates=False)
def _add_weights(nodes, target, question, variables, axes, factors, numbers, used, n_relevant, n):  # type: ignore[no-untyped-def]
    """Put the weights of soft evidence into the buckets, as factors behind the first n; return their number."""
    end = nodes[target].axes_end if n == 0 else factors[n - 1].axes_end
    for k in range(n_relevant):
        v = question.vertices[k]
        if (question.roles[v] & _SOFT) != 0:
            factor = factors[n]
            used.weights -= 1
            factor.unit, factor.start = used.weights, 2 * used.logs + question.starts[v]
            _fill_weights(nodes[v].card, question.weights[question.starts[v] :], numbers[factor.start :], factor)
            factor.axes, factor.axes_end = end, end + 1
            axes[end].variable, axes[end].stride, axes[end].size = v, 1, nodes[v].card
            first = v if nodes[v].rank >= 0 else target
            factor.following, variables[first].bucket = variables[first].bucket, n
            end += 1
            n += 1
    return n


@inner_kernel(allocates=False)
def _fill_weights(card, logs, numbers, factor):  # type: ignore[no-untyped-def]
    """Fill the numbers of a factor with weights, plain if their range allows, and its bounds."""
    factor.low = factor.high = factor.scale = 0.0
    for i in range(card):
        if logs[i] > -np.inf:
            factor.low = min(factor.low, logs[i])
    factor.kind = PLAIN if factor.low > -RANGE else LOG
    for i in range(card):
        numbers[i] = np.exp(logs[i]) if factor.kind == PLAIN else logs[i]


@inner_kernel(allocates=False)
def _gather(nodes, target, question, variables, axes, factors, numbers, used, result):  # type: ignore[no-untyped-def]
    """Fill `result` with the sum of the logarithms of the remaining factors."""
    for c in range(result.shape[0]):
        result[c] = used.scale
    f = variables[target].bucket
    while f >= 0:
        factor = factors[f]
        for c in range(result.shape[0]):
            place = factor.start
            for i in range(factor.axes, factor.axes_end):
                u = axes[i].variable
                place += (c // question.strides[u] % nodes[u].card) * axes[i].stride
            result[c] += _log(numbers, factor.kind, place, used.logs)
        f = factor.following


@inner_kernel(allocates=False)
def _log(numbers, kind, place, logs):  # type: ignore[no-untyped-def]
    """Return the logarithm of a number of a factor."""
    if kind == PLAIN:
        return np.log(numbers[place])
    return numbers[place + logs] if kind == TABLE else numbers[place]


@inner_kernel(allocates=False)
def _decide(card, message, axes, factors, strides, numbers, logs, best):  # type: ignore[no-untyped-def]
    """Choose the best state of the variable of a message, given those of its other variables."""
    largest = -np.inf
    best[message.variable] = 0
    for i in range(card):
        total = 0.0
        for b in range(message.parts, message.parts_end):
            part = factors[b]
            place = part.start + i * part.step
            for a in range(message.axes_end - message.axes):
                place += best[axes[message.axes + a].variable] * strides[part.strides + a]
            total += _log(numbers, part.kind, place, logs)
        if total > largest:
            largest = total
            best[message.variable] = i


class Asked:
    """A network that is kept for single questions; safe to use from several threads, one question at a time.

    Parameters
    ----------
    tables : LogTables
    max_clique_size : int
        The maximum number of cells of a table.
    """

    def __init__(self, tables: LogTables, max_clique_size: float = MAX_CLIQUE_SIZE) -> None:
        self.tables, self.max_clique_size = tables, max_clique_size
        self.position = {name: v for v, name in enumerate(tables.names)}
        flat, self._relations, cards = question_tables(tables)
        n = len(cards)
        starts = np.cumsum(cards) - cards
        self._cards = cards.tolist()
        self._memo = Memo(flat, int(cards.sum()))
        self._graph = make_graph(n)
        self._question = Question(
            states=np.full(n, -1),
            roles=np.zeros(n, np.int64),
            starts=starts,
            weights=np.zeros(int(cards.sum())),
            strides=np.ones(n, np.int64),
            stack=np.zeros(n, np.int64),
            vertices=np.zeros(n, np.int64),
            sizes=np.zeros(n),
            order=np.zeros(n, np.int64),
            last=np.zeros(n, np.int64),
            summary=np.zeros(8),
        )
        self._best = np.zeros(n, np.int64)
        self._lock = threading.Lock()

    @cached_property
    def log_total(self) -> float:
        """The log of the sum of the measure over all variables, 0 if all tables are normalized."""
        return float(self.log_measure((), {}, {}))

    def __getstate__(self) -> dict[str, Any]:
        return {"tables": self.tables, "max_clique_size": self.max_clique_size}

    def __setstate__(self, state: dict[str, Any]) -> None:
        Asked.__init__(self, **state)

    def log_measure(
        self,
        variables: Sequence[str],
        known: Mapping[str, int],
        soft: Mapping[str, FloatArray],
        maximized: Sequence[str] = (),
        connected: bool = False,
    ) -> FloatArray:
        """Return log P(variables, evidence), one axis for each of `variables`, maximized over some of the others.

        Parameters
        ----------
        variables : sequence of str
        known : mapping of str to int
            Observed states. A variable may also be in `variables`: its axis then is ``-inf`` at its other states.
        soft : mapping of str to array
            Log likelihoods.
        maximized : sequence of str
            Variables to maximize over; the others are summed out first.
        connected : bool
            Whether factors that do not depend on `variables` may be omitted, unless they may be impossible.
        """
        return self.ask(variables, known, soft, maximized, connected)[0]

    def ask(
        self,
        variables: Sequence[str],
        known: Mapping[str, int],
        soft: Mapping[str, FloatArray],
        maximized: Sequence[str] = (),
        connected: bool = False,
    ) -> tuple[FloatArray, dict[str, int]]:
        """Return the result of :meth:`log_measure`, and the states of the maximized variables in a maximum."""
        position, question = self.position, self._question
        shape = [self._cards[position[name]] for name in variables]
        check_clique(self.tables, variables, self.max_clique_size)
        result = np.empty(prod(shape))
        with self._lock:
            question.states.fill(-1)
            question.roles.fill(0)
            for name, state in known.items():
                v = position[name]
                question.states[v], question.roles[v] = state, _HARD
            scale = self._set_weights(known, soft) if soft else 0.0
            stride = len(result)
            for name, size in zip(variables, shape, strict=True):
                v = position[name]
                stride //= size
                question.roles[v] |= _KEPT
                question.strides[v] = stride
            for name in maximized:
                question.roles[position[name]] |= _MAX
            self._run(connected, result)
            best = {name: int(self._best[position[name]]) for name in maximized} if maximized else {}
        if scale != 0.0:
            result += scale
        return result.reshape(shape), best

    def _set_weights(self, known: Mapping[str, int], soft: Mapping[str, FloatArray]) -> float:
        """Set the weights of soft evidence, relative to the largest; return the logarithm of what was divided by."""
        scale, question = 0.0, self._question
        for name, logs in soft.items():
            v = self.position[name]
            if name in known:
                scale += float(logs[known[name]])
                continue
            largest = float(logs.max()) if np.isfinite(logs.max()) else 0.0
            scale += largest
            start = int(question.starts[v])
            question.weights[start : start + len(logs)] = logs - largest
            question.roles[v] |= _SOFT | (_ZERO if np.isneginf(logs).any() else 0)
        return scale

    def _run(self, connected: bool, result: FloatArray) -> None:
        limit, memo = int(min(self.max_clique_size, NO_LIMIT)), self._memo
        rest = self._relations, self._question, self._graph
        while (outcome := _ask(memo.network, *rest, memo.arrays, connected, limit, result, self._best)) != DONE:
            if outcome == _TOO_LARGE:
                check_clique(self.tables, self._largest_clique(), self.max_clique_size)
            elif outcome == _NEEDS_ROOM:
                memo.reserve(int(self._question.summary[5]))
            else:
                memo.make_room()
        if memo.n_numbers > _KEPT_NUMBERS:
            memo.release()

    def _largest_clique(self) -> list[str]:
        """Return the variables of the largest clique of the order that was tried last."""
        question, nodes, axes = self._question, *self._memo.network[:1], self._memo.arrays[1]
        variables = self._memo.arrays[0]
        last = question.vertices[int(question.summary[1])]
        scopes = []
        for v in np.flatnonzero(variables["touched"]):
            family = axes["variable"][nodes["axes"][v] : nodes["axes_end"][v]]
            scopes.append({*family[variables["relevant"][family]].tolist()})
        for v in question.order.tolist():
            clique = set().union(*(scope for scope in scopes if v in scope))
            if v == last:
                return [self.tables.names[u] for u in sorted(clique)]
            scopes = [scope for scope in scopes if v not in scope] + [clique - {v}]
        raise AssertionError("the order lacks a variable")
