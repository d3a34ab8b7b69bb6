"""Pieces of a page: what is text stays text."""

from html_page import Page
from hypothesis import given
from hypothesis import strategies as st

from bnplug.show.report import _parts as parts


@given(st.text())
def test_every_piece_is_closed(value):
    Page(parts.heading(value))
    Page(parts.shaded(0.5, parts.text(value), "right", value))
    Page(parts.table([[parts.heading(value)]], [[parts.cell(parts.name(value))]], "plain", value))
    Page(parts.definitions([(value, parts.text(value))]))
    Page(parts.section("a", value, parts.note(parts.text(value))))


def test_numbers_are_as_short_as_they_may_be():
    assert [parts.number(value) for value in (0.0, 1.0, 0.0005, 0.0004)] == ["0", "1.000", "0.001", "4e-04"]
    assert [parts.plain(value) for value in (3.0, 0.25, 1234567.0)] == ["3", "0.25", "1,234,567"]


def test_long_headings_can_be_hovered_over():
    assert "title=" not in parts.heading("short")
    assert 'title="' in parts.heading("x" * 25)


def test_bars_say_their_length_and_side():
    assert "--p:0.25" in parts.bar(0.25, "a quarter")
    assert 'class="signed against" style="--p:0.5"' in parts.signed_bar(-0.5, "-1")
    assert 'class="signed for" style="--p:0.5"' in parts.signed_bar(0.5, "+1")
