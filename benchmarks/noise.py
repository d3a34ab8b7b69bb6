"""Cost of a column of random codes: 60 codes with 50 training rows each, for the default classifier.

Data sets: those that DEVELOPMENT.csv lists in the folder BNPLUG_DATA and that have at least 3,100 rows, and networks
made up here, one for each seed: a class with three states and twelve features of two to five states, whose parents are
the class and one other feature.

3,000 training rows and at most 2,000 other rows as test rows, stratified by the class, are drawn with each of the seeds
0 to 4. The column `noise` has text: each of 60 codes stands in exactly 50 training rows, in random order, and test rows
have codes drawn at random. It is inserted at a random position. `BayesianNetworkClassifier()` is fitted without it and
with it, as it is (`plain`) and with `calibrate="evidence"` (`evidence`). Probabilities are clipped at 1e-6.

Required, for each of the two classifiers:

1. the mean log loss over data sets and seeds rises by at most 1%;
2. in no fit is the column the parent of more than one feature.

The largest rise of a single data set (mean over its seeds) is printed as well, in percent and as a difference, since
percentages of a tiny loss say little.

Measured over 19 data sets and the made-up networks (log loss without and with the column, rise, most children):

               plain                          evidence
  at first     .4172  .4204  0.76%  4         .3255  .3276  0.65%  4
  1            .4170  .4192  0.53%  0         .3253  .3269  0.49%  0
  2            .4168  .4170  0.04%  0         .3252  .3254  0.04%  0

1: chance is multiplied by a factor in sparse tables; see benchmarks/correction.py for the choice.
2: concentrations of `backoff` go up to the number of rows instead of 256. The rule for 2 was that no log loss of the
default in benchmarks/calibration.py (`plain` and `evidence`; complete, 25% and 50% hidden) rises by more than 0.2%.
They change by at most 0.02%. Up to 2^14 for all tables was refused by this rule: 0.22% for `evidence` on complete rows.
In the end, the largest rise of a single data set is 0.0009 for `plain` (adult) and 0.0012 for `evidence` (nursery).

Usage: python benchmarks/noise.py [FILE]
(default: demo-output/noise.csv)

Every data set is written to FILE when it is done, so an interrupted run resumes; the means are printed.
"""

from __future__ import annotations

import sys

import numpy as np
import pandas as pd
from correction import prepare
from sklearn.model_selection import train_test_split

from bnplug import BayesianNetworkClassifier, datasets

CODES, ROWS, TEST_ROWS, SEEDS, FEWEST = 60, 3000, 2000, range(5), 3100
NOISE, MADE_UP = "noise", "made up"
CALIBRATE = {"plain": None, "evidence": "evidence"}


def made_up(seed, n_rows=ROWS + TEST_ROWS):
    """Return rows of a made-up network, and their classes."""
    random = np.random.default_rng(seed)
    y = random.integers(3, size=n_rows)
    columns, states = {}, random.integers(2, 6, size=12)
    for i in range(12):
        parent = f"x{random.integers(i)}" if i else None
        before = columns[parent] if i else np.zeros(n_rows, dtype=int)
        cpt = random.dirichlet(np.ones(states[i]), size=(3, before.max() + 1)).cumsum(axis=-1)
        columns[f"x{i}"] = (random.random((n_rows, 1)) > cpt[y, before, :-1]).sum(axis=1)
    return pd.DataFrame(columns).map("s{}".format), pd.Series(y).map("c{}".format)


def with_codes(rows, position, codes):
    """Return rows with the column of codes at a position."""
    rows = rows.copy()
    rows.insert(position, NOISE, [f"code{code}" for code in codes])
    return rows


def measure(X, y, seed):
    """Yield the figures of every fit on the rows that a seed draws."""
    n_test = min(TEST_ROWS, len(y) - ROWS)
    parts = train_test_split(X, y, train_size=ROWS, test_size=n_test, stratify=y, random_state=seed)
    train, test, y_train, y_test = parts
    random = np.random.default_rng(seed)
    position = int(random.integers(X.shape[1] + 1))
    of_train = random.permutation(np.repeat(np.arange(CODES), ROWS // CODES))
    of_test = random.integers(CODES, size=n_test)
    noisy = with_codes(train, position, of_train), with_codes(test, position, of_test)
    for column, (fitted, tested) in {"without": (train, test), "with": noisy}.items():
        for name, calibrate in CALIBRATE.items():
            model = BayesianNetworkClassifier(calibrate=calibrate).fit(fitted, y_train)
            posterior = model.predict_proba(tested)
            truth = pd.Index(model.classes_).get_indexer(y_test)
            likelihood = np.where(truth >= 0, posterior[np.arange(n_test), truth], 0.0)
            yield {
                "seed": seed,
                "column": column,
                "classifier": name,
                "log_loss": -np.log(np.clip(likelihood, 1e-6, 1.0)).mean(),
                "children": sum(parent == NOISE for parent, _ in model.tables_.edges),
            }


def data_sets(folder):
    """Yield the name of each data set, and a function from seeds to its rows and classes."""
    yield MADE_UP, made_up
    sizes = pd.read_csv(folder / "MANIFEST.csv").set_index("name")["rows"]
    for name in pd.read_csv(folder / "DEVELOPMENT.csv")["name"]:
        if sizes[name] >= FEWEST:
            data = datasets.load(name, folder)
            kept = data.y.map(data.y.value_counts()).to_numpy() >= 10
            rows = data.X[kept].reset_index(drop=True), data.y[kept].reset_index(drop=True).astype(str)
            yield name, lambda _, rows=rows: rows


def report(figures):
    """Print the means, and the data set to which the column costs most."""
    print(f"{figures['dataset'].nunique()} data sets")
    for name, part in figures.groupby("classifier", sort=False):
        losses = part.pivot_table("log_loss", "dataset", "column")
        rise, means = losses["with"] - losses["without"], losses.mean()
        percent = 100 * rise / losses["without"]
        print(
            f"{name:9} log loss {means['without']:.4f}, with the column {means['with']:.4f} "
            f"({100 * (means['with'] / means['without'] - 1):+.2f}%); most children {part['children'].max()}; "
            f"largest rise {rise.max():+.4f} ({rise.idxmax()}), {percent.max():+.2f}% ({percent.idxmax()})"
        )


def main(file="demo-output/noise.csv"):
    folder, file = prepare(file)
    done = set(pd.read_csv(file)["dataset"]) if file.exists() else set()
    for name, rows_of in data_sets(folder):
        if name not in done:
            figures = pd.DataFrame([row for seed in SEEDS for row in measure(*rows_of(seed), seed)])
            figures.insert(0, "dataset", name)
            figures.to_csv(file, mode="a", header=not file.exists(), index=False)
    report(pd.read_csv(file))


if __name__ == "__main__":
    main(*sys.argv[1:])
