"""Variable elimination: exact answers, with evidence instantiated before unknown variables are summed out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property

import numpy.typing as npt

from bnplug.contracts import CompiledNetwork, Engine
from bnplug.inference._asking import Asked
from bnplug.inference.class_free import CountingClassFree, compile_without_class
from bnplug.inference.marginals import MAX_CLIQUE_SIZE, Marginalizer
from bnplug.inference.queries import log_probability, posterior
from bnplug.model.log_tables import LogTables
from bnplug.typing import FloatArray


class EliminationEngine(Engine):
    """Exact answers by summing out unknown variables one after the other.

    Parameters
    ----------
    max_clique_size : int, optional
        The number of cells that the largest table may have; None takes the classifier's.

    References
    ----------
    Zhang, Poole: Exploiting causal independence in Bayesian network inference (1996).
    """

    def __init__(self, max_clique_size: int | None = None) -> None:
        self.max_clique_size = max_clique_size

    def compile(self, tables: LogTables, target: str | None = None) -> CompiledNetwork:
        """Compile the network `tables`, with or without a class."""
        limit = MAX_CLIQUE_SIZE if self.max_clique_size is None else self.max_clique_size
        return _WithoutClass(tables, limit) if target is None else Marginalizer(tables, target, limit)


class _WithoutClass(CountingClassFree):
    """A network without a class; what rows need is compiled for the first rows."""

    def __init__(self, tables: LogTables, max_clique_size: int) -> None:
        self.tables, self.max_clique_size = tables, max_clique_size

    @cached_property
    def compiled(self) -> CompiledNetwork:  # type: ignore[override]
        """The network with a class of a single state."""
        return compile_without_class(self._with_class, self.tables).compiled

    @cached_property
    def kept(self) -> Asked:
        """The network, kept for single questions."""
        return Asked(self.tables, self.max_clique_size)

    def _with_class(self, tables: LogTables, target: str) -> CompiledNetwork:
        return Marginalizer(tables, target, self.max_clique_size)

    def query(self, variables: Sequence[str], evidence: Mapping[str, int | npt.ArrayLike]) -> FloatArray:
        """Return P(variables | evidence), one axis for each of `variables`."""
        return posterior(self.kept, variables, evidence)

    def log_probability(self, evidence: Mapping[str, int | npt.ArrayLike]) -> float:
        """Return log P(evidence), relative to no evidence."""
        return log_probability(self.kept, evidence)
