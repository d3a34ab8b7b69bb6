"""A mixture of networks beside gradient boosting: seconds to learn 10,000 rows and to answer 100,000, in one run.

Usage: python benchmarks/mixture.py [ROWS FEATURES CLASSES REPETITIONS]     (default: 10000 30 5 3)

The rows are numbers (scikit-learn's `make_classification`, half of the features informative); both learn from a float
array, with all processors (``n_jobs=-1``; boosting takes them by itself). Figures are the best of the repetitions,
after a first run that compiles: wall time, and processor time of all threads. The ratio is ours over boosting's.
"""

from __future__ import annotations

import sys
import time

from sklearn.datasets import make_classification
from sklearn.ensemble import HistGradientBoostingClassifier

from bnplug import make_classifier


def measured(function):
    """Return wall and processor seconds of a call."""
    wall, processor = time.perf_counter(), time.process_time()
    function()
    return time.perf_counter() - wall, time.process_time() - processor


def best(function, repetitions):
    return tuple(map(min, zip(*(measured(function) for _ in range(repetitions)), strict=True)))


def main(n_rows=10_000, n_features=30, n_classes=5, repetitions=3):
    X, y = make_classification(
        n_rows + 100_000, n_features, n_informative=n_features // 2, n_classes=n_classes, random_state=0
    )
    train, labels, test = X[:n_rows], y[:n_rows], X[n_rows:]
    methods = {
        "boosting": HistGradientBoostingClassifier(random_state=0),
        "TAN-LOO": make_classifier("TAN-LOO", random_state=0, n_jobs=-1),
        "mixture": make_classifier("mixture", random_state=0, n_jobs=-1),
    }
    print(f"{n_rows} x {n_features} x {n_classes}; {len(test)} rows to answer; wall / processor seconds")
    found = {}
    for name, model in methods.items():
        model.fit(train[:500], labels[:500]).predict_proba(test[:500])
        found[name] = best(lambda m=model: m.fit(train, labels), repetitions)
        found[name] += best(lambda m=model: m.predict_proba(test), repetitions)
        ratios = [own / theirs for own, theirs in zip(found[name], found["boosting"], strict=True)]
        shown = [f"{own:7.3f} ({ratio:5.2f})" for own, ratio in zip(found[name], ratios, strict=True)]
        accuracy = (model.predict(test) == y[n_rows:]).mean()
        print(f"{name:10} fit {shown[0]} / {shown[1]}   predict {shown[2]} / {shown[3]}   accuracy {accuracy:.4f}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
