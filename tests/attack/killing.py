"""Kills processes that write at random moments, and looks whether something is lost.

Run: python tests/attack/killing.py KIND COUNT SEED

KIND is one of `WRITERS`. Each process is a fork of this one, which has everything compiled. Prints a line of JSON: how
many were killed, what was kept at the end, and how many temporary files were left.
"""

import json
import os
import random
import signal
import sys
import tempfile
import time
import traceback
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from click.testing import CliRunner

import bnplug
from bnplug import BayesianNetworkClassifier
from bnplug.cli import cli
from bnplug.experiments import compare
from bnplug.experiments.storage import ResultsFile

RNG = np.random.default_rng(0)
X = pd.DataFrame({f"x{i}": RNG.integers(0, 3, 200) for i in range(8)})
Y = RNG.integers(0, 2, 200)
MODELS = [BayesianNetworkClassifier(name).fit(X, Y) for name in ("nb", "tan")]


def save():
    while True:
        for model in MODELS:
            model.save("model")


def fit():
    X.assign(c=Y).to_csv("data.csv", index=False)
    while True:
        CliRunner().invoke(cli, ["fit", "data.csv", "--target", "c", "-o", "model"], catch_exceptions=False)


def anneal():
    from bnplug_annealing import checkpoints

    checkpoints._PAUSE = 0.0
    search = bnplug.structure_learner("sa", score="cr", checkpoint="sa.json", random_state=0)
    BayesianNetworkClassifier(search).fit(X, Y)
    os.unlink("sa.json")


def run_folds():
    compare(["nb", "tan"], ["corral"], cv=20, output="results.jsonl")
    os.unlink("results.jsonl")


def whole_model(folder, before):
    if before or (folder / "model" / "model.json").exists():
        assert bnplug.load(folder / "model").predict(X).shape == (200,)
        return True
    return before


def evaluations(folder, before):
    path = folder / "sa.json"
    return json.loads(path.read_text())["state"]["n_evaluations"] if path.exists() else 0


def folds(folder, before):
    path = folder / "results.jsonl"
    if not path.exists():
        return 0
    content = path.read_text()
    settings = json.loads(content.splitlines()[0])["settings"]
    # All whole lines but the first are records.
    records = ResultsFile(path, settings).records
    assert len(records) == content.count("\n") - 1
    return len(records)


#: What writes, what is kept of it, and whether that only grows until the work is done and begins anew.
WRITERS = {
    "save": (save, whole_model),
    "compare": (run_folds, folds),
    "sa": (anneal, evaluations),
    "fit": (fit, whole_model),
}


def kill_once(write, folder, rng):
    """Fork a process that writes, and kill it a moment later; return whether it was done before."""
    child = os.fork()
    if child == 0:
        os.chdir(folder)
        try:
            write()
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    time.sleep(rng.expovariate(1 / 0.1))
    os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status) or os.WEXITSTATUS(status) == 0, "it failed, see above"
    return not os.WIFSIGNALED(status)


def main(kind, count, seed):
    warnings.simplefilter("ignore")
    rng = random.Random(f"{kind} {seed}")
    write, look = WRITERS[kind]
    # What is compiled and imported here is so in every fork.
    if kind == "compare":
        compare(["nb", "tan"], ["corral"], cv=2)
    if kind == "sa":
        search = bnplug.structure_learner("sa", score="cr", max_evaluations=20, random_state=0)
        BayesianNetworkClassifier(search).fit(X, Y)
    killed = most = 0
    with tempfile.TemporaryDirectory() as name:
        folder, kept = Path(name), 0
        while killed < count:
            done = kill_once(write, folder, rng)
            killed += not done
            before, kept = kept, look(folder, kept)
            assert done or kept == 0 or kept >= before, f"there was {before}, and is {kept}"
            most = max(most, kept)
        left = list(folder.rglob("*.tmp"))
        print(json.dumps({"killed": killed, "kept": most, "temporary": len(left)}))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
