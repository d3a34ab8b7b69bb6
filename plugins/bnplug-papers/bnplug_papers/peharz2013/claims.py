"""What Peharz et al. (2013) claim, judged by our figures, each on what the claim covers."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import pandas as pd

from bnplug.experiments.statistics import wilcoxon
from bnplug_papers.kit import Page, Results
from bnplug_papers.peharz2013 import figures
from bnplug_papers.peharz2013.figures import TAN_OURS, coverage, mean_likelihoods, means_of, paired, shared_likelihoods
from bnplug_papers.peharz2013.protocol import FURTHER, HIDDEN, MCL, MCL_END, OURS, SETS, STEPS

#: With fewer data sets no difference is significant.
FEWEST = 6

# What the paper's Table 1 has: rows, those won against MM, and those of the UCI repository.
_SETS, _WON = len(SETS) - len(FURTHER), 17
# The paper's text has more data sets than its Table 1 shows; which and how many are of UCI is not said.
_ALL_SETS = 30
_LEVEL = 0.05
# Points within which averages count as comparable, and a preference as slight.
_COMPARABLE, _SLIGHT = 1.5, 2.0
# From which likelihood relative to ML on, in per cent, a classifier counts as close to it; how far above is well above.
_CLOSE, _WELL = 85.0, 10.0
# How far below larger lam's accuracy, in points, is almost as good; which share of a range is almost all of it.
_ALMOST, _ALMOST_ALL = 1.0, 0.75
# How far below ML, in points, is almost as robust where many features are missing.
_ROBUST = 3.0
# By how much of the objective descents from different starts may differ at one optimum.
_SAME = 1e-3
_NOT_RUN = (None, "not run yet")
# The paper does not say when it stops MCL.
_STOPS = {MCL: "MCL (stopped by validation)", MCL_END: f"MCL (after {STEPS[-1]} steps)"}

Verdict = tuple[bool | None, str]
_Judge = Callable[[pd.DataFrame, float], bool]


def tell_rules(page: Page) -> None:
    """Say how claims are judged, and which rules are later than results."""
    page.section("How claims are judged")
    page.text(
        "Two classifiers are compared on the folds that both have, of the paper's data sets; p is that of Wilcoxon's "
        f'signed-rank test over data sets. "Clearly" is ahead on average, on more data sets than behind, and with p '
        f"below {_LEVEL}. Accuracies are judged on trees, since the paper leaves those of NB out: they stand beside."
    )
    page.text(_CHANGED)


def claim_convex(page: Page, results: Results) -> None:
    """Judge the claim that there is one optimum, which is found."""
    page.claim(
        "For many structures, such as NB and TAN, the problem is convex, and the optimum that is found is global.",
        *judge_optimum(results.frame("one optimum")),
        results.coverage("one optimum"),
    )


def judge_optimum(optima: pd.DataFrame) -> Verdict:
    """Ask whether descents from different starts end at the same objective."""
    if optima.empty:
        return _NOT_RUN
    spreads = [max(objectives) / min(objectives) - 1 for objectives in optima["objectives"]]
    starts = len(optima["objectives"].iloc[0])
    evidence = (
        f"descents from ML's and from {starts - 1} random parameters on {optima['dataset'].nunique()} data sets end at "
        f"objectives that differ by {100 * max(spreads):.4f}% at most; less than {100 * _SAME:g}% counts as the same"
    )
    return max(spreads) < _SAME, evidence


def claim_figures(page: Page, results: Results, trade_off: pd.DataFrame, by_lam: pd.DataFrame) -> None:
    """Judge the claims on Figures 1 and 2."""
    page.claim(
        "With growing lam the likelihood falls, the slack falls, and the classification rate rises with it.",
        *judge_trade_off(trade_off),
    )
    for claim, judge in (
        ("ML is the worst with all features, and almost constant until about 40% of them are missing.", judge_ml),
        ("Larger lam is better with all features, and falls faster than ML as features are missing.", judge_larger),
        (
            "lam = 1 is almost as good as larger lam with all features, and better than ML for almost the whole range "
            "of missing ones.",
            judge_by_lam,
        ),
    ):
        run = {"lam=0", "lam=1"} < set(by_lam)
        verdict = judge(by_lam) if run else _NOT_RUN
        page.claim(f"On {HIDDEN}: {claim}", *verdict, results.coverage("figure 2"))


def judge_trade_off(steps: pd.DataFrame) -> Verdict:
    """Ask whether slack falls and the negative log-likelihood rises all along lam, and accuracy from end to end."""
    if steps.empty:
        return _NOT_RUN
    first, last = float(steps["accuracy"].iloc[0]), float(steps["accuracy"].iloc[-1])
    falls = bool((np.diff(steps["slack"]) <= 1e-6).all())
    rises = bool((np.diff(steps["negative_log_likelihood"]) >= -1e-6).all())
    return falls and rises and last > first, f"{100 * first:.2f}% at lam 0, {100 * last:.2f}% at the largest"


def judge_ml(means: pd.DataFrame) -> Verdict:
    """Ask whether ML is below every other lam with all features, and what it loses until 40% are missing."""
    whole, ml = means.loc[0], means["lam=0"]
    some = _until(means)
    lost = float(ml[0] - ml[some])
    listed = ", ".join(f"{name} {value:.2f}%" for name, value in whole.items())
    evidence = f"with all features {listed}; ML loses {lost:.2f} points with {some} missing; {_ALMOST:g} is almost none"
    return bool(whole.idxmin() == "lam=0" and lost <= _ALMOST), evidence


def judge_larger(means: pd.DataFrame) -> Verdict:
    """Compare the largest lams with ML where no feature is missing, and by what is lost until 40% are."""
    some = _until(means)
    whole = {str(name): float(means[name].loc[0]) for name in means}
    lost = {name: value - float(means[name].loc[some]) for name, value in whole.items()}
    gains = {name: value - whole["lam=0"] for name, value in whole.items() if name not in ("lam=0", "lam=1")}
    holds = all(gain > 0 and lost[name] > lost["lam=0"] for name, gain in gains.items())
    told, falls = ", ".join(f"{name} {gain:+.2f}" for name, gain in gains.items()), _listed(lost)
    return holds, f"with all features against ML {told} points; lost with {some} missing: {falls}"


def _listed(values: Mapping[str, float]) -> str:
    return ", ".join(f"{name} {value:.2f}" for name, value in values.items())


def _until(means: pd.DataFrame) -> int:
    """Return the largest number of missing features that is not above 40% of all."""
    return max(int(count) for count in means.index if count <= 0.4 * means.attrs["features"])


def judge_by_lam(means: pd.DataFrame) -> Verdict:
    """Compare lam = 1 with larger ones where no feature is missing, and with ML where some are."""
    ml, ours = (float(means[name].loc[0]) for name in ("lam=0", "lam=1"))
    larger = max(float(means[name].loc[0]) for name in means if name not in ("lam=0", "lam=1"))
    gaps = (means["lam=1"] - means["lam=0"])[means.index > 0]
    better = int((gaps > 0).sum())
    evidence = (
        f"with all features {ours:.2f}%, the best larger lam {larger:.2f}%, ML {ml:.2f}%; with some missing better "
        f"than ML at {better} of {len(gaps)} numbers, on average {gaps.mean():+.2f}; {_ALMOST:g} point and "
        f"{_ALMOST_ALL:.0%} count as almost"
    )
    return ours >= larger - _ALMOST and better >= _ALMOST_ALL * len(gaps), evidence


def claim_accuracy(page: Page, folds: pd.DataFrame) -> None:
    """Judge the claims on ML-BN-SVM and each rival; the paper's are on TAN, its figures of NB are not in it."""
    claims: list[tuple[str, str, _Judge]] = [
        (f"TAN {rival}", f"ML-BN-SVM clearly outperforms {how}.", clearly)
        for rival, how in {"ML": "ML", **_STOPS}.items()
    ]
    claims += [
        ("TAN MM", "It outperforms MM: ahead on average, and on more data sets than behind.",
         lambda both, _p: wins(both)[0] > wins(both)[1] and gap(both) > 0),
        ("TAN MM", f"It is better than MM on {_WON} of {_SETS} data sets, or as large a part.",
         lambda both, _p: wins(both)[0] / len(both) >= _WON / _SETS),
        ("linear SVM", f"It compares well with the linear SVM: less than {_COMPARABLE:g} points below.", _comparable),
        ("SVM", f"It is comparable with the kernel SVM: less than {_COMPARABLE:g} points below.", _comparable),
        ("SVM", f"There is a slight preference for the kernel SVM: it is ahead, by at most {_SLIGHT:g} points.",
         lambda both, _p: -_SLIGHT <= gap(both) < 0),
    ]  # fmt: skip
    for rival, claim, judge in claims:
        _claim_pair(page, folds, claim, rival, judge)


def _comparable(both: pd.DataFrame, _p: float) -> bool:
    return gap(both) > -_COMPARABLE


def _claim_pair(page: Page, folds: pd.DataFrame, claim: str, rival: str, judge: _Judge) -> None:
    paired_folds = paired(folds, TAN_OURS, rival)
    both = means_of(paired_folds)
    if len(both) < FEWEST:
        evidence = f"both run on {len(both)} data sets so far, fewer than the {FEWEST} that a test needs"
        page.claim(claim, None, evidence)
        return
    (won, lost), p = wins(both), wilcoxon(both[TAN_OURS], both[rival]).p_value
    evidence = f"TAN: {won} won, {lost} lost of {len(both)}, on average {gap(both):+.2f} points, p = {p:.3f}"
    naive = means_of(paired(folds, f"NB {OURS}", rival.replace("TAN", "NB")))
    if len(naive):
        (won, lost), mean = wins(naive), gap(naive)
        evidence += f"; NB, which is not judged: {won} won, {lost} lost of {len(naive)}, {mean:+.2f}"
    n, unit = coverage(paired_folds.index)
    page.claim(claim, bool(judge(both, p)), evidence, (n, _SETS), unit)


def wins(both: pd.DataFrame) -> tuple[int, int]:
    """Return how many data sets the first of two wins and loses."""
    gaps = (both.iloc[:, 0] - both.iloc[:, 1]).round(9)
    return int((gaps > 0).sum()), int((gaps < 0).sum())


def gap(both: pd.DataFrame) -> float:
    """Return by how many points the first of two is ahead on average."""
    return float((both.iloc[:, 0] - both.iloc[:, 1]).mean())


def clearly(both: pd.DataFrame, p: float) -> bool:
    """Whether the first is ahead on average, and more often, by more than chance."""
    won, lost = wins(both)
    return won > lost and gap(both) > 0 and p < _LEVEL


def claim_likelihoods(page: Page, likelihoods: pd.DataFrame) -> None:
    """Judge the claims on likelihoods, on training and on test rows; two methods on the folds that both have."""
    printed = {
        name: f"{rows['train']:.2f}% on training rows, {rows['test']:.2f}% on test rows"
        for name, rows in figures.published_likelihoods().items()
    }
    claims = {OURS: f"Its likelihood is close to ML's ({printed[OURS]})."}
    for rival, how in {**_STOPS, "MM": "MM"}.items():
        claims[rival] = f"Its likelihood is well above that of {how} ({printed[rival]})."
    for rival, claim in claims.items():
        shared = shared_likelihoods(likelihoods, list(dict.fromkeys([OURS, rival])))
        if shared.empty:
            page.claim(claim, *_NOT_RUN)
            continue
        means = mean_likelihoods(shared)
        told = "; ".join(f"{name} {row.train:.2f}%, {row.test:.2f}%" for name, row in means.iterrows())
        if rival == OURS:
            holds, bound = means.loc[OURS].min() > _CLOSE, f"above {_CLOSE:g}% counts as close"
        else:
            least = min(float(means[part][OURS] - means[part][rival]) for part in means)
            holds, bound = least > _WELL, f"{_WELL:g} points count as well above"
        n, unit = _of_structures(shared)
        page.claim(claim, bool(holds), f"{told}; {bound}", (n, _ALL_SETS), unit)


def _of_structures(likelihoods: pd.DataFrame) -> tuple[int, str]:
    """Return how many data sets likelihoods are of, and how many of the folds of NB and of TAN."""
    names = likelihoods["dataset"].unique()
    done = len(likelihoods[["dataset", "structure", "fold"]].drop_duplicates())
    wanted = 2 * sum(figures.wanted_folds(name) for name in names)
    few = f", with {done} of their {wanted} folds of NB and of TAN" if done < wanted else ""
    return len(names), f"data sets{few}"


def claim_hidden(page: Page, curve: pd.DataFrame, with_margins: pd.DataFrame) -> None:
    """Judge the claims on missing features; those on MM by the folds that it has."""
    falls: Mapping[str, str] = {**_STOPS, "MM": "MM"}
    claims: list[tuple[str, pd.DataFrame, Callable[[pd.DataFrame], Verdict]]] = [
        ("With more than 60% of the features missing, ML is the best of all.", curve, judge_best),
        (
            "With no or few features missing ML-BN-SVM is better than ML, with many almost as robust.",
            curve,
            judge_robust,
        ),
    ]
    for name, how in falls.items():
        compared = with_margins if name == "MM" else curve
        claims.append((f"As features are missing, {how} drops off quickly.", compared, _falls(name)))
    claims.append(
        (
            "With more than 60% missing, the kernel SVM is poor against ML and ML-BN-SVM: on average more than "
            f"{_ALMOST:g} point below both.",
            curve,
            judge_svm,
        )
    )
    for claim, compared, judge in claims:
        if not {"ML", OURS, MCL, MCL_END, "SVM"} <= set(compared):
            page.claim(claim, *_NOT_RUN)
            continue
        names = {name for name, _ in compared.attrs["folds"]}
        holds, told = judge(compared)
        told += f"; on our {len(names)} data sets of UCI, the paper does not say how many it has"
        page.claim(claim, holds, told, (len(compared.attrs["folds"]), sum(map(figures.wanted_folds, names))), "folds")


def judge_best(curve: pd.DataFrame) -> Verdict:
    """Ask whether ML is above all others from 70% on."""
    many = curve.loc[70:]
    told = "; ".join(
        f"{row.idxmax()} {row.max():.2f} ({share}% missing, ML {row['ML']:.2f})" for share, row in many.T.items()
    )
    return bool((many.idxmax(axis=1) == "ML").all()), f"the best: {told}"


def judge_robust(curve: pd.DataFrame) -> Verdict:
    """Compare ML-BN-SVM with ML where few and where many features are missing."""
    ahead = curve[OURS] - curve["ML"]
    few, many = float(ahead.loc[:20].mean()), float(ahead.loc[60:].mean())
    evidence = f"against ML {few:+.2f} points up to 20% missing, {many:+.2f} from 60% on; {_ROBUST:g} count as almost"
    return few > 0 and many > -_ROBUST, evidence


def _falls(name: str) -> Callable[[pd.DataFrame], Verdict]:
    return lambda curve: judge_fall(curve, name)


def judge_fall(curve: pd.DataFrame, name: str) -> Verdict:
    """Ask how much more than ML a classifier loses until half of the features are missing."""
    ahead = curve[name] - curve["ML"]
    evidence = (
        f"against ML {ahead[0]:+.2f} points with all features, {ahead[50]:+.2f} with half of them; a fall by more than "
        f"{_ROBUST:g} counts"
    )
    return bool(ahead[0] - ahead[50] > _ROBUST), evidence


def judge_svm(curve: pd.DataFrame) -> Verdict:
    """Ask whether the SVM is below both networks with many features missing."""
    below = curve["SVM"].loc[70:] - curve[["ML", OURS]].loc[70:].min(axis=1)
    told = ", ".join(f"{value:+.2f} ({share}%)" for share, value in below.items())
    return bool(below.mean() < -_ALMOST), f"{below.mean():+.2f} against the lower of the two: {told}"


_CHANGED = (
    "Of the results that ship, rules that were set when part of them had been seen: two classifiers are judged on "
    f"{FEWEST} data sets or more; figures stand beside published ones only where all folds were run; likelihoods are "
    "compared on the folds that both networks have, which turned the verdict on them, on the sets that there were "
    "then, from yes to no. Changed later: the draw of the folds was at first a reason by the spread between the folds "
    "of one draw, without another draw, and with the quantile of the normal distribution; the averages had USPS twice, "
    "and were not marked; likelihoods were judged on training rows alone, against MCL and MM in one claim, whether MM "
    "had been run or not; that MCL and MM drop off and that SVMs are below with features missing was one claim, of MCL "
    "stopped by validation, with the verdict no. Now MCL is judged by both ways to stop it, MM by itself and SVMs by "
    "themselves. Added later: the claims on the optimum, on ML and on larger lam in Figure 2, that ML is the best of "
    "all with many features missing (at first without MM), that ML-BN-SVM outperforms MM, and that it is comparable "
    "with the kernel SVM, with the bound that the linear one had; that the kernel SVM is poor with many features "
    "missing asked only that it is below. With the last folds one verdict turned: that the likelihood is well above "
    "that of MCL, stopped by validation, was yes when 81 of 101 folds had been run, and is no now: on test rows it is "
    "9 points above, and by our bound 10 count. When all else had "
    "been run, MM was run anew, since it had chosen lam from ten values of equal ratios, kappa on small data alone, "
    "and both with the cuts and trees of all training rows: its likelihoods were 30.42% and 30.51% on the folds that "
    "there were, and no verdict turned. soybean-large was run last; no verdict turned with it, either."
)
