"""The rows of one block as a predictive score sees them: a search over them alone, but for the counts.

A block counts the tables of candidates, and is given the counts of all blocks; from these follows what candidates add
to the log joint of its rows. Nothing that it returns is as long as they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from bnplug.arrays import FloatArray, IntArray
from bnplug.compiling import run_in_threads
from bnplug.contracts import Changes
from bnplug.counts._numbering import number_occurring
from bnplug.scoring import _wide
from bnplug.scoring._batches import count_tables
from bnplug.scoring._bundles import Batch, Criterion
from bnplug.scoring._candidates import Candidates, FlatGraph
from bnplug.scoring._compiled_gains import compile_gain
from bnplug.scoring._kept_counts import Tables
from bnplug.scoring._row_state import Given, RowState, in_parts
from bnplug.scoring._rows import FoldedRows, sort_rows
from bnplug.scoring._walks import MOVED
from bnplug.scoring.gains import Gain

if TYPE_CHECKING:
    from bnplug.data.table import Table


class BlockRows(RowState):
    """The rows of a block by fold and class, with their log joint.

    What changes it returns None; what returns something changes nothing.

    Parameters
    ----------
    block : Table
    fold : int64 array of shape (rows,)
    header : FoldedRows
        What is the same for all blocks.
    gain : function
    criterion : Criterion
        Without the address of the gain, which is another one on each machine.
    widest : int
        So many configurations of a candidate are all numbered.
    n_jobs : int, optional
    """

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
        self.n_jobs = n_jobs
        own = criterion._replace(gain=compile_gain(gain).address, divisor=1.0)
        self.take_rows(sort_rows(block, fold, header), own, widest)
        self.clear()

    def tested_weight(self) -> list[float]:
        """Return what the rows weigh that are tested."""
        return [self.rows.tested_weight]

    def occurring(self, features: IntArray) -> tuple[IntArray, FloatArray]:
        """Return the configurations of features that occur, (features, size), missing being one more state."""
        _, examples = number_occurring(self.rows.codes, self.rows.sizes, features)
        return self.rows.codes[features][:, examples].astype(np.int64), np.empty((0, len(examples)))

    def count(self, tables: Tables) -> list[IntArray]:
        """Return the counts ``[fold, configuration, class]`` of one table after the other, as Given has them.

        The last fold is that of rows never tested.
        """
        n = len(tables.places) - 1
        counts = np.zeros(int(tables.places[-1]), dtype=np.int64)
        arrays = *(_owned(own) for own in tables), counts
        workers = self._workers(n)

        def count_part(first: int, stop: int) -> None:
            numbers = self.scratch.configuration if workers == 1 else np.empty_like(self.scratch.configuration)
            count_tables(self.rows, *arrays, first, stop, numbers, False)

        run_in_threads(count_part, *in_parts(n, workers), n_jobs=workers)
        return [counts]

    def count_wide(self, changes: Changes, states: IntArray) -> list[IntArray]:
        """Return the counts of a candidate of which only the configurations that occur in some block are numbered."""
        numbers = _wide.place(self.rows, self.graph, changes, self.scratch, states).configuration
        places = np.array([0, states.shape[1] * (len(self.rows.bounds) - 1)])
        counts, none = np.zeros(places[1], dtype=np.int64), np.zeros(2, dtype=np.int64)
        count_tables(self.rows, none, none, places, counts, 0, 1, numbers, True)
        return [counts]

    def scores(self, candidates: Candidates, given: Given, allowed: FloatArray) -> list[FloatArray]:
        """Return the sum of the values of the gain under each candidate, in units of weight.

        Parameters
        ----------
        candidates : Candidates
        given : Given
        allowed : float64 array of shape (candidates,)
            What the rows of all blocks together may fall short of the largest value; ``-inf`` will do where it is more.
        """
        most = self.criterion.maximum * self.rows.tested_weight
        batch = self._batch(candidates, most - allowed, given)
        self.score_all(batch, candidates, self._workers(len(candidates)), given.states)
        return [batch.scores]

    def add(self, families: Sequence[Changes], given: Given, last: bool) -> None:
        """Add families to the log joint, after which others will follow unless they are the last."""
        self.add_families(families, _writable(given), last)

    def begin(self, parents: Sequence[Sequence[int]]) -> None:
        """Begin with the graph whose families were added."""
        self.settle(FlatGraph.of(parents))

    def move(self, changes: Changes, given: Given | None) -> None:
        """Give variables other parents; without counts, if that changes no gain."""
        if given is not None:
            self.go(changes, MOVED, self.joint, _writable(given))
        self.replace(changes)

    def gain(self) -> list[float]:
        """Return the sum of the values of the gain, in units of weight."""
        return [self.measure()]

    def _batch(self, candidates: Candidates, at_least: FloatArray, given: Given) -> Batch:
        nothing = np.zeros(len(candidates))
        return self.make_batch(candidates, nothing, at_least, nothing.copy(), given=_writable(given))

    def _workers(self, n_candidates: int) -> int:
        return self.n_workers(n_candidates, self.n_jobs)


def _writable(given: Given) -> Given:
    """Return counts as kernels know them."""
    return Given(_owned(given.counts), _owned(given.places), given.states)


def _owned(array: IntArray) -> IntArray:
    """Return an array as kernels know it: what came from another machine may be read only."""
    return np.require(array, requirements=["C", "W"])
