"""The distributions install: the core alone, and each plugin alone with the core."""

import json
import os
import subprocess
import sys
import tomllib
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


def test_the_extra_all_and_the_workspace_name_exactly_the_plugins_there_are():
    root = tomllib.loads((ROOT / "pyproject.toml").read_text())
    names = {plugin.name for plugin in PLUGINS}
    assert {name for name in root["project"]["optional-dependencies"]["all"] if name.startswith("bnplug-")} == names
    assert set(root["tool"]["uv"]["sources"]) == names


def test_no_file_records_where_packages_were_downloaded_from():
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, check=False, capture_output=True, text=True).stdout.split()
    assert not [name for name in tracked if name.endswith((".lock", "pylock.toml"))]
