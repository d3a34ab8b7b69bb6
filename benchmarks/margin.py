"""Maximum-margin structures and parameters beside the figures of Pernkopf and Wohlmayr (2013).

For each data set and structure (NB, TAN-ST-CMI, TAN-HC-CR, TAN-HC-MM and, with bnplug-annealing installed, TAN-SA-CR
and TAN-SA-MM), with the recipes' settings: accuracy with ML and with MM parameters, seconds, evaluations of the score,
free parameters; and an RBF SVM with C = 1, its width by 5-fold cross-validation (in the column `lam`), whose size is
support vectors x features. Cuts are by MDL on the training rows. HC on MNIST learns the structure from the first 10,000
rows, parameters from all.

spambase  2,301 rows to train and 2,300 to test, drawn by --seeds with the classes' shares.
usps      8,000 and 3,000 of 11,000 images, drawn likewise. Images that the file has under several labels are kept
          under the first one only; one file in circulation has the same images as 5, 6 and 7.
mnist     60,000 and 10,000 images of 14 x 14.

Run: python benchmarks/margin.py [--sets spambase ...] [--structures NB ...] [--seeds 0 ...] [--out FILE]
     [--published FOLDER]
     The data are spambase.csv.gz, usps-11000.csv.gz, mnist14-train.csv.gz and mnist14-test.csv.gz, the class last, in
     the folder that BNPLUG_DATA names. What --out holds already is not done again.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.model_selection import GridSearchCV, StratifiedKFold, train_test_split
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from bnplug import registry
from bnplug.discretize import MDLDiscretizer
from bnplug.parameters import LogTables
from bnplug.posterior import log_joint, posterior, terms
from bnplug.table import Table

SETS = {"spambase": "Spambase", "usps": "USPS", "mnist": "MNIST"}
STRUCTURES = ("NB", "TAN-ST-CMI", "TAN-HC-CR", "TAN-HC-MM", "TAN-SA-CR", "TAN-SA-MM")
CLIMBED_ROWS = 10_000
GAMMAS = [0.002, 0.005, 0.01, 0.02, 0.05, 0.1]
TARGET = "the class"


class Split(NamedTuple):
    features: pd.DataFrame
    labels: pd.Series
    test_features: pd.DataFrame
    test_labels: pd.Series


class Coded(NamedTuple):
    train: Table
    test: npt.NDArray[Any]
    labels: npt.NDArray[Any]


def read(name: str) -> tuple[pd.DataFrame, pd.Series]:
    frame = pd.read_csv(Path(os.environ["BNPLUG_DATA"], f"{name}.csv.gz"))
    return frame.drop(columns="class"), frame["class"].astype(str)


def load(name: str, seed: int) -> Split:
    if name == "mnist":
        return Split(*read("mnist14-train"), *read("mnist14-test"))
    X, y = read("usps-11000" if name == "usps" else name)
    share = 8000 / 11000 if name == "usps" else 2301 / 4601
    if name == "usps":
        X, y = without_copies(X, y)
    train, test = train_test_split(np.arange(len(X)), train_size=share, stratify=y, random_state=seed)
    return Split(X.iloc[train], y.iloc[train], X.iloc[test], y.iloc[test])


def without_copies(X: pd.DataFrame, y: pd.Series) -> tuple[pd.DataFrame, pd.Series]:
    copies = X.duplicated() & ~X.assign(label=y).duplicated()
    if copies.any():
        labels = ", ".join(sorted(y[copies].unique()))
        print(f"usps: {copies.sum()} images labelled {labels} stand under an earlier label too, and are left out")
    return X[~copies], y[~copies]


def code(split: Split) -> Coded:
    discretizer = MDLDiscretizer().set_output(transform="pandas").fit(split.features, split.labels)
    train = Table.from_frame(discretizer.transform(split.features).assign(**{TARGET: split.labels.to_numpy()}), TARGET)
    labels = np.array(train.states[TARGET])
    return Coded(
        train, train.encode(discretizer.transform(split.test_features)), np.searchsorted(labels, split.test_labels)
    )


def timed(call: Callable[[], Any]) -> tuple[float, Any]:
    started = perf_counter()
    result = call()
    return perf_counter() - started, result


def make(kind: str, spec: Any, seed: int) -> Any:
    """Return a component as a classifier with this random_state and all processors would."""
    made = registry.build(kind, spec)
    own = made.get_params(deep=False)
    return made.set_params(**{key: value for key, value in (("random_state", seed), ("n_jobs", -1)) if key in own})


def components(structure: str) -> dict[str, tuple[Any, Any]]:
    """Return (structure, parameters) of the recipes with ML and MM parameters, of those that can be had."""
    known = {entry.recipe.name: entry for entry in registry.recipes()}
    names = [f"{structure}-{kind}" for kind in ("ML", "MM")]
    return {
        name: (known[name].recipe.structure, known[name].recipe.parameters)
        for name in names
        if name in known and known[name].available
    }


def accuracy(tables: LogTables, data: Coded) -> float:
    chosen = posterior(log_joint(terms(tables, TARGET), data.test)).argmax(axis=1)
    return 100 * float((chosen == data.labels).mean())


def size(tables: LogTables) -> int:
    return sum((len(table.values) - 1) * table.values[0].size for table in tables.tables.values())


def run(structure: str, data: Coded, seed: int, climbed_rows: int | None) -> Iterator[dict[str, Any]]:
    """Yield a record for ML and one for MM parameters, on a structure that is learned once."""
    recipes = components(structure)
    if not recipes:
        print(f"{structure}: its recipes are not installed, and are left out", file=sys.stderr)
        return
    spec = next(iter(recipes.values()))[0]
    learner = make("structure learner", spec, seed)
    rows = data.train if climbed_rows is None else data.train.take(np.arange(climbed_rows))
    structure_seconds, dag = timed(lambda: learner.learn(rows))
    for name, (_, parameters) in recipes.items():
        estimator = make("parameter learner", parameters, seed)
        seconds, tables = timed(lambda estimator=estimator: estimator.fit(data.train, dag))
        yield {
            "method": name,
            "accuracy": accuracy(tables, data),
            "structure_s": structure_seconds,
            "parameters_s": seconds,
            "evaluations": getattr(learner, "n_evaluations_", 0),
            "size": size(tables),
            "lam": getattr(estimator, "lam_", np.nan),
            "steps": getattr(estimator, "n_iter_", np.nan),
        }


def svm(split: Split, data: Coded, seed: int) -> dict[str, Any]:
    """The width is chosen on at most CLIMBED_ROWS rows.

    Pixels are scaled to [0, 1]; elsewhere the numbers of the bins are, to variance 1. With these the widths that the
    paper found give about as many support vectors as it had.
    """
    train, test = split.features.to_numpy() / 255, split.test_features.to_numpy() / 255
    if split.features.shape[1] < 100:
        scaler = StandardScaler().fit(data.train.codes[:-1].T)
        train, test = scaler.transform(data.train.codes[:-1].T), scaler.transform(data.test[:-1].T)
    folds = StratifiedKFold(5, shuffle=True, random_state=seed)
    search = GridSearchCV(SVC(C=1.0), {"gamma": GAMMAS}, cv=folds, n_jobs=-1, refit=False)
    seconds, _ = timed(lambda: search.fit(train[:CLIMBED_ROWS], split.labels[:CLIMBED_ROWS]))
    model = SVC(C=1.0, **search.best_params_)
    fit_seconds, _ = timed(lambda: model.fit(train, split.labels))
    return {
        "method": "SVM",
        "accuracy": 100 * model.score(test, split.test_labels),
        "structure_s": seconds,
        "parameters_s": fit_seconds,
        "size": int(model.n_support_.sum()) * train.shape[1],
        "lam": search.best_params_["gamma"],
    }


def measure(sets: list[str], structures: list[str], seeds: list[int], out: Path | None) -> pd.DataFrame:
    """Return all records, those of `out` included; each is written there as soon as it is made."""
    known = pd.read_csv(out).to_dict("records") if out is not None and out.exists() else []
    for name in sets:
        for seed in seeds if name != "mnist" else seeds[:1]:
            done = {record["method"] for record in known if (record["set"], record["seed"]) == (name, seed)}
            wanted = [s for s in structures if s != "SVM" and f"{s}-MM" not in done]
            missing_svm = "SVM" in structures and "SVM" not in done
            if not wanted and not missing_svm:
                continue
            split = load(name, seed)
            data = code(split)
            for record in measure_split(name, seed, split, data, wanted, missing_svm):
                known.append(record)
                if out is not None:
                    pd.DataFrame(known).to_csv(out, index=False)
    return pd.DataFrame(known)


def measure_split(
    name: str, seed: int, split: Split, data: Coded, structures: list[str], with_svm: bool
) -> Iterator[dict[str, Any]]:
    for structure in structures:
        rows = CLIMBED_ROWS if name == "mnist" and "-HC-" in structure else None
        for record in run(structure, data, seed, rows):
            print(name, seed, record["method"], f"{record['accuracy']:.2f}", flush=True)
            yield {"set": name, "seed": seed, **record}
    if with_svm:
        yield {"set": name, "seed": seed, **svm(split, data, seed)}


def report(records: pd.DataFrame, published: Path | None) -> None:
    theirs = pd.DataFrame(columns=["dataset", "method", "mean"])
    if published is not None:
        theirs = pd.read_csv(published / "pernkopf2013-tables1-2-accuracy.csv")
    for name, own in records.groupby("set", sort=False):
        means = own.drop(columns=["set", "seed"]).groupby("method", sort=False).mean()
        means.insert(1, "std", own.groupby("method", sort=False)["accuracy"].std())
        printed = theirs[theirs["dataset"] == SETS[str(name)]].set_index("method")["mean"]
        means.insert(2, "published", printed.reindex(means.index))
        means.insert(3, "difference", means["accuracy"] - means["published"])
        print(f"\n{SETS[str(name)]}, means of {own['seed'].nunique()} draws")
        print(means.to_string(float_format="%.4g", na_rep=""))
        print_order(means["accuracy"])


def print_order(accuracy: pd.Series) -> None:
    """Say which of the paper's statements hold."""
    structures = accuracy[accuracy.index.str.contains("-MM-ML")]
    both = accuracy[accuracy.index.str.contains("-MM-MM")]
    get = accuracy.get
    statements: list[tuple[str, float, float]] = [
        ("NB-ML < TAN-ST-CMI-ML", get("NB-ML", np.nan), get("TAN-ST-CMI-ML", np.nan)),
        ("TAN-ST-CMI-ML < the best MM structure", get("TAN-ST-CMI-ML", np.nan), structures.max()),
        ("NB-ML + 2 < NB-MM", get("NB-ML", np.nan) + 2, get("NB-MM", np.nan)),
        ("SVM - 2 < the best MM structure with MM parameters", get("SVM", np.nan) - 2, both.max()),
    ]
    for text, low, high in statements:
        if not np.isnan(low + high):
            print(f"  {text}: {low:.2f}, {high:.2f}: {'yes' if low < high else 'NO'}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", nargs="+", choices=SETS, default=list(SETS))
    parser.add_argument("--structures", nargs="+", choices=[*STRUCTURES, "SVM"], default=[*STRUCTURES, "SVM"])
    parser.add_argument("--seeds", nargs="+", type=int, default=[0])
    parser.add_argument("--out", type=Path)
    parser.add_argument("--published", type=Path)
    options = parser.parse_args()
    if "BNPLUG_DATA" not in os.environ:
        print("BNPLUG_DATA is not set: nothing to measure", file=sys.stderr)
        return
    report(measure(options.sets, options.structures, options.seeds, options.out), options.published)


if __name__ == "__main__":
    main()
