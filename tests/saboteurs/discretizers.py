"""Discretisers, each with one fault; a healthy one comes first."""

from functools import partial

import numpy as np
from saboteurs.registering import register
from sklearn.base import BaseEstimator, TransformerMixin

from bnplug import Discretizer, DiscretizerMethod

SABOTEURS = []
fails = partial(register, SABOTEURS, DiscretizerMethod)


class Median(TransformerMixin, BaseEstimator):
    """One cut in each column: the value at which half of the weight is reached."""

    def fit(self, X, y=None, sample_weight=None):
        weights = np.ones(len(X)) if sample_weight is None else np.asarray(sample_weight)
        self.cut_points_ = [self.cuts(column, weights) for column in np.asarray(X, dtype=float).T]
        return self

    def cuts(self, values, weights):
        known = ~np.isnan(values) & (weights > 0)
        order = np.argsort(values[known])
        values, total = values[known][order], np.cumsum(weights[known][order])
        return values[[np.searchsorted(total, 0.5 * total[-1])]]

    def transform(self, X):
        return np.column_stack([
            np.where(np.isnan(column), np.nan, np.searchsorted(cuts, column))
            for column, cuts in zip(np.asarray(X, dtype=float).T, self.cut_points_, strict=True)
        ])  # fmt: skip


class MedianOfSummary(Discretizer):
    """The same from the summary of a column."""

    def cuts(self, column):
        total = np.cumsum(column.weights)
        return column.values[[np.searchsorted(total, 0.5 * total[-1])]]


class CutsInDescendingOrder(Median):
    """A classifier refuses these too, so that more than one check fails."""

    def fit(self, X, y=None, sample_weight=None):
        super().fit(X, y, sample_weight)
        self.cut_points_ = [np.array([own[0], own[0] - 1.0]) for own in self.cut_points_]
        return self

    def transform(self, X):
        X = np.asarray(X, dtype=float)
        return np.column_stack(
            [np.searchsorted(own[::-1], column) for column, own in zip(X.T, self.cut_points_, strict=True)]
        )


@fails("check_cut_points")
class CutsInATuple(Median):
    def fit(self, X, y=None, sample_weight=None):
        super().fit(X, y, sample_weight)
        self.cut_points_ = tuple(self.cut_points_)
        return self


@fails("check_weights_are_rows")
class IgnoresWeights(Median):
    def cuts(self, values, weights):
        return super().cuts(values, np.ones_like(weights))


@fails("check_class_matters_as_declared")
class MedianOfTheFirstClass(Median):
    def fit(self, X, y=None, sample_weight=None):
        weights = np.ones(len(X)) if sample_weight is None else np.asarray(sample_weight)
        return super().fit(X, y, weights * (np.asarray(y) == np.min(y)))


@fails("check_class_matters_as_declared")
class LooksAtTheClassWithoutDeclaringIt(MedianOfSummary):
    supervised = True


@fails("check_files_have_the_same_cuts")
class FitsInMemoryInAnotherWay(MedianOfSummary):
    def fit(self, X, y=None, sample_weight=None):
        super().fit(X, y, sample_weight)
        self.cut_points_ = [cuts + 0.1 for cuts in self.cut_points_]
        return self


@fails("check_missing_numbers_take_no_part")
class TakesMissingForALargeNumber(Median):
    def cuts(self, values, weights):
        return super().cuts(np.where(np.isnan(values), 1e3, values), weights)


@fails("check_new_rows_move_no_cut")
class LearnsFromNewRows(Median):
    def transform(self, X):
        if np.nanmax(np.asarray(X, dtype=float)) > 50:
            self.fit(X)
        return super().transform(X)


@fails("check_bins_follow_from_cuts")
class PutsACutAbove(Median):
    def transform(self, X):
        return np.column_stack([
            np.where(np.isnan(column), np.nan, np.searchsorted(cuts, column, side="right"))
            for column, cuts in zip(np.asarray(X, dtype=float).T, self.cut_points_, strict=True)
        ])  # fmt: skip


@fails("check_goes_by_name_and_is_saved")
class HasAParameterThatNoFileHolds(Median):
    def __init__(self, middle=np.median):
        self.middle = middle

    def fit(self, X, y=None, sample_weight=None):
        self.middle([0.0])
        return super().fit(X, y, sample_weight)
