"""Damaged and hostile files of every kind that bnplug reads: each is a clear error, or read as something valid.

Run: PYTHONPATH=tests python tests/attack/fuzzing.py KIND FIRST COUNT [KIND FIRST COUNT ...]

KIND is one of `KINDS`; case number FIRST is the first of COUNT. Prints a line of JSON for each: how many cases were
refused, and how many read. Anything else than a ``ValueError`` or an ``OSError``, more than `SECONDS` for a case or
`MEGABYTES` of memory for the process ends it with an error that names the case.
"""

import hashlib
import json
import random
import resource
import shutil
import signal
import sys
import tempfile
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from damaged_files import FILES, MUTATIONS

import bnplug
from bnplug import BayesianNetworkClassifier, structure_learner
from bnplug._json import sealed
from bnplug.experiments.storage import ResultsFile
from bnplug.io.network_files import read_tables
from bnplug.sources.files import read_data

SECONDS, MEGABYTES = 20, 3000

RNG = np.random.default_rng(0)
X = pd.DataFrame({"x": RNG.integers(0, 3, 60), "o": RNG.choice(["a", "b"], 60), "f": RNG.normal(size=60)})
Y = RNG.choice(["n", "y"], 60)
SETTINGS = {"cv": "5", "methods": {"nb": "1"}}


def mutated(data, rng):
    changed = bytearray(data)
    for _ in range(rng.choice([1, 1, 2, 4])):
        if changed:
            rng.choice(MUTATIONS)(changed, rng)
    return bytes(changed)


class Folders:
    """Model folders: a changed index, sealed again or not; changed arrays, with the right checksum or not."""

    def __init__(self, folder):
        self.folder = folder / "model"
        model = BayesianNetworkClassifier("tan").fit(X, Y)
        # What a case may ask for is compiled before its time begins.
        model.predict_proba(X.assign(o=None))
        model.save(self.folder)
        (self.tables,) = self.folder.glob("tables-*.npz")
        self.index, self.numbers = (self.folder / "model.json").read_bytes(), self.tables.read_bytes()

    def run(self, rng):
        shutil.rmtree(self.folder)
        self.folder.mkdir()
        index, numbers, name = json.loads(self.index), self.numbers, self.tables.name
        if rng.random() < 0.5:
            numbers = mutated(numbers, rng)
            digest = hashlib.sha256(numbers).hexdigest()
            name = f"tables-{digest[:16]}-{'0' * 16}.npz"
            index |= {"tables": name, "tables_sha256": digest}
        content = self._index(index, rng)
        (self.folder / name).write_bytes(numbers)
        (self.folder / "model.json").write_bytes(content)
        bnplug.load(self.folder).predict_proba(X)

    def _index(self, index, rng):
        index.pop("checksum")
        if rng.random() < 0.5:
            return sealed(index)
        content = mutated(json.dumps(index).encode(), rng)
        try:
            return sealed(json.loads(content)) if rng.random() < 0.9 else content
        except (ValueError, TypeError, RecursionError):
            return content


class Networks:
    """Network files."""

    def __init__(self, folder, ending):
        self.path = folder / f"model{ending}"
        self.files = [file for name, file in FILES.items() if name.endswith(ending)]

    def run(self, rng):
        kind, text = rng.choice(self.files)
        self.path.write_bytes(mutated(text.encode(), rng))
        read_tables(self.path, kind).probabilities()


class Checkpoints:
    """Checkpoints of simulated annealing, half of them changed as text and half as JSON."""

    def __init__(self, folder):
        self.path = folder / "sa.json"
        self._fit(40)
        self.content = self.path.read_bytes()

    def _fit(self, most):
        search = structure_learner("sa", score="cr", checkpoint=str(self.path), random_state=0, max_evaluations=most)
        BayesianNetworkClassifier(search).fit(X, Y)

    def run(self, rng):
        content = json.loads(self.content)
        state = content["state"]
        if rng.random() < 0.5:
            values = [None, -1, 0, 1, 3, 10**9, 10**400, 1e308, "x", [], [[]], [[3], [3], [3], []], {}, True]
            for _ in range(rng.choice([1, 1, 3])):
                state[rng.choice(list(state))] = rng.choice(values)
            self.path.write_text(json.dumps(content))
        else:
            self.path.write_bytes(mutated(self.content, rng))
        self._fit(50)


class Tables:
    """CSV files."""

    def __init__(self, folder):
        self.path = folder / "data.csv"
        self.content = X.assign(c=Y).head(30).to_csv(index=False).encode()

    def run(self, rng):
        self.path.write_bytes(mutated(self.content, rng))
        frame = read_data(self.path)
        if "c" in frame.columns:
            BayesianNetworkClassifier("nb").fit(frame.drop(columns="c"), frame["c"]).predict(frame.drop(columns="c"))


class Results:
    """Results files."""

    def __init__(self, folder):
        self.path = folder / "results.jsonl"
        file = ResultsFile(self.path, SETTINGS)
        for fold in range(5):
            file.append({"dataset": "a", "method": "nb", "fold": fold, "accuracy": 0.5})
        self.content = self.path.read_bytes()

    def run(self, rng):
        self.path.write_bytes(mutated(self.content, rng))
        ResultsFile(self.path, SETTINGS).append({"fold": 9})
        ResultsFile(self.path, SETTINGS)


KINDS = {
    "folder": Folders,
    "bif": lambda folder: Networks(folder, ".bif"),
    "xmlbif": lambda folder: Networks(folder, ".xmlbif"),
    "xdsl": lambda folder: Networks(folder, ".xdsl"),
    "net": lambda folder: Networks(folder, ".net"),
    "checkpoint": Checkpoints,
    "csv": Tables,
    "results": Results,
}


def main(kind, first, count):
    outcomes = {"read": 0, "refused": 0}
    resource.setrlimit(resource.RLIMIT_AS, (MEGABYTES << 20, MEGABYTES << 20))
    signal.signal(signal.SIGALRM, lambda *_: (_ for _ in ()).throw(TimeoutError(f"more than {SECONDS} s")))
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as folder:
        fuzzer = KINDS[kind](Path(folder))
        for case in range(first, first + count):
            signal.alarm(SECONDS)
            try:
                fuzzer.run(random.Random(f"{kind} {case}"))
                outcomes["read"] += 1
            except TimeoutError as error:
                raise AssertionError(f"{kind} {case}: {error}") from error
            except (ValueError, OSError) as error:
                if not str(error):
                    raise AssertionError(f"{kind} {case}: an error without a message") from error
                outcomes["refused"] += 1
            except BaseException as error:
                raise AssertionError(f"{kind} {case}: {error!r}") from error
            finally:
                signal.alarm(0)
    print(json.dumps(outcomes))


if __name__ == "__main__":
    for at in range(1, len(sys.argv), 3):
        main(sys.argv[at], int(sys.argv[at + 1]), int(sys.argv[at + 2]))
