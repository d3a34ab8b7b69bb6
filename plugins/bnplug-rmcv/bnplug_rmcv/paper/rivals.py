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
from bnplug.arrays import FloatArray, IntArray


class OnBinNumbers(ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """A classifier on the numbers, from 1 on, of the bins and categories that a network would see.

    Parameters
    ----------
    estimator : classifier
        Of numbers.
    network : BayesianNetworkClassifier
        Says how columns are cut; its structure does not matter.
    """

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
        codes = self.network_.intake_.encode(X, schema)
        features = list(schema.features)
        # From 1 on; a value that training has not seen gets the number after the last.
        numbers: FloatArray = 1 + np.minimum(codes[features].T.astype(float), schema.cards[features].astype(float))
        return numbers


class PrunedTree(ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """CART: a whole tree, pruned by error and size, how much being found by cross-validation (Breiman et al. 1984).

    Of the pruned trees along the path it takes the smallest whose error in `cv` folds of the training rows is within
    one standard error of the least.

    Parameters
    ----------
    cv : int
    random_state : int or RandomState, optional
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
            errors += errors_by_price(tree, prune(tree), X[test], labels[test], asked)
        rate = errors / len(labels)
        least = rate.min()
        within = least + np.sqrt(least * (1 - least) / len(labels))
        self.price_ = float(path[np.flatnonzero(rate <= within)[-1]])
        return self

    def predict(self, X: FloatArray) -> Any:
        """Return the classes of rows."""
        nodes, found = _paths(self._tree, X)
        first = np.argmax(self._prices[nodes] <= self.price_, axis=1)
        return self.classes_[found[nodes[np.arange(len(nodes)), first]]]

    def _grow(self, X: FloatArray, labels: IntArray) -> Any:
        return DecisionTreeClassifier(random_state=self.random_state).fit(X, labels)


def prune(tree: DecisionTreeClassifier) -> FloatArray:
    """Return for each node the price of a leaf (in rows of error) from which on it is a leaf itself.

    That of a leaf is minus infinity; infinity: an ancestor is a leaf before. The weakest link goes first.
    """
    left, right = tree.tree_.children_left, tree.tree_.children_right
    counts = tree.tree_.value[:, 0, :] * tree.tree_.weighted_n_node_samples[:, None]
    own = np.round(counts.sum(axis=1) - counts.max(axis=1))
    below, leaves = own.copy(), np.ones(len(own))
    parent = np.full(len(own), -1)
    # Children come after their parents.
    for node in range(len(own) - 1, -1, -1):
        if left[node] >= 0:
            parent[[left[node], right[node]]] = node
            below[node] = below[left[node]] + below[right[node]]
            leaves[node] = leaves[left[node]] + leaves[right[node]]
    prices = np.where(left < 0, -np.inf, np.inf)
    inner, price = np.flatnonzero(left >= 0), 0.0
    while len(inner):
        links = (own[inner] - below[inner]) / (leaves[inner] - 1)
        price = max(price, float(links.min()))
        weakest = inner[np.argmin(links)]
        prices[weakest] = price
        fewer, more = leaves[weakest] - 1, own[weakest] - below[weakest]
        ancestor = weakest
        while ancestor >= 0:
            leaves[ancestor] -= fewer
            below[ancestor] += more
            ancestor = parent[ancestor]
        gone = _descendants(weakest, left, right)
        inner = inner[~np.isin(inner, gone)]
    return prices


def _descendants(node: int, left: IntArray, right: IntArray) -> list[int]:
    """Return a node and all below it."""
    found = [int(node)]
    for one in found:
        found += [int(child) for child in (left[one], right[one]) if child >= 0]
    return found


def _paths(tree: DecisionTreeClassifier, X: FloatArray) -> tuple[IntArray, IntArray]:
    """Return each row's nodes from the root on, the leaf repeated up to the depth, and each node's class."""
    left, right = tree.tree_.children_left, tree.tree_.children_right
    X = np.asarray(X, dtype=np.float32)
    node, rows, levels = np.zeros(len(X), dtype=np.int64), np.arange(len(X)), []
    for _ in range(tree.tree_.max_depth + 1):
        levels.append(node)
        goes_left = X[rows, np.maximum(tree.tree_.feature[node], 0)] <= tree.tree_.threshold[node]
        node = np.where(left[node] < 0, node, np.where(goes_left, left[node], right[node]))
    classes = tree.classes_[np.argmax(tree.tree_.value[:, 0, :], axis=1)]
    return np.stack(levels, axis=1), classes


def errors_by_price(
    tree: DecisionTreeClassifier, prices: FloatArray, X: FloatArray, labels: IntArray, asked: FloatArray
) -> FloatArray:
    """Return how many rows the tree gets wrong when it is pruned at each of some rising prices."""
    nodes, classes = _paths(tree, X)
    # A node answers from its own price on, until one above it is a leaf.
    since = prices[nodes]
    until = np.minimum.accumulate(np.c_[np.full(len(nodes), np.inf), since[:, :-1]], axis=1)
    wrong = (classes[nodes] != labels[:, None]) & (since < until)
    steps = np.zeros(len(asked) + 1)
    np.add.at(steps, np.searchsorted(asked, since[wrong]), 1)
    ends = until[wrong]
    np.subtract.at(steps, np.where(np.isinf(ends), len(asked), np.searchsorted(asked, ends)), 1)
    return np.cumsum(steps)[:-1]


def rivals(scaled: bool = True) -> dict[str, Any]:
    """Return the rivals by the paper's names, on bin numbers, which are scaled to [0, 1] unless told.

    The support vector machines have the defaults of LIBSVM: C = 1, degree 3, a width of one over the number of columns.
    """
    network = BayesianNetworkClassifier("nb", "ml", discretizer="mdl")
    made = {name: make_pipeline(MinMaxScaler(), model) if scaled else model for name, model in on_numbers().items()}
    return {name: OnBinNumbers(model, network) for name, model in made.items()}


def on_numbers() -> dict[str, Any]:
    """Return the rivals as they are: a comparison scales numbers for them, and makes discrete columns one-hot."""
    return {
        "CT": PrunedTree(),
        "NN": MLPClassifier(max_iter=500),
        "SVM (linear)": SVC(kernel="linear"),
        "SVM (polynomial)": SVC(kernel="poly", gamma="auto"),
        "SVM (Gaussian)": SVC(gamma="auto"),
    }
