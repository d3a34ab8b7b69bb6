"""Discriminative parameters: steps, seconds, likelihood and error of ccbn-d, -e and -w, beside scikit-learn.

letter   Naive Bayes, 5 quantile bins, the first four fifths: ccbn-w against LogisticRegression (C = 1e4) by lbfgs and
         by newton-cholesky on the same one-hot data, one thread each, with their tolerances (1e-4 is the default of
         both, with which lbfgs stops well above the minimum); and TAN with ccbn-w.
large    ccbn-w on naive Bayes, 1,000,000 generated rows x 20 features x 5 classes, 2 threads: seconds, and memory
         above the table.
table    For each data set, NB / TAN / KDB-1 with d / e / w from zeros and from the generative start (I), with ML, and
         for NB LogisticRegression: steps, seconds of a whole fit, NLL a row after 5, 10 and 50 steps, 0-1 loss and RMSE
         (of 1 - P(true class)), means over rounds x 2-fold CV; cuts by MDL inside the folds, missing as a value.
         Then win-draw-loss over the data sets, beside zaidi2017-win-draw-loss.csv from the folder --published.

Run: python benchmarks/ccbn.py [letter] [large] [table] [--sets NAME ...] [--structures NB TAN KDB-1] [--rounds 5]
     The data are NAME.csv.gz, the class last, in the folder that BNPLUG_DATA names; without it only `large` runs.
"""

from __future__ import annotations

import argparse
import os
import resource
import sys
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from itertools import product
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import numpy as np
import pandas as pd
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import OneHotEncoder
from threadpoolctl import threadpool_limits

import bnplug
from bnplug.discretize import QuantileDiscretizer
from bnplug.errors import BnplugWarning
from bnplug.table import Table

SETS = ("letter", "adult", "magic", "pendigits", "waveform-5000", "satellite", "shuttle", "spambase", "chess-kr-vs-kp")
STRUCTURES: dict[str, Any] = {"NB": "nb", "TAN": "tan", "KDB-1": ("kdb", {"k": 1})}
PARAMETERS = [(letter, init) for init, letter in product(("zeros", "generative"), "dew")]
AFTER = (5, 10, 50)


def read(name: str) -> tuple[pd.DataFrame, pd.Series]:
    frame = pd.read_csv(Path(os.environ["BNPLUG_DATA"], f"{name}.csv.gz"))
    return frame.drop(columns="class"), frame["class"].astype(str)


def timed(call: Callable[[], Any], clock: Callable[[], float] = perf_counter) -> tuple[float, Any]:
    started = clock()
    result = call()
    return clock() - started, result


# letter


def letter(repetitions: int = 3) -> None:
    X, y = read("letter")
    rows = len(X) * 4 // 5
    binned = QuantileDiscretizer(n_bins=5).set_output(transform="pandas").fit_transform(X[:rows])
    table = Table.from_frame(binned.assign(c=y[:rows].to_numpy()), "c")
    one_hot = OneHotEncoder().fit_transform(binned)
    path = fit_letter(table, "nb")
    print(f"letter, {rows} rows, 5 quantile bins, naive Bayes, one thread, seconds of CPU", flush=True)
    for solver, tol in (("lbfgs", 1e-4), ("lbfgs", 1e-6), ("newton-cholesky", 1e-4)):
        model = LogisticRegression(C=1e4, solver=solver, tol=tol, max_iter=10_000)
        with threadpool_limits(1):
            theirs, _ = timed(partial(model.fit, one_hot, y[:rows]), process_time)
        nll = log_loss(y[:rows], model.predict_proba(one_hot))
        steps = int((path <= nll * (1 + 1e-5)).argmax())
        ours = min(timed(partial(fit_letter, table, "nb", steps), process_time)[0] for _ in range(repetitions))
        print(f"  {solver:<15} tol {tol:g}: {theirs:8.2f} s, NLL a row {nll:.6f}")
        print(
            f"    ccbn-w comes as low (to 1e-5) in {ours:.2f} s, {steps} steps: {theirs / ours:.1f} times", flush=True
        )
    seconds, _ = timed(partial(fit_letter, table, "nb"), process_time)
    print(f"  ccbn-w to its end: {seconds:.2f} s, {len(path) - 1} steps, NLL a row {path[-1]:.6f}")
    seconds, path = timed(partial(fit_letter, table, "tan"), process_time)
    print(f"  TAN with ccbn-w: {seconds:.2f} s, {len(path) - 1} steps, NLL a row {path[-1]:.6f}")


def fit_letter(table: Table, structure: str, max_iter: int = 500) -> np.ndarray:
    """Learn structure and parameters; return the NLL a row at the start and after each step."""
    learner = bnplug.parameter_learner("ccbn-w", max_iter=max_iter, n_jobs=1)
    learner.fit(table, bnplug.structure_learner(structure).learn(table))
    return np.array(learner.nll_path_) / table.n_rows


# large


def large(rows: int = 1_000_000, features: int = 20, classes: int = 5, states: int = 5) -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(0, classes, rows, dtype=np.uint8)
    codes = np.empty((features + 1, rows), dtype=np.uint8)
    for v in range(features):
        kept = rng.random(rows) < 0.3
        codes[v] = np.where(kept, y, rng.integers(0, states, rows, dtype=np.uint8))
    codes[features] = y
    names = [*(f"x{v}" for v in range(features)), "c"]
    table = Table(codes, names, {name: range(states) for name in names}, "c")
    learner = bnplug.parameter_learner("ccbn-w", n_jobs=2)
    dag = bnplug.structure_learner("nb").learn(table)
    learner.fit(table.take(np.arange(1000)), dag)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    seconds, _ = timed(partial(learner.fit, table, dag))
    above = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 2**20
    print(f"NBw, {rows} rows x {features} features x {classes} classes, 2 threads: {seconds:.1f} s")
    print(f"  {learner.n_iter_} steps, NLL a row {learner.nll_path_[-1] / rows:.6f}, {above:.2f} GiB above the table")


# table


def classifier(structure: str, parameters: Any, X: pd.DataFrame) -> bnplug.BayesianNetworkClassifier:
    text = [name for name in X.columns if not pd.api.types.is_numeric_dtype(X[name])]
    return bnplug.BayesianNetworkClassifier(
        STRUCTURES[structure], parameters, discretizer="mdl", categorical_features=text, missing="value", n_jobs=1
    )


def errors(probabilities: np.ndarray, classes: np.ndarray, y: pd.Series) -> tuple[float, float]:
    """Return the 0-1 loss and the RMSE."""
    wrong = classes[probabilities.argmax(axis=1)] != y.to_numpy()
    of_truth = probabilities[np.arange(len(y)), np.searchsorted(classes, y)]
    return float(wrong.mean()), float(np.sqrt(((1 - of_truth) ** 2).mean()))


def run_fold(structure: str, train: tuple[Any, Any], test: tuple[Any, Any]) -> Iterator[dict[str, Any]]:
    """Yield a record for every parameter learner on one fold."""
    methods: list[tuple[str, Any]] = [(structure, "ml")]
    for letter, init in PARAMETERS:
        suffix = "(I)" if init == "generative" else ""
        methods.append((f"{structure}{letter}{suffix}", (f"ccbn-{letter}", {"init": init})))
    for name, parameters in methods:
        model = classifier(structure, parameters, train[0])
        seconds, _ = timed(partial(model.fit, *train))
        zero_one, rmse = errors(model.predict_proba(test[0]), model.classes_, test[1])
        record = {"method": name, "seconds": seconds, "0-1": zero_one, "RMSE": rmse}
        if parameters != "ml":
            path = np.array(model.parameters_.nll_path_) / len(train[1])
            record |= {"steps": model.parameters_.n_iter_, "NLL": path[-1]}
            record |= {f"NLL({i})": path[min(i, len(path) - 1)] for i in AFTER}
        elif structure == "NB":
            yield logistic(model, train, test)
        yield record


def logistic(model: Any, train: tuple[Any, Any], test: tuple[Any, Any]) -> dict[str, Any]:
    """Unpenalised LogisticRegression on the same bins."""
    encoder = OneHotEncoder(handle_unknown="ignore")
    binned, labels = model.intake_.apply(train[0]).astype(str), train[1]
    one_hot = encoder.fit_transform(binned)
    regression = LogisticRegression(C=np.inf, max_iter=500)
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        seconds, _ = timed(partial(regression.fit, one_hot, labels))
    unseen = encoder.transform(model.intake_.apply(test[0]).astype(str))
    zero_one, rmse = errors(regression.predict_proba(unseen), regression.classes_, test[1])
    nll = log_loss(labels, regression.predict_proba(one_hot))
    steps = int(regression.n_iter_.max())
    return {"method": "LR", "seconds": seconds, "0-1": zero_one, "RMSE": rmse, "steps": steps, "NLL": nll}


def table(sets: list[str], structures: list[str], rounds: int) -> pd.DataFrame:
    """Return a record for every data set, fold and method; print the means of each data set as it is done."""
    records: list[dict[str, Any]] = []
    for name in sets:
        X, y = read(name)
        for seed, structure in product(range(rounds), structures):
            for rows, held_out in StratifiedKFold(2, shuffle=True, random_state=seed).split(X, y):
                train, test = (X.iloc[rows], y.iloc[rows]), (X.iloc[held_out], y.iloc[held_out])
                records += [{"set": name, **record} for record in run_fold(structure, train, test)]
        means = pd.DataFrame([record for record in records if record["set"] == name])
        print(means.groupby(["set", "method"], sort=False).mean().round(4).to_string(), flush=True)
    return pd.DataFrame(records)


def win_draw_loss(frame: pd.DataFrame, measure: str, ours: str, theirs: str) -> tuple[int, int, int] | None:
    means = frame.pivot_table(measure, "set", "method")
    if not {ours, theirs} <= set(means.columns):
        return None
    difference = means[ours] - means[theirs]
    draw = difference.abs() <= 1e-6 * means[theirs].abs()
    return int((~draw & (difference < 0)).sum()), int(draw.sum()), int((~draw & (difference > 0)).sum())


def comparisons(structures: list[str]) -> Iterator[tuple[str, str, str, str, str]]:
    """Yield (measure, ours, theirs, the paper's measure, the paper's comparison)."""
    for structure in structures:
        for start in ("", "(I)"):
            w = f"{structure}w{start}"
            for measure, published in (("0-1", "0-1 Loss"), ("RMSE", "RMSE")):
                yield measure, w, structure, published, f"{structure}w vs {structure}" if not start else ""
            for rival, i in product("de", AFTER):
                published = f"{structure}w vs {structure}{rival}" if not start else ""
                yield f"NLL({i})", w, f"{structure}{rival}{start}", f"NLL ({i})", published


def summarize(frame: pd.DataFrame, structures: list[str], published: Path | None) -> None:
    theirs = None if published is None else pd.read_csv(published / "zaidi2017-win-draw-loss.csv")
    print("\nwin-draw-loss over the data sets (published: all 72, then those over 10,000 rows)")
    for measure, ours, rival, their_measure, comparison in comparisons(structures):
        counts = win_draw_loss(frame, measure, ours, rival)
        if counts is None:
            continue
        beside = ""
        if theirs is not None:
            chosen = theirs[(theirs["measure"] == their_measure) & (theirs["comparison"] == comparison)]
            beside = "   ".join(f"{row.win}/{row.draw}/{row.loss}" for row in chosen.itertuples())
        print(f"  {measure:<8} {ours:>10} vs {rival:<10} {'/'.join(map(str, counts)):<10} {beside}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", choices=["letter", "large", "table"], default=["letter", "large", "table"])
    parser.add_argument("--sets", nargs="+", default=SETS)
    parser.add_argument("--structures", nargs="+", choices=STRUCTURES, default=list(STRUCTURES))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--published", type=Path)
    parser.add_argument("--out", type=Path, help="write every record of the table to this CSV file")
    options = parser.parse_args()
    warnings.simplefilter("ignore", BnplugWarning)
    parts = options.parts if "BNPLUG_DATA" in os.environ else [part for part in options.parts if part == "large"]
    if len(parts) < len(options.parts):
        print("BNPLUG_DATA is not set: only `large` can run", file=sys.stderr)
    if "letter" in parts:
        letter()
    if "large" in parts:
        large()
    if "table" in parts:
        frame = table(options.sets, options.structures, options.rounds)
        if options.out:
            frame.to_csv(options.out, index=False)
        summarize(frame, options.structures, options.published)


if __name__ == "__main__":
    main()
