"""Rows with their missing cells filled in: by a draw from a network, or as is most probable.

A draw takes one variable after the other, each from its distribution given all that the row knows by then: together
they are one from the joint distribution of what is missing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from bnplug.arrays import CodeArray
from bnplug.inference._best_states import best_states
from bnplug.inference._completions import draw_states
from bnplug.inference.batches import conditional, distinct
from bnplug.inference.marginals import MAX_CLIQUE_SIZE, Marginalizer
from bnplug.inference.most_probable import most_probable
from bnplug.model.log_tables import LogTables


def draw_missing(
    tables: LogTables,
    codes: CodeArray,
    random_state: Any = None,
    n_jobs: int | None = None,
    max_clique_size: int = MAX_CLIQUE_SIZE,
) -> CodeArray:
    """Return rows in which every missing cell is drawn from the network, given what the row knows.

    Parameters
    ----------
    tables : LogTables
    codes : unsigned array of shape (variables, rows)
        In the order of ``tables.names``; the largest value of the type is missing. The class may be.
    random_state : int or RandomState, optional
    n_jobs : int, optional
        Threads, as joblib counts them. The result does not depend on it.
    max_clique_size : int
        The number of cells that the largest table may have.

    Returns
    -------
    unsigned array of shape (variables, rows)
        A row that is impossible has cells drawn as if all states were as probable.

    Examples
    --------
    >>> tables = LogTables(
    ...     ["c", "x"], {"c": ["n", "p"], "x": [0, 1]},
    ...     {"c": ((), np.log([0.5, 0.5])), "x": (("c",), np.log([[0.9, 0.2], [0.1, 0.8]]))})
    >>> draw_missing(tables, np.array([[0] * 5, [255] * 5], dtype=np.uint8), random_state=0)[1]
    array([0, 0, 0, 1, 0], dtype=uint8)
    """
    random = check_random_state(random_state)
    filled, missing = np.array(codes), np.iinfo(codes.dtype).max
    for v, name in enumerate(tables.names):
        lacking = np.flatnonzero(codes[v] == missing)
        # One number for each row, so that a row's draw does not depend on which others lack the cell.
        uniform = random.random_sample(codes.shape[1])[lacking]
        if len(lacking):
            shares = conditional(Marginalizer(tables, name, max_clique_size), filled[:, lacking], n_jobs)
            shares = np.where(np.isnan(shares), 1.0 / shares.shape[1], shares)
            filled[v, lacking] = draw_states(shares, uniform)
    return filled


def fill_most_probable(
    tables: LogTables,
    codes: CodeArray,
    variables: Sequence[int] | None = None,
    max_clique_size: int = MAX_CLIQUE_SIZE,
) -> CodeArray:
    """Return rows in which missing cells are in their most probable states, all of a row's jointly.

    Parameters
    ----------
    tables : LogTables
    codes : unsigned array of shape (variables, rows)
        In the order of ``tables.names``; the largest value of the type is missing.
    variables : sequence of int, optional
        What is filled in; others that are missing, such as the class, stay so, though their states are part of what is
        most probable. By default all.
    max_clique_size : int
        The number of cells that the largest table may have.

    Examples
    --------
    >>> tables = LogTables(
    ...     ["c", "x"], {"c": ["n", "p"], "x": [0, 1]},
    ...     {"c": ((), np.log([0.6, 0.4])), "x": (("c",), np.log([[0.5, 0.1], [0.5, 0.9]]))})
    >>> fill_most_probable(tables, np.array([[255, 0], [255, 255]], dtype=np.uint8)).tolist()
    [[1, 0], [1, 0]]
    """
    wanted = np.arange(len(codes)) if variables is None else np.array(variables, dtype=np.int64)
    filled, missing = np.array(codes), np.iinfo(codes.dtype).max
    lacking = np.flatnonzero((codes[wanted] == missing).any(axis=0))
    best, undecided = best_states(tables, codes[:, lacking])
    filled[np.ix_(wanted, lacking)] = best[wanted]
    rows, places = distinct(codes[:, lacking[undecided]])
    for i, row in enumerate(rows.T):
        known = {name: int(state) for name, state in zip(tables.names, row, strict=True) if state != missing}
        found = most_probable(tables, known, max_clique_size)
        for v in wanted:
            rows[v, i] = found.get(tables.names[v], row[v])
    filled[np.ix_(wanted, lacking[undecided])] = rows[np.ix_(wanted, places)]
    return filled
