"""The page of Pernkopf and Bilmes (2008): its tables, figures and claims, each with ours beside it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import bnplug
from bnplug import datasets
from bnplug.experiments import Comparison, Page, beside, compare, hide_features, pictures, published
from bnplug.experiments.statistics import paired_t_test
from bnplug_cmi_order import protocol
from bnplug_cmi_order.protocol import GENERATIVE, GREEDY, ORDERED

NAME = "pernkopf2008"

#: Table 2: one-sided p-values of (classifier, classifier), negative where the first of the two is superior.
TABLE_2 = {
    ("NB-ML", "TAN-CMI-ML"): 0.0977, ("NB-ML", "TAN-RO-CR-ML max"): 0.0300, ("NB-ML", "TAN-OMI-CR-ML"): 0.0242,
    ("NB-ML", "TAN-OMISP-CR-ML"): 0.0371, ("NB-ML", "TAN-CR-ML"): 0.0154, ("NB-ML", "2-tree-OMI-CR-ML"): 0.0316,
    ("TAN-CMI-ML", "TAN-RO-CR-ML max"): 0.120, ("TAN-CMI-ML", "TAN-OMI-CR-ML"): 0.0154,
    ("TAN-CMI-ML", "TAN-OMISP-CR-ML"): 0.0277, ("TAN-CMI-ML", "TAN-CR-ML"): 0.0140,
    ("TAN-CMI-ML", "2-tree-OMI-CR-ML"): 0.0271, ("TAN-RO-CR-ML max", "TAN-OMI-CR-ML"): 0.144,
    ("TAN-RO-CR-ML max", "TAN-OMISP-CR-ML"): 0.184, ("TAN-RO-CR-ML max", "TAN-CR-ML"): 0.0446,
    ("TAN-RO-CR-ML max", "2-tree-OMI-CR-ML"): 0.148, ("TAN-OMI-CR-ML", "TAN-OMISP-CR-ML"): -0.153,
    ("TAN-OMI-CR-ML", "TAN-CR-ML"): 0.190, ("TAN-OMI-CR-ML", "2-tree-OMI-CR-ML"): 0.197,
    ("TAN-OMISP-CR-ML", "TAN-CR-ML"): 0.141, ("TAN-OMISP-CR-ML", "2-tree-OMI-CR-ML"): 0.167,
    ("TAN-CR-ML", "2-tree-OMI-CR-ML"): -0.194,
}  # fmt: skip

_LEVEL = 0.05
# Random orders of which the best and the worst are taken; the paper draws 1000.
_ORDERS = 3
# From which factor on a speed-up counts as "about ten".
_ABOUT_TEN = 5.0
# Rows of MNIST for what needs the greedy search, which scores N^3 candidates; and earlier features that its
# 2-tree tries.
_SAMPLE, _CANDIDATES = 500, 3
_TIMED = (GENERATIVE, ORDERED, GREEDY)
_ORDERED = (ORDERED, "TAN-OMISP-CR-ML")
_MNIST_PUBLISHED = "MNIST"
_ROW_NAMES = {GENERATIVE: "TAN-CMI", ORDERED: "TAN-OMI-CR", GREEDY: "TAN-CR"}


def run(data: Path | None, out: Path, quick: bool) -> None:
    """Run the paper's protocol and write its page.

    Parameters
    ----------
    data : path or None
        A folder of data files.
    out : path
        The folder of the page and its pictures. The results of folds are kept there, too, so that a run that
        was interrupted goes on.
    quick : bool
        A run of about a minute, on data that ship or are generated.
    """
    named, lacking = protocol.find_uci(data, quick)
    page = Page(NAME, "Order-based discriminative structure learning", _reference())
    _introduce(page, named, quick)
    add_synthetic(page, protocol.synthetic_case(protocol.SYNTHETIC_SIZES, 5 if quick else 25))
    uci = compare(
        protocol.classifiers(_ORDERS),
        named,
        {dataset.name: protocol.paper_cv(dataset) for dataset in named},
        missing="drop",
        categorical_features="declared",
        output=Path(out) / f"{NAME}{'-quick' if quick else ''}.jsonl",
        verbose=1,
    )
    add_uci(page, uci)
    mnist = not quick and protocol.MNIST in datasets.names(data)
    digits = datasets.load(protocol.MNIST, data) if mnist else None
    on_digits = None if digits is None else _compare_digits(digits, Path(out))
    if on_digits is not None:
        add_mnist(page, *on_digits)
    tests = t_tests(uci.complete())
    add_t_tests(page, tests)
    times = _times(named, digits)
    add_times(page, times)
    hidden = _hide(named, quick)
    add_missing_features(page, hidden)
    _part(page, uci, times, quick)
    _claim(page, uci.complete(), tests, times, hidden, on_digits)
    page.missing_data(lacking, "UCI; no file of that name was given")
    page.missing_data([] if mnist else [_MNIST_PUBLISHED], "" if not quick else "left out of a quick run")
    page.missing_data(["TIMIT-4/6", "TIMIT-39"], "the speech corpus is not free")
    page.write(out)


def _reference() -> str:
    return (
        "F. Pernkopf, J. Bilmes: Order-based discriminative structure learning for Bayesian network classifiers. "
        f"ISAIM 2008. Written by `bnplug reproduce {NAME}`."
    )


def _introduce(page: Page, named: Sequence[datasets.Dataset], quick: bool) -> None:
    page.section("What was run")
    held_out = [dataset.name for dataset in named if isinstance(protocol.paper_cv(dataset), list)]
    folds = [dataset.name for dataset in named if dataset.name not in held_out]
    text = f"{len(named)} data sets. 5-fold cross-validation: {', '.join(folds)}."
    if held_out:
        sizes = [f"{name} ({'/'.join(map(str, protocol.HELD_OUT[name]))})" for name in held_out]
        text += f" Training and test rows: {', '.join(sizes)}."
    page.text(
        f"{text} All classifiers see the same rows; numeric features are cut by MDL on the training rows alone; rows "
        "with a missing cell are left out; zero probabilities become 0.00001, in scores as in parameters."
    )
    if quick:
        page.text(
            "This was a quick run, on data that ship with scikit-learn or are generated: most are not the paper's, "
            "and the averages below are over other data sets than the published ones."
        )


def add_synthetic(page: Page, found: pd.DataFrame) -> None:
    """Add the synthetic case: mean accuracy by training rows."""
    page.section("Figure 1: the synthetic case")
    means = found.groupby(["method", "rows"], sort=False)["accuracy"].mean().unstack()
    means.columns = [f"{rows} rows" for rows in means.columns]
    draws = found["draw"].nunique()
    page.table(
        means.reset_index(),
        f"Mean accuracy (%) on 1000 test rows over {draws} draws. The paper gives a picture without figures; with the "
        "exact distribution naive Bayes has 50%, the generative tree 57.5%, and the discriminative one 65%, which no "
        "classifier surpasses.",
    )


def average_accuracy(table: pd.DataFrame, dataset: str) -> pd.DataFrame:
    """Return the averages over data sets, in per cent, in the shape of a published table.

    Examples
    --------
    >>> average_accuracy(pd.DataFrame({"NB-ML": [0.8, 0.9]}), "UCI")
      dataset method  mean
    0     UCI  NB-ML  85.0
    """
    means = 100 * table.mean()
    return pd.DataFrame({"dataset": dataset, "method": means.index, "mean": means.to_numpy()})


def _table_1(dataset: str) -> pd.DataFrame:
    table = published("pernkopf2008-table1-accuracy")
    return table[table["dataset"] == dataset]


def add_uci(page: Page, uci: Comparison) -> None:
    """Add the UCI column of Table 1, each data set by itself, and the pictures."""
    page.section("Table 1: UCI")
    theirs = _table_1("UCI-25 average").assign(dataset="UCI")
    table = uci.complete()
    page.table(
        beside(average_accuracy(table, "UCI"), theirs, "mean").drop(columns="dataset"),
        f"Accuracy (%), the average over data sets: {len(table)} of ours, 25 of the paper's.",
    )
    wide = (100 * table).rename_axis("data set").reset_index()
    page.table(wide, "Each data set by itself; the paper gives the averages only.")
    for failure in uci.failures.itertuples():
        page.text(f"Failed: {failure.dataset}, {failure.method}, fold {failure.fold}: {failure.error}")
    caption = "Each data set: the tree along the OMI order against"
    page.picture(pictures.scatter(uci, GENERATIVE, ORDERED), "generative", f"{caption} the generative tree")
    page.picture(pictures.scatter(uci, GREEDY, ORDERED), "greedy", f"{caption} the naive greedy search")
    page.picture(pictures.time_accuracy(uci), "time", "Average accuracy against the time to fit, all steps included")


def _compare_digits(digits: datasets.Dataset, out: Path) -> tuple[Comparison, Comparison]:
    """Compare on MNIST: all training rows for what can be learned from them, and a sample for the greedy search."""
    assert digits.split is not None
    train, test = digits.split
    two_tree = bnplug.recipe("2-tree-OMI-CR-ML").set_params(structure__candidates=_CANDIDATES)
    names = ["NB-ML", GENERATIVE, *_ORDERED, *protocol.available(["NB-CL"])]
    methods = [*names, ("2-tree-OMI-CR-ML", two_tree)]
    settings: dict[str, Any] = {"categorical_features": "declared", "verbose": 1}
    full = compare(methods, [digits], "split", output=out / f"{NAME}-mnist.jsonl", **settings)
    few = [(draw_sample(train, _SAMPLE), test)]
    methods = ["NB-ML", GENERATIVE, *_ORDERED, GREEDY]
    return full, compare(methods, [digits], few, output=out / f"{NAME}-mnist-sample.jsonl", **settings)


def draw_sample(rows: Any, size: int) -> Any:
    """Return `size` of the rows, always the same, in their order."""
    return np.sort(np.random.default_rng(0).permutation(rows)[:size])


def add_mnist(page: Page, full: Comparison, sample: Comparison) -> None:
    """Add the MNIST column of Table 1."""
    page.section("Table 1: MNIST")
    theirs = _table_1(_MNIST_PUBLISHED)
    whole = average_accuracy(full.complete(), _MNIST_PUBLISHED)
    n_train, n_test = (int(full.results[name].iloc[0]) for name in ("n_train", "n_test"))
    page.table(
        beside(whole, theirs, "mean").drop(columns="dataset"),
        f"Accuracy (%) on {n_test} test rows after {n_train} training rows of 14 x 14 pixels. Our 2-tree tries for "
        f"each feature only the {_CANDIDATES} earlier ones with the largest information given the class.",
    )
    few = average_accuracy(sample.complete(), _MNIST_PUBLISHED).drop(columns="dataset")
    page.table(
        few.rename(columns={"mean": "accuracy (%)"}),
        f"The naive greedy search was run on a fixed sample of {_SAMPLE} training rows only, and the others beside "
        "it; these figures compare with each other, not with the published ones.",
    )


def t_tests(table: pd.DataFrame) -> pd.DataFrame:
    """Compare the pairs of Table 2 over data sets by the one-sided paired t-test.

    Returns
    -------
    frame
        ``first``, ``second``, which is ``better``, its ``p``, and what was published.

    Examples
    --------
    >>> names = {name for pair in TABLE_2 for name in pair}
    >>> accuracy = pd.DataFrame({name: [0.5, 0.6, 0.7] for name in names}).assign(**{"NB-ML": [0.4, 0.4, 0.6]})
    >>> first = t_tests(accuracy).iloc[0]
    >>> first["better"], round(float(first["p"]), 3), float(first["published p"])
    ('TAN-CMI-ML', 0.029, 0.0977)
    """
    rows = []
    for (first, second), theirs in TABLE_2.items():
        if {first, second} <= set(table.columns):
            test = paired_t_test(table[second], table[first])
            p = min(test.p_value, 1 - test.p_value)
            better = "neither" if not test.mean_difference else second if test.mean_difference > 0 else first
            rows.append((first, second, better, p, second if theirs > 0 else first, abs(theirs)))
    columns = ["first", "second", "better", "p", "published better", "published p"]
    return pd.DataFrame(rows, columns=columns)


def add_t_tests(page: Page, tests: pd.DataFrame) -> None:
    """Add Table 2."""
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


def _times(named: Sequence[datasets.Dataset], digits: datasets.Dataset | None) -> dict[str, pd.DataFrame]:
    """Return the times of learning structures, by the row of Table 4."""
    rows = [protocol.one_split(dataset)[0] for dataset in named]
    times = {"UCI": protocol.structure_times(named, rows, 3, _TIMED)}
    if digits is not None and digits.split is not None:
        sample = draw_sample(digits.split[0], _SAMPLE)
        times[_MNIST_PUBLISHED] = protocol.structure_times([digits], [sample], 1, _TIMED)
    return times


def relative(times: pd.DataFrame, value: str) -> pd.Series[float]:
    """Return each method's total over data sets in per cent of the greedy search's.

    Examples
    --------
    >>> times = pd.DataFrame({"method": [ORDERED, GREEDY] * 2, "seconds": [1.0, 9.0, 2.0, 21.0]})
    >>> relative(times, "seconds").to_dict()
    {'TAN-OMI-CR-ML': 10.0, 'TAN-CR-ML': 100.0}
    """
    totals: pd.Series[float] = times.groupby("method", sort=False)[value].sum()
    return 100 * totals / float(totals[GREEDY])


def add_times(page: Page, times: dict[str, pd.DataFrame]) -> None:
    """Add Table 4, in seconds and in candidates scored."""
    page.section("Table 4: relative times")
    ours, counted = [], []
    for name, found in times.items():
        for method, percent in relative(found, "seconds").items():
            ours.append((name, _ROW_NAMES[str(method)], percent))
        share = relative(found, "evaluations")[ORDERED]
        counted.append(f"{share:.1f}% on {name}")
    frame = pd.DataFrame(ours, columns=["dataset", "method", "percent_of_tan_cr"])
    theirs = published("pernkopf2008-table4-relative-time")
    theirs = theirs[theirs["dataset"].isin(times)]
    sample = f"; on MNIST of {_SAMPLE} training rows" if _MNIST_PUBLISHED in times else ""
    page.table(
        beside(frame, theirs, "percent_of_tan_cr"),
        f"Processor time of learning the structure from discretised rows, in per cent of TAN-CR{sample}. On UCI: all "
        "data sets together, one training part of each, the best of three runs. These figures change from run to run.",
    )
    page.text(f"The candidates that TAN-OMI-CR scores, as a share of those that TAN-CR scores: {', '.join(counted)}.")


def _hide(named: Sequence[datasets.Dataset], quick: bool) -> dict[str, pd.DataFrame]:
    """Return accuracies with features missing at random, by data set."""
    wanted = protocol.QUICK[:1] if quick else ("satellite", "segment", "waveform-21")
    found = {}
    for dataset in (dataset for dataset in named if dataset.name in wanted):
        train, test = protocol.one_split(dataset)
        names = ("NB-ML", GENERATIVE, ORDERED, GREEDY)
        X, y = dataset.X.iloc[train], dataset.y.iloc[train]
        kinds = {"categorical_features": dataset.categorical_features}
        models = {name: bnplug.recipe(name, **kinds).fit(X, y) for name in names}
        # Not up to one feature that is left: all of these networks then answer the same.
        counts = np.unique(np.linspace(0, 0.9 * X.shape[1], 7).astype(int)).tolist()
        X_test, y_test = dataset.X.iloc[test], dataset.y.iloc[test]
        found[dataset.name] = hide_features(models, X_test, y_test, counts, draws=3 if quick else 10)
    return found


def add_missing_features(page: Page, hidden: dict[str, pd.DataFrame]) -> None:
    """Add Figure 3, a picture for each data set."""
    page.section("Figure 3: missing features")
    page.text(
        "The paper classifies speech frames of TIMIT and gives a picture without figures. Here it is other data; "
        "which features are missing is drawn for each test row, and is the same for every classifier. Shown are "
        "means and standard deviations over the draws."
    )
    for name, found in hidden.items():
        page.picture(pictures.missing_features(found), f"missing-{name}", f"Accuracy with features missing: {name}")
        means = 100 * found.groupby(["missing", "method"], sort=False)["accuracy"].mean().unstack()
        page.table(means.reset_index(), f"Accuracy (%) on {name}, by the number of missing features.")


def _part(page: Page, uci: Comparison, times: dict[str, pd.DataFrame], quick: bool) -> None:
    page.section("Where we part from the paper")
    ours = average_accuracy(uci.complete(), "UCI").set_index("method")["mean"]
    theirs = _table_1("UCI-25 average").set_index("method")["mean"]
    gap = (ours - theirs).dropna()
    others = "most data sets are others" if quick else "shuttle is a draw of our own"
    page.text(
        f"On average over classifiers our UCI figures are {abs(gap.mean()):.2f} points "
        f"{'above' if gap.mean() > 0 else 'below'} the published ones, by {gap.min():.2f} ({gap.idxmin()}) to "
        f"{gap.max():.2f} ({gap.idxmax()}). The paper's folds and drawn training rows are not known, so each figure "
        f"is of other splits, and {others}."
    )
    page.text(_compare_speed(times["UCI"]))
    page.text(_compare_parameters(ours, theirs))
    page.text(
        "Choices of ours: the second feature of the order may have a parent, where the paper starts at the third; "
        f"random orders are {_ORDERS} and not 1000 for the best and the worst, and one for each fold for the mean; the "
        "synthetic case is drawn less often than the paper's 100 times; the greedy search adds the best edge in either "
        "direction until none improves the rate strictly."
    )


def _compare_speed(times: pd.DataFrame) -> str:
    totals = times.groupby("method")[["seconds", "evaluations"]].sum()
    each = 1e6 * totals["seconds"] / totals["evaluations"]
    return (
        f"The greedy search takes {totals['seconds'][GREEDY] / totals['seconds'][ORDERED]:.1f} times as long as the "
        f"order-based one on the UCI sets together, and {100 / 3.155:.0f} times in the paper, though it scores "
        f"{totals['evaluations'][GREEDY] / totals['evaluations'][ORDERED]:.0f} times as many candidates. A candidate "
        f"costs it {each[GREEDY]:.0f} microseconds and the order-based search {each[ORDERED]:.0f}. Not measured, but "
        "likely the reason: the order and the counts are shared by few candidates, and the score gives up those that "
        "can no longer win, of which the greedy search has most."
    )


def _compare_parameters(ours: pd.Series[float], theirs: pd.Series[float]) -> str:
    """Say how much CL parameters add to ML ones, here and in the paper."""
    pairs = [(name, f"{name[:-2]}ML") for name in ours.index if name.endswith("-CL")]
    if not pairs:
        return "Classifiers with CL parameters were not run: no installed plugin brings them (bnplug-ccbn does)."
    gains, published_gains = ([figures[cl] - figures[ml] for cl, ml in pairs] for figures in (ours, theirs))
    return (
        f"CL parameters add {np.mean(gains):.2f} points to ML ones on average over {len(pairs)} structures, from "
        f"{min(gains):.2f} to {max(gains):.2f}; in the paper {np.mean(published_gains):.2f}, from "
        f"{min(published_gains):.2f} to {max(published_gains):.2f}. Ours are 20 steps of L-BFGS, the paper's 20 of "
        "gradient descent; we take that to be the reason, but did not run the paper's."
    )


def _claim(
    page: Page,
    table: pd.DataFrame,
    tests: pd.DataFrame,
    times: dict[str, pd.DataFrame],
    hidden: dict[str, pd.DataFrame],
    on_digits: tuple[Comparison, Comparison] | None,
) -> None:
    """List the claims of the abstract, judged by our figures."""
    pairs: dict[Any, Any] = {(row.first, row.second): row for row in tests.itertuples()}
    page.claim("Given an order, a tree takes O(N²) score evaluations.", *_judge_evaluations(times))
    page.claim(
        "On UCI, the new procedures' structures significantly outperform generatively produced ones.",
        *_judge_significance([pairs[first, second] for first in ("NB-ML", GENERATIVE) for second in _ORDERED]),
    )
    digits = (None, "MNIST is not available") if on_digits is None else _judge_digits(on_digits[0])
    page.claim("On MNIST, they outperform generatively produced ones.", *digits)
    page.claim("The same on phonetic classification (TIMIT).", None, "TIMIT is not available")
    greedy = [pairs[ordered, GREEDY] for ordered in _ORDERED]
    won = [row.better == GREEDY and row.p < _LEVEL for row in greedy]
    page.claim(
        "Their accuracy is on par with the naive greedy search.",
        not any(won),
        f"TAN-CR averages {100 * table[GREEDY].mean():.2f}%, TAN-OMI-CR {100 * table[ORDERED].mean():.2f}%; "
        + _describe(greedy),
    )
    speedups = {name: 100 / relative(found, "seconds")[ORDERED] for name, found in times.items()}
    page.claim(
        "They are about 10 times as fast as the naive greedy search.",
        min(speedups.values()) >= _ABOUT_TEN,
        ", ".join(f"{value:.1f} times on {name}" for name, value in speedups.items())
        + f"; {_ABOUT_TEN:.0f} times and more counts as about 10",
    )
    page.claim("The advantages hold with missing features.", *_judge_hidden(hidden))


def _judge_evaluations(times: dict[str, pd.DataFrame]) -> tuple[bool, str]:
    found = pd.concat(times.values())
    found = found[found["method"] == ORDERED]
    bound = found["features"] * (found["features"] - 1) // 2
    return bool((found["evaluations"] <= bound).all()), f"at most N(N-1)/2 on each of {len(found)} data sets"


def _judge_significance(rows: Sequence[Any]) -> tuple[bool, str]:
    return all(row.better == row.second and row.p < _LEVEL for row in rows), _describe(rows)


def _describe(rows: Sequence[Any]) -> str:
    """Say which classifier is better in each pair, and how significantly."""
    return "; ".join(
        f"{row.second} {'ties with' if row.better == 'neither' else 'above' if row.better == row.second else 'below'} "
        f"{row.first}, p = {row.p:.3f}"
        for row in rows
    )


def _judge_digits(full: Comparison) -> tuple[bool, str]:
    accuracy = 100 * full.complete().iloc[0]
    best = max(accuracy["NB-ML"], accuracy[GENERATIVE])
    listed = ", ".join(f"{name} {accuracy[name]:.2f}%" for name in ("NB-ML", GENERATIVE, *_ORDERED))
    return bool(min(accuracy[name] for name in _ORDERED) > best), listed


def _judge_hidden(hidden: dict[str, pd.DataFrame]) -> tuple[bool | None, str]:
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
