"""The maximum-likelihood BN-SVM beside ML, MCL, MM, support vector machines and logistic regression.

speed    The paper's whole grid (6 x 14) with 5 folds on generated data of 1,000 rows, 20 features and 4 classes, NB and
         TAN, 2 threads; the same on the training rows of the first fold of primary-tumor and audiology, TAN, whose
         more than 20 classes and missing cells take longest, in 1 thread and in 2, which choose alike; and fits on
         letter with TAN. Wall and CPU seconds.
table    For each data set: accuracy, likelihood relative to ML on training and test rows, seconds of a whole fit.
         At most 5,000 rows: 5-fold cross-validation, each with the paper's grids and 5 inner folds (MM: kappa is 0.5).
         Above: one split, settings chosen on one hold-out from gamma in {1, 10}, lam in {0, 1, 8, 64}, those of the
         SVM from 3 x 3 on 5,000 rows. All see the same bins (MDL on the training rows), SVM and LR one-hot.
         Then accuracy against missing features, the mean over the UCI sets: networks marginalise, SVM and LR impute by
         5-NN. Methods whose plugin is not installed are left out.

Run: python benchmarks/mlbnsvm.py [speed] [table] [--sets NAME ...] [--structures NB TAN] [--methods NAME ...]
     [--out FILE]. The data are read from the folder that BNPLUG_DATA names; without it only `speed` runs, and
     not on letter. Records are appended to FILE as they come; a run that was interrupted goes on.
"""

from __future__ import annotations

import argparse
import os
import sys
import warnings
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import numpy as np
import pandas as pd
from bnplug_mlbnsvm import protocol
from bnplug_mlbnsvm.summary import hidden_curve, likelihoods, mean_accuracy

import bnplug
from bnplug import datasets
from bnplug.data.table import Table
from bnplug.errors import BnplugWarning
from bnplug.typing import IntArray


def generated(rows: int = 1000, features: int = 20, classes: int = 4, states: int = 4) -> Table:
    """Each feature follows the class and the one before it in a part of the rows, and is noise in the others."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, classes, rows)
    columns: dict[str, Any] = {}
    before = np.zeros(rows, dtype=int)
    for v in range(features):
        before = np.where(rng.random(rows) < 0.3, (y + before) % states, rng.integers(0, states, rows))
        columns[f"x{v}"] = before
    return Table.from_frame(pd.DataFrame(columns).assign(c=y), "c")


def coded(dataset: datasets.Dataset, rows: IntArray) -> Table:
    X, y = dataset.X.iloc[rows], dataset.y.astype(str).to_numpy()[rows]
    return bnplug.code(X, y, discretizer="mdl", categorical_features=dataset.categorical_features, target="class_")[0]


def timed_fit(what: str, table: Table, structure: str, n_jobs: int = 2, **params: Any) -> None:
    dag = bnplug.structure_learner(structure).learn(table)
    learner = bnplug.parameter_learner("ml-bn-svm", n_jobs=n_jobs, random_state=0, **params)
    wall, cpu = perf_counter(), process_time()
    learner.fit(table, dag)
    wall, cpu = perf_counter() - wall, process_time() - cpu
    print(
        f"{what}, {structure}, {n_jobs} thread(s): {wall:.1f} s wall, {cpu:.1f} s CPU; "
        f"lam={learner.lam_:g}, gamma={learner.gamma_:g}, "
        f"{learner.n_iter_} steps, likelihood {learner.likelihood_ratio_:.4f} of ML",
        flush=True,
    )


def speed() -> None:
    table = generated()
    for structure in ("nb", "tan"):
        timed_fit("grid 6 x 14, 5 folds, 1000 x 20, 4 classes", table, structure, lam="cv", gamma="cv")
    if "BNPLUG_DATA" not in os.environ:
        return
    for name in ("primary-tumor", "audiology"):
        dataset = datasets.load(name, os.environ["BNPLUG_DATA"])
        rows = protocol.splits(dataset)[0][0]
        for n_jobs in (1, 2):
            timed_fit(f"grid 6 x 14, 5 folds, {name}", coded(dataset, rows), "tan", n_jobs, lam="cv", gamma="cv")
    letter = datasets.load("letter", os.environ["BNPLUG_DATA"])
    table = coded(letter, np.arange(len(letter.X)))
    for lam, gamma in ((1.0, 1.0), (8.0, 10.0)):
        timed_fit(f"letter, {table.n_rows} rows", table, "tan", lam=lam, gamma=gamma)


def table(options: argparse.Namespace) -> None:
    named = [datasets.load(name, os.environ["BNPLUG_DATA"]) for name in options.sets]
    todo = protocol.jobs(named, options.structures, options.methods)
    records = []
    for record in protocol.run(todo, options.out, options.n_jobs):
        records.append(record)
        shown = [f"{record[name]:.4g}" for name in ("accuracy", "seconds")]
        print(record["dataset"], record["fold"], record["structure"], record["method"], *shown, flush=True)
    frame = pd.DataFrame(records)
    with pd.option_context("display.width", 200):
        for what, part in (("accuracy (%)", mean_accuracy(frame)), ("seconds", mean_accuracy(frame, "seconds", 1.0))):
            print(f"\n{what}\n{part.round(2).to_string()}")
        print(f"\nlikelihood relative to ML (%)\n{likelihoods(frame).round(2).to_string()}")
        print(f"\naccuracy (%) by percentage of missing features\n{hidden_curve(frame).round(2).to_string()}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", choices=["speed", "table"], default=["speed", "table"])
    parser.add_argument("--sets", nargs="+", default=protocol.SETS)
    parser.add_argument("--structures", nargs="+", choices=["NB", "TAN"], default=["TAN", "NB"])
    parser.add_argument("--methods", nargs="+", help="only these")
    parser.add_argument("--out", type=Path, default=Path("mlbnsvm.jsonl"))
    parser.add_argument("--n-jobs", type=int, default=2)
    options = parser.parse_args()
    warnings.simplefilter("ignore", BnplugWarning)
    if "speed" in options.parts:
        speed()
    if "table" in options.parts and "BNPLUG_DATA" in os.environ:
        table(options)
    elif "table" in options.parts:
        print("BNPLUG_DATA is not set: only `speed` can run", file=sys.stderr)


if __name__ == "__main__":
    main()
