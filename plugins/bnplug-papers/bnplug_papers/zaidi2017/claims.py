"""What Zaidi et al. (2017) claim, judged by our figures, for each structure by what the paper says of it."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product
from typing import NamedTuple

import pandas as pd

from bnplug_papers.kit import Page
from bnplug_papers.zaidi2017.protocol import LETTERS, MAX_ITER, MAX_ITER_OF_MANY, ROUNDS, STRUCTURES
from bnplug_papers.zaidi2017.tables import (
    LEVEL,
    PAPERS,
    Figures,
    RankTests,
    count_wins,
    error_means,
    geometric_means,
    of_structure,
    rank_tests,
    tell_rounds,
    times_of_w,
)


class Stated(NamedTuple):
    """What the paper says of a training time against w's, in words and short, and what counts as that here."""

    words: str
    short: str
    least: float


#: Sections 7.1 to 7.3, by structure and letter.
STATED = {
    ("NB", "d"): Stated("almost twice as long as", "almost 2", 1.5),
    ("NB", "e"): Stated("an order of magnitude longer than", "an order of magnitude", 10.0),
    ("TAN", "d"): Stated("almost twice as long as", "almost 2", 1.5),
    ("TAN", "e"): Stated("orders of magnitude longer than", "orders of magnitude", 100.0),
    ("KDB-1", "d"): Stated("longer than", "more than 1", 1.0),
    ("KDB-1", "e"): Stated("longer than", "more than 1", 1.0),
}

_Coverage = tuple[tuple[int, int], str]


def cover(sets: int, group: str, rounds: str, fewest: int) -> _Coverage:
    """Return how many of the paper's data sets, or if all, of its rounds, a verdict rests on, and what these are.

    Examples
    --------
    >>> cover(64, "All", "2 of 5 rounds", 2)
    ((64, 72), 'data sets, 2 of 5 rounds')
    >>> cover(12, "Big", "2 of 5 rounds", 2)
    ((2, 5), 'rounds')
    """
    if sets >= PAPERS[group]:
        return (fewest, ROUNDS), "rounds"
    return (sets, PAPERS[group]), ", ".join(filter(None, ("data sets", rounds)))


def _cover_compared(figures: Figures, sets: int, group: str = "All", cut: bool = False) -> _Coverage:
    """Return what the comparison of w, d and e covers; if `cut`, with how many sets had fewer iterations."""
    rounds = figures.rounds.values()
    covered = cover(sets, group, tell_rounds(rounds), min(rounds))
    return _with_cut(figures, covered, figures.compared["seconds"].index) if cut else covered


def _with_cut(figures: Figures, covered: _Coverage, names: Iterable[object]) -> _Coverage:
    """Add to what a verdict covers how many of some data sets had fewer iterations than the paper's."""
    fewer = sum(name not in figures.whole for name in names)
    if not figures.is_cut or not fewer:
        return covered
    told = f"data sets ({fewer} with {MAX_ITER_OF_MANY} iterations at most)"
    return covered[0], covered[1].replace("data sets", told)


def judge_wins(page: Page, figures: Figures, counts: pd.DataFrame) -> None:
    """Judge on all three structures whether w is significantly lower, or of variance, higher."""
    claims = [
        ("Discriminative learning has significantly lower bias than generative.", 4, "Bias", "All"),
        ("It has higher variance.", 4, "Variance", "All"),
        ("On big data sets it has much lower 0-1 loss.", 4, "0-1 Loss", "Big"),
        ("On big data sets it has much lower RMSE.", 4, "RMSE", "Big"),
    ]
    for (number, rival), steps in product(((5, "d"), (6, "e")), (5, 10, 50)):
        claim = f"After {steps} iterations from zeros w has a significantly lower NLL than {rival}."
        claims.append((claim, number, f"NLL ({steps})", "All"))
    for claim, number, measure, group in claims:
        rows = counts[counts[["table", "measure", "datasets"]].eq([number, measure, group]).all(axis=1)]
        if rows.empty:
            page.claim(claim, None, "fewer than two such data sets were there")
            continue
        ahead = rows["win"] < rows["loss"] if measure == "Variance" else rows["win"] > rows["loss"]
        told = "; ".join(f"{r.comparison}: {r.win}/{r.draw}/{r.loss}, p = {r.p:.3f}" for r in rows.itertuples())
        told += _tell_more(figures, number, measure) if group == "Big" else ""
        sets = int(rows[["win", "draw", "loss"]].sum(axis=1).min())
        rounds = figures.rounds.values() if number > 4 else [figures.rounds_of_wins]
        covered = cover(sets, group, tell_rounds(rounds), min(rounds))
        if number == 4:
            names = figures.measure(measure, number).index
            covered = _with_cut(figures, covered, [name for name in names if group == "All" or name in figures.big])
        page.claim(claim, bool((ahead & (rows["p"] <= LEVEL)).all()), told, *covered)
    for rival in ("d", "e"):
        _judge_more_nll(page, figures, rival)


def _judge_more_nll(page: Page, figures: Figures, rival: str) -> None:
    """Judge the NLL of w and another on Big sets (appendix D) and from the generative estimates (section 7.4)."""
    after = "after 5, 10 and 50 iterations"
    for claim, start, suffix, group in (
        (f"On big data sets w has a significantly lower NLL than {rival} {after} from zeros.", "zeros", "", "Big"),
        (f"From the generative estimates, too, w has a lower one than {rival} {after}.", "generative", "(I)", "All"),
    ):
        listed, verdicts, sets = [], [], []
        for steps, structure in product((5, 10, 50), STRUCTURES):
            pair = [f"{structure}{letter}{suffix}" for letter in ("w", rival)]
            table = figures.compared[f"{start}_{steps}"]
            table = (table if group == "All" else table[table.index.isin(figures.big)])[pair].dropna()
            if len(table) < 2:
                return
            won = count_wins(table, pair[0], pair[1])
            listed.append(f"{structure} ({steps}): {won.win}/{won.draw}/{won.loss}, p = {won.p_value:.3f}")
            verdicts.append(won.win > won.loss and won.p_value <= LEVEL)
            sets.append(len(table))
        page.claim(claim, all(verdicts), "; ".join(listed), *_cover_compared(figures, min(sets), group))


def _tell_more(figures: Figures, number: int, measure: str) -> str:
    """Count once more with the sets that are Big in the paper alone, where w is against the generative classifiers."""
    names = figures.big_in_paper
    if not names:
        return ""
    table = figures.measure(measure, number)
    chosen = table[table.index.isin([*figures.big, *names])]
    won = [count_wins(chosen, f"{structure}w", structure) for structure in STRUCTURES]
    listed = ", ".join(f"{wins.win}/{wins.draw}/{wins.loss} (p = {wins.p_value:.3f})" for wins in won)
    holds = all(wins.win > wins.loss and wins.p_value <= LEVEL for wins in won)
    return (
        f"; tested beside it: with {', '.join(names)}, Big in the paper but not here, {listed}, which would be "
        f"{_yes(holds)}"
    )


def _yes(holds: bool) -> str:
    return '"yes"' if holds else '"no"'


def judge_comparison(page: Page, figures: Figures, tests: RankTests) -> None:
    """Judge errors, times, iterations and ranks of w, d and e."""
    sets = len(figures.compared["seconds"].dropna())
    for structure in STRUCTURES:
        page.claim(*_judge_errors(figures, structure), *_cover_compared(figures, sets, cut=True))
    covered = _cover_compared(figures, sets)
    further = figures.compared["further"].mean()
    d, e = (float(further[[f"{name}{letter}" for name in STRUCTURES]].mean()) for letter in ("d", "e"))
    told = f"{d:.1f} and {e:.1f} on average; half as many count as agreement"
    claim = "After 5 iterations w is about 10 iterations ahead of d and 15 ahead of e."
    page.claim(claim, d >= 5 and e >= 7.5, told, *covered)
    covered = _cover_compared(figures, sets, cut=True)
    _judge_times(page, figures, covered)
    _judge_generative_times(page, figures, covered)
    beside = rank_tests(figures, figures.whole) if figures.is_cut else None
    for structure in STRUCTURES:
        _judge_ranks(page, structure, tests, beside, covered)
    big = figures.compared["zero_one"].index.isin(figures.big).sum()
    claim = "The three have the same accuracy on big data sets."
    page.claim(claim, *_judge_accuracy(figures), *_cover_compared(figures, int(big), "Big"))


#: What section 7 says of Figures 5, 8 and 11.
_BETTER = {
    "NB": "NBw, NBd and NBe have lower geometric means of 0-1 loss and RMSE than NB, and on big data sets more so.",
    "TAN": "TANw, TANd and TANe have lower geometric means of 0-1 loss and RMSE than TAN.",
    "KDB-1": "KDB-1w, KDB-1d and KDB-1e have lower geometric means of 0-1 loss and RMSE than KDB-1.",
}


def _judge_errors(figures: Figures, structure: str) -> tuple[str, bool, str]:
    """Judge whether geometric means of errors are below the generative classifier's (Figures 5, 8 and 11)."""
    means = error_means(figures, structure)
    means = means[means["method"] != structure]
    groups = {str(group): table.set_index("method") for group, table in means.groupby("data sets", sort=False)}
    listed, holds = [], True
    for (group, table), (figure, label) in product(groups.items(), {"zero_one": "0-1 loss", "rmse": "RMSE"}.items()):
        holds &= bool((table[figure] < 1).all())
        # "Especially on Big datasets" is said of NB alone.
        if structure == "NB" and group == "Big":
            holds &= bool((table[figure] < groups["All"][figure]).all())
        listed.append(f"{group}, {label}: {_list_letters(table[figure], structure)}")
    every = geometric_means(of_structure(figures.compared["rmse"], structure), structure)
    told = f"in times of the generative, below 1 counts: {'; '.join(listed)}"
    return _BETTER[structure], holds, f"{told}; RMSE with no set left out: {_list_letters(every, structure)}"


def _list_letters(means: pd.Series[float], structure: str) -> str:
    return ", ".join(f"{letter} {float(means[f'{structure}{letter}(I)']):.3f}" for letter in LETTERS)


def _judge_times(page: Page, figures: Figures, covered: _Coverage) -> None:
    """Judge the training times of d and e in times of w's (Figures 6b, 9b and 12b)."""
    times = times_of_w(figures, "seconds")
    beside = times_of_w(figures, "seconds", figures.whole) if figures.is_cut else {}
    for (structure, letter), stated in STATED.items():
        name = f"{structure}{letter}"
        holds = _is_as_long(times[name], stated.least)
        told = f"{times[name]:.2f} times as long; "
        told += f"{stated.least:g} and more counts" if stated.least > 1 else "more than 1 counts"
        if beside:
            same = _is_as_long(beside[name], stated.least)
            told += (
                f"; {beside[name]:.2f} on the {len(figures.whole)} sets with {MAX_ITER} iterations, where it would "
                f"be {_yes(same)}"
            )
        page.claim(f"{name} takes {stated.words} {structure}w.", holds, told, *covered)


def _is_as_long(times: float, least: float) -> bool:
    return times >= least if least > 1 else times > 1


def _judge_generative_times(page: Page, figures: Figures, covered: _Coverage) -> None:
    """Judge the training times against generative learning (Figures 6a, 9a and 12a)."""
    for structure in STRUCTURES:
        table = of_structure(figures.compared["seconds"], structure)
        names = [f"{structure}{letter}(I)" for letter in LETTERS]
        groups = {
            group: geometric_means(table.loc[sets], structure) for group, sets in figures.groups(structure).items()
        }
        listed = [", ".join(f"{name} {means[name]:.0f}" for name in names) for means in groups.values()]
        told = "; ".join(f"{group}: {text}" for group, text in zip(groups, listed, strict=True))
        if structure == "KDB-1":
            how, counted = "significantly longer", "by a sign test"
            won = [count_wins(table, structure, name) for name in names]
            holds = all(wins.win > wins.loss and wins.p_value <= LEVEL for wins in won)
        else:
            how, counted = "orders of magnitude longer", "100 and more on all sets counts"
            holds = bool((groups["All"][names] >= 100).all())
        claim = f"Discriminative learning takes {how} than generative, with {structure}."
        page.claim(claim, holds, f"in times of the generative, {told}; {counted}", *covered)


def _judge_ranks(page: Page, structure: str, tests: RankTests, beside: RankTests | None, covered: _Coverage) -> None:
    """Judge whether w is first in time and iterations, and whether significantly (Figures 20 to 22)."""
    groups = {"": _compare_ranks(structure, tests)}
    if beside is not None:
        groups[f"with {MAX_ITER} iterations, "] = _compare_ranks(structure, beside)
    significant = structure != "KDB-1"
    how = "significantly " if significant else ""
    claim = f"{structure}w is {how}before {structure}d and {structure}e in training time and in iterations."
    told = "; ".join(f"{group}{what}: {gaps.tell()}" for group, both in groups.items() for what, gaps in both.items())
    holds = all(gaps.is_first(significant) for gaps in groups[""].values())
    page.claim(claim, holds, f"how far average ranks are behind w's: {told}", *covered)
    if not significant:
        _judge_small_gap(page, structure, groups, covered)


def _judge_small_gap(page: Page, structure: str, groups: dict[str, dict[str, _Gaps]], covered: _Coverage) -> None:
    """Judge whether w and d do not differ significantly, as the paper says of KDB-1, without saying in what."""
    notes = {
        "training time": "",
        "iterations": "; the paper does not say whether it means time, iterations or both; by its Figure 22b, where d "
        "is last and the test is called powerful, it can only mean time",
    }
    for what, note in notes.items():
        gaps = {group: both[what] for group, both in groups.items()}
        told = "; ".join(
            f"{group}d is {gap.behind[f'{structure}d']:.2f} behind w in average rank, critical difference "
            f"{gap.critical:.2f}"
            for group, gap in gaps.items()
        )
        claim = f"The difference between {structure}w and {structure}d is not significant, in {what}."
        page.claim(claim, abs(gaps[""].behind[f"{structure}d"]) < gaps[""].critical, told + note, *covered)


class _Gaps(NamedTuple):
    """How far d and e are behind w in average rank, and how far is significant."""

    behind: dict[str, float]
    critical: float

    def is_first(self, significantly: bool) -> bool:
        return all(gap >= self.critical if significantly else gap > 0 for gap in self.behind.values())

    def tell(self) -> str:
        return ", ".join(
            f"{name} {gap:.2f}{'' if gap >= self.critical else ' (not significant)'}"
            for name, gap in self.behind.items()
        )


def _compare_ranks(structure: str, tests: RankTests) -> dict[str, _Gaps]:
    """Return for time and iterations how far d and e are behind w."""
    gaps = {}
    for figure, what in (("seconds", "training time"), ("n_iter", "iterations")):
        test, after = tests[structure, figure]
        ranks = {f"{structure}{letter}": float(test.average_ranks[f"{structure}{letter}(I)"]) for letter in LETTERS}
        first = ranks.pop(f"{structure}w")
        behind = {name: rank - first for name, rank in ranks.items()}
        gaps[what] = _Gaps(behind, float(after.critical_difference))
    return gaps


def _judge_accuracy(figures: Figures) -> tuple[bool | None, str]:
    """Ask whether the 0-1 losses of the three are within one point on every big data set."""
    table = figures.compared["zero_one"]
    big = table[table.index.isin(figures.big)]
    if big.empty:
        return None, "no such data set was there"
    three = {structure: of_structure(big, structure, started=True) for structure in STRUCTURES}
    spreads = {name: 100 * (losses.max(axis=1) - losses.min(axis=1)) for name, losses in three.items()}
    listed = ", ".join(f"{name} {spread.max():.2f} ({spread.idxmax()})" for name, spread in spreads.items())
    holds = all(spread.max() < 1.0 for spread in spreads.values())
    return holds, (
        f"largest difference in points: {listed}; less than one counts as the same; at most {MAX_ITER_OF_MANY} "
        "iterations, not tested with more"
    )
