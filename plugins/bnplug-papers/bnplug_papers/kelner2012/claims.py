"""What the paper claims, judged by our figures, each on what the claim covers."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import pandas as pd

from bnplug_papers.kelner2012 import graphs, protocol
from bnplug_papers.kelner2012.figures import Figures, Tests, table_of
from bnplug_papers.kelner2012.protocol import CONTROL, GRAPHS, STARTS
from bnplug_papers.kit import Page

_LEVEL = 0.05
_NETWORKS = [name for name in protocol.TABLE_6 if not name.startswith("BDeu") and name != CONTROL]
_POLYNOMIAL = "SVM (polynomial)"
_OTHERS = ["CT", "NN", "SVM (linear)", _POLYNOMIAL, "SVM (Gaussian)"]
_HOLD_OUT = [name for name in protocol.TABLE_2 if name.startswith("RMHO")]
_UNRESTRICTED = [name for name in _NETWORKS if name not in ("TAN", "NBC")]
_RANKED = ("RMCV", "RMHO-f", "RMHO", "CLL", "CMDL", "MDL", "K2")
_LIKELIHOODS = ("MDL", "K2", "CMDL", "CLL")
_TIE = 1e-9
_PREDICTING = ("RMCV", "RMHO", "RMHO-f", "training")
#: Bounds of our own, for words of the paper: a loss of so many points is none; so many times is considerably more; a
#: time of less than so many times another challenges it.
_NO_LOSS, _CONSIDERABLY, _CHALLENGES = 0.5, 2.0, 10.0


def add_claims(page: Page, figures: Figures) -> None:
    """List the paper's claims, each with its verdict, and say which verdicts rest on data sets that are there twice."""
    _judge_all(page, figures)
    for names in figures.twins():
        again = Page(page.name, "", "")
        _judge_all(again, figures.without(names[1:]))
        others = {claim: verdict for claim, verdict, _ in again.claims}
        turned = [claim for claim, verdict, _ in page.claims if others.get(claim) != verdict]
        listed = "no verdict below is another" if not turned else f"these verdicts below are others: {' '.join(turned)}"
        page.text(f"Where {' and '.join(names)}, which have the same rows, count once, {listed}.")


def _judge_all(page: Page, figures: Figures) -> None:
    judge = _Judge(page, figures)
    _claim_hold_out(judge)
    _claim_graphs(judge)
    _claim_networks(judge)
    _claim_all(judge)
    _claim_areas(judge)
    _claim_times(judge)


class _Judge:
    """Adds claims with how many tasks of their classifiers were run."""

    def __init__(self, page: Page, figures: Figures) -> None:
        self.page, self.figures = page, figures

    def say(self, claim: str, holds: bool | None, evidence: str, methods: Collection[str]) -> None:
        self.page.claim(claim, holds, evidence, self.figures.coverage({CONTROL, *methods}))

    def best(self, claim: str, others: Sequence[str]) -> None:
        """Judge whether RMCV (NBC) has the highest mean accuracy."""
        whole = self.figures.accuracy.reindex(columns=[CONTROL, *others]).dropna()
        means = whole.mean()
        holds = bool(means[CONTROL] > means[list(others)].max()) if len(whole) else None
        listed = ", ".join(f"{name} {means[name]:.2f}" for name in others)
        self.say(claim, holds, f"{CONTROL} {means[CONTROL]:.2f}; {listed}", others)

    def first(self, claim: str, tests: Tests) -> None:
        """Judge whether RMCV (NBC) has the best average rank."""
        told = ", ".join(f"{name} {rank:.2f}" for name, rank in tests.ranks.items())
        evidence = f"{told}; Friedman p = {tests.friedman.p_value:.4f}"
        self.say(claim, tests.ranks.index[0] == CONTROL, evidence, tests.table.columns.tolist())

    def ranked(self, claim: str, tests: Tests, levels: Mapping[str, float]) -> None:
        """Judge whether RMCV (NBC) ranks before each of some at a level, by Bonferroni-Dunn."""
        values, ranks = tests.dunn.p_values, tests.ranks
        holds = all(values[name] < level and ranks[CONTROL] < ranks[name] for name, level in levels.items())
        told = ", ".join(f"{name} p = {values[name]:.4f}" for name in levels)
        self.say(claim, holds, told, tests.table.columns.tolist())

    def signed(self, claim: str, tests: Tests, others: Sequence[str], level: float) -> None:
        """Judge whether RMCV (NBC) is above each of some at a level, by Wilcoxon's test over data sets."""
        values, means = tests.wilcoxon, tests.table.mean()
        holds = all(values[name] < level and means[CONTROL] > means[name] for name in others)
        self.say(claim, holds, ", ".join(f"{name} p = {values[name]:.3f}" for name in others), others)


def _claim_hold_out(judge: _Judge) -> None:
    claim = "RMCV (NBC) is more accurate than RMCV (empty) and all hold-out variants on average."
    judge.best(claim, ["RMCV (empty)", *_HOLD_OUT])
    tests = judge.figures.tests["3"]
    if tests is not None:
        _claim_table_3(judge, tests)
    accuracy = judge.figures.accuracy.reindex(columns=[CONTROL, *protocol.TABLE_2]).dropna()
    means, methods = accuracy.mean(), ("RMCV", "RMHO", "RMHO-f", "RMHO-ar")
    costs = f"Leaving out reversals does not cost accuracy (counted as none: less than {_NO_LOSS} points on average)."
    for claim, first, second, names, least in (
        (costs, "RMHO-ar ({})", "RMHO-f ({})", STARTS, -_NO_LOSS),
        ("Starting from NBC is better than from the empty graph.", "{} (NBC)", "{} (empty)", methods, 0.0),
        ("A fixed set of held-out rows is better than one drawn anew.", "RMHO-f ({})", "RMHO ({})", STARTS, 0.0),
    ):
        pairs = {name: (first.format(name), second.format(name)) for name in names}
        gains = {name: means[one] - means[other] for name, (one, other) in pairs.items()}
        told = "{gain:+.2f} points from {name}" if names is STARTS else "{name} {gain:+.2f}"
        listed = ", ".join(told.format(name=name, gain=gain) for name, gain in gains.items())
        holds = min(gains.values()) > least if len(accuracy) else None
        judge.page.claim(
            claim, holds, listed, judge.figures.coverage({name for pair in pairs.values() for name in pair})
        )


def _claim_table_3(judge: _Judge, tests: Tests) -> None:
    judge.first("It has the best average rank of RMCV, RMHO and RMHO-f from both starts.", tests)
    superior = ("RMHO (NBC)", "RMHO-f (empty)", "RMHO (empty)")
    claim = "It is superior to RMHO from both starts and to RMHO-f (empty) (Bonferroni-Dunn, p < 0.05)."
    judge.ranked(claim, tests, dict.fromkeys(superior, _LEVEL))
    judge.signed("It is superior to each of them (Wilcoxon, p < 0.01).", tests, list(tests.wilcoxon.index), 0.01)
    rmcv_ranks = tests.ranks.filter(like="RMCV")
    told = ", ".join(f"{name} {rank:.2f}" for name, rank in tests.ranks.items())
    holds = bool(rmcv_ranks.max() < tests.ranks.drop(rmcv_ranks.index).min())
    judge.say("RMCV ranks before all hold-out variants, whatever the start.", holds, told, tests.table.columns.tolist())


def _claim_graphs(judge: _Judge) -> None:
    frame = judge.figures.graphs
    if frame.empty:
        return
    mse, cover = judge.figures.mse, judge.figures.results.coverage(GRAPHS)
    told = "; ".join(
        f"{name}: {', '.join(f'{score} {row[score]:.2f}' for score in _PREDICTING)}" for name, row in mse.iterrows()
    )
    papers = mse[~mse.index.str.endswith(graphs.TEN_BINS)]
    holds = bool((papers["RMCV"] < papers[["RMHO", "RMHO-f"]].min(axis=1)).all())
    claim = "RMCV predicts test accuracy better than RMHO and RMHO-f do."
    judge.page.claim(claim, holds, f"MSE x 10,000: {told}", cover)
    times = (mse["training"] / mse["RMCV"]).drop(index="Synthetic", errors="ignore")
    if len(times):
        holds = bool((times[times.index.isin(papers.index)] >= _CONSIDERABLY).all())
        told = ", ".join(f"{name} {value:.1f} times" for name, value in times.items())
        bound = f"{_CONSIDERABLY:.0f} times RMCV's MSE or more"
        claim = f"On Iris and Balance training accuracy errs considerably more ({bound})."
        judge.page.claim(claim, holds, told, cover)
    _claim_scores(judge, frame)
    _claim_ranking(judge, frame[frame["dataset"] == "Synthetic"])


def _claim_scores(judge: _Judge, frame: pd.DataFrame) -> None:
    """Judge RMCV against likelihoods by what section 5.2 asks of a good score, in the mean over draws."""
    scores = ["RMCV", *_LIKELIHOODS]
    for claim, figure, digits in (
        ("On Iris, Balance and Synthetic test accuracy goes with RMCV's score more than with MDL, K2, CMDL or CLL "
         "(rank correlation).", "spearman", 3),
        ("There the graphs that RMCV ranks highest are as accurate on test rows as those of each of these, or more.",
         "test_of_best", 4),
    ):  # fmt: skip
        table = frame.groupby(["dataset", "score"])[figure].mean().unstack()[scores]
        papers = table[~table.index.str.endswith(graphs.TEN_BINS)]
        ahead = papers["RMCV"] - papers[list(_LIKELIHOODS)].max(axis=1)
        holds = bool((ahead > 0).all()) if figure == "spearman" else bool((ahead > -_TIE).all())
        told = "; ".join(
            f"{name}: {', '.join(f'{score} {row[score]:.{digits}f}' for score in scores)}"
            for name, row in table.iterrows()
        )
        judge.page.claim(claim, holds, told, judge.figures.results.coverage(GRAPHS))


def _claim_ranking(judge: _Judge, frame: pd.DataFrame) -> None:
    made = {row["score"]: row for row in frame[frame["draw"] == 0].to_dict("records")}
    if not made:
        return
    cover = judge.figures.results.coverage(GRAPHS)
    n = int(made["graphs"]["n_highest"])
    generating = frame.loc[frame["score"] == "graphs", "generating"]
    claim = "On Synthetic, the structure that the rows come from is among the most accurate graphs."
    told = f"in {int(generating.sum())} of {len(generating)} draws of the rows; in the first, {n} graphs are"
    judge.page.claim(claim, bool(generating.all()), told, cover)
    told = ", ".join(f"{s} {made[s]['n_best']:.0f}, {made[s]['n_best_highest']:.0f} of them" for s in _RANKED)
    ranked = {made[s][count] for s in ("RMCV", "RMHO-f") for count in ("n_best", "n_best_highest")}
    claim = "On Synthetic, RMCV and RMHO-f rank the most accurate graphs highest, and these only."
    evidence = f"{n} graphs are the most accurate; ranked highest, and most accurate: {told}"
    judge.page.claim(claim, ranked == {n}, evidence, cover)


def _claim_networks(judge: _Judge) -> None:
    """Judge the claims on accuracy among the networks, those of table 8a with them."""
    judge.best("RMCV (NBC) is the most accurate of the Bayesian networks on average.", _NETWORKS)
    tests = judge.figures.tests["8a"]
    if tests is None:
        return
    judge.first("It has the best average rank of the networks.", tests)
    levels = {name: 0.1 if name == "BNC-MDL" else _LEVEL for name in _NETWORKS}
    judge.ranked("It is superior to each of them (Bonferroni-Dunn, p < 0.05; BNC-MDL p < 0.1).", tests, levels)
    judge.signed("It is superior to each of them (Wilcoxon, p < 0.05).", tests, _NETWORKS, _LEVEL)


def _claim_all(judge: _Judge) -> None:
    """Judge the claims on accuracy among all classifiers, those of table 8b with them."""
    judge.best("RMCV (NBC) is the most accurate of all fourteen classifiers on average.", [*_NETWORKS, *_OTHERS])
    tests = judge.figures.tests["8b"]
    if tests is None:
        return
    judge.first("It has the best average rank of all fourteen classifiers.", tests)
    claim = "Of these it is superior to MDL (empty), K2 (NBC), K2 (empty) and BNC-2P (Bonferroni-Dunn, p < 0.1)."
    judge.ranked(claim, tests, dict.fromkeys(("MDL (empty)", "K2 (NBC)", "K2 (empty)", "BNC-2P"), 0.1))
    judge.signed("It is superior to SVM (polynomial) (Wilcoxon, p < 0.05).", tests, [_POLYNOMIAL], _LEVEL)
    others = [name for name in _OTHERS if name != _POLYNOMIAL]
    values, means = tests.wilcoxon, tests.table.mean()
    told = ", ".join(f"{name} {means[name]:.2f}, p = {values[name]:.3f}" for name in others)
    claim = "It is on par with CT, NN, SVM (linear) and SVM (Gaussian): neither is better (Wilcoxon, p < 0.05)."
    judge.say(claim, bool((values[others] >= _LEVEL).all()), f"{CONTROL} {means[CONTROL]:.2f}; {told}", others)


def _claim_areas(judge: _Judge) -> None:
    """Judge the claims on areas under the curve, on the data sets of table 9."""
    tests = judge.figures.tests["9"]
    if tests is None:
        return
    means, ranks, values = tests.table.mean(), tests.ranks, tests.wilcoxon
    better = [name for name in _NETWORKS if values[name] < _LEVEL and means[CONTROL] > means[name]]
    evidence = {
        "means": f"{CONTROL} {means[CONTROL]:.4f}; " + ", ".join(f"{name} {means[name]:.4f}" for name in _NETWORKS),
        "ranks": ", ".join(f"{name} {rank:.2f}" for name, rank in ranks.items()),
        "wilcoxon": ", ".join(f"{name} p = {values[name]:.3f}" for name in _NETWORKS),
        "friedman": f"p = {tests.friedman.p_value:.4f} on {len(tests.table)} data sets",
    }
    cover = judge.figures.coverage(tests.table.columns.tolist(), table_of("table9-auc").index)
    for claim, holds, told in (
        ("Its areas under the curve are the largest of the networks on average (two classes).",
         means[CONTROL] > means[_NETWORKS].max(), "means"),
        ("By areas it has the best average rank of the networks.", ranks.index[0] == CONTROL, "ranks"),
        ("Areas do not differ significantly over all networks (Friedman, p < 0.05).",
         tests.friedman.p_value >= _LEVEL, "friedman"),
        ("By areas it is superior to BNC-2P, and to no other network (Wilcoxon, p < 0.05).",
         better == ["BNC-2P"], "wilcoxon"),
    ):  # fmt: skip
        judge.page.claim(claim, bool(holds), evidence[told], cover)


def _claim_times(judge: _Judge) -> None:
    """Judge the claims on run time; those on networks and neural networks leave Letter out."""
    seconds = judge.figures.seconds
    others = [*_UNRESTRICTED, *_OTHERS, "RMCV (empty)", *_HOLD_OUT]
    if seconds.empty or not {CONTROL, *others} <= set(seconds):
        return
    whole = seconds[[CONTROL, *others]].dropna()
    every, fewer = whole.mean(), whole.drop(index=protocol.LAST, errors="ignore").mean()
    faster = ["CT", *(name for name in _OTHERS if name.startswith("SVM"))]
    control_seconds = fewer[CONTROL]
    for claim, holds, names in (
        ("Without Letter it is faster than all unrestricted networks.", control_seconds < fewer[_UNRESTRICTED].min(),
         [CONTROL, *_UNRESTRICTED]),
        (f"Without Letter it challenges a neural network (it takes less than {_CHALLENGES:.0f} times as long; in the "
         "paper 8 times).", control_seconds < _CHALLENGES * fewer["NN"], [CONTROL, "NN"]),
    ):  # fmt: skip
        judge.page.claim(claim, bool(holds), _list_seconds(fewer, names), judge.figures.coverage(names, timed=True))
    claims = {"Trees and support vector machines are faster": [CONTROL, *faster]}
    for start in STARTS:
        held_out = [name for name in _HOLD_OUT if name.endswith(f"({start})")]
        claims[f"From {start}, the hold-out variants are faster than RMCV"] = [f"RMCV ({start})", *held_out]
    for claim, names in claims.items():
        # The paper does not say with or without Letter: the other stands beside.
        holds, without = (bool(means[names[1:]].max() < means[names[0]]) for means in (every, fewer))
        other = f'without Letter it would be "{"yes" if without else "no"}"'
        told = f"{_list_seconds(every, names)}; {other}: {_list_seconds(fewer, names)}"
        judge.page.claim(f"{claim} (Letter included).", holds, told, judge.figures.coverage(names, timed=True))


def _list_seconds(means: pd.Series[float], names: Sequence[str]) -> str:
    return ", ".join(f"{name} {means[name]:.3f} s" for name in names)
