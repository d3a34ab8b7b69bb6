"""Random walks over structures: many tries in one compiled call, or by proposals to any evaluator."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from bnplug.contracts import Changes, Evaluator, Walks, propose_in_turn
from bnplug.errors import ContractError
from bnplug.scoring import _walks
from bnplug.scoring._bundles import Batch
from bnplug.scoring._layout import Candidates, FlatGraph
from bnplug.scoring._walks import LAYERS, Steps, addresses
from bnplug.typing import IntArray

# A walk by proposals goes on for so many tries or seconds, and the rest of a batch.
_PROPOSED, _SECONDS = 1 << 10, 0.02


class Accepted(NamedTuple):
    """A change that a walk accepted.

    Attributes
    ----------
    tries : int
        The number of tries so far, including this one.
    child : int
        The feature whose parents changed.
    parents : list of int
        Its new parents, ascending.
    value : float
        The new score.
    better : bool
        Whether the score rose by more than a tie.
    """

    tries: int
    child: int
    parents: list[int]
    value: float
    better: bool


class Walk:
    """A random walk over structures: its state, and how it continues.

    With a class, it is a parent of every feature, and each feature has up to `k` features as further parents. A try
    draws a feature and a new feature parent, again if the pair is joined already or would close a cycle. The parent is
    added if there are fewer than `k`; otherwise it replaces one of them, drawn at random. If the score changes by d,
    the try is accepted if ``d > -tie`` or else with probability ``exp(d / scale)``.

    Without a class (``target=None``), the walk is over all acyclic graphs with up to `k` parents of each variable. A
    try draws a variable and another one, which stops being its parent if it is one, and otherwise becomes one. A try
    that would close a cycle, delete a required parent or add one to `k` others counts, but is rejected. Each pair is
    drawn with the same probability in both directions of a change, so with ``scale=1`` this is a Metropolis sampler:
    in the long run, the walk spends a share of its tries at each graph that is proportional to ``exp(score)``.

    Candidates are drawn in batches of ``(tries + 1) // (successes + 1)``, at most `max_batch`: about one of them is
    accepted, and those after it are discarded. ``generator.random`` draws all candidates of a batch, and then
    ``generator.standard_exponential`` the score that each must reach.

    :meth:`run` continues the walk by any evaluator. A :class:`~bnplug.contracts.Walks` evaluator makes many tries
    in one compiled call; the results are the same to the last bit.

    Parameters
    ----------
    parents : sequence of iterables of int
        The parents of every variable in the evaluator's current graph.
    target : int or None
        The class. None: a walk over all acyclic graphs.
    generator : numpy.random.Generator
    scale : float
        About how far the score may fall.
    k : int
        The largest number of feature parents; without a class, of parents.
    max_try, max_success : int
        The walk ends after so many tries, or accepted tries.
    tries, successes : int
        The numbers of both at the start.
    tie : float
        Scores tie if they differ by less than this, times their size if it is above 1.
    max_batch : int
        The largest number of candidates that are drawn at once.
    pairs : sequence of (int, int), optional
        The pairs of a feature and a new parent that may be drawn; by default all.
    required : sequence of iterables of int, optional
        For every variable, the parents that it must keep.

    Attributes
    ----------
    tries : int
        The number of tries so far.
    changed : bool
        Whether some try led to a score that does not tie with the current one.
    stuck : bool
        Whether no candidate was legal when the walk stopped.
    accepted : list of Accepted
        The accepted changes.

    Examples
    --------
    >>> import pandas as pd
    >>> from bnplug import Table, score_function
    >>> columns = {"x": [0, 0, 1, 1], "z": [0, 1, 0, 1], "c": ["n", "y", "y", "n"]}
    >>> table = Table.from_frame(pd.DataFrame(columns), "c")
    >>> evaluator = score_function("ll").evaluator(table)
    >>> parents = [[2], [2], []]
    >>> evaluator.start(parents)
    -8.31...
    >>> walk = Walk(parents, 2, np.random.default_rng(0), scale=1.0, max_try=10, max_success=5)
    >>> walk.run(evaluator)
    >>> walk.tries, walk.accepted
    (1, [Accepted(tries=1, child=1, parents=[0, 2], value=-5.54..., better=True)])
    """

    def __init__(
        self,
        parents: Sequence[Iterable[int]],
        target: int | None,
        generator: np.random.Generator,
        *,
        scale: float,
        max_try: int,
        max_success: int,
        k: int = 1,
        tries: int = 0,
        successes: int = 0,
        tie: float = 1e-12,
        max_batch: int = 64,
        pairs: Sequence[tuple[int, int]] | IntArray | None = None,
        required: Sequence[Iterable[int]] | None = None,
    ) -> None:
        if pairs is not None and not len(pairs):
            raise ValueError("pairs must have one at least: there is nothing to draw from an empty list")
        self.parents = [tuple(sorted(family)) for family in parents]
        # Without a class, an additional position takes its place: no variable is equal to it.
        self.target = len(self.parents) if target is None else int(target)
        # Compiled code does not check its indices.
        if any(len({*family} - {self.target}) > k for family in self.parents):
            raise ValueError(f"the walk starts at a variable with more than k={k} feature parents; use a larger k")
        self.generator = generator
        self.k = int(k)
        self.changed = False
        self.accepted: list[Accepted] = []
        self._numbers = np.zeros(_walks.N_NUMBERS, dtype=np.int64)
        self._reals = np.array([0.0, scale, tie, np.nan])
        for place, number in (
            (_walks.TRIES, tries), (_walks.SUCCESSES, successes), (_walks.MAX_TRY, max_try), (_walks.K, k),
            (_walks.MAX_SUCCESS, max_success), (_walks.MAX_BATCH, max_batch), (_walks.TARGET, self.target),
        ):  # fmt: skip
            self._numbers[place] = number
        self._pairs = np.array(() if pairs is None else pairs, dtype=np.int64).reshape(-1, 2)
        self._required = np.zeros((0, 0) if required is None else (len(self.parents),) * 2, dtype=np.bool_)
        for v, kept in enumerate(required or ()):
            self._required[v, list(kept)] = True

    @property
    def tries(self) -> int:
        """The number of tries so far."""
        return int(self._numbers[_walks.TRIES])

    @property
    def stuck(self) -> bool:
        """Whether no candidate was legal when the walk stopped."""
        return bool(self._numbers[_walks.STUCK])

    def run(self, evaluator: Evaluator, value: float | None = None) -> None:
        """Continue for some hundredths of a second or one batch of candidates, whichever is more.

        The current graph of the evaluator is that of the walk, with the score `value`, by default ``evaluator.value``.
        """
        if isinstance(evaluator, Walks) and evaluator.walk(self):
            return
        value = evaluator.value if value is None else value
        graph, batch, steps = self.graph(), self.room(), self.begin(value, _PROPOSED)
        candidates, numbers = Candidates(batch.starts, batch.nodes, batch.bounds, batch.parents), steps.numbers
        numbers[_walks.GO_ON], numbers[_walks.LEAPS], last = _walks.go_on_address(), 0, np.array([0, -1])
        end = time.monotonic() + _SECONDS
        try:
            _walks.advance_once(steps, graph, batch, last)
            while numbers[_walks.PHASE] != _walks.DRAWING:
                if numbers[_walks.PHASE] == _walks.TRYING:  # a new batch
                    drawn = list(candidates[: int(numbers[_walks.STOP])])
                    scores = propose_in_turn(evaluator, drawn, batch.at_least[: len(drawn)].copy())
                    batch.scores[: len(scores)], last[0] = scores, len(scores) - 1
                    for i in np.flatnonzero(np.isnan(scores)).tolist():
                        raise ContractError(f"the score of the parents {drawn[i]} is nan")
                    if time.monotonic() >= end:
                        numbers[_walks.UNTIL] = 0
                else:
                    batch.scores[last[0]] = evaluator.commit(drawn[last[0]])
                _walks.advance_once(steps, graph, batch, last)
        finally:
            self.end(steps)

    def draw(self, n: int) -> list[Changes]:
        """Return n candidates as the next tries would draw them; none if no candidate is legal."""
        graph, batch, steps = self.graph(), self.room(), self.begin(0.0, 1)
        candidates, drawn = Candidates(batch.starts, batch.nodes, batch.bounds, batch.parents), list[Changes]()
        while len(drawn) < n:
            size = int(_walks.draw_batch(steps, graph, batch, min(n - len(drawn), len(batch.nodes))))
            if size == 0:
                return []
            drawn += candidates[:size]
        return drawn

    def graph(self) -> FlatGraph:
        """Return the current graph, with room for `k` feature parents."""
        return FlatGraph.of(self.parents).with_room(self.k + 1)

    @property
    def batch_size(self) -> int:
        """The number of candidates that are drawn next."""
        numbers = self._numbers
        left = numbers[_walks.MAX_TRY] - numbers[_walks.TRIES]
        about_one = (numbers[_walks.TRIES] + 1) // (numbers[_walks.SUCCESSES] + 1)
        return int(max(0, min(numbers[_walks.MAX_BATCH], left, about_one)))

    def begin(self, value: float, n_tries: int) -> Steps:
        """Return the walk as arrays, given the score of the current graph, for `n_tries` and the rest of a batch."""
        numbers, n = self._numbers, len(self.parents)
        n_tries = max(1, min(n_tries, int(numbers[_walks.MAX_TRY] - numbers[_walks.TRIES])))
        numbers[_walks.UNTIL] = numbers[_walks.TRIES] + n_tries
        numbers[_walks.UNTIL_MOVES] = np.iinfo(np.int64).max
        numbers[_walks.N_ACCEPTED] = numbers[_walks.SEARCHES] = 0
        where = addresses(self.generator)
        numbers[_walks.NEXT_DOUBLE], numbers[_walks.NEXT_UINT64], numbers[_walks.GENERATOR] = where
        self._reals[_walks.VALUE] = value
        return Steps(
            numbers=numbers,
            reals=self._reals,
            features=np.array([v for v in range(n) if v != self.target], dtype=np.int64),
            pairs=self._pairs,
            required=self._required,
            paths=np.zeros((2, n + 1), dtype=np.int64),
            accepted=np.empty((n_tries, _walks.PARENTS + self.k + 1), dtype=np.int64),
            values=np.empty(n_tries),
            layers=LAYERS,
        )

    def room(self) -> Batch:
        """Return arrays for the candidates of a batch, each of which changes one variable."""
        n = int(self._numbers[_walks.MAX_BATCH])
        return Batch(
            starts=np.arange(n + 1),
            nodes=np.zeros(n, dtype=np.int64),
            bounds=np.zeros(n + 1, dtype=np.int64),
            parents=np.zeros(n * (self.k + 1), dtype=np.int64),
            penalties=np.zeros(n),
            at_least=np.zeros(n),
            scores=np.zeros(n),
            tasks=np.zeros(n, dtype=np.uint8),
            status=np.zeros(n, dtype=np.uint8),
            counts=np.empty(0, dtype=np.int64),
            places=np.empty(0, dtype=np.int64),
        )

    def end(self, steps: Steps) -> None:
        """Record the changes that compiled code accepted."""
        self.changed |= bool(self._numbers[_walks.CHANGED])
        n = int(self._numbers[_walks.N_ACCEPTED])
        for row, value in zip(steps.accepted[:n].tolist(), steps.values[:n].tolist(), strict=True):
            tries, child, better, n_parents = row[: _walks.PARENTS]
            parents = row[_walks.PARENTS : _walks.PARENTS + n_parents]
            self.accepted.append(Accepted(tries, child, parents, value, bool(better)))
            self.parents[child] = tuple(parents)
