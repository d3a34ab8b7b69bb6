"""`bnplug new-plugin`: what it makes installs, passes its tests, and is the template under another name."""

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from click.testing import CliRunner

import bnplug
from bnplug.cli import cli
from bnplug.cli._plugins import KINDS, new_plugin, template

ROOT = Path(bnplug.__file__).parents[1]
NAMES = {
    "score": "cost-matrix",
    "structure": "super-parent",
    "parameters": "none",
    "engine": "ein-sum",
    "classifier": "bagged",
    "discretizer": "fixed-frequency",
}
#: A recipe is made of a structure, parameters and a discretiser.
IN_RECIPES = {"score", "structure", "parameters", "discretizer"}


#: In one interpreter, since importing everything takes longer than the rest.
RUN_ALL = """
import pathlib, re, runpy, sys
import pytest
folders = sys.argv[1:]
for folder in folders:
    for example in pathlib.Path(folder, "examples").glob("*.py"):
        runpy.run_path(str(example))
    (snippet,) = re.findall("^```python\\n(.*?)^```", pathlib.Path(folder, "README.md").read_text(), re.M | re.S)
    exec(compile(snippet, f"README.md of {folder}", "exec"), {})
packages = [str(path.parent) for folder in folders for path in pathlib.Path(folder).glob("bnplug_*/plugin.py")]
tests = [str(pathlib.Path(folder, "tests")) for folder in folders]
sys.exit(pytest.main(["-q", "--import-mode=importlib", "--doctest-modules", *packages, *tests]))
"""


def run(*command, **options):
    done = subprocess.run([sys.executable, *map(str, command)], check=False, capture_output=True, text=True, **options)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def generated(tmp_path_factory):
    """The folder of a plugin of each kind."""
    folder = tmp_path_factory.mktemp("generated")
    return [new_plugin(name, kind, folder / kind) for kind, name in NAMES.items()]


@pytest.fixture(scope="module")
def printed(generated):
    """What examples and tests of the plugins print, when they are installed."""
    made, folder = generated, generated[0].parent
    options = ["--quiet", "--no-deps", "--no-build-isolation", "--no-index", "--target", folder / "site"]
    run("-m", "pip", "install", *options, *made)
    path = os.pathsep.join([str(folder / "site"), str(ROOT)])
    return run("-c", RUN_ALL, *made, cwd=folder, env={**os.environ, "PYTHONPATH": path})


def test_the_tests_pass_as_generated(printed):
    last = printed.strip().splitlines()[-1]
    n_passed, _, rest = last.partition(" passed in ")
    assert rest
    # The checks of six plugins and their methods, tests of their own, and five examples in docstrings.
    assert int(n_passed) > 150


def test_types_are_strictly_right_as_generated(generated):
    # Those that ask mypy for the same, together: what each imports takes longer than itself.
    groups, folder = {}, generated[0].parent
    for made in generated:
        (package,) = [path.parent.name for path in made.glob("bnplug_*/plugin.py")]
        asked = tomllib.loads((made / "pyproject.toml").read_text())["tool"]["mypy"]
        assert asked.pop("packages") == [package]
        assert asked["strict"] is True
        groups.setdefault(repr(asked), {})[made] = package
    for group in groups.values():
        options = ["--config-file", next(iter(group)) / "pyproject.toml", "--cache-dir", folder / "types"]
        packages = [word for package in group.values() for word in ("-p", package)]
        env = {**os.environ, "MYPYPATH": os.pathsep.join(map(str, group))}
        assert "Success: no issues found" in run("-m", "mypy", *options, *packages, cwd=folder, env=env)


@pytest.mark.parametrize("kind", KINDS)
def test_workflows_test_every_push_and_publish_a_release_without_a_token(tmp_path, kind):
    made = new_plugin("cost", kind, tmp_path / "mine")
    test, publish = ((made / ".github/workflows" / f).read_text() for f in ("test.yml", "publish.yml"))
    commands = [line.partition("run: ")[2] for line in test.splitlines() if "- run:" in line]
    assert commands == ['python -m pip install --editable ".[test]"', "python -m pytest", "python -m mypy"]
    assert "id-token: write" in publish
    assert publish.strip().endswith("- uses: pypa/gh-action-pypi-publish@release/v1")
    assert "password" not in publish


def test_the_examples_run_and_name_their_methods(printed):
    for name in NAMES.values():
        assert f"\n{name}: " in printed


@pytest.mark.parametrize("kind", KINDS)
def test_no_word_of_the_template_is_left(tmp_path, kind):
    made = new_plugin("cost", kind, tmp_path / "mine")
    files = [path for path in made.rglob("*") if path.is_file()]
    assert len(files) == 12
    for path in files:
        text = f"{path.relative_to(made)} {path.read_text()}"
        for mark in ("my-plugin", f"my-{kind}", f"my_{kind}", f"My{kind.capitalize()}"):
            assert mark not in text, path


@pytest.mark.parametrize("kind", KINDS)
def test_under_the_names_of_the_template_it_is_the_template(tmp_path, kind):
    made = new_plugin(f"my-{kind}", kind, tmp_path / "mine")
    originals = {
        path.relative_to(folder): path
        for folder in (template() / "common", template() / kind)
        for path in folder.rglob("*")
        if "__pycache__" not in path.parts
    }
    assert sorted(originals) == sorted(path.relative_to(made) for path in made.rglob("*"))
    for file, original in originals.items():
        if original.is_file() and file.name != "LICENSE":
            assert (made / file).read_text() == original.read_text()


@pytest.mark.parametrize("kind", KINDS)
def test_the_distribution_is_complete(tmp_path, kind):
    made = new_plugin("cost", kind, tmp_path / "mine")
    project = tomllib.loads((made / "pyproject.toml").read_text())["project"]
    assert project["name"] == "bnplug-cost"
    assert project["entry-points"]["bnplug"] == {"cost": "bnplug_cost.plugin"}
    assert project["dependencies"] == [f"bnplug>={bnplug.__version__}"]
    assert project["license"] == "MIT"
    assert (made / "LICENSE").read_text().startswith("MIT License\n\nCopyright (c) the authors of bnplug-cost\n")
    assert "dist/" in (made / ".gitignore").read_text().split()
    assert ("def bnplug_recipes()" in (made / "bnplug_cost" / "plugin.py").read_text()) == (kind in IN_RECIPES)
    assert (made / project["readme"]).read_text().startswith("# bnplug-cost\n")
    assert (made / "bnplug_cost" / "plugin.py").is_file()
    assert (made / "tests" / "test_cost_conformance.py").is_file()


@pytest.mark.parametrize(
    "given", ["cost-matrix", "bnplug-cost-matrix", "Cost_Matrix", " cost matrix ", "bnplug_cost.matrix"]
)
def test_names_are_brought_to_one_form(tmp_path, monkeypatch, given):
    monkeypatch.chdir(tmp_path)
    assert new_plugin(given) == Path("bnplug-cost-matrix")
    assert "class CostMatrixScore(" in Path("bnplug-cost-matrix/bnplug_cost_matrix/score.py").read_text()


@pytest.mark.parametrize("given", ["", "bnplug-", "2-trees", "größe", "a/b", "../up", "-x", "x--", "a:b"])
def test_what_is_no_name_is_refused(tmp_path, monkeypatch, given):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match="cannot be the name of a plugin; use letters a-z, digits and single hyphens"):
        new_plugin(given)
    assert not list(tmp_path.iterdir())


def test_names_that_are_taken_are_refused(tmp_path):
    with pytest.raises(ValueError, match=r"there is a structure learner 'tan' already, from bnplug .* \(builtin\)"):
        new_plugin("tan", "structure", tmp_path / "mine")
    new_plugin("tan", "score", tmp_path / "mine")
    taken = next(info for info in bnplug.plugins() if info.distribution != "bnplug" and info.status == "ok")
    with pytest.raises(ValueError, match="already"):
        new_plugin(taken.distribution, "structure", tmp_path / "another")


def test_the_command_says_what_is_next(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(cli, ["new-plugin", "cost"])
    assert done.exit_code == 0, done.output
    assert done.output.splitlines() == [
        "bnplug-cost: a score function, working and tested; next:",
        '  cd bnplug-cost && pip install --editable ".[test]" && python -m pytest',
    ]
    assert (tmp_path / "bnplug-cost" / "pyproject.toml").is_file()


def test_a_folder_that_is_not_empty_is_left_alone(tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    done = CliRunner().invoke(cli, ["new-plugin", "cost", "--kind", "parameters", str(tmp_path)])
    assert done.exit_code == 1
    assert done.output == f"bnplug: {tmp_path} exists and is not empty; choose another DIR, or remove it\n"
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


def test_an_empty_folder_and_one_whose_parents_are_missing_will_do(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert CliRunner().invoke(cli, ["new-plugin", "cost", "."]).exit_code == 0
    assert (tmp_path / "pyproject.toml").is_file()
    assert CliRunner().invoke(cli, ["new-plugin", "cost", "a/b/c"]).exit_code == 0
    assert [path.name for path in (tmp_path / "a" / "b").iterdir()] == ["c"]


def test_a_kind_that_is_none_is_a_mistake_in_the_command_line(tmp_path):
    done = CliRunner().invoke(cli, ["new-plugin", "cost", "--kind", "loss", str(tmp_path / "mine")])
    assert done.exit_code == 2
    assert "'score', 'structure', 'parameters', 'engine', 'classifier', 'discretizer'" in done.output
