"""Pictures of comparisons, drawn with matplotlib on figures of their own: no window, no global state."""

from __future__ import annotations

import io
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pandas as pd

from bnplug.exchange.files import write_atomically
from bnplug.experiments._labels import label_points
from bnplug.experiments._metrics import find_metric
from bnplug.experiments.comparison import Comparison
from bnplug.experiments.statistics import BonferroniDunn, Nemenyi
from bnplug.show.drawing import new_axes
from bnplug.show.palette import ACCENT, INK, PALE, colour, finish, mark

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_FORMATS = (".png", ".svg", ".pdf")


def critical_difference(result: Nemenyi | BonferroniDunn) -> Axes:
    """Draw average ranks on a line, the best on the left, and how far apart they must be (Demšar 2006).

    Parameters
    ----------
    result : Nemenyi or BonferroniDunn
        After Nemenyi, a bar joins methods that do not differ; after Bonferroni-Dunn, a bar shows which ranks do not
        differ from the control's.

    Examples
    --------
    >>> from bnplug.experiments.statistics import nemenyi
    >>> table = pd.DataFrame({"nb": [0.7, 0.6, 0.8], "tan": [0.8, 0.7, 0.9], "kdb": [0.9, 0.8, 0.7]})
    >>> sorted(text.get_text() for text in critical_difference(nemenyi(table)).texts)[-3:]
    ['kdb  1.67', 'nb  2.67', 'tan  1.67']
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
    _draw_ruler(ax, lowest, highest, result.critical_difference)
    for place, (name, rank) in enumerate(ranks.items()):
        left = place < n_left
        level = depth + 0.45 * (place if left else len(ranks) - 1 - place) + 0.2
        _draw_method(ax, f"{name}  {rank:.2f}", rank, level, lowest if left else highest, left)
    for number, (start, end) in enumerate(bars):
        level = 0.3 + 0.22 * number
        ax.plot(
            [max(start, lowest), min(end, highest)], [level, level], color=ACCENT, linewidth=4, solid_capstyle="butt"
        )
    return ax


def scatter(comparison: Comparison, x: str, y: str, metric: str = "accuracy") -> Axes:
    """Draw a point for each data set: one method's mean against another's; the better half is named.

    Examples
    --------
    >>> from bnplug.experiments import compare
    >>> ax = scatter(compare(["nb", "tan"], ["iris", "corral"], cv=2), "nb", "tan")
    >>> ax.get_xlabel(), ax.get_ylabel()
    ('accuracy (%) of nb', 'accuracy (%) of tan')
    """
    found = find_metric(metric)
    for name in (x, y):
        if name not in comparison.methods:
            raise ValueError(f"there is no method {name!r} in the comparison, only {comparison.methods}")
    points = comparison.table(metric)[[x, y]].dropna() * found.scale
    ax = new_axes((5.5, 5.5))
    low, high = (float(points.to_numpy().min()), float(points.to_numpy().max())) if len(points) else (0.0, 1.0)
    margin = 0.06 * (high - low) or 1.0
    limits = (low - margin, high + margin)
    ax.plot(limits, limits, color=PALE, linewidth=1, zorder=1)
    ax.scatter(points[x], points[y], color=ACCENT, s=36, zorder=3)
    ax.set(xlim=limits, ylim=limits, aspect="equal", xlabel=f"{found.label} of {x}", ylabel=f"{found.label} of {y}")
    above, below = (y, x) if found.higher_is_better else (x, y)
    for name, place, side in ((above, (0.03, 0.97), "left"), (below, (0.97, 0.03), "right")):
        top = "top" if side == "left" else "bottom"
        ax.text(*place, f"{name} better", transform=ax.transAxes, ha=side, va=top, color=INK, style="italic")
    if len(points) <= 30:
        label_points(ax, [str(name) for name in points.index], points.to_numpy())
    return finish(ax)


def missing_features(accuracies: pd.DataFrame) -> Axes:
    """Draw accuracy against the number of missing features: the mean over draws, and its spread.

    Parameters
    ----------
    accuracies : frame
        With the columns ``method``, ``missing``, ``draw`` and ``accuracy``, as
        :func:`bnplug.experiments.hide_features` returns.

    Examples
    --------
    >>> rows = [("tan", n, d, 0.9 - n / 10) for n in (0, 1, 2) for d in (0, 1)]
    >>> ax = missing_features(pd.DataFrame(rows, columns=["method", "missing", "draw", "accuracy"]))
    >>> ax.get_xlabel()
    'missing features'
    """
    ax = new_axes((6.5, 4.2))
    for number, (name, own) in enumerate(accuracies.groupby("method", sort=False)):
        groups = 100 * own.set_index("missing")["accuracy"]
        mean, spread = groups.groupby(level=0).mean(), groups.groupby(level=0).std().fillna(0.0)
        _curve(ax, mean.index.to_numpy(), mean.to_numpy(), str(name), number)
        ax.fill_between(mean.index, mean - spread, mean + spread, color=colour(number), alpha=0.15, linewidth=0)
    ax.set(xlabel="missing features", ylabel="accuracy (%)")
    return finish(ax, legend=True)


def convergence(
    traces: Mapping[str, Sequence[float]], ylabel: str = "score", xlabel: str = "step", logarithmic: bool = False
) -> Axes:
    """Draw how a search or an optimisation got on: one curve for each method, from the start on.

    Parameters
    ----------
    traces : mapping of str to sequence of float
        Values by step, such as a learner's ``trace_``.
    xlabel, ylabel : str
    logarithmic : bool
        Count steps logarithmically, from 1 on: most happens early.

    Examples
    --------
    >>> convergence({"tan": [0.5, 0.7, 0.8], "sa": [0.5, 0.9]}).get_ylabel()
    'score'
    """
    ax = new_axes((6.5, 4.2))
    first = 1 if logarithmic else 0
    for number, (name, values) in enumerate(traces.items()):
        _curve(ax, np.arange(len(values)) + first, np.asarray(values), name, number, marks=len(values) <= 25)
    if logarithmic:
        ax.set_xscale("log")
        _span_a_decade(ax)
    ax.set(xlabel=xlabel, ylabel=ylabel)
    return finish(ax, legend=True)


def time_accuracy(comparison: Comparison, metric: str = "accuracy") -> Axes:
    """Draw each method's mean figure against its time to fit, the geometric mean over data sets, logarithmically.

    Examples
    --------
    >>> from bnplug.experiments import compare
    >>> time_accuracy(compare(["nb", "tan"], ["iris"], cv=2)).get_xlabel()
    'fit (s)'
    """
    found = find_metric(metric)
    shared = comparison.complete(metric)
    seconds = comparison.table("fit_seconds").loc[shared.index, shared.columns]
    ax = new_axes((6.5, 4.2))
    ax.set_xscale("log")
    points = np.column_stack([np.exp(np.log(seconds).mean()), shared.mean() * found.scale])
    for number, (x, y) in enumerate(points):
        ax.scatter([x], [y], color=colour(number), marker=mark(number), s=60, zorder=3)
    ax.margins(x=0.2, y=0.15)
    _span_a_decade(ax)
    ax.set(xlabel=find_metric("fit_seconds").label, ylabel=found.label)
    label_points(ax, [str(name) for name in shared.columns], points)
    return finish(ax)


def save_figure(ax: Axes, path: str | os.PathLike[str]) -> None:
    """Write the figure that holds `ax` to a PNG, SVG or PDF file, whole or not at all.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_figure(convergence({"tan": [0.5, 0.7]}), Path(folder, "a.png"))
    ...     Path(folder, "a.png").read_bytes()[1:4]
    b'PNG'
    """
    path = Path(path)
    if path.suffix.lower() not in _FORMATS:
        raise ValueError(f"a picture is saved as {', '.join(_FORMATS)}: give {str(path)!r} one of these endings")
    content = io.BytesIO()
    ax.figure.canvas.print_figure(content, format=path.suffix[1:].lower(), dpi=160)
    write_atomically(path, content.getvalue())


def _bars(result: Nemenyi | BonferroniDunn) -> list[tuple[float, float]]:
    """Return the stretches of ranks that do not differ, those within others left out."""
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


def _draw_ruler(ax: Axes, lowest: float, highest: float, difference: float) -> None:
    """Draw how long the critical difference is; without an end where the line of ranks is shorter."""
    level, end = -1.0, min(lowest + difference, highest)
    ax.plot([lowest, end], [level, level], color=ACCENT, linewidth=2)
    for place in [lowest] if difference > highest - lowest else [lowest, end]:
        ax.plot([place, place], [level - 0.1, level + 0.1], color=ACCENT, linewidth=2)
    ax.text(lowest, level - 0.18, f"critical difference {difference:.2f}", va="bottom", color=ACCENT)


def _draw_method(ax: Axes, text: str, rank: float, level: float, side: float, left: bool) -> None:
    ax.plot([rank, rank, side], [0, level, level], color=INK, linewidth=1, zorder=1)
    ax.annotate(
        text, (side, level), (-5 if left else 5, 0), textcoords="offset points", va="center", color=INK,
        ha="right" if left else "left", annotation_clip=False, parse_math=False,
    )  # fmt: skip


def _span_a_decade(ax: Axes) -> None:
    """Widen a logarithmic axis to a factor of ten, so that it has ticks and small differences look small."""
    from matplotlib.ticker import LogLocator, NullLocator

    low, high = ax.get_xlim()
    widen = max(1.0, 10 * low / high) ** 0.5
    ax.set_xlim(low / widen, high * widen)
    ax.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    ax.xaxis.set_minor_locator(NullLocator())
    ax.xaxis.set_major_formatter("{x:g}")


def _curve(ax: Axes, x: npt.ArrayLike, y: npt.ArrayLike, name: str, number: int, marks: bool = True) -> None:
    ax.plot(x, y, color=colour(number), marker=mark(number) if marks else None, markersize=5, linewidth=1.6, label=name)
