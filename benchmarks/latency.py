"""One row at a time: milliseconds of a prediction, the median and the 99th percentile of many.

TAN beside two pipelines of scikit-learn: `KBinsDiscretizer` with `CategoricalNB`, and `HistGradientBoostingClassifier`.
Rows of an array of 30 floats; of a frame of the same columns; of a frame of 10 columns of text, which the pipelines
take through an `OrdinalEncoder`; and of a frame of both. Processor time, in one thread. In version 0.1.0 our medians
were 15.6, 15.3, 1.8 and 18.5 ms, in this order (60 rows).

Usage: python benchmarks/latency.py [ROWS]
"""

from __future__ import annotations

import sys
import time
import warnings

import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.naive_bayes import CategoricalNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import KBinsDiscretizer, OrdinalEncoder
from threadpoolctl import threadpool_limits

import bnplug

TEXT = [f"t{j}" for j in range(10)]
#: Milliseconds that the median may take.
LIMITS = {"array of floats": 0.5, "frame of floats": 3.0, "frame of text": 3.0, "frame of both": 3.0}


def data(rows=2000):
    """Return the class, and what it is predicted from, in three forms."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, rows)
    floats = rng.normal(size=(rows, 30)) + y[:, None] * np.linspace(0.0, 1.0, 30)
    words = np.array(["red", "green", "blue", "grey"], dtype=object)
    picked = np.where(rng.random((rows, 10)) < 0.4, y[:, None], rng.integers(0, 4, (rows, 10)))
    text = pd.DataFrame(words[picked], columns=TEXT)
    frame = pd.DataFrame(floats, columns=[f"x{j}" for j in range(30)])
    both = pd.concat([frame, text], axis=1)
    return y, {"array of floats": floats, "frame of floats": frame, "frame of text": text, "frame of both": both}


def methods(form):
    """Return classifiers that are not fitted, by name."""
    coded = OrdinalEncoder()
    bins = KBinsDiscretizer(n_bins=5, encode="ordinal", quantile_method="averaged_inverted_cdf")
    boosting = HistGradientBoostingClassifier(random_state=0)
    as_codes, as_numbers = {
        "frame of text": (coded, coded),
        "frame of both": (
            make_column_transformer((coded, TEXT), remainder=bins),
            make_column_transformer((coded, TEXT), remainder="passthrough"),
        ),
    }.get(form, (bins, None))
    return {
        "bnplug, tan": bnplug.BayesianNetworkClassifier("tan", "ml", "mdl"),
        "CategoricalNB": make_pipeline(as_codes, CategoricalNB(min_categories=5)),
        "HistGradientBoosting": boosting if as_numbers is None else make_pipeline(as_numbers, boosting),
    }


def measure(models, X, n_rows):
    """Return the milliseconds of each prediction, by name."""
    rows = [X[i : i + 1] if isinstance(X, np.ndarray) else X.iloc[i : i + 1] for i in range(n_rows)]
    times = {name: [] for name in models}
    for name, model in models.items():
        for row in rows:
            start = time.process_time()
            model.predict_proba(row)
            times[name].append(1e3 * (time.process_time() - start))
    return times


def main(n_rows=300):
    warnings.simplefilter("ignore")
    y, forms = data()
    for form, X in forms.items():
        print(f"{form} (limit {LIMITS[form]} ms)", flush=True)
        with threadpool_limits(1):
            models = {name: model.fit(X, y) for name, model in methods(form).items()}
            measure(models, X, 5)
            measured = measure(models, X, n_rows)
        for name, times in measured.items():
            print(f"  {name:22} p50 {np.percentile(times, 50):6.3f} ms   p99 {np.percentile(times, 99):6.3f} ms")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
