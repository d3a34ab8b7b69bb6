"""The mixture with features hidden: calibrated twins, plain twins and, in its environment, the mixture of 0.2.

Five stratified folds (seed 0) of every third data set that DEVELOPMENT.csv lists in the folder BNPLUG_DATA, from the
first, at most 2,000 rows of each: those whose numbers come first in `numpy.random.RandomState(0).permutation`. Of each
test row, no features, a quarter and half of them are hidden, others in each row and the same for all methods.
Probabilities are clipped at 1e-6.

The mixture should have a lower mean log loss with half of the features hidden than the mixture of 0.2.

Usage: python benchmarks/mixture_hidden.py [FILE [METHOD ...]]
(default: demo-output/mixture_hidden.csv calibrated plain)

The method `default` is the mixture with its default parameters; to measure that of another version, run this script
with the Python of an environment that has it, and give the same FILE as METHOD `default`. Every data set is written to
FILE when it is done, so an interrupted run resumes; means over data sets are printed.
"""

from __future__ import annotations

import os
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.model_selection import StratifiedKFold

from bnplug import datasets, make_classifier
from bnplug.errors import BnplugWarning

METHODS = {
    "calibrated": lambda: make_classifier("mixture", random_state=0),
    "plain": lambda: make_classifier("mixture", member__calibrate=None, random_state=0),
    "default": lambda: make_classifier("mixture", random_state=0),
}
ROWS, SHARES = 2000, (0.0, 0.25, 0.5)


def rows_of(data):
    """Return at most `ROWS` rows, drawn with seed 0."""
    kept = np.random.RandomState(0).permutation(len(data.y))[:ROWS]
    return data.X.iloc[kept].reset_index(drop=True), data.y.iloc[kept].reset_index(drop=True).astype(str)


def hidden(rows, share):
    """Return rows with a share of the features hidden, others in each row."""
    ranks = np.random.default_rng(1).random(rows.shape).argsort(axis=1).argsort(axis=1)
    return rows.mask(ranks < round(share * rows.shape[1])) if share else rows


def measure(model, X, y, train, test):
    """Return the seconds to fit, and accuracy and log loss for each share of hidden features."""
    start = time.process_time()
    model.fit(X.iloc[train], y.iloc[train])
    figures = {"seconds": time.process_time() - start}
    truth = pd.Index(model.classes_).get_indexer(y.iloc[test])
    for share in SHARES:
        posterior = model.predict_proba(hidden(X.iloc[test], share))
        likelihood = np.where(truth >= 0, posterior[np.arange(len(truth)), truth], 0.0)
        figures[f"accuracy {share:.0%}"] = 100 * np.mean(posterior.argmax(axis=1) == truth)
        figures[f"log loss {share:.0%}"] = -np.log(np.clip(likelihood, 1e-6, 1.0)).mean()
    return figures


def main(file="demo-output/mixture_hidden.csv", *methods):
    if not os.environ.get("BNPLUG_DATA"):
        print("Set BNPLUG_DATA to the folder of the data files.")
        return
    folder, file, methods = Path(os.environ["BNPLUG_DATA"]), Path(file), methods or ("calibrated", "plain")
    file.parent.mkdir(parents=True, exist_ok=True)
    warnings.simplefilter("ignore", BnplugWarning)
    warnings.simplefilter("ignore", UserWarning)
    names = pd.read_csv(folder / "DEVELOPMENT.csv")["name"][::3]
    for name in names:
        done = pd.read_csv(file) if file.exists() else pd.DataFrame({"dataset": [], "method": []})
        left = [method for method in methods if not ((done["dataset"] == name) & (done["method"] == method)).any()]
        if not left:
            continue
        X, y = rows_of(datasets.load(name, folder))
        folds = list(StratifiedKFold(5, shuffle=True, random_state=0).split(X, y))
        figures = [
            {"dataset": name, "method": method, **measure(METHODS[method](), X, y, train, test)}
            for method in left
            for train, test in folds
        ]
        pd.DataFrame(figures).to_csv(file, mode="a", header=not file.exists(), index=False)
    figures = pd.read_csv(file)
    table = figures.groupby(["method", "dataset"]).mean().groupby("method").mean()
    print(f"{figures['dataset'].nunique()} data sets")
    print(table.round(4).T.to_string())


if __name__ == "__main__":
    main(*sys.argv[1:])
