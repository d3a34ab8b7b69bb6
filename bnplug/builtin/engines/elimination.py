"""Variable elimination: exact answers, with evidence instantiated before unknown variables are summed out."""

from __future__ import annotations

from bnplug.contracts import CompiledNetwork, Engine
from bnplug.inference.class_free import compile_without_class
from bnplug.inference.marginals import MAX_CLIQUE_SIZE, Marginalizer
from bnplug.model.log_tables import LogTables


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
        if target is None:
            return compile_without_class(self.compile, tables)
        limit = MAX_CLIQUE_SIZE if self.max_clique_size is None else self.max_clique_size
        return Marginalizer(tables, target, limit)
