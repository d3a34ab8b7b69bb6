"""Fits calibrated evidence on training rows that are left out of the estimates."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from bnplug.classifier._components import find_structure
from bnplug.errors import BnplugWarning
from bnplug.hooks.components import component
from bnplug.inference.calibration import HeldOut, fit_calibration, known_share, nothing_known
from bnplug.inference.left_out import left_out_log_joint
from bnplug.model.checks import check_tables
from bnplug.model.log_tables import Calibration, LogTables
from bnplug.model.wettig import blanket_of
from bnplug.table.folds import split_rows
from bnplug.table.table import Table
from bnplug.typing import BoolArray, FloatArray, IntArray

# The most rows that are used, the folds of learners that cannot leave out single rows, and the number of sets of features
# that are hidden.
_ROWS, _FOLDS, _DRAWS = 10_000, 3, 8


def check_calibrate(calibrate: Any) -> None:
    """Raise a ``ValueError`` unless this is a way to calibrate."""
    if calibrate not in (None, "evidence"):
        raise ValueError(f"calibrate={calibrate!r} is not 'evidence' or None")


def calibration(model: Any, table: Table) -> Calibration:
    """Return the factors of evidence of a fitted classifier; 1 if its parameters are not generative."""
    tables, learner = model.tables_, model.parameters_
    if not getattr(learner, "generative", False) or not tables.normalized or not blanket_of(tables):
        return Calibration()
    rows = _sample(table)
    random = check_random_state(0 if model.random_state is None else model.random_state)
    hidden = [_half(rows, random) for _ in range(_DRAWS)]
    by_row = hasattr(learner, "left_out_columns")
    parts = _left_out(model, rows, hidden) if by_row else _by_folds(model, rows, hidden, random)
    return fit_calibration(list(parts))


def _sample(table: Table) -> Table:
    """Return at most 10,000 rows with a class, chosen by their numbers."""
    n, known = table.n_rows, table.column(table.target_index) != table.missing
    chosen = np.arange(n) if n <= _ROWS else np.arange(_ROWS) * n // _ROWS
    return table.take(chosen[known[chosen]])


def _half(table: Table, random: np.random.RandomState) -> BoolArray:
    """Return a random half of the features, as a mask of the variables."""
    hidden = np.zeros(len(table.names), dtype=bool)
    hidden[random.permutation(table.features)[: len(table.features) // 2]] = True
    return hidden


def _left_out(model: Any, table: Table, hidden: list[BoolArray]) -> Iterator[HeldOut]:
    """Yield each row left out of the estimates, complete and with features hidden."""
    tables, codes, target = model.tables_, table.codes, table.target_index
    columns = model.parameters_.left_out_columns(table)
    prior = nothing_known(model._marginalizer, tables)
    # The row is left out of the prior, too.
    nothing = np.tile(prior, (table.n_rows, 1)) if tables[table.target].parents else columns[target]

    def joint(rows: IntArray, absent: BoolArray) -> FloatArray:
        of_rows = [column[rows] for column in columns]
        return left_out_log_joint(tables, of_rows, codes[:, rows], absent, model.max_clique_size)

    yield from _held_out(tables, table, hidden, joint, nothing)


def _by_folds(
    model: Any, table: Table, hidden: list[BoolArray], random: np.random.RandomState
) -> Iterator[HeldOut]:
    """Yield the test rows of folds in which structure and parameters are learned again."""
    labels = table.column(table.target_index)
    n_folds = min(_FOLDS, int(np.unique(labels, return_counts=True)[1].max(initial=0)))
    if n_folds < 2:
        return
    for train, test in split_rows(labels, n_folds, random):
        part, rest = table.take(train), table.take(test)
        with warnings.catch_warnings():
            # Warnings about the columns were given for all rows.
            warnings.simplefilter("ignore", BnplugWarning)
            structure = find_structure(model, part)[1].structure
            learner = component("parameter learner", model.parameters, model)
            if part.learned_by_em:
                learner.engine_ = model.engine_
            tables = check_tables(learner.fit(part, structure), part, structure, learner)
        compiled = model.engine_.compile(tables, table.target)

        def joint(rows: IntArray, absent: BoolArray, rest: Table = rest, compiled: Any = compiled) -> FloatArray:
            codes = rest.codes[:, rows].copy()
            codes[absent] = rest.missing
            return np.asarray(compiled.log_joint(codes, n_jobs=model.n_jobs))

        nothing = np.tile(nothing_known(compiled, tables), (rest.n_rows, 1))
        yield from _held_out(tables, rest, hidden, joint, nothing)


def _held_out(
    tables: LogTables,
    table: Table,
    hidden: list[BoolArray],
    joint: Callable[[IntArray, BoolArray], FloatArray],
    nothing: FloatArray,
) -> Iterator[HeldOut]:
    """Yield the rows complete, and once more with features hidden, in parts that hide the same ones."""
    blanket = np.array([table.index(name) for name in blanket_of(tables)], dtype=np.int64)
    classes = table.column(table.target_index).astype(np.int64)
    weights = np.ones(table.n_rows) if table.weights is None else table.weights
    nobody = np.zeros(len(table.names), dtype=bool)
    everyone = np.arange(table.n_rows)
    parts = [(everyone, nobody), *((everyone[i :: len(hidden)], absent) for i, absent in enumerate(hidden))]
    for rows, absent in parts:
        if len(rows) == 0:
            continue
        codes = table.codes[:, rows].copy()
        codes[absent] = table.missing
        yield HeldOut(joint(rows, absent), nothing[rows], classes[rows], weights[rows], known_share(codes, blanket))
