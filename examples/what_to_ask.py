"""
What to ask next
================

Accuracy against the number of features asked for: the one that ``what_next`` says, row by row, beside one fixed order
for all rows and a random order for each.

A TAN is trained on half of the rows. Of the other half nothing is known at first; in each step every row gets one more
of its features, and the class is predicted from what is known by then. The fixed order is that of what each feature
tells of the class when nothing else is known.

Run: ``python examples/what_to_ask.py [CSV] [PICTURE] [QUESTIONS]``. CSV is a file whose last column is the class; by
default scikit-learn's breast cancer data are used, whose features are measured on images of biopsies. Without PICTURE,
a window shows it.
"""

import sys

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.model_selection import train_test_split

from bnplug import BayesianNetworkClassifier, datasets

DRAWS = 10


def load(path):
    if not path:
        return datasets.breast_cancer()
    frame = pd.read_csv(path)
    return frame.iloc[:, :-1], frame.iloc[:, -1]


def accuracies(model, X, y, choose, questions):
    """Return the accuracy after 0, 1, 2, ... questions; `choose` says, for each row, which feature comes next."""
    asked = np.zeros(X.shape, dtype=bool)
    found = [model.score(X.where(asked), y)]
    for _ in range(questions):
        asked[np.arange(len(X)), choose(X.where(asked), asked)] = True
        found.append(model.score(X.where(asked), y))
    return np.array(found)


def by_what_next(model, X):
    """Return a rule: what tells most of the class, given what the row knows by now."""

    def choose(known, asked):
        first = model.what_next(known).drop_duplicates("row").set_index("row")["feature"]
        return X.columns.get_indexer(first.loc[known.index])

    return choose


def by_order(orders):
    """Return a rule: the features of each row in an order of its own."""

    def choose(known, asked):
        return orders[np.arange(len(known)), asked.sum(axis=1)]

    return choose


def main(path=None, picture=None, questions="12"):
    X, y = load(path)
    X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.5, stratify=y, random_state=0)
    model = BayesianNetworkClassifier("tan").fit(X_train, y_train)
    n, count = len(X_test), min(int(questions), X.shape[1])
    nothing = X_test.head(1).where(np.zeros((1, X.shape[1]), dtype=bool))
    fixed = X.columns.get_indexer(model.what_next(nothing)["feature"])
    rng = np.random.default_rng(0)
    shuffled = [rng.permuted(np.tile(np.arange(X.shape[1]), (n, 1)), axis=1) for _ in range(DRAWS)]
    curves = {
        "what_next, row by row": accuracies(model, X_test, y_test, by_what_next(model, X), count),
        "one fixed order": accuracies(model, X_test, y_test, by_order(np.tile(fixed, (n, 1))), count),
        "a random order": np.mean([accuracies(model, X_test, y_test, by_order(o), count) for o in shuffled], axis=0),
    }
    figure, axes = plt.subplots(figsize=(7, 4.5))
    for (name, values), marker in zip(curves.items(), "os^", strict=True):
        axes.plot(values, marker=marker, label=name)
        print(f"{name}: " + " ".join(f"{value:.3f}" for value in values))
    everything = model.score(X_test, y_test)
    axes.axhline(everything, color="grey", linestyle="--", label=f"all {X.shape[1]} features known")
    print(f"all features known: {everything:.3f}")
    axes.set_xlabel("features asked for")
    axes.set_ylabel("accuracy")
    axes.legend()
    axes.grid(alpha=0.3)
    if picture:
        figure.savefig(picture, dpi=120)
        print(picture)
    plt.show()


if __name__ == "__main__":
    main(*sys.argv[1:])
