"""The pieces of a display: closed elements, nothing loaded, lengths that go with their figures."""

import re

import pytest
from awkward import NAMES
from html_page import Page
from hypothesis import given
from hypothesis import strategies as st

from bnplug.notebook import _pieces as html

TAGS = {"div", "style", "p", "b", "span", "table", "thead", "tbody", "tr", "th", "td", "i", "bdi"}


@given(st.sampled_from(NAMES), st.floats(-1, 1))
def test_names_are_text_and_elements_are_closed(name, share):
    rows = [[html.heading(name, "row"), html.cell(html.signed_bar(share, "x")), html.shaded(share, html.short(name))]]
    page = Page(html.fragment(html.title(name, name), html.note(name), html.table([[html.heading(name)]], rows)))
    assert {tag for tag, _ in page.elements} <= TAGS
    assert not [own for _, own in page.elements if {"src", "href", "onclick"} & set(own)]


def test_no_display_loads_anything():
    assert not re.search(r"url\(|@import|https?:", html.fragment())


def test_a_long_name_is_cut_and_can_be_hovered_over():
    ((_, attributes),) = Page(html.short("a" * 100)).elements
    assert attributes == {"title": "a" * 100}
    assert "".join(Page(html.short("a" * 100)).texts) == "a" * 59 + "…"
    assert html.short("a" * 60) == f"<bdi>{'a' * 60}</bdi>"


@pytest.mark.parametrize(("share", "drawn"), [(0.5, ("61, 133, 204", "30")), (-1, ("212, 96, 90", "60"))])
def test_a_bar_is_as_long_as_its_share(share, drawn):
    assert re.findall(r"rgb\(([\d, ]+)\); width: (\d+)px", html.signed_bar(share, "x")) == [drawn]
    assert re.findall(r"width: (\d+)px", html.bar(share, "x")) == (["30"] if share > 0 else [])


@pytest.mark.parametrize(("share", "alpha"), [(0, "0.00"), (1, "0.55"), (2, "0.55"), (-1, "0.00")])
def test_a_shade_goes_with_its_share(share, alpha):
    assert f", {alpha})" in html.shaded(share, "x")


def test_sums_are_apart_from_the_rows_above():
    rows = [[html.cell(str(i))] for i in range(4)]
    kinds = [own.get("class") for own in Page(html.table([], rows, n_sums=2)).all("tr")]
    assert kinds == [None, None, "sum", None]
    assert "sum" not in html.table([], rows)
