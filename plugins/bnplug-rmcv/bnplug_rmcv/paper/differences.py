"""Where our figures part from the published ones: which are off, and what was tested as the reason."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from bnplug.experiments import Page
from bnplug.experiments.paper import NOT_EXPLAINED, Way, compare_cells, explain, off
from bnplug_rmcv.paper.figures import Figures, published_accuracy


def add_differences(page: Page, figures: Figures) -> None:
    """Add what is off, with reasons that were tested, and how telling each reason is."""
    page.section("Where we part from the paper")
    theirs = published_accuracy()
    cells = compare_cells(figures.accuracy, theirs)
    reasons = explain(cells, figures.ways, figures.errors())
    n_off, unexplained = len(reasons), int((reasons["reason"] == NOT_EXPLAINED).sum())
    page.text(
        f"Of {len(cells)} figures of Tables 2 and 6, {n_off} are off: {(reasons['off'] == 'below').sum()} more than a "
        f"point below, {(reasons['off'] == 'above').sum()} more than four above. {n_off - unexplained} of them have a "
        f"reason that was tested, {unexplained} have none. A way of doing one thing otherwise was run on all data sets "
        "that it concerns, on the folds of the first repetition; it is a reason where with it the figure is no longer "
        "off. The first that fits is named, so a reason may be chance: the table says how often each way would put a "
        "figure off that is not."
    )
    rows = [(way.name, *_telling(way.figures, theirs, cells)) for way in figures.ways]
    page.table(pd.DataFrame(rows, columns=["with", "tried", "off before", "of these no longer", "newly off"]))
    page.table(
        averages(figures.accuracy, theirs, figures.ways),
        "Averages over the same data sets. Where ours is more than a point below: the first way with which, on the "
        "data sets that have it, it is not.",
    )
    shown = reasons.sort_values(["dataset", "method"], kind="stable").drop(columns="off")
    page.table(shown.rename(columns={"dataset": "data set"}), "Every figure that is off.")


def _telling(way: pd.DataFrame, theirs: pd.DataFrame, cells: pd.DataFrame) -> tuple[int, int, int, int]:
    """Return how many figures a way has, how many of them were off, are no longer, and are now."""
    tried = compare_cells(way, theirs).merge(cells, on=["dataset", "method"], suffixes=("", "_before"))
    before, after = tried["off_before"] != "", tried["off"] != ""
    return len(tried), int(before.sum()), int((before & ~after).sum()), int((~before & after).sum())


def averages(accuracy: pd.DataFrame, theirs: pd.DataFrame, ways: Sequence[Way]) -> pd.DataFrame:
    """Return our means and the published ones; where ours is too far below, a way with which it is not."""
    rows = []
    for method in (str(name) for name in theirs if name in accuracy):
        own, printed, n = _means(accuracy, theirs, method)
        reason = _reason(method, theirs, ways) if off(own, printed) == "below" else ""
        rows.append((method, n, own, printed, own - printed, reason))
    return pd.DataFrame(rows, columns=["method", "data sets", "ours", "published", "difference", "if below"])


def _means(ours: pd.DataFrame, theirs: pd.DataFrame, method: str) -> tuple[float, float, int]:
    """Return both means over the data sets that both have, and how many these are."""
    both = pd.DataFrame({"ours": ours[method], "published": theirs[method]}).dropna()
    return float(both["ours"].mean()), float(both["published"].mean()), len(both)


def _reason(method: str, theirs: pd.DataFrame, ways: Sequence[Way]) -> str:
    for way in ways:
        if method in way.figures:
            own, printed, n = _means(way.figures, theirs, method)
            if off(own, printed) != "below":
                return f"with {way.name}: {own:.2f} ({printed:.2f}) on {n}"
    return NOT_EXPLAINED
