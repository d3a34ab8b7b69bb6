"""
Decisions where mistakes do not cost the same
=============================================

To overlook a malignant tumour costs more than to suspect a benign one. Three ways to decide by that, on scikit-learn's
breast cancer data: ``costs`` of the classifier, the threshold that follows from them, and one that cross validation
tunes; beside them the plain decision for the most probable class.

The picture shows the mean cost on held-out rows for prices of an overlooked tumour from 1 to 50.

Run: ``python examples/decisions.py [PICTURE]``. Without PICTURE, a window shows it.
"""

import sys

import matplotlib.pyplot as plt
import numpy as np
from sklearn.metrics import make_scorer
from sklearn.model_selection import FixedThresholdClassifier, TunedThresholdClassifierCV, train_test_split

from bnplug import BayesianNetworkClassifier, datasets

PRICES = [1, 5, 20, 50]


def mean_cost(truth, predicted, price):
    """What the decisions cost on average: 1 for a benign tumour that is suspected."""
    costs = np.where(truth == "malignant", price, 1)
    return float(np.mean(np.where(truth == predicted, 0, costs)))


def deciders(price):
    """The ways to decide, by name; each is a classifier to be fitted."""
    network = BayesianNetworkClassifier("tan")
    costs = {"malignant": {"benign": price}, "benign": {"malignant": 1}}
    scorer = make_scorer(mean_cost, greater_is_better=False, price=price)
    return {
        "most probable class": network,
        "costs": BayesianNetworkClassifier("tan", costs=costs),
        "threshold": FixedThresholdClassifier(
            network, threshold=1 / (1 + price), pos_label="malignant", response_method="predict_proba"
        ),
        "tuned threshold": TunedThresholdClassifierCV(network, scoring=scorer, cv=3, random_state=0),
    }


def main(picture=None):
    X, y = datasets.breast_cancer()
    X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.5, random_state=0, stratify=y)
    found = {name: [] for name in deciders(1)}
    for price in PRICES:
        for name, model in deciders(price).items():
            predicted = model.fit(X_train, y_train).predict(X_test)
            found[name].append(mean_cost(y_test, predicted, price))
    figure, axes = plt.subplots(layout="constrained")
    for name, costs in found.items():
        axes.plot(PRICES, costs, marker="o", label=name, linestyle=":" if name == "threshold" else "-")
        print(f"{name:<20}", " ".join(f"{cost:.3f}" for cost in costs))
    axes.set(xscale="log", xlabel="price of an overlooked malignant tumour", ylabel="mean cost")
    axes.legend()
    if picture:
        figure.savefig(picture, dpi=120)
        print(picture)
    plt.show()


if __name__ == "__main__":
    main(*sys.argv[1:])
