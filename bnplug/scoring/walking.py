"""A random walk over structures, of which an evaluator makes many tries in one compiled call."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numba import config

from bnplug.arrays import IntArray
from bnplug.scoring import _walks
from bnplug.scoring._bundles import Batch
from bnplug.scoring._candidates import FlatGraph
from bnplug.scoring._drawing import addresses, layers
from bnplug.scoring._walks import Steps


class Accepted(NamedTuple):
    """A change that a walk made.

    Attributes
    ----------
    tries : int
        How many tries the walk had made by then, this one included.
    child : int
        The feature that got other parents.
    parents : list of int
        Its parents now, ascending.
    value : float
        The score now.
    better : bool
        Whether the score rose by more than a tie.
    """

    tries: int
    child: int
    parents: list[int]
    value: float
    better: bool


class Walk:
    """Where a random walk over structures is, and how it goes on: what :meth:`bnplug.Evaluator.walk` takes.

    In these structures the class is a parent of every feature, which has up to `k` features as parents beside it. A
    try draws a feature and a new feature parent for it, again while the pair is joined already or would close a cycle;
    the parent is added while there are fewer than `k`, else it takes the place of one of them, which is drawn. If the
    score changes by d, the try is accepted where ``d > -tie`` or, as often as not, with probability
    ``exp(d / scale)``.

    Candidates are drawn in batches of ``(tries + 1) // (successes + 1)``, at most `max_batch`: about one of them is
    accepted, and those after it were drawn in vain. First all candidates of a batch are drawn by ``generator.random``,
    and then, by ``generator.standard_exponential``, what each must score.

    Parameters
    ----------
    parents : sequence of iterables of int
        The parents of every variable in the evaluator's current graph.
    target : int
        The class.
    generator : numpy.random.Generator
        Is left where the walk ends.
    scale : float
        By about how much the score may fall.
    k : int
        The largest number of feature parents.
    max_try, max_success : int
        The walk ends after so many tries, or accepted ones.
    tries, successes : int
        How many of both there were before.
    tie : float
        Scores tie that differ by less than this, times their size where that is above 1.
    max_batch : int
        The most candidates that are drawn at once.
    pairs : sequence of (int, int), optional
        The pairs of a feature and a new parent that may be drawn; by default all.
    required : sequence of iterables of int, optional
        For every variable the parents that it must keep.

    Attributes
    ----------
    tries : int
        How many tries there were.
    changed : bool
        Whether a score was met that does not tie with the one before.
    accepted : list of Accepted
        What the walk has done since it was made.

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
    >>> evaluator.walk(walk)
    True
    >>> walk.tries, walk.accepted
    (1, [Accepted(tries=1, child=1, parents=[0, 2], value=-5.54..., better=True)])
    """

    def __init__(
        self,
        parents: Sequence[Iterable[int]],
        target: int,
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
        self.parents = [tuple(sorted(own)) for own in parents]
        self.target = int(target)
        self.generator = generator
        self.k = int(k)
        self.changed = False
        self.accepted: list[Accepted] = []
        self._numbers = np.zeros(_walks.N_NUMBERS, dtype=np.int64)
        self._reals = np.array([0.0, scale, tie, np.nan])
        for place, number in (
            (_walks.TRIES, tries), (_walks.SUCCESSES, successes), (_walks.MAX_TRY, max_try), (_walks.K, k),
            (_walks.MAX_SUCCESS, max_success), (_walks.MAX_BATCH, max_batch), (_walks.TARGET, target),
        ):  # fmt: skip
            self._numbers[place] = number
        self._pairs = np.array(() if pairs is None else pairs, dtype=np.int64).reshape(-1, 2)
        self._required = np.zeros((0, 0) if required is None else (len(self.parents),) * 2, dtype=np.bool_)
        for v, own in enumerate(required or ()):
            self._required[v, list(own)] = True

    @property
    def tries(self) -> int:
        """How many tries there were."""
        return int(self._numbers[_walks.TRIES])

    @property
    def batch_size(self) -> int:
        """How many candidates are drawn next."""
        numbers = self._numbers
        left = numbers[_walks.MAX_TRY] - numbers[_walks.TRIES]
        about_one = (numbers[_walks.TRIES] + 1) // (numbers[_walks.SUCCESSES] + 1)
        return int(max(0, min(numbers[_walks.MAX_BATCH], left, about_one)))

    def begin(self, value: float, n_tries: int) -> Steps:
        """Return the walk as arrays, from the score of the current graph on, for `n_tries` and the rest of a batch."""
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
            paths=np.zeros((2, n), dtype=np.int64),
            accepted=np.empty((n_tries, _walks.OWN + self.k + 1), dtype=np.int64),
            values=np.empty(n_tries),
            layers=layers(),
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
            status=np.zeros(n, dtype=np.uint8),
            counts=np.empty(0, dtype=np.int64),
            places=np.empty(0, dtype=np.int64),
        )

    def end(self, steps: Steps) -> None:
        """Keep what compiled code has done."""
        self.changed |= bool(self._numbers[_walks.CHANGED])
        n = int(self._numbers[_walks.N_ACCEPTED])
        for row, value in zip(steps.accepted[:n].tolist(), steps.values[:n].tolist(), strict=True):
            tries, child, better, n_own = row[: _walks.OWN]
            own = row[_walks.OWN : _walks.OWN + n_own]
            self.accepted.append(Accepted(tries, child, own, value, bool(better)))
            self.parents[child] = tuple(own)


def _room_in(graph: FlatGraph, k: int) -> FlatGraph:
    """Return a graph with room for the class and k feature parents of every variable."""
    lacking = k + 1 - graph.parents.shape[1]
    return graph if lacking <= 0 else graph._replace(parents=np.pad(graph.parents, ((0, 0), (0, lacking))))


def _can_be_compiled() -> bool:
    """Say whether walks can be: where nothing is compiled, nothing calls numpy's generators by address."""
    return not config.DISABLE_JIT
