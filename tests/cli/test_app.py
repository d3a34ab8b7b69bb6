import os
import subprocess
import sys

import bnplug
from bnplug.cli import cli
from bnplug.datasets import wine


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


# Each command, parted by "--", in a process of its own whose output nobody reads.
UNREAD = """
import os, sys
import bnplug.cli

bnplug.BayesianNetworkClassifier  # what takes long to load is loaded once
for argv in " ".join(sys.argv[1:]).split(" -- "):
    if not os.fork():
        read, write = os.pipe()
        os.close(read)
        os.dup2(write, 1)
        sys.argv = ["bnplug", *argv.split()]
        bnplug.cli.main()
        sys.exit()
    print(os.waitstatus_to_exitcode(os.wait()[1]), argv, flush=True)
"""


def test_a_command_ends_quietly_when_nobody_reads_on(tmp_path):
    X, y = wine()
    X.assign(cultivar=y).to_csv(tmp_path / "wine.csv", index=False)
    bnplug.BayesianNetworkClassifier("nb").fit(X, y).save(tmp_path / "model")
    commands = ["--version", "--help", "methods", "plugins", "datasets", "show model", "predict model wine.csv"]
    done = subprocess.run(
        # From Python 3.12 on, one that forks beside threads is warned.
        [sys.executable, "-W", "ignore:This process:DeprecationWarning", "-c", UNREAD, " -- ".join(commands)],
        cwd=tmp_path,
        env={**os.environ, "PYTHONUNBUFFERED": ""},
        check=True,
        capture_output=True,
        text=True,
    )
    assert done.stderr == ""
    assert done.stdout.splitlines() == [f"1 {command}" for command in commands]
