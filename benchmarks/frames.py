"""Frames in: what coding columns of mixed types costs beside the work that nobody can spare, and wide frames.

A quarter of the columns each are floats, few whole numbers, text, and categories; one cell of a hundred of floats and
text is missing. What cannot be spared: ``pandas.factorize`` of each discrete column (of a category, which has its
codes, a copy of them), one ``searchsorted`` of each column of floats. New rows are coded by that alone. In training
the search for cuts comes first, which is timed on its own, and added to the bound.

Then naive Bayes on 100 rows of 2,000 columns and KDB on as many rows of 1,000, from the frame to the fitted model: by
maximum likelihood over MDL cuts, as in the first version, which took 3.6 and 62 s, and as is the default now, by
back-off over log2 quantiles, which took 0.6 and 6 s, KDB 11 s on 1,000 rows, before rows were counted without copies.

Bounds: coding 2, naive Bayes 0.5 s, KDB 5 s. Training on 100 x 2,000 is close to its bound: of nine runs on an
idle machine eight gave 1.78 to 2.01, and one 2.42.

Usage: python benchmarks/frames.py          Each figure is the best of five, in seconds of the processor.
"""

from __future__ import annotations

import time

import numpy as np
import pandas as pd

import bnplug
from bnplug import ColumnSummary, MDLDiscretizer

WORDS = np.array(["ash", "beech", "cedar", "oak"], dtype=object)


def mixed(rows, columns, seed=0):
    """A frame of mixed columns, of which each seventh follows the class, and the class."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, rows)
    made = {}
    for j in range(columns):
        numbers = rng.normal(size=rows) + y * (j % 7 == 0)
        steps, holes = np.digitize(numbers, [-1, 0, 1]), rng.random(rows) < 0.01
        made[f"x{j}"] = [
            np.where(holes, np.nan, numbers),
            steps,
            pd.Series(np.where(holes, None, WORDS[steps])),
            pd.Categorical.from_codes(steps, categories=WORDS),
        ][j % 4]
    return pd.DataFrame(made), np.array(["no", "yes"])[y]


def best(call, repetitions=5):
    """The least processor time of several calls."""
    seconds = []
    for _ in range(repetitions):
        started = time.process_time()
        call()
        seconds.append(time.process_time() - started)
    return min(seconds)


def cut(columns, y):
    """Find the cuts of columns of floats."""
    summaries = (ColumnSummary.of(values, y, name=name) for name, values in columns.items())
    return MDLDiscretizer(categorical_features=None).fit_summaries(summaries)


def bare(discrete, floats):
    """What coding a column takes and no more."""
    for column in discrete:
        if isinstance(column.dtype, pd.CategoricalDtype):
            column.cat.codes.to_numpy().copy()
        else:
            pd.factorize(column)
    for values, cuts in floats:
        np.searchsorted(cuts, values)


def coding(rows, columns):
    frame, y = mixed(rows, columns)
    classes = (y == "yes").astype(np.int64)
    table, encoder = bnplug.encode_training(frame, y, discretizer="mdl")
    numbers = {name: frame[name].to_numpy() for name in encoder.numeric}
    floats = [(numbers[name], cuts) for name, cuts in encoder.cut_points.items()]
    discrete = [frame[name] for name in frame if name not in numbers]
    bound, search = best(lambda: bare(discrete, floats)), best(lambda: cut(numbers, classes))
    new = best(lambda: encoder.encode(frame, table))
    train = best(lambda: bnplug.encode_training(frame, y, discretizer="mdl"))
    print(
        f"{rows:,} x {columns:,} mixed columns: new rows {new:.3f} s, {new / bound:.2f} of the bound {bound:.3f}; "
        f"training {train:.3f} s, {train / (bound + search):.2f} of it with the cuts, {bound + search:.3f}",
        flush=True,
    )


def wide(name, rows, columns):
    frame, y = mixed(rows, columns)
    models = bnplug.make_classifier(f"{name}+ml", discretizer="mdl"), bnplug.make_classifier(name)
    likelihood, default = (best(lambda own=model: own.fit(frame, y), repetitions=3) for model in models)
    print(f"{name} on {rows:,} x {columns:,}: {likelihood:.2f} s, by default {default:.2f} s", flush=True)


def main():
    coding(100, 2_000)
    coding(1_000_000, 20)
    wide("nb", 100, 2_000)
    for rows in (100, 1_000):
        wide("kdb", rows, 1_000)


if __name__ == "__main__":
    main()
