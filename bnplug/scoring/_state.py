"""Where a search by a predictive score is: the current graph, what its families cost, and its log joint.

A move to another graph adds what it changes to the log joint; after many moves the log joint is made anew.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from inspect import signature
from math import fsum
from typing import TYPE_CHECKING

import numpy as np

from bnplug.arrays import FloatArray
from bnplug.contracts import Changes
from bnplug.errors import ContractError
from bnplug.scoring import _wide
from bnplug.scoring._batches import (
    Batch,
    Criterion,
    Joint,
    Scratch,
    block_ends,
    make_scratch,
    no_joint,
    score_candidates,
    with_room,
)
from bnplug.scoring._candidates import Candidates, FlatGraph
from bnplug.scoring._compiled_gains import compile_gain
from bnplug.scoring._rows import FoldedRows, arrange, rearrange, sorted_within
from bnplug.scoring._walks import (
    DRAWING,
    GO_ON,
    MADE,
    MEASURED,
    MOVED,
    N_ACCEPTED,
    NO_STEPS,
    PASSED_OVER,
    PHASE,
    TOO_WIDE,
    TRYING,
    UNTIL_MOVES,
    VALUE,
    Steps,
    go_on_address,
)
from bnplug.scoring.gains import Bounds
from bnplug.scoring.walking import Walk, _room_in

if TYPE_CHECKING:
    from bnplug.data.table import Table
    from bnplug.scoring.predictive import PredictiveScore

# Sums that terms were added to and taken out of are made anew after this many moves. Each rounds by about 1e-13
# where log joints are in the hundreds, and ties are told within 1e-9.
_REFRESH = 1000

# A candidate's table may have this many cells [fold, configuration, class] before only the configurations that occur
# are numbered: two for each cell of the log joint, within these limits. Room is made for fewer at first.
_FEWEST_CELLS, _MOST_CELLS, _FIRST_CELLS = 1 << 16, 1 << 22, 1 << 12

# A walk comes back to Python after tries that could look at so many cells of log joints: some hundredths of a second.
_WALKED_CELLS = 1 << 24


class SearchState:
    """The current graph of a search, and what is kept about it.

    Parameters
    ----------
    score : PredictiveScore
    table : Table

    Attributes
    ----------
    rows : FoldedRows
        The rows by the folds drawn last.
    criterion : Criterion
    graph : FlatGraph
        The current graph; nothing else here has a copy of it.
    joint : Joint
        Its log joint.
    gain, penalty : float
        The two parts of its score.
    scratch : Scratch
        Has the log parameters of its families, as far as they are known.
    is_tidy : bool
        Whether rows are in the order of their gaps.
    """

    graph: FlatGraph
    joint: Joint
    gain: float
    penalty: float

    def __init__(self, score: PredictiveScore, table: Table) -> None:
        self.score = score
        self.table = table
        self._address: int = compile_gain(type(score).gain).address
        self._costs: dict[tuple[int, tuple[int, ...]], float] = {}

    @property
    def value(self) -> float:
        """The score of the current graph."""
        return self.gain - self.penalty

    def draw(self, random: np.random.RandomState | None) -> None:
        """Draw the folds, and arrange the rows by them; the log joint is then to be made anew."""
        folds = self.score.folds(self.table, random)
        self.rows = arrange(self.table, folds, self.score.alpha, self.score.floor)
        self.criterion = _criterion(self.score, self.table, self.rows, self._address)
        cells = min(max(_FEWEST_CELLS, 2 * self.rows.n_tested * self.rows.n_classes), _MOST_CELLS)
        width = (self.rows.n_folds + 1) * self.rows.n_classes
        self._widest = max(1, cells // width)
        self.scratch = make_scratch(self.rows, min(self._widest, 1 + _FIRST_CELLS // width))

    def start(self, parents: Sequence[Iterable[int]]) -> None:
        """Make a graph the current one."""
        self.graph = FlatGraph.of([tuple(sorted(own)) for own in parents])
        self.penalty = self._sum_costs()
        self._n_moves = 0
        self.rebuild()

    def rebuild(self) -> None:
        """Make the log joint of the current graph anew, term by term."""
        gapped = not (np.isnan(self.criterion.high_gap) and np.isnan(self.criterion.low_gap))
        self.joint = no_joint(self.rows, gapped)
        target = self.table.target_index
        own = {v: self.graph.parents_of(v) for v in range(len(self.table.names))}
        families = [{v: own[v]} for v in own if v == target or target in own[v]]
        graph, self.graph = self.graph, FlatGraph.without_families(len(own))
        without_gaps = self.joint._replace(gap=np.empty(0))
        for family in families:
            self._go(family, MOVED, self.joint if family is families[-1] else without_gaps)
        self.graph = graph
        self.scratch.known[:] = False
        self.tidy()
        self.gain = self._measure()

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
        again = self._n_moves % _REFRESH == 0
        changed = not again and self._go(changes, MADE if made else MOVED, self.joint)
        for v, own in changes.items():
            self.graph = self.graph.replace(v, own)
            self.scratch.known[v] = False
        self.penalty = self._sum_costs()
        if again:
            self.rebuild()
        elif changed:
            self.is_tidy = False
            self.gain = self._measure() if gain is None else gain

    def walk(self, walk: Walk) -> int:
        """Go on with a walk by some tries; return how many candidates could change a gain.

        Candidates that the scratch has no room for, and moves after which the log joint is made anew, are made here.
        """
        self.graph = _room_in(self.graph, walk.k)
        batch, steps = walk.room(), walk.begin(self.gain, _WALKED_CELLS // self.joint.values.size)
        candidates = Candidates(batch.starts, batch.nodes, batch.bounds, batch.parents)
        numbers, n_before, n_scored = steps.numbers, self._n_moves, 0
        numbers[GO_ON], stop = go_on_address(), 0
        while True:
            numbers[UNTIL_MOVES] = (self._n_moves // _REFRESH + 1) * _REFRESH - n_before
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
        if not self.score.penalized:
            return self.penalty
        return self.penalty + sum(
            self._cost(v, tuple(sorted(own))) - self._cost(v, self.graph.parents_of(v)) for v, own in changes.items()
        )

    def batch(self, candidates: Sequence[Changes], at_least: FloatArray, asked: int = PASSED_OVER) -> Batch:
        """Return candidates as they are scored together."""
        n, flat = len(candidates), Candidates.of(candidates)
        penalties = np.full(n, self.penalty)
        if self.score.penalized and asked == PASSED_OVER:
            penalties[:] = [self.penalty_after(changes) for changes in candidates]
        scores = self.gain - penalties if asked == PASSED_OVER else np.zeros(n)
        arrays = flat.starts, flat.nodes, flat.bounds, flat.parents
        return Batch(*arrays, penalties, at_least, scores, np.full(n, asked, dtype=np.uint8))

    def score_batch(
        self, batch: Batch, first: int, stop: int, in_turn: bool, scratch: Scratch, steps: Steps = NO_STEPS
    ) -> int:
        """Score the candidates first:stop, but those that are too wide; return how many change a gain."""
        arrays = self.rows, self.joint, self.criterion, self.graph, batch
        return int(score_candidates(*arrays, first, stop, in_turn, scratch, steps))

    def score_wide(self, batch: Batch, changes: Changes, i: int, scratch: Scratch, asked: int = PASSED_OVER) -> Scratch:
        """Score candidate i, for which a scratch had no room; return the one that it was scored in.

        That has more room. Where it would have to be too much, it holds the configurations of this candidate alone.
        """
        size = _wide.n_configurations(self.rows, self.graph, changes)
        if size <= self._widest:
            wider = with_room(scratch, self.rows, min(self._widest, max(size, 2 * scratch.limit)))
            if scratch is self.scratch:
                self.scratch = wider
        else:
            wider = _wide.place(self.rows, self.graph, changes, scratch)
        batch.status[i] = asked
        self.score_batch(batch, i, i + 1, False, wider)
        return wider

    def checked(self, score: float) -> float:
        """Return a score, or a sum of scores, if it is a number; see :func:`checked`."""
        return checked(self.score, score)

    def _measure(self) -> float:
        """Sum the gain over the log joint as it is."""
        batch = self.batch([{}], np.full(1, -np.inf), MEASURED)
        batch.penalties[0] = 0.0
        self.score_batch(batch, 0, 1, False, self.scratch)
        return self.checked(float(batch.scores[0]))

    def _go(self, changes: Changes, asked: int, joint: Joint) -> bool:
        """Make changes to a log joint; return whether there were any."""
        # The table that is there says it all.
        batch = self.batch([{} if asked == MADE else changes], np.zeros(1), asked)
        arrays = self.rows, joint, self.criterion, self.graph, batch
        changed = score_candidates(*arrays, 0, 1, False, self.scratch, NO_STEPS)
        if batch.status[0] == TOO_WIDE:
            self.score_wide(batch, changes, 0, self.scratch, asked)
        return bool(changed)

    def _sum_costs(self) -> float:
        variables = range(len(self.table.names)) if self.score.penalized else ()
        return fsum(self._cost(v, self.graph.parents_of(v)) for v in variables)

    def _cost(self, node: int, parents: tuple[int, ...]) -> float:
        """Return the penalty of a family; each is asked for once."""
        family = (node, parents)
        if family not in self._costs:
            self._costs[family] = float(self.score.penalty(self.table, node, parents))
        return self._costs[family]


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


def _criterion(score: PredictiveScore, table: Table, rows: FoldedRows, address: int) -> Criterion:
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
    )
