"""One network with leave-one-out parameters beside boosting: seconds to fit 10,000 rows and to answer 100,000.

30 numeric features, 15 of which tell something, 5 classes (scikit-learn's `make_classification`, seed 0). The network
is the recipe TAN-LOO; boosting is HistGradientBoostingClassifier with its defaults. Seconds are the processor's, of all
threads, and the clock's beside them, the best of three after a first fit, which compiles and starts threads.

Usage: python benchmarks/loo_speed.py [ROWS]     (default: 10000)
"""

from __future__ import annotations

import sys
import time

import pandas as pd
from sklearn.datasets import make_classification
from sklearn.ensemble import HistGradientBoostingClassifier

import bnplug

ASKED = 100_000


def best(call, repeats=3):
    """The least processor seconds and the least clock seconds of some calls."""
    found = []
    for _ in range(repeats):
        processor, clock = time.process_time(), time.perf_counter()
        call()
        found.append((time.process_time() - processor, time.perf_counter() - clock))
    return [min(own) for own in zip(*found, strict=True)]


def main(rows="10000"):
    X, y = make_classification(
        n_samples=int(rows) + ASKED, n_features=30, n_informative=15, n_redundant=5, n_classes=5, random_state=0
    )
    X = pd.DataFrame(X, columns=[f"x{i}" for i in range(30)])
    train, test = slice(0, int(rows)), slice(int(rows), None)
    seconds = {}
    models = {"boosting": HistGradientBoostingClassifier(random_state=0), "TAN-LOO": bnplug.recipe("TAN-LOO")}
    for name, model in models.items():
        model.fit(X[train], y[train])
        fit = best(lambda own=model: own.fit(X[train], y[train]))
        predict = best(lambda own=model: own.predict_proba(X[test]))
        seconds[name] = [*fit, *predict, 100 * model.score(X[test], y[test])]
    columns = ["fit, processor", "fit, clock", "predict, processor", "predict, clock", "accuracy"]
    table = pd.DataFrame(seconds, index=columns).T
    print(table.round(3).to_string())
    print("TAN-LOO in times of boosting:", (table.loc["TAN-LOO"] / table.loc["boosting"]).iloc[:4].round(2).to_dict())
    chosen = models["TAN-LOO"].parameters_
    print(f"lam {chosen.lam_:g}, temperature {chosen.temperature_:.3f}, {len(chosen.cv_nll_)} strengths tried")


if __name__ == "__main__":
    main(*sys.argv[1:])
