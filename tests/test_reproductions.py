"""Pages of papers are what the results that ship say, byte for byte."""

import re
from pathlib import Path

import pytest
from bnplug_papers.kit import Page, Paper
from strategies import some

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


@pytest.mark.parametrize("name", PAPERS)
@pytest.mark.parametrize("n", some([0, 1, 2, -1, 3, 8, 20, 80, 300], 3))
def test_a_run_that_was_cut_short_has_a_page(name, n, tmp_path):
    """Of the first tasks, or of the last one alone."""
    first, *records = PAPERS[name].shipped().splitlines()
    tasks, runs = ([record for record in records if ('"part": "run"' in record) == of_run] for of_run in (False, True))
    kept = tasks[:n] if n >= 0 else tasks[n:]
    (tmp_path / f"{name}.jsonl").write_text("\n".join([first, *kept, runs[-1], ""]), "utf-8")
    assert PAPERS[name].run(None, tmp_path, page_only=True)[1] == ""
    assert "## What was run\n" in (tmp_path / f"{name}.md").read_text("utf-8")


def test_the_index_lists_the_claims_of_all_papers(pages):
    assert set(PAPERS) == set(RUNS)
    assert (FOLDER / "index.md").read_text("utf-8") == Page.index([pages(name)[0] for name in PAPERS])
