"""The documentation as a reader has it: a page for each name, links that lead somewhere, a search, versions."""

import re
import shutil
import sys
from pathlib import Path

import pytest
from browser import Browser, find

import bnplug

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "docs" / "_ext"))
import api_pages  # noqa: E402
import built  # noqa: E402
import reference  # noqa: E402
import versions  # noqa: E402

#: Where `make docs` leaves the pages.
BUILT = ROOT / "docs" / "_build" / bnplug.__version__
ENTRIES = [entry for section in api_pages.sections() for entry in section.entries]


def is_built():
    """Whether the pages are there, and are those of today's sources."""
    index, sources = BUILT / "searchindex.js", [*ROOT.glob("docs/*.md"), *ROOT.glob("docs/_ext/*.py")]
    return index.exists() and index.stat().st_mtime > max(path.stat().st_mtime for path in sources)


needs_build = pytest.mark.skipif(not is_built(), reason="`make docs` has not been run on these sources")


# A page for each public name.


def test_every_public_name_has_a_page_of_its_own():
    assert sorted(entry.name for entry in ENTRIES) == sorted(reference.documented())
    # Some file systems do not tell capitals.
    assert len({entry.document.lower() for entry in ENTRIES}) == len(ENTRIES)


@pytest.mark.parametrize("section", api_pages.sections(), ids=lambda section: section.title)
def test_the_list_says_something_about_each_name(section):
    pytest.importorskip("sphinx")
    listed = "\n".join(api_pages.listing(section))
    for entry in section.entries:
        assert re.search(rf"</{re.escape(entry.document)}>`\n     - \S.{{5,}}", listed), entry.name
        assert f"\n   /{entry.document}" in listed


def test_an_entry_keeps_its_options_and_its_words():
    text = """```{eval-rst}
Things
------

.. currentmodule:: bnplug.search

.. autoclass:: Graph
   :members: edges

Words between.

.. py:data:: bnplug.HOOK_API

   A number. And more.

.. automodule:: bnplug.errors
   :members: ContractError
```"""
    (section,) = api_pages.sections(text)
    graph, number, error = section.entries
    assert graph.text == (
        "``bnplug.search.Graph``\n=======================\n\n.. currentmodule:: bnplug.search\n\n"
        ".. autoclass:: Graph\n   :members: edges\n"
    )
    assert ".. currentmodule:: bnplug\n\n.. py:data:: HOOK_API\n\n   A number. And more.\n" in number.text
    assert api_pages.summary(number) == "A number."
    assert ".. autoexception:: ContractError\n" in error.text
    listed = list(api_pages.listing(section))
    assert "Words between." in listed
    assert api_pages.siblings("api/bnplug.HOOK_API", [section]) == ("Things", section.entries)


def test_pages_of_names_that_are_gone_go(tmp_path):
    (tmp_path / "api").mkdir()
    (tmp_path / "api" / "bnplug.gone.rst").write_text("gone")
    api_pages.write_pages(tmp_path)
    written = {path.stem for path in (tmp_path / "api").iterdir()}
    assert written == {entry.document.removeprefix("api/") for entry in ENTRIES}


# Links and names in the pages that were built.


def test_links_that_lead_nowhere_are_found(tmp_path):
    (tmp_path / "below").mkdir()
    (tmp_path / "index.html").write_text(
        '<h1 id="top">x</h1><a href="#top">1</a><a href="below/b.html#a%20b">2</a><img class="c" src="below/gone.png">'
        '<a href="below/b.html#gone">3</a><a href="https://example.org/x#y">4</a><a href="?q=1">5</a>'
    )
    (tmp_path / "below" / "b.html").write_text(
        '<p id="a b"><a href="../index.html#top">back</a><script id="gone"></script>'
    )
    assert list(built.broken_links(tmp_path)) == [
        ("index.html", "below/b.html#gone"),
        ("index.html", "below/gone.png"),
    ]


def test_the_search_knows_objects_and_index_entries(tmp_path):
    index = '{"objects":{"":[[0,0,1,"","bnplug"]],"bnplug.search":[[0,0,1,"","climb"]]},"indexentries":{"ccbn-w":[]}}'
    (tmp_path / "searchindex.js").write_text(f"Search.setIndex({index})")
    assert built.indexed(tmp_path) == {"bnplug", "bnplug.search.climb", "ccbn-w"}
    assert {"bnplug.Table", "bnplug.search.climb", "ccbn-w", "tan"} <= built.wanted()


@needs_build
def test_the_built_pages_link_to_what_is_there_and_their_search_knows_every_name():
    assert not list(built.broken_links(BUILT))
    assert built.wanted() <= built.indexed(BUILT)


# In a browser, from the disk.


@pytest.fixture(scope="module")
def browser():
    if find() is None:
        pytest.skip("no Chromium")
    own = Browser()
    yield own
    own.close()


@needs_build
@pytest.mark.parametrize(
    ("query", "page"),
    [("ccbn-w", "methods/parameters/ccbn-w.html"), ("hill-climb", "methods/structure/hill-climb.html"),
     ("BayesianNetworkImputer", "api/bnplug.BayesianNetworkImputer.html"), ("climb", "api/bnplug.search.climb.html")],
)  # fmt: skip
def test_a_search_from_the_disk_finds_the_page(browser, query, page):
    browser.open(BUILT / "search.html", f"?q={query}")
    browser.until("document.querySelectorAll('#search-results li a').length > 0")
    browser.until(f"[...document.querySelectorAll('#search-results li a')].some((a) => a.href.includes('{page}'))")
    assert not [own for own in browser.requests() if not own.startswith(("file:", "data:"))]
    assert not browser.errors()


@needs_build
@pytest.mark.parametrize("width", [1400, 400])
@pytest.mark.parametrize(
    "page", ["index", "why", "api", "api/bnplug.BayesianNetworkClassifier", "howto", "performance",
             "changelog", "methods/structure/hill-climb", "notebooks/index",
             *(f"reproduction/{path.stem}" for path in (ROOT / "docs" / "reproduction").glob("*.md"))],
)  # fmt: skip
def test_a_page_fits_and_a_wide_table_scrolls_beside_its_first_column(browser, page, width):
    browser.open(BUILT / f"{page}.html", width=width)
    assert browser.run("document.documentElement.scrollWidth") <= width
    # The theme hides what is too wide; only code and tables scroll in frames of their own.
    framed = "pre, .highlight, .pst-scrollable-table-container, iframe, svg, .math"
    cut_off = browser.run(f"""[...document.querySelectorAll('.bd-article *')]
        .filter((own) => own.getBoundingClientRect().right > innerWidth + 1 && !own.closest('{framed}'))
        .map((own) => own.textContent.slice(0, 60))""")
    assert not cut_off
    moved = browser.run("""[...document.querySelectorAll('.pst-scrollable-table-container')]
        .filter((frame) => frame.scrollWidth > frame.clientWidth + 1)
        .map((frame) => {
            const cell = frame.querySelector('td, th');
            const before = cell.getBoundingClientRect().left;
            frame.scrollLeft = 40;
            return Math.abs(cell.getBoundingClientRect().left - before);
        })""")
    assert all(distance < 2 for distance in moved)


@needs_build
def test_a_page_leads_to_itself_in_another_version(browser, tmp_path):
    for version in ("0.1.0", bnplug.__version__):
        (tmp_path / version).mkdir()
        for name in ("why.html", "index.html", "_static"):
            copy = shutil.copytree if name == "_static" else shutil.copy
            copy(BUILT / name, tmp_path / version / name)
    versions.write(tmp_path)
    browser.open(tmp_path / bnplug.__version__ / "why.html")
    browser.until("document.querySelector('.versions select').options.length === 2")
    browser.run("""{ const select = document.querySelector('.versions select');
        select.value = '0.1.0'; select.dispatchEvent(new Event('change')); }""")
    browser.until("location.pathname.endsWith('/0.1.0/why.html')")
    browser.open(tmp_path / "index.html")
    browser.until(f"location.pathname.endsWith('/{bnplug.__version__}/index.html')")
