"""The paper's Figures 3 and 4, from the results of its protocol."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from bnplug.experiments import pictures
from bnplug.show.drawing import new_axes
from bnplug.show.palette import PALE, colour, finish, mark

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MARKS = {name: (colour(i), mark(i)) for name, i in (("MCL to the end", 3), ("MCL", 1), ("MM", 2), ("ML-BN-SVM", 0))}


def draw_likelihoods(found: pd.DataFrame) -> Axes:
    """Draw the log-likelihood of a training row under each classifier against that under ML: Figure 3.

    A point for each fold; on the line a classifier is as likely as ML, and no point is above it but for smoothing.
    """
    ax = new_axes((6.0, 5.2))
    lowest, highest = 1.15 * float(found["train_ll_ml"].min()), 0.0
    ax.plot([lowest, highest], [lowest, highest], color=PALE, linewidth=1, zorder=1)
    for method, (shade, sign) in _MARKS.items():
        own = found[found["method"] == method]
        if len(own):
            ax.scatter(own["train_ll_ml"], own["train_ll"], color=shade, marker=sign, s=26, alpha=0.8, label=method)
    # Unregularised classifiers go so far down that the others would be a single point.
    ax.set_yscale("symlog", linthresh=abs(lowest))
    ax.set(xlim=(lowest, highest), xlabel="log-likelihood of a training row under ML", ylabel="under the classifier")
    return finish(ax, legend=True)


def draw_hidden(curve: pd.DataFrame) -> Axes:
    """Draw the mean accuracy over data sets against the percentage of missing features: Figure 4."""
    long = curve.rename_axis(index="missing").reset_index().melt("missing", var_name="method", value_name="accuracy")
    ax = pictures.missing_features(long.assign(draw=0, accuracy=long["accuracy"] / 100))
    ax.set_xlabel("missing features (%)")
    return ax
