"""Any value is text in HTML, and nothing else."""

from html import unescape

from html_page import Page
from hypothesis import given
from hypothesis import strategies as st

from bnplug.notebook._text import text, xml_text


@given(st.text())
def test_whatever_a_value_holds_is_text(value):
    page = Page(f'<p title="{text(value)}">{text(value)}</p>')
    assert page.elements == [("p", {"title": xml_text(value)})]
    assert "".join(page.texts) == xml_text(value)
    assert unescape(text(value)) == xml_text(value)
    assert not set(text(value)) & set("<>\"'\t\n\r")


def test_what_xml_cannot_hold_is_replaced():
    assert xml_text("a\x00b\ud800c\uffff\t\n") == "a\ufffdb\ufffdc\ufffd\t\n"
