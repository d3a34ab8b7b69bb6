"""The two pictures of the front page and the README: a learnt network, and what missing features cost.

Run: ``python benchmarks/front_page.py [FOLDER]``; by default the pictures go to ``docs/measured``. All data ship with
scikit-learn.

The network is the default classifier on the ten mean measurements of the breast cancer data. The curves are means over
the four data sets of measurements that ship (breast cancer, digits, iris, wine) and over five random halves to learn
from. Of each row of the other half a share of the features is hidden, other ones in each row, the same for all
classifiers. Boosting is scikit-learn's with its defaults, which takes missing cells as they are; *trained with masked
rows*, it was also given two copies of the training rows with cells hidden at random, a share drawn for each row.
"""

import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import train_test_split

from bnplug import BayesianNetworkClassifier, datasets
from bnplug.show import palette

SETS = ("breast-cancer", "digits", "iris", "wine")
SHARES = np.arange(0, 1, 0.1)
SPLITS = 5


def network(path):
    """Draw the default classifier on ten features."""
    X, y = datasets.breast_cancer()
    X = X.filter(regex="^mean ").rename(columns=lambda name: name.removeprefix("mean "))
    model = BayesianNetworkClassifier().fit(X, y)
    figure, ax = plt.subplots(figsize=(5.4, 4.6), layout="constrained")
    model.plot(ax=ax)
    figure.savefig(path, dpi=140, bbox_inches="tight")


def masked(X, y, rng):
    """Return rows with two copies of them in which each row lacks a share of its cells, drawn for the row."""
    copies = [X.mask(rng.random(X.shape) < rng.random((len(X), 1))) for _ in range(2)]
    return pd.concat([X, *copies]), pd.concat([y, y, y])


def accuracies(name, split):
    """Return the accuracy of each classifier for each share of hidden features: classifiers x shares."""
    data = datasets.load(name)
    X, y = data.X.astype(float), data.y
    X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.5, stratify=y, random_state=split)
    rng = np.random.default_rng(split)
    models = [
        BayesianNetworkClassifier().fit(X_train, y_train),
        HistGradientBoostingClassifier(random_state=0).fit(*masked(X_train, y_train, rng)),
        HistGradientBoostingClassifier(random_state=0).fit(X_train, y_train),
    ]
    hidden = [X_test.mask(rng.random(X_test.shape) < share) for share in SHARES]
    return [[model.score(rows, y_test) for rows in hidden] for model in models]


def missing(path):
    """Draw the curves, and print them."""
    results = np.array([[accuracies(name, split) for split in range(SPLITS)] for name in SETS])
    figure, ax = plt.subplots(figsize=(7, 4.6), layout="constrained")
    labels = ["Bayesian network, as it is", "boosting, trained with masked rows", "boosting, as it is"]
    for number, (label, curve) in enumerate(zip(labels, 100 * results.mean(axis=(0, 1)), strict=True)):
        style = {"color": palette.colour(number), "marker": palette.mark(number)}
        ax.plot(100 * SHARES, curve, label=label, **style)
        print(f"{label:36}", *(f"{value:5.1f}" for value in curve))
    ax.set(xlabel="features that are missing (%)", ylabel="accuracy on other rows (%)")
    palette.finish(ax, legend=True)
    figure.savefig(path, dpi=140)
    for name, of_set in zip(SETS, 100 * results.mean(axis=1)[:, :, [0, 5]], strict=True):
        print(f"{name:16}", "; ".join(f"{complete:.1f}, half {half:.1f}" for complete, half in of_set))


def main(folder="docs/measured"):
    network(Path(folder) / "front-network.png")
    missing(Path(folder) / "front-missing.png")


if __name__ == "__main__":
    main(*sys.argv[1:])
