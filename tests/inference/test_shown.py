"""What a notebook shows of answers: every figure in its place, the largest first, bars that go with them."""

import re

import numpy as np
import pandas as pd
import pytest
from awkward import NAMES
from html_page import Page

from bnplug.inference.explain import next_frame, to_long_frame
from bnplug.inference.queries import _explanation_display, query_frame, rows_frame

VALUES = np.array([[[0.5, -0.5], [0.0, 0.0], [-2.0, 2.0], [1.0, -1.0]]])


def explanation(values=VALUES, names=("a", "b", "c"), classes=("go", "stay"), rows=(7,)):
    return to_long_frame(np.asarray(values), pd.Index(rows), list(names), np.array(classes))


def html_of(frame):
    return frame._repr_html_()


def words(frame):
    display = frame._repr_html_()
    return " ".join(" ".join(Page(display.split("</style>")[1].removesuffix("</div>")).texts).split())


def test_contributions_with_their_sum_the_largest_first():
    assert words(explanation()) == (
        "row 7 what each known feature adds to the log odds of each class log odds of go stay "
        "(prior) +0.500 -0.500 b -2.000 +2.000 c +1.000 -1.000 sum -0.500 +0.500 1 of 3 features add nothing."
    )


def test_bars_go_with_contributions():
    bars = re.findall(r'class="signed (\w+)" style="--p:([\d.]+)"', html_of(explanation()))
    assert bars[:4] == [("for", "0.25"), ("against", "0.25"), ("against", "1"), ("for", "1")]


def test_of_many_rows_the_first_three_though_they_have_one_label():
    shown = explanation(np.repeat(VALUES, 5, axis=0), rows=[7] * 5)
    assert len(Page(shown._repr_html_()).all("table")) == 3
    assert "… and 2 more rows." in words(shown)


def test_of_many_features_those_that_contribute_most():
    values = np.concatenate([np.zeros((1, 1, 2)), np.arange(1.0, 51)[None, :, None] * [1, -1]], axis=1)
    shown = words(explanation(values, [f"x{i}" for i in range(50)]))
    assert "x49 +50.000 -50.000" in shown
    assert "x34 " not in shown
    assert "35 more add less than these." in shown


def test_a_changed_explanation_is_no_explanation():
    for change in (lambda own: own.drop(index=[0, 5]), lambda own: own.sort_values("contribution")):
        with pytest.raises(ValueError, match=r"no longer an explanation|reshape"):
            _explanation_display(change(explanation()))
    changed = explanation()
    changed["more"] = 1
    assert "dataframe" in changed._repr_html_()


def test_classes_of_any_type_and_one_class():
    assert "True" in html_of(explanation(classes=np.array([True, "True"], dtype=object)))
    assert "sum +2.000" in words(explanation(np.ones((1, 2, 1)), ["a"], ["only"]))


def test_an_answer_has_a_bar_for_each_probability():
    answer = query_frame(np.array([0.25, 0.75]), {"row": ["<rain>", "sun"]})
    assert words(answer) == "row probability <rain> 0.2500 sun 0.7500"
    assert re.findall(r"--p:([\d.]+)\"><i>", answer._repr_html_()) == ["0.25", "0.75"]


def test_answers_for_rows_are_those_of_the_first_rows():
    answers = rows_frame(np.full((5, 2), 0.5), {"sky": ["rain", "sun"]}, pd.Index(list("vwxyz")))
    shown = Page(answers._repr_html_())
    assert len(shown.all("tr")) == 1 + 3 * 2
    assert "… and 2 more rows." in shown.text


def test_an_impossible_row_has_no_figure_and_no_bar():
    answers = rows_frame(np.array([[np.nan, np.nan], [0.5, 0.5]]), {"sky": ["rain", "sun"]}, pd.Index([0, 1]))
    assert words(answers).count("NaN") == 2
    assert len(re.findall(r"--p:[\d.]+\"><i>", answers._repr_html_())) == 2


def test_what_to_ask_next_is_measured_by_the_first():
    asked = next_frame(np.array([[0.1, 0.2]]), np.array([[True, True]]), ["a", "b"], pd.Index([3]))
    assert words(asked) == "row feature information 3 b 0.2000 3 a 0.1000"
    assert re.findall(r"--p:([\d.]+)\"><i>", asked._repr_html_()) == ["1", "0.5"]
    nothing = next_frame(np.zeros((1, 2)), np.array([[False, False]]), ["a", "b"], pd.Index([3]))
    assert words(nothing) == "row feature information"


def test_awkward_names_are_text():
    for name in set(NAMES) - {"\ud800"}:
        for shown in (
            query_frame(np.array([0.25, 0.75]), {name: [name, "other"]}),
            explanation(names=[name, "b", "c"]),
        ):
            page = Page(shown._repr_html_())
            assert not {tag for tag, _ in page.elements} & {"script", "img", "iframe"}
            assert "dataframe" not in shown._repr_html_()
