"""A fitted classifier as one HTML file that answers, click by click."""

from bnplug.show.explorer._page import ExplorerPage, to_html, write

__all__ = ["ExplorerPage", "to_html", "write"]
