"""Where our figures part from the published ones: which are off, and what was tested as the reason."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from bnplug_papers.kit import (
    AVERAGE,
    MARKED,
    NOT_EXPLAINED,
    Page,
    Results,
    Variant,
    compare_cells,
    explain,
    side_by_side,
    variant_effect,
)
from bnplug_papers.peharz2013 import figures
from bnplug_papers.peharz2013.protocol import FURTHER, MCL, MCL_END, OURS, STEPS, THIRD


def add_published(page: Page, results: Results, folds: pd.DataFrame) -> None:
    """Add the published figures of Table 1 with ours, and the reasons of those that are off."""
    page.section("Table 1: what survives of the published figures")
    ours, theirs = figures.means_of(folds).where(figures.whole(folds)), figures.table_1()
    papers = theirs.drop(index=list(FURTHER))
    shown = side_by_side(ours, papers, mark_averages=True)
    further = side_by_side(ours[ours.index.isin(FURTHER)], theirs)
    page.table(
        pd.concat([shown, further[further["data set"] != AVERAGE]]),
        f"Accuracy (%), ours (published). {MARKED} How the paper stops MCL is not said: TAN {MCL} is stopped by "
        f"validation, TAN {MCL_END} takes {STEPS[-1]} steps. Only sets with all folds are shown. "
        f"Averages are over what both have; {', '.join(FURTHER)}, another file of USPS, is not in them.",
    )
    absent = papers.loc[[name for name in papers.index if name not in ours.index], ["TAN ML", f"TAN {MCL}"]]
    if len(absent):
        told = "; ".join(f"{name}: {_told(row)}" for name, row in absent.iterrows())
        page.text(f"Published figures of sets without one of ours: {told}.")
    ours, theirs = figures.with_averages(ours, theirs)
    cells, ways = compare_cells(ours, theirs), figures.other_ways(results, ours)
    listed = explain(cells, ways, *figures.spread_of_draws(results))
    if len(listed):
        _add_reasons(page, results, cells, ways, listed)


def _told(row: pd.Series[float]) -> str:
    return ", ".join(f"{method} {value:.2f}" for method, value in row.dropna().items())


def _add_reasons(
    page: Page, results: Results, cells: pd.DataFrame, ways: Sequence[Variant], listed: pd.DataFrame
) -> None:
    unexplained = int((listed["reason"] == NOT_EXPLAINED).sum())
    draws = results.frame("other draws")
    drawn = (
        f"The folds of ML and MCL were drawn up to {draws['draw'].nunique()} times more. Two single draws differ by no "
        "more than the number after ± in nineteen of twenty cases: Student's quantile times the root of two times the "
        "standard deviation of the draws. A difference within that is put down to the draw. Where the test rows "
        "are the usual ones, and so no draw, the mean of the draws is another way."
        if len(draws)
        else "Other draws of the folds were not run yet, so that no figure has the draw as its reason."
    )
    page.table(
        listed.drop(columns="deviation").rename(columns={"dataset": "data set"}),
        f"{len(listed)} of {len(cells)} figures are off, averages included; {len(listed) - unexplained} of them have a "
        f"reason that was tested, {unexplained} have none. {drawn} Else one thing was done in another way, on the same "
        "folds where the rows are the same, and it is the reason where the figure is no longer off.",
    )
    if not ways:
        return
    page.table(
        pd.DataFrame([{"with": way.name, **variant_effect(way, cells)} for way in ways]).drop(columns="changed"),
        "How telling a way is: the figures that it was tried for, those of them that are off, those of these that with "
        "it are no longer, and those that with it are off and else are not."
        + ("" if len(results.records("other ways")) else " Other ways to treat the data were not run yet."),
    )


def add_likelihoods_beside(page: Page, ours: pd.DataFrame, theirs: pd.DataFrame, covered: str) -> None:
    """Add mean likelihoods beside the published ones, training and test rows by methods, with reasons."""
    shown = side_by_side(ours, theirs)
    page.table(
        shown[shown["data set"] != AVERAGE].rename(columns={"data set": "rows"}),
        f"LL(ML) / LL(classifier) in per cent, NB and TAN together: the mean over folds, then over data sets, ours "
        f"(published). {MARKED} {covered}",
    )
    listed = explain(compare_cells(ours, theirs), figures.ways_to_stop(ours))
    if len(listed):
        page.table(
            listed.drop(columns="deviation").rename(columns={"dataset": "rows"}),
            "Those that are off, with the reason if stopping MCL in the other way is one. The data sets are fewer than "
            "the paper's.",
        )


def add_differences(page: Page, results: Results) -> None:
    """Say what is done otherwise than in the paper."""
    page.section("Where we part from the paper")
    tried = any(record["key"]["way"] == THIRD for record in results.records("other ways"))
    third = f"a third of the rows for testing {'is one of the other ways' if tried else 'was not tried yet'}"
    page.text(
        "The problem is solved by accelerated projected gradient descent in a metric of the counts, and each "
        "projection is exact, where the paper takes plain projected gradient steps and a few iterations of the "
        f"projection. The folds and splits of the paper are not known; {third}. The width of its Gaussian kernel is "
        "taken as sigma in exp(-d² / (2 sigma²)); its linear SVM is LIBSVM's, ours is liblinear's; LR has "
        f"scikit-learn's penalty of 1. Of settings with the same held-out accuracy, {OURS} takes the smallest lam, "
        "then the smallest gamma."
    )
