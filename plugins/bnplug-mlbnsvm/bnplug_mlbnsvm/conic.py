"""Problem (10) of Peharz et al. (2013) by a conic solver: exact, for small data. Needs cvxpy."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from bnplug.gradient import Columns
from bnplug.inference.complete import Terms
from bnplug.typing import FloatArray, IntArray
from bnplug_mlbnsvm.problem import LargeMarginProblem, Setting

if TYPE_CHECKING:
    from bnplug.table.table import Table

# Relative to the mean over rows; with a smaller tolerance the solver does not always converge.
_TOL = 1e-7


def solve_conic(problem: LargeMarginProblem, table: Table, setting: Setting) -> FloatArray:
    """Return the log parameters of the class and its children that solve problem (10) on the rows of `table`."""
    try:
        cp: Any = import_module("cvxpy")
    except ImportError as error:
        raise ImportError('solver="conic" needs cvxpy: pip install "bnplug-mlbnsvm[conic]"') from error
    if not problem.is_c1:
        raise ValueError('solver="conic" needs a C1 structure (such as nb or tan); solver="gradient" takes any')
    omega = cp.Variable(problem.counts.size)
    weights = np.ones(table.n_rows) if table.weights is None else table.weights
    slack = cp.Variable(table.n_rows, nonneg=True)
    # All margins of a row share its slack.
    shared = sparse.kron(sparse.eye_array(table.n_rows), np.ones((problem.terms.n_classes - 1, 1)))
    constraints = [margin_rows(problem.terms, table) @ omega + shared @ slack >= setting.gamma]
    for places in column_indices(problem.columns):
        tables = cp.reshape(omega[places.ravel()], places.shape, order="C")
        constraints.append(cp.log_sum_exp(tables, axis=0) <= 0)
    # The solver's tolerances suit numbers near one, hence the mean over rows.
    loss = setting.lam * (weights @ slack) - problem.counts @ omega
    goal = cp.Problem(cp.Minimize(loss / weights.sum()), constraints)
    goal.solve(solver=cp.CLARABEL, tol_gap_abs=_TOL, tol_gap_rel=_TOL, tol_feas=_TOL)
    if goal.status != cp.OPTIMAL:
        raise RuntimeError(f'the conic solver ended with "{goal.status}"; solver="gradient" takes data of any size')
    return np.asarray(omega.value, dtype=np.float64)


def margin_rows(terms: Terms, table: Table) -> Any:
    """Return a sparse matrix whose product with the terms' values is L[m, y] - L[m, c] for each row m and rival c."""
    y, rows = table.codes[table.target_index].astype(np.int64), np.arange(table.n_rows)
    entries = [(rows[cells >= 0], cells[cells >= 0]) for cells in terms.cells(table.codes)]
    blocks = []
    for step in range(1, terms.n_classes):
        rival = (y + step) % terms.n_classes
        data = [(m, cell + c[m], sign) for m, cell in entries for c, sign in ((y, 1.0), (rival, -1.0))]
        place = (np.concatenate([m for m, _, _ in data]), np.concatenate([cell for _, cell, _ in data]))
        signs = np.concatenate([np.full(len(m), sign) for m, _, sign in data])
        blocks.append(sparse.csr_array((signs, place), shape=(table.n_rows, terms.values.size)))
    order = np.arange(len(blocks) * table.n_rows).reshape(len(blocks), -1).T.ravel()
    return sparse.vstack(blocks, format="csr")[order]


def column_indices(columns: Columns) -> Iterator[IntArray]:
    """Yield the indices of the entries of each term, as an array with a column for each CPT column."""
    for start, outer, states, inner in zip(columns.starts, columns.outer, columns.states, columns.inner, strict=True):
        entries = start + np.arange(outer * states * inner).reshape(outer, states, inner)
        yield entries.transpose(1, 0, 2).reshape(states, -1)
