"""How well one network answers: the defaults, and what they were before; leave-one-out parameters; boosting beside.

Accuracy and log loss of the same five stratified folds (seed 0) of data sets in the folder that BNPLUG_DATA names, at
most 2,000 rows of each, drawn with the classes' shares. Columns that the folder's manifest calls nominal are discrete
to all; boosting gets them as codes, declared as categories. The groups of data sets:

  sixteen    those that the parameter learner `ccbn-loo` was developed on
  others     all others of 100 to 100,000 rows and at most 100 features, but those that are another version of one

Usage: python benchmarks/single_network.py [GROUP FILE [METHOD ...]]
(default: sixteen demo-output/single-network.csv, and all methods)

Every fold is written to FILE, a CSV, when it is done, so that a run that was stopped goes on; the means are printed.

The defaults of BayesianNetworkClassifier were decided by the group `others`; `default` is what they were then, `ml`
over `mdl` bins. The rule, written down before the first run: `log2-quantile` bins with `backoff` replace the defaults
if they have a lower mean log loss and a higher mean accuracy, and take at most 10 times as long to fit.

Measured over 47 data sets (accuracy, log loss, processor seconds to fit): defaults 77.9, 1.023, 0.029; `backoff` 82.2,
0.605, 0.024.
"""

from __future__ import annotations

import sys
import time

import numpy as np
import pandas as pd
from correction import prepare
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import accuracy_score, log_loss
from sklearn.model_selection import StratifiedKFold, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OrdinalEncoder

from bnplug import BayesianNetworkClassifier, datasets

SIXTEEN = [
    "glass", "ionosphere", "balance-scale", "vote", "horse-colic", "pima", "vehicle", "tic-tac-toe", "vowel", "german",
    "car", "segment", "chess-kr-vs-kp", "waveform-21", "satellite", "spambase",
]  # fmt: skip
# The same data under another name, or a part of another set here.
VERSIONS = {
    "abalone-rings", "cleve", "corral-train32", "diabetes", "echocardiogram-alive1", "flare-1066", "glass2",
    "heart-statlog", "led7-keel500", "mnist14-test", "thyroid0387", "usps-11000", "waveform-5000",
}  # fmt: skip
ROWS = 2000
COLUMNS = ["dataset", "fold", "method", "accuracy", "log_loss", "fit", "predict"]


def boosting(nominal, **params):
    """Boosting that takes nominal columns as categories; codes that training did not see are missing."""
    codes = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=np.nan, encoded_missing_value=np.nan)
    first = make_column_transformer((codes, nominal), remainder="passthrough")
    model = HistGradientBoostingClassifier(random_state=0, categorical_features=range(len(nominal)), **params)
    return make_pipeline(first, model)


METHODS = {
    "default": lambda data: network(data, parameters="ml", discretizer="mdl"),
    "backoff": lambda data: network(data, parameters="backoff", discretizer="log2-quantile"),
    "ml-log2": lambda data: network(data, parameters="ml", discretizer="log2-quantile"),
    "ccbn-w": lambda data: network(data, parameters="ccbn-w", discretizer="mdl"),
    "ccbn-w-0": lambda data: network(data, parameters=("ccbn-w", {"l2": 0.0}), discretizer="mdl"),
    "TAN-LOO": lambda data: network(data, parameters="ccbn-loo", discretizer="log2-quantile"),
    "KDB-2-LOO": lambda data: network(data, "kdb", parameters="ccbn-loo", discretizer="log2-quantile"),
    "boosting": lambda data: boosting(nominal_columns(data)),
    "boosting-8": lambda data: boosting(nominal_columns(data), max_leaf_nodes=8, l2_regularization=1.0),
}


def network(data, structure="tan", **params):
    return BayesianNetworkClassifier(structure, categorical_features=data.categorical_features, **params)


def nominal_columns(data):
    given = data.categorical_features
    text = [name for name in data.X if not pd.api.types.is_numeric_dtype(data.X[name])]
    return text if isinstance(given, str) else sorted({*given, *text}, key=list(data.X).index)


def rows_of(data):
    """At most `ROWS` rows; classes with a single row are left out, which no fold can hold."""
    kept = data.y.map(data.y.value_counts()) > 1
    X, y = data.X[kept.to_numpy()], data.y[kept.to_numpy()]
    if len(y) > ROWS:
        X, _, y, _ = train_test_split(X, y, train_size=ROWS, stratify=y, random_state=0)
    return X.reset_index(drop=True), y.reset_index(drop=True)


def measure(model, X, y, train, test):
    """Accuracy, log loss, and the processor's seconds to fit and to predict. A class that training lacks has 1e-15."""
    times = [time.process_time()]
    model.fit(X.iloc[train], y.iloc[train])
    times.append(time.process_time())
    found = model.predict_proba(X.iloc[test])
    times.append(time.process_time())
    labels = sorted(set(y))
    shares = pd.DataFrame(found, columns=list(model.classes_)).reindex(columns=labels, fill_value=0.0).to_numpy()
    winners = np.asarray(model.classes_)[found.argmax(axis=1)]
    shares = np.clip(shares, 1e-15, None)
    loss = log_loss(y.iloc[test], shares / shares.sum(axis=1, keepdims=True), labels=labels)
    return accuracy_score(y.iloc[test], winners), loss, *np.diff(times)


def others(folder):
    """The data sets of the second group."""
    listed = pd.read_csv(folder / "MANIFEST.csv")
    fit = listed["rows"].between(100, 100_000) & (listed["features"] <= 100)
    return sorted(set(listed["name"][fit]) - VERSIONS - set(SIXTEEN))


def main(group="sixteen", file="demo-output/single-network.csv", *methods):
    folder, file = prepare(file)
    done = pd.read_csv(file) if file.is_file() else pd.DataFrame(columns=COLUMNS)
    seen = set(zip(done["dataset"], done["fold"], done["method"], strict=True))
    for name in SIXTEEN if group == "sixteen" else others(folder):
        data = datasets.load(name, folder)
        X, y = rows_of(data)
        y = y.astype(str)
        splits = StratifiedKFold(5, shuffle=True, random_state=0).split(X, y)
        for fold, (train, test) in enumerate(splits):
            for method in methods or METHODS:
                if (name, fold, method) not in seen:
                    row = (name, fold, method, *measure(METHODS[method](data), X, y, train, test))
                    pd.DataFrame([row], columns=COLUMNS).to_csv(file, mode="a", header=not file.exists(), index=False)
    report(pd.read_csv(file))


def report(done):
    """Print the means over data sets that every method has finished."""
    each = done.groupby(["dataset", "method"])[["accuracy", "log_loss", "fit", "predict"]].mean().unstack("method")
    each = each.dropna()
    means = each.mean().unstack("method").T
    means["accuracy"] *= 100
    means["rank"] = each["accuracy"].rank(axis=1, ascending=False).mean()
    print(f"{len(each)} data sets")
    print(means.round(3).to_string())


if __name__ == "__main__":
    main(*sys.argv[1:])
