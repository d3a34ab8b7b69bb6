"""One chain of simulated annealing: Algorithm 1 of Pernkopf and Wohlmayr (2013), with any evaluator.

Between two temperatures a chain is nothing but its `State`: every temperature has a new evaluator, whose sums and
caches do not depend on the past. A chain whose state was read from a file therefore continues exactly as one that was
never stopped.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from math import log
from typing import Any, NamedTuple, Self

import numpy as np

from bnplug.contracts import Evaluator, Resamples, begin_step
from bnplug.errors import ContractError
from bnplug.scoring import Walk
from bnplug.search import Constraints, Progress, score_tie

# The largest number of candidates that are scored at once; the clock is checked between two batches.
_BATCH = 64

# Without r, a decrease as large as the mean of the first changes is accepted with this probability at T = 1.
_ACCEPTED = 0.8


class Rules(NamedTuple):
    """Constraints on the edges between features, as a walk takes them.

    Attributes
    ----------
    pairs : list of (int, int)
        Each feature with each feature that it may get as a new parent.
    required : list of lists of int
        The parents that every variable must keep.
    """

    pairs: list[tuple[int, int]]
    required: list[list[int]]

    @classmethod
    def of(cls, constraints: Constraints, k: int) -> Self | None:
        """Return the rules of a walk on a table, None if everything is allowed."""
        if constraints.free:
            return None
        table = constraints.table
        required = [constraints.required_parents(v) for v in range(len(table.names))]
        loose = [v for v in table.features if len(set(required[v]) - {table.target_index}) < k]
        return cls([(v, u) for v in loose for u in constraints.allowed_parents(v, table.features)], required)


@dataclass(frozen=True)
class Schedule:
    """How a chain is cooled, and when it ends; the names are those of the learner's parameters."""

    D: float
    r: float | None
    max_try: int
    max_success: int
    max_rejections: int
    max_evaluations: int | None = None
    max_temperatures: int | None = None


@dataclass
class State:
    """Where a chain is.

    Attributes
    ----------
    random : dict
        The state of the random generator before the temperature to come.
    draws : dict, optional
        Likewise of the generator from which a score draws its rows anew; None where none does, or it is not known.
    parents, best : list of list of int
        The current structure, and the best one so far.
    best_value : float
        The best one's score.
    r, temperature : float
        The scale of changes, and the temperature to come.
    rejections, n_evaluations : int
        Candidates rejected since the last improvement, and tried in all.
    finished : bool
        Whether the chain has come to its end.
    trace, evaluations : lists of float and int
        The score of the start and after each change, and how many candidates had been tried by then.
    temperatures : list of float
        The temperatures so far.
    """

    random: dict[str, Any]
    parents: list[list[int]]
    best: list[list[int]]
    best_value: float = -np.inf
    r: float = 1.0
    temperature: float = 1.0
    rejections: int = 0
    n_evaluations: int = 0
    finished: bool = False
    trace: list[float] = field(default_factory=list)
    evaluations: list[int] = field(default_factory=list)
    temperatures: list[float] = field(default_factory=list)
    draws: dict[str, Any] | None = None

    @classmethod
    def at(cls, parents: list[list[int]], seed: np.random.SeedSequence) -> State:
        """Return the state of a chain that is to start at a structure."""
        return cls(dict(np.random.PCG64(seed).state), parents, parents)

    def visited(self) -> tuple[list[float], list[int]]:
        """Return `trace` and `evaluations`: an interrupt may have come when only the first was longer by one."""
        return self.trace[: len(self.evaluations)], list(self.evaluations)

    def copy(self) -> State:
        """Return a state that a chain can change while this one stays."""
        return replace(
            self,
            parents=list(self.parents),
            trace=list(self.trace),
            evaluations=list(self.evaluations),
            temperatures=list(self.temperatures),
        )


class Chain:
    """Runs a chain from a state on.

    Parameters
    ----------
    state : State
        Where it begins.
    schedule : Schedule
    target : int
        The class.
    k : int
        The largest number of feature parents.
    label : str
        What messages call it.
    verbose : int, optional
        See :class:`~bnplug.search.Progress`.
    rules : Rules, optional
        What is known of the edges.

    Attributes
    ----------
    saved : State
        As it was after the last whole temperature.
    state : State
        As it is, in the middle of a temperature, too.
    interrupted : bool
        Set by another thread to end the walk.
    out_of_time : bool
        Whether the walk ended because its time was up.
    at_work : bool
        Whether a thread walks, or keeps what it found.
    """

    def __init__(
        self,
        state: State,
        schedule: Schedule,
        target: int,
        k: int = 1,
        label: str = "sa",
        verbose: int | None = None,
        rules: Rules | None = None,
    ) -> None:
        self.saved = self.state = state
        self.schedule = schedule
        self.target = target
        self.k = k
        self.label = label
        self.verbose = verbose
        self.rules = rules
        self.interrupted = self.out_of_time = self.at_work = False

    def run(self, make_evaluator: Callable[[], Evaluator], deadline: float | None = None) -> Iterator[State]:
        """Walk until the chain ends; yield its state after every temperature.

        Parameters
        ----------
        make_evaluator : function
            Returns a new one.
        deadline : float, optional
            The time, in seconds since the epoch, at which the walk ends.
        """
        walk = _Walk(self, make_evaluator, deadline)
        while not self.saved.finished and walk.cool():
            self.saved = self.state
            yield self.saved


class _Walk:
    """The walk of a chain over structures, temperature by temperature."""

    def __init__(self, chain: Chain, make_evaluator: Callable[[], Evaluator], deadline: float | None) -> None:
        self.chain = chain
        self.schedule = chain.schedule
        self.make_evaluator = make_evaluator
        self.deadline = deadline
        self.progress = Progress(chain.label, chain.verbose)

    def cool(self) -> bool:
        """Walk through one temperature, from the chain's saved state; return whether it was a whole one."""
        state = self.state = self.chain.state = self.chain.saved.copy()
        self.rng = np.random.Generator(np.random.PCG64())
        self.rng.bit_generator.state = state.random
        # Without a pair to draw, there is nothing to walk over.
        self.stuck = self.chain.rules is not None and not self.chain.rules.pairs
        self.evaluator = self.make_evaluator()
        self.evaluator.start(state.parents)
        self._go_on_drawing()
        self.value = begin_step(self.evaluator)
        self.tries = self.successes = 0
        self.changed = False
        if not state.trace:
            self._record()
            state.r = self._scale() if self.schedule.r is None else self.schedule.r
        while not self.stuck and self.tries < self.schedule.max_try and self.successes < self.schedule.max_success:
            if self._stops():
                return False
            self._run_walk()
        state.temperatures.append(state.temperature)
        state.temperature *= self.schedule.D
        state.random = dict(self.rng.bit_generator.state)
        if isinstance(self.evaluator, Resamples) and self.evaluator.resamples and self.evaluator.random is not None:
            state.draws = _written(self.evaluator.random.get_state(legacy=False))
        too_many = state.rejections >= self.schedule.max_rejections
        frozen = len(state.temperatures) == self.schedule.max_temperatures
        # A score that no candidate changes would have every tie accepted for ever.
        state.finished = too_many or not self.changed or self.stuck or frozen
        return True

    def _go_on_drawing(self) -> None:
        """Continue the draws of the last temperature's evaluator: rows are drawn once per temperature."""
        if not isinstance(self.evaluator, Resamples):
            return
        if self.state.draws is not None and self.evaluator.random is not None:
            self.evaluator.random.set_state(self.state.draws)
            return
        # If the evaluator has no `random`, or the file does not hold its state, the steps are repeated.
        for _ in self.state.temperatures:
            self.evaluator.step()

    def _stops(self) -> bool:
        """Return whether the walk ends here: interrupted, out of time, or out of evaluations."""
        self.chain.out_of_time = self.deadline is not None and time.time() >= self.deadline
        return self.chain.interrupted or self.chain.out_of_time or self._left() == 0

    def _left(self) -> int:
        """Return how many candidates may still be tried at this temperature, and in all."""
        left = self.schedule.max_try - self.tries
        if self.schedule.max_evaluations is None:
            return left
        # A chain that resumes from its file may have tried more already.
        return max(0, min(left, self.schedule.max_evaluations - self.state.n_evaluations))

    def _walk(self) -> Walk:
        """Return the walk from here to the end of the temperature."""
        rules = self.chain.rules
        return Walk(
            self.state.parents,
            self.chain.target,
            self.rng,
            scale=self.state.r * self.state.temperature,
            max_try=self.tries + self._left(),
            max_success=self.schedule.max_success,
            k=self.chain.k,
            tries=self.tries,
            successes=self.successes,
            tie=score_tie(1.0),
            max_batch=_BATCH,
            pairs=None if rules is None else rules.pairs,
            required=None if rules is None else rules.required,
        )

    def _run_walk(self) -> None:
        """Make some tries, and record the accepted ones."""
        walk = self._walk()
        try:
            walk.run(self.evaluator, self.value)
        finally:
            self._record_walk(walk)

    def _record_walk(self, walk: Walk) -> None:
        self.changed |= walk.changed
        for made in walk.accepted:
            self._count(made.tries - self.tries - 1)
            self._count(1, rejected=False)
            self.value = made.value
            self._accept(made.child, made.parents, made.better)
        self._count(walk.tries - self.tries)
        self.stuck = walk.stuck
        self.progress.tick(len(self.state.trace) - 1, self.state.best_value, self.state.n_evaluations)

    def _count(self, tries: int, rejected: bool = True) -> None:
        self.tries += tries
        self.state.n_evaluations += tries
        self.state.rejections += tries if rejected else 0

    def _accept(self, child: int, parents: list[int], better: bool) -> None:
        """Record a change that the evaluator has made."""
        state = self.state
        state.parents[child] = parents
        self.successes += 1
        if better:
            state.rejections = 0
        self._record()

    def _record(self) -> None:
        """Record the current structure."""
        state = self.state
        # First of all: an interrupt may come between any two of these lines.
        if not state.trace or self.value > state.best_value + score_tie(state.best_value):
            state.best, state.best_value = list(state.parents), self.value
        state.trace.append(self.value)
        state.evaluations.append(state.n_evaluations)
        self.progress.tick(len(state.trace) - 1, state.best_value, state.n_evaluations)

    def _scale(self) -> float:
        """Return an r for a score whose changes are of unknown size, from the first candidates."""
        size = 0 if self.stuck else min(self.schedule.max_success, self._left())
        drawn = self._walk().draw(size) if size else []
        scores = np.asarray(self.evaluator.propose_many(drawn), dtype=np.float64)
        for i in np.flatnonzero(np.isnan(scores)).tolist():
            raise ContractError(f"{self.chain.label}: the score of the parents {dict(drawn[i])} is nan")
        self.state.n_evaluations += len(drawn)
        changes = np.abs(scores - self.value)
        changes = changes[np.isfinite(changes) & (changes > score_tie(self.value))]
        return float(changes.mean() / -log(_ACCEPTED)) if len(changes) else 1.0


def _written(state: Mapping[str, Any]) -> dict[str, Any]:
    """Return the state of a generator as JSON can have it."""
    inner = {name: np.asarray(value).tolist() for name, value in state["state"].items()}
    return {**state, "state": inner}
