"""Where a search by a predictive score is: the current graph, what its families cost, and its log joint.

A move to another graph adds what it changes to the log joint; after many moves the log joint is made anew.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from inspect import signature
from typing import TYPE_CHECKING

import numpy as np

from bnplug.arrays import FloatArray
from bnplug.contracts import Changes
from bnplug.errors import ContractError
from bnplug.scoring._bundles import Batch, Criterion
from bnplug.scoring._candidates import Candidates, FlatGraph
from bnplug.scoring._compiled_gains import compile_gain
from bnplug.scoring._costs import FamilyCosts
from bnplug.scoring._row_state import RowState, class_families, most_configurations
from bnplug.scoring._rows import FoldedRows, arrange
from bnplug.scoring._walks import (
    DRAWING,
    GO_ON,
    LEAPS,
    MADE,
    MOVED,
    N_ACCEPTED,
    PHASE,
    TRYING,
    UNTIL_MOVES,
    VALUE,
    go_on_address,
)
from bnplug.scoring.gains import Bounds
from bnplug.scoring.walking import Walk, _room_in

if TYPE_CHECKING:
    from bnplug.data.table import Table
    from bnplug.scoring.predictive import PredictiveScore

#: Sums that terms were added to and taken out of are made anew after this many moves. Each rounds by about 1e-13
#: where log joints are in the hundreds, and ties are told within 1e-9.
REFRESH = 1000

# A walk comes back to Python after tries that could look at so many cells of log joints: some hundredths of a second.
_WALKED_CELLS = 1 << 25


class SearchState(RowState):
    """The current graph of a search over rows in memory, and what is kept about it.

    Parameters
    ----------
    score : PredictiveScore
    table : Table

    Attributes
    ----------
    gain, penalty : float
        The two parts of the score of the current graph.
    """

    gain: float
    penalty: float

    def __init__(self, score: PredictiveScore, table: Table) -> None:
        self.score = score
        self.table = table
        self._address: int = compile_gain(type(score).gain).address
        self._costs = FamilyCosts(score, table)

    @property
    def value(self) -> float:
        """The score of the current graph."""
        return self.gain - self.penalty

    def draw(self, random: np.random.RandomState | None) -> None:
        """Draw the folds, and arrange the rows by them; the log joint is then to be made anew."""
        folds = self.score.folds(self.table, random)
        rows = arrange(self.table, folds, self.score.alpha, self.score.floor)
        criterion = criterion_of(self.score, self.table, rows, self._address)
        self.take_rows(rows, criterion, most_configurations(rows, rows.n_tested))

    def start(self, parents: Sequence[Iterable[int]]) -> None:
        """Make a graph the current one."""
        self.graph = FlatGraph.of([tuple(sorted(own)) for own in parents])
        self.penalty = self._costs.sum(self.graph)
        self._n_moves = 0
        self.rebuild()

    def rebuild(self) -> None:
        """Make the log joint of the current graph anew, term by term."""
        graph = self.graph
        self.clear()
        self.add_families(class_families(graph, self.table.target_index))
        self.settle(graph)
        self.gain = self.checked(self.measure())

    def move(self, changes: Mapping[int, tuple[int, ...]], made: bool = False, gain: float | None = None) -> None:
        """Give some variables other parents.

        Parameters
        ----------
        changes : mapping of int to ascending tuple of int
        made : bool
            Whether the table of these changes is in the scratch.
        gain : float, optional
            What the gain is then, if that is known.
        """
        self._n_moves += 1
        again = self._n_moves % REFRESH == 0
        changed = not again and self.go(changes, MADE if made else MOVED, self.joint)
        self.replace(changes)
        self.penalty = self._costs.sum(self.graph)
        if again:
            self.rebuild()
        elif changed:
            self.is_tidy = False
            self.gain = self.checked(self.measure()) if gain is None else gain

    def walk(self, walk: Walk) -> int:
        """Go on with a walk by some tries; return how many candidates could change a gain.

        Candidates that the scratch has no room for, and moves after which the log joint is made anew, are made here.
        """
        self.graph = _room_in(self.graph, walk.k)
        batch, steps = walk.room(), walk.begin(self.gain, _WALKED_CELLS // self.joint.values.size)
        candidates = Candidates(batch.starts, batch.nodes, batch.bounds, batch.parents)
        numbers, n_before, n_scored = steps.numbers, self._n_moves, 0
        # Gaps tell the score of a graph that was moved to: to the last bit where it is a whole number.
        numbers[GO_ON], numbers[LEAPS], stop = go_on_address(), self.criterion.whole and len(self.joint.gap) > 0, 0
        while True:
            numbers[UNTIL_MOVES] = (self._n_moves // REFRESH + 1) * REFRESH - n_before
            n_scored += self.score_batch(batch, stop, stop, True, self.scratch, steps)
            self._n_moves = n_before + int(numbers[N_ACCEPTED])
            self.gain = float(steps.reals[VALUE])
            self.is_tidy &= numbers[N_ACCEPTED] == 0
            if numbers[PHASE] == DRAWING:
                walk.end(steps)
                return n_scored
            i = int(self.scratch.last[0])
            if numbers[PHASE] == TRYING:
                self.checked(float(batch.scores[: i + 1].sum()))
                self.score_wide(batch, candidates[i], i, self.scratch)
            else:
                self.move({v: tuple(own) for v, own in candidates[i].items()}, gain=float(batch.scores[i]))
                batch.scores[i] = self.value
            stop = i + 1

    def penalty_after(self, changes: Changes) -> float:
        """Return the penalty of the graph that changes lead to."""
        return self.penalty + self._costs.change(self.graph, changes) if self.score.penalized else self.penalty

    def batch(self, candidates: Sequence[Changes], at_least: FloatArray) -> Batch:
        """Return candidates as they are scored together."""
        penalties = np.full(len(candidates), self.penalty)
        if self.score.penalized:
            penalties[:] = [self.penalty_after(changes) for changes in candidates]
        return self.make_batch(candidates, penalties, at_least, self.gain - penalties)

    def checked(self, score: float) -> float:
        """Return a score, or a sum of scores, if it is a number; see :func:`checked`."""
        return checked(self.score, score)


def checked(score: PredictiveScore, value: float) -> float:
    """Return what a score gave for a graph, or a sum of that, if it is a number.

    Raises
    ------
    ContractError
        If it is nan, so that the gain of a row is.
    """
    if np.isnan(value):
        name = getattr(type(score).gain, "__qualname__", "?")
        raise ContractError(
            f"the gain {name!r} of {type(score).__name__} gave nan, or left a row of `out` unfilled, as it "
            "does where it raises an exception; set NUMBA_DISABLE_JIT=1 in the environment to see which"
        )
    return value


def declared_bounds(score: PredictiveScore, table: Table) -> Bounds | None:
    """Return the bounds that a score declares; in the first version it declared them without a table."""
    asked: Callable[..., Bounds | None] = score.gain_bounds
    return asked(table) if signature(asked).parameters else asked()


def criterion_of(score: PredictiveScore, table: Table, rows: FoldedRows, address: int) -> Criterion:
    """Return how a score judges rows, by the address of its compiled gain."""
    bounds = declared_bounds(score, table)
    known = bounds or Bounds(maximum=0.0)
    return Criterion(
        gain=address,
        params=np.array(score.gain_params(table), dtype=np.float64).ravel(),
        maximum=float(known.maximum),
        high_gap=float(known.high_gap),
        low_gap=float(known.low_gap),
        low_value=float(known.low_value),
        slope=float(known.slope),
        droppable=bounds is not None,
        divisor=rows.tested_weight if score.aggregate == "mean" else 1.0 / rows.unit,
        whole=bool(known.whole),
    )
