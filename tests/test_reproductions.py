"""Pages of papers are what the results that ship say, byte for byte."""

import re
from pathlib import Path

import pytest

from bnplug.experiments.paper import Paper, index_of
from bnplug.hooks import registry

FOLDER = Path(__file__).parents[1] / "docs" / "reproduction"
RUNS = {method.name: registry.reproduction(method.name).run for method in registry.methods("reproduction")}
PAPERS = {name: run for name, run in RUNS.items() if isinstance(run, Paper) and run.shipped() is not None}


@pytest.mark.parametrize("name", PAPERS)
def test_a_page_is_written_from_the_results_that_ship(name, tmp_path):
    written = PAPERS[name](None, tmp_path, page_only=True)
    page = (FOLDER / f"{name}.md").read_text("utf-8")
    assert written.read_text("utf-8") == page
    shown = set(re.findall(r"\]\(([^)]+\.png)\)", page))
    assert shown == {path.name for path in tmp_path.glob("*.png")}
    assert shown == {path.name for path in FOLDER.glob(f"{name}-*.png")}


def test_the_index_lists_the_claims_of_all_papers(tmp_path):
    assert set(PAPERS) == set(RUNS)
    pages = [paper.page(tmp_path) for paper in PAPERS.values()]
    assert (FOLDER / "index.md").read_text("utf-8") == index_of(pages)
