"""Pages of papers are what the results that ship say, byte for byte."""

import re
from pathlib import Path

import pytest

from bnplug.experiments.paper import Paper, index_of
from bnplug.hooks import registry

FOLDER = Path(__file__).parents[1] / "docs" / "reproduction"
RUNS = {method.name: registry.reproduction(method.name).run for method in registry.methods("reproduction")}
PAPERS = {name: run for name, run in RUNS.items() if isinstance(run, Paper) and run.shipped() is not None}


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """Make each page once, when it is asked for; return it with the folder that it is written to."""
    made = {}

    def page_of(name):
        if name not in made:
            folder = tmp_path_factory.mktemp(name)
            made[name] = PAPERS[name].run(None, folder, page_only=True)[0], folder
        return made[name]

    return page_of


@pytest.mark.parametrize("name", PAPERS)
def test_a_page_is_written_from_the_results_that_ship(name, pages):
    _, written = pages(name)
    page = (FOLDER / f"{name}.md").read_text("utf-8")
    assert (written / f"{name}.md").read_text("utf-8") == page
    shown = set(re.findall(r"\]\(([^)]+\.png)\)", page))
    assert shown == {path.name for path in written.glob("*.png")}
    assert shown == {path.name for path in FOLDER.glob(f"{name}-*.png")}


def test_the_index_lists_the_claims_of_all_papers(pages):
    assert set(PAPERS) == set(RUNS)
    assert (FOLDER / "index.md").read_text("utf-8") == index_of([pages(name)[0] for name in PAPERS])
