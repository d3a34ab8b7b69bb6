"""The colors and markers of all pictures, including those of plugins."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Background, text and lines, softer lines, and grids.
PAPER, INK, SOFT, PALE = "#ffffff", "#1c2733", "#5b6b7c", "#a9b4c0"
#: The subject of a picture, and warnings.
ACCENT, WARNING = "#1d5fa6", "#b3261e"
#: One for every curve, also distinct for color-blind readers.
COLOURS = (ACCENT, "#d1600a", "#2a8a4a", "#b03a74", "#7a5cc0", "#8a6d00", "#158a9c", SOFT)
#: One for every curve, for print without color.
MARKS = ("o", "s", "^", "D", "v", "P", "X", "*")

#: Contributions for and against a class.
FOR, AGAINST = "#2166ac", "#b2182b"

#: Fill, border and text of nodes: features, marked features, the class.
FEATURE, MARKED, CLASS = ("#f4f6f9", SOFT, INK), ("#fff0c9", "#b97f00", INK), (ACCENT, "#16487f", PAPER)
#: Edges between features, and edges from the class.
FEATURE_EDGE, CLASS_EDGE = "#34434f", "#a9c3e2"


def colour(number: int) -> str:
    """Return the color of curve `number`; colors repeat after the last."""
    return COLOURS[number % len(COLOURS)]


def mark(number: int) -> str:
    """Return the marker of curve `number`; markers repeat after the last."""
    return MARKS[number % len(MARKS)]


def finish(ax: Axes, legend: bool = False) -> Axes:
    """Give axes a pale grid, no frame at the top and right and, if any curve has a name, a legend; return them."""
    ax.grid(color=PALE, alpha=0.35, linewidth=0.7)
    ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)
    if legend and ax.get_legend_handles_labels()[0]:
        for text in ax.legend(frameon=False).get_texts():
            text.set_parse_math(False)
    return ax
