"""The picture of an explanation: what each feature contributes to the log odds of one class."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from bnplug.inference.explain import PRIOR
from bnplug.show.drawing import new_axes
from bnplug.show.palette import AGAINST, FOR

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_explanation(explanation: pd.DataFrame, label: object, title: str, ax: Axes | None = None) -> Axes:
    """Draw the contributions to one class in one row as bars, the largest on top; return the axes.

    Parameters
    ----------
    explanation : pandas frame
        What ``explain`` of a classifier returns for one row.
    label : object
        The class.
    title : str
    ax : matplotlib Axes, optional
        Where to draw; by default a figure of its own.
    """
    chosen = explanation[explanation["class"] == label].set_index("feature")["contribution"]
    chosen = chosen[(chosen != 0) | (chosen.index == PRIOR)].sort_values(key=np.abs)
    axes = new_axes((7, 1.2 + 0.3 * len(chosen))) if ax is None else ax
    axes.barh(range(len(chosen)), chosen.to_numpy(), color=[AGAINST if value < 0 else FOR for value in chosen])
    axes.set_yticks(range(len(chosen)), [str(name) for name in chosen.index])
    axes.axvline(0, color="black", linewidth=0.8)
    axes.set_xlabel("contribution to the log odds")
    axes.set_title(title)
    return axes
