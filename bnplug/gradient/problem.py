"""What discriminative parameter learners share: a start, what they move, and a choice by held-out rows."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, reduce
from itertools import product
from numbers import Integral
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt
from threadpoolctl import threadpool_limits

from bnplug.arrays import FloatArray
from bnplug.compiling import run_in_threads
from bnplug.data.table import Table
from bnplug.gradient.columns import Columns
from bnplug.gradient.objective import Objective
from bnplug.hooks.registry import parameter_learner
from bnplug.inference.complete import Terms, terms, with_values
from bnplug.model.log_tables import LogTables
from bnplug.model.wettig import is_c1

if TYPE_CHECKING:
    from bnplug.typing import DAG


class Problem:
    """Log parameters to be learned on the rows of a table, for a structure, by a loss of the log joint.

    The terms of the class and its children are learned; every other node keeps its generative estimates, which
    no posterior of the class depends on where the features that the terms read are known. Where some are missing, and
    ``table.incomplete`` is "em", the log joint of the row is exact, and depends on them.

    Parameters
    ----------
    table : Table
        The training rows.
    dag : DAG
        The structure.
    alpha, floor : float
        The smoothing of the generative estimates, as in ``ml``.
    n_jobs : int, optional
        Threads. The result does not depend on it.

    Attributes
    ----------
    table : Table
    generative : LogTables
        The maximum-likelihood estimates.
    terms : Terms
        Of the class and its children; their values are the estimates', a place to start.
    objective : Objective
        The sum of a loss over the training rows.
    takes_unlabeled : bool
        Whether rows may have no class; False unless a class says otherwise, whose losses know such rows.

    Examples
    --------
    >>> import pandas as pd
    >>> from bnplug.gradient import conditional_nll, minimize
    >>> table = Table.from_frame(pd.DataFrame({"x": [0, 0, 1, 1, 1], "c": ["n", "n", "y", "y", "n"]}), "c")
    >>> problem = Problem(table, table.dag([[1], []]))
    >>> values, _ = minimize(lambda v: problem.objective(v, conditional_nll), problem.terms.values, 1e-9, 100)
    >>> np.exp(problem.network(values)["x"].values).round(3)[:, 1].tolist()  # P(x | c = "y")
    [0.0, 1.0]
    """

    takes_unlabeled: ClassVar[bool] = False

    def __init__(
        self, table: Table, dag: DAG, alpha: float = 1.0, floor: float = 0.0, n_jobs: int | None = None
    ) -> None:
        self.table = table
        self.alpha = alpha
        self.generative: LogTables = parameter_learner("ml", alpha=alpha, floor=floor, n_jobs=n_jobs).fit(table, dag)
        self.terms: Terms = terms(self.generative, table.target)
        self.objective = self.over(table, n_jobs)

    def over(self, rows: Table, n_jobs: int | None = None) -> Objective:
        """Return the sum of a loss over other rows, such as those held out.

        Those with missing cells are taken as ``rows.incomplete`` says: by their exact log joint where it is "em".
        """
        tables = self.generative if rows.incomplete == "em" else None
        return Objective(self.terms, rows, n_jobs, tables, self.takes_unlabeled)

    @cached_property
    def marginal(self) -> bool:
        """Whether some rows lack a cell that the terms read, and have an exact marginal log joint: not convex then."""
        return self.table.incomplete == "em" and bool(self.table.has_missing[np.unique(self.terms.variables)].any())

    @cached_property
    def ignoring(self) -> Objective:
        """The sum of a loss over the training rows, each without the terms that read a cell it lacks."""
        return Objective(self.terms, self.table.ignoring(), self.objective.n_jobs)

    @cached_property
    def columns(self) -> Columns:
        """Which entries of the terms' values make up a column of a table."""
        return Columns.of(self.terms, self.generative, self.table.target)

    @cached_property
    def is_c1(self) -> bool:
        """Whether the structure is C1, so that any values have the posterior of a network (Wettig)."""
        return is_c1(self.generative.parents, self.table.target)

    def tables(self, values: FloatArray) -> LogTables:
        """Return log parameters of all nodes, those of the class and its children from flat `values`."""
        return with_values(self.generative, self.table.target, self.terms, values)

    def network(self, values: FloatArray) -> LogTables:
        """Return :meth:`tables`, normalised into a network with the same posterior where the structure is C1."""
        made = self.tables(values)
        return made.normalize() if self.is_c1 else made

    def values(self, tables: LogTables) -> FloatArray:
        """Return the log parameters of the class and its children in `tables`: the inverse of :meth:`tables`."""
        return terms(tables, self.table.target).values


_P = TypeVar("_P", bound=Problem)


class HeldOut(NamedTuple):
    """What was measured on held-out rows.

    Attributes
    ----------
    sums : float64 array
        The first axis is that of the measures; the rest is what they return, added up over the folds.
    weight : float
        The number of held-out rows, or the sum of their weights.
    """

    sums: FloatArray
    weight: float


def held_out(
    table: Table,
    cv: Any,
    build: Callable[[Table], _P],
    measures: Sequence[Callable[[_P, Objective], npt.ArrayLike]],
    random_state: Any = None,
    n_jobs: int | None = None,
) -> HeldOut:
    """Learn on the training rows of each fold, and add up what is measured on the others: cross-validation.

    Parameters
    ----------
    table : Table
    cv : int or splitter
        A number is that of stratified folds, shuffled where `random_state` is given; or any splitter of scikit-learn.
    build : function
        Given the training rows, returns a problem; it should ask for one thread.
    measures : sequence of functions
        Each is given a problem of its own and the objective over the rows that are held out, learns on the one, and
        returns sums over the other: an array of any shape.
    random_state : int or RandomState, optional
    n_jobs : int, optional
        Threads, each for a fold and a measure. The result does not depend on it, bit for bit.

    Raises
    ------
    ValueError
        If `cv` is neither a number nor a splitter.

    Examples
    --------
    How many rows does naive Bayes classify rightly that it was not learned on?

    >>> import pandas as pd
    >>> from bnplug.gradient import classified
    >>> table = Table.from_frame(pd.DataFrame({"x": [0, 0, 0, 1, 1, 1], "c": [*"nnyyyn"]}), "c")
    >>> naive_bayes = table.dag([[1], []])
    >>> found = held_out(
    ...     table, 2, lambda rows: Problem(rows, naive_bayes, n_jobs=1),
    ...     [lambda problem, rows: rows(problem.terms.values, classified)[0]])
    >>> found.sums.tolist(), found.weight
    ([3.0], 6.0)
    """
    parts = list(folds(table, cv, random_state))

    def measure(fold: tuple[Table, Table], own: Callable[[_P, Objective], npt.ArrayLike]) -> FloatArray:
        train, test = fold
        problem = build(train)
        return np.asarray(own(problem, problem.over(test, n_jobs=1)), dtype=np.float64)

    # The limit holds for the process; set here, it is not lifted by whichever fold ends first.
    with threadpool_limits(1):
        found = run_in_threads(lambda call: measure(*call), list(product(parts, measures)), n_jobs=n_jobs)
    each = [np.stack(found[first : first + len(measures)]) for first in range(0, len(found), len(measures))]
    return HeldOut(reduce(np.add, each), sum(test.total_weight for _, test in parts))


def folds(table: Table, cv: Any, random_state: Any = None) -> Iterator[tuple[Table, Table]]:
    """Yield the training rows and the held-out rows of each fold.

    Rows without a class are among the training rows of every fold, and never held out.

    Parameters
    ----------
    table : Table
    cv : int or splitter
        As for :func:`held_out`.
    random_state : int or RandomState, optional

    Raises
    ------
    ValueError
        If `cv` is neither a number nor a splitter.

    Examples
    --------
    >>> import pandas as pd
    >>> table = Table.from_frame(pd.DataFrame({"x": [0, 0, 0, 1], "c": [*"nyny"]}), "c")
    >>> [(train.n_rows, test.n_rows) for train, test in folds(table, 2)]
    [(2, 2), (2, 2)]
    """
    from sklearn.model_selection import StratifiedKFold

    if not (isinstance(cv, Integral) or hasattr(cv, "get_n_splits")):
        raise ValueError(f"cv={cv!r} is not a number of folds or a splitter; held-out rows are needed to choose by")
    splitter: Any = cv
    if isinstance(cv, Integral):
        splitter = StratifiedKFold(int(cv), shuffle=random_state is not None, random_state=random_state)
    with warnings.catch_warnings():
        # A class with fewer rows than folds is absent from some of them, which sums can bear.
        warnings.simplefilter("ignore", UserWarning)
        classes = table.column(table.target_index)
        labeled = np.flatnonzero(classes != table.missing)
        splits = list(splitter.split(np.zeros((len(labeled), 1)), classes[labeled]))
    others = np.flatnonzero(classes == table.missing)
    for train, test in splits:
        rows = labeled[train] if len(others) == 0 else np.sort(np.concatenate([labeled[train], others]))
        yield table.take(rows), table.take(labeled[test])
