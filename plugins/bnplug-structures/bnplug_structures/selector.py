"""A scikit-learn selector of the features in the Markov blanket of the class."""

from __future__ import annotations

import warnings
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.feature_selection import SelectorMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from bnplug import encode_training
from bnplug.search import Constraints
from bnplug.table.frames import is_frame, to_frame
from bnplug.typing import BoolArray
from bnplug_structures.blanket import BlanketSearch
from bnplug_structures.independence import check_levels


class MarkovBlanketSelector(SelectorMixin, BaseEstimator):  # type: ignore[misc]
    """Selects the features in the Markov blanket of the class: given these, no other feature matters.

    Numeric columns are discretized for the tests only; the selected columns are returned as they are. Text, categories
    and missing cells are accepted.

    Parameters
    ----------
    test : "g", "chi-squared" or callable
        The test of conditional independence, as for `pc`.
    alpha : float
        The significance level.
    max_conditions : int, optional
        The largest set of neighbors that may separate two variables; None means no limit.
    min_rows : float
        Rows needed for each degree of freedom of a test with a conditioning set; with fewer, the set does not separate.
    discretizer : str, (str, dict) or Discretizer
        The bins of numeric columns. By default few bins that separate the classes.
    rules : dict, optional
        Further options of :func:`bnplug.encode_training`, such as ``{"categorical_features": ["zip"]}``.
    n_jobs : int, optional
        Threads that count.

    Attributes
    ----------
    support_ : bool array of shape (features,)
        Whether each feature is selected.
    neighbors_ : bool array of shape (features,)
        Whether each feature is adjacent to the class.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Examples
    --------
    >>> from bnplug import BayesianNetworkClassifier
    >>> from bnplug.datasets import corral
    >>> from sklearn.pipeline import make_pipeline
    >>> X, y = corral()
    >>> selector = MarkovBlanketSelector().fit(X, y)
    >>> list(selector.get_feature_names_out())
    ['A0', 'A1', 'B0', 'B1', 'Correlated']
    >>> make_pipeline(selector, BayesianNetworkClassifier()).fit(X, y).score(X, y)
    1.0
    """

    def __init__(
        self,
        test: Any = "g",
        alpha: float = 0.05,
        max_conditions: int | None = 3,
        min_rows: float = 1.0,
        discretizer: Any = "mdl",
        rules: dict[str, Any] | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.test = test
        self.alpha = alpha
        self.max_conditions = max_conditions
        self.min_rows = min_rows
        self.discretizer = discretizer
        self.rules = rules
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Find the Markov blanket of the class.

        Parameters
        ----------
        X : frame or array of shape (rows, features)
        y : array-like of shape (rows,)
            The class of every row.
        sample_weight : array-like of shape (rows,), optional
            A row of weight 2 is equivalent to two rows.
        """
        check_levels(self)
        if y is None:
            raise ValueError("MarkovBlanketSelector requires y to be passed, but the target y is None")
        if not is_frame(X):
            X = validate_data(self, X, dtype=None, ensure_all_finite=False)
        rules = {"discretizer": self.discretizer, **(self.rules or {})}
        table, encoder = encode_training(X, y, sample_weight, **rules)
        validate_data(self, X, skip_check_array=True)
        search = BlanketSearch.of(self, table, Constraints(table))
        neighbors, blanket = search.blanket(table.target_index)
        self.support_, self.neighbors_ = (
            np.isin(list(encoder.columns), [table.names[v] for v in part]) for part in (blanket, neighbors)
        )
        return self

    def transform(self, X: Any) -> Any:
        """Return the selected columns: of a frame as a frame, of an array as an array.

        Parameters
        ----------
        X : frame or array of shape (rows, features)
        """
        check_is_fitted(self)
        if is_frame(X) and hasattr(self, "feature_names_in_"):
            if not self.support_.any():
                warnings.warn("No features were selected: the class depends on none of them", UserWarning, stacklevel=2)
            return to_frame(X)[list(self.get_feature_names_out())]
        return super().transform(X)

    def _get_support_mask(self) -> BoolArray:
        check_is_fitted(self)
        return self.support_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.allow_nan = tags.input_tags.categorical = tags.input_tags.string = True
        return tags
