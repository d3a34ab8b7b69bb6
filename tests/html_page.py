"""An HTML page, read as a browser would."""

from html.parser import HTMLParser

VOID = {"meta", "img", "br", "hr", "input", "link"}


class Page(HTMLParser):
    """The elements of a page, with a check that each is closed where it should be."""

    def __init__(self, html):
        super().__init__()
        self.elements, self.open, self.texts = [], [], []
        self.feed(html)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)

    def all(self, tag):
        return [attributes for found, attributes in self.elements if found == tag]

    @property
    def text(self):
        return " ".join(self.texts)


def sections(page):
    return [attributes["id"] for attributes in page.all("section")]
