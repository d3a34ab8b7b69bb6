"""Where a search by a predictive score is: the current graph, what its families cost, and its log joint.

A move to another graph adds what it changes to the log joint; after many moves the log joint is made anew.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from inspect import signature
from math import fsum
from typing import TYPE_CHECKING

import numpy as np

from bnplug.contracts import Changes
from bnplug.errors import ContractError
from bnplug.scoring._compiled_gains import compile_gain
from bnplug.scoring._deltas import (
    CandidateFamilies,
    FlatGraph,
    JointDelta,
    flatten_families,
    no_delta,
    wide_delta,
    with_replaced,
)
from bnplug.scoring._passes import (
    MADE,
    TO_MAKE,
    TOO_WIDE,
    Batch,
    Criterion,
    Joint,
    Scratch,
    apply_delta,
    delta_in,
    make_scratch,
    score_candidates,
)
from bnplug.scoring._rows import FoldedRows, arrange
from bnplug.scoring.gains import Bounds

if TYPE_CHECKING:
    from bnplug.data.table import Table
    from bnplug.scoring.predictive import PredictiveScore

# Sums that terms were added to and taken out of are made anew after this many moves. Each rounds by about 1e-13
# where log joints are in the hundreds, and ties are told within 1e-9.
_REFRESH = 1000

# How many cells [fold, configuration, class] a candidate's table may have before only the configurations
# that occur are numbered: two for each cell of the log joint, within these limits.
_FEWEST_CELLS, _MOST_CELLS = 1 << 16, 1 << 22


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
        self.scratch = make_scratch(self.rows, cells // ((self.rows.n_folds + 1) * self.rows.n_classes))
        self._still = no_delta(self.rows)

    def start(self, parents: Sequence[Iterable[int]]) -> None:
        """Make a graph the current one."""
        self.graph = FlatGraph.of([tuple(sorted(own)) for own in parents])
        self.penalty = self._sum_costs()
        self._n_moves = 0
        self.rebuild()

    def rebuild(self) -> None:
        """Make the log joint of the current graph anew, term by term."""
        self.scratch.known[:] = False
        shape = (self.rows.n_tested, self.rows.n_classes)
        gapped = not (np.isnan(self.criterion.high_gap) and np.isnan(self.criterion.low_gap))
        n_gaps = shape[0] if gapped else 0
        self.joint = Joint(
            values=np.zeros(shape),
            zeros=np.zeros((0, 0) if self.rows.finite else shape, dtype=np.int16),
            gap=np.empty(n_gaps),
            rival=np.empty(n_gaps, dtype=np.uint32),
            second_gap=np.empty(n_gaps),
        )
        target = self.table.target_index
        own = [(v, self.graph.parents_of(v)) for v in range(len(self.table.names))]
        families = flatten_families([[family] for family in own if family[0] == target or target in family[1]])
        for i in range(len(families.nodes)):
            apply_delta(self.rows, self.joint, self._delta(families, i), i == len(families.nodes) - 1)
        self.gain = self._measure()

    def move(self, changes: Mapping[int, tuple[int, ...]], size: int = 0, gain: float | None = None) -> None:
        """Give some variables other parents.

        Parameters
        ----------
        changes : mapping of int to ascending tuple of int
        size : int
            The number of configurations of the JointDelta of these changes, if that is in the scratch; else 0.
        gain : float, optional
            What the gain is then, if that is known.
        """
        delta = self.delta_in_scratch(size) if size else self._delta_of(changes)
        for v, own in changes.items():
            self.graph = self.graph.replace(v, own)
            self.scratch.known[v] = False
        self.penalty = self._sum_costs()
        self._n_moves += 1
        if self._n_moves % _REFRESH == 0:
            self.rebuild()
        elif delta is not None:
            apply_delta(self.rows, self.joint, delta, True)
            self.gain = self._measure() if gain is None else gain

    def families(self, candidates: Sequence[Changes]) -> CandidateFamilies:
        """Return the families that candidates take out and put in."""
        new = flatten_families([changes.items() for changes in candidates])
        return with_replaced(new, self.graph, self.table.target_index)

    def penalty_after(self, changes: Changes) -> float:
        """Return the penalty of the graph that changes lead to."""
        if not self.score.penalized:
            return self.penalty
        return self.penalty + sum(
            self._cost(v, tuple(sorted(own))) - self._cost(v, self.graph.parents_of(v)) for v, own in changes.items()
        )

    def delta_in_scratch(self, size: int) -> JointDelta:
        """Return the JointDelta of `size` configurations that is in the scratch, until the next one is made there."""
        delta: JointDelta = delta_in(self.scratch, self.rows.n_folds, size, self.rows.n_classes)
        return delta

    def score_batch(self, batch: Batch, first: int, stop: int, in_turn: bool, scratch: Scratch) -> int:
        """Score the candidates first:stop, but those that are too wide; return how many change a gain."""
        return int(score_candidates(self.rows, self.joint, self.criterion, batch, first, stop, in_turn, scratch))

    def score_made(self, delta: JointDelta, penalty: float, at_least: float, scratch: Scratch) -> float:
        """Return the score that a JointDelta leads to, or -inf if it is below `at_least`."""
        own = scratch._replace(
            configuration=delta.configuration,
            counts=delta.counts.ravel(),
            terms=delta.terms.ravel(),
            zeros=delta.zeros.ravel(),
            found=np.array([0, 0, delta.terms.shape[1]]),
        )
        batch = _asked(flatten_families([[]]), MADE)
        batch.penalties[0], batch.at_least[0] = penalty, at_least
        self.score_batch(batch, 0, 1, False, own)
        return float(batch.scores[0])

    def checked(self, score: float) -> float:
        """Return a score, or a sum of scores, if it is a number.

        Raises
        ------
        ContractError
            If it is nan, so that the gain of a row is.
        """
        if np.isnan(score):
            name = getattr(type(self.score).gain, "__qualname__", "?")
            raise ContractError(
                f"the gain {name!r} of {type(self.score).__name__} gave nan, or left a row of `out` unfilled, as it "
                "does where it raises an exception; set NUMBA_DISABLE_JIT=1 in the environment to see which"
            )
        return score

    def _measure(self) -> float:
        """Sum the gain over the log joint as it is."""
        return self.checked(self.score_made(self._still, 0.0, -np.inf, self.scratch))

    def _delta_of(self, changes: Changes) -> JointDelta | None:
        """Return what `changes` make of the log joint, None if nothing."""
        families = self.families([changes])
        return self._delta(families, 0) if families.starts[-1] else None

    def _delta(self, families: CandidateFamilies, candidate: int) -> JointDelta:
        batch = _asked(families, TO_MAKE)
        self.score_batch(batch, candidate, candidate + 1, False, self.scratch)
        if batch.status[candidate] == TOO_WIDE:
            return wide_delta(self.rows, families, candidate)
        return self.delta_in_scratch(int(self.scratch.found[2]))

    def _sum_costs(self) -> float:
        variables = range(len(self.table.names)) if self.score.penalized else ()
        return fsum(self._cost(v, self.graph.parents_of(v)) for v in variables)

    def _cost(self, node: int, parents: tuple[int, ...]) -> float:
        """Return the penalty of a family; each is asked for once."""
        family = (node, parents)
        if family not in self._costs:
            self._costs[family] = float(self.score.penalty(self.table, node, parents))
        return self._costs[family]


def _asked(families: CandidateFamilies, what: int) -> Batch:
    """Return a Batch of which something else is asked than to make and to score what its families change."""
    n = len(families.starts) - 1
    return Batch(families, np.zeros(n), np.zeros(n), np.zeros(n), np.full(n, what, dtype=np.uint8))


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
