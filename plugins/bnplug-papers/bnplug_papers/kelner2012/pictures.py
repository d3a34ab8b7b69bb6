"""The pictures of the page: clouds of all graphs, accuracies of a data set by two classifiers, and a search."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from bnplug.show.drawing import new_axes, new_panels, plot
from bnplug.show.palette import ACCENT, INK, PALE, finish

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Inches of a panel, and panels beside each other.
_SIDE, _ACROSS = 2.6, 3


def clouds(grids: Mapping[tuple[str, str], Mapping[str, Any]], cells: int, diagonal: bool = False) -> Axes:
    """Draw where all graphs are, a panel for each (row, column): a score from left to right, an accuracy upwards.

    A grid has the bounds ``x`` and ``y``, and of its `cells` in each direction those with graphs, and how many. Where
    the score is an accuracy, too, the line of equality is drawn.
    """
    rows, columns = (list(dict.fromkeys(name[i] for name in grids)) for i in (0, 1))
    axes = new_panels(len(rows), len(columns), (_SIDE * len(columns), _SIDE * len(rows)))
    for (row, column), grid in grids.items():
        ax = axes[rows.index(row)][columns.index(column)]
        x, y, number = np.array(grid["cells"]).T
        # The middles of cells.
        across, up = (np.interp(at + 0.5, (0, cells), grid[axis]) for at, axis in ((x, "x"), (y, "y")))
        shade = 0.25 + 0.75 * np.log1p(number) / np.log1p(number.max())
        ax.scatter(across, up, s=7, color=ACCENT, alpha=shade, linewidths=0, marker="s")
        if diagonal:
            ax.axline((grid["y"][0], grid["y"][0]), slope=1, color=INK, linewidth=0.8)
        ax.set_title(f"{row}, {column}", fontsize=8, color=INK)
        ax.tick_params(labelsize=6)
        # Scores of many digits would run into each other.
        ax.locator_params(axis="x", nbins=5)
        finish(ax)
    return axes[0][0]


def crosses(means: pd.DataFrame, spreads: pd.DataFrame, control: str, others: Sequence[str]) -> Axes:
    """Draw each data set's accuracy by the control (across) and each of some others (up), a deviation each way."""
    rows = -(-len(others) // _ACROSS)
    panels = [ax for row in new_panels(rows, _ACROSS, (_SIDE * _ACROSS, _SIDE * rows)) for ax in row]
    for ax, other in zip(panels, others, strict=False):
        both = means[[control, other]].dropna()
        deviations = spreads.loc[both.index]
        low = float(both.to_numpy().min()) - 5 if len(both) else 0.0
        ax.plot([low, 102], [low, 102], color=PALE, linewidth=1, zorder=1)
        ax.errorbar(
            both[control],
            both[other],
            xerr=deviations[control],
            yerr=deviations[other],
            fmt="none",
            ecolor=ACCENT,
            linewidth=0.8,
        )
        ax.set(xlim=(low, 102), ylim=(low, 102), aspect="equal")
        ax.set_title(other, fontsize=8, color=INK)
        ax.tick_params(labelsize=6)
        finish(ax)
    for ax in panels[len(others) :]:
        ax.remove()
    return panels[0]


def search(
    trace: Sequence[float], names: Sequence[str], edges: Sequence[tuple[str, str]], target: str, blanket: Sequence[str]
) -> Axes:
    """Draw the score along the moves of a search and, below, the network with the Markov blanket of the class."""
    from matplotlib.ticker import MaxNLocator

    graph = (names, edges, target, blanket)
    network_width, network_height = plot(*graph).figure.get_figure(root=True).get_size_inches()
    width, height = max(6.5, network_width), 3.2 + network_height
    ax = new_axes((width, height))
    share = network_height / height
    ax.set_position((0.75 / width, share + 0.55 / height, 1 - 1.0 / width, 1 - share - 0.95 / height))
    ax.plot(range(len(trace)), trace, color=ACCENT, marker="o", markersize=4, linewidth=1.6)
    ax.set_xlabel("move", color=INK)
    ax.set_ylabel("score", color=INK)
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    finish(ax)
    below = ax.figure.add_axes((0.5 - network_width / width / 2, 0.0, network_width / width, share))
    plot(*graph, ax=below)
    return ax
