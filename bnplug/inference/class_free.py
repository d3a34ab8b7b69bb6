"""Networks without a class variable, for engines that need one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from bnplug.contracts import CompiledNetwork, CountingNetwork
from bnplug.model.log_tables import LogTables
from bnplug.typing import CodeArray, FloatArray


def compile_without_class(compile_with: Callable[[LogTables, str], CompiledNetwork], tables: LogTables) -> ClassFree:
    """Compile a network without a class by an engine that needs one: the class is a new variable with a single state.

    Parameters
    ----------
    compile_with : callable
        ``compile_with(tables, target)`` compiles a network with a class.
    tables : LogTables

    Returns
    -------
    ClassFree
        Its `log_joint` returns log P(known cells), of shape (rows, 1).

    Examples
    --------
    >>> from bnplug.inference.marginals import Marginalizer
    >>> tables = LogTables(
    ...     ["a", "b"], {"a": [0, 1], "b": [0, 1]},
    ...     {"a": ((), np.log([0.5, 0.5])), "b": (("a",), np.log([[0.9, 0.2], [0.1, 0.8]]))})
    >>> compiled = compile_without_class(Marginalizer, tables)
    >>> np.exp(compiled.log_joint(np.array([[255, 0], [1, 1]], dtype=np.uint8))).round(3).tolist()
    [[0.45], [0.05]]
    """
    target = "class"
    while target in tables.states:
        target += "_"
    cpts: dict[str, tuple[Sequence[str], npt.ArrayLike]] = {name: tables[name] for name in tables.names}
    with_class = LogTables(
        [*tables.names, target], {**tables.states, target: [0]}, {**cpts, target: ((), np.zeros(1))}, target
    )
    compiled = compile_with(with_class, target)
    return CountingClassFree(compiled) if isinstance(compiled, CountingNetwork) else ClassFree(compiled)


class ClassFree(CompiledNetwork):
    """A compiled network whose class has a single state and is the last variable, seen as one without a class."""

    def __init__(self, compiled: CompiledNetwork) -> None:
        self.compiled = compiled

    def log_joint(
        self, codes: CodeArray, shares: FloatArray | None = None, complete: bool = False, *, n_jobs: int | None = None
    ) -> FloatArray:
        """Return log P(known cells), of shape (rows, 1); it is always complete."""
        return self.compiled.log_joint(_with_class(codes), shares, True, n_jobs=n_jobs)

    def query(self, variables: Sequence[str], evidence: Mapping[str, int | npt.ArrayLike]) -> FloatArray:
        """Return P(variables | evidence), one axis for each of `variables`."""
        return self.compiled.query(variables, evidence)

    def log_probability(self, evidence: Mapping[str, int | npt.ArrayLike]) -> float:
        """Return log P(evidence), relative to no evidence."""
        return self.compiled.log_probability(evidence)


class CountingClassFree(ClassFree):
    """A :class:`ClassFree` network with expected counts."""

    def expected_counts(self, codes: CodeArray, weights: FloatArray) -> list[FloatArray]:
        """Return the expected counts of every family; the weights have the shape (rows, 1)."""
        assert isinstance(self.compiled, CountingNetwork)
        return self.compiled.expected_counts(_with_class(codes), weights)[:-1]


def _with_class(codes: CodeArray) -> CodeArray:
    return np.concatenate([codes, np.zeros((1, codes.shape[1]), dtype=codes.dtype)])
