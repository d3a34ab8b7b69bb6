"""What to ask next: how long all rows take at once, beside one query for each row and each feature that it lacks.

Breast cancer data (30 features) and digits (64 features, 10 classes), half of the cells missing; naive Bayes, a TAN and
KDB-2. Both ways give the same figures; the second is asked for a few rows only. Processor seconds, best of three.
Run: python benchmarks/what_next.py [rows]
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from bnplug import BayesianNetworkClassifier
from bnplug.datasets import breast_cancer, digits

FEW = 3


def best(action: Callable[..., Any], *args: Any) -> tuple[float, Any]:
    """Return the processor seconds of the fastest of three runs, and what it returned."""
    seconds = []
    for _ in range(3):
        start = time.process_time()
        found = action(*args)
        seconds.append(time.process_time() - start)
    return min(seconds), found


def one_by_one(model: Any, rows: pd.DataFrame) -> list[float]:
    """Return I(class; feature | row), a query for each."""
    found = []
    for _, row in rows[list(model.encoder_.names)].iterrows():
        known = row.dropna().to_dict()
        for feature in row.index[row.isna()]:
            joint = model.query([model.target_, feature], known)["probability"].to_numpy()
            joint = joint.reshape(len(model.classes_), -1)
            apart = joint.sum(axis=1, keepdims=True) * joint.sum(axis=0, keepdims=True)
            seen = joint > 0
            found.append(float((joint[seen] * np.log(joint[seen] / apart[seen])).sum()))
    return found


def main(n_rows: int = 1000) -> None:
    print("data           structure  us a pair  us by query  ratio  one row, ms")
    for data in (breast_cancer, digits):
        X, y = data()
        rows = X.sample(n_rows, replace=True, random_state=0).reset_index(drop=True)
        holes = rows.mask(np.random.default_rng(0).random(rows.shape) < 0.5)
        for structure in ("nb", "tan", "kdb"):
            model = BayesianNetworkClassifier(structure, "ml", "mdl").fit(X, y)
            model.what_next(holes.head(2))
            seconds, frame = best(model.what_next, holes)
            alone, _ = best(model.what_next, holes.head(1))
            slow, wanted = best(one_by_one, model, holes.head(FEW))
            found = frame[frame["row"] < FEW]["information"]
            np.testing.assert_allclose(np.sort(found), np.sort(wanted), atol=1e-10)
            each, other = 1e6 * seconds / len(frame), 1e6 * slow / len(wanted)
            figures = f"{each:>10.1f} {other:>12.1f} {other / each:>6.0f} {1e3 * alone:>12.1f}"
            print(f"{data.__name__:<14} {structure:<9} {figures}", flush=True)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main(*map(int, sys.argv[1:]))
