"""docs/api.md is the boundary: what it names exists, and what plugins, examples and pages use is in it."""

import importlib
import re
import sys
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
sys.path.insert(0, str(DOCS / "_ext"))
import reference  # noqa: E402

REFERENCE = reference.Reference()
#: What others may take for an example of how the core is used: the code of plugins, the template whole, examples.
FILES = sorted(
    {
        *ROOT.glob("plugins/bnplug-*/bnplug_*/**/*.py"),
        *ROOT.glob("plugins/_template/*/**/*.py"),
        *ROOT.glob("examples/*.py"),
    }
)
BUILT = {"_build", "_generated", "auto_examples"}
PAGES = [ROOT / "README.md", *sorted(path for path in DOCS.rglob("*.md") if not BUILT & set(path.parts))]


def snippets(page):
    return "\n".join(re.findall(r"^```python\n(.*?)^```", page.read_text(), flags=re.MULTILINE | re.DOTALL))


def undocumented(text):
    return sorted({name for name in reference.used(text) if not REFERENCE.has(name)})


def name_of(path):
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_what_plugins_and_examples_use_is_documented(path):
    assert not undocumented(path.read_text())


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_what_pages_use_is_documented(page):
    assert not undocumented(snippets(page))


@pytest.mark.parametrize("name", sorted(set(REFERENCE.names)))
def test_what_is_documented_exists_and_is_public(name):
    assert reference.resolve(name) is not None
    assert not [part for part in name.split(".") if part.startswith("_")]


@pytest.mark.parametrize("package", sorted(ROOT.glob("bnplug/**/__init__.py")), ids=name_of)
def test_every_name_that_a_package_offers_is_documented(package):
    module = ".".join(package.parent.relative_to(ROOT).parts)
    names = [f"{module}.{name}" for name in getattr(importlib.import_module(module), "__all__", [])]
    assert not [name for name in names if not REFERENCE.has(name)]


@pytest.mark.parametrize("module", sorted(ROOT.glob("bnplug/**/*.py")), ids=name_of)
def test_what_is_not_documented_is_private_by_name(module):
    names = reference.offered(module, ROOT)
    assert not [name for name in names if not REFERENCE.has(name)]


def test_every_module_that_is_named_is_documented_under_its_own_path():
    for line in reference.PAGE.read_text().splitlines():
        if module := re.match(r"\.\. (?:currentmodule|automodule):: (\S+)", line):
            importlib.import_module(module[1])


def test_every_name_has_one_entry():
    assert [name for name, entries in Counter(REFERENCE.names).items() if entries > 1] == []


# The questions above can be answered with no.


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("from bnplug import Table", ["bnplug.Table"]),
        ("from bnplug.table.table import Table as T", ["bnplug.table.table.Table"]),
        ("import bnplug\nbnplug.load('x')", ["bnplug.load"]),
        ("import bnplug.search as s\ns.climb", ["bnplug.search.climb"]),
        ("from bnplug.hooks import registry\nregistry.find(1).name", ["bnplug.hooks.registry.find"]),
        ("import bnplug\nbnplug.hooks.registry.find", ["bnplug.hooks.registry.find"]),
        ("if TYPE_CHECKING:\n    from bnplug.table.table import Table", ["bnplug.table.table.Table"]),
        ("def f():\n    from bnplug import Table", ["bnplug.Table"]),
        ("from bnplug_margin import score", []),
        ("import numpy as np\nnp.sum", []),
    ],
)
def test_names_that_are_used_are_found(text, found):
    assert list(reference.used(text)) == found


def test_a_re_export_is_documented_where_its_home_is_and_the_other_way_round():
    page = reference.Reference(
        ".. currentmodule:: bnplug\n\n.. autoclass:: Table\n.. autofunction:: bnplug.search.climb"
    )
    assert page.has("bnplug.table.table.Table")
    assert page.has("bnplug.search.climb")
    assert not page.has("bnplug.LogTables")


def test_members_of_a_module_are_those_listed_or_its_own():
    listed = reference.documented(".. automodule:: bnplug.errors\n   :members: ContractError, PluginError")
    assert listed == ["bnplug.errors.ContractError", "bnplug.errors.PluginError"]
    own = reference.documented(".. automodule:: bnplug.errors\n   :members:")
    assert {"bnplug.errors.ContractError", "bnplug.errors.BnplugWarning"} <= set(own)
    assert not reference.documented(".. automodule:: bnplug.errors\n\n.. currentmodule:: bnplug")
    assert reference.documented(".. py:data:: bnplug.HOOK_API\n\n   A number.") == ["bnplug.HOOK_API"]
