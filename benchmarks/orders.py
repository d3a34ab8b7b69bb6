"""Order-based search beside greedy search on MNIST 14x14: seconds, evaluations, and the share of time.

Pernkopf and Bilmes (2008), Table 4, compare the time of learning a TAN along an order (TAN-OMI-CR) with that of
greedy search over all edges (TAN-CR). The data are ``mnist14-train.csv.gz`` and ``mnist14-test.csv.gz`` in the folder
that BNPLUG_DATA names; MDL cuts of the training rows make them discrete.

Usage: python benchmarks/orders.py [ROWS]     (rows of the sample for the greedy search; default: 10000)
"""

from __future__ import annotations

import os
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd

import bnplug


def load(folder, part):
    frame = pd.read_csv(folder / f"mnist14-{part}.csv.gz")
    return frame.drop(columns="class"), frame["class"]


def fit(recipe, X, y):
    """Seconds of a whole fit on all threads, and the classifier."""
    started = time.perf_counter()
    model = bnplug.recipe(recipe, n_jobs=-1, random_state=0).fit(X, y)
    return time.perf_counter() - started, model


def main():
    folder = Path(os.environ.get("BNPLUG_DATA", ""))
    if not (folder / "mnist14-train.csv.gz").is_file():
        print("BNPLUG_DATA names no folder with mnist14-train.csv.gz")
        return
    warnings.simplefilter("ignore", bnplug.UnseenValueWarning)
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    X, y = load(folder, "train")
    X_test, y_test = load(folder, "test")
    fit("TAN-OMI-CR-ML", X[:500], y[:500])
    print(f"all {len(X)} rows, MDL cuts")
    for recipe in ("NB-ML", "TAN-CMI-ML", "TAN-OMI-CR-ML"):
        seconds, model = fit(recipe, X, y)
        evaluations = getattr(model.structure_, "n_evaluations_", 0)
        print(
            f"  {recipe:<16} {seconds:7.1f} s {evaluations:8} evaluations, accuracy {model.score(X_test, y_test):.4f}"
        )
    sample = np.sort(np.random.default_rng(0).choice(len(X), rows, replace=False))
    print(f"a fixed sample of {rows} rows")
    seconds = {}
    for recipe in ("TAN-OMI-CR-ML", "TAN-CR-ML"):
        seconds[recipe], model = fit(recipe, X.iloc[sample], y.iloc[sample])
        evaluations = model.structure_.n_evaluations_
        accuracy = model.score(X_test, y_test)
        print(
            f"  {recipe:<16} {seconds[recipe]:7.1f} s {evaluations:8} evaluations, accuracy {accuracy:.4f}", flush=True
        )
    print(f"  TAN-OMI-CR-ML takes {seconds['TAN-OMI-CR-ML'] / seconds['TAN-CR-ML']:.1%} of the time of TAN-CR-ML")


if __name__ == "__main__":
    main()
