"""The picture that several papers have: accuracy with features missing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from bnplug.show.drawing import new_axes
from bnplug.show.palette import colour, finish, mark

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def missing_features(accuracies: pd.DataFrame) -> Axes:
    """Draw accuracy against the number of missing features: the mean over draws, and its spread.

    `accuracies` is the result of :func:`bnplug.experiments.hide_features`.
    """
    ax = new_axes((6.5, 4.2))
    for number, (name, rows) in enumerate(accuracies.groupby("method", sort=False)):
        groups = 100 * rows.set_index("missing")["accuracy"]
        mean, spread = groups.groupby(level=0).mean(), groups.groupby(level=0).std().fillna(0.0)
        shade, marker = colour(number), mark(number)
        ax.plot(mean.index, mean, color=shade, marker=marker, markersize=5, linewidth=1.6, label=str(name))
        ax.fill_between(mean.index, mean - spread, mean + spread, color=shade, alpha=0.15, linewidth=0)
    ax.set(xlabel="missing features", ylabel="accuracy (%)")
    return finish(ax, legend=True)
