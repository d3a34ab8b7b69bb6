"""Drift reports: how often they raise an alarm without any drift, and how often they name a changed table.

A population is a random network: a class with 2 or 3 states as the parent of 5 to 20 features with 2 to 5 states; each
feature has up to two of the features before it as further parents, with probabilities 0.3, 0.5 and 0.2 for none, one
and two. The probabilities of the classes are drawn from a Dirichlet distribution with parameters 10, the columns of all
other tables from one with parameters 1.

**False alarms.** 1,000 cases, seeds 0 to 999. In each, training rows (300, 1,000 or 3,000) and new rows (300, 2,000 or
20,000) come from one population. In half of the cases, half of the features become numbers (the state plus normal
noise of standard deviation 0.4); in half, 5% of the cells of both samples are missing. The model is, with equal
probability, the default with calibrated evidence, naive Bayes with `ml`, `hill-climb[bdeu]`, `kdb`, or `tan` with `ml`
and `mdl` bins. Half of the reports get the classes of the new rows.

Rule, fixed before the first run: at most 5% of the reports raise an alarm. (The first two runs controlled false
discoveries by Benjamini and Hochberg, and raised 50 alarms each, as many as the rule allows. Since then, reports use
the method of Benjamini and Yekutieli.)

**Changed tables.** 200 cases, seeds 1000 to 1199: 2,000 training rows, then 2,000 new rows in which every column of the
table of one random feature moves by exactly 0.2 in total variation: mass 0.2 moves from random states to random other
states. The model has the structure of the population, and `backoff` parameters with calibrated evidence; the report
gets the classes.

Rule, fixed before the first run: the report names the changed table in 90% of the cases. Also reported, without a rule:
the share of named tables that did not change, the same without classes, and with the default structure `tan` (where the
feature, or a feature adjacent to it, is named: an edge can have the other direction there).

**Real rows.** With BNPLUG_DATA, the data sets of DEVELOPMENT.csv with at least 300 rows, at most 10,000 rows of each,
split at random into two halves ten times: the share of reports with an alarm, without a rule.

Usage: python benchmarks/drift.py [null|changed|real] [CASES]
"""

from __future__ import annotations

import sys
import warnings

import numpy as np
import pandas as pd
from bnplug_inspect import drift

from bnplug import BayesianNetworkClassifier, LogTables, datasets, make_classifier
from bnplug.inference.sample import sample

SHIFT = 0.2


def population(random):
    """Return a random network with a class, ``class``."""
    n_features = int(random.integers(5, 21))
    names = ["class", *(f"x{i}" for i in range(n_features))]
    states = {"class": [f"c{k}" for k in range(random.integers(2, 4))]}
    tables = {"class": ((), np.log(random.dirichlet(np.full(len(states["class"]), 10.0))))}
    for i, name in enumerate(names[1:]):
        states[name] = [f"s{k}" for k in range(random.integers(2, 6))]
        n_parents = min(i, int(random.choice(3, p=[0.3, 0.5, 0.2])))
        chosen = sorted(random.choice(i, n_parents, replace=False).tolist())
        parents = ("class", *(f"x{j}" for j in chosen))
        shape = [len(states[parent]) for parent in parents]
        columns = random.dirichlet(np.ones(len(states[name])), shape)
        tables[name] = (parents, np.log(np.moveaxis(columns, -1, 0)))
    return LogTables(names, states, tables, "class")


def moved(column, random):
    """Return a distribution at a total variation of exactly SHIFT."""
    while True:
        gives = random.random(len(column)) < 0.5
        if gives.any() and not gives.all() and column[gives].sum() >= SHIFT:
            break
    taken = np.where(gives, column, 0.0) / column[gives].sum()
    added = np.where(gives, 0.0, random.dirichlet(np.ones(len(column))))
    return column + SHIFT * (added / added.sum() - taken)


def changed(tables, random):
    """Return a network in which one feature has a changed table, and the name of the feature."""
    name = str(random.choice(tables.names[1:]))
    parents, values = tables[name]
    columns = np.exp(values).reshape(len(values), -1)
    columns = np.stack([moved(column, random) for column in columns.T], axis=1)
    with np.errstate(divide="ignore"):
        new = np.log(np.maximum(columns, 0.0)).reshape(values.shape)
    others = {other: (table.parents, table.values) for other, table in tables.tables.items()}
    return LogTables(tables.names, tables.states, {**others, name: (parents, new)}, "class"), name


def draw(tables, n, random):
    """Return features and classes."""
    frame = sample(tables, n, int(random.integers(2**31)))
    return frame.drop(columns="class").astype(object), frame["class"].astype(object)


def spoiled(frames, numbers, holes, random):
    """Return frames with some features as numbers, and with missing cells."""
    names = frames[0].columns
    numeric = [name for name in names if random.random() < 0.5] if numbers else []
    for frame in frames:
        for name in numeric:
            frame[name] = frame[name].str[1:].astype(float) + random.normal(0, 0.4, len(frame))
        yield frame.mask(random.random(frame.shape) < 0.05) if holes else frame


def null_case(seed):
    """Return whether a report raises an alarm without drift, and what it is about."""
    random = np.random.default_rng(seed)
    tables = population(random)
    n, m = random.choice([300, 1000, 3000]), random.choice([300, 2000, 20_000])
    (X, y), (later, later_y) = draw(tables, n, random), draw(tables, m, random)
    X, later = spoiled([X, later], random.random() < 0.5, random.random() < 0.5, random)
    model = [
        BayesianNetworkClassifier(calibrate="evidence"),
        BayesianNetworkClassifier("nb", "ml"),
        make_classifier("hill-climb[bdeu]"),
        BayesianNetworkClassifier("kdb"),
        BayesianNetworkClassifier("tan", "ml", "mdl", calibrate="evidence"),
    ][random.integers(5)]
    alarms = drift(model.fit(X, y), later, later_y if random.random() < 0.5 else None).alarms
    return bool(len(alarms)), [f"{model.structure}/{model.parameters}", *alarms["kind"]]


def changed_case(seed):
    """Return whether reports name the changed table, by setting, and the numbers of tables named, rightly or not."""
    random = np.random.default_rng(seed)
    tables = population(random)
    after, name = changed(tables, random)
    (X, y), (later, later_y) = draw(tables, 2000, random), draw(after, 2000, random)
    result = {}
    for setting, structure in (("classes given", tables.edges), ("no classes", tables.edges), ("tan", "tan")):
        model = BayesianNetworkClassifier(structure, calibrate="evidence").fit(X, y)
        report = drift(model, later, None if setting == "no classes" else later_y)
        named = set(report.tables.loc[report.tables["alarm"], "variable"])
        accepted = {name}
        if setting == "tan":
            accepted |= {
                child if parent == name else parent for parent, child in model.tables_.edges if name in (parent, child)
            }
        result[setting] = bool(named & accepted)
        result[f"{setting}: other tables"] = len(named - accepted)
        result[f"{setting}: all named"] = len(named)
    return result


def real_cases():
    """Yield the name of a data set, and whether reports on its halves raise an alarm."""
    import os
    from pathlib import Path

    listed = pd.read_csv(Path(os.environ["BNPLUG_DATA"], "DEVELOPMENT.csv"))
    for dataset in listed.iloc[:, 0]:
        X, y = datasets.load(dataset)
        if len(X) < 300:
            continue
        for seed in range(10):
            order = np.random.default_rng(seed).permutation(len(X))[:10_000]
            first, second = np.array_split(order, 2)
            model = BayesianNetworkClassifier(calibrate="evidence").fit(X.iloc[first], y.iloc[first])
            report = drift(model, X.iloc[second], y.iloc[second])
            yield dataset, report.alarm, [*report.alarms["kind"] + ":" + report.alarms["name"]]


def main(part="null", cases=None):
    """Run one part and print its figures."""
    warnings.simplefilter("ignore")
    if part == "null":
        n = int(cases or 1000)
        results = [null_case(seed) for seed in range(n)]
        kinds = pd.Series([kind for alarm, (_, *found) in results if alarm for kind in set(found)], dtype=object)
        models = pd.DataFrame([(about[0], alarm) for alarm, about in results], columns=["model", "alarm"])
        print(f"{sum(alarm for alarm, _ in results)} of {n} reports raise an alarm")
        print(
            kinds.value_counts().to_string(),
            models.groupby("model")["alarm"].agg(["mean", "size"]).to_string(),
            sep="\n",
        )
    elif part == "changed":
        frame = pd.DataFrame([changed_case(seed) for seed in range(1000, 1000 + int(cases or 200))])
        for setting in ("classes given", "no classes", "tan"):
            wrong = frame[f"{setting}: other tables"].sum() / max(frame[f"{setting}: all named"].sum(), 1)
            print(f"{setting}: named in {frame[setting].mean():.1%}; {wrong:.1%} of the named tables are others")
    else:
        frame = pd.DataFrame(list(real_cases()), columns=["dataset", "alarm", "alarms"])
        print(f"{frame['alarm'].sum()} of {len(frame)} reports raise an alarm")
        print(frame.groupby("dataset")["alarm"].sum().loc[lambda n: n > 0].to_string())


if __name__ == "__main__":
    main(*sys.argv[1:])
