"""A frame with a display is a plain pandas frame in everything else."""

import gc
import pickle
import weakref

import pandas as pd
from pandas.testing import assert_frame_equal

from bnplug.html._kit import plain_display, with_display

FRAME = pd.DataFrame({"a": [1, 2], "b": ["<i>", "y"]})


def loud():
    return with_display(FRAME.copy(), lambda own: f"<b>{own['a'].sum()}</b>")


def test_it_is_a_plain_frame_and_so_is_what_is_computed_from_it():
    shown = loud()
    assert type(shown) is pd.DataFrame
    assert_frame_equal(shown, FRAME)
    assert_frame_equal(FRAME, shown)
    for own in (shown.head(1), shown.copy(), shown.round(1), pickle.loads(pickle.dumps(shown))):
        assert type(own) is pd.DataFrame
        assert own._repr_html_() == pd.DataFrame(own)._repr_html_()


def test_it_shows_itself_unless_it_has_become_another_frame():
    shown = loud()
    assert shown._repr_html_() == "<b>3</b>"
    shown.loc[0, "a"] = 5
    assert shown._repr_html_() == "<b>7</b>"
    del shown["a"]
    assert shown._repr_html_() == plain_display(FRAME[["b"]])
    assert "&lt;i&gt;" in shown._repr_html_()


def test_one_that_nobody_holds_is_shown():
    assert loud()._repr_html_() == "<b>3</b>"


def test_it_keeps_to_what_pandas_is_told():
    with pd.option_context("display.notebook_repr_html", False):
        assert loud()._repr_html_() is None


def test_it_does_not_keep_itself_in_memory():
    gc.disable()
    try:
        shown = loud()
        gone = weakref.ref(shown)
        del shown
        assert gone() is None
    finally:
        gc.enable()
