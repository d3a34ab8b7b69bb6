"""What `bnplug doctor` says where all is well, and where it is not."""

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import bnplug
from bnplug.cli import _doctor as cli_doctor
from bnplug.cli import cli
from bnplug.hooks import registry
from bnplug.inference.marginals import Marginalizer
from bnplug.testing._subjects import ScoreSubject

SICK = """
import bnplug

class Sick(bnplug.StructureLearner):
    def learn(self, table):
        raise ArithmeticError("I am\\nunwell")

@bnplug.hookimpl
def bnplug_structure_learners():
    yield bnplug.StructureLearnerMethod(name="sick", factory=Sick, summary="Raises.", reference="None")
"""


@pytest.fixture
def site(tmp_path):
    """A folder with two plugins as they are when installed: one whose method raises, one that cannot be imported."""
    for name, source in (("sick", SICK), ("dead", "import no_such_module_of_anybody")):
        (tmp_path / f"{name}.py").write_text(source)
        info = tmp_path / f"bnplug_{name}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: bnplug-{name}\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(f"[bnplug]\n{name} = {name}\n")
    return tmp_path


def test_all_is_well():
    done = CliRunner().invoke(cli, ["doctor"])
    assert done.exit_code == 0, done.output
    assert done.output.splitlines()[-1] == "everything works"
    assert f"bnplug {bnplug.__version__}, Python {sys.version.split()[0]}" in done.output
    assert f"numpy {np.__version__}" in done.output
    (kept_in,) = re.findall("compiled kernels are cached in (.*)", done.output)
    assert Path(kept_in).expanduser().is_dir()
    for plugin in bnplug.plugins():
        assert f"{plugin}: ok" in done.output
    for kind in registry.CONTRACTS:
        for method in registry.methods(kind):
            assert f"  ok {kind} {method.name}\n" in done.output


def test_one_thing_is_one_thing(monkeypatch):
    def fail():
        raise ArithmeticError("no")

    monkeypatch.setattr(cli_doctor, "_checks", lambda: [("the sum", fail), ("the rest", str)])
    done = CliRunner().invoke(cli, ["doctor"])
    assert done.exit_code == 1
    assert done.output.splitlines()[-1] == "1 thing does not work: the sum"


def test_a_sick_method_and_a_failed_plugin_are_named_and_stop_nothing(site):
    path = os.pathsep.join([str(site), *sys.path])
    done = subprocess.run(
        [sys.executable, "-m", "bnplug", "doctor"],
        env={**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "3"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert "  FAILED structure learner sick: ArithmeticError: I am unwell\n" in done.stdout
    assert "bnplug-dead 1.0 (dead): failed, 0 methods; cause: import: ModuleNotFoundError" in done.stdout
    assert "  ok parameter learner ml\n" in done.stdout
    assert re.search(r"^  environment: .*\bOMP_NUM_THREADS=3\b", done.stdout, re.MULTILINE)
    assert done.stdout.splitlines()[-1] == ("2 things do not work: bnplug-dead 1.0 (dead); structure learner sick")
    assert done.stderr == ""


def test_wrong_answers_are_noticed(monkeypatch):
    joint = Marginalizer.log_joint
    monkeypatch.setattr(Marginalizer, "log_joint", lambda *args, **options: np.zeros_like(joint(*args, **options)))
    problems = [cli_doctor._problem_of(check) for name, check in cli_doctor._checks() if name.startswith("answers")]
    assert len(problems) == 1
    assert "by enumeration" in problems[0]


def test_results_that_depend_on_the_number_of_threads_are_noticed(monkeypatch):
    monkeypatch.setattr(ScoreSubject, "run_with_jobs", lambda self, table, n_jobs: np.array([n_jobs]))
    problems = [cli_doctor._problem_of(check) for name, check in cli_doctor._checks() if "threads" in name]
    assert len(problems) == 1
    assert "n_jobs=1 and n_jobs=2 differ" in problems[0]


def test_a_model_that_reads_back_otherwise_is_noticed(monkeypatch):
    other = bnplug.BayesianNetworkClassifier("nb").fit(np.array([[0], [1]]), np.array(["no", "yes"]))
    monkeypatch.setattr(bnplug, "load", lambda path: other)
    assert cli_doctor._problem_of(cli_doctor._check_files)


def test_a_score_that_is_not_finite_is_noticed(monkeypatch):
    monkeypatch.setattr("bnplug.builtin.scores.mdl.MDL.score", lambda self, table, dag: float("nan"))
    mdl = registry.find("score function", "mdl")
    assert cli_doctor._problem_of(lambda: cli_doctor._check_method(mdl)) == (
        "AssertionError: the score of the parents [[], [], [], []] is nan"
    )
