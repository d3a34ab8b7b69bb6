"""Does the exponential of bnplug.gradient pay? The conditional NLL with it and with the library's, in one run.

For each number of classes: nanoseconds a log joint of the loss alone, over blocks that stay in the cache, and
milliseconds of a whole pass (value and gradient) of naive Bayes over generated rows. One thread; each figure is the
smallest of several repetitions, taken in turn. And the largest difference that the two make.

Run: python benchmarks/exponential.py [ROWS]     (default: 200000)
"""

from __future__ import annotations

import sys
from time import perf_counter

import numpy as np

import bnplug
from bnplug.compiling import kernel
from bnplug.gradient import Objective, conditional_nll
from bnplug.inference.complete import terms
from bnplug.table.table import Table

NONE = np.empty(0)


@kernel
def library_nll(L, y, weights, params, dL):
    """What conditional_nll gives, by the exponential of the library."""
    n_rows, n_classes = L.shape
    total = 0.0
    for m in range(n_rows):
        largest = L[m, 0]
        for c in range(1, n_classes):
            largest = L[m, c] if L[m, c] > largest else largest
        normalizer = 0.0
        for c in range(n_classes):
            dL[m, c] = np.exp(L[m, c] - largest)
            normalizer += dL[m, c]
        scale = weights[m] / normalizer
        for c in range(n_classes):
            dL[m, c] *= scale
        dL[m, y[m]] -= weights[m]
        total += weights[m] * (np.log(normalizer) + largest - L[m, y[m]])
    return total


LOSSES = {"own": conditional_nll, "library": library_nll}


def best(calls, repetitions=15):
    """Return the smallest number of seconds of each call; they are made in turn."""
    seconds = dict.fromkeys(calls, np.inf)
    for _ in range(repetitions):
        for name, call in calls.items():
            started = perf_counter()
            call()
            seconds[name] = min(seconds[name], perf_counter() - started)
    return seconds


def generate(n_rows, n_classes, n_features=20, states=5):
    rng = np.random.default_rng(0)
    y = rng.integers(0, n_classes, n_rows)
    codes = np.empty((n_features + 1, n_rows), dtype=np.uint8)
    for v in range(n_features):
        codes[v] = np.where(rng.random(n_rows) < 0.3, y % states, rng.integers(0, states, n_rows))
    codes[n_features] = y
    names = [*(f"x{v}" for v in range(n_features)), "c"]
    return Table(codes, names, {name: range(n_classes if name == "c" else states) for name in names}, "c")


def compare(n_rows, n_classes):
    block = (1 << 14) // n_classes
    rng = np.random.default_rng(1)
    L, y, weights = rng.normal(0.0, 8.0, (block, n_classes)), rng.integers(0, n_classes, block), np.ones(block)
    derivatives = {name: np.empty_like(L) for name in LOSSES}
    alone = best({name: lambda n=name: LOSSES[n](L, y, weights, NONE, derivatives[n]) for name in LOSSES}, 200)
    table = generate(n_rows, n_classes)
    own = terms(bnplug.parameter_learner("ml").fit(table, bnplug.structure_learner("nb").learn(table)), "c")
    objective = Objective(own, table, n_jobs=1)
    whole = best({name: lambda n=name: objective(own.values, LOSSES[n]) for name in LOSSES})
    away = np.abs(derivatives["own"] - derivatives["library"]).max()
    cells = 1e9 / L.size
    print(
        f"{n_classes:7d}  {cells * alone['own']:8.2f} {cells * alone['library']:8.2f}   {1e3 * whole['own']:8.1f} "
        f"{1e3 * whole['library']:8.1f}   {whole['library'] / whole['own']:5.2f}   {away:.0e}",
        flush=True,
    )


def main():
    n_rows = int(sys.argv[1]) if len(sys.argv) > 1 else 200_000
    print(f"{n_rows} rows, 20 features\nclasses  ns a log joint     ms a pass              library / own   difference")
    print("             own  library        own  library")
    for n_classes in (2, 5, 10, 26):
        compare(n_rows, n_classes)


if __name__ == "__main__":
    main()
