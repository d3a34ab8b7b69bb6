"""What a column of many codes that tell nothing costs: accuracy on tic-tac-toe, whole and with such a column.

Two runs of five-fold cross-validation, each method as it is, with all states kept, and without a correction for chance.

Usage: python benchmarks/codes.py
"""

from __future__ import annotations

import warnings

import numpy as np
from sklearn.model_selection import RepeatedStratifiedKFold, cross_val_score

from bnplug import BayesianNetworkClassifier, BnplugWarning
from bnplug.datasets import tic_tac_toe

NUMBERS = (20, 40, 100, 300)
METHODS = {
    "nb": ("nb", {}),
    "nb, min_frequency=None": ("nb", {"min_frequency": None}),
    "tan": ("tan", {}),
    "tan, min_frequency=None": ("tan", {"min_frequency": None}),
    "tan(correction=None)": (("tan", {"correction": None}), {}),
    "tan(correction=None), min_frequency=None": (("tan", {"correction": None}), {"min_frequency": None}),
    "kdb": ("kdb", {}),
    "kdb, min_frequency=None": ("kdb", {"min_frequency": None}),
    "kdb(correction=None)": (("kdb", {"correction": None}), {}),
    "kdb(correction=None), min_frequency=None": (("kdb", {"correction": None}), {"min_frequency": None}),
}


def frames():
    """Return the boards, and the boards with a random column of so many codes."""
    X, y = tic_tac_toe()
    rng = np.random.default_rng(0)
    columns = {n: [f"c{code}" for code in rng.integers(n, size=len(X))] for n in NUMBERS}
    return {0: X, **{n: X.assign(code=column) for n, column in columns.items()}}, y


def main():
    warnings.simplefilter("ignore", BnplugWarning)
    data, y = frames()
    folds = RepeatedStratifiedKFold(n_splits=5, n_repeats=2, random_state=0)
    print(f"{'accuracy with so many codes':42}", *(f"{n:6}" for n in data))
    for name, (structure, params) in METHODS.items():
        model = BayesianNetworkClassifier(structure, **params)
        scores = [cross_val_score(model, X, y, cv=folds).mean() for X in data.values()]
        print(f"{name:42}", *(f"{score:6.3f}" for score in scores), flush=True)


if __name__ == "__main__":
    main()
