"""A fitted classifier as one self-contained HTML page."""

from bnplug.show.report._page import to_html, write

__all__ = ["to_html", "write"]
