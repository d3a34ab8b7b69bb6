"""Pictures of annealing: how scores rise, what several runs reach and cost, and what the cooling factor does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from bnplug.show.drawing import new_axes
from bnplug.show.palette import INK, WARNING, colour, finish, mark

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def score_against_evaluations(
    traces: Mapping[str, tuple[Sequence[float], Sequence[float]]], ylabel: str = "score"
) -> Axes:
    """Draw the best score so far against the evaluations used, on a logarithmic axis: one curve for each search."""
    ax = new_axes((6.5, 4.2))
    ax.set_xscale("log")
    for number, (name, (evaluations, scores)) in enumerate(traces.items()):
        best = np.maximum.accumulate(np.asarray(scores, dtype=np.float64))
        # The start took no evaluation, and has no place on a logarithmic axis but its left end.
        ax.plot(
            np.maximum(np.asarray(evaluations), 1), best, color=colour(number), linewidth=1.6, label=name,
            drawstyle="steps-post",
        )  # fmt: skip
    ax.set(xlabel="evaluations", ylabel=f"{ylabel}, best so far")
    return finish(ax, legend=True)


def box_plots(values: Mapping[str, Sequence[float]], ylabel: str, logarithmic: bool = False) -> Axes:
    """Draw what several runs of each method gave: the median, the quartiles, and the range as whiskers."""
    ax = new_axes((1.6 + 1.2 * len(values), 4.2))
    if logarithmic:
        _count_logarithmically(ax)
    ax.boxplot(
        list(values.values()), tick_labels=list(values), whis=(0, 100), widths=0.5,
        medianprops={"color": WARNING, "linewidth": 2}, boxprops={"color": INK}, whiskerprops={"color": INK},
        capprops={"color": INK},
    )  # fmt: skip
    ax.set(ylabel=ylabel)
    return finish(ax)


def schedules(runs: pd.DataFrame) -> Axes:
    """Draw the accuracy of runs against their evaluations, with a mark for each cooling factor."""
    ax = new_axes((6.5, 4.2))
    for number, (factor, group) in enumerate(runs.groupby("D")):
        ax.scatter(
            group["evaluations"],
            group["accuracy"],
            color=colour(number),
            marker=mark(number),
            s=40,
            label=f"D = {factor}",
        )
    ax.set(xlabel="evaluations", ylabel="accuracy (%)")
    return finish(ax, legend=True)


def sample_sizes(accuracies: pd.DataFrame) -> Axes:
    """Draw the accuracy of structures against the number of training rows: means, and standard deviations as bars.

    Structures stand a little beside each other, so that no bar hides another.

    Parameters
    ----------
    accuracies : frame
        ``rows``, ``structure`` and ``accuracy``, a row for each draw.
    """
    ax = new_axes((6.5, 4.2))
    ax.set_xscale("log")
    for number, (structure, group) in enumerate(accuracies.groupby("structure", sort=False)):
        groups = group.groupby("rows")["accuracy"]
        means, spread = groups.mean(), groups.std().fillna(0.0)
        ax.errorbar(
            means.index * 1.025 ** (number - 2), means, spread, color=colour(number), marker=mark(number),
            capsize=3, linewidth=1.6, label=str(structure),
        )  # fmt: skip
    sizes = sorted(accuracies["rows"].unique())
    ax.set_xticks(sizes, [str(n) for n in sizes])
    ax.set_xticks([], minor=True)
    ax.set(xlabel="training rows", ylabel="accuracy (%)")
    return finish(ax, legend=True)


def _count_logarithmically(ax: Axes) -> None:
    """Make the vertical axis logarithmic, with whole numbers at its ticks."""
    from matplotlib.ticker import LogLocator, NullLocator

    ax.set_yscale("log")
    ax.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 3.0, 5.0)))
    ax.yaxis.set_minor_locator(NullLocator())
    ax.yaxis.set_major_formatter("{x:,.0f}")
