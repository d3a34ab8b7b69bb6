"""Seconds of one RMCV search on the 22 data sets of Kelner and Lerner (2012), beside theirs, and beside Weka's.

The search is on all complete rows, MDL cuts, by one thread, after compilation; the best of three runs (one on letter),
in seconds of the clock and of the processor. Letter is also run with its raw 16 states. The published seconds are of
four fifths of the rows. Bounds: chess 0.35 s, letter 8 s. Idle, chess took 0.50 seconds of the processor in version
0.1.0, and takes 0.27 now.

Weka's `global.HillClimber` climbs from naive Bayes, with arc reversal, by the 0/1 loss in its 10 folds; ours is beside
it with 4 folds, the paper's, and with 10. It needs Java 17 and python-weka-wrapper3, which brings the jar, and is
stopped after LIMIT seconds. Weka's seconds are those it tells itself, without the start of Java.

The data are in the folder that BNPLUG_DATA names.

Usage: python benchmarks/rmcv.py [LIMIT]     (default: 180 seconds for each run of Weka; 0 leaves Weka out)
"""

from __future__ import annotations

import importlib.util
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time
import warnings
from dataclasses import replace
from pathlib import Path

from bnplug_papers.kelner2012.protocol import DATASETS, as_published, cut_beforehand
from bnplug_papers.kit import find_data, load_data, published

import bnplug

COMPARED_WITH_WEKA = ("Tic-Tac-Toe", "Vehicle", "Chess")


def coded(dataset):
    """All complete rows, numbers cut by MDL."""
    whole = cut_beforehand(dataset)
    return bnplug.Table.from_frame(whole.X.assign(class_=whole.y.to_numpy()), "class_")


def search(table, cv=4):
    """Seconds of a search by the clock and of the processor, and the learner."""
    learner = bnplug.structure_learner("rmcv", alpha=0.0, cv=cv, random_state=0, n_jobs=1)
    started = time.perf_counter(), time.process_time()
    learner.learn(table)
    return time.perf_counter() - started[0], time.process_time() - started[1], learner


def best(table, runs, cv=4):
    wall, processor, learners = zip(*[search(table, cv) for _ in range(runs)], strict=True)
    return min(wall), min(processor), learners[0]


def tell(name, table, runs, theirs):
    wall, processor, learner = best(table, runs)
    size = f"{table.n_rows:6} {len(table.features):4} {table.cards[table.target_index]:4}"
    found = f"{len(learner.moves_):4} {learner.n_evaluations_:7} {learner.trace_[-1]:7.4f} {wall:8.3f} {processor:9.3f}"
    beside = f"{theirs:12.2f} {theirs / wall:10.0f}" if theirs else ""
    print(f"{name:<14} {size} {found} {beside}", flush=True)


def measure_all(named):
    table = published("kelner2012-table12-13-seconds").query("method == 'RMCV (NBC) optimized'")
    theirs = table.set_index("dataset")["mean"]
    print("data set         rows  feat class moves   evals   score  seconds processor    published      times")
    for dataset in named:
        tell(dataset.name, coded(dataset), 1 if dataset.name == "Letter" else 3, theirs[dataset.name])
    for dataset in named:
        if dataset.name == "Letter":
            raw = replace(dataset, X=dataset.X.astype(str), categorical_features=tuple(dataset.X.columns))
            tell("Letter, raw", coded(raw), 1, None)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"largest memory of the whole run: {peak:.0f} MB")


def find_weka():
    """The class path of Weka, or None."""
    spec = importlib.util.find_spec("weka")
    folders = list(spec.submodule_search_locations or []) if spec else []
    if not folders or not shutil.which("java") or not Path(folders[0], "lib", "weka.jar").is_file():
        return None
    return str(Path(folders[0], "lib", "*"))


def write_arff(table, path):
    lines = ["@relation table"]
    for name, card in zip(table.names, table.cards, strict=True):
        lines.append(f"@attribute {re.sub(r'[^0-9A-Za-z]', '_', name)} {{{','.join(map(str, range(card)))}}}")
    lines += ["@data", *(",".join(map(str, row)) for row in table.codes.T.tolist())]
    path.write_text("\n".join(lines) + "\n")


def weka_seconds(class_path, table, limit):
    """What Weka says its search took; None if it was stopped."""
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder, "table.arff")
        write_arff(table, data)
        climber = ["-Q", "weka.classifiers.bayes.net.search.global.HillClimber", "--", "-P", "100", "-R"]
        risk = ["-S", "k-Fold-CV", "-Q"]
        estimator = ["-E", "weka.classifiers.bayes.net.estimate.SimpleEstimator", "--", "-A", "0.5"]
        command = ["java", "-cp", class_path, "weka.classifiers.bayes.BayesNet", "-t", str(data), "-no-cv", "-v"]
        try:
            done = subprocess.run(
                [*command, "-D", *climber, *risk, *estimator],
                capture_output=True,
                text=True,
                timeout=limit,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return None
    told = re.search(r"Time taken to build model: ([\d.]+) seconds", done.stdout)
    if told is None:
        raise RuntimeError(f"Weka failed: {done.stderr or done.stdout}")
    return float(told[1])


def measure_weka(named, limit):
    class_path = find_weka()
    if class_path is None:
        print("Weka is not there: it needs Java 17 and python-weka-wrapper3")
        return
    print("\ndata set         Weka (s)   ours, 4 folds  times    ours, 10 folds  times")
    for dataset in named:
        if dataset.name in COMPARED_WITH_WEKA:
            table = coded(dataset)
            ours = [best(table, 3, cv)[0] for cv in (4, 10)]
            seconds = weka_seconds(class_path, table, limit)
            told = f"over {limit:.0f}" if seconds is None else f"{seconds:.2f}"
            beside = "  ".join(f"{own:14.3f} {(seconds or limit) / own:6.0f}" for own in ours)
            print(f"{dataset.name:<14} {told:>10}  {beside}", flush=True)


def main():
    if not Path(os.environ.get("BNPLUG_DATA", "")).is_dir() or "BNPLUG_DATA" not in os.environ:
        print("BNPLUG_DATA names no folder of data files")
        return
    # Folds of classes with fewer rows than folds.
    warnings.simplefilter("ignore", UserWarning)
    there, _ = find_data(DATASETS.values(), os.environ["BNPLUG_DATA"])
    data = {name: as_published(load_data(f, os.environ["BNPLUG_DATA"])) for name, f in DATASETS.items() if f in there}
    named = [replace(dataset, name=name) for name, dataset in data.items()]
    search(coded(named[0]))
    limit = float(sys.argv[1]) if len(sys.argv) > 1 else 180.0
    if limit > 0:
        measure_weka(named, limit)
    measure_all(named)


if __name__ == "__main__":
    main()
