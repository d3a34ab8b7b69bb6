"""Where our figures part from the published ones: which are off, and what was tested as the reason."""

from __future__ import annotations

import pandas as pd

from bnplug_papers.kit import NOT_EXPLAINED, Page, Results, Variant, averaged, compare_cells, explain, with_averages
from bnplug_papers.pernkopf2013 import figures
from bnplug_papers.pernkopf2013.figures import PAPERS_SETS, published_accuracy
from bnplug_papers.pernkopf2013.protocol import DRAWN, GIVEN


def add_differences(page: Page, results: Results, runs: pd.DataFrame, ours: pd.DataFrame) -> None:
    """Add what is off, each figure with a reason that was tested, or none."""
    page.section("Where we part from the paper")
    theirs = published_accuracy()
    cells = compare_cells(*(with_averages(*pair, PAPERS_SETS) for pair in ((ours, theirs), (theirs, ours))))
    ways = [way for way in find_ways(results, runs, ours) if way.figures.notna().any(axis=None)]
    reasons = explain(cells, [averaged(way, ours, theirs, PAPERS_SETS) for way in ways])
    unexplained = int((reasons["reason"] == NOT_EXPLAINED).sum())
    n_below, n_above = ((reasons["deviation"] == side).sum() for side in ("below", "above"))
    page.text(
        f"Of {len(cells)} figures of Tables 1 and 2, averages and the ten digits included, {len(reasons)} are off: "
        f"{n_below} more than a point below, {n_above} more than "
        f"four above the published one. {len(reasons) - unexplained} of them have a reason that was tested, "
        f"{unexplained} have none."
    )
    page.text(
        f"What was tried, in this order: {'; '.join(way.name for way in ways)}. A reason names the figure with it and, "
        "in brackets, what it changes. Parameters learned otherwise are those of the same trees. Where rows are drawn "
        "(of the ten digits, as many as the file sets apart), the change is that of one run on both, added to our "
        "figure. A way is the reason of an average only if it also brings the figures of the data sets nearer to the "
        "published ones."
    )
    if len(reasons):
        shown = reasons.drop(columns="deviation").rename(columns={"dataset": "data set"})
        page.table(shown, "Every figure that is off.")


def find_ways(results: Results, runs: pd.DataFrame, ours: pd.DataFrame) -> list[Variant]:
    """Return what was done otherwise, the likeliest reason first."""
    drawn, given = (figures.split_figures(results, which) for which in (DRAWN, GIVEN))
    best_in_testing = figures.accuracies(results, runs, "accuracy")
    learned = [Variant(f"parameters by {way}", table) for way, table in figures.other_ways(results, runs).items()]
    # Given rows were learned from anew where chance decides; the other figures on them are ours.
    return [
        Variant("rows drawn by class", drawn, given.combine_first(ours)),
        Variant("the run that is best on the test rows", best_in_testing),
        *learned,
    ]
