import subprocess
import sys

import bnplug
from bnplug.cli import cli


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


def test_the_bare_command_prints_its_help_as_a_page():
    command = [sys.executable, "-m", "bnplug"]
    bare, asked = (subprocess.run([*command, *args], check=True, capture_output=True, text=True)
                   for args in ([], ["--help"]))  # fmt: skip
    assert bare.stdout == asked.stdout
    assert bare.stderr == ""
    lines = bare.stdout.splitlines()
    assert lines[0] == "Usage: bnplug [OPTIONS] [COMMAND] [ARGS]..."
    assert max(map(len, lines)) <= 80
    # Every command is there, in a section, with a line that is not cut off.
    listed = {line.split()[0]: line for line in lines if line.startswith("  ")}
    assert set(cli.commands) <= set(listed)
    assert not any(line.endswith("...") for line in lines[1:])
    assert "Others:" not in lines
