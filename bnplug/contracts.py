"""The base classes that plugins implement.

Constructors only store their parameters; data comes to ``learn``, ``score`` and ``fit``. What a
learner finds out on the way it leaves in attributes that end with an underscore.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from bnplug.arrays import FloatArray
from bnplug.hooks.components import Composite

if TYPE_CHECKING:
    from bnplug.data.table import Table
    from bnplug.model.log_tables import LogTables
    from bnplug.typing import DAG

#: New parents of some variables, as numbers: one move of a search.
Changes = Mapping[int, Sequence[int]]


class StructureLearner(Composite, ABC):
    """Learns a DAG. If it searches with a score, that is its constructor parameter ``score``.

    Examples
    --------
    >>> class Independent(StructureLearner):
    ...     def learn(self, table):
    ...         return table.dag([[] for name in table.names])
    """

    @abstractmethod
    def learn(self, table: Table) -> DAG:
        """Return a DAG whose nodes are ``table.names``; ``table.dag(parents)`` makes one from numbers."""


class ParameterLearner(Composite, ABC):
    """Learns the parameters of a given DAG."""

    @abstractmethod
    def fit(self, table: Table, dag: DAG) -> LogTables:
        """Return log parameters for every node of `dag`, whose structure stays as it is."""


class ScoreFunction(Composite, ABC):
    """Says how good a DAG is for a table; higher is better.

    :meth:`score` is enough. A score that can tell a small change faster overrides :meth:`evaluator`.
    """

    @abstractmethod
    def score(self, table: Table, dag: DAG) -> float:
        """Return the score of `dag` on `table`."""

    def evaluator(self, table: Table, n_jobs: int | None = 1) -> Evaluator:
        """Return what a search talks to; this one calls :meth:`score` for each candidate."""
        return ScoringEvaluator(self, table)


class Evaluator(ABC):
    """Scores the neighbours of a current graph. Variables are numbers: positions in ``table.names``.

    Attributes
    ----------
    value : float
        The score of the current graph.
    n_evaluations : int
        How many candidates were scored.
    decomposable : bool
        Whether the score is a sum of terms, one per family: a change then gains the same whatever
        the other families are, and a search need not ask again.
    """

    value: float
    n_evaluations: int = 0
    decomposable: bool = False

    @abstractmethod
    def start(self, parents: Sequence[Iterable[int]]) -> float:
        """Make the graph in which ``parents[v]`` are the parents of v the current one; return its score."""

    def step(self) -> float:
        """Begin a step of a search, and return the current graph's score for it."""
        return self.value

    @abstractmethod
    def propose(self, changes: Changes) -> float:
        """Return the score if each v in `changes` had the parents ``changes[v]``; changes nothing."""

    def propose_many(self, candidates: Sequence[Changes], at_least: float | None = None) -> FloatArray:
        """Return the score of every candidate; one strictly below `at_least` may get ``-inf``."""
        return np.array([self.propose(changes) for changes in candidates], dtype=np.float64)

    def propose_in_turn(self, candidates: Sequence[Changes], bars: FloatArray) -> FloatArray:
        """Return the scores of candidates up to the first that reaches its bar; one below its bar may get ``-inf``."""
        scores = np.asarray(self.propose_many(candidates, at_least=float(np.min(bars, initial=np.inf))))
        reached = np.flatnonzero(scores >= bars)
        return scores[: reached[0] + 1] if len(reached) else scores

    @abstractmethod
    def commit(self, changes: Changes) -> float:
        """Make `changes` to the current graph; return its new score."""


class ScoringEvaluator(Evaluator):
    """The evaluator of any score: each candidate becomes a DAG and is scored whole."""

    def __init__(self, function: ScoreFunction, table: Table) -> None:
        self.function = function
        self.table = table

    def start(self, parents: Sequence[Iterable[int]]) -> float:
        """Score the given graph and keep it."""
        self.parents = [sorted(own) for own in parents]
        self.value = self._score(self.parents)
        return self.value

    def propose(self, changes: Changes) -> float:
        """Score the current graph with `changes`."""
        return self._score(self._changed(changes))

    def propose_in_turn(self, candidates: Sequence[Changes], bars: FloatArray) -> FloatArray:
        """Score the candidates one by one, so that none is scored in vain."""
        scores: list[float] = []
        for changes, bar in zip(candidates, bars, strict=True):
            scores.append(self.propose(changes))
            if scores[-1] >= bar:
                break
        return np.array(scores, dtype=np.float64)

    def commit(self, changes: Changes) -> float:
        """Score the current graph with `changes` and keep it."""
        return self.start(self._changed(changes))

    def _changed(self, changes: Changes) -> list[list[int]]:
        return [sorted(changes.get(v, own)) for v, own in enumerate(self.parents)]

    def _score(self, parents: list[list[int]]) -> float:
        self.n_evaluations += 1
        return float(self.function.score(self.table, self.table.dag(parents)))
