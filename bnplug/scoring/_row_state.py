"""The log joint of rows under the current graph, and what candidates make of it: of all rows, or of one block of them.

Of a block, the tables of candidates are counted over all blocks, and given: what a candidate adds to the log joint then
follows from them, the same in every block.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from joblib import effective_n_jobs

from bnplug.arrays import FloatArray, IntArray
from bnplug.compiling import run_in_threads
from bnplug.contracts import Changes
from bnplug.scoring import _wide
from bnplug.scoring._batches import score_candidates
from bnplug.scoring._bundles import (
    Batch,
    Criterion,
    Joint,
    Scratch,
    block_ends,
    make_scratch,
    no_joint,
    with_room,
)
from bnplug.scoring._candidates import Candidates, FlatGraph
from bnplug.scoring._rows import FoldedRows, rearrange, sorted_within
from bnplug.scoring._walks import MADE, MEASURED, MOVED, NO_STEPS, PASSED_OVER, TOO_WIDE, Steps

# A candidate's table may have this many cells [fold, configuration, class] before only the configurations that occur
# are numbered: two for each cell of the log joint, within these limits. Room is made for fewer at first.
_FEWEST_CELLS, _MOST_CELLS, _FIRST_CELLS = 1 << 16, 1 << 22, 1 << 10

#: Rows are put in the order of their gaps, if they are not, for at least so many candidates for each column of codes
#: and of log joints that has to be moved.
WORTH_TIDYING = 2.0

# With fewer cells of log joints than this in all candidates together, threads cost more than they save.
_WORTH_THREADS = 1 << 21


class Given(NamedTuple):
    """The tables of candidates, counted elsewhere.

    Attributes
    ----------
    counts : int64 array
        The counts ``[fold, configuration, class]`` of one candidate after the other.
    places : int64 array of shape (candidates + 1,)
        Where those of each begin.
    states : int64 array of shape (features, configurations), or None
        Of one candidate that has too many configurations to number them all, those that occur.
    """

    counts: IntArray
    places: IntArray
    states: IntArray | None = None


#: All rows are here, and what they are is counted here.
NOT_GIVEN = Given(np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64))


def most_configurations(rows: FoldedRows, n_tested: int) -> int:
    """Return how many configurations of a candidate are all numbered, where so many rows are tested."""
    cells = min(max(_FEWEST_CELLS, 2 * n_tested * rows.n_classes), _MOST_CELLS)
    return max(1, cells // ((rows.n_folds + 1) * rows.n_classes))


class RowState:
    """Rows, the current graph, and their log joint under it.

    Attributes
    ----------
    rows : FoldedRows
        The rows by the folds drawn last.
    criterion : Criterion
    widest : int
        So many configurations of a candidate are all numbered.
    graph : FlatGraph
        The current graph.
    joint : Joint
        Its log joint.
    scratch : Scratch
        Has the log parameters of its families, as far as they are known.
    room : int
        So many configurations a new scratch has room for: as many as any candidate so far needed.
    is_tidy : bool
        Whether rows are in the order of their gaps.
    """

    rows: FoldedRows
    criterion: Criterion
    widest: int
    graph: FlatGraph
    joint: Joint
    scratch: Scratch
    room: int
    is_tidy: bool

    def take_rows(self, rows: FoldedRows, criterion: Criterion, widest: int) -> None:
        """Begin with other rows; the log joint is then to be made anew."""
        self.rows, self.criterion, self.widest = rows, criterion, widest
        self.room = min(widest, 1 + _FIRST_CELLS // ((rows.n_folds + 1) * rows.n_classes))
        self.scratch = make_scratch(rows, self.room)

    def clear(self) -> None:
        """Forget the graph: no variable has a family."""
        gapped = not (np.isnan(self.criterion.high_gap) and np.isnan(self.criterion.low_gap))
        self.joint = no_joint(self.rows, gapped)
        self.graph = FlatGraph.without_families(len(self.rows.cards))
        self.scratch.known[:] = False
        self.is_tidy = False

    def add_families(self, families: Sequence[Changes], given: Given = NOT_GIVEN, last: bool = True) -> None:
        """Add families to the log joint, without making them the graph's; see :meth:`settle`.

        Parameters
        ----------
        families : sequence of mapping
        given : Given
        last : bool
            Whether none will follow. Gaps are not known before.
        """
        before = families[:-1] if last else families
        without_gaps = self.joint._replace(gap=np.empty(0, dtype=np.float32))
        nothing, never = np.zeros(len(before)), np.full(len(before), np.inf)
        batch = self.make_batch(before, nothing, never, nothing.copy(), MOVED, given)
        done = 0
        while done < len(before):
            # All in one call, but for one that is too wide: what is added later has to wait for it.
            arrays = self.rows, without_gaps, self.criterion, self.graph, batch
            score_candidates(*arrays, done, len(before), True, self.scratch, NO_STEPS)
            done = int(self.scratch.last[0]) + 1
            if batch.status[done - 1] == TOO_WIDE:
                self.go(before[done - 1], MOVED, without_gaps, _one_of(given, done - 1))
        if len(families) > len(before):
            self.go(families[-1], MOVED, self.joint, _one_of(given, len(before)))

    def settle(self, graph: FlatGraph) -> None:
        """Say which graph it is whose families were added."""
        self.graph = graph
        self.scratch.known[:] = False

    def tidy(self) -> None:
        """Put rows with similar gaps side by side, unless they are: then most blocks of rows are decided at once."""
        self.is_tidy = True
        if len(self.joint.gap):
            joint, order = self.joint, sorted_within(self.rows, self.joint.gap)
            rearrange(self.rows, order)
            # Column by column: a second log joint would take too much memory.
            for column in (*joint.values.T, *joint.zeros.T, joint.gap, joint.rival, joint.second_gap):
                column[:] = column[order]
            self.joint = joint._replace(**block_ends(self.rows, joint.gap))

    def replace(self, changes: Changes) -> None:
        """Give variables of the graph other parents; the log joint is as it was."""
        for v, own in changes.items():
            self.graph = self.graph.replace(v, tuple(own))
            self.scratch.known[v] = False

    def measure(self) -> float:
        """Sum the gain over the log joint as it is."""
        batch = self.make_batch([{}], np.zeros(1), np.full(1, -np.inf), np.zeros(1), MEASURED)
        self.score_batch(batch, 0, 1, False, self.scratch)
        return float(batch.scores[0])

    def make_batch(
        self,
        candidates: Sequence[Changes],
        penalties: FloatArray,
        at_least: FloatArray,
        scores: FloatArray,
        asked: int = PASSED_OVER,
        given: Given = NOT_GIVEN,
    ) -> Batch:
        """Return candidates as they are scored together."""
        flat = Candidates.of(candidates)
        arrays = flat.starts, flat.nodes, flat.bounds, flat.parents
        status = np.full(len(candidates), asked, dtype=np.uint8)
        return Batch(*arrays, penalties, at_least, scores, status, given.counts, given.places)

    def score_batch(
        self, batch: Batch, first: int, stop: int, in_turn: bool, scratch: Scratch, steps: Steps = NO_STEPS
    ) -> int:
        """Score the candidates first:stop, but those that are too wide; return how many change a gain."""
        arrays = self.rows, self.joint, self.criterion, self.graph, batch
        return int(score_candidates(*arrays, first, stop, in_turn, scratch, steps))

    def score_wide(
        self,
        batch: Batch,
        changes: Changes,
        i: int,
        scratch: Scratch,
        asked: int = PASSED_OVER,
        states: IntArray | None = None,
    ) -> Scratch:
        """Score candidate i, for which a scratch had no room; return the one that it was scored in.

        That has more room. Where it would have to be too much, it holds the configurations of this candidate alone.
        """
        size = _wide.n_configurations(self.rows, self.graph, changes)
        if size <= scratch.limit:  # one that was scored in between has made room
            wider = scratch
        elif size <= self.widest:
            room = min(self.widest, max(size, self.room, 2 * scratch.limit))
            wider, self.room = with_room(scratch, self.rows, room), room
            if scratch is self.scratch:
                self.scratch = wider
        else:
            wider = _wide.place(self.rows, self.graph, changes, scratch, states)
        batch.status[i] = asked
        self.score_batch(batch, i, i + 1, False, wider)
        return wider

    def n_workers(self, n_candidates: int, n_jobs: int | None) -> int:
        """Return how many threads are worth their cost."""
        worth = n_candidates > 1 and self.joint.values.size * n_candidates >= _WORTH_THREADS
        return int(effective_n_jobs(n_jobs)) if worth else 1

    def score_all(
        self, batch: Batch, candidates: Sequence[Changes], workers: int, states: IntArray | None = None
    ) -> int:
        """Score all candidates of a batch, in threads; return how many change a gain."""

        def score_range(first: int, stop: int) -> int:
            # Each thread needs a scratch of its own.
            scratch = self.scratch if workers == 1 else make_scratch(self.rows, self.room)
            n_scored = self.score_batch(batch, first, stop, False, scratch)
            for i in (first + np.flatnonzero(batch.status[first:stop] == TOO_WIDE)).tolist():
                used = self.score_wide(batch, candidates[i], i, scratch, states=states)
                scratch = scratch if len(used.columns) else used
            return n_scored

        return sum(run_in_threads(score_range, *in_parts(len(batch.scores), workers), n_jobs=workers))

    def go(self, changes: Changes, asked: int, joint: Joint, given: Given = NOT_GIVEN) -> bool:
        """Make changes to a log joint; return whether there were any."""
        # The table that is there says it all.
        listed: list[Changes] = [{} if asked == MADE else changes]
        batch = self.make_batch(listed, np.zeros(1), np.zeros(1), np.zeros(1), asked, given)
        arrays = self.rows, joint, self.criterion, self.graph, batch
        changed = score_candidates(*arrays, 0, 1, False, self.scratch, NO_STEPS)
        if batch.status[0] == TOO_WIDE:
            self.score_wide(batch, changes, 0, self.scratch, asked, given.states)
        return bool(changed)


def in_parts(n: int, workers: int) -> tuple[list[int], list[int]]:
    """Return the first, and the one after the last, of the parts of n candidates that threads take."""
    ends = np.linspace(0, n, 4 * workers + 1 if workers > 1 else 2).astype(int).tolist()
    return ends[:-1], ends[1:]


def _one_of(given: Given, i: int) -> Given:
    """Return the table of one candidate."""
    if not len(given.places):
        return given
    first, last = given.places[i], given.places[i + 1]
    return Given(given.counts[first:last], np.array([0, last - first]), given.states)


def class_families(graph: FlatGraph, target: int) -> list[Changes]:
    """Return the families of a graph that add to the log joint something that differs by class."""
    own = {v: graph.parents_of(v) for v in range(len(graph.n_parents))}
    return [{v: parents} for v, parents in own.items() if v == target or target in parents]
