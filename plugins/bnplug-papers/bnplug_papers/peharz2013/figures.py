"""What the results of Peharz et al. (2013) say, as tables: accuracies, likelihoods, and curves of missing features."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pandas as pd
from scipy import optimize, stats

from bnplug_papers import kit
from bnplug_papers.kit import AVERAGE, Results, Variant, published, published_table
from bnplug_papers.peharz2013.protocol import (
    FOLDS,
    FURTHER,
    LARGE,
    MCL,
    MCL_END,
    OURS,
    PERCENTAGES,
    QUICK,
    SETS,
    STEPS,
    has_usual_split,
)
from bnplug_papers.peharz2013.rivals import RIVALS

NETWORKS = ("ML", MCL, MCL_END, "MM", OURS)
#: What classifiers are called in tables, in their order; and the one that the paper is about.
CLASSIFIERS = (*(f"{structure} {name}" for structure in ("TAN", "NB") for name in NETWORKS), *RIVALS)
TAN_OURS = f"TAN {OURS}"


def measured(results: Results) -> pd.DataFrame:
    """Return a row for each classifier and fold, with ``classifier``, in the order of the paper."""
    frame = results.frame("table 1")
    # Naive Bayes alone has no curve, rivals alone have no likelihood.
    frame = frame.reindex(columns=list(dict.fromkeys([*frame, "train_ll", "test_ll", "hidden"])))
    frame["classifier"] = (frame["structure"] + " " + frame["method"]).str.strip()
    order = {name: number for number, name in enumerate([*SETS, *QUICK])}
    return frame.assign(place=frame["dataset"].map(order)).sort_values(["place", "fold"]).drop(columns="place")


def by_fold(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the accuracies, data sets and folds by classifiers."""
    wide = frame.pivot(index=["dataset", "fold"], columns="classifier", values="accuracy")
    names = list(dict.fromkeys(frame["dataset"]))
    return wide.reindex(names, level=0)[[name for name in CLASSIFIERS if name in wide]]


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


def with_folds(folds: pd.DataFrame) -> pd.DataFrame:
    """Return the means as text, with the number of folds where it is not all of them.

    Examples
    --------
    >>> rows = pd.MultiIndex.from_tuples([("car", 0), ("letter", 0)], names=["dataset", "fold"])
    >>> with_folds(pd.DataFrame({"SVM": [97.0, 95.5], "LR": [90.0, None]}, index=rows)).to_numpy().tolist()
    [['97.00 (1 of 5)', '90.00 (1 of 5)'], ['95.50', '–']]
    """
    means, counts, columns = means_of(folds), folds.groupby(level="dataset", sort=False).count(), {}
    for classifier in means:
        texts = []
        for name, mean, n in zip(means.index, means[classifier], counts[classifier], strict=True):
            wanted = wanted_folds(str(name))
            texts.append("–" if not n else f"{mean:.2f}" + (f" ({n} of {wanted})" if n < wanted else ""))
        columns[classifier] = texts
    return pd.DataFrame(columns, index=means.index)


def done_folds(folds: pd.DataFrame) -> pd.DataFrame:
    """Return how many folds each data set has, and on how many of them all classifiers of a group were run."""
    groups = {
        "ML and MCL": [f"{structure} {name}" for structure in ("TAN", "NB") for name in ("ML", MCL, MCL_END)],
        OURS: [TAN_OURS, f"NB {OURS}"], "SVMs and LR": [*RIVALS], "MM": ["TAN MM", "NB MM"],
    }  # fmt: skip
    names = list(dict.fromkeys(folds.index.get_level_values("dataset")))
    counts = pd.DataFrame({"folds": [wanted_folds(str(name)) for name in names]}, index=names)
    for group, classifiers in groups.items():
        whole_ones = folds.reindex(columns=classifiers).notna().all(axis=1)
        counts[group] = whole_ones.groupby(level="dataset").sum().reindex(names)
    return counts


def coverage(pairs: Iterable[tuple[str, int]]) -> tuple[int, str]:
    """Return how many data sets some (data set, fold) pairs are of, and what to call them: how many folds they have.

    Examples
    --------
    >>> coverage([("car", 0), ("car", 1), ("letter", 0)])
    (2, 'data sets, with 3 of their 6 folds')
    """
    folds = list(pairs)
    names = {name for name, _ in folds}
    wanted = sum(map(wanted_folds, names))
    return len(names), "data sets" + (f", with {len(folds)} of their {wanted} folds" if len(folds) < wanted else "")


def spread_of_draws(results: Results) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the standard deviation of a mean over draws of the folds, and the number of draws.

    Of data sets whose test rows are drawn: the usual ones are no draw.
    """
    groups = _draws(results, usual=False)
    return (pd.DataFrame(), pd.DataFrame()) if groups is None else (groups.std().unstack(), groups.size().unstack())


def _draws(results: Results, usual: bool) -> Any:
    """Return accuracies of other draws by data set and method, of sets with or without a usual split; None: no draw."""
    draws = results.frame("other draws")
    if len(draws):
        draws = draws[[has_usual_split(name) == usual for name in draws["dataset"]]]
    if draws.empty:
        return None
    return draws.assign(method="TAN " + draws["method"]).groupby(["dataset", "method"])["accuracy"]


def rows_of_intervals() -> pd.DataFrame:
    """Return of how many test rows published intervals are, if they are exact binomial ones, for large data sets."""
    theirs, rows = published("peharz2013-table1-accuracy"), {}
    large = [name for name in SETS if SETS[name][1] > LARGE and name not in FURTHER and name != "TIMIT"]
    for name in large:
        row = {"rows": f"{SETS[name][1]}", "a third": f"{SETS[name][1] / 3:.0f}"}
        for method in ("TAN ML", f"TAN {MCL}"):
            printed = theirs[(theirs["dataset"] == name) & (theirs["method"] == method)]
            row[method] = _rows_of(*printed[["mean", "std"]].iloc[0]) if len(printed) else "–"
        rows[name] = row
    return pd.DataFrame(rows).T


def _rows_of(mean: float, half: float) -> str:
    """Return between which numbers of rows the half width of an interval is what is printed, to two decimals.

    Examples
    --------
    >>> _rows_of(86.21, 0.84)
    '6513 to 6668'
    """

    def width(n: float) -> float:
        right = n * mean / 100
        return 50 * float(stats.beta.ppf(0.975, right + 1, n - right) - stats.beta.ppf(0.025, right, n - right + 1))

    ends = [float(optimize.brentq(lambda n, to: width(n) - to, 3, 1e6, (half + more,))) for more in (0.005, -0.005)]
    return f"{ends[0]:.0f} to {ends[1]:.0f}"


def table_1() -> pd.DataFrame:
    """Return the published figures; both ways to stop MCL, and both files of USPS, stand beside the same ones."""
    table = published_table("peharz2013-table1-accuracy")[["TAN ML", "TAN MCL"]]
    table = pd.concat([table, table.loc[["usps"]].rename(index={"usps": FURTHER[0]})])
    return table.assign(**{f"TAN {MCL_END}": table["TAN MCL"]})


def published_likelihoods() -> pd.DataFrame:
    """Return the published likelihoods relative to ML (%): ``train`` and ``test`` by methods, MCL's stands twice."""
    theirs = published("peharz2013-headlines")
    theirs = theirs[theirs["measure"].str.contains("likelihood")]
    wide = theirs.assign(rows=theirs["measure"].str.split().str[0]).pivot(
        index="rows", columns="method", values="value"
    )
    return wide.loc[["train", "test"], [OURS, MCL, "MM"]].assign(**{MCL_END: wide[MCL]})


def with_averages(ours: pd.DataFrame, theirs: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return both tables with a row of averages over the paper's data sets that both have.

    Examples
    --------
    >>> ours = pd.DataFrame({"TAN ML": [80.0, 90.0, 99.0]}, index=["car", "usps", "usps-11000"])
    >>> [table["TAN ML"].tolist() for table in with_averages(ours, ours[:2] + 1)]
    [[80.0, 90.0, 99.0, 85.0], [81.0, 91.0, 86.0]]
    """
    names = [name for name in SETS if name not in FURTHER]
    return kit.with_averages(ours, theirs, names), kit.with_averages(theirs, ours, names)


def other_ways(results: Results, ours: pd.DataFrame) -> list[Variant]:
    """Return what was done otherwise, with the figures that came out where it was on all folds of a set."""
    frame, ways = results.frame("other ways"), []
    for way, group in frame.groupby("way") if len(frame) else ():
        groups = group.assign(method="TAN " + group["method"]).groupby(["dataset", "method"])["accuracy"]
        means, sizes = groups.mean().unstack(), groups.size().unstack()
        wanted = [wanted_folds(str(name)) for name in means.index]
        ways.append(Variant(str(way), means.where(sizes.eq(wanted, axis=0))))
    groups = _draws(results, usual=True)
    if groups is not None:
        ways.append(Variant("test rows drawn by class, not the usual ones", groups.mean().unstack()))
    return ways + ways_to_stop(ours, "TAN ")


def ways_to_stop(ours: pd.DataFrame, structure: str = "") -> list[Variant]:
    """Return each of the two ways to stop MCL as another way of the other, on the same folds."""
    stopped, ended = f"{structure}{MCL}", f"{structure}{MCL_END}"
    if not {stopped, ended} <= set(ours):
        return []
    # Averages of the two compare only over the same data sets.
    ours = ours if ours[stopped].notna().equals(ours[ended].notna()) else ours.drop(index=AVERAGE, errors="ignore")
    return [
        Variant(f"{STEPS[-1]} steps", ours[[ended]].rename(columns={ended: stopped})),
        Variant("the number of steps by validation", ours[[stopped]].rename(columns={stopped: ended})),
    ]


def chosen(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the medians of the settings that were chosen, for each data set, as text.

    Examples
    --------
    >>> settings = [{"steps": 5.0}, {"steps": 20.0}, {"steps": 50.0}]
    >>> chosen(pd.DataFrame({"dataset": "car", "classifier": "TAN MCL", "chosen": settings})).to_dict()
    {'TAN MCL: steps': {'car': '20'}}
    """
    shown = {f"TAN {MCL}": ["steps"], TAN_OURS: ["lam", "gamma"], "TAN MM": ["lam", "kappa"], "SVM": ["C", "width"]}
    columns = {}
    for name, settings in shown.items():
        rows = frame[frame["classifier"] == name]
        for setting in settings:
            values = pd.Series(
                [_setting(value, setting) for value in rows["chosen"]], index=rows["dataset"], dtype=float
            )
            columns[f"{name}: {setting}"] = values.groupby(level=0).median()
    table = pd.DataFrame(columns).reindex(list(dict.fromkeys(frame["dataset"]))).dropna(axis=1, how="all")
    return table.map(lambda value: "–" if value != value else f"{value:.4g}")


def _setting(chosen: Mapping[str, float], name: str) -> float:
    """Return a setting; that of the kernel is kept as gamma, 1 / (2 width²)."""
    return (0.5 / chosen["gamma"]) ** 0.5 if name == "width" else chosen[name]


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
    known = frame.dropna(subset=["train_ll"])
    generative = known[known["method"] == "ML"].set_index(keys)[["train_ll", "test_ll"]]
    both = known[known["method"] != "ML"].join(generative.add_suffix("_ml"), on=keys).dropna(subset=["train_ll_ml"])
    return both.assign(**{part: 100 * both[f"{part}_ll_ml"] / both[f"{part}_ll"] for part in ("train", "test")})


def shared_likelihoods(likelihoods: pd.DataFrame, methods: Sequence[str]) -> pd.DataFrame:
    """Return the rows of some methods, of the folds of NB and of TAN that all of them have, of the paper's sets."""
    keys = ["dataset", "structure", "fold"]
    chosen = likelihoods[likelihoods["method"].isin(methods) & ~likelihoods["dataset"].isin(FURTHER)]
    return chosen[chosen.groupby(keys)["method"].transform("nunique") == len(methods)]


def mean_likelihoods(likelihoods: pd.DataFrame) -> pd.DataFrame:
    """Return the mean over folds, then over structures and data sets, of each method: ``train`` and ``test``."""
    each = likelihoods.groupby(["method", "structure", "dataset"], sort=False)[["train", "test"]].mean()
    return each.groupby("method", sort=False).mean()


def likelihoods_by_set(likelihoods: pd.DataFrame) -> pd.DataFrame:
    """Return the mean of ``train``, data sets by classifiers: over folds that all the set's classifiers have.

    Of NB and of TAN each; a classifier that was not run on a data set does not count there.
    """
    keys = ["dataset", "structure"]
    wanted = likelihoods.groupby(keys)["method"].transform("nunique")
    shared = likelihoods[likelihoods.groupby([*keys, "fold"])["method"].transform("nunique") == wanted]
    table = shared.groupby(["dataset", "classifier"], sort=False)["train"].mean().unstack()
    names = [name for name in dict.fromkeys(likelihoods["dataset"]) if name in table.index]
    return table.reindex(index=names, columns=[name for name in CLASSIFIERS if name in table])


def hidden_curve(frame: pd.DataFrame, methods: Sequence[str]) -> pd.DataFrame:
    """Return the mean accuracy for each percentage of missing features (rows) and classifier (columns).

    Over folds, then over data sets: those that all of the methods have; ``attrs["folds"]`` lists them.
    """
    rows = frame[frame["method"].isin(methods) & (frame["structure"] != "NB")].dropna(subset=["hidden"])
    pairs = rows.groupby(["dataset", "fold"])["method"].nunique()
    shared = rows.set_index(["dataset", "fold"]).loc[pairs.index[pairs == len(methods)]]
    long = shared.explode("hidden").assign(percent=list(PERCENTAGES) * len(shared)).astype({"hidden": float})
    means = long.groupby(["method", "percent", "dataset"])["hidden"].mean().groupby(level=[0, 1]).mean()
    curve = means.unstack(0).reindex(columns=list(methods)) if len(shared) else pd.DataFrame()
    curve.attrs = {"folds": list(pairs.index[pairs == len(methods)])}
    return curve


def paired(folds: pd.DataFrame, first: str, second: str) -> pd.DataFrame:
    """Return the accuracies of two classifiers on the folds that both have, of the paper's data sets."""
    return of_paper(folds.reindex(columns=[first, second]).dropna())


def of_paper(folds: pd.DataFrame) -> pd.DataFrame:
    """Return the folds of the paper's data sets."""
    return folds[~folds.index.get_level_values("dataset").isin(FURTHER)]
