"""
Missing features
================

Accuracy against the share of missing features: a TAN that marginalizes them exactly, and an SVM with mean imputation.

The models are trained on half of the complete rows; each draw hides a random share of the cells of the other
half. The picture shows the mean accuracy and its spread.

Run: ``python examples/missing_features.py [CSV] [PICTURE] [DRAWS]``. CSV is a file of numeric features whose last
column is the class; by default scikit-learn's breast cancer data are used. Without PICTURE, a window shows it.
"""

import sys

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.impute import SimpleImputer
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from bnplug import BayesianNetworkClassifier, datasets

SHARES = np.arange(0, 1, 0.1)


def load(path):
    if not path:
        return datasets.breast_cancer()
    frame = pd.read_csv(path)
    return frame.iloc[:, :-1], frame.iloc[:, -1]


def curve(model, X, y, draws):
    """Accuracies, one row a share and one column a draw; the same cells are hidden for every model."""
    result = np.empty((len(SHARES), draws))
    for i, share in enumerate(SHARES):
        for draw in range(draws):
            rng = np.random.default_rng([draw, i])
            result[i, draw] = model.score(X.mask(rng.random(X.shape) < share), y)
    return result


def main(path=None, picture=None, draws="20"):
    X, y = load(path)
    X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.5, stratify=y, random_state=0)
    models = {
        "TAN, missing features marginalized": BayesianNetworkClassifier("tan"),
        "SVM, missing features imputed by the mean": make_pipeline(SimpleImputer(), StandardScaler(), SVC(C=10)),
    }
    figure, axes = plt.subplots(figsize=(7, 4.5))
    for name, model in models.items():
        values = curve(model.fit(X_train, y_train), X_test, y_test, int(draws))
        mean, spread = values.mean(axis=1), values.std(axis=1)
        axes.plot(100 * SHARES, mean, marker="o", label=name)
        axes.fill_between(100 * SHARES, mean - spread, mean + spread, alpha=0.2)
        print(f"{name}: " + " ".join(f"{value:.3f}" for value in mean))
    axes.set_xlabel("missing features (%)")
    axes.set_ylabel("accuracy")
    axes.legend()
    axes.grid(alpha=0.3)
    if picture:
        figure.savefig(picture, dpi=120)
        print(picture)
    plt.show()


if __name__ == "__main__":
    main(*sys.argv[1:])
