import json
import subprocess
import sys

from commands import run

import bnplug


def test_plugins_lists_what_is_there():
    text = run("plugins").output
    assert f"bnplug {bnplug.__version__} (builtin): ok" in text
    assert "nb, tan, kdb" in text
    listed = json.loads(run("plugins", "--json").output)
    assert listed[0]["distribution"] == "bnplug"
    assert "bnplug_structure_learners" in listed[0]["hooks"]


def test_methods_tell_about_themselves():
    assert "k-" not in run("methods").output.splitlines()[0]
    assert all(name in run("methods").output for name in ("nb", "tan", "kdb", "ml"))
    text = run("methods", "kdb").output
    assert "Sahami" in text
    assert "k       2" in text
    assert "Did you mean 'hill-climb'" in run("methods", "hillclimb", code=1).stderr


def test_the_module_runs_as_a_command():
    command = [sys.executable, "-m", "bnplug"]
    done = subprocess.run([*command, "--version"], check=True, capture_output=True, text=True)
    assert done.stdout == f"bnplug, version {bnplug.__version__}\n"
    done = subprocess.run([*command, "methods", "zzz"], check=False, capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr.startswith("bnplug: there is no method 'zzz'")
    done = subprocess.run([*command, "fit", "x.csv"], check=False, capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stderr == "bnplug: Missing option '--target'. (see bnplug fit --help)\n"
