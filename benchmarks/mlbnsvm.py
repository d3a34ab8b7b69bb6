"""How long the maximum-likelihood BN-SVM takes.

The paper's whole grid (6 x 14) with 5 folds on generated data of 1,000 rows, 20 features and 4 classes, NB and TAN,
2 threads; the same on the training rows of the first fold of primary-tumor and audiology, TAN, whose more than 20
classes and missing cells take longest, in 1 thread and in 2, which choose alike; and fits on letter with TAN. Wall and
CPU seconds. How well it classifies, and beside what, is `bnplug reproduce peharz2013`.

Bounds: 15 s for each of the two grids, 20 s for letter. In version 0.1.0 the grids took 68 and 51 CPU seconds in 1
thread, idle, and take 20 and 16 now. On primary-tumor the choice is the same, lam 0.25 and gamma 0.1; on audiology it
was 4 and 15, and is 8 and 20: descents round otherwise since they are one compiled loop.

Run: python benchmarks/mlbnsvm.py. The data are read from the folder that BNPLUG_DATA names; without it only generated
ones are taken.
"""

from __future__ import annotations

import os
import warnings
from time import perf_counter, process_time
from typing import Any

import numpy as np
import pandas as pd
from sklearn.model_selection import StratifiedKFold

import bnplug
from bnplug import datasets
from bnplug.errors import BnplugWarning
from bnplug.table.table import Table
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
    return bnplug.encode_training(
        X, y, discretizer="mdl", categorical_features=dataset.categorical_features, name="class_"
    )[0]


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
        rows, _ = next(StratifiedKFold(5, shuffle=True, random_state=0).split(dataset.X, dataset.y))
        for n_jobs in (1, 2):
            timed_fit(f"grid 6 x 14, 5 folds, {name}", coded(dataset, rows), "tan", n_jobs, lam="cv", gamma="cv")
    letter = datasets.load("letter", os.environ["BNPLUG_DATA"])
    table = coded(letter, np.arange(len(letter.X)))
    for lam, gamma in ((1.0, 1.0), (8.0, 10.0)):
        timed_fit(f"letter, {table.n_rows} rows", table, "tan", lam=lam, gamma=gamma)


if __name__ == "__main__":
    warnings.simplefilter("ignore", BnplugWarning)
    speed()
