"""The page of Pernkopf and Wohlmayr (2013): its tables, figures and claims, each with ours beside it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from bnplug_papers.kit import MARKED, Page, Results, add_what_was_run, published_table, read_draws, side_by_side
from bnplug_papers.kit.pictures import missing_features
from bnplug_papers.pernkopf2013 import pictures, protocol
from bnplug_papers.pernkopf2013.claims import add_claims, model_sizes, schedule_runs
from bnplug_papers.pernkopf2013.differences import add_differences
from bnplug_papers.pernkopf2013.figures import PAPERS_SETS, accuracies, compared, published_accuracy, read_runs, title
from bnplug_papers.pernkopf2013.protocol import ANNEALED, FEWER_ROWS, FIRST_ROWS, GENERATIVE, RUNS, SATELLITE

_TRAINING = "Accuracy (%) on the test rows, ours (published), of the run of the best score in training."


def fill(page: Page, results: Results) -> None:
    """Write what the results say, once there is a structure."""
    if not results.records("structures"):
        add_what_was_run(page, results, "No structure was learned yet.")
        return
    runs = read_runs(results)
    _introduce(page, results, runs)
    accuracy = accuracies(results, runs, "score")
    _add_tables(page, accuracy, accuracies(results, runs, "accuracy"))
    add_differences(page, results, runs, accuracy)
    _add_runs(page, runs)
    _add_ways(page, results)
    _add_sizes(page, results, runs, accuracy)
    _add_figures(page, runs)
    _add_schedules(page, results, runs)
    _add_sample_sizes(page, results)
    hidden = _add_hidden(page, results)
    page.section("What differs by necessity")
    fewer = f", on MNIST so far on {FEWER_ROWS} of them" if compared(runs)["rows"].any() else ""
    page.text(
        "The paper's training rows of Spambase and USPS are not known, nor how it cuts numeric features, nor its value "
        "for zero probabilities; MNIST is halved here by the mean of 2 x 2 pixels. Hill climbing and annealing are "
        f"compared on the same rows{fewer}."
    )
    add_claims(page, results, runs, accuracy, hidden)
    page.missing_data(results.lacking, "no file of that name was given, or not free")


def _introduce(page: Page, results: Results, runs: pd.DataFrame) -> None:
    _count_parameters(results)
    task = "A task is one search, one set of parameters, one SVM, one sample, or"
    add_what_was_run(page, results, f"{task} {protocol.BATCH} draws of missing features.")
    whole = runs[runs["rows"] == 0]
    shapes = whole.groupby("dataset").agg(
        training=("n_train", "first"), test=("n_test", "first"), features=("features", "first"), lam=("lam", "max")
    )
    for structure in ANNEALED:
        counts = whole[whole["structure"] == structure].groupby("dataset").size().reindex(shapes.index)
        shapes[f"runs of {structure}"] = [f"{int(n)} of {RUNS}" for n in counts.fillna(0)]
    page.table(shapes, "Rows, features, the lam of the margin score, and runs of annealing on all rows.", 3, "data set")
    page.text(
        "All methods see the same rows, drawn by class where the paper does not name them; numeric features are cut by "
        "MDL on the training rows; zero probabilities become 0.00001. CR and MM are cross-validated on 5 folds of the "
        f"training rows, the same for all searches. lam is chosen from ten values from 0.01 to 1 by cross-validation, "
        f"that of the score on at most {FEWER_ROWS} rows, that of the parameters for each tree by itself; kappa (the "
        f"paper's h) is 0.5. The SVM gets the numbers of the bins, scaled; its penalty is {protocol.PENALTY:.0f}, its "
        f"width (gamma) is one of {', '.join(map(str, protocol.WIDTHS))}, by 5 folds of at most {FEWER_ROWS} rows."
    )
    page.text(
        "One file of USPS has the same images under three digits. They are kept as the first of these, so that 8 "
        "digits remain: it is another task than the paper's. The other file has all ten digits; it is another "
        "selection from the same source, with its own training and test rows. It stands beside the paper's figures of "
        "USPS, and counts in no average and no verdict."
    )


def _count_parameters(results: Results) -> None:
    """Count parameters that the searches so far call for as wanted: a run knows them only when it gets there."""
    done = {tuple(sorted(record["key"].items())) for record in results.records("parameters")}
    left = sum(tuple(sorted(key.items())) not in done for key, _ in protocol.wanted_parameters(results))
    results.wanted["parameters"] = len(done) + left


def _add_tables(page: Page, by_score: pd.DataFrame, by_test: pd.DataFrame) -> None:
    theirs = published_accuracy()
    papers = [name for name in by_score.index if name in PAPERS_SETS]
    for number, ending in ((1, "-ML"), (2, "-MM")):
        methods = [name for name in theirs.columns if name.endswith(ending) or (name == "SVM" and number == 2)]
        annealed = [name for name in methods if "-SA-" in name]
        first, second = by_score.reindex(columns=methods), by_test.reindex(columns=annealed)
        page.section(f"Table {number}: {ending[1:]} parameters")
        page.table(side_by_side(first.loc[papers], theirs[methods], mark_averages=True), f"{_TRAINING} {MARKED}")
        text = (
            "The run that is best on the test rows with ML parameters, which here decides nothing; the paper reports "
            '"the best run", and does not say by what.'
        )
        if second.loc[papers].notna().any(axis=None):
            page.table(side_by_side(second.loc[papers], theirs[annealed], mark_averages=True), text)
        else:
            page.text(f"{text} Of annealing, these parameters were not run yet.")
        ten = title(protocol.TEN_DIGITS)
        if ten in by_score.index:
            # Of one data set there is no average.
            row = side_by_side(first.loc[[ten]], theirs[methods]).iloc[:-1]
            page.table(row, "The ten digits beside the paper's figures of USPS: the run of the best score in training.")


def _add_runs(page: Page, runs: pd.DataFrame) -> None:
    page.section("All runs of annealing")
    theirs, rows = published_table("pernkopf2013-tables1-2-accuracy").stack(), []
    groups = runs[runs["structure"].isin(ANNEALED)].groupby(["dataset", "structure", "rows"], sort=False)
    for (name, structure, n_rows), group in groups:
        accuracy = group["accuracy"]
        rows.append({
            "data set": f"{name}, {n_rows} rows" if n_rows else name, "structure": structure, "runs": len(group),
            "lowest": accuracy.min(), "median": accuracy.median(), "highest": accuracy.max(),
            "of best score": accuracy.iloc[int(group["score"].to_numpy().argmax())],
            "published": np.nan if n_rows else theirs.get((name, f"{structure}-ML"), np.nan),
            "evaluations (median)": round(group["evaluations"].median()),
            "seconds (median)": group["learning"].median(),
        })  # fmt: skip
    page.table(
        pd.DataFrame(rows),
        f"Accuracy (%) with ML parameters of all rows; seconds of the processor. Runs on {FEWER_ROWS} rows of MNIST "
        "count only as long as hill climbing has not been through all rows.",
    )


def _add_ways(page: Page, results: Results) -> None:
    frame = results.frame("parameters")
    if frame.empty or frame["way"].nunique() < 2:
        return
    page.section("How maximum-margin parameters are learned")
    several = frame[frame["structure"].isin(GENERATIVE)].assign(dataset=frame["dataset"].map(title))
    shown = several[["dataset", "structure", "way", "accuracy", "lam", "steps", "objective", "learning"]]
    page.table(
        shown.rename(columns={"dataset": "data set", "learning": "seconds"}),
        "Table 2 has what the recipes do: L-BFGS, stopped early, after as many steps as give the largest margins on "
        "held-out folds. The paper says conjugate gradients (CG) and no more. The objective is the sum of rounded "
        "margins on the training rows; it compares only where lam is the same. On MNIST only the first way was run.",
    )


def _add_sizes(page: Page, results: Results, runs: pd.DataFrame, accuracy: pd.DataFrame) -> None:
    page.section("Table 3: the size of models")
    sizes = model_sizes(results, runs, accuracy)
    theirs = published_table("pernkopf2013-table3-sizes", "size").stack().to_dict()
    sizes["published"] = [theirs.get((row.dataset, row.kind), np.nan) for row in sizes.itertuples()]
    shown = sizes.drop(columns="kind").rename(columns={"dataset": "data set"}).astype({"ours": float})
    text = (
        "Free parameters of naive Bayes and of the tree of the highest accuracy; support vectors x features of the SVM."
    )
    page.table(shown, text, digits=0)


def _add_figures(page: Page, runs: pd.DataFrame) -> None:
    page.section("Figures 2 and 3: runs, evaluations, and how scores rise")
    for name, group in compared(runs).groupby("dataset", sort=False):
        groups = {str(s)[4:]: some for s, some in group.groupby("structure", sort=False)}
        n_rows = int(group["rows"].max())
        where = f"{name}, learned from {n_rows} rows" if n_rows else str(name)
        short = str(name).lower().replace(", ", "-").replace(" ", "-")
        ax = pictures.box_plots({s: some["accuracy"].tolist() for s, some in groups.items()}, "accuracy (%)")
        page.picture(ax, f"accuracy-{short}", f"Figure 2: accuracy of the runs on {where}, ML parameters")
        used = {s: some["evaluations"].tolist() for s, some in groups.items()}
        ax = pictures.box_plots(used, "evaluations", logarithmic=True)
        page.picture(ax, f"evaluations-{short}", f"Figure 3: evaluations of the score used on {where}")
        for score in ("CR", "MM"):
            best = {s: some.sort_values("score")["trace"].iloc[-1] for s, some in groups.items() if s.endswith(score)}
            if best:
                traces: dict[str, Any] = {s: tuple(zip(*trace, strict=True)) for s, trace in best.items()}
                ax = pictures.score_against_evaluations(traces, score)
                page.picture(ax, f"trace-{score.lower()}-{short}", f"Score against evaluations on {where}, by {score}")


def _add_schedules(page: Page, results: Results, runs: pd.DataFrame) -> None:
    swept = results.frame("schedules")
    if swept.empty:
        return
    page.section("Figure 4: cooling factors")
    for structure in swept["structure"].unique():
        both = schedule_runs(results, runs, structure)
        short = str(structure)[-2:].lower()
        page.picture(pictures.schedules(both), f"schedules-{short}", f"{structure} on USPS, by cooling factor")
        medians = both.groupby("D")[["evaluations", "accuracy"]].median()
        medians["evaluations"] = medians["evaluations"].round().astype(int)
        medians.insert(0, "runs", [f"{n} of {RUNS}" for n in both.groupby("D").size()])
        page.table(medians, f"{structure} on USPS, by the cooling factor D: medians of the runs.", index="D")


def _add_sample_sizes(page: Page, results: Results) -> None:
    frame = results.frame("sample sizes")
    if frame.empty:
        return
    page.section("Sample sizes")
    page.text(
        "The paper leaves sample sizes for later. It asks whether few rows are the reason why TAN-HC-CR is below the "
        "generative tree on Spambase."
    )
    page.picture(pictures.sample_sizes(frame), "sample-sizes", "Accuracy on Spambase by the number of training rows")
    groups = frame.groupby(["rows", "structure"])["accuracy"]
    text, sizes = _with_deviations(groups), groups.size()
    page.table(
        text[[name for name in protocol.SIZED if name in text]],
        "Accuracy (%) on Spambase's test rows after so many training rows, ML parameters: means and standard "
        f"deviations over {_draws(int(sizes.min()), protocol.SIZE_DRAWS)} draws. With all rows only the seed of "
        "annealing differs.",
        index="rows",
    )
    means = groups.mean().unstack().reindex(columns=["TAN-ST-CMI", "TAN-HC-CR"]).dropna()
    gaps = ", ".join(f"{row['TAN-HC-CR'] - row['TAN-ST-CMI']:+.2f} with {rows}" for rows, row in means.iterrows())
    if gaps:
        page.text(f"TAN-HC-CR is above the generative tree by so many points, by the number of rows: {gaps}.")


def _draws(n: int, wanted: int) -> str:
    return f"{n}" if n == wanted else f"{n} of {wanted}"


def _with_deviations(groups: Any) -> pd.DataFrame:
    """Return means and standard deviations as text, the first key by the second."""
    # One draw has no deviation.
    text = groups.agg(lambda values: f"{values.mean():.2f}" + (f" ± {values.std():.2f}" if len(values) > 1 else ""))
    table: pd.DataFrame = text.unstack()
    return table


def _add_hidden(page: Page, results: Results) -> pd.DataFrame:
    frame = results.frame("figure 5")
    if frame.empty:
        return frame
    page.section("Figure 5: missing features")
    long = read_draws(frame)
    page.picture(missing_features(long), "missing", "Accuracy with features missing: satellite")
    groups = (100 * long.set_index(["missing", "method"])["accuracy"]).groupby(level=[0, 1])
    page.table(
        _with_deviations(groups),
        f"Accuracy (%) on satellite's test rows, those after the first {FIRST_ROWS[SATELLITE]}: means and standard "
        f"deviations over {_draws(int(long['draw'].max()) + 1, protocol.DRAWS)} draws, the same for all. The paper's "
        "DCMall is not available. The SVM has the features as they are, scaled, and scikit-learn's width; for a "
        "missing feature it gets the mean of the training rows.",
        index="missing",
    )
    return groups.mean().unstack()
