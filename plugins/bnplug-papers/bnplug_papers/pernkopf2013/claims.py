"""What the paper claims, judged by our figures, each on what the claim covers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd

from bnplug_papers.kit import AVERAGE, Page, Results, compare_cells, with_averages
from bnplug_papers.pernkopf2013 import figures, protocol
from bnplug_papers.pernkopf2013.figures import PAPERS_SETS, on_same_rows, published_accuracy, published_deviations
from bnplug_papers.pernkopf2013.protocol import BATCH, DRAWS, GENERATIVE, PAPERS_SCHEDULE, RUNS, SCHEDULES

_SCORES, _SEARCHES = ("CR", "MM"), ("HC", "SA")
_SEARCHED = tuple(f"TAN-{search}-{score}" for search in _SEARCHES for score in _SCORES)
_STRUCTURES = (*GENERATIVE, *_SEARCHED)
# Data sets that the paper sees ten times fewer evaluations on, and those on which the SVM is ahead in it.
_MANY_FEATURES, _SVM_AHEAD = ("MNIST", "USPS", "DCMall"), ("MNIST", "USPS", "Spambase")
#: Bounds of our own, for words of the paper: points that are close to an SVM; times that are about ten; times that are
#: dramatically smaller.
_CLOSE, _ABOUT_TEN, _DRAMATICALLY = 2.0, 5.0, 10.0
# Of the paper's 191 features, how many may be missing until NB-ML catches up.
_CAUGHT_UP = 150 / 191

_DEVIATIONS = "; ± is the larger of the two standard deviations"

Verdict = tuple[bool | None, str, int]


class Tables:
    """Accuracies to be judged: ours, or the published ones.

    Parameters
    ----------
    accuracy, deviation : frame
        Accuracies (%) and their standard deviations, data sets by methods.
    runs : frame, optional
        All searches, so that two of them are compared from the same rows where one has not been through all.
    """

    def __init__(self, accuracy: pd.DataFrame, deviation: pd.DataFrame, runs: pd.DataFrame | None = None) -> None:
        methods = [f"{name}-{kind}" for name in _STRUCTURES for kind in ("ML", "MM")] + ["SVM"]
        self.accuracy, self.deviation = (table.reindex(columns=methods) for table in (accuracy, deviation))
        self.runs = runs

    def pairs(self, *methods: tuple[str, str]) -> pd.DataFrame:
        """Return a row for each data set that has both methods of a pair.

        Its columns are ``dataset``, ``low`` and ``high`` of the two, the larger ``sd``, the names ``first`` and
        ``second``, and ``rows`` where both were learned from so many, 0 where from all.
        """
        frames = [self._pair(first, second).reset_index(names="dataset") for first, second in methods]
        return pd.concat(frames, ignore_index=True)

    def _pair(self, first: str, second: str) -> pd.DataFrame:
        if self.runs is not None and {first[:-3], second[:-3]} <= set(_SEARCHED) and first[-3:] == second[-3:] == "-ML":
            both = on_same_rows(self.runs, first[:-3], second[:-3])
            both["sd"] = _deviation(both[["low", "high"]], self.runs).max(axis=1)
        else:
            low, high, sd = self.accuracy[first], self.accuracy[second], self.deviation[[first, second]].max(axis=1)
            both = pd.DataFrame({"low": low, "high": high, "sd": sd, "rows": 0}).dropna()
        return both.assign(first=first, second=second)

    def best(self, methods: Sequence[str]) -> pd.Series[float]:
        """Return the highest accuracy of some methods on each data set."""
        return self.accuracy[list(methods)].max(axis=1)


def ours(accuracy: pd.DataFrame, runs: pd.DataFrame) -> Tables:
    """Return our figures; as in the paper, a standard deviation is that of the share of so many test rows."""
    return Tables(accuracy, _deviation(accuracy, runs), runs)


def _deviation(accuracy: pd.DataFrame, runs: pd.DataFrame) -> pd.DataFrame:
    n = runs.groupby("dataset")["n_test"].first().reindex(accuracy.index)
    return (accuracy * (100 - accuracy)).div(n, axis=0) ** 0.5


def published() -> Tables:
    """Return the paper's own figures."""
    names = list(PAPERS_SETS)
    return Tables(published_accuracy().loc[names], published_deviations().loc[names])


def _discriminative(tables: Tables) -> Verdict:
    generative, searched = ([f"{name}-ML" for name in names] for names in (GENERATIVE, _SEARCHED))
    rows, lacking = [], []
    for name, row in tables.accuracy.dropna(how="all", subset=searched).dropna(subset=generative).iterrows():
        first, second = str(row[generative].idxmax()), str(row[searched].idxmax())
        sd = tables.deviation[[first, second]].max(axis=1)[str(name)]
        rows.append((name, row[first], row[second], sd, first, second))
        lacking += [f"{name} {method[:-3]}" for method in searched if np.isnan(row[method])]
    pairs = pd.DataFrame(rows, columns=["dataset", "low", "high", "sd", "first", "second"])
    note = _DEVIATIONS + (f"; not run yet: {', '.join(lacking)}" if lacking else "")
    return _judge(pairs, pairs["high"] - pairs["low"] > pairs["sd"], note)


def _margin(tables: Tables) -> Verdict:
    pairs = [(f"{low}-ML", f"TAN-{search}-MM-ML") for search in _SEARCHES for low in (*GENERATIVE, f"TAN-{search}-CR")]
    return _mostly(tables.pairs(*pairs))


def _scores(tables: Tables) -> Verdict:
    pairs = tables.pairs(*((f"TAN-{search}-CR-ML", f"TAN-{search}-MM-ML") for search in _SEARCHES))
    return _judge(pairs, pairs["low"] - pairs["high"] <= pairs["sd"], _DEVIATIONS)


def _searches(tables: Tables) -> Verdict:
    return _mostly(tables.pairs(*((f"TAN-HC-{score}-ML", f"TAN-SA-{score}-ML") for score in _SCORES)))


def _parameters(tables: Tables) -> Verdict:
    pairs = tables.pairs(*((f"{name}-ML", f"{name}-MM") for name in _STRUCTURES)).drop(columns="sd")
    return _judge(pairs, pairs["high"] > pairs["low"])


def _gains(tables: Tables) -> Verdict:
    gains = pd.DataFrame({name: tables.accuracy[f"{name}-MM"] - tables.accuracy[f"{name}-ML"] for name in _STRUCTURES})
    means = [gains[list(names)].mean(axis=1) for names in (_SEARCHED, GENERATIVE)]
    pairs = pd.DataFrame({"low": means[0], "high": means[1]}).dropna().reset_index(names="dataset")
    return _judge(pairs, pairs["high"] > pairs["low"], "; mean gains in points, searched first")


def _similar(tables: Tables) -> Verdict:
    both = tables.best([f"TAN-{search}-MM-MM" for search in _SEARCHES])
    pairs = pd.DataFrame({"low": tables.accuracy["SVM"], "high": both}).dropna().reset_index(names="dataset")
    note = "; the SVM, then the better of hill climbing and annealing"
    return _judge(pairs, pairs["low"] - pairs["high"] <= _CLOSE, note)


def _ahead(tables: Tables) -> Verdict:
    best = tables.best([f"{name}-MM" for name in _STRUCTURES])
    pairs = pd.DataFrame({"low": best, "high": tables.accuracy["SVM"]}).dropna().reset_index(names="dataset")
    pairs = pairs[pairs["dataset"] != "DCMall"]
    gaps = pairs["high"] - pairs["low"]
    return _judge(pairs, (gaps > 0) & (gaps <= _CLOSE), "; the best network, then the SVM")


def _mostly(pairs: pd.DataFrame) -> Verdict:
    return _judge(pairs.drop(columns="sd", errors="ignore"), pairs["high"] > pairs["low"], mostly=True)


def _judge(pairs: pd.DataFrame, met: pd.Series[bool], note: str = "", mostly: bool = False) -> Verdict:
    """Judge the paper's data sets: whether all pairs meet a claim, or most.

    Returns
    -------
    verdict : bool or None
    evidence : str
        How many pairs meet it, those that do not first, with other data sets beside it.
    n : int
        How many pairs there are.
    """
    papers = pairs["dataset"].isin(PAPERS_SETS)
    of_paper, holds = pairs[papers], met[papers]
    if of_paper.empty:
        return None, "not run yet", 0
    beside = f"; beside it, {_tell(pairs[~papers], met[~papers])}" if (~papers).any() else ""
    verdict = holds.mean() > 0.5 if mostly else holds.all()
    return bool(verdict), f"{_tell(of_paper, holds)}{beside}{note}", len(of_paper)


def _tell(pairs: pd.DataFrame, met: pd.Series[bool]) -> str:
    """List pairs of figures, those that do not meet a claim first, and say how many do."""
    told = [
        f"{what} in {len(some)} of {len(pairs)}: {'; '.join(map(_tell_pair, some.itertuples()))}"
        for what, some in (("not so", pairs[~met]), ("so", pairs[met])) if len(some)
    ]  # fmt: skip
    return "; ".join(told)


#: Claims on Tables 1 and 2: what is claimed, how it is judged, and on how many comparisons in the paper.
CLAIMS: list[tuple[str, Callable[[Tables], Verdict], int]] = [
    (
        "The best discriminative structures significantly outperform NB and the generative tree (ML parameters).",
        _discriminative,
        4,
    ),
    (
        "Maximum-margin structures mostly outperform other generative and discriminative ones (ML parameters): each of "
        "the two searches by MM against NB, the generative tree and the same search by CR.",
        _margin,
        24,
    ),
    (
        "On every data set the MM score leads to structures as good as CR's, or better, by the same search.",
        _scores,
        8,
    ),
    (
        "Annealing mostly finds better structures than hill climbing, by the same score.",
        _searches,
        8,
    ),
    (
        "MM parameters are better than ML ones on the same structure.",
        _parameters,
        24,
    ),
    (
        "They gain most where the structure is not made for classification: NB and the generative tree.",
        _gains,
        4,
    ),
    (
        f"With MM structure and parameters networks are similar to an SVM: at most {_CLOSE:.0f} points below.",
        _similar,
        4,
    ),
    (
        f"On MNIST, USPS and Spambase the SVM is slightly better than every network: by at most {_CLOSE:.0f} points.",
        _ahead,
        3,
    ),
]


def _tell_pair(row: Any) -> str:
    """Name two figures, with the data set, the methods and the rows that they are of."""
    names = (f"{row.first} ", f"{row.second} ") if hasattr(row, "first") else ("", "")
    rows = f" from {row.rows} rows" if getattr(row, "rows", 0) else ""
    deviation = f" (± {row.sd:.2f})" if hasattr(row, "sd") else ""
    return f"{row.dataset}{rows} {names[0]}{row.low:.2f}, {names[1]}{row.high:.2f}{deviation}"


def add_claims(page: Page, results: Results, runs: pd.DataFrame, accuracy: pd.DataFrame, hidden: pd.DataFrame) -> None:
    """List the paper's claims, each with its verdict."""
    measured, theirs = ours(accuracy, runs), published()
    failed = [text for text, judge, _ in CLAIMS if not judge(theirs)[0]]
    page.section("How claims are judged")
    page.text(
        "Of several runs the one of the best score in training counts. Verdicts rest on the paper's data sets; those "
        "of which we have no rows count as comparisons that were not made, and the ten digits stand beside. The paper "
        "does not say how it tests. Its standard deviations are binomial, √(p(1 - p)/n) for an accuracy p on n test "
        'rows: "significantly" is read as more than one of them, "as good" as at most one below. "Mostly" is more than '
        "half. Structures of two searches are compared where both learned from the same rows."
    )
    page.text(_with_ten_digits(accuracy, runs, measured))
    met = "meet each of the claims below on them" if not failed else f"do not meet: {' '.join(failed)}"
    page.text(f"By the same rules the paper's own Tables 1 and 2 {met}.")
    few = figures.fewer_runs(runs)
    if few:
        page.text(f"Annealing has fewer runs than the paper's so far: {few}.")
    for text, judge, wanted in CLAIMS[:4]:
        _add(page, text, judge(measured), wanted)
    _claim_evaluations(page, runs)
    for text, judge, wanted in CLAIMS[4:]:
        _add(page, text, judge(measured), wanted)
    _claim_sizes(page, results, runs, accuracy)
    _claim_schedules(page, results, runs)
    _claim_hidden(page, results, hidden)
    page.text(_CHANGED)


def _with_ten_digits(accuracy: pd.DataFrame, runs: pd.DataFrame, measured: Tables) -> str:
    """Say which verdicts and averages change where the ten digits stand in the place of USPS."""
    ten, usps = figures.title(protocol.TEN_DIGITS), figures.title(protocol.USPS)
    if not {ten, usps} <= set(accuracy.index):
        return "The ten digits were not run yet."
    names = {ten: usps, usps: f"{usps}, eight digits"}
    others = accuracy.rename(index=names)
    other = ours(others, runs.assign(dataset=runs["dataset"].replace(names)))
    turned = [(text, judge(other)[0]) for text, judge, _ in CLAIMS if judge(measured)[0] != judge(other)[0]]
    listed = " ".join(f"{text} ({'yes' if holds else 'no'})" for text, holds in turned)
    told = f"these verdicts would change: {listed}" if turned else "no verdict on Tables 1 and 2 would change."
    theirs = published_accuracy()
    pair = (with_averages(*tables, PAPERS_SETS) for tables in ((others, theirs), (theirs, others)))
    cells = compare_cells(*(table.loc[[AVERAGE]] for table in pair))
    averages = ", ".join(
        f"{row.method} {row.ours:.2f} ({row.published:.2f})"
        for row in cells[cells["deviation"] == "below"].itertuples()
    )
    below = (
        f" More than a point below the published average, to two decimals, would be: {averages}." if averages else ""
    )
    return f"With the ten digits in the place of USPS, which has eight here, {told}{below}"


def _add(page: Page, text: str, verdict: Verdict, wanted: int, unit: str = "comparisons") -> None:
    holds, told, n = verdict
    page.claim(text, holds, told, (n, wanted), unit)


def _claim_evaluations(page: Page, runs: pd.DataFrame) -> None:
    pairs = []
    for score in _SCORES:
        both = on_same_rows(runs, f"TAN-HC-{score}", f"TAN-SA-{score}", "evaluations").assign(score=score)
        pairs.append(both.reset_index(names="dataset"))
    every = pd.concat(pairs, ignore_index=True)
    every["times"] = every["low"] / every["high"]
    of_paper = every[every["dataset"].isin(PAPERS_SETS)]
    many = of_paper[of_paper["dataset"].isin(_MANY_FEATURES)]
    claim = "Annealing takes fewer evaluations of the score than hill climbing."
    others = every[~every["dataset"].isin(PAPERS_SETS)]
    told = _tell_times(of_paper) + (f"; beside it, {_tell_times(others)}" if len(others) else "")
    _add(page, claim, (bool((of_paper["times"] > 1).all()) if len(of_paper) else None, told, len(of_paper)), 8)
    claim = f"With many features (MNIST, USPS, DCMall) about ten times fewer ({_ABOUT_TEN:.0f} times and more count)."
    holds = bool((many["times"] >= _ABOUT_TEN).all()) if len(many) else None
    _add(page, claim, (holds, _tell_times(many), len(many)), 6)


def _tell_times(pairs: pd.DataFrame) -> str:
    rows: list[Any] = list(pairs.itertuples())
    listed = [
        f"{row.dataset}{f' from {row.rows} rows' if row.rows else ''}, {row.score}: {row.low:.0f} and {row.high:.0f}, "
        f"{row.times:.1f} times"
        for row in rows
    ]
    return "; ".join(listed) or "not run yet"


def _claim_sizes(page: Page, results: Results, runs: pd.DataFrame, accuracy: pd.DataFrame) -> None:
    sizes = model_sizes(results, runs, accuracy)
    wide = sizes.pivot(index="dataset", columns="kind", values="ours").reindex(columns=["tree", "SVM"]).dropna()
    wide = wide.loc[[name for name in wide.index if name in _SVM_AHEAD]].astype(float)
    times = wide["SVM"] / wide["tree"]
    told = ", ".join(f"{name} {value:.0f} times" for name, value in times.items()) or "not run yet"
    text = (
        "Where the SVM is ahead (MNIST, USPS, Spambase), the best tree is dramatically smaller (107, 44 and 57 times; "
        f"{_DRAMATICALLY:.0f} times and more count)."
    )
    _add(page, text, (bool((times >= _DRAMATICALLY).all()) if len(times) else None, told, len(times)), 3, "data sets")


def model_sizes(results: Results, runs: pd.DataFrame, accuracy: pd.DataFrame) -> pd.DataFrame:
    """Return the sizes of naive Bayes, of the tree of the highest accuracy and of the SVM.

    Returns
    -------
    frame
        ``dataset``, ``kind`` (NB, tree or SVM), ``model`` and ``ours``.
    """
    best = figures.chosen(runs[runs["rows"] == 0], "score").set_index(["dataset", "structure"])["size"]
    svm = {figures.title(str(row.dataset)): row.size for row in results.frame("SVM").itertuples()}
    rows = []
    for name in accuracy.index:
        trees = accuracy.filter(regex="^TAN").loc[name].dropna()
        tree = str(trees.idxmax()) if len(trees) else "tree"
        sizes = (("NB", "NB", best.get((name, "NB"))), ("tree", tree, best.get((name, tree[:-3]))))
        rows += [(name, *one) for one in (*sizes, ("SVM", "SVM", svm.get(name)))]
    return pd.DataFrame(rows, columns=["dataset", "kind", "model", "ours"])


def schedule_runs(results: Results, runs: pd.DataFrame, structure: str) -> pd.DataFrame:
    """Return the runs of an annealed structure on USPS with each cooling factor, the paper's included."""
    swept = results.frame("schedules")
    of_structure = swept[swept["structure"] == structure] if len(swept) else swept
    same = runs[(runs["file"] == protocol.USPS) & (runs["structure"] == structure) & (runs["rows"] == 0)]
    return pd.concat([of_structure, same.assign(D=PAPERS_SCHEDULE)], ignore_index=True)


def _claim_schedules(page: Page, results: Results, runs: pd.DataFrame) -> None:
    verdicts, told, done = [], [], 0
    for structure in protocol.ANNEALED:
        both = schedule_runs(results, runs, structure)
        kept = both[both["D"] <= PAPERS_SCHEDULE]
        done += len(kept)
        medians = kept.groupby("D")[["evaluations", "accuracy"]].median()
        if not {min(SCHEDULES), PAPERS_SCHEDULE} <= set(medians.index):
            continue
        usual, faster = medians.loc[PAPERS_SCHEDULE], medians.drop(index=PAPERS_SCHEDULE)
        sd = float(np.sqrt(usual["accuracy"] * (100 - usual["accuracy"]) / kept["n_test"].iloc[0]))
        fewer, similar = faster["evaluations"] < usual["evaluations"], usual["accuracy"] - faster["accuracy"] <= sd
        verdicts.append(bool((fewer & similar).any()))
        listed = ", ".join(
            f"D = {row.Index} {row.evaluations:.0f} and {row.accuracy:.2f}" for row in medians.itertuples()
        )
        told.append(f"{structure}: {listed}")
    text = (
        "On USPS a faster schedule than D = 0.8 may take fewer evaluations at a similar accuracy (within one standard "
        "deviation)."
    )
    evidence = f"median evaluations and accuracy (%): {'; '.join(told)}" if told else "not run yet"
    wanted = 2 * RUNS * sum(D <= PAPERS_SCHEDULE for D in SCHEDULES)
    _add(page, text, (all(verdicts) if verdicts else None, evidence, done), wanted, "runs")


def _claim_hidden(page: Page, results: Results, means: pd.DataFrame) -> None:
    done = BATCH * len(results.records("figure 5"))
    margin = "NB-MM is above NB-ML with features missing, up to 150 of 191 (here: as large a part of satellite's)."
    counted = "counted so where it falls below NB-ML, here on satellite"
    svm = f"An SVM with means for missing features degrades heavily ({counted})."
    for text, judge in ((margin, _judge_margin), (svm, _judge_means)):
        holds, told = judge(means) if len(means) else (None, "not run yet")
        _add(page, text, (holds, f"{told}; DCMall is not available", done), DRAWS, "draws")


def _judge_margin(means: pd.DataFrame) -> tuple[bool, str]:
    some = means[(means.index > 0) & (means.index <= _CAUGHT_UP * protocol.SATELLITES_FEATURES)]
    gains = some["NB-MM"] - some["NB-ML"]
    return bool((gains > 0).all()), ", ".join(f"{gain:+.2f} points with {n} missing" for n, gain in gains.items())


def _judge_means(means: pd.DataFrame) -> tuple[bool, str]:
    gains = means["SVM, means"] - means["NB-ML"]
    below = gains.index[gains < 0]
    where = f"below it from {below[0]} missing features on" if len(below) else "nowhere below it"
    told = ", ".join(f"{gain:+.2f} with {n} missing" for n, gain in gains.items())
    return bool(gains.iloc[0] > 0 and len(below)), f"points above NB-ML: {told}; {where}"


_CHANGED = (
    "Of the results that ship, rules that changed after they had been seen: the ten digits counted as a data set of "
    "the paper, and the published figures of USPS twice in averages; of two figures that are the same the second "
    'counted as better; MM was compared with CR by the better of two searches, without room for "as good", so that '
    "the paper's own figures did not meet its claim; that margins outperform generative structures was one claim with "
    "NB being below the generative tree, and did not ask for significance; with features missing NB-MM had to be above "
    "NB-ML at more than half of the numbers, not at all that the paper names, and that was one claim with the SVM's; "
    '"slightly better" had no bound. One verdict turned: that margins outperform others was no when it was asked of '
    'all data sets; it is yes with the "mostly" of the paper\'s conclusion. Claims that '
    "were added when tables had been seen: that margins mostly outperform others, fewer evaluations on all data sets, "
    "where MM parameters gain most, that SVMs are slightly better, the sizes of models, and faster schedules."
)
