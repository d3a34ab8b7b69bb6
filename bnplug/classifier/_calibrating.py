"""Fit the factors of calibrated evidence on held-out rows of any source."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from bnplug.errors import BnplugWarning, warn_outside
from bnplug.hooks.components import component
from bnplug.inference.calibration import HeldOut, calibrated_log_posterior, fit_calibration, known_share, nothing_known
from bnplug.inference.marginals import check_marginals
from bnplug.model.checks import check_tables
from bnplug.model.log_tables import Calibration, LogTables
from bnplug.model.training_summary import HeldOutSummary
from bnplug.model.wettig import blanket_of
from bnplug.structure import Structure
from bnplug.table.folds import split_rows
from bnplug.table.table import Table
from bnplug.typing import CodeArray, FloatArray

# The number of folds, and the largest number of rows that are used.
_FOLDS, _ROWS = 3, 10_000


def check_calibrate(calibrate: Any) -> None:
    """Raise a ``ValueError`` if `calibrate` is neither "evidence" nor None."""
    if calibrate not in (None, "evidence"):
        raise ValueError(f"calibrate={calibrate!r} is not 'evidence' or None")


def calibration(model: Any, table: Table, tables: LogTables) -> tuple[Calibration, HeldOutSummary | None]:
    """Return the factors of evidence for the tables that a classifier has learned; 1 if they are not generative.

    Parameters are learned again, on the same structure, in folds of the training rows, at most 10,000 of them.
    Held-out rows are used twice: as they are, and with a random half of the features hidden. The second result
    summarizes the held-out rows; it is None without such rows.
    """
    if not getattr(model.parameters_, "generative", False) or not blanket_of(tables):
        return Calibration(), None
    n = table.n_rows
    chosen = np.arange(n) if n <= _ROWS else np.arange(_ROWS) * n // _ROWS
    labels = table.column(table.target_index)[chosen]
    known = labels != table.missing
    if len(np.unique(labels[known])) < 2:  # the first of several parts may have rows of one class only
        return Calibration(), None
    rows = table.take(chosen[known]).gather()
    try:
        with warnings.catch_warnings():
            # Warnings about the columns were given for all rows.
            warnings.simplefilter("ignore", UserWarning)
            likelihoods: list[FloatArray] = []
            parts = list(_held_out(model, rows, tables.structure, likelihoods))
            factors = fit_calibration(parts)
            return factors, _summary(parts[::2], likelihoods, factors)
    except ValueError as error:
        # A learner may need more rows than a fold has, and rows with hidden features larger tables.
        message = "has no effect, because learning or predicting in folds of the training rows failed"
        warn_outside(f"calibrate={model.calibrate!r} {message}: {error}", BnplugWarning)
        return Calibration(), None


def _summary(parts: list[HeldOut], likelihoods: list[FloatArray], calibration: Calibration) -> HeldOutSummary | None:
    """Summarize held-out rows with all their features, by the calibrated posterior."""
    if not parts:
        return None
    rows = HeldOut(*map(np.concatenate, zip(*parts, strict=True)))
    return HeldOutSummary.of(np.concatenate(likelihoods), calibrated_log_posterior(rows, calibration), rows.classes)


def _held_out(model: Any, table: Table, structure: Structure, likelihoods: list[FloatArray]) -> Iterator[HeldOut]:
    """Yield the held-out rows of each fold, then with hidden features; add the log-likelihoods of the former."""
    random = check_random_state(0 if model.random_state is None else model.random_state)
    engine = component("engine", model.engine, model)
    labels = table.column(table.target_index)
    n_folds = min(_FOLDS, int(np.bincount(labels).max(initial=0)))
    for train, test in split_rows(labels, n_folds, random) if n_folds > 1 else []:
        part, rest = table.take(train), table.take(test)
        learner = component("parameter learner", model.parameters, model)
        if part.learned_by_em:
            learner.engine_ = engine
        tables = check_tables(learner.fit(part, structure), part, structure, learner)
        network = check_marginals(engine.compile(tables, table.target), engine)
        nothing = np.tile(nothing_known(network, tables), (rest.n_rows, 1))
        blanket = np.array([table.index(name) for name in blanket_of(tables)], dtype=np.int64)
        classes = labels[test].astype(np.int64)
        weights = np.ones(rest.n_rows) if rest.weights is None else rest.weights
        # Likelihoods of the features, summed over the classes.
        likelihoods.append(
            np.logaddexp.reduce(network.log_joint(rest.codes, complete=True, n_jobs=model.n_jobs), axis=1)
        )
        for codes in (rest.codes, _half_hidden(rest, random)):
            joint = network.log_joint(codes, n_jobs=model.n_jobs)
            yield HeldOut(joint, nothing, classes, weights, known_share(codes, blanket))


def _half_hidden(table: Table, random: np.random.RandomState) -> CodeArray:
    """Return the codes of rows with a random half of the features hidden, a different half in each row."""
    codes = table.codes.copy()
    order = random.random_sample((len(table.features), table.n_rows)).argsort(axis=0)
    hidden = order < len(table.features) // 2
    codes[table.features] = np.where(hidden, table.missing, codes[table.features])
    return codes
