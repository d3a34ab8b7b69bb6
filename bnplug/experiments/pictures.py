"""Pictures of comparisons, drawn with matplotlib on new figures: no window, no global state."""

from __future__ import annotations

import io
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from bnplug.experiments._tables import find_metric
from bnplug.experiments.compare import Comparison
from bnplug.experiments.statistics import BonferroniDunn, Nemenyi
from bnplug.files import write_atomically
from bnplug.show.drawing import new_axes
from bnplug.show.palette import ACCENT, INK, PALE, colour, finish, mark
from bnplug.typing import FloatArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_FORMATS = (".png", ".svg", ".pdf")

# Possible positions of a label, best first: steps to the right and up, and distances in points.
_SIDES = ((1, 1), (-1, 1), (1, -1), (-1, -1), (1, 0), (-1, 0), (0, 1), (0, -1))
_AWAY = (4.0, 12.0, 24.0, 40.0)
# Half of the width of a point.
_MARK = 4.0
_FONT = 8
_LEADER = {"arrowstyle": "-", "color": PALE, "linewidth": 0.8, "shrinkA": 0, "shrinkB": 2}


def critical_difference(result: Nemenyi | BonferroniDunn) -> Axes:
    """Draw average ranks on a line, the best on the left, and the critical difference (Demšar 2006).

    For Nemenyi, a bar joins methods that do not differ; for Bonferroni-Dunn, it shows the ranks that do not differ from
    the control.
    """
    ranks = result.average_ranks
    lowest, highest = 1, len(ranks)
    bars = _bars(result)
    n_left = (len(ranks) + 1) // 2
    depth = 0.5 + 0.22 * len(bars)
    height = depth + 0.45 * n_left
    ax = new_axes((7.5, 1.1 + 0.62 * height))
    ax.set(xlim=(lowest - 0.02, highest + 0.02), ylim=(height + 0.2, -1.75))
    ax.set_axis_off()
    ax.plot([lowest, highest], [0, 0], color=INK, linewidth=1.2)
    for tick in range(lowest, highest + 1):
        ax.plot([tick, tick], [0, -0.15], color=INK, linewidth=1.2)
        ax.text(tick, -0.25, str(tick), ha="center", va="bottom", color=INK)
    difference = result.critical_difference
    end = min(lowest + difference, highest)
    ax.plot([lowest, end], [-1.0, -1.0], color=ACCENT, linewidth=2)
    # A ruler longer than the line of ranks has no mark at its end.
    for x in [lowest] if difference > highest - lowest else [lowest, end]:
        ax.plot([x, x], [-1.1, -0.9], color=ACCENT, linewidth=2)
    ax.text(lowest, -1.18, f"critical difference {difference:.2f}", va="bottom", color=ACCENT)
    for place, (name, rank) in enumerate(ranks.items()):
        left = place < n_left
        level = depth + 0.45 * (place if left else len(ranks) - 1 - place) + 0.2
        side = lowest if left else highest
        ax.plot([rank, rank, side], [0, level, level], color=INK, linewidth=1, zorder=1)
        ax.annotate(
            f"{name}  {rank:.2f}", (side, level), (-5 if left else 5, 0), textcoords="offset points", va="center",
            color=INK, ha="right" if left else "left", annotation_clip=False, parse_math=False,
        )  # fmt: skip
    for number, (start, end) in enumerate(bars):
        level = 0.3 + 0.22 * number
        ends = [max(start, lowest), min(end, highest)]
        ax.plot(ends, [level, level], color=ACCENT, linewidth=4, solid_capstyle="butt")
    return ax


def scatter(comparison: Comparison, x: str, y: str, metric: str = "accuracy") -> Axes:
    """Draw a point per data set: the mean of one method against the mean of another."""
    measure = find_metric(metric)
    for name in (x, y):
        if name not in comparison.methods:
            raise ValueError(f"there is no method {name!r} in the comparison, only {comparison.methods}")
    points = comparison.table(metric)[[x, y]].dropna() * measure.scale
    ax = new_axes((5.5, 5.5))
    low, high = (float(points.to_numpy().min()), float(points.to_numpy().max())) if len(points) else (0.0, 1.0)
    margin = 0.06 * (high - low) or 1.0
    limits = (low - margin, high + margin)
    ax.plot(limits, limits, color=PALE, linewidth=1, zorder=1)
    ax.scatter(points[x], points[y], color=ACCENT, s=36, zorder=3)
    ax.set(xlim=limits, ylim=limits, aspect="equal", xlabel=f"{measure.label} of {x}", ylabel=f"{measure.label} of {y}")
    above, below = (y, x) if measure.higher_is_better else (x, y)
    for name, place, side in ((above, (0.03, 0.97), "left"), (below, (0.97, 0.03), "right")):
        top = "top" if side == "left" else "bottom"
        ax.text(*place, f"{name} better", transform=ax.transAxes, ha=side, va=top, color=INK, style="italic")
    if len(points) <= 30:
        _label_points(ax, [str(name) for name in points.index], points.to_numpy())
    return finish(ax)


def time_accuracy(comparison: Comparison, metric: str = "accuracy") -> Axes:
    """Draw each method's mean result against its time to fit, the geometric mean over data sets, on a log axis."""
    measure = find_metric(metric)
    shared = comparison.complete(metric)
    seconds = comparison.table("fit_seconds").loc[shared.index, shared.columns]
    ax = new_axes((6.5, 4.2))
    from matplotlib.ticker import LogLocator, NullLocator

    ax.set_xscale("log")
    points = np.column_stack([np.exp(np.log(seconds).mean()), shared.mean() * measure.scale])
    for number, (x, y) in enumerate(points):
        ax.scatter([x], [y], color=colour(number), marker=mark(number), s=60, zorder=3)
    ax.margins(x=0.2, y=0.15)
    low, high = ax.get_xlim()
    # An axis that spans at least a factor of ten has ticks, and small differences look small.
    widen = max(1.0, 10 * low / high) ** 0.5
    ax.set_xlim(low / widen, high * widen)
    ax.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    ax.xaxis.set_minor_locator(NullLocator())
    ax.xaxis.set_major_formatter("{x:g}")
    ax.set(xlabel=find_metric("fit_seconds").label, ylabel=measure.label)
    _label_points(ax, [str(name) for name in shared.columns], points)
    return finish(ax)


def save_figure(ax: Axes, path: str | os.PathLike[str]) -> None:
    """Write the figure that holds `ax` to a PNG, SVG or PDF file, whole or not at all."""
    path = Path(path)
    if path.suffix.lower() not in _FORMATS:
        raise ValueError(f"a picture is saved as {', '.join(_FORMATS)}: give {str(path)!r} one of these endings")
    content = io.BytesIO()
    ax.figure.canvas.print_figure(content, format=path.suffix[1:].lower(), dpi=160)
    write_atomically(path, content.getvalue())


def _bars(result: Nemenyi | BonferroniDunn) -> list[tuple[float, float]]:
    """Return the maximal intervals of ranks that do not differ."""
    ranks, difference = result.average_ranks.to_numpy(), result.critical_difference
    if isinstance(result, BonferroniDunn):
        centre = float(result.average_ranks[result.control])
        return [(centre - difference, centre + difference)]
    bars: list[tuple[float, float]] = []
    for start in ranks:
        end = float(ranks[ranks < start + difference].max())
        if end > start and (not bars or end > bars[-1][1]):
            bars.append((float(start), end))
    return [(start - 0.03, end + 0.03) for start, end in bars]


# Labels of points


def _label_points(ax: Axes, names: Sequence[str], points: FloatArray) -> None:
    """Write a name beside each point (in data coordinates); limits, scales and other texts must be set before."""
    from matplotlib.figure import Figure

    figure = ax.get_figure()
    assert isinstance(figure, Figure)
    # Before drawing, the axes have no position on the figure.
    figure.draw_without_rendering()
    dots = 72 / figure.dpi
    places = dots * ax.transData.transform(points)
    room, *taken = (dots * np.array(part.get_window_extent().extents) for part in (ax, *ax.texts))
    texts = _join(names, places)
    drawn = [ax.text(0, 0, text, fontsize=_FONT, parse_math=False) for text in texts.values()]
    sizes = dots * np.array([text.get_window_extent().size for text in drawn]).reshape(-1, 2)
    for text in drawn:
        text.remove()
    centres = _place_labels(places[list(texts)], sizes, room, taken)
    for (number, label), centre, size in zip(texts.items(), centres, sizes, strict=True):
        offset = centre - places[number]
        near = np.all(np.abs(offset) < size / 2 + (_AWAY[0] + _AWAY[1]) / 2)
        ax.annotate(
            label, tuple(points[number]), tuple(offset), textcoords="offset points", ha="center", va="center",
            fontsize=_FONT, color=INK, parse_math=False, in_layout=False, arrowprops=None if near else _LEADER,
        )  # fmt: skip


def _place_labels(points: FloatArray, sizes: FloatArray, room: FloatArray, taken: Sequence[FloatArray]) -> FloatArray:
    """Return the centers [n, 2] of boxes of these `sizes` beside points, the most crowded points first.

    `room` and the boxes in `taken`, which are to be avoided, are left, bottom, right and top.
    """
    marks = np.hstack([points - _MARK, points + _MARK])
    boxes, centres = list(taken), np.empty_like(points)
    distances = np.abs(points[:, None] - points[None]).max(axis=2)
    for i in np.argsort(-(distances < 2 * sizes.max(initial=0.0)).sum(axis=1), kind="stable"):
        candidates = points[i] + np.array([np.multiply(side, sizes[i] / 2 + away) for away in _AWAY for side in _SIDES])
        options = np.hstack([candidates - sizes[i] / 2, candidates + sizes[i] / 2])
        hidden = _overlap(options, marks) + (_overlap(options, np.array(boxes)) if boxes else 0.0)
        outside = sizes[i].prod() - _overlap(options, room[None])
        best = int(np.argmin(np.round(hidden + outside, 6)))
        centres[i] = candidates[best]
        boxes.append(options[best])
    return centres


def _overlap(options: FloatArray, boxes: FloatArray) -> FloatArray:
    """Return the total area of overlap of each option with the boxes."""
    low = np.maximum(options[:, None, :2], boxes[None, :, :2])
    high = np.minimum(options[:, None, 2:], boxes[None, :, 2:])
    area: FloatArray = np.clip(high - low, 0.0, None).prod(axis=2).sum(axis=1)
    return area


def _join(names: Sequence[str], places: FloatArray) -> dict[int, str]:
    """Return the labels by the number of their point; names of coinciding points are joined."""
    groups: dict[int, list[str]] = {}
    for number, name in enumerate(names):
        same = (first for first in groups if np.abs(places[first] - places[number]).max() < 1.0)
        groups.setdefault(next(same, number), []).append(name)
    return {number: ", ".join(group) for number, group in groups.items()}
