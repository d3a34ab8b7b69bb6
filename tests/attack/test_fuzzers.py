"""A seeded sample of damaged files of each kind; in a long run many more. See fuzzing.py."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).with_name("fuzzing.py")
#: Cases of each kind; a case of some kinds learns a model.
SAMPLE = {"folder": 100, "bif": 150, "xmlbif": 150, "checkpoint": 40, "csv": 60, "results": 100}
LONG_SAMPLE = {"folder": 5000, "bif": 10_000, "xmlbif": 10_000, "checkpoint": 1000, "csv": 2000, "results": 5000}

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="limits of time and memory are those of Unix")


def run(kind, first, count):
    command = [sys.executable, str(SCRIPT), kind, str(first), str(count)]
    path = os.pathsep.join([str(SCRIPT.parents[1]), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "PYTHONPATH": path}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.parametrize("kind", SAMPLE)
def test_a_damaged_file_is_an_error_or_something_valid(kind):
    found = run(kind, 0, SAMPLE[kind])
    assert found["refused"] > 0
    assert sum(found.values()) == SAMPLE[kind]


@pytest.mark.long
@pytest.mark.parametrize("kind", LONG_SAMPLE)
def test_many_damaged_files(kind):
    found = run(kind, 1000, LONG_SAMPLE[kind])
    assert found["read"] > 0
    assert sum(found.values()) == LONG_SAMPLE[kind]
