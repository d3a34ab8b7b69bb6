"""Processor seconds that compilation takes when a method is first used, and the kernels they go to.

Each task runs in a fresh process with an empty folder for compiled kernels, and then in another one that finds there
what the first has left: compilation is the difference. What comes before a task in its process is not measured. The
median of three such pairs; then the kernels of the pair in the middle, each without the kernels that it calls, but
with what numba compiles for it of its own.

Before assignments that broadcast and wrappers that nothing calls were taken out of kernels, on two cores: first TAN fit
1.9, RMCV 18.4, annealing by `mm` 19.5, `ccbn-w` 3.8, `ml-bn-svm` 8.7 seconds (medians of three); first prediction with
missing cells 8.1 (one pair), or 6.7 where complete rows were predicted before it (median of three).
Since inner kernels have no machine code of their own: 1.8, 8.2, 9.8, 3.2, 5.3 and, with missing cells, 4.0 (medians of
three). Since kernels that make no array are optimised once, with nothing beside them: TAN 1.7, RMCV 7.9, annealing by
`mm` 8.1, `ccbn-w` 3.6, `ml-bn-svm` 4.3, missing cells 2.8 (medians of three); beside other work RMCV took 9.3.
Since scoring finds cells by their numbers instead of slices, and what fills rows for gains without a plateau is
compiled only for those: RMCV 8.2 before and 6.8 after, annealing by `mm` 9.0 and 8.1 (medians of three, of one day).
Idle, since neighbouring numbers are vectorised and bundles of arrays are handed on in one place: TAN 1.5, missing cells
2.4, RMCV 5.1, annealing by `mm` 7.4, `ccbn-w` 2.6, `ml-bn-svm` 3.3 (medians of three). Measured later:
RMCV 5.7, annealing by `mm` 7.7, and 6.9 an hour before, beside other work.

Usage: python benchmarks/cold.py [TASK ...]     (default: all)
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter

PAIRS = 3

#: The most processor seconds that each task may take.
LIMITS = {"tan": 2.0, "missing": 3.0, "rmcv": 8.0, "annealing": 8.0, "ccbn-w": 4.0, "ml-bn-svm": 6.0}

MEANING = {
    "tan": "first TAN fit",
    "missing": "first prediction, with missing cells, after that fit",
    "rmcv": "first RMCV",
    "annealing": "first annealing by `mm`, and its parameters",
    "ccbn-w": "first TAN with ccbn-w parameters",
    "ml-bn-svm": "first TAN with ml-bn-svm parameters",
}


def tasks(name):
    """What comes first, and what is measured."""
    import bnplug
    from bnplug import datasets

    X, y = datasets.tic_tac_toe()

    def fit(structure="tan", parameters="backoff"):
        model = bnplug.BayesianNetworkClassifier(structure, parameters, random_state=0, n_jobs=1)
        return model.fit(X, y)

    def predict_missing(model):
        holes = X.copy()
        holes.iloc[::2, 0] = holes.iloc[::3, 4] = None
        model.predict(holes)

    if name == "missing":
        model = fit()
        return lambda: predict_missing(model)
    return {
        "tan": fit,
        "rmcv": lambda: fit("rmcv"),
        "annealing": lambda: fit(bnplug.structure_learner("sa", score="mm"), "mm"),
        "ccbn-w": lambda: fit(parameters="ccbn-w"),
        "ml-bn-svm": lambda: fit(parameters=bnplug.parameter_learner("ml-bn-svm", lam=1.0, gamma=1.0)),
    }[name]


class Compilation:
    """Listens to numba: the processor seconds of each kernel, without the kernels that it calls."""

    def __init__(self):
        from numba.core import event

        class Listener(event.Listener):
            on_start, on_end = self._start, self._end

        self.seconds = Counter()
        self._open = []
        event.register("numba:compile", Listener())

    def _start(self, event):
        function = event.data["dispatcher"].py_func
        own = function.__module__.startswith("bnplug")
        name = f"{function.__module__}.{function.__qualname__}" if own or not self._open else self._open[-1][0]
        self._note()
        self._open.append((name, time.process_time()))

    def _end(self, event):
        self._note()
        self._open.pop()

    def _note(self):
        now = time.process_time()
        if self._open:
            name, since = self._open[-1]
            self.seconds[name] += now - since
        self._open = [(name, now) for name, _ in self._open]


def measure(name):
    """Run a task in this process; print its processor seconds and those of its kernels."""
    work = tasks(name)
    kernels = Compilation()
    started = time.process_time()
    work()
    print(json.dumps([time.process_time() - started, kernels.seconds]))


def run(name, folder):
    """Run a task in a fresh process that keeps compiled kernels in a folder."""
    done = subprocess.run(
        [sys.executable, __file__, "--measure", name],
        env={**os.environ, "NUMBA_CACHE_DIR": folder},
        check=True,
        capture_output=True,
        text=True,
    )
    return json.loads(done.stdout.splitlines()[-1])


def pair(name):
    with tempfile.TemporaryDirectory() as folder:
        cold, kernels = run(name, folder)
        warm, _ = run(name, folder)
    return cold - warm, warm, kernels


def main(chosen):
    for name in chosen or LIMITS:
        pairs = sorted((pair(name) for _ in range(PAIRS)), key=lambda found: found[0])
        seconds, warm, kernels = pairs[PAIRS // 2]
        print(f"{MEANING[name]}: {seconds:.1f} s of compilation (limit {LIMITS[name]:g}); {warm:.2f} s without")
        for kernel, own in sorted(kernels.items(), key=lambda item: -item[1]):
            print(f"    {own:6.2f}  {kernel}")
        sys.stdout.flush()


if __name__ == "__main__":
    measure(sys.argv[2]) if sys.argv[1:2] == ["--measure"] else main(sys.argv[1:])
