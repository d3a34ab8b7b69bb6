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
SAMPLE = {"folder": 80, "bif": 120, "xmlbif": 120, "xdsl": 60, "net": 60, "checkpoint": 15, "csv": 40, "results": 80}
LONG_SAMPLE = {
    **{"folder": 5000, "bif": 10_000, "xmlbif": 10_000, "xdsl": 10_000, "net": 10_000},
    **{"checkpoint": 1000, "csv": 2000, "results": 5000},
}

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="limits of time and memory are those of Unix")


def run(first, sample):
    """Run cases of each kind in one process; return how many were read and refused."""
    asked = [word for kind, count in sample.items() for word in (kind, str(first), str(count))]
    path = os.pathsep.join([str(SCRIPT.parents[1]), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "PYTHONPATH": path}
    command = [sys.executable, str(SCRIPT), *asked]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stderr[-3000:]
    return dict(zip(sample, map(json.loads, done.stdout.splitlines()), strict=True))


def test_a_damaged_file_is_an_error_or_something_valid():
    found = run(0, SAMPLE)
    assert {kind: sum(outcomes.values()) for kind, outcomes in found.items()} == SAMPLE
    assert all(outcomes["refused"] > 0 for outcomes in found.values())


@pytest.mark.long
@pytest.mark.parametrize("kind", LONG_SAMPLE)
def test_many_damaged_files(kind):
    found = run(1000, {kind: LONG_SAMPLE[kind]})[kind]
    assert sum(found.values()) == LONG_SAMPLE[kind]
    assert found["read"] > 0
