"""Support vector machines and logistic regression on the bins that networks see."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, StratifiedKFold, StratifiedShuffleSplit
from sklearn.svm import SVC, LinearSVC

import bnplug
from bnplug.table.table import Table
from bnplug.typing import FloatArray

#: The paper's grids: the penalty, and the width of the Gaussian kernel; and coarser ones.
PENALTIES = tuple(2.0**exponent for exponent in range(-2, 11))
WIDTHS = tuple(2.0**exponent for exponent in range(-5, 6))
COARSE_PENALTIES, COARSE_WIDTHS = (1.0, 16.0, 256.0), (2.0, 8.0, 32.0)
#: Settings are chosen on one hold-out where there are more rows than `MANY`, and on no more than `MOST` rows.
MANY, MOST = 1500, 5000
RIVALS = ("LR", "linear SVM", "SVM")

_NEIGHBOURS = 5
# How many distances are kept at a time.
_CELLS = 20_000_000


class Rival(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier of scikit-learn on one-hot bins; missing ones are the mean of the five nearest training rows.

    Parameters
    ----------
    classifier : estimator
    grid : mapping of str to values
        What is chosen by accuracy on rows held out; it is then learned from all rows.
    categorical_features
        As for `BayesianNetworkClassifier`.
    """

    def __init__(self, classifier: Any, grid: Mapping[str, Any], categorical_features: Any = "auto") -> None:
        self.classifier = classifier
        self.grid = grid
        self.categorical_features = categorical_features

    def fit(self, X: pd.DataFrame, y: Any) -> Self:
        """Learn cuts, settings and the classifier."""
        kinds = self.categorical_features
        table, self.encoder_ = bnplug.encode_training(
            X, y, discretizer="mdl", categorical_features=kinds, name="(class)"
        )
        self.schema_ = table.take([])
        self.rows_ = one_hot(self.encoder_.encode(X, self.schema_), self.schema_)
        self.classes_, self.chosen_ = np.unique(y), self._choose(np.asarray(y))
        self.classifier_ = clone(self.classifier).set_params(**self.chosen_).fit(self.rows_, y)
        return self

    def _choose(self, y: Any) -> dict[str, float]:
        if not self.grid:
            return {}
        some = np.random.default_rng(0).permutation(len(y))[:MOST]
        folds = StratifiedKFold(5, shuffle=True, random_state=0)
        if len(y) > MANY:
            # A class that is there once cannot be on both sides.
            _, place, counts = np.unique(y[some], return_inverse=True, return_counts=True)
            some = some[counts[place] > 1]
            folds = StratifiedShuffleSplit(1, test_size=0.2, random_state=0)
        search = GridSearchCV(self.classifier, dict(self.grid), cv=folds, refit=False)
        return dict(search.fit(self.rows_[some], y[some]).best_params_)

    def predict(self, X: pd.DataFrame) -> Any:
        """Return the class of each row."""
        rows = one_hot(self.encoder_.encode(X, self.schema_), self.schema_)
        return self.classifier_.predict(impute(rows, self.rows_))


def rival(method: str, coarse: bool, categorical_features: Any = "auto") -> Rival:
    """Return one of `RIVALS`, with the paper's grids or coarser ones."""
    penalties, widths = (COARSE_PENALTIES, COARSE_WIDTHS) if coarse else (PENALTIES, WIDTHS)
    models: dict[str, tuple[Any, dict[str, Sequence[float]]]] = {
        "LR": (LogisticRegression(max_iter=500), {}),
        "linear SVM": (LinearSVC(random_state=0), {"C": penalties}),
        "SVM": (SVC(cache_size=500), {"C": penalties, "gamma": [1.0 / (2.0 * width**2) for width in widths]}),
    }
    return Rival(*models[method], categorical_features)


def one_hot(codes: Any, schema: Table) -> FloatArray:
    """Return a column of zeros and ones for each state of each feature; NaN in all of them where it is missing."""
    blocks = []
    for v in schema.features:
        # A state that no training row has is none of them.
        block = np.eye(int(schema.cards[v]) + 1)[np.minimum(codes[v], schema.cards[v])][:, :-1]
        block[codes[v] == schema.missing] = np.nan
        blocks.append(block)
    return np.concatenate(blocks, axis=1)


def impute(rows: FloatArray, complete: FloatArray) -> FloatArray:
    """Fill missing cells with the mean of the five complete rows that are nearest by what is known.

    As ``sklearn.impute.KNNImputer``, which looks for neighbors for every column anew.
    """
    filled, lacking = rows.copy(), np.flatnonzero(np.isnan(rows).any(axis=1))
    squares, most = complete**2, min(_NEIGHBOURS, len(complete))
    for part in np.array_split(lacking, 1 + len(lacking) * len(complete) // _CELLS):
        known = ~np.isnan(rows[part])
        distances = known @ squares.T - 2 * np.where(known, rows[part], 0.0) @ complete.T
        nearest = np.argpartition(distances, most - 1, axis=1)[:, :most]
        filled[part] = np.where(known, rows[part], complete[nearest].mean(axis=1))
    return filled
