"""What the import of a plugin may do to the commands: nothing that breaks them."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """Install distributions beside bnplug: each a module, and the text of its entry points."""
    site = tmp_path / "site"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(site), os.environ.get("PYTHONPATH", "")])}
    environment |= {"BNPLUG_IMPORT_SECONDS": "1"}

    def install(distribution, code, entry_points):
        module = distribution.replace("-", "_")
        info = site / f"{module}-1.0.dist-info"
        info.mkdir(parents=True)
        (site / f"{module}.py").write_text(code)
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {distribution}\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(f"[bnplug]\n{entry_points}\n")

    def run(*arguments):
        command = [sys.executable, "-m", "bnplug", *arguments]
        return subprocess.run(command, capture_output=True, text=True, env=environment, check=False, cwd=tmp_path)

    return install, run


@pytest.mark.skipif(sys.platform == "win32", reason="an import is stopped by a timer of Unix")
def test_an_import_that_sleeps_is_named(installed):
    install, run = installed
    install("bnplug-sleepy", "import time; time.sleep(300)", "sleepy = bnplug_sleepy")
    listed = json.loads(run("plugins", "--json").stdout)
    (sleepy,) = [plugin for plugin in listed if plugin["name"] == "sleepy"]
    assert sleepy["status"] == "failed"
    assert "it takes longer than 1 seconds" in sleepy["cause"]
    assert "sleepy" in run("doctor", "--help").stdout + run("plugins").stdout


def test_what_a_plugin_prints_and_sets_at_import_is_its_own(installed):
    install, run = installed
    code = "import os, sys; print('hello'); os.environ['SPOILED'] = '1'; sys.setrecursionlimit(77)"
    install("bnplug-loud", code, "loud = bnplug_loud")
    done = run("plugins", "--json")
    assert "loud" in {plugin["name"] for plugin in json.loads(done.stdout)}
    assert "hello" in done.stderr


def test_names_with_control_characters_are_escaped(installed):
    install, run = installed
    install("bnplug-odd", "raise ValueError('\\x1b[2J')", "odd\x1b[2J = bnplug_odd")
    done = run("plugins")
    assert "\x1b" not in done.stdout + done.stderr
    assert "odd\\x1b[2J" in done.stdout


def test_two_entry_points_of_one_name_are_both_shown(installed):
    install, run = installed
    install("bnplug-twice", "", "same = bnplug_twice\nsame = bnplug_twice:other")
    listed = json.loads(run("plugins", "--json").stdout)
    assert len([plugin for plugin in listed if plugin["name"] == "same"]) == 2
