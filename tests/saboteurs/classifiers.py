"""Classifiers, each with one fault; a healthy one comes first."""

from functools import partial

import numpy as np
import pandas as pd
from saboteurs.registering import register
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from bnplug import BayesianNetworkClassifier, ClassifierMethod

SABOTEURS = []
fails = partial(register, SABOTEURS, ClassifierMethod)


class Wrapped(ClassifierMixin, BaseEstimator):
    """Whatever a network with one structure says."""

    def __init__(self, structure="nb"):
        self.structure = structure

    def fit(self, X, y, sample_weight=None):
        self.network_ = BayesianNetworkClassifier(self.structure, "ml", calibrate=None).fit(
            X, y, sample_weight=sample_weight
        )
        self.classes_ = self.network_.classes_
        return self

    def predict_proba(self, X):
        check_is_fitted(self)
        return self.network_.predict_proba(X)

    def predict(self, X):
        likeliest = self.predict_proba(X).argmax(axis=1)
        return self.classes_[likeliest]

    def saved_state(self):
        return self.network_.saved_state()

    def restore_state(self, state, arrays):
        self.network_ = BayesianNetworkClassifier(self.structure, "ml").restore_state(state, arrays)
        self.classes_ = self.network_.classes_
        return self


@fails("check_input_not_mutated")
class FillsTheFrameItIsGiven(Wrapped):
    def fit(self, X, y, sample_weight=None):
        if isinstance(X, pd.DataFrame) and "length" in X:
            X["length"] = X["length"].fillna(0.0).round(3)
        return super().fit(X, y, sample_weight)


@fails("check_parameters_untouched")
class ResolvesItsParameter(Wrapped):
    def fit(self, X, y, sample_weight=None):
        super().fit(X, y, sample_weight)
        self.structure = self.network_.structure_
        return self


@fails("check_same_seed_same_result")
class DrawsFromTheGlobalGenerator(Wrapped):
    def fit(self, X, y, sample_weight=None):
        drawn = 1.0 + 1e-4 * np.random.random_sample(len(X))  # noqa: NPY002
        return super().fit(X, y, drawn if sample_weight is None else drawn * sample_weight)


@fails("check_pickles")
class HoldsAFunctionWithoutAName(Wrapped):
    def fit(self, X, y, sample_weight=None):
        self.decide_ = lambda values: values
        return super().fit(X, y, sample_weight)


@fails("check_is_a_classifier")
class ReturnsTheNetwork(Wrapped):
    def fit(self, X, y, sample_weight=None):
        return super().fit(X, y, sample_weight).network_


@fails("check_unfitted_says_so")
class AttributeErrorBeforeFit(Wrapped):
    def predict_proba(self, X):
        return self.network_.predict_proba(X)


@fails("check_classes_keep_their_type")
class ClassesAreObjects(Wrapped):
    def predict(self, X):
        return super().predict(X).astype(object)


@fails("check_learns_what_a_column_tells")
class KnowsTheClassesOnly(Wrapped):
    def fit(self, X, y, sample_weight=None):
        super().fit(X, y, sample_weight)
        nothing = pd.DataFrame({"x": np.zeros(len(y))})
        self.network_ = BayesianNetworkClassifier("nb", discretizer="none")
        self.network_.fit(nothing, y, sample_weight=sample_weight)
        return self

    def predict_proba(self, X):
        check_is_fitted(self)
        return self.network_.predict_proba(pd.DataFrame({"x": np.zeros(len(X))}))


@fails("check_arrays_will_do")
class FramesOnly(Wrapped):
    def fit(self, X, y, sample_weight=None):
        return super().fit(X[list(X.columns)], y, sample_weight)


@fails("check_missing_cells_everywhere")
class RefusesMissingCells(Wrapped):
    def predict_proba(self, X):
        check_is_fitted(self)
        if pd.DataFrame(X).isna().all(axis=0).any():
            raise ValueError("a column is empty")
        return super().predict_proba(X)


@fails("check_values_never_seen")
class RefusesValuesNeverSeen(Wrapped):
    def fit(self, X, y, sample_weight=None):
        self.colours_ = set(X["colour"].dropna()) if hasattr(X, "colour") else set()
        return super().fit(X, y, sample_weight)

    def predict_proba(self, X):
        check_is_fitted(self)
        if self.colours_ and set(X["colour"].dropna()) - self.colours_:
            raise ValueError("found unknown categories")
        return super().predict_proba(X)

    def saved_state(self):
        state, arrays = super().saved_state()
        return {"colours": sorted(self.colours_), "network": state}, arrays

    def restore_state(self, state, arrays):
        self.colours_ = set(state["colours"])
        return super().restore_state(state["network"], arrays)


@fails("check_columns_go_by_name")
class TakesColumnsByPosition(Wrapped):
    def fit(self, X, y, sample_weight=None):
        self.names_ = list(X.columns) if hasattr(X, "columns") else None
        return super().fit(X, y, sample_weight)

    def predict_proba(self, X):
        check_is_fitted(self)
        return super().predict_proba(X.set_axis(self.names_, axis=1) if self.names_ else X)

    def saved_state(self):
        state, arrays = super().saved_state()
        return {"names": self.names_, "network": state}, arrays

    def restore_state(self, state, arrays):
        self.names_ = state["names"]
        return super().restore_state(state["network"], arrays)


@fails("check_row_labels_do_not_matter")
class JoinsByTheIndex(Wrapped):
    def fit(self, X, y, sample_weight=None):
        if isinstance(y, pd.Series):
            y = y.sort_index().to_numpy()
        return super().fit(X, y, sample_weight)


@fails("check_rows_are_answered_alone")
class RanksTheRowsItIsAsked(Wrapped):
    def predict_proba(self, X):
        values = super().predict_proba(X)
        mixed = 0.9 * values + 0.1 * values.mean(axis=0)
        return mixed / mixed.sum(axis=1, keepdims=True)


@fails("check_fit_starts_anew")
class KeepsItsFirstNetwork(Wrapped):
    def fit(self, X, y, sample_weight=None):
        if not hasattr(self, "network_"):
            super().fit(X, y, sample_weight)
        return self


@fails("check_lengths_must_agree")
class CutsTheLongerOne(Wrapped):
    def fit(self, X, y, sample_weight=None):
        n = min(len(X), len(y))
        return super().fit(X[:n], y[:n], None if sample_weight is None else sample_weight[:n])


@fails("check_order_of_rows_does_not_matter")
class ForgetsTheLastRows(Wrapped):
    def fit(self, X, y, sample_weight=None):
        recent = np.linspace(0.5, 1.5, len(X)) if sample_weight is None and len(X) == 120 else sample_weight
        return super().fit(X, y, recent)


@fails("check_weight_is_a_row_repeated")
class IgnoresWeights(Wrapped):
    def fit(self, X, y, sample_weight=None):
        return super().fit(X, y)


@fails("check_saved_and_loaded")
class CannotBeSaved(Wrapped):
    saved_state = None


@fails("check_saved_and_loaded")
class SavesHalfOfTheBits(Wrapped):
    def saved_state(self):
        state, arrays = super().saved_state()
        return state, {name: own.astype(np.float32).astype(np.float64) for name, own in arrays.items()}


@fails("check_saved_and_loaded")
class SavesWhatIsNoJson(Wrapped):
    def saved_state(self):
        state, arrays = super().saved_state()
        return {**state, "classes": {1, 2}}, arrays


@fails("check_saved_and_loaded")
class HasAParameterThatNoFileHolds(Wrapped):
    def __init__(self, structure="nb", decide=np.argmax):
        super().__init__(structure)
        self.decide = decide

    def fit(self, X, y, sample_weight=None):
        self.decide([0.0])
        return super().fit(X, y, sample_weight)
