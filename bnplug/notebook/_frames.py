"""Frames that a notebook shows with bars and shades.

They are plain pandas frames in everything else, of no class of their own: two frames compare as they did, and what is
computed from one, or read from a pickle, is shown by pandas.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable

import pandas as pd


def with_display(frame: pd.DataFrame, display: Callable[[pd.DataFrame], str]) -> pd.DataFrame:
    """Return a frame itself, which a notebook then shows as `display` says.

    Parameters
    ----------
    frame : pandas frame
    display : callable
        The frame's HTML. Where the frame was changed in place, so that it is not what it was, it may raise: pandas
        then shows the frame.
    """
    # A frame that held itself would stay in memory until cycles are looked for. One that nobody holds, as where its
    # display is asked for in the line that makes it, is shown as it was made.
    own, made = weakref.ref(frame), frame.copy(deep=False)

    def _repr_html_() -> str | None:
        if not pd.get_option("display.notebook_repr_html"):
            return None
        there = own()
        there = made if there is None else there
        try:
            return display(there)
        except (IndexError, KeyError, TypeError, ValueError, ZeroDivisionError):
            return plain_display(there)

    object.__setattr__(frame, "_repr_html_", _repr_html_)
    return frame


def plain_display(frame: pd.DataFrame) -> str:
    """Return the beginning of any frame as pandas shows it."""
    return frame.to_html(notebook=True, max_rows=60, max_cols=20)
