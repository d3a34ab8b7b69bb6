"""The notebooks of the documentation: kept without outputs, and run under Jupyter's own kernel."""

import re
from pathlib import Path

import nbformat
import pytest
from html_page import Page
from nbclient import NotebookClient

ROOT = Path(__file__).parents[1]
NOTEBOOKS = {path.stem: path for path in sorted(ROOT.glob("docs/notebooks/*.ipynb"))}
#: What installs and checks a distribution takes long; the documentation runs it whenever it is built.
LONG = {"write-a-plugin"}


def read(name):
    return nbformat.read(NOTEBOOKS[name], as_version=4)


def test_the_page_lists_every_notebook():
    (listed,) = re.findall(r"```\{toctree\}(.*?)```", (ROOT / "docs/notebooks/index.md").read_text(), re.DOTALL)
    assert set(listed.split()[2:]) == set(NOTEBOOKS)


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_notebooks_are_kept_without_outputs(name):
    nbformat.validate(read(name))
    for cell in read(name).cells:
        assert not cell.get("outputs")
        assert cell.get("execution_count") is None
        assert cell.metadata == {}


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.long] if name in LONG else []) for name in NOTEBOOKS]
)
def test_notebooks_run_and_say_nothing_on_the_side(name, tmp_path):
    notebook = read(name)
    NotebookClient(notebook, timeout=600, resources={"metadata": {"path": str(tmp_path)}}).execute()
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    assert not [output.text for output in outputs if output.get("name") == "stderr"]
    shown = [output.data["text/html"] for output in outputs if "text/html" in output.get("data", {})]
    assert any("bnplug-shown" in html for html in shown)
    for html in shown:
        own = html[html.find('<div class="bnplug-shown">') :] if "bnplug-shown" in html else ""
        assert not {"script", "link", "iframe", "img"} & {tag for tag, _ in Page(own).elements}
