"""Bayesian-network classifiers beside the usual ones, on data that ship or are made by rule.

First complete data, by repeated cross-validation on the same folds: accuracy, mean log P(true class).
Then the same classifiers, trained on complete rows, with a share of the features of every test row hidden:
networks marginalise what is missing; gradient boosting sends it down the branch that training chose; the others get
the mean or the most frequent value. Networks have the bins `mdl`, and `ml` parameters unless others are told; the other
classifiers have their defaults; the SVM gives no probabilities. Unlike the other benchmarks this measures answers, not
speed; a run takes some minutes.

The protocol: 13 data sets that ship or follow from a rule, all of them, two repetitions of stratified five-fold cross
validation with seed 0 (hidden features: one repetition, three draws of what is hidden). Columns are taken as
BayesianNetworkClassifier takes them by default, on the training rows of a fold, for all: what is a state to it is
one-hot to the others, what is a number is cut by it and scaled for them.

Usage: python benchmarks/usual_classifiers.py [FOLDER] [CV]     (default: demo-output/usual-classifiers 2x5)

The figures of every fold are kept in FOLDER, so that a run that was stopped goes on; the tables are written there as
usual-classifiers.md.
"""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OrdinalEncoder

from bnplug import BayesianNetworkClassifier, UnseenValueWarning, datasets, parameter_learner
from bnplug.experiments import compare, hide_features
from bnplug.experiments._inputs import as_the_classifier_takes, prepare, resolve_methods

DATASETS = [
    "balance-scale", "breast-cancer", "corral", "digits", "iris", "led", "mofn-3-7-10", "monks-1", "monks-2",
    "monks-3", "tic-tac-toe", "waveform-21", "wine",
]  # fmt: skip
WITH_MISSING = ["breast-cancer", "digits", "led", "tic-tac-toe", "waveform-21", "wine"]
SHARES = (0.25, 0.5)


def classifiers():
    """What is compared: a name and an estimator, or a name alone."""
    weighted = parameter_learner("ccbn-w", l2="cv")
    networks = {
        "nb": BayesianNetworkClassifier("nb", "ml", "mdl"),
        "tan": BayesianNetworkClassifier("tan", "ml", "mdl"),
        "kdb": BayesianNetworkClassifier("kdb", "ml", "mdl"),
        "tan, ccbn-w": BayesianNetworkClassifier("tan", weighted, "mdl"),
    }
    usual = ["logistic-regression", "random-forest", "gradient-boosting", "svm"]
    return [*networks.items(), *usual]


def boosting_with_missing():
    """Gradient boosting that gets missing cells as they are, text as codes."""
    text = make_column_selector(dtype_exclude=np.number)
    codes = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=np.nan)
    return make_pipeline(make_column_transformer((codes, text), remainder="passthrough"),
                         HistGradientBoostingClassifier())  # fmt: skip


def complete(folder, cv):
    """The comparison on complete data."""
    return compare(classifiers(), DATASETS, cv, output=folder / "complete.jsonl", verbose=1)


def fitted(data, X, y, seed=0):
    """Every classifier, trained on complete rows."""
    models = {}
    for name, estimator in resolve_methods(classifiers()).items():
        estimator = boosting_with_missing() if name == "gradient-boosting" else estimator
        models[name] = prepare(estimator, X, data.categorical_features, "ignore", seed, sequential=True).fit(X, y)
    return models


def with_missing(folder):
    """Mean accuracy over five folds: a row for each data set and share, a column for each classifier."""
    file = folder / "missing.csv"
    rows = pd.read_csv(file) if file.is_file() else pd.DataFrame(columns=["dataset"])
    for name in WITH_MISSING:
        if name in set(rows["dataset"]):
            continue
        data = as_the_classifier_takes(datasets.load(name))
        # Whole numbers become fractions where cells are hidden, and an encoder of labels tells 1 from 1.0.
        features = data.X.astype(dict.fromkeys(data.X.select_dtypes("number"), float))
        counts = {round(share * data.X.shape[1]): share for share in SHARES}
        for train, test in StratifiedKFold(5, shuffle=True, random_state=0).split(data.X, data.y):
            models = fitted(data, features.iloc[train], data.y.iloc[train])
            found = hide_features(models, features.iloc[test], data.y.iloc[test], counts, draws=3)
            rows = pd.concat([rows, found.assign(dataset=name, share=found["missing"].map(counts))])
        rows.to_csv(file, index=False)
        print(f"missing features: {name} done", flush=True)
    table = rows.pivot_table("accuracy", ["dataset", "share"], "method")
    return table[[name if isinstance(name, str) else name[0] for name in classifiers()]]


def markdown(table, digits, best):
    """A Markdown table with the best of each row bold."""
    lines = [f"| {' | '.join([*map(str, table.index.names), *table.columns])} |"]
    lines.append("|" + " --- |" * table.index.nlevels + " ---: |" * table.shape[1])
    for label, row in table.iterrows():
        labels = label if isinstance(label, tuple) else (label,)
        top = round(best(row.dropna()), digits)
        cells = ["-" if pd.isna(v) else f"**{v:.{digits}f}**" if round(v, digits) == top else f"{v:.{digits}f}"
                 for v in row]  # fmt: skip
        lines.append(f"| {' | '.join([*map(str, labels), *cells])} |")
    return "\n".join(lines)


def with_summary(table, higher_is_better=True):
    """The table, with means and mean ranks over the data sets."""
    ranks = table.rank(axis=1, ascending=not higher_is_better)
    return pd.concat([table, table.mean().to_frame("mean").T, ranks.mean().to_frame("mean rank").T])


def main(folder="demo-output/usual-classifiers", cv="2x5"):
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    warnings.simplefilter("ignore", UnseenValueWarning)
    found = complete(folder, cv)
    accuracy = (100 * found.table("accuracy")).rename_axis("data set")
    cll = found.table("cll").rename_axis("data set").dropna(axis=1, how="all")
    hidden = (100 * with_missing(folder)).rename_axis(["data set", "hidden"])
    hidden.index = pd.MultiIndex.from_tuples([(name, f"{share:.0%}") for name, share in hidden.index],
                                             names=["data set", "hidden"])  # fmt: skip
    summary = with_summary(accuracy).rename_axis("data set")
    body, tail = markdown(summary.iloc[:-1], 1, max), markdown(summary.iloc[-1:], 2, min).splitlines()[-1]
    parts = [
        ("Accuracy (%) on complete data", f"{body}\n{tail}"),
        ("Accuracy (%) with features hidden in the test rows", markdown(hidden, 1, max)),
        ("Mean log P(true class) of the test rows", markdown(cll, 3, max)),
    ]
    text = "\n\n".join(f"**{title}**\n\n{table}" for title, table in parts) + "\n"
    (folder / "usual-classifiers.md").write_text(text)
    print(text)


if __name__ == "__main__":
    main(*sys.argv[1:])
