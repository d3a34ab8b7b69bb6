"""Where our figures are far from the published ones, and why, as far as that was found out."""

from __future__ import annotations

import pandas as pd

from bnplug.experiments import Page, published
from bnplug_rmcv.protocol import HEADLINE

#: From how many points on a difference is explained.
FAR = 4.0

_CUTS = (
    "likely the cut points. With ten bins of equal width NBC falls from above the published figure to below it, so "
    "much depends on them; the paper names a library for its own (MLC++), but neither the method nor the rows."
)
_TIES = (
    "from the empty graph an edge to the class and one from it tie at first, and the direction decides how the search "
    "goes on. With the last of tied moves RMCV (empty) comes close to the published figure."
)

#: Reasons by data set, by what the checks show.
REASONS = {
    "Breast": "TAN without smoothing loses accuracy with every further state: our cuts make few, and with ten it falls "
    "far below NBC.",
    "Cleve": "from the empty graph; the reason was not found out. The last of tied moves gives about the same.",
    "Corral": "from the empty graph many moves tie at first, and the direction decides: the last of them instead of "
    "the first changes RMCV (empty) by more than its difference from the published figure.",
    "Glass": _CUTS,
    "Glass2": _CUTS,
    "Heart": _TIES,
    "Hepatitis": f"80 rows, of which a fold tests 16; otherwise {_CUTS}",
    "Lymphography": "for TAN without smoothing, many parent configurations do not occur in 118 training rows; with "
    "alpha = 1 it is above the published figure, which lies between the two.",
    "Pima": "the rows are those of Diabetes, where nothing is far off: the paper's own figures for the two differ, by "
    "1.3 points of MDL (NBC) and 18 of BNC-2P, so by something other than the data.",
    "Tic-Tac-Toe": "by a decomposable score our search goes on where a climb ends; one climb alone comes close to the "
    "published figure of MDL. From the empty graph, the last of tied moves leads RMCV to the published figure.",
    "Vehicle": "cut points learned beforehand, on all rows, lift NBC and TAN to about the published figures.",
}


def add_differences(page: Page, accuracy: pd.DataFrame, checks: pd.DataFrame | None) -> None:
    """Add the data sets on which a headline figure is far from the published one, each with its reason."""
    page.section("Where we part from the paper")
    far = far_off(accuracy)
    page.table(
        far.map(lambda gap: f"{gap:+.2f}").rename_axis("data set").reset_index(),
        f"Data sets with a difference, ours minus published, of more than {FAR:.0f} points.",
    )
    if checks is not None:
        _add_checks(page, accuracy.loc[checks.index], checks)
    for name in far.index:
        page.text(f"**{name}**: {REASONS.get(name, 'the reason was not found out.')}")


def far_off(accuracy: pd.DataFrame) -> pd.DataFrame:
    """Return ours minus published for the headline classifiers, of data sets where one of them is far off."""
    gaps = accuracy[list(HEADLINE)] - published_accuracy().reindex(accuracy.index)
    return gaps[(gaps.abs() > FAR).any(axis=1)]


def _add_checks(page: Page, accuracy: pd.DataFrame, checks: pd.DataFrame) -> None:
    theirs = published_accuracy().loc[accuracy.index]
    columns = {}
    for name in ("NBC", "TAN", "MDL (NBC)", "RMCV (empty)"):
        columns[f"{name} published"] = theirs[name]
        columns[name] = accuracy[name]
        columns |= {way: checks[way] for way in checks.columns if way.startswith(f"{name},")}
    page.table(
        pd.DataFrame(columns).rename_axis("data set").reset_index(),
        "Four classifiers, each with one thing done in another way, in per cent, on the folds of the first "
        "repetition. NBC and TAN: cut points learned beforehand on all rows, those tested included; ten bins of equal "
        "width; smoothed parameters. MDL: a search that ends with its first climb. RMCV (empty): the last of tied "
        "moves is made, not the first.",
    )


def published_accuracy() -> pd.DataFrame:
    """Return the published accuracies of the headline classifiers.

    Examples
    --------
    >>> float(published_accuracy().loc["Average", "TAN"])
    82.51
    """
    tables = [published(f"kelner2012-table{number}-accuracy") for number in (6, 2)]
    table = pd.concat(tables).drop_duplicates(["dataset", "method"])
    return table.pivot(index="dataset", columns="method", values="mean")[list(HEADLINE)]
