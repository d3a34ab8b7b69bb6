"""`python -m bnplug` is the command."""

import subprocess
import sys

import bnplug


def test_the_module_is_the_command():
    done = subprocess.run([sys.executable, "-m", "bnplug", "--version"], check=True, capture_output=True, text=True)
    assert bnplug.__version__ in done.stdout


def test_its_exit_code_is_that_of_the_command():
    done = subprocess.run([sys.executable, "-m", "bnplug", "no-such-command"], check=False, capture_output=True)
    assert done.returncode == 2
