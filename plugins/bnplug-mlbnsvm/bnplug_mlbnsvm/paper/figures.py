"""What the results of Peharz et al. (2013) say, as tables: accuracies, likelihoods, and curves of missing features."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from bnplug.experiments import published_table
from bnplug.experiments.paper import Results, Way
from bnplug_mlbnsvm.paper.protocol import FOLDS, FURTHER, LARGE, MCL, MCL_END, OURS, PERCENTAGES, QUICK, SETS, STEPS
from bnplug_mlbnsvm.paper.rivals import RIVALS

NETWORKS = ("ML", MCL, MCL_END, "MM", OURS)
#: What classifiers are called in tables, in their order; and the one that the paper is about.
CLASSIFIERS = (*(f"{structure} {name}" for structure in ("TAN", "NB") for name in NETWORKS), *RIVALS)
TAN_OURS = f"TAN {OURS}"


def measured(results: Results) -> pd.DataFrame:
    """Return a row for each classifier and fold, with ``classifier``, in the order of the paper."""
    frame = results.frame("table 1")
    frame["classifier"] = (frame["structure"] + " " + frame["method"]).str.strip()
    order = {name: number for number, name in enumerate([*SETS, *QUICK])}
    return frame.assign(place=frame["dataset"].map(order)).sort_values(["place", "fold"]).drop(columns="place")


def by_fold(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the accuracies, data sets and folds by classifiers."""
    found = frame.pivot(index=["dataset", "fold"], columns="classifier", values="accuracy")
    names = list(dict.fromkeys(frame["dataset"]))
    return found.reindex(names, level=0)[[name for name in CLASSIFIERS if name in found]]


def means_of(folds: pd.DataFrame) -> pd.DataFrame:
    """Return the mean over folds for each data set."""
    return folds.groupby(level="dataset", sort=False).mean()


def whole(folds: pd.DataFrame) -> pd.DataFrame:
    """Return of which data sets a classifier was run on all folds."""
    counts = folds.groupby(level="dataset", sort=False).count()
    return counts.ge([wanted_folds(str(name)) for name in counts.index], axis=0)


def wanted_folds(name: str) -> int:
    """Return how many folds a data set has.

    Examples
    --------
    >>> wanted_folds("car"), wanted_folds("letter")
    (5, 1)
    """
    return FOLDS if (SETS | QUICK)[name][1] <= LARGE else 1


def errors_of(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the standard error of each mean: by the spread over folds, or of one fold by the number of test rows.

    Examples
    --------
    >>> rows = {"dataset": "a", "classifier": ["x", "x", "y"], "accuracy": [70.0, 90.0, 80.0], "n_test": 100}
    >>> errors_of(pd.DataFrame(rows)).loc["a"].tolist()
    [10.0, 4.0]
    """
    groups = frame.groupby(["dataset", "classifier"])
    mean, size = groups["accuracy"].mean(), groups.size()
    binomial = (mean * (100 - mean) / groups["n_test"].sum()) ** 0.5
    return (groups["accuracy"].std() / size**0.5).fillna(binomial).unstack()


def table_1() -> pd.DataFrame:
    """Return the published figures; both ways to stop MCL, and both files of USPS, stand beside the same ones."""
    table = published_table("peharz2013-table1-accuracy")[["TAN ML", "TAN MCL"]]
    table = pd.concat([table, table.loc[["usps"]].rename(index={"usps": FURTHER[0]})])
    return table.assign(**{f"TAN {MCL_END}": table["TAN MCL"]})


def other_ways(results: Results, ours: pd.DataFrame) -> list[Way]:
    """Return what was done otherwise, on all folds of a set, with the figures that came out."""
    found, ways = results.frame("other ways"), []
    for way, own in found.groupby("way") if len(found) else ():
        groups = own.assign(method="TAN " + own["method"]).groupby(["dataset", "method"])["accuracy"]
        means, sizes = groups.mean().unstack(), groups.size().unstack()
        wanted = [wanted_folds(str(name)) for name in means.index]
        ways.append(Way(str(way), means.where(sizes.eq(wanted, axis=0))))
    stopped, ended = f"TAN {MCL}", f"TAN {MCL_END}"
    if {stopped, ended} <= set(ours):
        ways.append(Way(f"{STEPS[-1]} steps", ours[[ended]].rename(columns={ended: stopped})))
        ways.append(Way("the number of steps by validation", ours[[stopped]].rename(columns={stopped: ended})))
    return ways


def chosen(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the medians of the settings that were chosen, for each data set.

    Examples
    --------
    >>> settings = [{"steps": 5.0}, {"steps": 20.0}, {"steps": 50.0}]
    >>> chosen(pd.DataFrame({"dataset": "car", "classifier": "TAN MCL", "chosen": settings})).to_dict()
    {'TAN MCL: steps': {'car': 20.0}}
    """
    shown = {f"TAN {MCL}": ["steps"], TAN_OURS: ["lam", "gamma"], "TAN MM": ["lam", "kappa"], "SVM": ["C", "gamma"]}
    columns = {}
    for name, settings in shown.items():
        own = frame[frame["classifier"] == name]
        for setting in settings:
            values = pd.Series([value[setting] for value in own["chosen"]], index=own["dataset"], dtype=float)
            columns[f"{name}: {setting}"] = values.groupby(level=0).median()
    return pd.DataFrame(columns).reindex(list(dict.fromkeys(frame["dataset"]))).dropna(axis=1, how="all")


def relative_likelihoods(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a row for each fold of each network: LL(ML) / LL(its own) of training and of test rows, in per cent.

    Examples
    --------
    >>> frame = pd.DataFrame({"dataset": "iris", "structure": "NB", "fold": 0, "method": ["ML", "MM"],
    ...                       "train_ll": [-2.0, -4.0], "test_ll": [-3.0, -4.0]})
    >>> relative_likelihoods(frame)[["method", "train", "test"]].values.tolist()
    [['MM', 50.0, 75.0]]
    """
    keys = ["dataset", "structure", "fold"]
    own = frame.dropna(subset=["train_ll"])
    generative = own[own["method"] == "ML"].set_index(keys)[["train_ll", "test_ll"]]
    both = own[own["method"] != "ML"].join(generative.add_suffix("_ml"), on=keys).dropna(subset=["train_ll_ml"])
    return both.assign(**{part: 100 * both[f"{part}_ll_ml"] / both[f"{part}_ll"] for part in ("train", "test")})


def hidden_curve(frame: pd.DataFrame, methods: Sequence[str]) -> pd.DataFrame:
    """Return the mean accuracy for each percentage of missing features (rows) and classifier (columns).

    Over folds, then over data sets: those that all of the methods have. ``attrs`` says which.
    """
    own = frame[frame["method"].isin(methods) & (frame["structure"] != "NB")].dropna(subset=["hidden"])
    pairs = own.groupby(["dataset", "fold"])["method"].nunique()
    shared = own.set_index(["dataset", "fold"]).loc[pairs.index[pairs == len(methods)]]
    long = shared.explode("hidden").assign(percent=list(PERCENTAGES) * len(shared)).astype({"hidden": float})
    means = long.groupby(["method", "percent", "dataset"])["hidden"].mean().groupby(level=[0, 1]).mean()
    curve = means.unstack(0).reindex(columns=list(methods)) if len(shared) else pd.DataFrame()
    names = list(dict.fromkeys(shared.index.get_level_values(0)))
    curve.attrs = {"datasets": names, "folds": int(sum(pairs == len(methods)))}
    return curve


def paired(folds: pd.DataFrame, first: str, second: str) -> pd.DataFrame:
    """Return the accuracies of two classifiers on the folds that both have, by the paper's data sets."""
    own = folds.reindex(columns=[first, second]).dropna()
    return means_of(own[~own.index.get_level_values("dataset").isin(FURTHER)])
