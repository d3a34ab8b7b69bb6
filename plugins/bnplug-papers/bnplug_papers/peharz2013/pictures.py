"""The paper's Figures 3 and 4, from the results of its protocol."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from bnplug.show.drawing import new_axes
from bnplug.show.palette import PALE, colour, finish, mark
from bnplug_papers.kit.pictures import missing_features

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MARKS = {name: (colour(i), mark(i)) for name, i in (("MCL to the end", 3), ("MCL", 1), ("MM", 2), ("ML-BN-SVM", 0))}


def draw_likelihoods(likelihoods: pd.DataFrame) -> Axes:
    """Draw minus the log-likelihood of a training row under each classifier against that under ML: Figure 3.

    A point for each fold; on the line a classifier is as likely as ML, and no point is below it but for smoothing. Both
    axes are logarithmic, since classifiers that are not held back are hundreds of times less likely.
    """
    ax = new_axes((6.0, 5.2))
    ends = [0.8 * float(-likelihoods["train_ll_ml"].max()), 1.25 * float(-likelihoods["train_ll_ml"].min())]
    ax.plot(ends, ends, color=PALE, linewidth=1, zorder=1)
    for method, (shade, sign) in _MARKS.items():
        rows = likelihoods[likelihoods["method"] == method]
        if len(rows):
            ax.scatter(-rows["train_ll_ml"], -rows["train_ll"], color=shade, marker=sign, s=26, alpha=0.8, label=method)
    ax.set(xscale="log", yscale="log", xlim=ends)
    ax.set(xlabel="minus the log-likelihood of a training row under ML", ylabel="under the classifier")
    return finish(ax, legend=True)


def draw_hidden(curve: pd.DataFrame) -> Axes:
    """Draw the mean accuracy over data sets against the percentage of missing features: Figure 4."""
    long = curve.rename_axis(index="missing").reset_index().melt("missing", var_name="method", value_name="accuracy")
    ax = missing_features(long.assign(draw=0, accuracy=long["accuracy"] / 100))
    ax.set_xlabel("missing features (%)")
    return ax
