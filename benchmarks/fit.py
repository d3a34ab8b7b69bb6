"""Learning a TAN and answering with it, beside the default, pyAgrum and scikit-learn, in one run.

Usage: python benchmarks/fit.py [ROWS FEATURES CLASSES]     (default: 200000 30 5)

Each figure is the best of several repetitions; pyAgrum's is of one, since it takes long. The default calibrates its
posteriors of the class, which TAN + ML here does not.
"""

from __future__ import annotations

import sys
import time

import numpy as np
import pandas as pd
from sklearn.naive_bayes import CategoricalNB

from bnplug import BayesianNetworkClassifier


def data(n_rows, n_features, n_classes, states=5, seed=0):
    """A class, and a chain of features that depend on it and on their predecessor."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, n_classes, n_rows)
    columns = [(y + rng.integers(0, 3, n_rows)) % states]
    for _ in range(n_features - 1):
        copy = rng.random(n_rows) < 0.5
        columns.append(np.where(copy, columns[-1], (y + rng.integers(0, states, n_rows)) % states))
    codes = np.stack(columns, axis=1)
    labels = np.array([f"s{i}" for i in range(states)])
    frame = pd.DataFrame(
        {f"x{i}": pd.Categorical.from_codes(codes[:, i], categories=labels) for i in range(n_features)}
    )
    return frame, codes, np.array([f"c{i}" for i in range(n_classes)])[y]


def best(function, repetitions=7, clock=time.perf_counter):
    seconds = []
    for _ in range(repetitions):
        started = clock()
        function()
        seconds.append(clock() - started)
    return min(seconds)


def pyagrum_seconds(frame, y):
    """pyAgrum's TAN on the same categorical frame; None where it is not installed."""
    try:
        import pyagrum.skbn as skbn
        from pyagrum.lib.discreteTypeProcessor import DiscreteTypeProcessor
    except ImportError:
        return None
    classifier = skbn.BNClassifier(
        learningMethod="TAN", prior="Smoothing", priorWeight=1, type_processor=DiscreteTypeProcessor()
    )
    return best(lambda: classifier.fit(frame, y), repetitions=1)


def main():
    n_rows, n_features, n_classes = [int(arg) for arg in sys.argv[1:]] or (200_000, 30, 5)
    frame, codes, y = data(n_rows, n_features, n_classes)
    plain, default = BayesianNetworkClassifier("tan", "ml", calibrate=None), BayesianNetworkClassifier()
    for model in (plain, default):
        model.fit(frame[:1000], y[:1000]).predict_proba(frame[:1000])
    print(f"Fitting {n_rows} rows x {n_features} features x {n_classes} classes, categorical frame")
    print("  the default, without and with calibration, and TAN + ML, processor time, best of 7")
    for name, model in {
        "default, calibrate=None": BayesianNetworkClassifier(calibrate=None),
        "default": default,
        "TAN + ML": plain,
    }.items():
        print(f"    {name:<24} {best(lambda model=model: model.fit(frame, y), clock=time.process_time):8.3f} s")
    ours = best(lambda: plain.fit(frame, y))
    print(f"  TAN + ML     {ours:8.3f} s (best of 7)")
    theirs = pyagrum_seconds(frame, y)
    if theirs is None:
        print("  pyAgrum      not installed")
    else:
        print(f"  pyAgrum      {theirs:8.3f} s (one fit): {theirs / ours:.0f} times as long")
    some = min(n_rows, 100_000)
    by_frame = plain.fit(frame, y)
    by_array = BayesianNetworkClassifier("tan", "ml", calibrate=None).fit(codes, y)
    default.fit(frame, y)
    naive = CategoricalNB().fit(codes, y)
    print(f"predict_proba of {some} complete rows, microseconds a row (best of 7)")
    for name, call in {
        "bnplug TAN, categorical frame": lambda: by_frame.predict_proba(frame[:some]),
        "bnplug default, the same frame": lambda: default.predict_proba(frame[:some]),
        "bnplug TAN, integer array": lambda: by_array.predict_proba(codes[:some]),
        "scikit-learn CategoricalNB": lambda: naive.predict_proba(codes[:some]),
    }.items():
        print(f"  {name:<30} {best(call) / some * 1e6:6.3f}")


if __name__ == "__main__":
    main()
