"""A comparison as an HTML page: what the Markdown page has, nothing loaded, nothing run."""

from html.parser import HTMLParser

import pytest

from bnplug.experiments import compare, to_html
from bnplug.experiments._report import parts_of


class Page(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.tags, self.open, self.links, self.cells = [], [], [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        if tag not in ("meta", "img"):
            self.open.append(tag)
        self.links += [value for name, value in attrs if name in ("src", "href")]

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if {"td", "th"} & set(self.open):
            self.cells.append(data)


@pytest.fixture(scope="module")
def three():
    return compare(["nb", "tan", "kdb"], ["corral", "iris"], cv=2)


def test_the_page_has_every_part_and_is_well_formed(three):
    page = Page(to_html(three))
    assert page.open == []
    tables = [part.table for part in parts_of(three) if part.table is not None]
    assert page.cells == [cell for table in tables for row in (table.columns, *table.rows) for cell in row if cell]
    assert page.tags.count("img") == 3
    assert all(link.startswith("data:image/svg+xml;base64,") for link in page.links)
    assert "script" not in page.tags
    assert to_html(three) == to_html(three)


def test_best_cells_and_the_summary_stand_out(three):
    text = to_html(three)
    assert text.count('<td class="best">') == sum(len(part.table.best) for part in parts_of(three) if part.table)
    assert text.count('<tr class="sum">') == 1


def test_failures_are_listed_and_names_are_text():
    found = compare([("<b>x</b>", "nb")], ["corral"], cv=2)
    failed = found.results.assign(error="<script>alert(1)</script>", accuracy=float("nan"))
    text = to_html(type(found)(failed, found.datasets, found.methods))
    assert "<h2>Folds that failed</h2>" in text
    assert "<script" not in text
    assert "<b>x" not in text
    assert "&lt;b&gt;x" in text
