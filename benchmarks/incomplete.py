"""Learning from incomplete rows, and from rows without a class: what EM and exact marginals are worth.

The protocol was fixed before any figure was looked at, but for one thing: columns were declared nominal as the folder's
manifest says at first, which made a name of each row the root of the tree on `splice`. They are now taken as the
classifier takes them by default, and identifiers are left out, for all.

Missing cells. Data: seven sets with missing cells of their own (REAL), as they are, and six complete ones (COMPLETE)
with 10, 30 and 50% of the training cells removed completely at random, the same for all; test rows stay as they are. At
most 1,000 rows of each, classes of fewer than 3 rows left out. Three stratified folds, seed 0. A structure (`tan`) with
three parameter learners: `ml`, `ccbn-w` with l2 = 1, `ml-bn-svm` with its defaults. Each learns in four ways:
missing="em", "ignore" and "value", and on rows whose missing cells were filled by the most frequent state, or the mean
of a number, of the training rows. Beside them gradient boosting with its defaults, which takes missing cells as they
are. Measured are accuracy and log loss (no probability counts as less than 1e-6), means over the folds. EM helps on a
set where its log loss is lower than that of "ignore" by at least 1%, and harms where it is higher by as much.

Rows without a class. Data: six sets of more rows (UNLABELED), at most 2,000 of each. Five stratified folds,
seed 0; of the training rows 5% keep their class, at least one of each class, drawn with the fold's number as seed.
Learners: `nb` and `tan` with `ml`, `tan` with `ml-bn-svm`, each on the rows with a class alone, on all rows with
missing="em", and on all rows inside scikit-learn's SelfTrainingClassifier with its defaults, which learns on its own
most certain answers.

Usage: python benchmarks/incomplete.py DATA [FOLDER] [PART ...]      (default: demo-output/incomplete, all parts)

DATA is a folder of CSV files (see docs/experiments.md); FOLDER keeps the figures of every fold, so that a run that was
stopped goes on; the parts are `cells` and `labels`. Tables are written to FOLDER as incomplete-cells.md,
incomplete-cells-sets.md and incomplete-labels.md, and a picture as incomplete-labels.png.
"""

from __future__ import annotations

import sys
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import StratifiedKFold, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OrdinalEncoder
from sklearn.semi_supervised import SelfTrainingClassifier

from bnplug import datasets, make_classifier
from bnplug.errors import BnplugWarning
from bnplug.show.drawing import new_axes
from bnplug.show.palette import colour, finish, mark
from bnplug.table._columns import plan_columns
from bnplug.table.rules import ColumnRules

REAL = ["hepatitis", "horse-colic", "vote", "audiology", "annealing", "cylinder-bands", "primary-tumor"]
COMPLETE = ["balance-scale", "car", "german", "pima", "tic-tac-toe", "vehicle"]
UNLABELED = ["chess-kr-vs-kp", "led7-3200", "mushroom", "segment", "splice", "waveform-21"]
SHARES = (0.1, 0.3, 0.5)
LEARNERS = {"ml": "ml", "ccbn-w": "ccbn-w(l2=1.0)", "ml-bn-svm": "ml-bn-svm"}
WAYS = ["em", "ignore", "value", "imputed"]
PAIRS = {"nb, ml": "nb+ml", "tan, ml": "tan+ml", "tan, ml-bn-svm": "tan+ml-bn-svm"}
USES = ["labelled rows alone", "all rows, em", "all rows, self-training"]
FLOOR, LABELED, CLEARLY = 1e-6, 0.05, 0.01
COLUMNS = ["dataset", "removed", "fold", "learner", "way", "accuracy", "log_loss", "seconds"]


def rows_of(data, most, least):
    """At most `most` rows, drawn with the classes' shares; classes of fewer than `least` rows are left out."""
    kept = (data.y.map(data.y.value_counts()) >= least).to_numpy()
    X, y = (
        data.X[kept].drop(columns=list(plan_columns(data.X, ColumnRules(categorical_features="auto")).left_out)),
        data.y[kept].astype(str),
    )
    if len(y) > most:
        X, _, y, _ = train_test_split(X, y, train_size=most, stratify=y, random_state=0)
    # Whole numbers become fractions where cells are removed.
    X = X.astype(dict.fromkeys(X.select_dtypes("number"), float))
    return X.reset_index(drop=True), y.reset_index(drop=True)


def text_columns(X):
    return [name for name in X if not pd.api.types.is_numeric_dtype(X[name])]


def removed(X, share, seed):
    """The rows with a share of their cells removed."""
    return X.mask(np.random.default_rng(seed).random(X.shape) < share) if share else X


class Imputed(ClassifierMixin, BaseEstimator):
    """A classifier on rows that were filled: with the most frequent text, or the mean of a number."""

    def __init__(self, estimator):
        self.estimator = estimator

    def fit(self, X, y):
        text = text_columns(X)
        self.filling_ = {
            name: (column.mode().iloc[0] if name in text else column.mean())
            for name, column in X.items()
            if column.notna().any()
        }
        self.estimator_ = self.estimator.fit(X.fillna(self.filling_), y)
        self.classes_ = self.estimator_.classes_
        return self

    def predict_proba(self, X):
        return self.estimator_.predict_proba(X.fillna(self.filling_))


def boosting(text):
    """Gradient boosting that takes text as categories; a value that training did not see is missing."""
    codes = OrdinalEncoder(
        handle_unknown="use_encoded_value", unknown_value=np.nan, encoded_missing_value=np.nan, max_categories=254
    )
    first = make_column_transformer((codes, text), remainder="passthrough")
    return make_pipeline(first, HistGradientBoostingClassifier(random_state=0, categorical_features=range(len(text))))


def in_way(learner, way, X):
    """The estimator of a learner that trains with missing cells in one of WAYS."""
    if learner == "boosting":
        return boosting(text_columns(X))
    expression = f"tan+{LEARNERS[learner]}"
    return Imputed(make_classifier(expression)) if way == "imputed" else make_classifier(expression, missing=way)


def measured(model, X, y, X_test, y_test):
    """Accuracy, log loss, and the processor's seconds to fit."""
    start = time.process_time()
    model.fit(X, y)
    seconds = time.process_time() - start
    shares = pd.DataFrame(model.predict_proba(X_test), columns=model.classes_)
    right = shares.idxmax(axis=1).to_numpy() == y_test.to_numpy()
    own = shares.reindex(columns=sorted({*shares.columns, *y_test}), fill_value=0.0)
    picked = own.to_numpy()[np.arange(len(own)), own.columns.get_indexer(y_test)]
    return right.mean(), -np.log(np.clip(picked, FLOOR, None)).mean(), seconds


class Records:
    """The figures of every fold, in a file: what is there is not measured again."""

    def __init__(self, file):
        self.file = file
        self.done = pd.read_csv(file) if file.is_file() else pd.DataFrame(columns=COLUMNS)
        keys = self.done[COLUMNS[:5]].astype(str)
        self.seen = set(keys.itertuples(index=False, name=None))

    def add(self, key, measure):
        if tuple(map(str, key)) not in self.seen:
            row = pd.DataFrame([(*key, *measure())], columns=COLUMNS)
            row.to_csv(self.file, mode="a", header=not self.file.exists(), index=False)

    def all(self):
        return pd.read_csv(self.file)


def study_cells(folder, records):
    """Measure all learners in all ways on rows with missing cells."""
    cases = [(name, 0.0) for name in REAL] + [(name, share) for name in COMPLETE for share in SHARES]
    pairs = [(learner, way) for learner in LEARNERS for way in WAYS] + [("boosting", "boosting")]
    for name, share in cases:
        X, y = rows_of(datasets.load(name, folder), most=1000, least=3)
        for fold, (train, test) in enumerate(StratifiedKFold(3, shuffle=True, random_state=0).split(X, y)):
            holes = removed(X.iloc[train], share, seed=[fold, int(100 * share)])
            for learner, way in pairs:
                rows = (holes, y.iloc[train], X.iloc[test], y.iloc[test])
                records.add(
                    (name, share, fold, learner, way),
                    lambda own=(learner, way), rows=rows: measured(in_way(*own, rows[0]), *rows),
                )
        print(f"cells: {name}, {share:.0%} removed", flush=True)


class OfRows(ClassifierMixin, BaseEstimator):
    """A classifier of the rows of a frame, which are given by their numbers: for who takes arrays of numbers alone."""

    def __init__(self, estimator, frame):
        self.estimator = estimator
        self.frame = frame

    def fit(self, X, y):
        self.estimator_ = self.estimator.fit(self.frame.iloc[X[:, 0].astype(int)], y)
        self.classes_ = self.estimator_.classes_
        return self

    def predict_proba(self, X):
        return self.estimator_.predict_proba(self.frame.iloc[X[:, 0].astype(int)])

    def predict(self, X):
        return self.estimator_.predict(self.frame.iloc[X[:, 0].astype(int)])


class SelfTrained(ClassifierMixin, BaseEstimator):
    """scikit-learn's self-training around a classifier; rows without a class are marked by None."""

    def __init__(self, estimator):
        self.estimator = estimator

    def fit(self, X, y):
        self.classes_ = np.unique(y[y.notna()])
        codes = np.where(y.isna(), -1, np.searchsorted(self.classes_, y.fillna(self.classes_[0])))
        model = SelfTrainingClassifier(OfRows(self.estimator, X)).fit(np.arange(len(X))[:, None], codes)
        self.fitted_ = model.estimator_.estimator_
        return self

    def predict_proba(self, X):
        return self.fitted_.predict_proba(X)


def some_labels(y, seed):
    """The class of 5% of the rows, at least one of each; None elsewhere."""
    rng = np.random.default_rng(seed)
    first = [rng.choice(np.flatnonzero(y == label)) for label in sorted(set(y))]
    others = rng.permutation(np.setdiff1d(np.arange(len(y)), first))
    kept = np.concatenate([first, others[: max(0, round(LABELED * len(y)) - len(first))]])
    labels = pd.Series([None] * len(y), index=y.index, dtype=object)
    labels.iloc[kept] = y.iloc[kept]
    return labels


def use_of(expression, use):
    model = make_classifier(expression, missing="em" if use == "all rows, em" else "ignore")
    return SelfTrained(model) if use == "all rows, self-training" else model


def study_labels(folder, records):
    """Measure learners with and without the rows that have no class."""
    for name in UNLABELED:
        X, y = rows_of(datasets.load(name, folder), most=2000, least=10)
        splits = StratifiedKFold(5, shuffle=True, random_state=0).split(X, y)
        for fold, (train, test) in enumerate(splits):
            labels = some_labels(y.iloc[train], fold)
            for pair, expression in PAIRS.items():
                for use in USES:
                    known = labels.notna() if use == USES[0] else slice(None)
                    rows = (X.iloc[train][known], labels[known], X.iloc[test], y.iloc[test])
                    records.add(
                        (name, LABELED, fold, pair, use),
                        lambda own=(expression, use), rows=rows: measured(use_of(*own), *rows),
                    )
        print(f"labels: {name}", flush=True)


def markdown(table, digits, best):
    """A Markdown table, the best figure of each row bold."""
    lines = [f"| {' | '.join([*map(str, table.index.names), *table.columns])} |"]
    lines.append("|" + " --- |" * table.index.nlevels + " ---: |" * table.shape[1])
    for label, row in table.iterrows():
        labels = label if isinstance(label, tuple) else (label,)
        top = round(best(row), digits)
        cells = [f"**{v:.{digits}f}**" if round(v, digits) == top else f"{v:.{digits}f}" for v in row]
        lines.append(f"| {' | '.join([*map(str, labels), *cells])} |")
    return "\n".join(lines)


def means_of(done, figure, learner):
    """The means over folds: a row for each set and share, a column for each way, and boosting."""
    own = done[done["learner"].isin([learner, "boosting"])]
    table = own.pivot_table(figure, ["dataset", "removed"], "way")[[*WAYS, "boosting"]]
    order = [(name, 0.0) for name in REAL] + [(name, share) for name in COMPLETE for share in SHARES]
    return table.reindex([case for case in order if case in table.index])


def summary(done):
    """A row for each learner and share: mean accuracy and log loss by way, and on how many sets em helps or harms."""
    rows = []
    for learner in LEARNERS:
        accuracy, loss = (means_of(done, figure, learner) for figure in ("accuracy", "log_loss"))
        for share in (0.0, *SHARES):
            a, b = (table[table.index.get_level_values("removed") == share] for table in (accuracy, loss))
            if len(a) == 0:
                continue
            helps, harms = int((b["em"] < (1 - CLEARLY) * b["ignore"]).sum()), int(
                (b["em"] > (1 + CLEARLY) * b["ignore"]).sum())  # fmt: skip
            cells = [f"{100 * a[way].mean():.1f} / {b[way].mean():.3f}" for way in a]
            what = "none, real gaps" if share == 0 else f"{share:.0%}"
            rows.append([f"`{learner}`", what, *cells, f"{helps} / {harms} of {len(b)}"])
    head = ["learner", "cells removed", *WAYS, "boosting", "em helps / harms"]
    lines = [f"| {' | '.join(head)} |", "|" + " --- |" * 2 + " ---: |" * (len(head) - 2)]
    return "\n".join(lines + [f"| {' | '.join(row)} |" for row in rows])


def seconds_to_fit(done):
    """A row for each learner: the processor's seconds to fit, structure included, the mean over all fits."""
    table = done.pivot_table("seconds", "learner", "way").reindex(index=list(LEARNERS), columns=WAYS)
    table["boosting"] = done.loc[done["learner"] == "boosting", "seconds"].mean()
    return markdown(table.rename(index="`{}`".format).rename_axis("learner"), 2, min)


def report_cells(folder, done):
    """Write the tables of the first part: the means, and each set by itself."""
    means = [
        ("Means over the sets: accuracy (%) / log loss", summary(done)),
        ("Processor seconds to fit", seconds_to_fit(done)),
    ]
    each = []
    for learner in LEARNERS:
        for figure, scale, digits, best in (("accuracy", 100, 1, max), ("log_loss", 1, 3, min)):
            table = scale * means_of(done, figure, learner)
            table.index = pd.MultiIndex.from_tuples(
                [(name, "-" if share == 0 else f"{share:.0%}") for name, share in table.index],
                names=["data set", "removed"])  # fmt: skip
            what = "accuracy (%)" if figure == "accuracy" else "log loss"
            each.append((f"`tan` with `{learner}`: {what}", markdown(table, digits, best)))
    for file, parts in (("incomplete-cells.md", means), ("incomplete-cells-sets.md", each)):
        text = "\n\n".join(f"**{title}**\n\n{table}" for title, table in parts) + "\n"
        (folder / file).write_text(text)
        print(text)


def report_labels(folder, done):
    """Write the table and draw the picture of the second part."""
    table = 100 * done.pivot_table("accuracy", ["dataset", "learner"], "way")[USES]
    table = table.reindex([(name, pair) for name in UNLABELED for pair in PAIRS if (name, pair) in table.index])
    shown = markdown(table.rename_axis(["data set", "learner"]), 1, max)
    text = f"**Accuracy (%) with the class of 5% of the rows**\n\n{shown}\n"
    (folder / "incomplete-labels.md").write_text(text)
    draw_labels(table).figure.savefig(folder / "incomplete-labels.png", dpi=120, bbox_inches="tight")
    print(text)


def draw_labels(table):
    """A row for each set and learner: how far the rows without a class move its accuracy."""
    ax = new_axes((8.5, 0.34 * len(table) + 1.2))
    places = np.arange(len(table))[::-1]
    for i, use in enumerate(USES):
        ax.plot(table[use], places, mark(i), color=colour(i), label=use)
    for place, (_, row) in zip(places, table.iterrows(), strict=True):
        ax.plot([row[USES[0]], row[USES[1]]], [place, place], color=colour(1), linewidth=1, zorder=1)
    ax.set_yticks(places, [f"{name}: {pair}" for name, pair in table.index])
    ax.set_xlabel("accuracy (%), the class of 5% of the training rows known")
    return finish(ax, legend=True)


def main(data, folder="demo-output/incomplete", *parts):
    data, folder = Path(data), Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    warnings.simplefilter("ignore", BnplugWarning)
    warnings.simplefilter("ignore", UserWarning)
    for part, study, report in (("cells", study_cells, report_cells), ("labels", study_labels, report_labels)):
        if part in (parts or ("cells", "labels")):
            records = Records(folder / f"{part}.csv")
            study(data, records)
            report(folder, records.all())


if __name__ == "__main__":
    main(*sys.argv[1:])
