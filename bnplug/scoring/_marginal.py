"""The evaluator of predictive scores on incomplete rows: missing cells are marginalized, exactly.

The parameters of a graph are estimated from the counts that the current network expects; missing cells are then summed
out of the graph's log joint. With folds, a row is tested with the expected counts of the rows outside its fold; rows
without a class train in every fold.

For a row and a class, the missing variables form *groups* that share families. Each group is summed over its joint
states, and the log joint is the sum over the groups and the families without missing cells. What is the same for all
classes is left out. A candidate concerns only the groups of its families, before and after.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from bnplug.compiling import inner_kernel, kernel, run_in_threads
from bnplug.contracts import Changes
from bnplug.counts._numbering import in_batches
from bnplug.inference._groups import (
    MOST_STATES,
    advance,
    count_states,
    find_group,
    has_member,
    lay_out,
    make_scratch,
    network_of,
    number_at,
    place_of,
    reads_open,
    stride_of,
)
from bnplug.inference.marginals import Marginalizer
from bnplug.model.log_tables import LogTables, estimate
from bnplug.scoring._evaluating import RowEvaluator
from bnplug.scoring._gains import Gain, evaluate
from bnplug.scoring._layout import describe_rows
from bnplug.table.table import Table
from bnplug.typing import FloatArray, IntArray

if TYPE_CHECKING:
    from bnplug.inference.expected_table import ExpectedTable
    from bnplug.scoring.predictive import PredictiveScore

# The largest number of cells of families that are counted together, and that are cached. A larger family is not scored.
_CELLS_AT_ONCE, _CELLS_KEPT = 1 << 22, 1 << 24

_Family = tuple[int, tuple[int, ...]]

#: For changed variables, ascending: the new parents, and the log parameters ``[fold, state, *parents]``.
Families = dict[int, tuple[tuple[int, ...], FloatArray]]


class MarginalEvaluator(RowEvaluator):
    """Scores the neighbors of a graph by a :class:`~bnplug.scoring.PredictiveScore`, on rows with missing cells."""

    table: ExpectedTable

    def __init__(self, score: PredictiveScore, table: ExpectedTable, n_jobs: int | None = 1) -> None:
        self._rule = type(score).gain, score._numbers(table), score.alpha > 0 or score.floor > 0
        super().__init__(score, table, n_jobs)

    def commit(self, changes: Changes) -> float:
        """Make `changes`, and compute the log joint from scratch."""
        self._replace(changes)
        return self._rebuild()

    def _scored(self, candidates: Sequence[Changes], at_least: FloatArray) -> FloatArray:
        """Return the scores of candidates, ``-inf`` for one with a family of millions of cells."""
        scores = np.full(len(candidates), -np.inf)
        for chosen in self._in_parts(candidates):
            changed = [self._families(candidates[i]) for i in chosen]
            (sums,) = self._rows.sum("scores", changed)
            costs = [self._penalty_after(candidates[i]) for i in chosen]
            scores[chosen] = sums / self._divisor - costs
            self.n_evaluations += len(chosen)
        self._checked(float(scores[~np.isneginf(scores)].sum()))
        return scores

    def _draw(self) -> None:
        """Draw the folds, and place the rows that are tested."""
        table, score = self.table, self.score
        folds = score.folds(table, self.random)
        number, header = describe_rows(table, folds, score.alpha, score.floor)
        tested = np.where(number < header.n_folds, number, -1)
        self._folds = None if folds is None else tested
        holes = table.with_holes
        self._rows = holes.spawn(MarginalRows, holes.split(tested), *self._rule, self.n_jobs)
        self._divisor = holes.take(tested >= 0).total_weight if score.aggregate == "mean" else 1.0
        self._logs: dict[_Family, FloatArray] = {}
        self._n_kept = 0

    def _rebuild(self) -> float:
        parents = self.parents
        self._learn(list(enumerate(parents)))
        self._rows.change("start", {v: (family, self._logs[v, family]) for v, family in enumerate(parents)})
        self._penalty = self._current_penalty()
        (gain,) = self._rows.sum("gain")
        self.value = self._checked(float(gain) / self._divisor) - self._penalty
        return self.value

    def _in_parts(self, candidates: Sequence[Changes]) -> Iterator[list[int]]:
        """Yield the positions of candidates whose new families are counted together, once these are estimated."""
        families = [_new(changes) for changes in candidates]
        sizes = [[self._size(family) for family in new] for new in families]
        scored = [i for i, new in enumerate(sizes) if max(new, default=0) <= _CELLS_AT_ONCE]
        for chosen in in_batches(scored, lambda i: sum(sizes[i]), _CELLS_AT_ONCE):
            self._learn([family for i in chosen for family in families[i]])
            yield chosen

    def _families(self, changes: Changes) -> Families:
        """Return the families that differ from the current ones, with their log parameters."""
        new = [(v, parents) for v, parents in sorted(_new(changes)) if parents != self._graph.parents_of(v)]
        return {v: (parents, self._logs[v, parents]) for v, parents in new}

    def _size(self, family: _Family) -> int:
        n_folds = 1 if self._folds is None else int(self._folds.max()) + 2
        return n_folds * prod(int(self.table.cards[u]) for u in (family[0], *family[1]))

    def _learn(self, families: list[_Family]) -> None:
        """Estimate the log parameters of families that are not known, from expected counts, for each fold."""
        if self._n_kept > _CELLS_KEPT:
            current = {family: self._logs[family] for family in enumerate(self.parents) if family in self._logs}
            self._logs, self._n_kept = current, sum(logs.size for logs in current.values())
        new = [family for family in dict.fromkeys(families) if family not in self._logs]
        counts = self.table.counts([(v, *parents) for v, parents in new], self._folds)
        alpha, floor = self.score.alpha, self.score.floor
        for family, table in zip(new, counts, strict=True):
            training = [table] if self._folds is None else [table.sum(axis=0) - fold for fold in table[:-1]]
            # A difference of expected counts may fall below 0 by rounding.
            self._logs[family] = np.stack([estimate(np.maximum(part, 0.0), alpha, floor) for part in training])
            self._n_kept += self._logs[family].size


def _new(changes: Changes) -> list[_Family]:
    return [(int(v), tuple(sorted(map(int, parents)))) for v, parents in changes.items()]


class MarginalRows:
    """The tested rows of a block; `folds` are negative for the others, and no probability is zero if it is `finite`."""

    def __init__(
        self, block: Table, folds: IntArray, gain: Gain, params: FloatArray, finite: bool, n_jobs: int | None
    ) -> None:
        tested = folds >= 0
        self.block = block.take(tested)
        self.codes = np.ascontiguousarray(self.block.codes.T)
        self.folds = np.ascontiguousarray(folds[tested])
        self.labels = self.block.codes[block.target_index].astype(np.int64)
        self._gain, self._params, self._finite, self._n_jobs = gain, params, finite, n_jobs

    def start(self, families: Families) -> None:
        """Make a graph the current one, by the families of all variables."""
        self.families = dict(sorted(families.items()))
        self.parents = [parents for parents, _ in self.families.values()]
        sizes = [logs.size for _, logs in self.families.values()]
        self.network = network_of(self.parents, self.block.cards, np.cumsum([0, *sizes[:-1]]).tolist())
        self.values = np.concatenate([logs.ravel() for _, logs in self.families.values()])
        self.joint = self._filled(self.families, fill_whole, self.network, self.values)

    def gain(self) -> list[float]:
        """Return the sum of the gain over the rows."""
        return [self._sum(self.joint)]

    def scores(self, candidates: Sequence[Families]) -> list[FloatArray]:
        """Return the sum of the gain over the rows for each candidate."""
        sums = run_in_threads(lambda changes: self._sum(self._changed(changes)), candidates, n_jobs=self._n_jobs)
        return [np.array(sums, dtype=np.float64)]

    def _sum(self, joint: FloatArray) -> float:
        gains = evaluate(self._gain, joint, self.labels, self._params)
        return float(gains.sum() if self.block.weights is None else self.block.weights @ gains)

    def _changed(self, changes: Families) -> FloatArray:
        """Return the log joints with other families for some variables."""
        if not changes:
            return self.joint
        families = self.families | changes
        parents = [family for family, _ in families.values()]
        starts, place = self.network.starts.tolist(), len(self.values)
        for v, (_, logs) in changes.items():
            starts[v] = place
            place += logs.size
        new = network_of(parents, self.block.cards, starts)
        added = np.concatenate([logs.ravel() for _, logs in changes.values()])
        if not self._finite:  # infinite terms cannot be subtracted
            return self._filled(families, fill_whole, new, np.concatenate([self.values, added]))
        nodes = np.array(list(changes), dtype=np.int64)
        return self._filled(families, fill_changed, self.network, self.values, new, added, nodes, self.joint)

    def _filled(self, families: Families, fill: Callable[..., None], *arguments: object) -> FloatArray:
        """Return log joints filled by a kernel, or by the engine in rows with too many joint states."""
        block, names, n_rows = self.block, self.block.names, len(self.codes)
        n_classes = int(block.cards[block.target_index])
        joint, wide = np.empty((n_rows, n_classes)), np.zeros(n_rows, dtype=np.bool_)
        rows = self.codes, block.missing, self.folds, block.cards, block.target_index
        fill(*rows, *arguments, make_scratch(len(names), n_classes), joint, wide)
        for fold in np.unique(self.folds[wide]).tolist():
            of_fold = np.flatnonzero(wide & (self.folds == fold))
            tables = {names[v]: ([names[p] for p in parents], logs[fold]) for v, (parents, logs) in families.items()}
            network = LogTables(names, block.states, tables, block.target)
            joint[of_fold] = Marginalizer(network, block.target).log_joint(block.codes[:, of_fold])
        return joint


@kernel(allocates=False)
def fill_whole(codes, missing, folds, cards, target, network, values, scratch, joint, wide):  # type: ignore[no-untyped-def]
    """joint[m, c] = the log joint of each row; wide[m]: whether a group of the row has too many joint states to sum."""
    n = cards.shape[0]
    for m in range(codes.shape[0]):
        for v in range(n):
            scratch.open_yet[v] = v != target and codes[m, v] == missing
            scratch.concerned[v] = True
        wide[m] = not _sum_row(codes[m], folds[m], cards, target, network, values, values, scratch, joint[m])


@kernel(allocates=False)
def fill_changed(codes, missing, folds, cards, target, now, values, new, added, nodes, before, scratch, joint, wide):  # type: ignore[no-untyped-def]
    """Do the same for a network that differs from that of the log joints `before` in the families of `nodes`.

    now, values: the network of `before`, and its log parameters; new: the other network, whose positions refer to
    `values` followed by `added`.
    """
    n_classes = before.shape[1]
    for m in range(codes.shape[0]):
        row = codes[m]
        if _find_concerned(row, missing, target, now, new, nodes, scratch):
            wide[m] = not _sum_row(row, folds[m], cards, target, new, values, added, scratch, joint[m])
            continue
        wide[m] = not _sum_row(row, folds[m], cards, target, now, values, added, scratch, scratch.before)
        if not wide[m]:
            # The sum has closed the variables.
            _find_concerned(row, missing, target, now, new, nodes, scratch)
            wide[m] = not _sum_row(row, folds[m], cards, target, new, values, added, scratch, scratch.after)
        for c in range(n_classes):
            joint[m, c] = before[m, c] + (scratch.after[c] - scratch.before[c])


@inner_kernel(allocates=False)
def _find_concerned(row, missing, target, now, new, nodes, scratch):  # type: ignore[no-untyped-def]
    """Open the missing variables connected to families of `nodes` in either network; return whether these are all."""
    n, opened, concerned, stack = row.shape[0], scratch.open_yet, scratch.concerned, scratch.stack
    for v in range(n):
        opened[v], concerned[v] = False, False
    n_stack = 0
    for i in range(nodes.shape[0]):
        concerned[nodes[i]] = True
        n_stack = _open_family(row, missing, target, now, nodes[i], opened, stack, n_stack)
        n_stack = _open_family(row, missing, target, new, nodes[i], opened, stack, n_stack)
    while n_stack > 0:
        n_stack -= 1
        u = stack[n_stack]
        for v in range(n):
            if not concerned[v] and (has_member(now, v, u) or has_member(new, v, u)):
                concerned[v] = True
                n_stack = _open_family(row, missing, target, now, v, opened, stack, n_stack)
                n_stack = _open_family(row, missing, target, new, v, opened, stack, n_stack)
    any_missing = False
    for v in range(n):
        if v != target and row[v] == missing:
            any_missing = True
            if not opened[v]:
                return False
    for v in range(n):
        concerned[v] = concerned[v] or any_missing
    return any_missing


@inner_kernel(allocates=False)
def _open_family(row, missing, target, network, v, opened, stack, n_stack):  # type: ignore[no-untyped-def]
    """Push the missing variables of a family that are not open yet on the stack; return its height."""
    for i in range(network.n_parents[v] + 1):
        u = v if i == network.n_parents[v] else network.parents[v, i]
        if u != target and row[u] == missing and not opened[u]:
            opened[u] = True
            stack[n_stack] = u
            n_stack += 1
    return n_stack


@inner_kernel(allocates=False)
def _sum_row(row, fold, cards, target, network, values, added, scratch, joint):  # type: ignore[no-untyped-def]
    """joint[c] = the sum of the families concerned, open variables summed out; return whether that was possible."""
    n, n_classes = row.shape[0], joint.shape[0]
    opened, concerned, group = scratch.open_yet, scratch.concerned, scratch.group
    for c in range(n_classes):
        joint[c] = 0.0
    _drop_barren(network, opened, concerned, scratch.states)
    for v in range(n):
        if concerned[v] and not reads_open(network, v, opened) and has_member(network, v, target):
            place, step = place_of(row, fold, target, network, opened, v), stride_of(network, v, target)
            for c in range(n_classes):
                joint[c] += number_at(values, added, place + c * step)
    for v in range(n):
        if opened[v]:
            n_group = find_group(network, v, opened, concerned, group)
            if not _add_group(row, fold, cards, target, network, values, added, n_group, scratch, joint):
                return False
            for i in range(n_group):
                opened[group[i]] = False
    return True


@inner_kernel(allocates=False)
def _drop_barren(network, opened, concerned, marked):  # type: ignore[no-untyped-def]
    """Drop open variables without an observed descendant, and their families."""
    n = opened.shape[0]
    for v in range(n):
        marked[v] = 0
    for i in range(n - 1, -1, -1):
        v = network.order[i]
        if concerned[v] and opened[v] and marked[v] == 0:
            opened[v], concerned[v] = False, False
        elif concerned[v]:
            for p in range(network.n_parents[v]):
                marked[network.parents[v, p]] = 1


@inner_kernel(allocates=False)
def _add_group(row, fold, cards, target, network, values, added, n_group, scratch, joint):  # type: ignore[no-untyped-def]
    """Add the sum over the joint states of a group; return whether there were few enough."""
    n_classes, group, states, places = joint.shape[0], scratch.group, scratch.states, scratch.places
    n_families, of_class = lay_out(row, fold, target, network, n_group, scratch), np.int64(0)
    for k in range(n_families):
        of_class += scratch.by_class[k]
    if of_class == 0:
        return True
    n_states = count_states(cards, group, n_group, states)
    if n_states > MOST_STATES:
        return False
    sums, largest = scratch.sums, scratch.largest
    for c in range(n_classes):
        sums[c], largest[c] = 0.0, -np.inf
    for _ in range(np.int64(n_states)):
        for c in range(n_classes):
            term = 0.0
            for k in range(n_families):
                term += number_at(values, added, places[k] + c * scratch.by_class[k])
            if term > largest[c]:
                sums[c] = sums[c] * np.exp(largest[c] - term) + 1.0
                largest[c] = term
            elif term > -np.inf:
                sums[c] += np.exp(term - largest[c])
        advance(cards, group, n_group, states, places, scratch.moves, n_families)
    for c in range(n_classes):
        joint[c] += largest[c] + np.log(sums[c]) if sums[c] > 0.0 else -np.inf
    return True
