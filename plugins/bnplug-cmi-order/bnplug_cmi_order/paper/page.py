"""The page of Pernkopf and Bilmes (2008): its tables, figures and claims, each with ours beside it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from bnplug.experiments import Page, beside, pictures, published
from bnplug.experiments.paper import NOT_EXPLAINED, Results, add_what_was_run, comparison, off, read_draws
from bnplug.experiments.statistics import paired_t_test
from bnplug_cmi_order.paper.protocol import BATCH, BY_RATE, GENERATIVE, GREEDY, ORDERED, STEPS, TIMED

_LEVEL = 0.05
_BEST_RANDOM = "TAN-RO-CR-ML max"
_PAPERS_ORDERS = (ORDERED, "TAN-OMISP-CR-ML")
# From which factor on a speed-up counts as "about ten".
_ABOUT_TEN = 5.0


def fill(page: Page, results: Results) -> None:
    """Write what the results say."""
    _introduce(page, results)
    _add_synthetic(page, results)
    table = accuracies(results)
    _add_uci(page, results, table)
    digits = _digits(results)
    _add_digits(page, results, digits)
    tests = t_tests(table)
    _add_t_tests(page, tests)
    times = _times(results)
    _add_times(page, times)
    draws = results.frame("figure 3")
    hidden = {str(name): own for name, own in read_draws(draws).groupby("dataset")} if len(draws) else {}
    _add_hidden(page, hidden)
    page.section("Choices of ours")
    page.text(
        "The second feature of the order may have a parent, where the paper starts at the third; the greedy search "
        "adds the best edge in either direction until none improves the rate strictly; CL parameters are 20 steps of "
        "L-BFGS from ML ones. The paper's folds and drawn rows are not known, so each figure is of other splits."
    )
    _claim(page, results, table, tests, times, hidden, digits)
    page.missing_data(results.lacking, "not free, or no file of that name was given")


def _introduce(page: Page, results: Results) -> None:
    of_figures = f"of the figures {BATCH} draws, of the random orders a fold"
    add_what_was_run(page, results, f"A task of Table 1 is a classifier on a data set, {of_figures}.")
    folds = comparison(results, ["table 1"]).results.groupby("dataset")
    sizes = folds.agg(folds=("fold", "nunique"), training=("n_train", "first"), test=("n_test", "first"))
    page.table(sizes, "Rows of the first fold, those with a missing cell left out.", index="data set")
    page.text(
        "All classifiers see the same rows; numeric features are cut by MDL on the training rows alone; zero "
        "probabilities become 0.00001, in scores as in parameters. Training rows that the paper draws are drawn anew."
    )


def accuracies(results: Results) -> pd.DataFrame:
    """Return the accuracies on UCI sets in per cent, random orders included: data sets by classifiers."""
    table = 100 * comparison(results, ["table 1"]).table()
    orders = results.frame("random orders")
    if not orders.empty:
        means = orders.groupby("dataset")[["mean", "min", "max"]].mean()
        table = table.join(means.rename(columns=lambda kind: f"TAN-RO-CR-ML {kind}"))
    order = [*dict.fromkeys(_table_1("UCI-25 average")["method"]), BY_RATE]
    return table[[name for name in order if name in table]]


def _add_synthetic(page: Page, results: Results) -> None:
    page.section("Figure 1: the synthetic case")
    found = results.frame("figure 1").drop(columns=["draws", "seconds"])
    draws = found.melt("rows", var_name="method", value_name="accuracy").explode("accuracy")
    groups = draws.astype({"accuracy": float}).groupby(["method", "rows"], sort=False)["accuracy"]
    means = groups.mean().unstack()[sorted(found["rows"].unique())]
    means.columns = [f"{rows} rows" for rows in means.columns]
    page.table(
        means.reset_index(),
        f"Mean accuracy (%) on 1000 test rows over {int(groups.size().min())} draws. The paper gives a picture without "
        "figures; with the exact distribution naive Bayes has 50%, the generative tree 57.5%, and the discriminative "
        "one 65%, which no classifier surpasses.",
    )


def _table_1(dataset: str) -> pd.DataFrame:
    table = published("pernkopf2008-table1-accuracy")
    return table[table["dataset"] == dataset]


def _add_uci(page: Page, results: Results, table: pd.DataFrame) -> None:
    page.section("Table 1: UCI")
    # Random orders have an average where all data sets have them.
    own = table.dropna(axis=1).mean()
    ours = pd.DataFrame({"method": own.index, "mean": own.to_numpy()})
    rows = beside(ours, _table_1("UCI-25 average"), "mean", ["method"])
    rows["reason where it is off"] = [
        _reason(own, theirs, len(table)) for own, theirs in zip(rows["ours"], rows["published"], strict=True)
    ]
    done, wanted = results.coverage("random orders")
    drawn = max((record["key"]["orders"] for record in results.records("random orders")), default=0)
    page.table(
        rows,
        f"Accuracy (%), the average over data sets: {len(table)} of ours, 25 of the paper's, which gives the averages "
        f"only. {BY_RATE} has the order by the classification rate that the paper's conclusion names. Random orders: "
        f"{drawn} for each of {done} folds, of {wanted}.",
    )
    page.table(table, "Each data set by itself.", index="data set")
    found = comparison(results, ["table 1"])
    caption = "Each data set: the tree along the OMI order against"
    page.picture(pictures.scatter(found, GENERATIVE, ORDERED), "generative", f"{caption} the generative tree")
    page.picture(pictures.scatter(found, GREEDY, ORDERED), "greedy", f"{caption} the naive greedy search")


def _reason(ours: float, theirs: float, n: int) -> str:
    """Say what the data sets that are missing would have to give for an average that is off."""
    where = off(ours, theirs)
    needed = (25 * (theirs - 1) - n * ours) / (25 - n) if n < 25 else np.inf
    if where == "below" and needed <= 100:
        return f"the set that is missing: not off if it gives {needed:.1f}% or more"
    return NOT_EXPLAINED if where else ""


def _digits(results: Results) -> pd.DataFrame:
    """Return the accuracies on MNIST: structures by parameters."""
    found = results.frame("MNIST")
    if found.empty:
        return found
    found = found.set_index("structure")
    return found[[name for name in ("ML", "CL", "smoothed", "structure_seconds", "evaluations") if name in found]]


def _add_digits(page: Page, results: Results, digits: pd.DataFrame) -> None:
    if digits.empty:
        return
    page.section("Table 1: MNIST")
    long = [(f"{name}-{kind}", own) for kind in ("ML", "CL") if kind in digits for name, own in digits[kind].items()]
    if "2-tree-OMI-CR" in digits.index:
        long.append(("2-tree-OMI-CR-ML smoothed", digits.loc["2-tree-OMI-CR", "smoothed"]))
    ours = pd.DataFrame(long, columns=["method", "mean"])
    page.table(
        beside(ours, _table_1("MNIST"), "mean", ["method"]),
        "Accuracy (%) on 10000 test rows after 60000 training rows of 14 x 14 pixels, all candidates tried. Smoothed: "
        "Friedman, Geiger and Goldszmidt's, five virtual rows for each configuration of the parents.",
    )
    page.table(digits.round(2).reset_index(), "Each structure, with its three kinds of parameters.")
    steps = results.frame("NB-CL")
    if steps.empty:
        return
    steps["NLL after"] = [path[-1] for path in steps["nll"]]
    page.table(
        steps[["way", "NLL after", "accuracy"]],
        f"Why NB-CL is far above the published 83.77: naive Bayes on MNIST after {STEPS} steps up the conditional "
        f"likelihood from NB-ML (NLL a row {steps['nll'].iloc[0][0]:.3f}), gone in three ways. The paper says gradient "
        "descent and no step size; ours in the table are of L-BFGS. The step size decides.",
        digits=3,
    )


def t_tests(table: pd.DataFrame) -> pd.DataFrame:
    """Compare the pairs of Table 2 over data sets by the one-sided paired t-test, beside what was published."""
    rows = []
    for first, second, *theirs in published("pernkopf2008-table2-p-values").itertuples(index=False):
        if {first, second} <= set(table.columns):
            both = table[[first, second]].dropna()
            test = paired_t_test(both[second], both[first])
            better = "neither" if not test.mean_difference else second if test.mean_difference > 0 else first
            rows.append((first, second, better, min(test.p_value, 1 - test.p_value), *theirs))
    columns = ["first", "second", "better", "p", "published better", "published p"]
    return pd.DataFrame(rows, columns=columns)


def _add_t_tests(page: Page, tests: pd.DataFrame) -> None:
    page.section("Table 2: paired t-tests over the UCI sets")
    agree = int((tests["better"] == tests["published better"]).sum())
    verdicts = (tests["p"] < _LEVEL) & (tests["better"] == tests["published better"])
    significant = tests["published p"] < _LEVEL
    page.table(
        tests.assign(difference=tests["p"] - tests["published p"]),
        f"One-sided p-values. The same classifier is better in {agree} of {len(tests)} pairs; of the "
        f"{int(significant.sum())} published differences that are significant at {_LEVEL}, "
        f"{int((verdicts & significant).sum())} are so here, in the same direction.",
        digits=4,
    )


def _times(results: Results) -> dict[str, pd.DataFrame]:
    """Return ``structure``, ``seconds``, ``evaluations`` and ``features`` of each data set, by the row of Table 4."""
    values = [record["value"] for record in results.records("table 4")]
    uci = [{"structure": name, "features": own["features"], **own[name]} for own in values for name in TIMED]
    digits = results.frame("MNIST").reindex(columns=["structure", "structure_seconds", "evaluations"])
    digits = digits[digits["structure"].isin(TIMED)].rename(columns={"structure_seconds": "seconds"})
    found = {"UCI": pd.DataFrame(uci), "MNIST": digits.assign(features=196)}
    return {place: own for place, own in found.items() if len(own) and set(TIMED) <= set(own["structure"])}


def relative(times: pd.DataFrame, value: str) -> dict[str, float]:
    """Return each structure's total over data sets in per cent of the greedy search's.

    Examples
    --------
    >>> times = pd.DataFrame({"structure": ["TAN-CMI", "TAN-OMI-CR", "TAN-CR"], "seconds": [1.0, 2.0, 8.0]})
    >>> relative(times, "seconds")
    {'TAN-CMI': 12.5, 'TAN-OMI-CR': 25.0, 'TAN-CR': 100.0}
    """
    totals = times.groupby("structure")[value].sum()
    return {name: float(100 * totals[name] / totals["TAN-CR"]) for name in TIMED}


def _add_times(page: Page, times: Mapping[str, pd.DataFrame]) -> None:
    page.section("Table 4: relative times")
    ours = [(place, name, own) for place, found in times.items() for name, own in relative(found, "seconds").items()]
    share, theirs = "percent_of_tan_cr", published("pernkopf2008-table4-relative-time")
    own = pd.DataFrame(ours, columns=["dataset", "method", share])
    page.table(
        beside(own, theirs[theirs["dataset"].isin(times)], share),
        "Processor time of learning the structure from discretised rows, in per cent of TAN-CR. On UCI: all data sets "
        "together, one training part of each, the best of three runs; on MNIST one run on all training rows.",
    )
    shares = [f"{relative(found, 'evaluations')['TAN-OMI-CR']:.1f}% on {place}" for place, found in times.items()]
    page.text(f"The candidates that TAN-OMI-CR scores, as a share of those that TAN-CR scores: {', '.join(shares)}.")
    for place, found in times.items():
        totals = found.groupby("structure")[["seconds", "evaluations"]].sum()
        each = 1e6 * totals["seconds"] / totals["evaluations"]
        page.text(
            f"On {place} a candidate costs TAN-OMI-CR {each['TAN-OMI-CR']:.0f} microseconds, its order included, and "
            f"TAN-CR {each['TAN-CR']:.0f}, which drops most of its candidates before all rows are looked at."
        )


def _add_hidden(page: Page, hidden: Mapping[str, pd.DataFrame]) -> None:
    page.section("Figure 3: missing features")
    page.text(
        "The paper classifies speech frames of TIMIT and gives a picture without figures. Here it is other data; which "
        "features are missing is drawn for each test row, and is the same for every classifier. Shown are means and "
        "standard deviations over the draws."
    )
    for name, found in hidden.items():
        page.picture(pictures.missing_features(found), f"missing-{name}", f"Accuracy with features missing: {name}")
        means = 100 * found.groupby(["missing", "method"])["accuracy"].mean().unstack()
        draws = int(found["draw"].max()) + 1
        caption = f"Accuracy (%) on {name}, by the number of missing features, {draws} draws."
        page.table(means, caption, index="missing")


def _claim(
    page: Page, results: Results, table: pd.DataFrame, tests: pd.DataFrame, times: Mapping[str, pd.DataFrame],
    hidden: Mapping[str, pd.DataFrame], digits: pd.DataFrame,
) -> None:  # fmt: skip
    """List the claims of the abstract and of the text, judged by our figures."""
    pairs: dict[Any, Any] = {(row.first, row.second): row for row in tests.itertuples()}
    generative = [pairs[first, second] for first in ("NB-ML", GENERATIVE) for second in _PAPERS_ORDERS]
    greedy = [pairs[ordered, GREEDY] for ordered in _PAPERS_ORDERS]
    random = [pairs[pair] for ordered in _PAPERS_ORDERS if (pair := (_BEST_RANDOM, ordered)) in pairs]
    covered, orders = results.coverage("table 1"), results.coverage("random orders")
    page.claim("Given an order, a tree takes O(N²) score evaluations.", *_judge_evaluations(times))
    page.claim(
        "On UCI, the new procedures' structures significantly outperform generatively produced ones.",
        all(row.better == row.second and row.p < _LEVEL for row in generative), _describe(generative), covered,
    )  # fmt: skip
    page.claim("On MNIST, they outperform generatively produced ones.", *_judge_digits(digits))
    page.claim("The same on phonetic classification (TIMIT).", None, "TIMIT is not available")
    page.claim(
        "Their accuracy is on par with the naive greedy search.",
        not any(row.better == GREEDY and row.p < _LEVEL for row in greedy),
        f"on UCI TAN-CR averages {table[GREEDY].mean():.2f}%, TAN-OMI-CR {table[ORDERED].mean():.2f}%; "
        + _describe(greedy), covered,
    )  # fmt: skip
    page.claim("They are about 10 times as fast as the naive greedy search.", *_judge_times(times))
    page.claim("The advantages hold with missing features.", *_judge_hidden(hidden))
    page.claim(
        "Their orders improve on random ones (the best of 1000 on the training rows).",
        all(row.better == row.second for row in random) if random else None,
        _describe(random) or "random orders were not run", orders, "folds",
    )  # fmt: skip


def _judge_evaluations(times: Mapping[str, pd.DataFrame]) -> tuple[bool | None, str]:
    if not times:
        return None, "not run"
    found = pd.concat(times.values())
    found = found[found["structure"] == "TAN-OMI-CR"]
    within = found["evaluations"] <= found["features"] * (found["features"] - 1) // 2
    return bool(within.all()), f"at most N(N-1)/2 on each of {len(found)} data sets"


def _judge_times(times: Mapping[str, pd.DataFrame]) -> tuple[bool | None, str]:
    factors = {place: 100 / relative(found, "seconds")["TAN-OMI-CR"] for place, found in times.items()}
    listed = ", ".join(f"{value:.1f} times on {name}" for name, value in factors.items())
    holds = min(factors.values()) >= _ABOUT_TEN if factors else None
    return holds, f"{listed}; {_ABOUT_TEN:.0f} times and more counts as about 10"


def _describe(rows: Sequence[Any]) -> str:
    """Say which classifier is better in each pair, and how significantly."""
    return "; ".join(
        f"{row.second} {'ties with' if row.better == 'neither' else 'above' if row.better == row.second else 'below'} "
        f"{row.first}, p = {row.p:.3f}"
        for row in rows
    )


def _judge_digits(digits: pd.DataFrame) -> tuple[bool | None, str]:
    wanted = ["NB", "TAN-CMI", "TAN-OMI-CR", "TAN-OMISP-CR"]
    if digits.empty or not set(wanted) <= set(digits.index):
        return None, "MNIST was not run"
    ml = digits.loc[wanted, "ML"]
    listed = ", ".join(f"{name} {value:.2f}%" for name, value in ml.items())
    return bool(ml[wanted[2:]].min() > ml[wanted[:2]].max()), listed


def _judge_hidden(hidden: Mapping[str, pd.DataFrame]) -> tuple[bool | None, str]:
    """Ask whether the discriminative trees are above the generative one on average over numbers of missing features."""
    differences = {}
    for dataset, found in hidden.items():
        means = 100 * found[found["missing"] > 0].groupby(["missing", "method"])["accuracy"].mean().unstack()
        for name in (ORDERED, GREEDY):
            differences[f"{name} on {dataset}"] = means[name] - means[GENERATIVE]
    if not differences:
        return None, "no data set for it is there"
    listed = ", ".join(f"{name} {difference.mean():+.2f}" for name, difference in differences.items())
    every = pd.concat(differences.values())
    cases = f"above in {(every > 0).sum()} of {len(every)} cases"
    text = f"points above TAN-CMI, on average: {listed}; {cases}; TIMIT is not available"
    return all(difference.mean() > 0 for difference in differences.values()), text
