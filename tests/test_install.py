"""The distributions install: the core alone, and each plugin alone with the core."""

import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from functools import partial
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PLUGINS = sorted(path.parent for path in ROOT.glob("plugins/bnplug-*/pyproject.toml"))


def install(target, *sources):
    """Build and install into a folder; what they depend on is here already."""
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation", "--no-index"]
    done = subprocess.run(
        [*command, "--target", str(target), *map(str, sources)], check=False, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


def plugins_in(target):
    probe = "import json, bnplug; print(json.dumps([bnplug.__file__, [p.to_dict() for p in bnplug.plugins()]]))"
    done = subprocess.run(
        [sys.executable, "-c", probe],
        check=True,
        capture_output=True,
        text=True,
        cwd=target,
        env={**os.environ, "PYTHONPATH": str(target)},
    )
    return json.loads(done.stdout)


@pytest.mark.parametrize("plugin", [None, *PLUGINS], ids=lambda path: path.name if path else "core")
def test_each_distribution_installs_alone_with_the_core(plugin, tmp_path):
    install(tmp_path, ROOT, *([plugin] if plugin else []))
    file, listed = plugins_in(tmp_path)
    assert file.startswith(str(tmp_path))
    by_distribution = {info["distribution"]: info for info in listed}
    assert by_distribution["bnplug"]["status"] == "ok"
    if plugin:
        assert by_distribution[plugin.name]["status"] == "ok"
        assert by_distribution[plugin.name]["names"]


def build(source, target, *kinds):
    """Build distributions of a folder; return their paths, one for each kind."""
    command = [sys.executable, "-m", "hatchling", "build", "--directory", str(target)]
    for kind in kinds:
        command += ["--target", kind]
    subprocess.run(command, cwd=source, check=True, capture_output=True)
    suffix = {"wheel": "*.whl", "sdist": "*.tar.gz"}
    return [next(target.glob(suffix[kind])) for kind in kinds]


@pytest.mark.parametrize("source", [ROOT, *PLUGINS], ids=lambda path: "core" if path == ROOT else path.name)
def test_a_wheel_from_the_sdist_is_the_wheel_from_the_checkout(source, tmp_path):
    wheel, sdist = build(source, tmp_path, "wheel", "sdist")
    with tarfile.open(sdist) as archive:
        # Early releases of Python 3.11 have no filters.
        archive.extraction_filter = getattr(tarfile, "data_filter", None)
        archive.extractall(tmp_path / "unpacked")
    unpacked = next((tmp_path / "unpacked").iterdir())
    (again,) = build(unpacked, tmp_path / "again", "wheel")
    with zipfile.ZipFile(wheel) as first, zipfile.ZipFile(again) as second:
        assert sorted(first.namelist()) == sorted(second.namelist())
        assert not [name for name in first.namelist() if "__pycache__" in name or name.startswith("tests/")]


def test_a_wheel_carries_the_templates_with_what_begins_with_a_dot(tmp_path):
    (wheel,) = build(ROOT, tmp_path, "wheel")
    templates = ROOT / "plugins" / "_template"
    files = [path.relative_to(templates) for path in templates.rglob("*") if path.is_file()]
    expected = {str(path) for path in files if not {"__pycache__", ".mypy_cache"} & set(path.parts)}
    assert {"common/.gitignore", "common/.github/workflows/publish.yml"} <= expected
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    assert {name.removeprefix("bnplug/_template/") for name in names if "_template/" in name} == expected


def test_the_extra_all_and_the_workspace_name_exactly_the_plugins_there_are():
    root = tomllib.loads((ROOT / "pyproject.toml").read_text())
    names = {plugin.name for plugin in PLUGINS}
    assert {name for name in root["project"]["optional-dependencies"]["all"] if name.startswith("bnplug-")} == names
    assert set(root["tool"]["uv"]["sources"]) == names | {"bnplug"}


def test_uv_sync_brings_everything():
    root = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert root["dependency-groups"]["dev"] == ["bnplug[all,test,lint]"]


@pytest.fixture
def uv(tmp_path):
    """Return the command uv: the one that is installed or, in a long run, one that pip gets."""
    found = shutil.which("uv")
    if found is None and not os.environ.get("BNPLUG_LONG"):
        pytest.skip("uv is not installed")
    if found is None:
        subprocess.run([sys.executable, "-m", "venv", str(tmp_path / "tools")], check=True)
        subprocess.run([tmp_path / "tools" / "bin" / "pip", "install", "--quiet", "uv"], check=True)
        found = str(tmp_path / "tools" / "bin" / "uv")
    return found


def checkout(folder):
    """Copy the files that are tracked: what a clone has."""
    names = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    for name in filter(None, names.split("\0")):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, folder / name)
    return folder


def clean(folder):
    """Return an environment in which nothing but `folder` is the project."""
    kept = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
    return {**kept, "UV_PROJECT_ENVIRONMENT": str(folder / ".venv")}


def listed(bnplug):
    command = [bnplug, "-c", "import bnplug; print(*sorted(p.distribution for p in bnplug.plugins()))"]
    env = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    return subprocess.run(command, check=True, capture_output=True, text=True, cwd="/", env=env).stdout.split()


EVERYTHING = sorted(["bnplug", *(plugin.name for plugin in PLUGINS)])


def told(program):
    """Return what the README tells to type that begins with the name of a program."""
    blocks = re.findall(r"^```console\n(.*?)^```", (ROOT / "README.md").read_text(), flags=re.MULTILINE | re.DOTALL)
    return [line for block in blocks for line in block.splitlines() if line.startswith(f"{program} ")]


def test_the_readme_tells_how_to_install():
    assert told("python3") + told("source") == ["python3 -m venv .venv", "source .venv/bin/activate"]
    assert told("pip") == ['pip install ".[all]" ./plugins/bnplug-*/', 'pip install --find-links dist "bnplug[all]"']
    assert told("uv") == ["uv sync", "uv run bnplug demo"]


@pytest.mark.long
def test_uv_installs_a_clean_checkout_by_sync_and_by_pip(uv, tmp_path):
    folder = checkout(tmp_path / "checkout")
    path = os.pathsep.join([str(Path(uv).parent), os.environ["PATH"]])
    env = {**clean(folder), "PATH": path, "UV_QUIET": "1"}
    run = partial(subprocess.run, check=True, shell=True, cwd=folder, env=env, capture_output=True, text=True)
    *_, demo = [run(line) for line in told("uv")]
    assert listed(folder / ".venv" / "bin" / "python") == EVERYTHING
    assert demo.stdout.splitlines()[-1].startswith("Your turn: ")
    run("uv venv other")
    line, _ = told("pip")
    run(f"uv {line} --python other/bin/python")
    assert listed(folder / "other" / "bin" / "python") == EVERYTHING


@pytest.mark.long
def test_pip_installs_a_clean_checkout_as_the_readme_says(tmp_path):
    folder = checkout(tmp_path / "checkout")
    lines = "\n".join(["set -e", *told("python3"), *told("source"), told("pip")[0]])
    subprocess.run(["bash", "-c", lines], check=True, cwd=folder, env=clean(folder), capture_output=True)
    assert listed(folder / ".venv" / "bin" / "python") == EVERYTHING


def test_make_asks_uv_where_it_is_and_pip_where_it_is_not(tmp_path):
    folder = checkout(tmp_path)
    asked = partial(subprocess.run, check=True, cwd=folder, capture_output=True, text=True)
    assert "/some/uv sync" in asked(["make", "--dry-run", "test", "UV=/some/uv"]).stdout
    without = asked(["make", "--dry-run", "test", "UV="]).stdout
    assert "pip install" in without
    assert "uv sync" not in without


def test_no_file_records_where_packages_were_downloaded_from():
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, check=False, capture_output=True, text=True).stdout.split()
    assert not [name for name in tracked if name.endswith((".lock", "pylock.toml"))]
