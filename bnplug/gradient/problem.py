"""The shared parts of discriminative parameter learners: the problem, cross-validation, and columns of tables."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from numbers import Integral
from typing import Any, ClassVar, TypeVar

import numpy as np
import numpy.typing as npt
from threadpoolctl import threadpool_limits

from bnplug.compiling import kernel, run_in_threads
from bnplug.contracts import InnerFold
from bnplug.gradient.objective import Objective
from bnplug.inference.complete import Terms, terms, with_values
from bnplug.inference.em import SmoothedFrequencies
from bnplug.model.log_tables import LogTables
from bnplug.structure import Structure, is_c1
from bnplug.table.folds import split_rows
from bnplug.table.table import Table
from bnplug.typing import FloatArray, IntArray


class Problem:
    """Learn the log parameters of a structure on the rows of a table, by a loss of the log joint.

    The terms of the class and its children are learned. Every other node keeps its generative estimates; if no cell is
    missing, the posterior of the class does not depend on them. If cells are missing and ``table.missing_policy`` is
    "em", rows have their exact marginal log joint, which depends on all nodes.

    Parameters
    ----------
    table : Table
        The training rows.
    structure : Structure
        The structure.
    alpha, floor : float
        The smoothing of the generative estimates, as in ``ml``.
    n_jobs : int, optional
        Threads. The result does not depend on it.

    Attributes
    ----------
    generative : LogTables
        The generative estimates.
    terms : Terms
        The terms of the class and its children, with the estimates as values to start from.
    objective : Objective
        The sum of a loss over the training rows.
    takes_unlabeled : bool
        Whether rows may have no class. A subclass whose losses handle such rows sets it to True.

    Examples
    --------
    >>> import pandas as pd
    >>> from bnplug.gradient import conditional_nll, minimize
    >>> table = Table.from_frame(pd.DataFrame({"x": [0, 0, 1, 1, 1], "c": ["n", "n", "y", "y", "n"]}), "c")
    >>> problem = Problem(table, Structure(table.names, [[1], []]))
    >>> values, _ = minimize(lambda v: problem.objective(v, conditional_nll), problem.terms.values, 1e-9, 100)
    >>> np.exp(problem.network(values)["x"].values).round(3)[:, 1].tolist()  # P(x | c = "y")
    [0.0, 1.0]
    """

    takes_unlabeled: ClassVar[bool] = False

    def __init__(
        self, table: Table, structure: Structure, alpha: float = 1.0, floor: float = 0.0, n_jobs: int | None = None
    ) -> None:
        self.table = table
        self.alpha = alpha
        self.generative: LogTables = SmoothedFrequencies(alpha, floor, n_jobs).fit(table, structure)
        self.terms: Terms = terms(self.generative, table.target)
        self.objective = self.over(table, n_jobs)

    def over(self, rows: Table, n_jobs: int | None = None) -> Objective:
        """Return the sum of a loss over other rows, with the exact log joint if ``rows.missing_policy`` is "em"."""
        tables = self.generative if rows.missing_policy == "em" else None
        return Objective(self.terms, rows, n_jobs, tables, self.takes_unlabeled)

    @cached_property
    def marginal(self) -> bool:
        """Whether some rows lack a cell that the terms read and have a marginal log joint, which is not convex."""
        return self.table.missing_policy == "em" and bool(self.table.has_missing[np.unique(self.terms.variables)].any())

    @cached_property
    def ignoring(self) -> Objective:
        """The sum of a loss over the training rows, without the terms that read a missing cell."""
        return Objective(self.terms, self.table.ignoring(), self.objective.n_jobs)

    @cached_property
    def columns(self) -> Columns:
        """The columns of the tables within the terms' values."""
        return Columns.of(self.terms, self.generative, self.table.target)

    @cached_property
    def is_c1(self) -> bool:
        """Whether the structure is C1: any values then have the posterior of a network (Wettig et al. 2003)."""
        return is_c1(self.generative.parents, self.table.target)

    def tables(self, values: FloatArray) -> LogTables:
        """Return the log parameters of all nodes, with flat `values` for the class and its children."""
        return with_values(self.generative, self.table.target, self.terms, values)

    def network(self, values: FloatArray) -> LogTables:
        """Return :meth:`tables`; on a C1 structure, normalized into a network with the same posterior."""
        tables = self.tables(values)
        return tables.normalize() if self.is_c1 else tables

    def values(self, tables: LogTables) -> FloatArray:
        """Return the log parameters of the class and its children in `tables`: the inverse of :meth:`tables`."""
        return terms(tables, self.table.target).values


_P = TypeVar("_P", bound=Problem)


def held_out(
    parts: Sequence[InnerFold],
    build: Callable[[Table, Structure], _P],
    measure: Callable[[_P, Objective], npt.ArrayLike],
    n_jobs: int | None = None,
) -> FloatArray:
    """Learn on the training rows of each fold, and add up a measure of the held-out rows.

    `build` returns a problem on the training rows and the structure of a fold, which should use one thread. `measure`
    receives that problem and the objective over the held-out rows, and returns sums over these: any array. `n_jobs` are
    threads over folds, on which the result does not depend, bit for bit.
    """

    def run(part: InnerFold) -> FloatArray:
        problem = build(part.train, part.structure)
        return np.asarray(measure(problem, problem.over(part.held_out, n_jobs=1)), dtype=np.float64)

    # The limit holds for the whole process; set here, the first fold to end does not lift it.
    with threadpool_limits(1):
        return np.asarray(reduce(np.add, run_in_threads(run, parts, n_jobs=n_jobs)))


def folds(table: Table, cv: Any, random_state: Any = None) -> Iterator[tuple[Table, Table]]:
    """Yield the training rows and the held-out rows of each fold.

    `cv` is the number of stratified folds, shuffled if `random_state` is given, or any splitter of scikit-learn. Rows
    without a class belong to the training rows of every fold, and are never held out.
    """
    if not (isinstance(cv, Integral) or hasattr(cv, "get_n_splits")):
        raise ValueError(f"cv={cv!r} is not a number of folds or a splitter; held-out rows are needed to choose by")
    classes = table.column(table.target_index)
    labeled = np.flatnonzero(classes != table.missing)
    splits = split_rows(classes[labeled], cv, random_state)
    others = np.flatnonzero(classes == table.missing)
    for train, test in splits:
        rows = labeled[train] if len(others) == 0 else np.sort(np.concatenate([labeled[train], others]))
        yield table.take(rows), table.take(labeled[test])


@dataclass(frozen=True)
class Columns:
    """The CPT columns, each of which sums to one in a network, within the flat values of terms.

    Term t is an array of shape ``(outer[t], states[t], inner[t])`` that begins at ``starts[t]``. Its columns run along
    the middle axis. All four are int64 arrays of shape (terms,).
    """

    starts: IntArray
    outer: IntArray
    states: IntArray
    inner: IntArray

    @classmethod
    def of(cls, terms: Terms, tables: LogTables, target: str) -> Columns:
        """Return the columns of the terms of `tables`."""
        sizes = np.diff([*terms.starts, terms.values.size])
        states = np.array([len(tables.states[tables.names[node]]) for node in terms.nodes], dtype=np.int64)
        is_class = np.array([tables.names[node] == target for node in terms.nodes])
        outer = np.where(is_class, sizes // states, 1)
        return cls(terms.starts, outer, states, sizes // states // outer)

    def log_softmax(self, beta: FloatArray) -> FloatArray:
        """Return log theta, the log softmax of every column of `beta`."""
        result = self._reduced(beta, True)
        np.subtract(beta, result, out=result)
        # numpy vectorizes exponentials and logarithms, which a compiled loop does not.
        with np.errstate(under="ignore"):
            sums = self._reduced(np.exp(result), False)
        result -= np.log(sums, out=sums)
        return result

    def chain(self, gradient: FloatArray, log_theta: FloatArray) -> FloatArray:
        """Return the derivative by beta from that by log theta: g - theta x (column sum of g)."""
        result = self._reduced(gradient, False)
        with np.errstate(under="ignore"):
            result *= np.exp(log_theta)
        return np.subtract(gradient, result, out=result)

    def _reduced(self, values: FloatArray, largest: bool) -> FloatArray:
        """Return for each entry the maximum or the sum of its column."""
        result = np.empty_like(values)
        _reduce(values, self.starts, self.outer, self.states, self.inner, largest, result)
        return result


@kernel(allocates=False)
def _reduce(values, starts, outer, states, inner, largest, result):  # type: ignore[no-untyped-def]
    """Set result[e] to the maximum or the sum of e's column, for adjacent columns at once; shapes as in Columns."""
    for t in range(starts.shape[0]):
        r, q = states[t], inner[t]
        for start in range(starts[t], starts[t] + outer[t] * r * q, r * q):
            for i in range(start, start + q):
                result[i] = values[i]
            for j in range(q, r * q, q):
                if largest:
                    for i in range(start, start + q):
                        result[i] = values[j + i] if values[j + i] > result[i] else result[i]
                else:
                    for i in range(start, start + q):
                        result[i] += values[j + i]
            for j in range(q, r * q, q):
                for i in range(start, start + q):
                    result[j + i] = result[i]
