"""BayesianNetworkImputer: missing cells filled in by a network, as a scikit-learn transformer."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin, clone
from sklearn.utils.validation import check_is_fitted

from bnplug.classifier.estimator import BayesianNetworkClassifier
from bnplug.network._fitted import named_frame
from bnplug.network._imputing import WAYS, imputed
from bnplug.table.frames import is_frame


class BayesianNetworkImputer(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Fills in missing cells by a Bayesian network that is learned from incomplete rows.

    The class helps to learn the network; what is filled in depends on the features alone.

    Parameters
    ----------
    estimator : BayesianNetworkClassifier, optional
        What learns the network; by default `tan` with ``missing="em"``.
    how : {"most_probable", "sample"}
        All missing cells of a row in their most probable joint state; or drawn from their distribution, given what the
        row knows, which keeps the spread of the data.
    random_state : int or RandomState, optional
        What is drawn with; an int draws alike each time.

    Attributes
    ----------
    estimator_ : BayesianNetworkClassifier
        The fitted network.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Examples
    --------
    >>> import pandas as pd
    >>> X = pd.DataFrame({"sky": ["sun", "rain", "sun", "rain", None], "wet": ["no", "yes", "no", "yes", "yes"]})
    >>> y = ["go", "stay", "go", "stay", "stay"]
    >>> BayesianNetworkImputer().fit_transform(X, y)["sky"].tolist()
    ['sun', 'rain', 'sun', 'rain', 'rain']
    """

    def __init__(self, estimator: Any = None, how: str = "most_probable", random_state: Any = None) -> None:
        self.estimator = estimator
        self.how = how
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn the network; the parameters are as for :meth:`bnplug.BayesianNetworkClassifier.fit`."""
        if self.how not in WAYS:
            raise ValueError(f"how={self.how!r} is not one of {list(WAYS)}")
        made = (
            BayesianNetworkClassifier(missing="em", calibrate=None) if self.estimator is None else clone(self.estimator)
        )
        if not isinstance(made, BayesianNetworkClassifier):
            raise TypeError(f"estimator={self.estimator!r} is no BayesianNetworkClassifier")
        self.estimator_ = made.fit(X, y, sample_weight)
        self.n_features_in_ = made.n_features_in_
        if hasattr(made, "feature_names_in_"):
            self.feature_names_in_ = made.feature_names_in_
        self._donors = named_frame(made, X), np.asarray(made.encode(X))
        return self

    def transform(self, X: Any) -> Any:
        """Return rows with their missing cells filled in: a frame, or of an array an array.

        A numeric cell gets a value of training that is in its bin: the middle one, or one that is drawn.
        """
        check_is_fitted(self)
        filled = imputed(self.estimator_, X, self.how, self.random_state, self._donors)
        return filled if is_frame(X) else filled.to_numpy()

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.allow_nan = tags.input_tags.categorical = tags.input_tags.string = True
        return tags
