"""Which way to learn from missing cells, by why they are missing: cases made by rule.

Rows of complete data lose cells of every second column, in training and in test rows alike:

- completely at random: each with probability 0.3;
- at random: with probability 0.6 where the first column, which is always known, is above its median, else never;
- not at random, by value: with probability 0.6 where the cell itself is above the median of its column, else never;
- not at random, by class: with probability 0.6 in rows of the first half of the classes, else never.

`tan` with `ml` learns from that in each way; figures are the mean accuracy and log loss over the data sets and five
stratified folds, numbers cut by quantiles so that all ways have the same bins.

Run: python benchmarks/missing_mechanisms.py
     The data are in the folder that BNPLUG_DATA names; without it, those that ship with scikit-learn and with us.
"""

from __future__ import annotations

import os
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer
from sklearn.metrics import log_loss
from sklearn.model_selection import StratifiedKFold

from bnplug import BayesianNetworkClassifier
from bnplug.datasets import iris, tic_tac_toe, wine

SETS = ("australian", "diabetes", "german", "tic-tac-toe", "vehicle", "wine")
WAYS = ("ignore", "em", "value", "drop")


def data_sets() -> dict[str, tuple[pd.DataFrame, pd.Series]]:
    folder = Path(os.environ.get("BNPLUG_DATA", ""))
    if not (folder / "wine.csv.gz").is_file():
        cancer = load_breast_cancer(as_frame=True)
        return {"iris": iris(), "tic-tac-toe": tic_tac_toe(), "wine": wine(), "cancer": (cancer.data, cancer.target)}
    frames = {name: pd.read_csv(folder / f"{name}.csv.gz").dropna() for name in SETS}
    return {name: (own.drop(columns="class"), own["class"]) for name, own in frames.items()}


def upper(column: pd.Series) -> np.ndarray:
    """Which cells are above the median of their column, in the order of the labels where they are no numbers."""
    codes = (
        column.rank(method="dense") if column.dtype.kind in "biuf" else pd.Series(pd.factorize(column, sort=True)[0])
    )
    return (codes > codes.median()).to_numpy()


def removed(X: pd.DataFrame, y: pd.Series, why: str, rng: np.random.Generator) -> pd.DataFrame:
    """The rows without what is missing for a reason."""
    result = X.copy()
    early = np.isin(y, np.unique(y)[: len(np.unique(y)) // 2])
    for name in X.columns[1::2]:
        where = {
            "completely at random": np.full(len(X), 0.3),
            "at random": 0.6 * upper(X.iloc[:, 0]),
            "not at random, by value": 0.6 * upper(X[name]),
            "not at random, by class": 0.6 * early,
        }[why]
        result[name] = result[name].mask(rng.random(len(X)) < where)
    return result


def measured(X: pd.DataFrame, y: pd.Series, why: str, way: str) -> tuple[float, float]:
    holes = removed(X, y, why, np.random.default_rng(0))
    found = []
    for train, test in StratifiedKFold(5, shuffle=True, random_state=0).split(X, y):
        model = BayesianNetworkClassifier("tan", "ml", discretizer="quantile", missing=way)
        try:
            model.fit(holes.iloc[train], y.iloc[train])
        except ValueError:
            return np.nan, np.nan  # no row is complete
        answers = model.predict_proba(holes.iloc[test])
        own = y.iloc[test]
        if len(model.classes_) < y.nunique():
            return np.nan, np.nan
        accuracy = (model.classes_[answers.argmax(axis=1)] == own).mean()
        found.append((accuracy, log_loss(own, answers, labels=model.classes_)))
    return tuple(np.mean(found, axis=0))


def main() -> None:
    warnings.simplefilter("ignore")
    sets = data_sets()
    print(f"{'':26}" + "".join(f"{way:>16}" for way in WAYS))
    for why in ("completely at random", "at random", "not at random, by value", "not at random, by class"):
        cells = []
        for way in WAYS:
            figures = np.array([measured(*own, why, way) for own in sets.values()])
            cells.append(f"{100 * figures[:, 0].mean():8.1f} / {figures[:, 1].mean():.3f}")
        print(f"{why:26}" + "".join(f"{cell:>16}" for cell in cells), flush=True)


if __name__ == "__main__":
    main()
