"""Folds inside the training rows, in each of which cuts, states and structure are learned again."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from bnplug.arrays import BoolArray, FloatArray, IntArray
from bnplug.contracts import InnerFold
from bnplug.data.class_labels import _labels_and_gaps
from bnplug.data.intake import Intake, _learning_weights
from bnplug.data.missing_cells import MissingCells
from bnplug.data.table import Table
from bnplug.data.weights import present_rows
from bnplug.errors import BnplugWarning

if TYPE_CHECKING:
    from bnplug.typing import DAG


class RawRows(NamedTuple):
    """Training rows as they came, without those of weight 0.

    Attributes
    ----------
    frame : pandas frame
    labels : array
        Their classes.
    weights : float64 array or None
        What they count for, class weights included.
    gaps : bool array
        Which rows have no class; what `labels` hold there is of no meaning.
    """

    frame: pd.DataFrame
    labels: npt.NDArray[Any]
    weights: FloatArray | None
    gaps: BoolArray

    @classmethod
    def of(cls, model: Any, frame: pd.DataFrame, y: Any, sample_weight: Any) -> RawRows:
        """Return the rows that are there, as the parameters of a classifier take them."""
        may_lack = MissingCells.of(model.missing).incomplete == "em"
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
    """Yield the training rows and those held out of stratified, shuffled folds.

    There are no more folds than the largest class has rows. A fold whose training rows have one class is left out.
    Rows without a class are among all training rows, and never held out.
    Without a `random_state` the rows are shuffled in one way all the same: files are often sorted.
    """
    from sklearn.model_selection import StratifiedKFold

    known, unlabeled = np.flatnonzero(~rows.gaps), np.flatnonzero(rows.gaps)
    labels = rows.labels[known]
    counts = np.unique(labels, return_counts=True)[1]
    n_folds = min(n_folds, int(counts.max()))
    if n_folds < 2:
        return
    if isinstance(random_state, np.random.RandomState):
        random_state = int(random_state.randint(2**31 - 1))
    splitter = StratifiedKFold(n_folds, shuffle=True, random_state=0 if random_state is None else random_state)
    with warnings.catch_warnings():
        # A class with fewer rows than folds is absent from some of them.
        warnings.simplefilter("ignore", UserWarning)
        found = list(splitter.split(np.zeros((len(labels), 1)), labels))
    for train, test in found:
        if len(np.unique(labels[train])) > 1:
            yield rows.take(np.sort(np.concatenate([known[train], unlabeled]))), rows.take(known[test])


def inner_folds(
    rows: RawRows,
    n_folds: int,
    random_state: Any,
    code: Callable[[RawRows], tuple[Table, Intake]],
    learn: Callable[[Table], DAG],
) -> list[InnerFold]:
    """Return the folds that a parameter learner asked for.

    Parameters
    ----------
    rows : RawRows
    n_folds : int
    random_state : int or RandomState, optional
    code : function
        Makes rows discrete, by themselves.
    learn : function
        Returns the structure of coded rows.
    """
    folds = []
    with warnings.catch_warnings():
        # What there is to say about the columns was said about all rows.
        warnings.simplefilter("ignore", BnplugWarning)
        for train, test in splits(rows, n_folds, random_state):
            table, intake = code(train)
            folds.append(InnerFold(table, learn(table), _coded_alike(test, table, intake)))
    return folds


def _coded_alike(rows: RawRows, table: Table, intake: Intake) -> Table:
    """Return rows as the states of `table`, without those whose class it does not have."""
    classes = pd.Index(intake.classes).get_indexer(pd.Index(rows.labels))
    codes = intake.encode(rows.frame, table, "missing").copy()
    codes[table.target_index] = np.maximum(classes, 0)
    coded = Table(codes, table.names, table.states, table.target, rows.weights, table.left_out, table.incomplete)
    return coded if (classes >= 0).all() else coded.take(classes >= 0)
