"""The pictures of Zaidi et al. (2017): errors and times against each other, and how the NLL falls."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from bnplug.show.drawing import new_panels
from bnplug.show.palette import PALE, colour, finish, mark
from bnplug_papers.zaidi2017.protocol import FOLLOWED, KEPT, LETTERS, STRUCTURES
from bnplug_papers.zaidi2017.tables import Figures, geometric_means, of_structure

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_STYLES = {letter: (colour(i), mark(i)) for i, letter in enumerate(LETTERS)}
_SCATTERED = {"zero_one": "0-1 loss", "rmse": "RMSE", "seconds": "seconds"}


def scatter(figures: Figures, structure: str) -> Axes:
    """Draw a point for each data set, d and e against w (Figures 4, 7, 10): columns are figures; Big sets below."""
    groups = figures.groups(structure)
    grid = new_panels(len(groups), len(_SCATTERED), (11.5, 3.6 * len(groups)))
    for row, (group, names) in zip(grid, groups.items(), strict=True):
        for ax, (figure, label) in zip(row, _SCATTERED.items(), strict=True):
            _against_w(ax, of_structure(figures.compared[figure], structure).loc[names], structure)
            ax.set(xlabel=f"{structure}w(I)", title=f"{label}, {group} ({len(names)})")
            if figure == "seconds":
                ax.set(xscale="log", yscale="log")
            _finish(ax)
    grid[0][0].legend(frameon=False, fontsize=8, loc="upper left")
    return grid[0][0]


def _against_w(ax: Axes, table: pd.DataFrame, structure: str) -> None:
    ours = table[f"{structure}w(I)"]
    for letter in ("d", "e"):
        shade, sign = _STYLES[letter]
        theirs = table[f"{structure}{letter}(I)"]
        ax.scatter(ours, theirs, color=shade, marker=sign, s=16, label=f"{structure}{letter}(I)", zorder=3)
    values = table.drop(columns=structure).to_numpy()
    limits = (0.8 * float(values.min()), 1.1 * float(values.max()))
    ax.plot(limits, limits, color=PALE, linewidth=1, zorder=1)


def training_times(figures: Figures) -> Axes:
    """Draw geometric means of training time in times of the generative classifier (Figures 6a, 9a, 12a)."""
    seconds = figures.compared["seconds"]
    grid = new_panels(1, len(STRUCTURES), (11.5, 3.4))
    for ax, structure in zip(grid[0], STRUCTURES, strict=True):
        groups = figures.groups(structure)
        for place, (group, names) in enumerate(groups.items()):
            means = geometric_means(of_structure(seconds, structure).loc[names], structure)
            ax.bar(np.arange(len(means)) + 0.4 * place, means, 0.36, color=colour(place), label=group)
        labels = [structure, *(f"{structure}{letter}(I)" for letter in LETTERS)]
        ax.set_xticks(np.arange(len(labels)) + 0.2 * (len(groups) - 1), labels)
        ax.set(yscale="log", title=structure)
        _finish(ax)
    grid[0][0].set_ylabel("training time")
    grid[0][0].legend(frameon=False, fontsize=8)
    return grid[0][0]


def further_iterations(further: pd.DataFrame) -> Axes:
    """Draw how many further iterations d and e take to come as low as w after 5 (Figures 15 to 17)."""
    grid = new_panels(1, len(STRUCTURES), (11.5, 3.2))
    bins = np.arange(-10.5, 31.5)
    for ax, structure in zip(grid[0], STRUCTURES, strict=True):
        for letter in ("d", "e"):
            counts = further[f"{structure}{letter}"].dropna().clip(bins[0] + 0.5, bins[-1] - 0.5)
            ax.hist(counts, bins.tolist(), color=_STYLES[letter][0], alpha=0.6, label=f"{structure}{letter}")
        ax.set(title=structure, xlabel=f"further iterations ({int(bins[-1])} and more, to {FOLLOWED}, in the last)")
        ax.legend(frameon=False, fontsize=8)
        _finish(ax)
    grid[0][0].set_ylabel("data sets")
    return grid[0][0]


def convergence(paths: Mapping[tuple[str, str], Mapping[str, Any]], names: Sequence[str], start: str) -> Axes:
    """Draw the NLL a row by iteration, on the first fold: a row for each data set, a column for each structure.

    The paths are what `follow` returned for each; from zeros, or where the `start` is "(I)", from generative estimates.
    """
    grid = new_panels(len(names), len(STRUCTURES), (11.5, 2.3 * len(names) + 0.4))
    for row, name in zip(grid, names, strict=True):
        for ax, structure in zip(row, STRUCTURES, strict=True):
            for letter in LETTERS:
                path = paths.get((name, structure), {}).get(f"{letter}{start}", [])
                shade, sign = _STYLES[letter]
                # The paper's first iteration is the start.
                ax.plot(
                    KEPT[: len(path)] + 1, path, color=shade, marker=sign, markersize=3, markevery=4, linewidth=1.2,
                    label=f"{letter}{start}",
                )  # fmt: skip
            ax.set_xscale("log")
            ax.set_title(f"{name}, {structure}", fontsize=9)
            _finish(ax)
        row[0].set_ylabel("NLL a row", fontsize=8)
    grid[0][0].legend(frameon=False, fontsize=7)
    return grid[0][0]


def _finish(ax: Axes) -> None:
    finish(ax).tick_params(labelsize=7)
