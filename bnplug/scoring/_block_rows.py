"""The rows of one block as a predictive score sees them: their log joint, and what candidates make of it.

A block counts the tables of candidates, and is given what they add to the log joint, which follows from the counts of
all blocks. Nothing that it returns is as long as its rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from bnplug.arrays import FloatArray, IntArray
from bnplug.compiling import kernel, run_in_threads
from bnplug.counts._numbering import number_occurring, place_among
from bnplug.data.table import Table
from bnplug.scoring import _deltas, _passes
from bnplug.scoring._compiled_gains import compile_gain
from bnplug.scoring._rows import FoldedRows, sort_rows
from bnplug.scoring.gains import Gain

# A block of log joints on their way to the gain leaves room in a first-level cache.
_BLOCK_CELLS = 2048


class Layout(NamedTuple):
    """The table of a candidate, ``[fold, configuration, class]``: which configurations it has.

    Attributes
    ----------
    features : int64 array
        What the families of the candidate read, besides the class.
    size : int
        How many configurations there are.
    states : int64 array of shape (features, size), or None
        Those that occur; None where all are numbered, in C order, missing being one more state.
    """

    features: IntArray
    size: int
    states: IntArray | None


class Terms(NamedTuple):
    """What a candidate adds to the log joint, flat: ``[fold, configuration, class]``.

    Attributes
    ----------
    values : float64 array
        Sums of finite log parameters.
    zeros : int16 array of the same shape, or (0,) where no probability can be zero
        How many ``-inf`` come in, less those that go out.
    """

    values: FloatArray
    zeros: npt.NDArray[np.int16]


class BlockRows:
    """The rows of a block by fold and class, with their log joint.

    Parameters
    ----------
    block : Table
    fold : int64 array of shape (rows,)
    header : FoldedRows
        What is the same for all blocks.
    gain : function
    params : float64 array
    maximum : float
        What the gain is at most; values are summed as what they fall short of it.
    n_jobs : int, optional
    """

    def __init__(
        self,
        block: Table,
        fold: IntArray,
        header: FoldedRows,
        gain: Gain,
        params: FloatArray,
        maximum: float,
        n_jobs: int | None,
    ) -> None:
        self.rows = sort_rows(block, fold, header)
        self.n_jobs = n_jobs
        self._criterion = compile_gain(gain).address, params, maximum
        self.clear()

    def clear(self) -> None:
        """Forget all terms."""
        shape = (self.rows.n_tested, self.rows.n_classes)
        self._values = np.zeros(shape)
        self._dead = np.zeros((0, 0) if self.rows.finite else shape, dtype=np.int16)

    def tested_weight(self) -> float:
        """Return what the rows weigh that are tested."""
        return self.rows.tested_weight

    def occurring(self, features: IntArray) -> IntArray:
        """Return the configurations of features that occur, missing being one more state: (features, size)."""
        _, examples = number_occurring(self.rows.codes, self.rows.sizes, features)
        return self.rows.codes[features][:, examples].astype(np.int64)

    def count(self, layouts: Sequence[Layout]) -> list[IntArray]:
        """Return the counts ``[fold, configuration, class]`` of candidates, the last fold that of rows never tested."""
        return run_in_threads(self._count, layouts, n_jobs=self.n_jobs)

    def shortfalls(self, layouts: Sequence[Layout], terms: Sequence[Terms]) -> FloatArray:
        """Return by how much the tested rows fall short of the largest value under each candidate, by weight."""
        return np.array(run_in_threads(self._shortfall, layouts, terms, n_jobs=self.n_jobs), dtype=np.float64)

    def add(self, layouts: Sequence[Layout], terms: Sequence[Terms]) -> None:
        """Add what candidates add to the log joint: they are the current graph's from now on."""
        rows, none = self.rows, np.empty(0)
        columns = np.empty((rows.n_classes + 3, _passes.BLOCK_ROWS))
        for layout, own in zip(layouts, terms, strict=True):
            _add_terms(
                rows.bounds, rows.n_folds * rows.n_classes, self._values, self._dead, self._numbers(layout),
                layout.size, own.values, own.zeros, none, np.empty(0, np.uint32), columns,
            )  # fmt: skip

    def _numbers(self, layout: Layout) -> npt.NDArray[np.uint32]:
        """The configuration of each row."""
        rows, features = self.rows, layout.features
        if layout.states is None:
            found = np.empty(rows.codes.shape[1], dtype=np.uint32)
            _number(rows.codes, rows.sizes, features, found)
            return found
        return place_among(rows.codes, rows.sizes, features, layout.states).astype(np.uint32)

    def _count(self, layout: Layout) -> IntArray:
        rows = self.rows
        counts = np.empty((rows.n_folds + 1) * layout.size * rows.n_classes, dtype=np.int64)
        _count(self._numbers(layout), rows.bounds, rows.weights, rows.n_classes, layout.size, counts)
        return counts

    def _shortfall(self, layout: Layout, terms: Terms) -> float:
        rows, block = self.rows, max(1, _BLOCK_CELLS // self.rows.n_classes)
        found = _sum_shortfall(
            rows.bounds, rows.weights, self._values, self._dead, *self._criterion, self._numbers(layout), layout.size,
            terms.values, terms.zeros, np.empty((block, rows.n_classes)), np.empty(block, dtype=np.int64),
            np.empty(block), np.empty(block),
        )  # fmt: skip
        return float(found)


@kernel(allocates=False)
def _number(codes, sizes, features, configuration):  # type: ignore[no-untyped-def]
    """configuration[m] = that of the features in row m, in C order."""
    _deltas.number_rows(codes, sizes, features, features.shape[0], configuration)


@kernel(allocates=False)
def _count(configuration, bounds, weights, n_classes, size, counts):  # type: ignore[no-untyped-def]
    """counts[fold, configuration, class] = the weight of such rows."""
    _deltas.count(configuration, bounds, weights, n_classes, size, counts)


@kernel(allocates=False)
def _sum_shortfall(  # type: ignore[no-untyped-def]
    bounds, weights, values, dead, gain, params, maximum, number, size, terms, zeros, joint, labels, weight_of, found
):
    """The sum over the tested rows of the largest value less that of the gain, under a table that is added.

    joint, labels, weight_of, found: a block of rows on their way to the gain.
    """
    total = 0.0
    for start in range(0, values.shape[0], joint.shape[0]):
        stop = min(start + joint.shape[0], values.shape[0])
        _passes.fill(start, stop, bounds, weights, values, dead, number, size, terms, zeros, joint, labels, weight_of)
        total += _passes.ask(gain, params, maximum, stop - start, joint, labels, weights.shape[0] > 0, weight_of, found)
    return total


@kernel(allocates=False)
def _add_terms(bounds, n_segments, values, dead, number, size, terms, zeros, none, no_rival, columns):  # type: ignore[no-untyped-def]
    """Add a table to the log joint; no gaps are kept."""
    _passes.add_table(
        bounds, n_segments, values, dead, number, size, terms, zeros, none, no_rival, none, none, none, columns
    )
