"""How often the members of a mixture have an edge: an edge that most of them have is more certain."""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from bnplug.files import write_atomically
from bnplug.show.drawing import new_axes
from bnplug.show.palette import ACCENT, INK, PAPER

if TYPE_CHECKING:
    from os import PathLike

    from matplotlib.axes import Axes

    from bnplug.typing import FloatArray

#: The most features in a picture: those with the most frequent edges.
MOST_FEATURES = 40

_ENDINGS = (".png", ".svg", ".pdf", ".eps", ".ps", ".jpg", ".jpeg", ".tif", ".tiff", ".webp")


def edge_frequencies(members: Sequence[Iterable[tuple[str, str]]]) -> pd.DataFrame:
    """Return the share of the members that have each edge, the most frequent first.

    Examples
    --------
    >>> edge_frequencies([[("a", "b")], [("b", "a")], [("a", "b"), ("a", "c")]])
      parent child     share    either
    0      a     b  0.666667  1.000000
    1      a     c  0.333333  0.333333
    """
    count = Counter(edge for edges in members for edge in edges)
    rows = []
    for (parent, child), times in count.items():
        back = count.get((child, parent), 0)
        if times > back or (times == back and parent < child):
            rows.append((parent, child, times / len(members), (times + back) / len(members)))
    frame = pd.DataFrame(rows, columns=["parent", "child", "share", "either"])
    order = ["either", "share", "parent", "child"]
    return frame.sort_values(order, ascending=[False, False, True, True], ignore_index=True)


def between_features(frequencies: pd.DataFrame, target: str) -> tuple[list[str], FloatArray]:
    """Return features and, for each pair of them, the share of the members with an edge between the two.

    There are at most :data:`MOST_FEATURES` features, in the order of their most frequent edges.
    """
    without = frequencies[(frequencies["parent"] != target) & (frequencies["child"] != target)]
    ends = without[["parent", "child"]].to_numpy().ravel().tolist()
    names = list(dict.fromkeys(ends))[:MOST_FEATURES]
    place = {name: number for number, name in enumerate(names)}
    shares = np.zeros((len(names), len(names)))
    for parent, child, either in without[["parent", "child", "either"]].itertuples(index=False):
        if parent in place and child in place:
            shares[place[parent], place[child]] = shares[place[child], place[parent]] = either
    return names, shares


def plot_frequencies(frequencies: pd.DataFrame, target: str, n_members: int, ax: Axes | None = None) -> Axes:
    """Draw a square with a shade for each pair of features: the darker, the more members have an edge between them."""
    from matplotlib.colors import LinearSegmentedColormap

    names, shares = between_features(frequencies, target)
    if ax is None:
        side = 2.5 + 0.25 * max(len(names), 4)
        ax = new_axes((side, side))
    shades = LinearSegmentedColormap.from_list("share of members", [PAPER, ACCENT])
    ax.set_title(f"Edges between features: share of {n_members} members", fontsize=10, color=INK)
    if not names:
        ax.set_axis_off()
        ax.text(0.5, 0.5, "no member has an edge between features", ha="center", va="center", color=INK)
        return ax
    image = ax.imshow(shares, cmap=shades, vmin=0.0, vmax=1.0)
    ax.set_xticks(range(len(names)), names, rotation=90, fontsize=8)
    ax.set_yticks(range(len(names)), names, fontsize=8)
    for label in (*ax.get_xticklabels(), *ax.get_yticklabels()):
        label.set_parse_math(False)
    ax.figure.colorbar(image, ax=ax, fraction=0.046, pad=0.04)
    return ax


def save_frequencies(path: str | PathLike[str], frequencies: pd.DataFrame, target: str, n_members: int) -> None:
    """Write the picture of :func:`plot_frequencies` to a file, whole or not at all; its ending is the format."""
    path = Path(path)
    suffix = path.suffix.lower()
    if suffix not in _ENDINGS:
        raise ValueError(f"a picture is saved as {', '.join(_ENDINGS)}: give {str(path)!r} one of these endings")
    drawn = io.BytesIO()
    plot_frequencies(frequencies, target, n_members).figure.canvas.print_figure(drawn, format=suffix[1:], dpi=192)
    write_atomically(path, drawn.getvalue())
