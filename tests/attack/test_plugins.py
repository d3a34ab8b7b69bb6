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

    def install(distribution, code, entry_points):
        module = distribution.replace("-", "_")
        info = site / f"{module}-1.0.dist-info"
        info.mkdir(parents=True)
        (site / f"{module}.py").write_text(code)
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {distribution}\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(f"[bnplug]\n{entry_points}\n")

    def run(*arguments, **settings):
        command = [sys.executable, "-m", "bnplug", *arguments]
        own = environment | settings
        return subprocess.run(command, capture_output=True, text=True, env=own, check=False, cwd=tmp_path)

    return install, run


@pytest.mark.skipif(sys.platform == "win32", reason="an import is stopped by a timer of Unix")
def test_an_import_that_sleeps_is_named(installed):
    install, run = installed
    install("bnplug-sleepy", "import time; time.sleep(300)", "sleepy = bnplug_sleepy")
    listed = json.loads(run("plugins", "--json", BNPLUG_IMPORT_SECONDS="1").stdout)
    (sleepy,) = [plugin for plugin in listed if plugin["name"] == "sleepy"]
    assert sleepy["status"] == "failed"
    assert "it takes longer than 1 seconds" in sleepy["cause"]
    assert "sleepy" in run("plugins", BNPLUG_IMPORT_SECONDS="1").stdout


@pytest.mark.long
@pytest.mark.skipif(sys.platform == "win32", reason="an import is stopped by a timer of Unix")
def test_the_doctor_answers_where_an_import_sleeps(installed):
    install, run = installed
    install("bnplug-sleepy", "import time; time.sleep(300)", "sleepy = bnplug_sleepy")
    told = run("doctor", BNPLUG_IMPORT_SECONDS="5").stdout
    assert "it takes longer than 5 seconds" in told
    assert "self-check:" in told


@pytest.mark.parametrize("raised", ["KeyboardInterrupt", "SystemExit"])
def test_an_import_that_ends_the_program_is_named(installed, raised):
    install, run = installed
    install("bnplug-ending", f"raise {raised}('enough')", "ending = bnplug_ending")
    done = run("plugins", "--json")
    (ending,) = [plugin for plugin in json.loads(done.stdout) if plugin["name"] == "ending"]
    assert (done.returncode, ending["cause"]) == (0, f"import: {raised}: enough")


@pytest.mark.parametrize("command", ["plugins", "methods"])
def test_what_a_plugin_prints_at_the_end_of_the_process_is_kept_apart(installed, command):
    """It came after the JSON."""
    install, run = installed
    code = "import atexit, os; atexit.register(lambda: (print('late'), os.system('echo later')))"
    install("bnplug-late", code, "late = bnplug_late")
    done = run(command, "--json")
    assert json.loads(done.stdout)
    assert "late\n" in done.stderr
    assert "later\n" in done.stderr


def test_what_a_plugin_prints_and_sets_at_import_is_its_own(installed):
    install, run = installed
    code = "import os, sys; print('hello'); os.environ['SPOILED'] = '1'; sys.setrecursionlimit(77)"
    install("bnplug-loud", code, "loud = bnplug_loud")
    done = run("plugins", "--json")
    assert "loud" in {plugin["name"] for plugin in json.loads(done.stdout)}
    assert "hello" in done.stderr


@pytest.mark.parametrize("command", [["plugins"], ["methods", "noise"]])
def test_what_a_plugin_writes_past_python_is_kept_apart_too(installed, command):
    """It stood before the JSON."""
    install, run = installed
    loud = [
        "os.write(1, b'descriptor')",
        "sys.__stdout__.write('stream')",
        "os.system('echo program')",
        "ctypes.CDLL(None).printf(b'extension')",
    ]
    code = f"""
import ctypes, os, sys, bnplug
{"; ".join(loud)}
class Noise(bnplug.ParameterLearner):
    def __init__(self, a=1): ...
    def fit(self, table, dag): ...
@bnplug.hookimpl
def bnplug_parameter_learners():
    {"; ".join(loud)}
    yield bnplug.ParameterLearnerMethod("noise", "bnplug_late:Noise", "Makes noise.", "Nobody", 1)
"""
    install("bnplug-loud", code, "loud = bnplug_loud")
    install("bnplug-late", code, "late = bnplug_late")
    done = run(*command, "--json")
    assert json.loads(done.stdout), done.stderr
    for word in ("descriptor", "stream", "program", "extension"):
        assert word in done.stderr


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
