"""Bagging (Breiman 1996): a network for each of many samples of the rows, and the mean of what they say."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_consistent_length, check_random_state
from sklearn.utils.validation import check_is_fitted

from bnplug import BayesianNetworkClassifier
from bnplug.hooks.components import check_numbers

if TYPE_CHECKING:
    from bnplug.typing import FloatArray


class MyClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """The mean of networks that were learned from samples of the rows, drawn with replacement in each class.

    It gets columns as they come, numbers and words, with cells missing: the networks make of them what they need.

    Parameters
    ----------
    structure : str, (str, mapping) or StructureLearner
        The structure of every network.
    n_members : int
        How many networks.
    random_state : int or RandomState, optional
        What the samples are drawn by.

    Attributes
    ----------
    classes_ : array
        The class labels.
    members_ : list of BayesianNetworkClassifier
        The networks.

    Examples
    --------
    >>> from bnplug.datasets import iris
    >>> X, y = iris()
    >>> len(MyClassifier(n_members=3, random_state=0).fit(X, y).members_)
    3
    """

    def __init__(self, structure: Any = "tan", n_members: int = 5, random_state: Any = None) -> None:
        self.structure = structure
        self.n_members = n_members
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> MyClassifier:
        """Learn every network; a row that is drawn twice has the weight 2."""
        check_numbers(self, "n_members", positive=True)
        check_consistent_length(X, y)
        random = check_random_state(self.random_state)
        samples = [_sample(np.asarray(y), random) for _ in range(self.n_members)]
        self.members_ = [self._network().fit(X, y, sample_weight=weights) for weights in samples]
        self.classes_ = self.members_[0].classes_
        return self

    def predict_proba(self, X: Any) -> FloatArray:
        """Return P(class | known features) for every row, classes in the order of ``classes_``."""
        check_is_fitted(self)
        mean: FloatArray = np.mean([member.predict_proba(X) for member in self.members_], axis=0)
        return mean

    def predict(self, X: Any) -> Any:
        """Return the most probable class of every row."""
        likeliest = self.predict_proba(X).argmax(axis=1)
        return self.classes_[likeliest]

    def saved_state(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return what ``fit`` has found, for ``bnplug.save``: a dict that JSON can hold, and named arrays."""
        saved = [member.saved_state() for member in self.members_]
        arrays = {f"{i}/{name}": array for i, (_, parts) in enumerate(saved) for name, array in parts.items()}
        return {"members": [state for state, _ in saved]}, arrays

    def restore_state(self, state: Mapping[str, Any], arrays: Mapping[str, Any]) -> MyClassifier:
        """Take over what ``saved_state`` has returned; the parameters are those of the constructor."""
        self.members_ = []
        for i, saved in enumerate(state["members"]):
            prefix = f"{i}/"
            kept = {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}
            self.members_.append(self._network().restore_state(saved, kept))
        self.classes_ = self.members_[0].classes_
        return self

    def _network(self) -> BayesianNetworkClassifier:
        return BayesianNetworkClassifier(self.structure)


def _sample(y: Any, random: np.random.RandomState) -> FloatArray:
    """Return how often each row is drawn, in as many draws from each class as it has rows."""
    times = np.zeros(len(y))
    for label in np.unique(y):
        rows = np.flatnonzero(y == label)
        times[rows] = random.multinomial(len(rows), np.full(len(rows), 1 / len(rows)))
    return times
