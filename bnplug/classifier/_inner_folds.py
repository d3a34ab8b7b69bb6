"""Folds inside the training rows: everything is learned again, for parameters that need held-out rows."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from bnplug.classifier._components import find_structure
from bnplug.contracts import InnerFold
from bnplug.errors import BnplugWarning
from bnplug.sources.training import _learning_weights
from bnplug.table.class_labels import _labels_and_gaps
from bnplug.table.folds import split_rows
from bnplug.table.rules import MissingPolicies
from bnplug.table.table import Table
from bnplug.table.weights import present_rows
from bnplug.typing import BoolArray, FloatArray, IntArray


class RawRows(NamedTuple):
    """Raw training rows, their classes and weights, without rows of weight 0; `gaps` are rows without a class."""

    frame: pd.DataFrame
    labels: npt.NDArray[Any]
    weights: FloatArray | None
    gaps: BoolArray

    @classmethod
    def of(cls, model: Any, frame: pd.DataFrame, y: Any, sample_weight: Any) -> RawRows:
        """Return the rows that are there, as the parameters of a classifier take them."""
        may_lack = MissingPolicies.of(model.missing).of_table == "em"
        labels, gaps = _labels_and_gaps(y, model.unlabeled, may_lack)
        weights = _learning_weights(frame, labels, sample_weight, model.class_weight, gaps)
        rows, present = cls(frame, labels, weights, gaps), present_rows(weights)
        return rows if present is None else rows.take(np.flatnonzero(present))

    @property
    def y(self) -> npt.NDArray[Any] | pd.Series[Any]:
        """The classes as a user gives them: missing where a row has none."""
        if not self.gaps.any():
            return self.labels
        cells = self.labels.astype(object)
        cells[self.gaps] = None
        return pd.Series(cells, dtype=object)

    def take(self, places: IntArray) -> RawRows:
        """Return the rows at these places."""
        weights = None if self.weights is None else self.weights[places]
        return RawRows(self.frame.iloc[places], self.labels[places], weights, self.gaps[places])


def splits(rows: RawRows, n_folds: int, random_state: Any) -> Iterator[tuple[RawRows, RawRows]]:
    """Yield the training rows and the held-out rows of stratified folds, shuffled even without a `random_state`.

    A fold whose training rows have one class is left out. All training rows include the rows without a class.
    """
    known, unlabeled = np.flatnonzero(~rows.gaps), np.flatnonzero(rows.gaps)
    labels = rows.labels[known]
    counts = np.unique(labels, return_counts=True)[1]
    n_folds = min(n_folds, int(counts.max()))
    if n_folds < 2:
        return
    if isinstance(random_state, np.random.RandomState):
        random_state = int(random_state.randint(2**31 - 1))
    for train, test in split_rows(labels, n_folds, 0 if random_state is None else random_state):
        if len(np.unique(labels[train])) > 1:
            yield rows.take(np.sort(np.concatenate([known[train], unlabeled]))), rows.take(known[test])


def inner_folds(model: Any, rows: RawRows, n_folds: int) -> list[InnerFold]:
    """Return the folds that a parameter learner asked for; cuts and structure are learned inside each."""
    folds = []
    with warnings.catch_warnings():
        # Warnings about the columns were given for all rows.
        warnings.simplefilter("ignore", BnplugWarning)
        for train, test in splits(rows, n_folds, model.random_state):
            others = {"on_useless": "drop", "unlabeled": None}
            table, encoder = model._encode_training(train.frame, train.y, train.weights, others, name=model.target_)
            _, learned = find_structure(model, table)
            # Held-out rows are encoded by the states of the training rows; rows of an unknown class are omitted.
            classes = pd.Index(encoder.classes).get_indexer(pd.Index(test.labels))
            codes = encoder.encode(test.frame, table, "missing").copy()
            codes[table.target_index] = np.maximum(classes, 0)
            kept = table.left_out, table.missing_policy
            coded = Table(codes, table.names, table.states, table.target, test.weights, *kept)
            folds.append(InnerFold(table, learned.structure, coded.take(classes >= 0)))
    return folds
