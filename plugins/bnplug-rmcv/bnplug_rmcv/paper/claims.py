"""What the paper claims, judged by our figures, each on what the claim covers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pandas as pd

from bnplug.experiments import Page, statistics
from bnplug.experiments.paper import Results
from bnplug_rmcv.paper import graphs, protocol
from bnplug_rmcv.paper.figures import Figures
from bnplug_rmcv.paper.protocol import CONTROL, GRAPHS, HOLD_OUT, NETWORKS, RIVALS, STARTS, TIMES

_LEVEL = 0.05
_NETWORKS = [name for name in protocol.TABLE_6 if not name.startswith("BDeu") and name != CONTROL]
_POLYNOMIAL = "SVM (polynomial)"
_OTHERS = ["CT", "NN", "SVM (linear)", _POLYNOMIAL, "SVM (Gaussian)"]
_HOLD_OUT = [name for name in protocol.TABLE_2 if name.startswith("RMHO")]
_UNRESTRICTED = [name for name in _NETWORKS if name not in ("TAN", "NBC")]
_RANKED = ("RMCV", "RMHO-f", "RMHO", "CLL", "CMDL", "MDL", "K2")


def add_claims(page: Page, results: Results, figures: Figures) -> None:
    """List the paper's claims, each with its verdict."""
    judge = _Judge(page, results)
    _claim_hold_out(judge, figures.accuracy)
    _claim_graphs(judge, results)
    _claim_accuracy(judge, figures.accuracy)
    claim = "Its areas under the curve are the largest of the networks on average (two classes)."
    judge.best(claim, figures.areas, _NETWORKS, (NETWORKS,), 4)
    _claim_times(judge, figures.seconds)


class _Judge:
    """Adds claims with how many tasks of their parts were run."""

    def __init__(self, page: Page, results: Results) -> None:
        self.page, self.results = page, results

    def say(self, claim: str, holds: bool | None, evidence: str, parts: Iterable[str]) -> None:
        self.page.claim(claim, holds, evidence, self.results.coverage(*parts))

    def best(
        self, claim: str, table: pd.DataFrame, others: Sequence[str], parts: Sequence[str], digits: int = 2
    ) -> None:
        """Judge whether RMCV (NBC) has the highest mean."""
        whole = _whole(table, others)
        means = whole.mean()
        holds = bool(means[CONTROL] > means[list(others)].max()) if len(whole) else None
        listed = ", ".join(f"{name} {means[name]:.{digits}f}" for name in others)
        self.say(claim, holds, f"{CONTROL} {means[CONTROL]:.{digits}f}; {listed}", parts)

    def signed(
        self, claim: str, table: pd.DataFrame, others: Sequence[str], level: float, parts: Sequence[str]
    ) -> None:
        """Judge whether RMCV (NBC) is above each by Wilcoxon's test over data sets."""
        whole = _whole(table, others)
        values, means = {name: _p(whole, name) for name in others}, whole.mean()
        holds = all(values[name] < level and means[CONTROL] > means[name] for name in others) if len(whole) else None
        self.say(claim, holds, ", ".join(f"{name} p = {value:.3f}" for name, value in values.items()), parts)


def _whole(table: pd.DataFrame, others: Sequence[str]) -> pd.DataFrame:
    return table.reindex(columns=[CONTROL, *others]).dropna()


def _p(table: pd.DataFrame, other: str) -> float:
    return statistics.wilcoxon(table[CONTROL], table[other]).p_value if len(table) > 1 else float("nan")


def _claim_hold_out(judge: _Judge, accuracy: pd.DataFrame) -> None:
    parts, others = (NETWORKS, HOLD_OUT), ["RMCV (empty)", *_HOLD_OUT]
    claim = "RMCV (NBC) is more accurate than RMCV (empty) and all hold-out variants on average."
    judge.best(claim, accuracy, others, parts)
    tested = [name for name in others if "-ar" not in name]
    judge.signed("It is superior to each of them (Wilcoxon, p < 0.01).", accuracy, tested, 0.01, parts)
    means, methods = _whole(accuracy, others).mean(), ("RMCV", "RMHO", "RMHO-f", "RMHO-ar")
    for claim, first, second, names, least in (
        ("Leaving out reversals does not cost accuracy.", "RMHO-ar ({})", "RMHO-f ({})", STARTS, -0.5),
        ("Starting from NBC is better than from the empty graph.", "{} (NBC)", "{} (empty)", methods, 0.0),
        ("A fixed set of held-out rows is better than one drawn anew.", "RMHO-f ({})", "RMHO ({})", STARTS, 0.0),
    ):
        gains = {name: means[first.format(name)] - means[second.format(name)] for name in names}
        told = "{gain:+.2f} points from {name}" if names is STARTS else "{name} {gain:+.2f}"
        listed = ", ".join(told.format(name=name, gain=gain) for name, gain in gains.items())
        judge.say(claim, min(gains.values()) > least, listed, parts)


def _claim_graphs(judge: _Judge, results: Results) -> None:
    frame = results.frame(GRAPHS)
    if frame.empty:
        return
    mse = frame.groupby(["dataset", "score"])["mse"].mean().unstack()
    told = "; ".join(
        f"{name}: {', '.join(f'{score} {1e4 * row[score]:.2f}' for score in ('RMCV', 'RMHO', 'RMHO-f', 'training'))}"
        for name, row in mse.iterrows()
    )
    mse = mse[~mse.index.str.endswith(graphs.TEN_BINS)]
    holds = bool((mse["RMCV"] < mse[["RMHO", "RMHO-f"]].min(axis=1)).all())
    claim = "RMCV predicts test accuracy better than RMHO and RMHO-f do."
    judge.say(claim, holds, f"MSE x 10,000: {told}", [GRAPHS])
    small = mse.drop(index="synthetic", errors="ignore")
    if len(small):
        holds = bool((small["training"] > 2 * small["RMCV"]).all())
        judge.say("On Iris and Balance training accuracy errs considerably more.", holds, "as above", [GRAPHS])
    _claim_ranking(judge, frame[(frame["dataset"] == "synthetic") & (frame["draw"] == 0)])


def _claim_ranking(judge: _Judge, frame: pd.DataFrame) -> None:
    made = {row["score"]: row for row in frame.to_dict("records")}
    if not made:
        return
    n = int(made["graphs"]["n_highest"])
    told = ", ".join(f"{s} {made[s]['n_best']:.0f}, {made[s]['n_best_highest']:.0f} of them" for s in _RANKED)
    ranked = {made[s][count] for s in ("RMCV", "RMHO-f") for count in ("n_best", "n_best_highest")}
    claim = "On Synthetic, RMCV and RMHO-f rank the most accurate graphs highest, and these only."
    evidence = f"{n} graphs are the most accurate; ranked highest, and most accurate: {told}"
    judge.say(claim, ranked == {n}, evidence, [GRAPHS])


def _claim_accuracy(judge: _Judge, accuracy: pd.DataFrame) -> None:
    networks, parts = (NETWORKS,), (NETWORKS, RIVALS)
    judge.best("RMCV (NBC) is the most accurate of the Bayesian networks on average.", accuracy, _NETWORKS, networks)
    claim = "It is the most accurate of all fourteen classifiers on average."
    judge.best(claim, accuracy, [*_NETWORKS, *_OTHERS], parts)
    whole = _whole(accuracy, _NETWORKS)
    if len(whole) > 1:
        dunn = statistics.bonferroni_dunn(whole, CONTROL)
        best = bool(dunn.average_ranks.idxmin() == CONTROL)
        told = ", ".join(f"{name} {rank:.2f}" for name, rank in dunn.average_ranks.items())
        judge.say("It has the best average rank of the networks.", best, told, networks)
        holds = all(dunn.p_values[name] < (0.1 if name == "BNC-MDL" else _LEVEL) for name in _NETWORKS)
        told = ", ".join(f"{name} p = {dunn.p_values[name]:.4f}" for name in _NETWORKS)
        claim = "It is superior to each of them (Bonferroni-Dunn, p < 0.05; BNC-MDL p < 0.1)."
        judge.say(claim, holds and best, told, networks)
    judge.signed("It is superior to each of them (Wilcoxon, p < 0.05).", accuracy, _NETWORKS, _LEVEL, networks)
    judge.signed("It is superior to SVM (polynomial) (Wilcoxon, p < 0.05).", accuracy, [_POLYNOMIAL], _LEVEL, parts)
    others = [name for name in _OTHERS if name != _POLYNOMIAL]
    whole = _whole(accuracy, others)
    if len(whole) > 1:
        values, means = {name: _p(whole, name) for name in others}, whole.mean()
        worse = [name for name in others if values[name] < _LEVEL and means[name] > means[CONTROL]]
        told = ", ".join(f"{name} {means[name]:.2f}, p = {values[name]:.3f}" for name in others)
        claim = "It is on par with trees, neural networks and support vector machines (linear, Gaussian)."
        judge.say(claim, not worse, f"{CONTROL} {means[CONTROL]:.2f}; {told}", parts)


def _claim_times(judge: _Judge, seconds: pd.DataFrame) -> None:
    """Judge the claims on run time, which leave Letter out."""
    others = [*_UNRESTRICTED, "TAN", *_OTHERS, *_HOLD_OUT]
    if seconds.empty or not {CONTROL, *others} <= set(seconds):
        return
    means = seconds.drop(index=protocol.LAST, errors="ignore")[[CONTROL, *others]].dropna().mean()
    own = means[CONTROL]
    told = {name: f"{name} {means[name]:.3f} s" for name in means.index}
    faster = ["CT", *(name for name in _OTHERS if name.startswith("SVM"))]
    variants = [name for name in _HOLD_OUT if "NBC" in name]
    for claim, holds, between, names in (
        ("Without Letter it is faster than all unrestricted networks.", own < means[_UNRESTRICTED].min(),
         " a fit on average;", _UNRESTRICTED),
        ("Without Letter its time is that of a neural network or less, within a factor of ten.",
         own < 10 * means["NN"], ",", ["NN"]),
        ("Trees and support vector machines are faster.", means[faster].max() < own, ";", faster),
        ("The hold-out variants are faster.", means[variants].max() < own, ";", variants),
    ):  # fmt: skip
        listed = ", ".join(told[name] for name in names)
        judge.say(claim, bool(holds), f"{told[CONTROL]}{between} {listed}", [TIMES])
