"""One table of what papers claim: whether each claim holds here, by which figure, and where to read on."""

from __future__ import annotations

from collections.abc import Sequence

from bnplug.experiments.reproduction import Page

_LONGEST = 160
_INTRODUCTION = """# Reproductions

What the papers claim, and what this project measures: one page for each paper, made of the results of its run by
`bnplug reproduce PAPER --page-only`. Each has our figures beside the published ones, those that are off with a reason
that was tested or none, and the data that were missing. All of it is `bnplug reproduce --all`."""


def index_of(pages: Sequence[Page]) -> str:
    """Return a page that lists the claims of all `pages`, as Markdown with a table of contents for Sphinx.

    Examples
    --------
    >>> page = Page("me2026", "Trees again", "Me (2026)")
    >>> page.claim("Trees are better than nothing.", True, "94.5% on iris")
    >>> print(index_of([page]).splitlines()[8])
    | [me2026](me2026.md) | Trees are better than nothing. | yes | 94.5% on iris |
    """
    # In the same order whatever was installed first.
    pages = sorted(pages, key=lambda page: page.name)
    rows = [
        f"| [{page.name}]({page.name}.md) | {_cell(claim)} | {verdict} | {_cell(shortened(evidence))} |"
        for page in pages
        for claim, verdict, evidence in page.claims
    ]
    table = ["| paper | claim | does it hold? | our figure |", "| --- | --- | --- | --- |", *rows]
    contents = ["```{toctree}", ":maxdepth: 1", ":hidden:", "", *(page.name for page in pages), "```"]
    return "\n\n".join([_INTRODUCTION, "\n".join(table), "\n".join(contents)]) + "\n"


def shortened(text: str) -> str:
    """Return a text, or as many of its parts, up to a semicolon or a comma, as a cell takes.

    Examples
    --------
    >>> shortened("a, b"), len(shortened("a long part, " * 30)) < 165
    ('a, b', True)
    """
    if len(text) <= _LONGEST:
        return text
    kept = text[:_LONGEST]
    return kept[: max(kept.rfind("; "), kept.rfind(", "), _LONGEST // 2)] + " ..."


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
