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
from bnplug.inference._flat_tables import LOG, PLAIN, TABLE, collect
from bnplug.inference._memo import Memo
from bnplug.inference._messages import DONE, MAX_ANY_ORDER, RANGE, SUM_ANY_ORDER, send_messages
from bnplug.inference._orders import WORTH_SHARING, clear_graph, link, make_search, search
from bnplug.inference._question_tables import question_tables
from bnplug.model.log_tables import LogTables
from bnplug.typing import FloatArray, IntArray

# Bits of a variable's role in a question: its state or its weights are known, one of these weights is zero, it is kept,
# or maximized.
_HARD, _SOFT, _ZERO, _KEPT, _MAX = 1, 2, 4, 8, 16

#: What else a question concerns besides the factors connected with its variables: nothing; those that might be
#: impossible; all.
CONNECTED, POSSIBLE, EVERYTHING = 0, 1, 2

# The most numbers that are kept between questions.
_KEPT_NUMBERS = 2**24


class Question(NamedTuple):
    """A question, and room for what is planned: arrays with an entry for each variable, unless noted.

    `weights` are the logarithms of soft evidence of all variables, one behind the other, from ``starts[v]`` on.
    `strides` are those of the kept variables in the answer. `vertices` are the relevant variables, `order` those that
    are eliminated; `last` is the last order that was worth sharing, followed by -1.
    """

    states: IntArray
    roles: IntArray
    starts: IntArray
    weights: FloatArray
    strides: IntArray
    vertices: IntArray
    order: IntArray
    last: IntArray


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
            if connected == EVERYTHING or (connected == POSSIBLE and zero):
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
def _plan(nodes, axes, question, variables, search_, n):  # type: ignore[no-untyped-def]
    """Choose the order of elimination of the n relevant variables; return how many are eliminated."""
    graph, n_given, n_kept = search_.graph, 0, 0
    clear_graph(graph, n)
    for k in range(n):
        v = question.vertices[k]
        role = question.roles[v]
        variables[v].place = k
        search_.sizes[k] = nodes[v].card
        search_.phases[k] = 2 if (role & _KEPT) != 0 else 1 if (role & _MAX) != 0 else 0
        n_kept += search_.phases[k] == 2
    for v in range(nodes.shape[0] - 1):
        if variables[v].touched:
            for i in range(nodes[v].axes, nodes[v].axes_end):
                a = axes[i].variable
                if variables[a].relevant:
                    for j in range(i + 1, nodes[v].axes_end):
                        b = axes[j].variable
                        if variables[b].relevant:
                            link(graph, n, variables[a].place, variables[b].place)
    for v in question.last:
        if v >= 0 and variables[v].relevant and (question.roles[v] & _KEPT) == 0:
            search_.given[n_given] = variables[v].place
            n_given += 1
    search(search_, n, n_given if n_given == n - n_kept else 0)
    for k in range(n - n_kept):
        v = question.vertices[search_.best[k]]
        question.order[k] = v
        nodes[v].rank = k
    if search_.summary[4] > WORTH_SHARING:
        for k in range(question.last.shape[0]):
            question.last[k] = question.order[k] if k < n - n_kept else -1
    return n - n_kept


# What becomes of a question, besides DONE and FULL: the clique is too large; the messages need more room.
_TOO_LARGE, _NEEDS_ROOM = 3, 4


@kernel(allocates=False)
def _ask(network, relations, question, search_, memo, connected, without, max_cells, result, best):  # type: ignore[no-untyped-def]
    """Fill `result` with the log measure of the kept variables and the evidence; return what became of the question.

    If variables are maximized, `best` is filled with their states in a maximum.
    """
    nodes, parents_first, _, target, _ = network
    variables, axes, factors, _, _, numbers, counters = memo
    used, summary = counters[0], search_.summary
    n_relevant = _find_relevant(nodes, axes, parents_first, relations, question, variables, connected)
    if without >= 0:
        variables[without].touched = False
    n_order = _plan(nodes, axes, question, variables, search_, n_relevant)
    if summary[0] > max_cells:
        return _TOO_LARGE
    if summary[4] > WORTH_SHARING and summary[4] > numbers.shape[0] - used.numbers:
        return _NEEDS_ROOM
    n = collect(nodes, target, variables, axes, factors, nodes[target].axes_end)
    n = _add_weights(nodes, target, question, variables, axes, factors, numbers, used, n_relevant, n)
    n_sums = np.int64(summary[2])
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
        self._search = make_search(n)
        self._question = Question(
            states=np.full(n, -1),
            roles=np.zeros(n, np.int64),
            starts=starts,
            weights=np.zeros(int(cards.sum())),
            strides=np.ones(n, np.int64),
            vertices=np.zeros(n, np.int64),
            order=np.zeros(n, np.int64),
            last=np.full(n, -1),
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
        concerns: int = EVERYTHING,
        without: str | None = None,
        maximized: Sequence[str] = (),
    ) -> FloatArray:
        """Return log P(variables, evidence), one axis for each of `variables`.

        Parameters
        ----------
        variables : sequence of str
        known : mapping of str to int
            Observed states, of other variables.
        soft : mapping of str to array
            Log likelihoods.
        concerns : int
            Which factors that do not depend on `variables` are included: EVERYTHING, POSSIBLE (those that might make
            the evidence impossible) or CONNECTED (none).
        without : str, optional
            A variable whose table is left out; it and its parents are among `variables` or observed.
        maximized : sequence of str
            Variables to maximize over; the others are summed out first.
        """
        return self._ask(variables, known, soft, maximized, concerns, without)[0]

    def largest(
        self, variables: Sequence[str], known: Mapping[str, int], soft: Mapping[str, FloatArray]
    ) -> tuple[float, dict[str, int]]:
        """Return the largest log P(variables, evidence), and states of the variables that have it.

        The other variables are summed out first, which may need larger tables than other questions.
        """
        result, states = self._ask((), known, soft, variables, EVERYTHING, None)
        return float(result), states

    def _ask(
        self,
        variables: Sequence[str],
        known: Mapping[str, int],
        soft: Mapping[str, FloatArray],
        maximized: Sequence[str],
        concerns: int,
        without: str | None,
    ) -> tuple[FloatArray, dict[str, int]]:
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
            self._run(concerns, -1 if without is None else position[without], result)
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

    def _run(self, concerns: int, without: int, result: FloatArray) -> None:
        limit, memo = int(min(self.max_clique_size, NO_LIMIT)), self._memo
        rest = self._relations, self._question, self._search
        while (outcome := _ask(memo.network, *rest, memo.arrays, concerns, without, limit, result, self._best)) != DONE:
            if outcome == _TOO_LARGE:
                check_clique(self.tables, self._largest_clique(), self.max_clique_size)
                raise AssertionError("the clique is not too large")
            elif outcome == _NEEDS_ROOM:
                memo.reserve(int(self._search.summary[4]))
            else:
                memo.make_room()
        if memo.n_numbers > _KEPT_NUMBERS:
            memo.release()

    def _largest_clique(self) -> list[str]:
        """Return the variables of the largest clique of the order that was tried last."""
        question, nodes, axes = self._question, *self._memo.network[:1], self._memo.arrays[1]
        variables = self._memo.arrays[0]
        last = question.vertices[int(self._search.summary[1])]
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
