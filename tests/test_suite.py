"""The suite itself: `make test` leaves out what is marked as long, `make test-long` runs it with more examples."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
EXAMPLE = """
from collections import Counter
import pytest
from hypothesis import given, settings, strategies as st
from strategies import seeds, some

seen = Counter()

@given(st.integers())
def test_by_default(x):
    seen["by default"] += 1

@settings(max_examples=7)
@given(st.integers())
def test_with_its_own_number(x):
    seen["its own"] += 1

@pytest.mark.parametrize("case", some(list(range(20)), 5))
def test_enumerated(case):
    seen["enumerated"] += 1

@pytest.mark.parametrize("seed", seeds(2))
def test_seeded(seed):
    seen["seeded"] += 1

@pytest.mark.long
def test_long():
    seen["long"] += 1

def test_last():
    print(sorted(seen.items()))
"""


def run(verb, path):
    """Run the command of a verb of the Makefile on one file alone; return what it printed."""
    environment = {name: value for name, value in os.environ.items() if name not in ("BNPLUG_LONG", "MAKEFLAGS")}
    dry = ["make", "--dry-run", "--old-file=.venv/stamp", verb, f"BIN={Path(sys.executable).parent}"]
    recipe = subprocess.run(dry, cwd=ROOT, env=environment, check=True, capture_output=True, text=True).stdout
    (command,) = [line for line in recipe.splitlines() if "pytest" in line]
    # In one process, whose output comes out.
    command += f" -n 0 -s -p no:cacheprovider -p conftest --config-file={ROOT}/pyproject.toml --rootdir={ROOT} {path}"
    environment["PYTHONPATH"] = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        command, shell=True, cwd=path.parent, env=environment, check=False, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize(
    ("verb", "expected"),
    [
        ("test", [("by default", 50), ("enumerated", 4), ("its own", 7), ("seeded", 2)]),
        ("test-long", [("by default", 500), ("enumerated", 20), ("its own", 70), ("long", 1), ("seeded", 20)]),
    ],
)
def test_what_a_verb_runs(verb, expected, tmp_path):
    path = tmp_path / "test_example.py"
    path.write_text(EXAMPLE)
    assert str(expected) in run(verb, path)
