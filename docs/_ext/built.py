"""What must hold of the pages that were built: every link in them leads somewhere, and every public name is found.

``make docs`` looks once the pages are written, and fails where something is missing.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import cache
from html import unescape
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

import described
import reference

if TYPE_CHECKING:
    from sphinx.application import Sphinx

_TAG = re.compile(r"<(?:a|area|iframe|img|link|script|source)\b[^>]*?\s(?:href|src)=\"([^\"]*)\"", re.IGNORECASE)
_ANCHOR = re.compile(r"\s(?:id|name)=\"([^\"]+)\"")
_SCRIPT = re.compile(r"<(script|style)\b[^>]*>.*?</\1>", re.DOTALL)
#: Written beside the versions after the pages.
_BESIDE = "versions.js"


def broken_links(folder: Path) -> Iterator[tuple[str, str]]:
    """Yield each page with each link of it that leads to a file or place that is not there."""
    folder = folder.resolve()
    for page in sorted(set(folder.rglob("*.html")) - set((folder / "_static").rglob("*.html"))):
        for link in sorted(set(map(unescape, _TAG.findall(page.read_text(encoding="utf-8"))))):
            if not _leads_somewhere(page, link):
                yield page.relative_to(folder).as_posix(), link


def _leads_somewhere(page: Path, link: str) -> bool:
    parts = urlsplit(link)
    if parts.scheme or parts.netloc or parts.path.endswith(_BESIDE):
        return True
    target = (page.parent / unquote(parts.path)).resolve() if parts.path else page
    if not target.exists():
        return False
    anchored = parts.fragment and target.suffix == ".html"
    return not anchored or unquote(parts.fragment) in _anchors(target)


@cache
def _anchors(page: Path) -> frozenset[str]:
    text = _SCRIPT.sub("", page.read_text(encoding="utf-8"))
    return frozenset(map(unescape, _ANCHOR.findall(text)))


def wanted() -> set[str]:
    """Return what a search must find: every name of the reference, and every registered method that has a page."""
    return {*reference.documented(), *(method.name.lower() for method in described.pages().values())}


def indexed(folder: Path) -> set[str]:
    """Return what the search of a build knows by name, and not only as words in a text: objects and index entries."""
    text = (folder / "searchindex.js").read_text(encoding="utf-8")
    index = json.loads(text.removeprefix("Search.setIndex(").rstrip().removesuffix(")"))
    objects = {f"{prefix}.{entry[4]}".lstrip(".") for prefix, found in index["objects"].items() for entry in found}
    return objects | set(index["indexentries"])


def _look(app: Sphinx, error: Exception | None) -> None:
    from sphinx.util import logging

    if error is not None or app.builder.name != "html":
        return
    logger, folder = logging.getLogger(__name__), Path(app.outdir)
    for page, link in broken_links(folder):
        logger.warning("%s: the link to %s leads nowhere", page, link)
    for name in sorted(wanted() - indexed(folder)):
        logger.warning("a search does not find %s", name)


def setup(app: Sphinx) -> dict[str, Any]:
    """Look when everything is written."""
    app.connect("build-finished", _look, priority=900)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
