"""The page of Zaidi et al. (2017): its tables, figures and claims, each with ours beside it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from bnplug import datasets
from bnplug.experiments import Page, pictures, published
from bnplug.experiments.statistics import Friedman, Nemenyi, bias_variance, friedman, nemenyi
from bnplug_ccbn import figures, protocol
from bnplug_ccbn.protocol import BIG, LETTERS, STRUCTURES, count_wins

NAME = "zaidi2017"

#: The paper's measures (Tables 4 to 6), and what they are called here.
MEASURES = {
    "Bias": "bias", "Variance": "variance", "0-1 Loss": "zero_one", "RMSE": "rmse",
    "NLL (5)": "nll_5", "NLL (10)": "nll_10", "NLL (50)": "nll_50",
}  # fmt: skip

_LEVEL = 0.05
# How many of the largest data sets have their convergence drawn, as in Figures 13 and 14.
_DRAWN = 4
# After how many iterations of w the others' are counted (Figures 15 to 17), and how many of them are looked at.
_FROM, _LAST = 5, 100


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
        A run of less than a minute, on data that ship or are generated.
    """
    named, lacking = protocol.find_sets(data, quick)
    rounds = {dataset.name: protocol.rounds(dataset, quick) for dataset in named}
    found = protocol.run_folds(named, rounds, Path(out) / f"{NAME}{'-quick' if quick else ''}.jsonl")
    found = with_figures(found, named, rounds)
    page = Page(NAME, "Weighted class-conditional Bayesian networks", _reference())
    _introduce(page, named, quick)
    counts = win_draw_loss_table(found)
    add_win_draw_loss(page, counts)
    further = further_iterations(found)
    add_convergence(page, found, further)
    tests = rank_tests(found)
    add_times(page, found, tests)
    add_errors(page, found)
    _part(page, found)
    _claim(page, found, counts, further, tests)
    page.missing_data(lacking, "no file of that name was given")
    if not quick:
        page.missing_data(protocol.NEVER_THERE, "no file was available")
    page.write(out)


def _reference() -> str:
    return (
        "N. A. Zaidi, G. I. Webb, M. J. Carman, F. Petitjean, W. Buntine, M. Hynes, H. De Sterck: Efficient parameter "
        f"learning of Bayesian network classifiers. Machine Learning 106 (2017). Written by `bnplug reproduce {NAME}`."
    )


def _introduce(page: Page, named: Sequence[datasets.Dataset], quick: bool) -> None:
    page.section("What was run")
    many = [dataset.name for dataset in named if len(dataset.X) > protocol.MANY_ROWS]
    big = [dataset.name for dataset in named if len(dataset.X) > BIG]
    text = f'{len(named)} data sets, {len(big)} of them with more than {BIG} rows ("Big"{_listed(big)}).'
    text += f" 2-fold cross-validation, {_count_rounds(1 if quick else protocol.ROUNDS)}"
    if many and not quick and protocol.ROUNDS_OF_MANY < protocol.ROUNDS:
        text += f" ({protocol.ROUNDS_OF_MANY} on the {len(many)} data sets with more than {protocol.MANY_ROWS} rows)"
    page.text(
        f"{text}. Numeric features are cut by MDL on the training rows alone; a missing cell is a value of its own. "
        "NB, TAN and KDB-1 are generative (ML, alpha = 1); w, d and e are the weighted, discriminative and extended "
        "parameterisations on the same structures, from zeros or, marked (I), from the generative estimates."
    )
    page.text(
        f"L-BFGS stops as in the paper, when an iteration improves the NLL by less than {protocol.TOL:g} or after "
        f"{protocol.MAX_ITER} iterations; with more than {protocol.MANY_ROWS} rows after {protocol.MAX_ITER_OF_MANY}. "
        f"From zeros d and e go on for {_LAST} iterations only: their likelihood is compared at the 50th at the latest."
    )
    if quick:
        page.text("This was a quick run, on data that ship with scikit-learn or are generated: few are the paper's.")


def _count_rounds(number: int) -> str:
    return "one round" if number == 1 else f"{number} rounds"


def _listed(names: Sequence[str]) -> str:
    return f": {', '.join(names)}" if names else ""


def with_figures(found: pd.DataFrame, named: Sequence[datasets.Dataset], rounds: dict[str, int]) -> pd.DataFrame:
    """Return `found` with the NLL after 5, 10 and 50 iterations, and with bias and variance, a figure of all folds."""
    after = {f"nll_{i}": [protocol.nll_after(path, i) for path in found["nll"]] for i in (5, 10, 50)}
    split: dict[tuple[str, str], Any] = {}
    # With one round, every row is predicted once, and has no variance.
    for dataset in (dataset for dataset in named if rounds[dataset.name] > 1):
        truth = np.unique(dataset.y.to_numpy(), return_inverse=True)[1]
        tested = [test for _, test in protocol.split(dataset, rounds[dataset.name])]
        own = found[(found["dataset"] == dataset.name) & found["predicted"].map(lambda p: isinstance(p, list))]
        for method, folds in own.groupby("method"):
            predictions = [(tested[int(fold)], labels) for fold, labels in folds[["fold", "predicted"]].to_numpy()]
            split[dataset.name, str(method)] = bias_variance(truth, predictions)
    keys = list(zip(found["dataset"], found["method"], strict=True))
    parts = {
        name: [getattr(split[key], name) if key in split else np.nan for key in keys] for name in ("bias", "variance")
    }
    return found.assign(**after, **parts)


def win_draw_loss_table(found: pd.DataFrame) -> pd.DataFrame:
    """Return Tables 4, 5 and 6: ours, its sign test, and the published.

    Returns
    -------
    frame
        ``table``, ``datasets`` (All or Big), ``measure``, ``comparison``, ``win``, ``draw``, ``loss``, ``p`` and
        ``published``, as W/D/L. A row is there where two data sets or more have the measure.
    """
    theirs = published("zaidi2017-win-draw-loss")
    rows = []
    for row in theirs.itertuples():
        chosen = found if row.datasets == "All" else found[found["rows"] > BIG]
        if chosen.dropna(subset=MEASURES[str(row.measure)])["dataset"].nunique() < 2:
            continue
        first, _, second = str(row.comparison).partition(" vs ")
        won = count_wins(chosen, MEASURES[str(row.measure)], first, second)
        own = (won.win, won.draw, won.loss, won.p_value)
        rows.append((row.table, row.datasets, row.measure, row.comparison, *own, f"{row.win}/{row.draw}/{row.loss}"))
    columns = ["table", "datasets", "measure", "comparison", "win", "draw", "loss", "p", "published"]
    return pd.DataFrame(rows, columns=columns)


def add_win_draw_loss(page: Page, counts: pd.DataFrame) -> None:
    """Add Tables 4, 5 and 6."""
    subjects = {
        4: "w against the generative classifiers",
        5: "w against d, the NLL of the training rows after 5, 10 and 50 iterations from zeros",
        6: "w against e, the NLL of the training rows after 5, 10 and 50 iterations from zeros",
    }
    for number, subject in subjects.items():
        page.section(f"Table {number}: {subject}")
        own = counts[counts["table"] == number]
        shown = pd.DataFrame({
            "measure": own["measure"], "data sets": own["datasets"], "comparison": own["comparison"],
            "ours": [f"{r.win}/{r.draw}/{r.loss}" for r in own.itertuples()], "p": own["p"],
            "published": own["published"],
        })  # fmt: skip
        page.table(
            shown,
            "Data sets that the first wins, draws and loses by the means over folds, which draw where they agree to "
            "six decimals; and the p-value of a two-tailed sign test."
            + (" Bias and variance are of the data sets with more than one round." if number == 4 else ""),
            digits=3,
        )


def further_iterations(found: pd.DataFrame) -> pd.DataFrame:
    """Return how many more iterations d and e need for the NLL that w has after the fifth (Figures 15 to 17).

    Negative where w is behind after the fifth: how many more it needs for theirs. At most 95, which is where looking
    ends. Means over the folds of each data set.
    """
    records = []
    folds = found.dropna(subset="nll_5").set_index(["dataset", "fold", "method"])["nll"].unstack("method")
    for structure in STRUCTURES:
        for letter in ("d", "e"):
            pairs = zip(folds[f"{structure}w"], folds[f"{structure}{letter}"], strict=True)
            own = pd.Series([count_further(w, rival) for w, rival in pairs], index=folds.index)
            means = own.groupby(level="dataset").mean()
            records += [(f"{structure}{letter}", name, value) for name, value in means.items()]
    return pd.DataFrame(records, columns=["method", "dataset", "iterations"])


def count_further(ours: Sequence[float], theirs: Sequence[float]) -> int:
    """Return after how many more iterations than five the one that is behind comes as low as the other was.

    Examples
    --------
    >>> ahead, behind = [9, 5, 4, 3, 2, 1, 1], [9, 8, 7, 6, 5, 4, 3, 2, 1, 1]
    >>> count_further(ahead, behind), count_further(behind, ahead)
    (3, -3)
    """
    a, b = protocol.nll_after(ours, _FROM), protocol.nll_after(theirs, _FROM)
    if a == b:
        return 0
    slower, goal, sign = (theirs, a, 1) if a < b else (ours, b, -1)
    path = np.array([protocol.nll_after(slower, i) for i in range(_FROM, _LAST + 1)])
    reached = path <= goal + 1e-9
    return sign * int(reached.argmax() if reached.any() else _LAST - _FROM)


def add_convergence(page: Page, found: pd.DataFrame, further: pd.DataFrame) -> None:
    """Add Figures 13 and 14 and, as a table, 15 to 17."""
    page.section("Figures 13 and 14: convergence")
    sizes = found.groupby("dataset")["rows"].first().sort_values(ascending=False, kind="stable")
    names = [str(name) for name in sizes.index[:_DRAWN]]
    page.text(f"NLL a row on the training rows of the first fold, on the largest data sets: {', '.join(names)}.")
    for start, name, title in (("", "zeros", "from zeros"), ("(I)", "generative", "from the generative estimates")):
        page.picture(figures.convergence(found, names, start), name, f"How the NLL falls, {title}")
    page.section("Figures 15 to 17: how far w is ahead")
    groups = further.groupby("method", sort=False)["iterations"]
    ahead = groups.agg(lambda own: f"{int((own > 0).sum())} of {len(own)}")
    page.table(
        pd.DataFrame({"mean": groups.mean(), "median": groups.median(), "w ahead": ahead}).reset_index(),
        f"Further iterations that it takes d and e, from zeros, to reach the NLL that w had after {_FROM}; negative "
        f"where w was behind. At most {_LAST - _FROM} are counted. The paper has 10 for d and 15 for e on average.",
        digits=1,
    )


def rank_tests(found: pd.DataFrame) -> dict[tuple[str, str], tuple[Friedman, Nemenyi]]:
    """Return the tests of Figures 20 to 22 by structure and figure (``seconds`` or ``n_iter``), for the (I) starts."""
    tests = {}
    for structure in STRUCTURES:
        names = [f"{structure}{letter}(I)" for letter in LETTERS]
        for figure in ("seconds", "n_iter"):
            table = protocol.means(found, figure)[names]
            tests[structure, figure] = (
                friedman(table, higher_is_better=False), nemenyi(table, _LEVEL, higher_is_better=False)
            )  # fmt: skip
    return tests


def add_times(page: Page, found: pd.DataFrame, tests: dict[tuple[str, str], tuple[Friedman, Nemenyi]]) -> None:
    """Add training times: Figures 4 to 12 as far as times go, and Figures 20 to 22."""
    page.section("Training times")
    page.picture(figures.training_times(found), "times", "Each data set: training time of d and e against that of w")
    stated = ["1", "almost 2", "orders of magnitude"] * len(STRUCTURES)
    page.table(
        relative_means(found, "seconds", "w(I)").assign(**{"in the paper": stated}),
        "Geometric means over data sets of processor time, structure included, in times of w (Figures 6b, 9b, 12b; "
        "the paper's figures are from its text). These change from run to run.",
    )
    page.section("Figures 20 to 22: Friedman and Nemenyi tests")
    rows = []
    for (structure, figure), (test, after) in tests.items():
        label = "training time" if figure == "seconds" else "iterations"
        ranks = ", ".join(f"{name} {rank:.2f}" for name, rank in test.average_ranks.items())
        rows.append((structure, label, ranks, test.p_value, after.critical_difference))
        title = f"Average ranks in {label}: {structure}"
        page.picture(pictures.critical_difference(after), f"{structure.lower()}-{label.replace(' ', '-')}", title)
    columns = ["structure", "measure", "average ranks", "p", "critical difference"]
    page.table(
        pd.DataFrame(rows, columns=columns),
        "The p-value is Friedman's, the critical difference Nemenyi's at 0.05; the paper has p below 0.001 throughout, "
        "a critical difference of 0.39 over 72 data sets, and w first. Its pictures give no ranks as figures.",
        digits=4,
    )


def relative_means(found: pd.DataFrame, figure: str, base: str) -> pd.DataFrame:
    """Return the geometric mean over data sets of a figure, in times of that of `base`, for the (I) starts."""
    table = protocol.means(found, figure)
    rows = []
    for structure in STRUCTURES:
        names = [f"{structure}{letter}(I)" for letter in LETTERS]
        ratios = table[names].div(table[f"{structure}{base}"], axis=0).map(np.log)
        rows += [(name, float(np.exp(value))) for name, value in ratios.mean().items()]
    return pd.DataFrame(rows, columns=["method", "times"])


def add_errors(page: Page, found: pd.DataFrame) -> None:
    """Add 0-1 loss and RMSE: Figures 5, 8 and 11, and each data set by itself."""
    page.section("Figures 4 to 12: errors")
    rows = []
    for structure in STRUCTURES:
        for group, chosen in (("All", found), ("Big", found[found["rows"] > BIG])):
            if chosen.empty:
                continue
            figures_of = [protocol.means(chosen, figure) for figure in ("zero_one", "rmse")]
            for letter in ("", *(f"{letter}(I)" for letter in LETTERS)):
                means = [float(table[f"{structure}{letter}"].mean()) for table in figures_of]
                rows.append((f"{structure}{letter}", group, *means))
    page.table(
        pd.DataFrame(rows, columns=["method", "data sets", "0-1 loss", "RMSE"]),
        "Means over data sets. The paper draws geometric means, and gives no figures.",
        digits=4,
    )
    shown = [f"{structure}{suffix}" for structure in STRUCTURES for suffix in ("", "w(I)")]
    table = protocol.means(found, "zero_one")[shown]
    caption = "0-1 loss, each data set by itself; the paper gives none."
    page.table(table.rename_axis("data set").reset_index(), caption, digits=4)


def _part(page: Page, found: pd.DataFrame) -> None:
    page.section("Where we part from the paper")
    times = relative_means(found, "seconds", "w(I)").set_index("method")["times"]
    iterations = relative_means(found, "n_iter", "w(I)").set_index("method")["times"]
    slow = ", ".join(f"{structure}e {times[f'{structure}e(I)']:.1f}" for structure in STRUCTURES)
    more = ", ".join(f"{structure}e {iterations[f'{structure}e(I)']:.1f}" for structure in STRUCTURES)
    page.text(
        f"In the paper e takes orders of magnitude longer than w; here the geometric means are {slow} times as long, "
        f"with {more} times as many iterations. Our three share one pass over the rows, and only the step from free "
        "numbers to log parameters differs, so that iterations cost about the same. We take the paper's e to have been "
        "slower in each of them; its figures do not show this."
    )
    after = [
        sum(count_wins(found, "nll_5", f"{structure}e{start}", f"{structure}w{start}").win for structure in STRUCTURES)
        for start in ("", "(I)")
    ]
    cases = len(STRUCTURES) * found["dataset"].nunique()
    page.text(
        f"e is last in the paper. Here it is ahead of w after 5 iterations in {after[0]} of {cases} cases from zeros, "
        f"and in {after[1]} of {cases} from the generative estimates."
    )
    page.text(
        "Choices of ours: the generative estimates are smoothed by alpha = 1, one virtual row spread over the cells of "
        "each table (the paper says MAP, not which); means that agree to six decimals draw (the paper does not say); "
        "times are of the processor, one thread. The paper's Figure 3 is `examples/z17_ill_conditioned.py`."
    )


def _claim(
    page: Page,
    found: pd.DataFrame,
    counts: pd.DataFrame,
    further: pd.DataFrame,
    tests: dict[tuple[str, str], tuple[Friedman, Nemenyi]],
) -> None:
    """List the claims of the paper's text, judged by our figures."""
    page.claim("Discriminative learning has significantly lower bias than generative.", *_judge(counts, "Bias", "All"))
    page.claim("It has higher variance.", *_judge(counts, "Variance", "All", lower=False))
    page.claim("On big data sets it has much lower 0-1 loss.", *_judge(counts, "0-1 Loss", "Big"))
    page.claim("On big data sets it has much lower RMSE.", *_judge(counts, "RMSE", "Big"))
    for number, rival in ((5, "d"), (6, "e")):
        own = counts[(counts["table"] == number) & (counts["datasets"] == "All")]
        holds = bool(((own["win"] > own["loss"]) & (own["p"] <= _LEVEL)).all())
        page.claim(
            f"w has a significantly lower NLL than {rival} after 5, 10 and 50 iterations from zeros.",
            holds, "; ".join(_describe(own)),
        )  # fmt: skip
    means = further.groupby(further["method"].str[-1])["iterations"].mean()
    page.claim(
        "After 5 iterations w is about 10 iterations ahead of d and 15 ahead of e.",
        bool(means["d"] >= 5 and means["e"] >= 7.5),
        f"{means['d']:.1f} and {means['e']:.1f} on average; half as many count as agreement",
    )
    times = relative_means(found, "seconds", "w(I)").set_index("method")["times"]
    listed = ", ".join(f"{name} {value:.2f}" for name, value in times.items() if "w" not in str(name))
    twice = all(times[f"{structure}d(I)"] >= 1.5 for structure in STRUCTURES)
    page.claim("d takes almost twice as long as w.", twice, f"in times of w: {listed}; 1.5 and more counts as almost 2")
    page.claim("w ranks first in training time and in iterations.", *_judge_ranks(tests))
    page.claim("The three parameterisations have the same accuracy on big data sets.", *_judge_accuracy(found))


def _judge(counts: pd.DataFrame, measure: str, group: str, lower: bool = True) -> tuple[bool | None, str]:
    """Ask whether w is significantly lower, or higher, on all three structures."""
    own = counts[(counts["table"] == 4) & (counts["measure"] == measure) & (counts["datasets"] == group)]
    if own.empty:
        return None, "fewer than two such data sets were there"
    ahead = own["win"] > own["loss"] if lower else own["win"] < own["loss"]
    return bool((ahead & (own["p"] <= _LEVEL)).all()), "; ".join(_describe(own))


def _describe(own: pd.DataFrame) -> Iterator[str]:
    for row in own.itertuples():
        yield f"{row.measure}, {row.comparison}: {row.win}/{row.draw}/{row.loss}, p = {row.p:.3f}"


def _judge_ranks(tests: dict[tuple[str, str], tuple[Friedman, Nemenyi]]) -> tuple[bool, str]:
    parts, first = [], True
    for (structure, figure), (test, after) in tests.items():
        best, second = test.average_ranks.index[:2]
        apart = float(test.average_ranks.iloc[1] - test.average_ranks.iloc[0]) >= after.critical_difference
        what = "time" if figure == "seconds" else "iterations"
        parts.append(f"{structure}, {what}: {best} before {second}{'' if apart else ', not significantly'}")
        first &= best == f"{structure}w(I)"
    return first, "; ".join(parts)


def _judge_accuracy(found: pd.DataFrame) -> tuple[bool | None, str]:
    """Ask whether the 0-1 losses of the three are within one point on every big data set."""
    big = found[found["rows"] > BIG]
    if big.empty:
        return None, "no such data set was there"
    table = protocol.means(big, "zero_one")
    spreads = {}
    for structure in STRUCTURES:
        own = table[[f"{structure}{letter}(I)" for letter in LETTERS]]
        spreads[structure] = 100 * float((own.max(axis=1) - own.min(axis=1)).max())
    listed = ", ".join(f"{structure} {value:.2f}" for structure, value in spreads.items())
    return max(spreads.values()) < 1.0, f"largest difference in points: {listed}; less than one counts as the same"
