"""What a new process costs before it answers, with every kernel compiled beforehand: processor time, median of many.

What it was before are the same commands at version 0.1.0, medians of seven on a busy machine of two cores, where Python
kept no bytecode of bnplug's own modules: this version then took 1.66 for the libraries and 2.25 for the fit. Now
bytecode is kept, as an installation has it. Seconds differ from machine to machine and from hour to hour: compare
ratios, and only of figures that were taken together. Times what the libraries take, in turns on the same machine, busy:

             fit   predict   evaluate
0.1.0       1.77      1.43       1.57
now         1.18      1.12       1.10
"""

import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

RUNS = int(os.environ.get("BNPLUG_RUNS", "5"))
# A new process reads modules that were compiled to bytecode before, as an installation has them.
ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
LIBRARIES = "import sklearn.base, pandas, numba"
FIT = """
import bnplug
from bnplug import datasets
X, y = datasets.tic_tac_toe()
bnplug.BayesianNetworkClassifier("tan").fit(X, y).predict(X)
"""
SAVE = """
import sys, bnplug
from bnplug import datasets
X, y = datasets.tic_tac_toe()
X.assign(**{"class": y}).to_csv(sys.argv[1] + "/data.csv", index=False)
bnplug.BayesianNetworkClassifier("tan").fit(X, y).save(sys.argv[1] + "/model")
"""

# Processor seconds at version 0.1.0.
BEFORE = {"libraries": 1.64, "fit": 2.90, "predict": 2.35, "evaluate": 2.58, "help": 0.13, "methods": 0.15}


def costs(commands):
    """Return each command's median processor and wall time, in seconds: in turns, after a first, which may compile."""
    measured = {what: [] for what in commands}
    for turn in range(RUNS + 1):
        for what, command in commands.items():
            before, started = os.times(), time.perf_counter()
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=ENVIRONMENT)
            after, wall = os.times(), time.perf_counter() - started
            used = after.children_user + after.children_system - before.children_user - before.children_system
            if turn:
                measured[what].append((used, wall))
    return {what: [statistics.median(times) for times in zip(*own, strict=True)] for what, own in measured.items()}


def commands(folder):
    """Return what is measured, by name."""
    model, data = str(folder / "model"), str(folder / "data.csv")
    bnplug = [sys.executable, "-m", "bnplug"]
    return {
        "libraries": [sys.executable, "-c", LIBRARIES],
        "fit": [sys.executable, "-c", FIT],
        "predict": [*bnplug, "predict", model, data],
        "evaluate": [*bnplug, "evaluate", model, data],
        "help": [*bnplug, "--help"],
        "methods": [*bnplug, "methods"],
    }


def main():
    with tempfile.TemporaryDirectory() as name:
        subprocess.run([sys.executable, "-c", SAVE, name], check=True)
        print(f"{'':<10} {'processor s':>11} {'wall s':>7} {'before':>7}")
        figures = costs(commands(Path(name)))
        for what, (processor, wall) in figures.items():
            print(f"{what:<10} {processor:11.2f} {wall:7.2f} {BEFORE[what]:7.2f}")
    ratio = figures["fit"][0] / figures["libraries"][0]
    print(f"import, fit and predict take {ratio:.2f} times what importing the libraries takes", end="")
    print(f" (before: {BEFORE['fit'] / BEFORE['libraries']:.2f})")
    for what in ("predict", "evaluate"):
        print(f"bnplug {what}: {figures[what][0] / figures['libraries'][0]:.2f} times", end="")
        print(f" (before: {BEFORE[what] / BEFORE['libraries']:.2f})")


if __name__ == "__main__":
    main()
