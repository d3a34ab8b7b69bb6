"""A killed search goes on where it was, and ends where one that was never stopped does."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap
import time
import warnings
from math import inf
from typing import ClassVar

import numpy as np
import pandas as pd
import pytest
from bnplug_annealing.checkpoints import Checkpoint
from bnplug_annealing.learner import SimulatedAnnealing

import bnplug
from bnplug.contracts import Resamples, begin_step
from bnplug.scoring import PredictiveEvaluator
from bnplug.table.table import Table

FOLDED = ("cll", {"cv": 3})


def make_table(features=7, rows=120, seed=0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(rng.integers(0, 3, (rows, features)), columns=[f"x{v}" for v in range(features)])
    frame["class"] = (frame["x0"] == frame["x1"]) ^ (rng.random(rows) < 0.2)
    return Table.from_frame(frame, "class")


def outcome(learner, dag):
    found = (learner.trace_, learner.evaluations_, learner.temperatures_, learner.chain_scores_)
    return set(dag.edges), *found, learner.n_evaluations_, learner.r_


def never_stopped(table, **params):
    learner = SimulatedAnnealing(random_state=3, **params)
    return outcome(learner, learner.learn(table))


class Interruptible(Resamples):
    """Another evaluator, interrupted when all evaluators together have scored so many candidates."""

    left: ClassVar[float] = inf

    def __init__(self, evaluator):
        self.evaluator = evaluator

    def start(self, parents):
        return self.evaluator.start(parents)

    def step(self):
        return begin_step(self.evaluator)

    def propose_many(self, candidates, at_least=None):
        Interruptible.left -= len(candidates)
        if Interruptible.left < 0:
            raise KeyboardInterrupt
        return self.evaluator.propose_many(candidates, at_least)

    def commit(self, changes):
        return self.evaluator.commit(changes)


class Interrupted(bnplug.ScoreFunction):
    """A predictive score with such an evaluator."""

    def score(self, table, dag):
        return self.evaluator(table).start(dag.parents)

    def evaluator(self, table, n_jobs=1):
        return Interruptible(bnplug.hooks.registry.build("score function", FOLDED).evaluator(table))


@pytest.mark.parametrize("k", [1, 2])
def test_a_search_interrupted_again_and_again_ends_like_one_never_stopped(tmp_path, monkeypatch, k):
    table = make_table(5)
    params = {"score": Interrupted(), "k": k, "r": 10.0}
    expected = never_stopped(table, **params)
    interruptions = 0
    learner = SimulatedAnnealing(random_state=3, checkpoint=tmp_path / "sa.json", **params)
    for left in (500, 500, inf):
        monkeypatch.setattr(Interruptible, "left", left)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            dag = learner.learn(table)
        interruptions += sum("sa was interrupted" in str(one.message) for one in caught)
    assert interruptions == 2
    assert outcome(learner, dag) == expected


@pytest.fixture
def files(monkeypatch):
    """What the file of a chain has after every temperature, in turn."""
    contents = []

    def save(checkpoint, state):
        checkpoint.write(state)
        contents.append(checkpoint.path.read_text())

    monkeypatch.setattr(Checkpoint, "save", save)
    return contents


@pytest.mark.parametrize("score", [FOLDED, "cr", "mdl"])
def test_any_state_between_temperatures_leads_to_the_same_end(tmp_path, files, score):
    """Every state that a chain goes through, written to a file and read again."""
    table, path = make_table(5), tmp_path / "sa.json"
    learner = SimulatedAnnealing(score=score, random_state=3, checkpoint=path)
    expected = outcome(learner, learner.learn(table))
    assert expected == never_stopped(table, score=score)
    states = files.copy()
    assert len(states) > 3
    for state in [states[0], states[len(states) // 2], states[-1]]:
        path.write_text(state)
        again = SimulatedAnnealing(score=score, random_state=3, checkpoint=path)
        assert outcome(again, again.learn(table)) == expected


REDRAWN = {"score": "rmho", "r": 0.05, "max_rejections": 60}
needs_rmho = pytest.mark.skipif(
    "rmho" not in {m.name for m in bnplug.hooks.registry.methods("score function")}, reason="needs rmho"
)


@needs_rmho
@pytest.mark.parametrize("with_draws", [True, False])
def test_a_score_that_draws_its_rows_anew_goes_on_with_the_same_draws(tmp_path, files, with_draws):
    """Also from a file of the first version, which does not have the state of what the rows are drawn from."""
    table, path = make_table(4), tmp_path / "sa.json"
    learner = SimulatedAnnealing(random_state=3, checkpoint=path, **REDRAWN)
    expected = outcome(learner, learner.learn(table))
    assert expected == never_stopped(table, **REDRAWN)
    content = json.loads(files[len(files) // 2])
    assert content["state"]["draws"] is not None
    if not with_draws:
        del content["state"]["draws"]
    path.write_text(json.dumps(content))
    again = SimulatedAnnealing(random_state=3, checkpoint=path, **REDRAWN)
    assert outcome(again, again.learn(table)) == expected


@needs_rmho
def test_rows_are_drawn_once_for_every_temperature(monkeypatch):
    """The state of what they are drawn from is handed on: no draw of an earlier temperature is made again."""
    steps, step = [], PredictiveEvaluator.step

    def counted(evaluator):
        steps.append(evaluator)
        return step(evaluator)

    monkeypatch.setattr(PredictiveEvaluator, "step", counted)
    learner = SimulatedAnnealing(random_state=3, **REDRAWN)
    learner.learn(make_table(4))
    assert len(learner.temperatures_) > 3
    assert len(steps) == len(learner.temperatures_)


def test_a_limit_of_evaluations_can_be_raised(tmp_path):
    table, path = make_table(5), tmp_path / "sa.json"
    expected = never_stopped(table, score=FOLDED)
    for limit in (50, 300, 301, None):
        learner = SimulatedAnnealing(score=FOLDED, random_state=3, checkpoint=path, max_evaluations=limit)
        dag = learner.learn(table)
        assert limit is None or learner.n_evaluations_ == limit
    assert outcome(learner, dag) == expected


def test_a_limit_below_what_was_tried_ends_at_once(tmp_path):
    table, path = make_table(), tmp_path / "sa.json"
    learner = SimulatedAnnealing("cr", random_state=0, checkpoint=path, max_evaluations=700)
    dag = learner.learn(table)
    learner.set_params(max_evaluations=5)
    assert set(learner.learn(table).edges) == set(dag.edges)


def test_every_chain_has_a_file(tmp_path):
    table, path = make_table(5), tmp_path / "sa.json"
    expected = never_stopped(table, restarts=3, n_jobs=2)
    for limit, n_jobs in ((100, 1), (400, 2), (None, 2)):
        learner = SimulatedAnnealing(random_state=3, restarts=3, checkpoint=path, max_evaluations=limit, n_jobs=n_jobs)
        dag = learner.learn(table)
    assert outcome(learner, dag) == expected
    assert sorted(file.name for file in tmp_path.iterdir()) == ["sa-1.json", "sa-2.json", "sa.json"]


KILLED = """
    import sys
    sys.path.insert(0, {folder!r})
    from test_annealing_checkpoints import FOLDED, make_table
    from bnplug_annealing import checkpoints
    from bnplug_annealing.learner import SimulatedAnnealing
    checkpoints._PAUSE = 0.0
    SimulatedAnnealing(score=FOLDED, random_state=3, checkpoint={path!r}).learn(make_table(5, 3000))
"""


def test_a_killed_process_leaves_a_file_to_go_on_from(tmp_path):
    table, path = make_table(5, 3000), tmp_path / "sa.json"
    script = textwrap.dedent(KILLED).format(folder=os.path.dirname(__file__), path=str(path))
    process = subprocess.Popen([sys.executable, "-c", script])
    try:
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and process.poll() is None and not path.exists():
            time.sleep(0.005)
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
    kept = json.loads(path.read_text())["state"]
    assert kept["temperatures"]
    learner = SimulatedAnnealing(score=FOLDED, random_state=3, checkpoint=path)
    assert outcome(learner, learner.learn(table)) == never_stopped(table, score=FOLDED)


def test_another_searchs_file_is_refused(tmp_path):
    path = tmp_path / "sa.json"
    SimulatedAnnealing(random_state=3, checkpoint=path, max_evaluations=500).learn(make_table())
    for params, table, what in (
        ({"D": 0.5}, make_table(), "D"),
        ({"score": "cll"}, make_table(), "r, score"),
        ({"k": 2}, make_table(), "k"),
        ({"random_state": 4}, make_table(), "random_state"),
        ({}, make_table(seed=1), "table"),
    ):
        learner = SimulatedAnnealing(**{"random_state": 3, "checkpoint": path, **params})
        with pytest.raises(ValueError, match=rf"another search \(not the same: .*{what}"):
            learner.learn(table)


@pytest.mark.parametrize("content", ["", "{", "[]", '{"bnplug-annealing": 1}', "\x00\x01", "null"])
def test_a_damaged_file_is_named(tmp_path, content):
    path = tmp_path / "sa.json"
    path.write_text(content)
    with pytest.raises(ValueError, match=r"sa\.json is no checkpoint of simulated annealing, or damaged; delete it"):
        SimulatedAnnealing(checkpoint=path).learn(make_table(3))


def test_a_file_without_a_folder_is_refused_before_any_work(tmp_path):
    with pytest.raises(ValueError, match="there is no folder"):
        SimulatedAnnealing(checkpoint=tmp_path / "no" / "sa.json").learn(make_table(3))
    with pytest.raises(ValueError, match="is a folder"):
        SimulatedAnnealing(checkpoint=tmp_path).learn(make_table(3))


def test_names_in_a_forged_file_are_shown_without_control_characters(tmp_path):
    path = tmp_path / "sa.json"
    SimulatedAnnealing(random_state=3, checkpoint=path, max_evaluations=500).learn(make_table())
    content = json.loads(path.read_text(encoding="utf-8"))
    content["search"]["\x1b[2J\n"] = 1
    path.write_text(json.dumps(content), encoding="utf-8")
    with pytest.raises(ValueError, match=r"not the same: '\\x1b\[2J\\n'") as caught:
        SimulatedAnnealing(random_state=3, checkpoint=path, max_evaluations=500).learn(make_table())
    assert str(caught.value).isprintable()


def test_the_file_of_a_search_with_other_knowledge_is_refused(tmp_path):
    table, path = make_table(features=4), tmp_path / "sa.json"
    known = {"required": [("x0", "x1")], "forbidden": [("x2", "x3")], "start": [("x1", "x2")]}
    first = SimulatedAnnealing("mdl", checkpoint=path, random_state=3, max_evaluations=60, **known)
    dag = first.learn(table)
    again = SimulatedAnnealing("mdl", checkpoint=path, random_state=3, max_evaluations=60, **known)
    assert outcome(again, again.learn(table)) == outcome(first, dag)
    for other, what in (
        ({"required": None}, "constraints, start"),
        ({"forbidden": None}, "constraints"),
        ({"start": "nb"}, "start"),
    ):
        with pytest.raises(ValueError, match=rf"another search \(not the same: {what}\)"):
            SimulatedAnnealing("mdl", checkpoint=path, random_state=3, **{**known, **other}).learn(table)
    content = json.loads(path.read_text())
    content["state"]["best"] = table.naive_bayes()
    path.write_text(json.dumps(content))
    with pytest.raises(ValueError, match="variable 1 are not what is required and allowed"):
        SimulatedAnnealing("mdl", checkpoint=path, random_state=3, **known).learn(table)
