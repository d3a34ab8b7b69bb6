"""Exact marginals: the log joint of every row with every class, whichever features the row misses.

The tables of a network are taken as one measure, their product, and what is missing is summed out of
it. For a network whose columns sum to one that measure is its joint distribution. Discriminative
parameters that are not normalised define a measure too, with the posterior they were fitted for on
complete rows; its marginals are what a missing feature then means, and no table is left out of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property

import numpy as np
import numpy.typing as npt

from bnplug.arrays import CodeArray, FloatArray
from bnplug.contracts import InferenceEngine, Marginals, Weigh
from bnplug.errors import ContractError
from bnplug.hooks import registry
from bnplug.inference._cliques import MAX_CLIQUE_SIZE
from bnplug.inference.complete import log_joint, terms
from bnplug.inference.elimination import Elimination
from bnplug.inference.expectation import Expectation, expected_counts
from bnplug.inference.queries import log_measure, query, split_evidence
from bnplug.model.log_tables import LogTables

__all__ = ["MAX_CLIQUE_SIZE", "Marginalizer", "check_marginals", "check_saved_limits"]


def check_marginals(compiled: object, engine: object) -> Marginals:
    """Return what an engine's ``compile`` gave; a `ContractError` that names the engine unless it is `Marginals`."""
    if not isinstance(compiled, Marginals):
        raise ContractError(f"{registry.origin(engine)}: compile must return bnplug.Marginals, not {compiled!r}")
    return compiled


def check_saved_limits(engine: InferenceEngine) -> None:
    """Raise a ``ValueError`` if a parameter of an engine exceeds the limit for model folders."""
    for name, limit in engine.saved_limits.items():
        value = getattr(engine, name)
        if value is not None and value > limit:
            raise ValueError(
                f"{name} of {registry.origin(engine)} exceeds {limit:,}, the largest value that a model folder may "
                f"contain: {value:,}"
            )


class Marginalizer(Marginals):
    """Log joints of rows with any pattern of missing features.

    Each row is instantiated with what is observed, so that it costs what its missing part costs: naive
    Bayes skips a missing feature, a tree sends messages along missing features only, and any other DAG
    is summed clique by clique. Two kinds of node are left out first: barren ones (missing, with nothing
    observed below them), where their columns sum to one, and those that the observed features separate
    from the class. The latter are the same for every class, even where they are impossible.

    Parameters
    ----------
    tables : LogTables
        The log parameters. A node whose columns do not sum to one is never barren.
    target : str
        The class.
    max_clique_size : int
        The number of cells that the largest table may have.

    Examples
    --------
    >>> tables = LogTables(
    ...     ["c", "x", "y"], {"c": ["n", "p"], "x": [0, 1], "y": [0, 1]},
    ...     {"c": ((), np.log([0.5, 0.5])),
    ...      "x": (("c",), np.log([[0.9, 0.2], [0.1, 0.8]])),
    ...      "y": (("c", "x"), np.log([[[0.3, 0.6], [0.5, 0.1]], [[0.7, 0.4], [0.5, 0.9]]]))})
    >>> codes = np.array([[255], [255], [1]], dtype=np.uint8)  # x is missing, y is 1
    >>> np.exp(Marginalizer(tables, "c").log_joint(codes)).round(3)
    array([[0.335, 0.41 ]])
    """

    def __init__(self, tables: LogTables, target: str, max_clique_size: int = MAX_CLIQUE_SIZE) -> None:
        self.tables = tables
        self.target = target
        self.max_clique_size = max_clique_size
        self._terms = terms(tables, target)

    def log_joint(self, codes: CodeArray, n_jobs: int | None = None) -> FloatArray:
        """Return L[m, c] = log P(c, what row m observes), up to what is the same for all classes.

        Parameters
        ----------
        codes : unsigned array of shape (variables, rows)
            In the order of the tables' names; the dtype's largest value is missing. What it says about
            the class is not read.
        n_jobs : int, optional
            Threads, as joblib counts them. The result does not depend on it.

        Returns
        -------
        float64 array of shape (rows, classes)
            A row that is impossible under every class is all ``-inf``.

        Raises
        ------
        ValueError
            If a row needs a table of more than `max_clique_size` cells; the message names its variables.
        """
        joint = log_joint(self._terms, codes)
        features = np.arange(len(codes)) != self.tables.names.index(self.target)
        rows = np.flatnonzero((codes[features] == np.iinfo(codes.dtype).max).any(axis=0))
        if len(rows) > 0 and not self._skipping_is_exact:
            self._elimination.add_missing(codes, rows, joint, n_jobs)
        return joint

    def query(self, variables: Sequence[str], evidence: Mapping[str, int | npt.ArrayLike]) -> FloatArray:
        """Return P(variables | evidence); see :func:`bnplug.inference.queries.query`."""
        return query(self.tables, variables, evidence, self.max_clique_size)

    def log_probability(self, evidence: Mapping[str, int | npt.ArrayLike]) -> float:
        """Return log P(evidence), relative to no evidence."""
        measures = [
            log_measure(self.tables, [], *split_evidence(self.tables, given), self.max_clique_size)
            for given in (evidence, {})
        ]
        return float(measures[0] - measures[1])

    def expected_counts(self, codes: CodeArray, weights: FloatArray) -> list[FloatArray]:
        """Return expected counts; see :func:`bnplug.inference.expectation.expected_counts`."""
        return expected_counts(self.tables, self.target, codes, weights, self.max_clique_size)

    def expectation(self, codes: CodeArray, weigh: Weigh, n_jobs: int | None = None) -> list[FloatArray]:
        """Return expected counts and log joints in one pass; see :class:`bnplug.inference.expectation.Expectation`."""
        return Expectation(self.tables, self.target, self.max_clique_size).counts(codes, weigh, n_jobs)

    @cached_property
    def _elimination(self) -> Elimination:
        return Elimination(self.tables, self.target, self.max_clique_size)

    @cached_property
    def _skipping_is_exact(self) -> bool:
        """Whether to skip a missing feature, as the posterior does, is all: on naive Bayes, normalised."""
        return all(
            table.parents == (() if name == self.target else (self.target,)) and table.normalized
            for name, table in self.tables.tables.items()
        )
