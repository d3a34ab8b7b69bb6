"""Links in the pages of the repository lead to files and headings that are there; those to elsewhere are well formed.

`make docs` looks at the built pages too (tests/test_built_docs.py), with the headings that the build writes.
"""

import re
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
BUILT = {"_build", "_generated", "auto_examples", "api"}
PAGES = sorted(
    [*ROOT.glob("*.md"), *ROOT.glob("plugins/**/README.md"), *ROOT.glob(".github/**/*.md")]
    + [path for path in DOCS.rglob("*.md") if not BUILT & set(path.relative_to(DOCS).parts)]
)
LINK = re.compile(r"\]\(<?([^()\s>]+(?:\([^()\s]*\)[^()\s>]*)*)>?(?: \"[^\"]*\")?\)|\b(?:href|src)=\"([^\"]+)\"")
#: Pages whose headings are written by the build.
GENERATED = {"command-line.md", "directory.md", "api.md"}


def without_code(text):
    text = re.sub(r"^ *(```+|~~~+).*?^ *\1", "", text, flags=re.MULTILINE | re.DOTALL)
    return re.sub(r"(`+)(?!`).+?(?<!`)\1(?!`)", "", text, flags=re.DOTALL)


def links(text):
    return [first or second for first, second in LINK.findall(without_code(text))]


def slug(heading):
    """The anchor of a heading, as GitHub and MyST make it."""
    words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).strip().lower()
    return re.sub(r"[^\w\- ]", "", words).replace(" ", "-")


def anchors(page):
    text = page.read_text()
    for included in re.findall(r"^```\{include\} (\S+)", text, re.MULTILINE):
        text += (page.parent / included).read_text()
    headings = re.findall(r"^#+ (.*)$", re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL), re.MULTILINE)
    return {
        *map(slug, headings),
        *re.findall(r"^\((\S+)\)=$", text, re.MULTILINE),
        *re.findall(r"\bid=\"([^\"]+)\"", text),
    }


def base(page):
    """The folder that a page's links start from: what is included on pages of `docs` starts from there."""
    return DOCS if page.parent.name == "measured" else page.parent


def problem(link, page):
    """Return what is wrong with a link, or None."""
    parts = urlsplit(link)
    if parts.scheme or parts.netloc:
        good = parts.scheme in ("http", "https") and re.fullmatch(r"[\w-]+(\.[\w-]+)+(:\d+)?", parts.netloc)
        return None if good or parts.scheme == "mailto" else "no address"
    path = unquote(parts.path)
    target = (DOCS / path[1:] if path.startswith("/") else base(page) / path).resolve() if path else page
    if "auto_examples" in target.parts:
        target = ROOT / "examples" / ("README.rst" if target.stem == "index" else f"{target.stem}.py")
    if not target.exists():
        return "no such file"
    if not parts.fragment or target.name in GENERATED or target.suffix != ".md":
        return None
    return None if parts.fragment in anchors(target) else "no such heading"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page):
    found = {link: problem(link, page) for link in links(page.read_text())}
    assert not {link: wrong for link, wrong in found.items() if wrong}


def test_there_are_links_of_each_kind():
    found = [link for page in PAGES for link in links(page.read_text())]
    assert len(found) > 150
    assert any("#" in link for link in found)
    assert any(link.endswith(".png") for link in found)


@pytest.mark.parametrize(
    ("link", "wrong"),
    [
        ("index.md", None),
        ("/methods/index.md#scores", None),
        ("methods/index.md#scares", "no such heading"),
        ("#no-such-heading", "no such heading"),
        ("gone.md", "no such file"),
        ("../README.md#write-a-plugin", None),
        ("auto_examples/first_classifier.rst", None),
        ("auto_examples/last_classifier.rst", "no such file"),
        ("https://doi.org/10.1007/x(97)1", None),
        ("https:/doi.org/10", "no address"),
        ("htps://doi.org/10", "no address"),
    ],
)
def test_a_link_that_is_wrong_is_found(link, wrong):
    assert links(f"[x]({link}), `[y](z)`") == [link]
    assert problem(link, DOCS / "index.md") == wrong
