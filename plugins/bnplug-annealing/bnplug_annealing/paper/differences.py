"""Where our figures part from the published ones: which are off, and what was tested as the reason."""

from __future__ import annotations

import pandas as pd

from bnplug.experiments import Page
from bnplug.experiments.paper import NOT_EXPLAINED, Results, Way, compare_cells, explain
from bnplug_annealing.paper import figures
from bnplug_annealing.paper.figures import AVERAGE, published_accuracy, with_average
from bnplug_annealing.paper.protocol import DRAWN, GIVEN


def add_differences(page: Page, results: Results, runs: pd.DataFrame, ours: pd.DataFrame) -> None:
    """Add what is off, each figure with a reason that was tested, or none."""
    page.section("Where we part from the paper")
    theirs = published_accuracy()
    cells = compare_cells(with_average(ours, theirs), with_average(theirs, ours))
    ways = [way for way in find_ways(results, runs, ours) if way.figures.notna().any(axis=None)]
    reasons = explain(cells, [averaged(way, ours, theirs) for way in ways])
    unexplained = int((reasons["reason"] == NOT_EXPLAINED).sum())
    page.text(
        f"Of {len(cells)} figures of Tables 1 and 2, averages and the ten digits included, {len(reasons)} are off: "
        f"{(reasons['off'] == 'below').sum()} more than a point below, {(reasons['off'] == 'above').sum()} more than "
        f"four above the published one. {len(reasons) - unexplained} of them have a reason that was tested, "
        f"{unexplained} have none."
    )
    page.text(
        f"What was tried, in this order: {'; '.join(way.name for way in ways)}. A reason names the figure with it. "
        "Parameters learned otherwise are those of the same trees. Where rows are drawn (of the ten digits, as many as "
        "the file sets apart), what that changes is measured by one run, the same on both, and added to our figure; "
        "the change is in brackets."
    )
    if len(reasons):
        shown = reasons.drop(columns="off").rename(columns={"dataset": "data set"})
        page.table(shown, "Every figure that is off.")


def find_ways(results: Results, runs: pd.DataFrame, ours: pd.DataFrame) -> list[Way]:
    """Return what was done otherwise, the likeliest reason first."""
    drawn, given = (figures.split_figures(results, which) for which in (DRAWN, GIVEN))
    best_in_testing = figures.accuracies(results, runs, "accuracy")
    learned = [Way(f"parameters by {way}", own) for way, own in figures.other_ways(results, runs).items()]
    # Given rows were learned from anew where chance decides; the other figures on them are ours.
    return [
        Way("rows drawn by class", drawn, given.combine_first(ours)),
        Way("the run that is best on the test rows", best_in_testing),
        *learned,
    ]


def averaged(way: Way, ours: pd.DataFrame, theirs: pd.DataFrame) -> Way:
    """Return a way with what it changes in averages; data sets on which it was not tried count as they are.

    Where its figures of the data sets are no nearer to the published ones than ours, it has no average: a change that
    brings an average there by chance is no reason.
    """
    base = ours if way.base is None else way.base
    change = (way.figures - base).reindex(index=ours.index, columns=ours.columns)
    moved = ours + change.fillna(0.0)
    both = with_average(moved, theirs), with_average(ours, theirs)
    published = theirs.reindex(index=ours.index, columns=ours.columns)
    papers = [name for name in ours.index if name in figures.PAPERS_SETS]
    gaps = [(table.loc[papers] - published.loc[papers]).abs().mean() for table in (moved, ours)]
    nearer = gaps[0] < gaps[1]
    means = [table.loc[[AVERAGE]].loc[:, nearer] for table in both]
    return Way(way.name, pd.concat([way.figures, means[0]]), None if way.base is None else pd.concat([base, means[1]]))
