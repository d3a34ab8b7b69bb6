"""The rows of one block with their log joint under the current graph. A table in memory is one block.

A block counts the tables of candidates. If there are several blocks, it is given the counts over all of them, from
which the changes of the log joint follow, the same in every block. Results are never as long as the rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod
from typing import TYPE_CHECKING

import numpy as np
from joblib import effective_n_jobs

from bnplug.compiling import run_in_threads
from bnplug.contracts import Changes
from bnplug.counts._numbering import number_occurring, place_among
from bnplug.scoring._batches import score_candidates
from bnplug.scoring._bundles import (
    MEASURE,
    MOVE,
    MOVE_MADE,
    NOT_GIVEN,
    PASSED_OVER,
    SCORE,
    TOO_WIDE,
    Batch,
    Criterion,
    Given,
    Joint,
    Scratch,
    Tables,
    block_ends,
    empty_joint,
    make_scratch,
    with_room,
)
from bnplug.scoring._gains import Gain, compile_gain
from bnplug.scoring._layout import Candidates, FlatGraph, FoldedRows, sort_rows
from bnplug.scoring._tables import count_tables
from bnplug.scoring._walks import NO_STEPS, Steps
from bnplug.typing import FloatArray, IntArray

if TYPE_CHECKING:
    from bnplug.table.table import Table

# The largest table of a candidate, in cells [fold, configuration, class], before only occurring configurations are
# numbered: two for each cell of the log joint, within these limits. The first scratch has room for fewer.
_FEWEST_CELLS, _MOST_CELLS, _FIRST_CELLS = 1 << 16, 1 << 22, 1 << 10

#: Sorting rows by their gaps pays off for this many candidates for each column of codes and of log joints.
WORTH_TIDYING = 2.0

# With fewer cells of log joints than this in all candidates together, threads cost more than they save.
_WORTH_THREADS = 1 << 21


def most_configurations(rows: FoldedRows, n_tested: int) -> int:
    """Return up to how many configurations of a candidate are all numbered, for so many tested rows."""
    cells = min(max(_FEWEST_CELLS, 2 * n_tested * rows.n_classes), _MOST_CELLS)
    return max(1, cells // ((rows.n_folds + 1) * rows.n_classes))


class BlockRows:
    """The rows of a block by fold and class, the current graph, and their log joint under it.

    Up to `widest` configurations of a candidate are all numbered; a new scratch has room for `room` of them.
    """

    graph: FlatGraph

    def __init__(
        self,
        block: Table,
        fold: IntArray,
        header: FoldedRows,
        gain: Gain,
        criterion: Criterion,
        widest: int,
        n_jobs: int | None,
    ) -> None:
        self.n_jobs, self.widest = n_jobs, widest
        self.rows = rows = sort_rows(block, fold, header)
        self.criterion = criterion._replace(gain=compile_gain(gain).address)
        self.room = min(widest, 1 + _FIRST_CELLS // ((rows.n_folds + 1) * rows.n_classes))
        self.scratch = make_scratch(rows, self.room)
        self.joint = empty_joint(rows, not (np.isnan(criterion.high_gap) and np.isnan(criterion.low_gap)))
        self.begin(FlatGraph.without_families(len(rows.cards)))

    def clear(self) -> None:
        """Remove all families."""
        self.joint.values[:] = 0.0
        self.joint.zeros[:] = 0
        self.begin(FlatGraph.without_families(len(self.rows.cards)))

    def add(self, families: Sequence[Changes], given: Given, last: bool) -> None:
        """Add families to the log joint but not to the graph (see :meth:`begin`); gaps follow with the `last` ones."""
        given, without_gaps = given.writable(), self.joint._replace(gap=np.empty(0, dtype=np.float32))
        for i, family in enumerate(families):
            joint = self.joint if last and i == len(families) - 1 else without_gaps
            self.apply(family, MOVE, joint, given.one(i))

    def begin(self, graph: FlatGraph | Sequence[Sequence[int]]) -> None:
        """Make the graph whose families were added the current one."""
        self.graph = graph if isinstance(graph, FlatGraph) else FlatGraph.of(graph)
        self.scratch.known[:] = False

    def move(self, changes: Changes, given: Given | None) -> None:
        """Give variables other parents; `given` is None if that changes no gain."""
        if given is not None:
            self.apply(changes, MOVE, self.joint, given.writable())
        self.replace(changes)

    def replace(self, changes: Changes) -> None:
        """Give variables of the graph other parents; the log joint stays as it is."""
        for v, parents in changes.items():
            self.graph = self.graph.replace(v, tuple(parents))
            self.scratch.known[v] = False

    def apply(self, changes: Changes, task: int, joint: Joint, given: Given = NOT_GIVEN) -> bool:
        """Apply changes to a log joint; return whether it changed."""
        # MOVE_MADE needs nothing but the table in the scratch.
        listed: list[Changes] = [{} if task == MOVE_MADE else changes]
        batch = self.make_batch(listed, np.zeros(1), np.zeros(1), np.zeros(1), task, given)
        arrays = self.rows, joint, self.criterion, self.graph, batch
        changed = score_candidates(*arrays, 0, 1, False, self.scratch, NO_STEPS)
        if batch.status[0] == TOO_WIDE:
            self.score_wide(batch, changes, 0, self.scratch, task, given.states)
        return bool(changed)

    def tidy(self) -> None:
        """Sort rows by their gaps within segments: most blocks of rows are then decided at once."""
        if len(self.joint.gap):
            joint, rows = self.joint, self.rows
            order = np.concatenate([low + np.argsort(joint.gap[low:high]) for low, high in rows.segments()])
            # Column by column: a second log joint would take too much memory. Rows that are not tested come last.
            every = *rows.codes, rows.weights, *joint.values.T, *joint.zeros.T, joint.gap, joint.rival, joint.second_gap
            for column in every:
                if len(column):
                    column[: len(order)] = column.take(order)
            self.joint = joint._replace(**block_ends(rows, joint.gap))

    def tested_weight(self) -> list[float]:
        """Return the total weight of the tested rows, in units."""
        return [self.rows.tested_weight]

    def gain(self) -> list[float]:
        """Return the score of the log joint as it is, without penalty."""
        batch = self.make_batch([{}], np.zeros(1), np.full(1, -np.inf), np.zeros(1), MEASURE)
        self.score_batch(batch, 0, 1, False, self.scratch)
        return [float(batch.scores[0])]

    def occurring(self, features: IntArray) -> tuple[IntArray, FloatArray]:
        """Return the configurations of features that occur, (features, size); missing is one more state."""
        _, examples = number_occurring(self.rows.codes, self.rows.sizes, features)
        return self.rows.codes[features][:, examples].astype(np.int64), np.empty((0, len(examples)))

    def count(self, tables: Tables) -> list[IntArray]:
        """Return the counts ``[fold, configuration, class]`` of tables, one after the other."""
        n = len(tables.places) - 1
        counts = np.zeros(int(tables.places[-1]), dtype=np.int64)
        tables, workers = tables.writable(), self.n_workers(n)

        def count_part(first: int, stop: int) -> None:
            numbers = self.scratch.configuration if workers == 1 else np.empty_like(self.scratch.configuration)
            count_tables(self.rows, *tables, counts, first, stop, numbers, False)

        run_in_threads(count_part, *in_parts(n, workers), n_jobs=workers)
        return [counts]

    def count_wide(self, changes: Changes, states: IntArray) -> list[IntArray]:
        """Return the counts of a candidate for the configurations that occur in some block."""
        numbers = self.place(changes, self.scratch, states).configuration
        places = np.array([0, states.shape[1] * (len(self.rows.bounds) - 1)])
        counts, none = np.zeros(places[1], dtype=np.int64), np.zeros(2, dtype=np.int64)
        count_tables(self.rows, none, none, places, counts, 0, 1, numbers, True)
        return [counts]

    def scores(self, candidates: Candidates, given: Given, allowed: FloatArray) -> list[FloatArray]:
        """Return the sum of the gain under each candidate; ``-inf`` if it may fall short by more than `allowed`."""
        least, nothing = self.criterion.maximum * self.rows.tested_weight - allowed, np.zeros(len(candidates))
        batch = self.make_batch(candidates, nothing, least, nothing.copy(), given=given.writable())
        self.score_all(batch, candidates, given.states)
        return [batch.scores]

    def make_batch(
        self,
        candidates: Sequence[Changes],
        penalties: FloatArray,
        at_least: FloatArray,
        scores: FloatArray,
        task: int = SCORE,
        given: Given = NOT_GIVEN,
    ) -> Batch:
        """Return candidates as a Batch; `scores` are those if no gain changes."""
        flat, n = Candidates.of(candidates), len(candidates)
        tasks, status = np.full(n, task, dtype=np.uint8), np.full(n, PASSED_OVER, dtype=np.uint8)
        arrays = flat.starts, flat.nodes, flat.bounds, flat.parents
        return Batch(*arrays, penalties, at_least, scores, tasks, status, given.counts, given.places)

    def score_batch(
        self, batch: Batch, first: int, stop: int, in_turn: bool, scratch: Scratch, steps: Steps = NO_STEPS
    ) -> int:
        """Score the candidates first:stop, except for those that are too wide; return how many change a gain."""
        arrays = self.rows, self.joint, self.criterion, self.graph, batch
        return int(score_candidates(*arrays, first, stop, in_turn, scratch, steps))

    def score_wide(
        self,
        batch: Batch,
        changes: Changes,
        i: int,
        scratch: Scratch,
        task: int = SCORE,
        states: IntArray | None = None,
    ) -> Scratch:
        """Score candidate i, for which a scratch had no room; return the scratch that was used instead."""
        size = prod(int(self.rows.sizes[v]) for v in features_of(self.rows, self.graph, changes))
        if size <= scratch.limit:  # another candidate has made room in the meantime
            wider = scratch
        elif size <= self.widest:
            room = min(self.widest, max(size, self.room, 2 * scratch.limit))
            wider, self.room = with_room(scratch, self.rows, room), room
            if scratch is self.scratch:
                self.scratch = wider
        else:
            wider = self.place(changes, scratch, states)
        batch.tasks[i], batch.status[i] = task, PASSED_OVER
        self.score_batch(batch, i, i + 1, False, wider)
        return wider

    def score_all(self, batch: Batch, candidates: Sequence[Changes], states: IntArray | None = None) -> int:
        """Score all candidates of a batch, in threads; return how many change a gain."""
        workers = self.n_workers(len(candidates))

        def score_range(first: int, stop: int) -> int:
            scratch = self.scratch if workers == 1 else make_scratch(self.rows, self.room)
            n_scored = self.score_batch(batch, first, stop, False, scratch)
            for i in (first + np.flatnonzero(batch.status[first:stop] == TOO_WIDE)).tolist():
                used = self.score_wide(batch, candidates[i], i, scratch, states=states)
                scratch = scratch if len(used.columns) else used
            return n_scored

        return sum(run_in_threads(score_range, *in_parts(len(batch.scores), workers), n_jobs=workers))

    def n_workers(self, n_candidates: int) -> int:
        """Return how many threads are worth their cost."""
        worth = n_candidates > 1 and self.joint.values.size * n_candidates >= _WORTH_THREADS
        return int(effective_n_jobs(self.n_jobs)) if worth else 1

    def place(self, changes: Changes, scratch: Scratch, states: IntArray | None = None) -> Scratch:
        """Return a Scratch with only the configurations of a candidate that occur, by default in this block."""
        rows, features = self.rows, features_of(self.rows, self.graph, changes)
        slots = list(families(rows, self.graph, changes))
        if states is None:
            numbers, examples = number_occurring(rows.codes, rows.sizes, features)
            codes = rows.codes[features][:, examples].astype(np.int64)
        else:
            numbers, codes = place_among(rows.codes, rows.sizes, features, states), states
        placed = [_place_family(rows, features, codes, v, np.array(parents, dtype=np.int64)) for v, parents in slots]
        # States and parent configurations of a family are numbered even if they do not occur together.
        widest = max(int(rows.cards[v]) * columns for (v, _), (_, columns) in zip(slots, placed, strict=True))
        last = scratch.last.copy()
        last[2] = codes.shape[1]
        return with_room(scratch, rows, max(widest, codes.shape[1]))._replace(
            configuration=numbers.astype(np.uint32),
            place=np.concatenate([place for place, _ in placed]),
            columns=np.array([columns for _, columns in placed], dtype=np.int64),
            last=last,
        )


def in_parts(n: int, workers: int) -> tuple[list[int], list[int]]:
    """Return the first positions of the parts of n candidates that threads take, and those after the last."""
    ends = np.linspace(0, n, 4 * workers + 1 if workers > 1 else 2).astype(int).tolist()
    return ends[:-1], ends[1:]


def families(rows: FoldedRows, graph: FlatGraph, changes: Changes) -> Iterator[tuple[int, tuple[int, ...]]]:
    """Yield the families that a candidate removes or adds and that can change a gain: its slots, in order."""
    for v, parents in changes.items():
        before, after = graph.parents_of(v), tuple(parents)
        if set(before) == set(after) and graph.n_parents[v] >= 0:
            continue
        if rows.target in before or (v == rows.target and graph.n_parents[v] >= 0):
            yield v, before
        if v == rows.target or rows.target in after:
            yield v, after


def features_of(rows: FoldedRows, graph: FlatGraph, changes: Changes) -> IntArray:
    """Return the features of a candidate, in ascending order."""
    variables = {v for node, parents in families(rows, graph, changes) for v in (node, *parents)}
    return np.array(sorted(variables - {rows.target}), dtype=np.int64)


def _place_family(
    rows: FoldedRows, features: IntArray, codes: IntArray, node: int, parents: IntArray
) -> tuple[IntArray, int]:
    """Return `place` and the number of columns of `find_logs`, for configurations of given codes (features, size)."""
    is_parent = np.isin(features, parents)
    known = (codes < rows.cards[features][:, None])[is_parent | (features == node)].all(axis=0)
    numbers, examples = number_occurring(codes[:, known], rows.cards[features], np.flatnonzero(is_parent))
    columns = max(1, len(examples))
    place = np.full(codes.shape[1], -1, dtype=np.int64)
    state = 0 if node == rows.target else codes[features == node][0, known]
    place[known] = state * columns + numbers
    with_classes = place[:, None] * rows.n_classes + np.arange(rows.n_classes)
    with_classes[place < 0] = -1
    return with_classes.ravel(), columns
