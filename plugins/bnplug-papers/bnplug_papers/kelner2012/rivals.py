"""The paper's rivals outside Bayesian networks: classifiers that get bin numbers, and a tree that is pruned.

The paper quantised its columns once, for all classifiers, so that its support vector machines and neural networks saw
numbers of bins, and of categories, as if they were quantities.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.model_selection import StratifiedKFold
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from bnplug import BayesianNetworkClassifier
from bnplug.typing import FloatArray, IntArray


class OnBinNumbers(ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """A classifier on the numbers, from 1 on, of the bins and categories that a network would see."""

    def __init__(self, estimator: Any, network: Any = None) -> None:
        self.estimator = estimator
        self.network = network

    def fit(self, X: pd.DataFrame, y: pd.Series[Any]) -> OnBinNumbers:
        """Learn cut points and the classifier from the training rows."""
        self.network_ = clone(self.network).fit(X, y)
        self.estimator_ = clone(self.estimator).fit(self._numbers(X), y)
        self.classes_ = self.estimator_.classes_
        return self

    def predict(self, X: pd.DataFrame) -> Any:
        """Return the classes of rows."""
        return self.estimator_.predict(self._numbers(X))

    def _numbers(self, X: pd.DataFrame) -> FloatArray:
        schema = self.network_.schema_
        codes = self.network_.encoder_.encode(X, schema)
        features = list(schema.features)
        # From 1 on; a value that training has not seen gets the number after the last.
        numbers: FloatArray = 1 + np.minimum(codes[features].T.astype(float), schema.cards[features].astype(float))
        return numbers


class PrunedTree(ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """CART: a whole tree, pruned by error and size, how much being found by cross-validation (Breiman et al. 1984).

    Of the pruned trees along the path it takes the smallest whose error in `cv` folds of the training rows is within
    one standard error of the least.
    """

    def __init__(self, cv: int = 10, random_state: Any = None) -> None:
        self.cv = cv
        self.random_state = random_state

    def fit(self, X: FloatArray, y: Any) -> PrunedTree:
        """Grow the tree and choose its size."""
        self.classes_, labels = np.unique(y, return_inverse=True)
        self._tree = self._grow(X, labels)
        self._prices = prune(self._tree)
        path = np.unique([0.0, *self._prices[np.isfinite(self._prices)]])
        # Between two prices the subtree is the same: folds are asked in the (geometric) middle.
        asked = np.append(np.sqrt(path[:-1] * path[1:]), np.inf)
        errors = np.zeros(len(asked))
        for train, test in StratifiedKFold(self.cv, shuffle=True, random_state=self.random_state).split(X, labels):
            tree = self._grow(X[train], labels[train])
            prices = prune(tree)
            errors += [np.sum(answer(tree, prices, X[test], price) != labels[test]) for price in asked]
        rate = errors / len(labels)
        least = rate.min()
        within = least + np.sqrt(least * (1 - least) / len(labels))
        self.price_ = float(path[np.flatnonzero(rate <= within)[-1]])
        return self

    def predict(self, X: FloatArray) -> Any:
        """Return the classes of rows."""
        return self.classes_[answer(self._tree, self._prices, X, self.price_)]

    def _grow(self, X: FloatArray, labels: IntArray) -> Any:
        return DecisionTreeClassifier(random_state=self.random_state).fit(X, labels)


def prune(tree: DecisionTreeClassifier) -> FloatArray:
    """Return for each node the price of a leaf (in rows of error) from which on it is a leaf itself.

    That of a leaf is minus infinity; infinity: an ancestor is a leaf before. The weakest link goes first.
    """
    left, right = tree.tree_.children_left, tree.tree_.children_right
    counts = tree.tree_.value[:, 0, :] * tree.tree_.weighted_n_node_samples[:, None]
    errors = np.round(counts.sum(axis=1) - counts.max(axis=1))
    below, leaves, size = errors.copy(), np.ones(len(errors)), np.ones(len(errors), dtype=int)
    parent = np.full(len(errors), -1)
    # Nodes are in preorder: children come after their parents, and a subtree is its node and those right after it.
    for node in range(len(errors) - 1, -1, -1):
        if left[node] >= 0:
            both = [left[node], right[node]]
            parent[both] = node
            below[node], leaves[node], size[node] = below[both].sum(), leaves[both].sum(), 1 + size[both].sum()
    prices = np.where(left < 0, -np.inf, np.inf)
    links, price = np.full(len(errors), np.inf), 0.0
    inner = left >= 0
    while inner.any():
        links[inner] = (errors - below)[inner] / (leaves[inner] - 1)
        weakest = int(np.argmin(links))
        price = prices[weakest] = max(price, links[weakest])
        subtree = slice(weakest, weakest + size[weakest])
        inner[subtree], links[subtree] = False, np.inf
        fewer, more, ancestor = leaves[weakest] - 1, errors[weakest] - below[weakest], weakest
        while ancestor >= 0:
            leaves[ancestor] -= fewer
            below[ancestor] += more
            ancestor = parent[ancestor]
    return prices


def answer(tree: DecisionTreeClassifier, prices: FloatArray, X: FloatArray, price: float) -> IntArray:
    """Return the classes of rows by the tree that is pruned at a price: of the first node on its way that is a leaf."""
    inner, X = tree.tree_, np.asarray(X, dtype=np.float32)
    node, rows = np.zeros(len(X), dtype=np.int64), np.arange(len(X))
    for _ in range(inner.max_depth):
        goes_left = X[rows, np.maximum(inner.feature[node], 0)] <= inner.threshold[node]
        below = np.where(goes_left, inner.children_left[node], inner.children_right[node])
        node = np.where(prices[node] <= price, node, below)
    labels: IntArray = tree.classes_[np.argmax(inner.value[node, 0, :], axis=1)]
    return labels


def rivals(scaled: bool = True, degree: int = 3) -> dict[str, Any]:
    """Return the rivals by the paper's names, on bin numbers, which are scaled to [0, 1] unless told.

    The support vector machines have the defaults of LIBSVM: C = 1, degree 3, a width of one over the number of columns.
    """
    network = BayesianNetworkClassifier("nb", "ml", discretizer="mdl", calibrate=None)
    made = on_numbers(degree)
    if scaled:
        made = {name: make_pipeline(MinMaxScaler(), model) for name, model in made.items()}
    return {name: OnBinNumbers(model, network) for name, model in made.items()}


def on_numbers(degree: int = 3) -> dict[str, Any]:
    """Return the rivals as they are: a comparison scales numbers for them, and makes discrete columns one-hot."""
    return {
        "CT": PrunedTree(),
        "NN": MLPClassifier(max_iter=500),
        "SVM (linear)": SVC(kernel="linear"),
        "SVM (polynomial)": SVC(kernel="poly", degree=degree, gamma="auto"),
        "SVM (Gaussian)": SVC(gamma="auto"),
    }
