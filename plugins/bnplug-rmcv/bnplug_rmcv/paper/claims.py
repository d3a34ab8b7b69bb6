"""What the paper claims, judged by our figures, each on what the claim covers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd

from bnplug.experiments import Page, statistics
from bnplug.experiments.paper import Results
from bnplug_rmcv.paper import graphs, protocol
from bnplug_rmcv.paper.figures import Figures
from bnplug_rmcv.paper.protocol import CONTROL

_LEVEL = 0.05
_NETWORKS = [name for name in protocol.TABLE_6 if not name.startswith("BDeu") and name != CONTROL]
_OTHERS = ["CT", "NN", "SVM (linear)", "SVM (polynomial)", "SVM (Gaussian)"]
_HOLD_OUT = [name for name in protocol.TABLE_2 if name.startswith("RMHO")]
_UNRESTRICTED = [name for name in _NETWORKS if name not in ("TAN", "NBC")]


def add_claims(page: Page, results: Results, figures: Figures) -> None:
    """List the paper's claims, each with its verdict."""
    judge = _Judge(page, results)
    _claim_hold_out(judge, figures.accuracy)
    _claim_graphs(judge, results)
    _claim_accuracy(judge, figures.accuracy)
    _claim_areas(judge, figures)
    _claim_times(judge, figures.seconds)


class _Judge:
    """Adds claims with how many tasks of their parts were run."""

    def __init__(self, page: Page, results: Results) -> None:
        self.page, self.results = page, results

    def say(self, claim: str, holds: bool | None, evidence: str, *parts: str) -> None:
        self.page.claim(claim, holds, evidence, self.results.coverage(*parts))

    def best(
        self, claim: str, table: pd.DataFrame, others: Sequence[str], parts: Sequence[str], digits: int = 2
    ) -> None:
        """Judge whether RMCV (NBC) has the highest mean."""
        whole = _whole(table, others)
        means = whole.mean()
        listed = ", ".join(f"{name} {means[name]:.{digits}f}" for name in others)
        holds = bool(means[CONTROL] > means[list(others)].max()) if len(whole) else None
        self.say(claim, holds, f"{CONTROL} {means[CONTROL]:.{digits}f}; {listed}", *parts)

    def signed(
        self, claim: str, table: pd.DataFrame, others: Sequence[str], level: float, parts: Sequence[str]
    ) -> None:
        """Judge whether RMCV (NBC) is above each by Wilcoxon's test over data sets."""
        whole = _whole(table, others)
        values = {name: _p(whole, name) for name in others}
        means = whole.mean()
        holds = all(values[name] < level and means[CONTROL] > means[name] for name in others) if len(whole) else None
        self.say(claim, holds, ", ".join(f"{name} p = {value:.3f}" for name, value in values.items()), *parts)


def _whole(table: pd.DataFrame, others: Sequence[str]) -> pd.DataFrame:
    return table.reindex(columns=[CONTROL, *others]).dropna()


def _p(table: pd.DataFrame, other: str) -> float:
    return statistics.wilcoxon(table[CONTROL], table[other]).p_value if len(table) > 1 else float("nan")


def _claim_hold_out(judge: _Judge, accuracy: pd.DataFrame) -> None:
    parts = (protocol.NETWORKS, protocol.HOLD_OUT)
    others = ["RMCV (empty)", *_HOLD_OUT]
    judge.best(
        "RMCV (NBC) is more accurate than RMCV (empty) and all hold-out variants on average.", accuracy, others, parts
    )
    tested = [name for name in others if "-ar" not in name]
    judge.signed("It is superior to each of them (Wilcoxon, p < 0.01).", accuracy, tested, 0.01, parts)
    means = _whole(accuracy, others).mean()
    gap = {start: means[f"RMHO-ar ({start})"] - means[f"RMHO-f ({start})"] for start in protocol.STARTS}
    told = ", ".join(f"{value:+.2f} points from {start}" for start, value in gap.items())
    judge.say("Leaving out reversals does not cost accuracy.", min(gap.values()) > -0.5, told, *parts)
    starts = {name: means[f"{name} (NBC)"] - means[f"{name} (empty)"] for name in ("RMCV", "RMHO", "RMHO-f", "RMHO-ar")}
    told = ", ".join(f"{name} {value:+.2f}" for name, value in starts.items())
    judge.say("Starting from NBC is better than from the empty graph.", min(starts.values()) > 0, told, *parts)
    fixed = {start: means[f"RMHO-f ({start})"] - means[f"RMHO ({start})"] for start in protocol.STARTS}
    told = ", ".join(f"{value:+.2f} points from {start}" for start, value in fixed.items())
    judge.say("A fixed set of held-out rows is better than one drawn anew.", min(fixed.values()) > 0, told, *parts)


def _claim_graphs(judge: _Judge, results: Results) -> None:
    frame = results.frame(protocol.GRAPHS)
    if frame.empty:
        return
    mse = frame.groupby(["dataset", "score"])["mse"].mean().unstack()
    told = "; ".join(
        f"{name}: {', '.join(f'{score} {1e4 * row[score]:.2f}' for score in ('RMCV', 'RMHO', 'RMHO-f', 'training'))}"
        for name, row in mse.iterrows()
    )
    mse = mse[~mse.index.str.endswith(graphs.TEN_BINS)]
    holds = bool((mse["RMCV"] < mse[["RMHO", "RMHO-f"]].min(axis=1)).all())
    judge.say(
        "RMCV predicts test accuracy better than RMHO and RMHO-f do.", holds, f"MSE x 10,000: {told}", protocol.GRAPHS
    )
    small = mse.drop(index="synthetic", errors="ignore")
    if len(small):
        holds = bool((small["training"] > 2 * small["RMCV"]).all())
        judge.say("On Iris and Balance training accuracy errs considerably more.", holds, "as above", protocol.GRAPHS)
    first = frame[(frame["dataset"] == "synthetic") & (frame["draw"] == 0)]
    made = {row["score"]: row for row in first.to_dict("records")}
    if made:
        n = int(made["graphs"]["n_highest"])
        told = ", ".join(f"{s} {made[s]['n_best']:.0f}, {made[s]['n_best_highest']:.0f} of them" for s in _RANKED)
        ranked = {made[s][count] for s in ("RMCV", "RMHO-f") for count in ("n_best", "n_best_highest")}
        judge.say(
            "On Synthetic, RMCV and RMHO-f rank the most accurate graphs highest, and these only.",
            ranked == {n},
            f"{n} graphs are the most accurate; ranked highest, and most accurate: {told}",
            protocol.GRAPHS,
        )


_RANKED = ("RMCV", "RMHO-f", "RMHO", "CLL", "CMDL", "MDL", "K2")


def _claim_accuracy(judge: _Judge, accuracy: pd.DataFrame) -> None:
    parts = (protocol.NETWORKS, protocol.RIVALS)
    networks = (protocol.NETWORKS,)
    judge.best("RMCV (NBC) is the most accurate of the Bayesian networks on average.", accuracy, _NETWORKS, networks)
    judge.best(
        "It is the most accurate of all fourteen classifiers on average.", accuracy, [*_NETWORKS, *_OTHERS], parts
    )
    whole = _whole(accuracy, _NETWORKS)
    if len(whole) > 1:
        dunn = statistics.bonferroni_dunn(whole, CONTROL)
        told = ", ".join(f"{name} p = {dunn.p_values[name]:.4f}" for name in _NETWORKS)
        holds = all(dunn.p_values[name] < (0.1 if name == "BNC-MDL" else _LEVEL) for name in _NETWORKS)
        best = dunn.average_ranks.idxmin() == CONTROL
        judge.say("It has the best average rank of the networks.", bool(best), _ranks(dunn.average_ranks), *networks)
        judge.say(
            "It is superior to each of them (Bonferroni-Dunn, p < 0.05; BNC-MDL p < 0.1).",
            holds and best,
            told,
            *networks,
        )
    judge.signed("It is superior to each of them (Wilcoxon, p < 0.05).", accuracy, _NETWORKS, _LEVEL, networks)
    judge.signed(
        "It is superior to SVM (polynomial) (Wilcoxon, p < 0.05).", accuracy, ["SVM (polynomial)"], _LEVEL, parts
    )
    _claim_par(judge, accuracy, parts)


def _ranks(ranks: Any) -> str:
    return ", ".join(f"{name} {rank:.2f}" for name, rank in ranks.items())


def _claim_par(judge: _Judge, accuracy: pd.DataFrame, parts: Sequence[str]) -> None:
    others = [name for name in _OTHERS if name != "SVM (polynomial)"]
    whole = _whole(accuracy, others)
    if len(whole) < 2:
        return
    means = whole.mean()
    worse = [name for name in others if _p(whole, name) < _LEVEL and means[name] > means[CONTROL]]
    told = ", ".join(f"{name} {means[name]:.2f}, p = {_p(whole, name):.3f}" for name in others)
    judge.say(
        "It is on par with trees, neural networks and support vector machines (linear, Gaussian).",
        not worse,
        f"{CONTROL} {means[CONTROL]:.2f}; {told}",
        *parts,
    )


def _claim_areas(judge: _Judge, figures: Figures) -> None:
    judge.best(
        "Its areas under the curve are the largest of the networks on average (two classes).",
        figures.areas, _NETWORKS, (protocol.NETWORKS,), 4,
    )  # fmt: skip


def _claim_times(judge: _Judge, seconds: pd.DataFrame) -> None:
    """Judge the claims on run time, which leave Letter out."""
    others = [*_UNRESTRICTED, "TAN", *_OTHERS, *_HOLD_OUT]
    if seconds.empty or not {CONTROL, *others} <= set(seconds):
        return
    means = seconds.drop(index=protocol.LAST, errors="ignore")[[CONTROL, *others]].dropna().mean()
    told = {name: f"{name} {means[name]:.3f} s" for name in means.index}
    judge.say(
        "Without Letter it is faster than all unrestricted networks.",
        bool(means[CONTROL] < means[_UNRESTRICTED].min()),
        f"{told[CONTROL]} a fit on average; {', '.join(told[name] for name in _UNRESTRICTED)}",
        protocol.TIMES,
    )
    judge.say(
        "Without Letter its time is that of a neural network or less, within a factor of ten.",
        bool(means[CONTROL] < 10 * means["NN"]), f"{told[CONTROL]}, {told['NN']}", protocol.TIMES,
    )  # fmt: skip
    faster = ["CT", *(name for name in _OTHERS if name.startswith("SVM"))]
    judge.say(
        "Trees and support vector machines are faster.",
        bool(means[faster].max() < means[CONTROL]),
        f"{told[CONTROL]}; {', '.join(told[name] for name in faster)}",
        protocol.TIMES,
    )
    judge.say(
        "The hold-out variants are faster.",
        bool(means[[name for name in _HOLD_OUT if "NBC" in name]].max() < means[CONTROL]),
        f"{told[CONTROL]}; {', '.join(told[name] for name in _HOLD_OUT if 'NBC' in name)}",
        protocol.TIMES,
    )
