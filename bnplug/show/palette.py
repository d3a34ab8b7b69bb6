"""The colours and marks of all pictures: of networks, of comparisons, of plugins' own figures."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: The ground, text and lines, lines that step back, and grids.
PAPER, INK, SOFT, PALE = "#ffffff", "#1c2733", "#5b6b7c", "#a9b4c0"
#: What a picture is about, and what it warns of.
ACCENT, WARNING = "#1d5fa6", "#b3261e"
#: One for every curve, distinct also for those who see few colours.
COLOURS = (ACCENT, "#d1600a", "#2a8a4a", "#b03a74", "#7a5cc0", "#8a6d00", "#158a9c", SOFT)
#: One for every curve, for print without any colour.
MARKS = ("o", "s", "^", "D", "v", "P", "X", "*")

#: Contributions to a class, and those against it.
FOR, AGAINST = "#2166ac", "#b2182b"

#: The nodes of a network, each as fill, border and text: features, marked ones, the class.
FEATURE, MARKED, CLASS = ("#f4f6f9", SOFT, INK), ("#fff0c9", "#b97f00", INK), (ACCENT, "#16487f", PAPER)
#: Edges between features, and those that leave the class.
FEATURE_EDGE, CLASS_EDGE = "#34434f", "#a9c3e2"


def colour(number: int) -> str:
    """Return the colour of curve `number`; after the last comes the first again.

    Examples
    --------
    >>> colour(0) == colour(len(COLOURS)) == ACCENT
    True
    """
    return COLOURS[number % len(COLOURS)]


def mark(number: int) -> str:
    """Return the mark of curve `number`; after the last comes the first again."""
    return MARKS[number % len(MARKS)]


def finish(ax: Axes, legend: bool = False) -> Axes:
    """Give axes a pale grid and no frame above and on the right; return them.

    Parameters
    ----------
    ax : matplotlib Axes
    legend : bool
        Whether to name the curves, where any has a name.
    """
    ax.grid(color=PALE, alpha=0.35, linewidth=0.7)
    ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)
    if legend and ax.get_legend_handles_labels()[0]:
        for text in ax.legend(frameon=False).get_texts():
            text.set_parse_math(False)
    return ax
