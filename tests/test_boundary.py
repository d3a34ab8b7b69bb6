"""Who may import what: `make lint` finds each import that crosses a boundary, in a copy of the tree that has one."""

import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
COPIED = ["bnplug", "plugins", ".ci", "Makefile", "pyproject.toml"]
PACKAGES = {path.parent.name for path in ROOT.glob("plugins/**/bnplug_*/__init__.py")}

RMCV = "plugins/bnplug-rmcv/bnplug_rmcv/scores.py"
TEMPLATE = "plugins/_template/score/bnplug_my_score/score.py"
#: A file, what is added to it, and the contract that it breaks.
CROSSINGS = {
    "a room imports a later one": ("bnplug/table/coding.py", "import bnplug.scoring", "rooms"),
    "inside a function": ("bnplug/counts/counting.py", "def f():\n    from bnplug.search import climb", "rooms"),
    "a flat module that is no room": ("bnplug/misc.py", "", "rooms"),
    "a package that is no room": ("bnplug/util/__init__.py", "", "rooms"),
    "by the front door": ("bnplug/table/coding.py", "from bnplug import LogTables", "front-door"),
    "by an attribute of it": ("bnplug/show/summary.py", "import bnplug\nx = bnplug.load", "front-door"),
    "a plugin imports another": (RMCV, "import bnplug_margin.score", "plugins"),
    "the core imports a plugin": ("bnplug/__main__.py", "from bnplug_ccbn import plugin", "core"),
    "pgmpy in the core": ("bnplug/table/table.py", "from pgmpy.base import DAG", "pgmpy"),
    "pgmpy in a plugin": (RMCV, "import pgmpy", "pgmpy"),
    "a private module in a plugin": (RMCV, "import bnplug.gradient._rows", "public-names"),
    "a private module by from": (RMCV, "from bnplug.gradient import _rows", "public-names"),
    "a private name": (RMCV, "from bnplug.table.table import (\n    Table,\n    _codes,\n)", "public-names"),
    "a private attribute": (RMCV, "import bnplug\nx = bnplug.hooks._found", "public-names"),
    "a private name in the template": (TEMPLATE, "from bnplug.scoring import _x", "public-names"),
}


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tree")
    for name in COPIED:
        path = ROOT / name
        if path.is_dir():
            shutil.copytree(path, folder / name, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
        else:
            shutil.copy(path, folder / name)
    return folder


@pytest.fixture
def adding(tree):
    """Give a function that adds lines to a file of the copy; take them away at the end."""
    before = {}

    def add(name, text):
        path = tree / name
        before[path] = path.read_text() if path.exists() else None
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"{before[path] or ''}\n\n{text}\n")

    yield add
    for path, text in before.items():
        if text is not None:
            path.write_text(text)
        elif path.name == "__init__.py":
            shutil.rmtree(path.parent)
        else:
            path.unlink()


def lint(tree, tool):
    """Run the command by which `make lint` calls a tool; return whether it passed, and what it said."""
    dry = ["make", "--dry-run", "--old-file=.venv/stamp", "lint", f"BIN={Path(sys.executable).parent}"]
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "MAKE"))}
    recipe = subprocess.run(dry, cwd=tree, env=environment, check=True, capture_output=True, text=True).stdout
    (command,) = [line for line in recipe.splitlines() if tool in line]
    done = subprocess.run(command, shell=True, cwd=tree, env=environment, check=False, capture_output=True, text=True)
    assert done.returncode in (0, 1), done.stderr
    return done.returncode == 0, done.stdout + done.stderr


def name_of(contract):
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    return next(found["name"] for found in contracts if found["id"] == contract)


def test_the_untouched_tree_passes(tree):
    passed, said = lint(tree, "lint-imports")
    assert passed, said


@pytest.mark.parametrize("crossing", CROSSINGS)
def test_lint_fails_where_a_boundary_is_crossed(crossing, tree, adding):
    file, text, contract = CROSSINGS[crossing]
    adding(file, text)
    passed, said = lint(tree, "lint-imports")
    assert not passed
    assert f"{name_of(contract)} BROKEN" in said
    assert said.count("BROKEN") == 1, said


def test_lint_fails_where_a_plugin_reaches_for_something_private_of_an_object(tree, adding):
    passed, said = lint(tree, "ruff check")
    assert passed, said
    adding(RMCV, 'def of(table):\n    """Reach."""\n    return table._codes')
    passed, said = lint(tree, "ruff check")
    assert not passed
    assert "Private member accessed: `_codes`" in said


def test_what_is_for_type_checkers_alone_may_come_from_anywhere(tree, adding):
    adding("bnplug/table/coding.py", "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import bnplug.scoring")
    passed, said = lint(tree, "lint-imports")
    assert passed, said


def test_every_package_is_looked_at():
    config = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
    contracts = {contract["id"]: contract for contract in config["contracts"]}
    assert len(PACKAGES) > 6
    assert set(config["root_packages"]) == {"bnplug", *PACKAGES}
    assert set(contracts["plugins"]["modules"]) == PACKAGES
    assert set(contracts["core"]["forbidden_modules"]) == PACKAGES
    assert set(contracts["pgmpy"]["source_modules"]) == {"bnplug", *PACKAGES}
    assert set(contracts["public-names"]["packages"]) == PACKAGES


def test_only_rooms_that_use_the_package_as_users_do_go_by_the_front_door():
    config = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
    contracts = {contract["id"]: contract for contract in config["contracts"]}
    rooms = {name for layer in contracts["rooms"]["layers"] for name in layer.split(" : ")}
    kept = {name.removeprefix("bnplug.") for name in contracts["front-door"]["packages"]}
    assert rooms - kept == {"__main__", "cli", "testing", "experiments", "datasets"}
