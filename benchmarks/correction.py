"""Choose the default `correction` of `tan` and `kdb`: None, "expected" or 0.999.

Five stratified folds (seed 0) of the data sets that DEVELOPMENT.csv lists in the folder BNPLUG_DATA, at most 2,000 rows
of each. Parameters are `backoff`, the default; structures are `tan` and `kdb` with k = 2. Every candidate is measured
on three versions of each data set:

  plain    the data set as it is
  noise    with a column of 60 states drawn at random, all of which are kept
  sparse   with the same column, 95% of whose cells are missing completely at random

The rule, written down before the first run. All figures are means over data sets and over both structures.

1. A candidate is excluded if the noise column has more than one feature as a child in the version `sparse`.
2. A candidate is excluded if its accuracy is more than 0.2 points below that of another candidate in `plain` or
   `noise`.
3. Among the others, the candidate with the lowest log loss wins, averaged over `plain` and `noise`.
4. Log losses within 1% of the lowest are tied. Among tied candidates, None wins if the noise column has at most one
   child in `noise` too, because it is simplest; then "expected", which has no constant to choose.

Measured over 55 data sets (accuracy / log loss / children of the noise column):

             plain          noise                  sparse
  None       84.12 / .525   82.45 / .544 / 13.2    81.08 / .625 / 17.7
  "expected" 84.19 / .519   83.58 / .531 /  0.7    84.15 / .519 /  0.1
  0.999      84.57 / .513   84.35 / .518 /  0.0    84.56 / .513 /  0.0

None is excluded by rules 1 and 2, "expected" by rule 2. 0.999 has the lowest log loss, also for each structure alone,
and became the default.

The figures are from before chance was multiplied by a factor in sparse tables. With it, 0.999 has 84.59 / .512, 84.39 /
.516 / 0.0 and 84.58 / .512 / 0.0. The factor was chosen among three ways to compute the chance in sparse tables (none,
this factor, and the mean and variance that it is based on in place of chi-square's) by rules 2 to 4 and by
benchmarks/noise.py, in which a column of codes must not have more than one child. Without it that column has up to 4;
with mean and variance, the noise column has 1.4 children here.

Using the exact expectation over all ways to pair the states of two features,
instead of degrees of freedom / (2 n), did not change the choice: 84.18 / .517 and 83.72 / .525 / 0.3.

Usage: python benchmarks/correction.py [FILE]
(default: demo-output/correction.csv)

Every fold is written to FILE when it is done, so an interrupted run resumes; the means are printed.
"""

from __future__ import annotations

import os
import sys
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.metrics import log_loss
from sklearn.model_selection import StratifiedKFold

from bnplug import BayesianNetworkClassifier, datasets
from bnplug.errors import BnplugWarning

CANDIDATES = {"None": None, "expected": "expected", "0.999": 0.999}
STRUCTURES = {"tan": {}, "kdb": {"k": 2}}
ROWS, STATES, MISSING = 2000, 60, 0.95
NOISE = "noise_column"
FIGURES = ["accuracy", "log_loss", "edges", "children"]
COLUMNS = ["dataset", "fold", "version", "structure", "correction", *FIGURES]


def prepare(file):
    """Return the folder of the data files and the file for the figures, and ignore warnings; exit without a folder."""
    if not os.environ.get("BNPLUG_DATA"):
        print("Set BNPLUG_DATA to the folder of the data files.")
        raise SystemExit
    file = Path(file)
    file.parent.mkdir(parents=True, exist_ok=True)
    warnings.simplefilter("ignore", BnplugWarning)
    warnings.simplefilter("ignore", UserWarning)
    return Path(os.environ["BNPLUG_DATA"]), file


def rows_of(data):
    """Return at most `ROWS` rows, drawn with seed 0."""
    kept = np.random.RandomState(0).permutation(len(data.y))[:ROWS]
    return data.X.iloc[kept].reset_index(drop=True), data.y.iloc[kept].reset_index(drop=True).astype(str)


def versions_of(X):
    """Return the three versions of the features."""
    random = np.random.default_rng(0)
    noise = pd.Series([f"s{state}" for state in random.integers(STATES, size=len(X))], dtype=object)
    sparse = noise.mask(random.random(len(X)) < MISSING)
    return {"plain": X, "noise": X.assign(**{NOISE: noise}), "sparse": X.assign(**{NOISE: sparse})}


def nominal_columns(data, X):
    """Return the columns to declare as categorical, whose states are not pooled."""
    listed = () if data.categorical_features == "auto" else data.categorical_features
    few = [name for name in listed if data.X[name].nunique() <= 30]
    return [*few, NOISE] if NOISE in X else few


def measure(model, X, y, train, test):
    """Return accuracy, log loss, the number of edges between features, and the children of the noise column."""
    model.fit(X.iloc[train], y.iloc[train])
    labels = sorted(set(y))
    shares = pd.DataFrame(model.predict_proba(X.iloc[test]), columns=list(model.classes_))
    shares = np.clip(shares.reindex(columns=labels, fill_value=0.0).to_numpy(), 1e-6, None)
    hits = np.array(labels)[shares.argmax(axis=1)] == y.iloc[test].to_numpy()
    loss = log_loss(y.iloc[test], shares / shares.sum(axis=1, keepdims=True), labels=labels)
    edges = [edge for edge in model.tables_.edges if model.tables_.target not in edge]
    return hits.mean(), loss, len(edges), sum(parent == NOISE for parent, _ in edges)


def tasks(X, y):
    """Yield every version, structure and candidate of every fold."""
    for fold, (train, test) in enumerate(StratifiedKFold(5, shuffle=True, random_state=0).split(X, y)):
        for version, frame in versions_of(X).items():
            for structure, params in STRUCTURES.items():
                for name, correction in CANDIDATES.items():
                    parts = structure, {**params, "correction": correction}
                    yield (fold, version, structure, name), parts, frame, train, test


def main(file="demo-output/correction.csv"):
    folder, file = prepare(file)
    done = pd.read_csv(file, keep_default_na=False) if file.is_file() else pd.DataFrame(columns=COLUMNS)
    seen = set(done[COLUMNS[:5]].astype(str).itertuples(index=False, name=None))
    for name in pd.read_csv(folder / "DEVELOPMENT.csv")["name"]:
        data = datasets.load(name, folder)
        X, y = rows_of(data)
        rows = []
        for key, parts, frame, train, test in tasks(X, y):
            if (name, *map(str, key)) not in seen:
                model = BayesianNetworkClassifier(parts, categorical_features=nominal_columns(data, frame))
                rows.append((name, *key, *measure(model, frame, y, train, test)))
        pd.DataFrame(rows, columns=COLUMNS).to_csv(file, mode="a", header=not file.exists(), index=False)
    report(pd.read_csv(file, keep_default_na=False))


def report(done):
    """Print the means over data sets: of both structures together, and of each."""
    print(f"{done['dataset'].nunique()} data sets")
    for keys in (["version", "correction"], ["structure", "version", "correction"]):
        means = done.groupby(["dataset", *keys])[FIGURES].mean().groupby(keys).mean()
        means["accuracy"] *= 100
        print(means.round({"accuracy": 2, "log_loss": 4, "edges": 1, "children": 2}).to_string())


if __name__ == "__main__":
    main(*sys.argv[1:])
