"""The kit: any value is text, elements are closed, nothing is loaded, bars and shades match their numbers."""

import base64
import hashlib
import re
from html import unescape

import pytest
from awkward import NAMES
from html_page import Page
from hypothesis import given
from hypothesis import strategies as st

from bnplug.html import _kit as html

TAGS = {"div", "style", "p", "b", "span", "table", "thead", "tbody", "tr", "th", "td", "i", "bdi"}


@given(st.text())
def test_whatever_a_value_holds_is_text(value):
    page = Page(f'<p title="{html.text(value)}">{html.text(value)}</p>')
    assert page.elements == [("p", {"title": html.xml_text(value)})]
    assert "".join(page.texts) == html.xml_text(value)
    assert unescape(html.text(value)) == html.xml_text(value)
    assert not set(html.text(value)) & set("<>\"'\t\n\r")


def test_what_xml_cannot_hold_is_replaced():
    assert html.xml_text("a\x00b\ud800c\uffff\t\n") == "a\ufffdb\ufffdc\ufffd\t\n"


@given(st.one_of(st.sampled_from(NAMES), st.text()), st.floats(-1, 1))
def test_names_are_text_and_elements_are_closed(name, share):
    row = [name, html.Cell(name, bar=share, signed=True), html.Cell(name, "right", name, shade=share)]
    table = html.table([[name, html.Cell(name)]], [row], "plain", name)
    page = Page(html.display(html.title(name, name), html.note(name), table))
    assert {tag for tag, _ in page.elements} <= TAGS
    assert not [attributes for _, attributes in page.elements if {"src", "href", "onclick"} & set(attributes)]
    assert page.all("p")[0] == {}
    assert page.all("td")[1].get("title", "") == html.xml_text(name)


@given(st.text())
def test_templates_escape_whatever_they_are_given(value):
    page = Page(html.render("page.html", title=value, contents=value))
    assert not {tag for tag, _ in page.elements} & {"script", "img", "iframe", "link"}
    assert html.xml_text(value) in "".join(page.texts)
    definitions = Page(html.macro("definitions", [(value, value)], "facts"))
    assert [tag for tag, _ in definitions.elements] == ["dl", "div", "dt", "dd"]


def test_no_display_loads_anything():
    assert not re.search(r"url\(|@import|https?:", html.display())
    assert not re.search(r"url\(|@import|https?:", html.render("page.html", title="", contents=""))


def test_a_long_name_is_cut_and_can_be_hovered_over():
    ((_, attributes),) = Page(html.short("a" * 100)).elements
    assert attributes == {"title": "a" * 100}
    assert "".join(Page(html.short("a" * 100)).texts) == "a" * 59 + "…"
    assert "".join(Page(html.short("a" * 60)).texts) == "a" * 60
    assert 'title="' in html.short("a" * 25)
    assert html.short("a" * 24) == f"<bdi>{'a' * 24}</bdi>"


def test_bars_have_a_length_and_a_side():
    bars = [html.Cell("x", bar=0.25), html.Cell("x", bar=0.5, signed=True), html.Cell("x", bar=-1, signed=True)]
    spans = Page(html.table([], [bars], headings=0)).all("span")
    assert [span["class"] for span in spans] == ["bar", "signed for", "signed against"]
    assert [span["style"] for span in spans] == ["--p:0.25", "--p:0.5", "--p:1"]


def test_a_shade_goes_with_its_share():
    cells = Page(html.table([], [[html.Cell("x", shade=0.5), html.Cell("x")]], headings=0)).all("td")
    assert cells == [{"style": "--p:0.5"}, {}]


def test_sums_are_apart_from_the_rows_above():
    rows = [[str(i)] for i in range(4)]
    kinds = [row.get("class") for row in Page(html.table([], rows, n_sums=2)).all("tr")]
    assert kinds == [None, None, "sum", None]
    assert "sum" not in html.table([], rows)


def test_leading_cells_are_row_headings():
    page = Page(html.table([["a", "b", "c"]], [[1, 2, 3]], headings=2))
    assert [heading["scope"] for heading in page.all("th")] == ["col"] * 3 + ["row"] * 2
    assert len(page.all("td")) == 1


def test_numbers_are_as_short_as_they_may_be():
    assert [html.number(value, 3) for value in (0.0, 1.0, 0.0005, 0.0004)] == ["0", "1.000", "0.001", "4e-04"]
    assert [html.number(value) for value in (-0.5, 123456.0, float("nan"))] == ["-0.5000", "1e+05", "NaN"]


def test_of_many_labels_the_first_are_listed():
    assert html.listing(range(2), separator=" · ") == "<bdi>0</bdi> · <bdi>1</bdi>"
    assert html.listing(range(15)).endswith("<bdi>11</bdi> and 3 more")


def test_the_policy_allows_one_script_by_its_digest_and_nothing_else():
    digest = base64.b64encode(hashlib.sha256("let ä = 1".encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'"
    assert html.content_policy("let ä = 1") == policy
    assert html.content_policy() == "default-src 'none'; style-src 'unsafe-inline'"


@pytest.mark.parametrize("file", ["page.html", "report.html", "explorer.html", "comparison.html"])
def test_templates_switch_no_escaping_off(file):
    assert "safe" not in html.source(file)
    assert "autoescape" not in html.source(file)
