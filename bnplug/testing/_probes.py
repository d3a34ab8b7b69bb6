"""Scores that the kit hands to structure learners, to see what becomes of them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, ClassVar
from zlib import crc32

import numpy as np

from bnplug.contracts import ScoreFunction
from bnplug.data.table import Table


class FewEdges(ScoreFunction):
    """A score as plain as there can be: the fewer edges, the better, down to one for each feature."""

    def score(self, table: Table, dag: Any) -> float:
        """Return how far the number of edges is from that of the features, negated."""
        return -float(abs(len(dag.edges) - len(table.features)))


class Taste(ScoreFunction):
    """A score that likes graphs for no reason: each has a number that was drawn for it.

    Parameters
    ----------
    taste : int
        Whose taste it is: another one likes other graphs.
    random_state, n_jobs, verbose
        What a learner hands down; nothing is made of them.
    """

    #: The ``random_state`` of whoever was asked, while `asked` is recording.
    _asked: ClassVar[list[Any] | None] = None

    def __init__(
        self, taste: int = 0, random_state: Any = None, n_jobs: int | None = None, verbose: Any = None
    ) -> None:
        self.taste = taste
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def score(self, table: Table, dag: Any) -> float:
        """Return the number of these edges, of the size that log-likelihoods have."""
        if Taste._asked is not None:
            Taste._asked.append(self.random_state)
        number = crc32(repr((self.taste, sorted(dag.edges))).encode())
        return -table.n_rows * float(np.random.RandomState(number).random_sample())

    @classmethod
    @contextmanager
    def asked(cls) -> Iterator[list[Any]]:
        """Give the list to which every score that is asked adds its ``random_state``."""
        cls._asked = []
        try:
            yield cls._asked
        finally:
            cls._asked = None
