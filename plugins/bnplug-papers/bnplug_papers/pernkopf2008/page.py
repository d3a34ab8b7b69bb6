"""The page of Pernkopf and Bilmes (2008): its tables, figures and claims, each with ours beside it."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from bnplug.experiments import pictures
from bnplug_papers.kit import (
    MARKED,
    MARKS,
    Page,
    Results,
    Variant,
    add_what_was_run,
    beside,
    compare_cells,
    comparison,
    explain,
    published,
)
from bnplug_papers.kit.pictures import missing_features
from bnplug_papers.pernkopf2008.claims import LEVEL, add_claims
from bnplug_papers.pernkopf2008.figures import MNIST, UCI, Figures, one_sided, relative, table_1
from bnplug_papers.pernkopf2008.protocol import BATCH, BY_RATE, FRIEDMAN, GENERATIVE, GREEDY, ORDERED, STEPS, WAYS


def fill(page: Page, results: Results) -> None:
    """Write what the results say."""
    figures = Figures(results)
    _introduce(page, results)
    _add_synthetic(page, figures)
    _add_uci(page, results, figures)
    _add_digits(page, results, figures)
    _add_t_tests(page, t_tests(figures.uci))
    _add_times(page, figures.times)
    _add_hidden(page, figures.hidden)
    page.section("Choices of ours")
    page.text(
        "The second feature of the order may have a parent, where the paper starts at the third; the greedy search "
        "adds the best edge in either direction until none improves the rate strictly; CL parameters are "
        f"{STEPS} steps of L-BFGS from ML ones. The paper's folds and drawn rows are not known, so each figure is of "
        "other splits."
    )
    add_claims(page, results, figures)
    page.missing_data(results.lacking, "not free, or no file of that name was given")


def _introduce(page: Page, results: Results) -> None:
    of_figures = f"of the figures {BATCH} draws, of the random orders a fold"
    add_what_was_run(page, results, f"A task of Table 1 is a classifier on a data set, {of_figures}.")
    folds = comparison(results, ["table 1"]).results.groupby("dataset")
    sizes = folds.agg(folds=("fold", "nunique"), training=("n_train", "first"), test=("n_test", "first"))
    page.table(sizes, "Rows of the first fold, those with a missing cell left out.", index="data set")
    soybean = " soybean-large is what Weka ships as `soybean.arff`; 562 of its 683 rows have no missing cell."
    page.text(
        "All classifiers see the same rows; numeric features are cut by MDL on the training rows alone; zero "
        "probabilities become 0.00001, in scores as in parameters. Training rows that the paper draws are drawn anew."
        + (soybean if "soybean-large" in sizes.index else "")
    )


def _add_synthetic(page: Page, figures: Figures) -> None:
    page.section("Figure 1: the synthetic case")
    if figures.synthetic.empty:
        page.text("Not run yet.")
        return
    groups = figures.synthetic_draws.groupby(level=[0, 1], sort=False)
    text = (
        groups.agg(lambda accuracies: f"{accuracies.mean():.2f} ± {accuracies.std():.2f}").unstack().sort_index(axis=1)
    )
    page.table(
        text.set_axis(figures.synthetic.columns, axis=1),
        f"Accuracy (%) on 1000 test rows: means and standard deviations over {int(groups.size().min())} draws. The "
        "paper gives a picture without figures; with the exact distribution naive Bayes has 50%, the generative tree "
        "57.5%, and the discriminative one 65%, which no classifier surpasses.",
        index="method",
    )


def _add_uci(page: Page, results: Results, figures: Figures) -> None:
    page.section("Table 1: UCI")
    table, redrawn = figures.uci, figures.redrawn()
    deviations, draws = redrawn.std().to_frame(UCI).T, redrawn.count().to_frame(UCI).T
    done, wanted = results.coverage("random orders")
    drawn = max((record["key"]["orders"] for record in results.records("random orders")), default=0)
    page.table(
        with_reasons(figures.averages(), table_1(UCI), [], deviations, draws),
        f"Accuracy (%), the average over data sets: {len(table)} of ours, 25 of the paper's, which gives the averages "
        f"only. {MARKED} {BY_RATE} has the order by the classification rate that the paper's conclusion names. Random "
        f"orders: {drawn} for each of {done} folds{'' if done == wanted else f' of {wanted}'}.",
    )
    _tell_draws(page, redrawn)
    page.table(table, "Each data set by itself.", index="data set")
    compared = comparison(results, ["table 1"])
    caption = "Each data set: the tree along the OMI order against"
    for other, short, what in (
        (GENERATIVE, "generative", "generative tree"),
        (GREEDY, "greedy", "naive greedy search"),
    ):
        if {other, ORDERED} <= set(compared.methods):
            page.picture(pictures.scatter(compared, other, ORDERED), short, f"{caption} the {what}")


def with_reasons(
    ours: pd.DataFrame,
    theirs: pd.DataFrame,
    ways: list[Variant],
    errors: pd.DataFrame | None = None,
    draws: pd.DataFrame | None = None,
) -> pd.DataFrame:
    """Return a row for each method of one data set, with a mark and a reason where our figure is off.

    Parameters
    ----------
    ours, theirs : frame
        One row, a column for each method.
    ways, errors, draws
        As for :func:`bnplug_papers.kit.explain`.
    """
    cells = compare_cells(ours, theirs).set_index("method")
    reasons = explain(cells.reset_index(), ways, errors, draws).set_index("method")["reason"]
    long = [table.T.set_axis(["mean"], axis=1).rename_axis("method").reset_index() for table in (ours, theirs)]
    rows = beside(long[0], long[1], "mean", ["method"])
    rows["off"] = [MARKS[cells["deviation"].get(method, "")] for method in rows["method"]]
    rows["reason"] = [reasons.get(method, "") for method in rows["method"]]
    return rows


def _tell_draws(page: Page, redrawn: pd.DataFrame) -> None:
    whole = redrawn.dropna(axis=1)
    if len(redrawn) < 2 or whole.empty:
        page.text("How much the draw of folds and rows changes these averages was not run yet.")
        return
    page.table(
        whole.agg(["mean", "std", "min", "max"]).T.rename(columns={"std": "deviation"}),
        f"The averages over {len(whole)} draws of the folds and of the rows that are drawn, the first of which is "
        "above; sets whose rows are given count as they are. Two such averages differ by no more than the number after "
        "± in nineteen of twenty cases: Student's quantile times the root of two times the standard deviation. A "
        "difference within that is put down to the draw of the folds. Random orders were not drawn again.",
        index="method",
    )


def _add_digits(page: Page, results: Results, figures: Figures) -> None:
    digits = figures.digits
    if digits.empty:
        return
    page.section("Table 1: MNIST")
    steps = results.frame("NB-CL")
    ways = []
    if len(steps):
        steps = steps.set_index("way").reindex([way for way in WAYS if way in set(steps["way"])]).reset_index()
        ways = [
            Variant(f"{STEPS} steps of CL by {row['way']}", pd.DataFrame({"NB-CL": [row["accuracy"]]}, index=[MNIST]))
            for row in steps.to_dict("records")
        ]
    page.table(
        with_reasons(figures.digit_accuracies(), table_1(MNIST), ways),
        f"Accuracy (%) on {int(digits['n_test'].iloc[0])} test rows after {int(digits['n_train'].iloc[0])} training "
        f"rows of 14 x 14 pixels, all candidates tried. {MARKED} Smoothed: Friedman, Geiger and Goldszmidt's, "
        f"{FRIEDMAN['alpha']:.0f} virtual rows for each configuration of the parents.",
    )
    columns = [name for name in ("ML", "CL", "smoothed", "structure_seconds", "evaluations") if name in digits]
    shown = digits[columns].rename(columns={"structure_seconds": "seconds", "evaluations": "candidates scored"})
    page.table(
        shown, "Each structure with each kind of parameters; seconds are those of its search.", index="structure"
    )
    if len(steps):
        first = float(table_1(MNIST)["NB-CL"].iloc[0])
        steps["NLL after"] = [path[-1] for path in steps["nll"]]
        page.table(
            steps[["way", "NLL after", "accuracy"]],
            f"NB-CL, published at {first:.2f}: naive Bayes on MNIST after {STEPS} steps up the conditional likelihood "
            f"from NB-ML (NLL a row {steps['nll'].iloc[0][0]:.3f}), gone in {len(steps)} ways. The paper says gradient "
            "descent and no step size; ours in the table above are of L-BFGS.",
            digits=3,
        )


def t_tests(table: pd.DataFrame) -> pd.DataFrame:
    """Compare the pairs of Table 2 over data sets by the one-sided paired t-test, beside what was published."""
    rows = []
    for first, second, *theirs in published("pernkopf2008-table2-p-values").itertuples(index=False):
        test = one_sided(table, first, second)
        if test is not None:
            better = "neither" if not test[0] else second if test[0] > 0 else first
            rows.append((first, second, better, test[1], *theirs))
    columns = ["first", "second", "better", "p", "published better", "published p"]
    return pd.DataFrame(rows, columns=columns)


def _add_t_tests(page: Page, tests: pd.DataFrame) -> None:
    page.section("Table 2: paired t-tests over the UCI sets")
    agree = int((tests["better"] == tests["published better"]).sum())
    verdicts = (tests["p"] < LEVEL) & (tests["better"] == tests["published better"])
    significant = tests["published p"] < LEVEL
    page.table(
        tests.assign(difference=tests["p"] - tests["published p"]),
        f"One-sided p-values. The same classifier is better in {agree} of {len(tests)} pairs; of the "
        f"{int(significant.sum())} published differences that are significant at {LEVEL}, "
        f"{int((verdicts & significant).sum())} are so here, in the same direction.",
        digits=4,
    )


def _add_times(page: Page, times: Mapping[str, pd.DataFrame]) -> None:
    page.section("Table 4: relative times")
    ours = [
        (place, name, value) for place, frame in times.items() for name, value in relative(frame, "seconds").items()
    ]
    share, theirs = "percent_of_tan_cr", published("pernkopf2008-table4-relative-time")
    measured = pd.DataFrame(ours, columns=["dataset", "method", share])
    page.table(
        beside(measured, theirs[theirs["dataset"].isin(times)], share),
        "Processor time of learning the structure from discretised rows, in per cent of TAN-CR. On UCI: all data sets "
        "together, one training part of each, the best of three runs; on MNIST one run on all training rows. "
        "Those runs are tasks of their own, which may be hours apart and beside other work: their ratio is rough.",
    )
    shares = [f"{relative(frame, 'evaluations')['TAN-OMI-CR']:.1f}% on {place}" for place, frame in times.items()]
    page.text(f"The candidates that TAN-OMI-CR scores, as a share of those that TAN-CR scores: {', '.join(shares)}.")
    lacking = [place for place in ("UCI", MNIST) if place not in times]
    if lacking:
        page.text(f"Not run yet: {', '.join(lacking)}.")
    for place, frame in times.items():
        totals = frame.groupby("structure")[["seconds", "evaluations"]].sum()
        each = 1e6 * totals["seconds"] / totals["evaluations"]
        page.text(
            f"On {place} a candidate costs TAN-OMI-CR {each['TAN-OMI-CR']:.0f} microseconds, its order included, and "
            f"TAN-CR {each['TAN-CR']:.0f}."
        )


def _add_hidden(page: Page, hidden: Mapping[str, pd.DataFrame]) -> None:
    page.section("Figure 3: missing features")
    page.text(
        "The paper classifies speech frames of TIMIT and gives a picture without figures. Here it is other data; which "
        "features are missing is drawn for each test row, and is the same for every classifier. Shown are means and "
        "standard deviations over the draws, in tables the means."
    )
    for name, accuracies in hidden.items():
        page.picture(missing_features(accuracies), f"missing-{name}", f"Accuracy with features missing: {name}")
        means = 100 * accuracies.groupby(["missing", "method"])["accuracy"].mean().unstack()
        draws = int(accuracies["draw"].max()) + 1
        caption = f"Accuracy (%) on {name}, by the number of missing features, {draws} draws."
        page.table(means, caption, index="missing")
