"""The page of Peharz et al. (2013): its table, figures and claims, each with ours beside it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from bnplug_papers.kit import Page, Results, add_what_was_run, read_draws
from bnplug_papers.peharz2013 import claims, differences, figures, protocol, rivals
from bnplug_papers.peharz2013.paths import GAMMAS, LAMS, draw_missing, draw_path
from bnplug_papers.peharz2013.pictures import draw_hidden, draw_likelihoods
from bnplug_papers.peharz2013.protocol import DRAWS, FOLDS, LARGE, MCL, MCL_END, OURS, STEPS


def fill(page: Page, results: Results) -> None:
    """Write what the results say, once there is a classifier of Table 1."""
    if not results.records("table 1"):
        add_what_was_run(page, results, "Nothing of Table 1 was run yet.")
        return
    frame = figures.measured(results)
    folds = figures.by_fold(frame)
    _introduce(page, results, frame, folds)
    _tell_protocol(page, frame)
    trade_off = _add_trade_off(page, results)
    by_lam = _add_missing_by_lam(page, results, frame)
    differences.add_published(page, results, folds)
    _add_accuracy(page, frame, folds)
    likelihoods = figures.relative_likelihoods(frame)
    _add_likelihoods(page, likelihoods)
    curves = _add_hidden(page, frame)
    _add_optima(page, results)
    differences.add_differences(page, results)
    claims.tell_rules(page)
    claims.claim_convex(page, results)
    claims.claim_figures(page, results, trade_off, by_lam)
    claims.claim_accuracy(page, folds)
    claims.claim_likelihoods(page, likelihoods)
    claims.claim_hidden(page, *curves)
    page.missing_data(results.lacking, "no file of that name was given; the speech corpus TIMIT is not free")


def _introduce(page: Page, results: Results, frame: pd.DataFrame, folds: pd.DataFrame) -> None:
    what = "a classifier on a fold, its settings chosen, and measured with features missing too"
    add_what_was_run(page, results, f"A task of Table 1 is {what}; of Figure 2 one lam on a fold.")
    shapes = frame.groupby("dataset", sort=False).agg(
        training=("n_train", "max"), test=("n_test", "max"), features=("features", "first"), classes=("classes", "max")
    )
    shapes["grids"] = np.where(shapes["training"] > LARGE, "coarser", "the paper's")
    page.table(
        shapes.join(figures.done_folds(folds)),
        "Rows of a fold, at most; the folds of the protocol; and on how many of them classifiers were run, NB "
        "and TAN both."
        + (" soybean-large is what Weka ships as `soybean.arff`." if "soybean-large" in shapes.index else ""),
        index="data set",
    )


def _tell_protocol(page: Page, frame: pd.DataFrame) -> None:
    steps = [chosen["steps"] for chosen in frame.loc[frame["method"] == "MM", "chosen"]]
    cut_off = f"{sum(n >= protocol.MM_STEPS for n in steps)} of {len(steps)} fits"
    page.text(
        "The paper considers 30 data sets, of UCI, TIMIT and USPS, and has 27 of them in Table 1; which the others are "
        "is not said. Its likelihoods are over all, its missing features over all of UCI."
    )
    page.text(
        "The names of Table 1's rows are lost in the text that we have; its 27 figures of TAN ML and the first 22 of "
        "TAN MCL survive. That the rows are the paper's sets in alphabetical order is our inference. The widths of "
        "the published intervals speak for it, where one split is tested:"
    )
    page.table(
        figures.rows_of_intervals(),
        f"Data sets of more than {LARGE} rows: how many test rows the published intervals are of, if they are exact "
        "binomial ones of 95%.",
        index="data set",
    )
    page.text(
        "Letter, nursery and shuttle agree with a third of their rows, adult with a third of its first 32,561 "
        "(10,854), usps with a third of 11,000 (3,667). The two intervals of satellite do not agree with each "
        "other, so they are not of one split: the paper may have cross-validated it, though it has more than 5000 "
        "rows. Here it has one split."
    )
    page.text(
        "The set of USPS is that of Hastie et al., which the paper cites, with its 7,291 training rows; usps-11000 is "
        "the selection of the same source that the width of the interval points to. In its file three digits have the "
        "same images, which are kept as the first of them, so that 8 digits remain."
    )
    page.text(
        f"Up to {LARGE} rows: {FOLDS} folds. Above: one split, the usual one where there is one. Rows with a missing "
        "cell are left out, since the paper leaves learning from them for later. All classifiers see bins cut by MDL "
        "on the training rows; alpha is 1."
    )
    page.text(
        f"{OURS} chooses lam out of {_listed(LAMS)} and gamma out of {_listed(GAMMAS)}, MM lam out of "
        f"{_listed(protocol.MM_LAMS)} and kappa out of {_listed(protocol.MM_KAPPAS)}, MCL the number of steps out of "
        f"{_listed(STEPS)}, on {FOLDS} inner folds, in each of which cuts and tree are learned anew. {MCL_END} takes "
        f"{STEPS[-1]} steps; MM is not stopped early, as in the paper, but after {protocol.MM_STEPS} steps, which "
        f"{cut_off} reach. SVM (Gaussian kernel) and "
        f"linear SVM choose C out of {_listed(rivals.PENALTIES)} and the width of the kernel out of "
        f"{_listed(rivals.WIDTHS)}, on {FOLDS} folds up to {rivals.MANY} rows, above on one hold-out of at most "
        f"{rivals.MOST} rows, with the cuts of all training rows. They and logistic regression (LR) see the bins "
        "one-hot, and learn from all training rows."
    )
    page.text(
        f"Where more than {LARGE} rows train, grids are coarser, which was fixed by size beforehand: lam in "
        f"{_listed(protocol.COARSE_LAMS)} and gamma in {_listed(protocol.COARSE_GAMMAS)} for {OURS}, C in "
        f"{_listed(rivals.COARSE_PENALTIES)} and widths {_listed(rivals.COARSE_WIDTHS)} for SVMs; networks have "
        f"{protocol.COARSE_FOLDS} inner folds."
    )


def _listed(values: Sequence[float]) -> str:
    return ", ".join(f"{value:g}" for value in values)


def _add_trade_off(page: Page, results: Results) -> pd.DataFrame:
    steps = results.frame("figure 1")
    if steps.empty:
        return steps
    page.section("Figure 1: the trade-off")
    name = steps["dataset"].iloc[0]
    page.picture(draw_path(steps), "trade-off", f"Likelihood, slack and accuracy along lam: NB on {name}")
    shown = steps.drop(columns=["dataset", "seconds"]).rename(columns=lambda column: column.replace("_", " "))
    page.table(
        shown.assign(accuracy=100 * shown["accuracy"], **{"likelihood ratio": 100 * shown["likelihood ratio"]}),
        f"{name}, naive Bayes, gamma 1, all rows for training and for the accuracy (%). Likelihood and slack are those "
        "of a row; the likelihood ratio (%) is relative to ML. The paper gives a picture without figures.",
        digits=3,
    )
    return steps


def _add_missing_by_lam(page: Page, results: Results, frame: pd.DataFrame) -> pd.DataFrame:
    """Add Figure 2; return its means, numbers of missing features by lam, with the number of features."""
    accuracies = results.frame("figure 2")
    if accuracies.empty:
        return accuracies
    # All lams on the same draws.
    whole = accuracies.groupby("fold")["lam"].transform("nunique") == accuracies["lam"].nunique()
    if whole.any():
        accuracies = accuracies[whole]
    accuracies = accuracies.sort_values(["lam", "fold"]).assign(method="lam=" + accuracies["lam"].map("{:g}".format))
    long, name = read_draws(accuracies), accuracies["dataset"].iloc[0]
    page.section("Figure 2: missing features, for several lam")
    ax = draw_missing(long.assign(accuracy=long["accuracy"] / 100))
    page.picture(ax, "missing-lam", f"Accuracy with features missing: {name}, TAN")
    groups = long.groupby(["missing", "method"], sort=False)["accuracy"]
    means = groups.mean().unstack().sort_index()
    page.table(
        means,
        f"{name}, TAN; gamma by nested cross-validation for each lam; mean accuracy (%) over "
        f"{int(groups.size().max())} draws, as many on each of {accuracies['fold'].nunique()} folds. The paper has "
        f"{DRAWS} draws, in a picture.",
        index="missing features",
    )
    means.attrs = {"features": int(frame.loc[frame["dataset"] == name, "features"].iloc[0])}
    return means


def _add_accuracy(page: Page, frame: pd.DataFrame, folds: pd.DataFrame) -> None:
    page.section("Table 1: all classifiers")
    page.table(
        figures.with_folds(folds),
        "Accuracy (%), the mean over folds." + _told_unfinished(folds),
        index="data set",
    )
    paper_folds = figures.of_paper(folds)
    parts, columns = (
        {"without MM": paper_folds.drop(columns=["TAN MM", "NB MM"], errors="ignore"), "with MM": paper_folds},
        {},
    )
    if len(parts["without MM"].dropna()) == len(paper_folds.dropna()):
        del parts["without MM"]
    for what, some in parts.items():
        shared = some.dropna()
        n = shared.index.get_level_values("dataset").nunique()
        if n and (what == "without MM" or {"TAN MM", "NB MM"} <= set(some)):
            columns[f"{what}: {n} data sets, {len(shared)} folds"] = figures.means_of(shared).mean()
    if columns:
        shown = pd.DataFrame(columns).reindex(folds.columns)
        caption = "Averages over the paper's data sets, on the folds that all classifiers have."
        page.table(shown, caption, index="classifier")
    caption = (
        "Settings that were chosen on trees, and for the SVM: medians over folds. The steps of MCL are those that were "
        "taken, fewer than were chosen where it had converged."
    )
    page.table(figures.chosen(frame), caption, index="data set")
    seconds = frame.pivot_table("seconds", "dataset", "classifier", sort=False)[list(folds.columns)]
    caption = "Seconds of the processor for a task: choosing settings, fitting, and classifying with features missing."
    page.table(seconds, caption, 1, "data set")


def _told_unfinished(folds: pd.DataFrame) -> str:
    """Say how to read figures of fewer folds than all, and what was not run yet, where that is so."""
    absent = [name for name in figures.CLASSIFIERS if name not in folds]
    told = f" Not run yet: {', '.join(absent)}." if absent else ""
    if not figures.whole(folds).all(axis=None):
        told += (
            " Where not all folds were run, their number is in brackets; such a figure is not comparable with the "
            "others of its row."
        )
    return told


def _add_likelihoods(page: Page, likelihoods: pd.DataFrame) -> None:
    """Add Figure 3 and the likelihoods relative to ML; those of ML-BN-SVM and MCL are of the same folds."""
    page.section("Figure 3: likelihoods")
    there = [name for name in (OURS, MCL, MCL_END) if name in set(likelihoods["method"])]
    shared = figures.shared_likelihoods(likelihoods, there)
    keys = ["dataset", "structure", "fold"]
    margins = figures.shared_likelihoods(likelihoods, [OURS, "MM"])
    shown = pd.concat([shared, margins[margins["method"] == "MM"]])
    if len(shown):
        caption = "Minus the log-likelihood of a training row against that under ML, a point for each fold"
        page.picture(draw_likelihoods(shown), "likelihoods", caption)
    theirs = figures.published_likelihoods()
    means = pd.concat([figures.mean_likelihoods(part) for part in (shared, shown[shown["method"] == "MM"])]).T
    told = [_told_folds(", ".join(there), shared, keys)] if len(shared) else []
    told += [_told_folds("MM", margins, keys) if len(margins) else "MM was not run yet."]
    differences.add_likelihoods_beside(page, means, theirs, " ".join(told))
    caption = (
        "Train likelihood relative to ML (%), by data set: the mean over folds that all networks with results on the "
        "set have."
    )
    page.table(figures.likelihoods_by_set(likelihoods), caption, index="data set")


def _told_folds(names: str, likelihoods: pd.DataFrame, keys: list[str]) -> str:
    n = len(likelihoods[keys].drop_duplicates())
    return f"{names}: {likelihoods['dataset'].nunique()} data sets, {n} folds of NB and of TAN."


def _add_hidden(page: Page, frame: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Add Figure 4; return the curves of all classifiers but MM, and those with MM on the folds that it has.

    Where MM was run on all folds that the others have, both are the curves with MM.
    """
    page.section("Figure 4: missing features")
    there = [name for name in (*figures.NETWORKS, *rivals.RIVALS) if name in set(frame["method"])]
    without = figures.hidden_curve(frame, [name for name in there if name != "MM"])
    margins = figures.hidden_curve(frame, there) if "MM" in there else pd.DataFrame()
    if not margins.empty and margins.attrs["folds"] == without.attrs["folds"]:
        without = margins
    for short, curve in {"missing": without, **({} if without is margins else {"missing-mm": margins})}.items():
        if curve.empty:
            continue
        names = list(dict.fromkeys(name for name, _ in curve.attrs["folds"]))
        what = "with MM" if "MM" in curve else "without MM"
        page.picture(draw_hidden(curve), short, f"Accuracy with features missing, {what}: {len(names)} data sets")
        page.table(
            curve,
            f"Mean accuracy (%) on all test rows of {', '.join(names)} ({len(curve.attrs['folds'])} folds), by the "
            "percentage of missing features, drawn once for each row and the same for all classifiers. Networks are "
            "TAN and marginalise; the others get the mean of the five nearest training rows.",
            index="missing (%)",
        )
    if margins.empty:
        page.text("MM was not run yet.")
    return without, margins


def _add_optima(page: Page, results: Results) -> None:
    optima = results.frame("one optimum")
    if optima.empty:
        return
    page.section("One optimum")
    ends = pd.DataFrame(
        [[min(objectives), max(objectives)] for objectives in optima["objectives"]], columns=["least", "most"]
    )
    shown = optima[["dataset", "structure", "rows"]].join(ends).rename(columns={"dataset": "data set"})
    page.table(
        shown.assign(**{"sum off by": optima["unnormalized"].map("{:.0e}".format)}),
        "The objective of problem (11) on all complete rows, divided by their number, with lam = "
        f"{protocol.LAM_OF_OPTIMUM:g} and gamma "
        f"= {protocol.GAMMA_OF_OPTIMUM:g}: the least and the most that descents from ML's parameters and from "
        f"{protocol.STARTS} random ones end at, and how far the logarithm of a column's sum is from 0 at most, of "
        "columns that were counted at least once (by Theorem 2 it is 0).",
        digits=5,
    )
