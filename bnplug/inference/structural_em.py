"""Structural EM: a structure from incomplete rows, by whatever learns one from complete rows (Friedman 1998).

The structure is learned from what the network so far expects of every row, then that network's parameters again, until
a structure comes back.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from sklearn.utils import check_random_state

from bnplug.data.table import Table
from bnplug.hooks import registry
from bnplug.inference.em import expectation_maximization
from bnplug.inference.expected_table import ExpectedTable
from bnplug.model.log_tables import LogTables

if TYPE_CHECKING:
    from bnplug.typing import DAG

#: The most structures that are learned after the first.
MOST_STRUCTURES = 10

# The parameters between two structures need not be those of the last digit.
_BETWEEN: dict[str, Any] = {"tol": 1e-5, "max_iter": 100, "restarts": 0}


def structural_em(
    learn: Callable[[Table], DAG],
    table: Table,
    random_state: Any = None,
    n_jobs: int | None = None,
    verbose: int | None = None,
) -> DAG:
    """Return a structure that is learned again from what its own network expects.

    Parameters
    ----------
    learn : callable
        Returns the structure of a table: the ``learn`` of a :class:`~bnplug.StructureLearner`. It is called first with
        the rows that have a class, each statistic of which ignores the rows that lack a cell, and then with an
        :class:`~bnplug.inference.expected_table.ExpectedTable`.
    table : Table
        With missing cells, maybe of the class.
    random_state : int or RandomState, optional
        What missing cells are drawn with, for learners that read rows; who takes sums, orders of
        :meth:`~bnplug.Table.expand` or scores of the core's kinds needs no draw. Each round draws alike.
    n_jobs : int, optional
        Threads. The result does not depend on it.
    verbose : int, optional
        Whether to tell of every round.

    Returns
    -------
    DAG
        The first that came back, or the last of `MOST_STRUCTURES`.
    """
    seed = int(check_random_state(0 if random_state is None else random_state).randint(2**31 - 1))
    dag = learn(table.ignoring())
    seen: list[list[list[int]]] = []
    while table.parents(dag) not in seen and len(seen) < MOST_STRUCTURES:
        seen.append(table.parents(dag))
        dag = learn(ExpectedTable(table, _Network(table, dag, n_jobs), seed, n_jobs))
        if verbose:
            changed = sum(a != b for a, b in zip(seen[-1], table.parents(dag), strict=True))
            print(f"structural em: round {len(seen)}, {changed} families changed", file=sys.stderr, flush=True)
    return dag


class _Network:
    """The parameters of a structure by EM; found when they are called for, since not every learner looks at data."""

    def __init__(self, table: Table, dag: DAG, n_jobs: int | None) -> None:
        self.table, self.dag, self.n_jobs = table, dag, n_jobs

    def __call__(self) -> LogTables:
        learner: Any = registry.parameter_learner("ml")
        return expectation_maximization(learner, self.table, self.dag, n_jobs=self.n_jobs, **_BETWEEN).tables
