"""The pictures of Zaidi et al. (2017): how the NLL falls, and training times against each other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from bnplug.show.drawing import new_axes
from bnplug.show.palette import PALE, colour, finish, mark
from bnplug_ccbn import protocol
from bnplug_ccbn.protocol import KEPT, LETTERS, STRUCTURES

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_STYLES = {letter: (colour(i), mark(i)) for i, letter in enumerate("wde")}


def convergence(found: pd.DataFrame, names: Sequence[str], start: str) -> Axes:
    """Draw the NLL a row by iteration, on the first fold: a row for each structure, a column for each data set.

    Parameters
    ----------
    found : frame
        As :func:`bnplug_ccbn.protocol.run_folds` returns.
    names : sequence of str
        The data sets.
    start : {"", "(I)"}
        From zeros, or from the generative estimates.
    """
    grid = _grid(len(STRUCTURES), len(names), (3.1 * len(names) + 0.6, 7.2))
    first = found[found["fold"] == 0].set_index(["dataset", "method"])["nll"]
    for (row, structure), (column, name) in ((r, c) for r in enumerate(STRUCTURES) for c in enumerate(names)):
        ax = grid[row][column]
        for letter in LETTERS:
            path = first[name, f"{structure}{letter}{start}"][:-1]
            shade, sign = _STYLES[letter]
            # The paper's first iteration is the start.
            ax.plot(
                KEPT[: len(path)] + 1, path, color=shade, marker=sign, markersize=3, markevery=_marked(len(path)),
                linewidth=1.2, label=f"{structure}{letter}{start}",
            )  # fmt: skip
        ax.set_xscale("log")
        ax.set(title=f"{name}, {structure}", xlabel="iteration" if row == len(STRUCTURES) - 1 else "")
        ax.set_ylabel("NLL a row" if column == 0 else "")
        _finish(ax)
        if column == 0:
            ax.legend(frameon=False, fontsize=7)
    return grid[0][0]


def training_times(found: pd.DataFrame) -> Axes:
    """Draw a point for each data set: seconds of d and of e against those of w, started at the generative estimates."""
    seconds = protocol.means(found, "seconds")
    grid = _grid(1, len(STRUCTURES), (11.5, 3.9))
    for ax, structure in zip(grid[0], STRUCTURES, strict=True):
        ours = seconds[f"{structure}w(I)"]
        for letter in ("d", "e"):
            shade, sign = _STYLES[letter]
            theirs = seconds[f"{structure}{letter}(I)"]
            ax.scatter(ours, theirs, color=shade, marker=sign, s=18, label=f"{structure}{letter}(I)", zorder=3)
        own = seconds[[f"{structure}{letter}(I)" for letter in LETTERS]].to_numpy()
        limits = (0.7 * float(own.min()), 1.4 * float(own.max()))
        ax.plot(limits, limits, color=PALE, linewidth=1, zorder=1)
        ax.set(xscale="log", yscale="log", xlim=limits, ylim=limits, xlabel=f"seconds of {structure}w(I)")
        for axis in (ax.xaxis, ax.yaxis):
            axis.set_minor_formatter("")
        ax.legend(frameon=False, fontsize=8, loc="upper left")
        _finish(ax)
    grid[0][0].set_ylabel("seconds")
    return grid[0][0]


def _grid(rows: int, columns: int, size: tuple[float, float]) -> list[list[Axes]]:
    figure: Any = new_axes(size).figure
    figure.clear()
    return [list(row) for row in figure.subplots(rows, columns, squeeze=False)]


def _marked(length: int) -> list[int]:
    """Return the places of a path that get a mark, about evenly apart on a logarithmic axis."""
    places = np.unique(np.geomspace(1, max(length, 2), 12).astype(int) - 1)
    return [int(place) for place in places if place < length]


def _finish(ax: Axes) -> None:
    finish(ax).tick_params(labelsize=7)
