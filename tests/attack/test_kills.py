"""SIGKILL at random moments loses nothing that was saved. See killing.py."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).with_name("killing.py")
KINDS = ["save", "compare", "sa", "fit"]

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL")


def kill(kind, count):
    """Return how often a process was killed, and nothing was lost."""
    command = [sys.executable, str(SCRIPT), kind, str(count), "0"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout)["killed"]


def test_a_killed_save_leaves_a_whole_model():
    assert kill("save", 3) == 3


@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS)
def test_nothing_is_lost(kind):
    assert kill(kind, 75) == 75
