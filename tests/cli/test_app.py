import subprocess
import sys

import bnplug


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
